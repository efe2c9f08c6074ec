# ===- check.py - The tile functions against NumPy ----------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Compares the functions of functions.mlir, as lowered for a processor and as PTX, with NumPy."""

import ctypes
import math
import re
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

import emulate
from emulate import TensorMap, bf16_of_float, float_of_bf16

RANDOM = np.random.default_rng(1)
LIMIT = 2.0**-8  # one rounding of the largest result to bf16


def bf16(*shape: int, scale: float = 1.0) -> np.ndarray:
    """Random bf16 patterns."""
    return bf16_of_float(RANDOM.standard_normal(shape, np.float32) * scale)


def f32(*shape: int) -> np.ndarray:
    """Random numbers."""
    return RANDOM.standard_normal(shape, np.float32)


class Case:
    """A function, its operands (the result last), its grid and the truth."""

    def __init__(self, name: str, operands: list[np.ndarray], grid: tuple[int, int], truth: np.ndarray):
        self.name, self.operands, self.grid, self.truth = name, operands, grid, truth

    def error(self, run: Callable[[list[np.ndarray]], None]) -> float:
        """The largest difference from the truth, in parts of the largest magnitude."""
        operands = [*self.operands[:-1], np.full_like(self.operands[-1], 0xFFFF)]
        run(operands)
        return float(np.abs(float_of_bf16(operands[-1]) - self.truth).max() / np.abs(self.truth).max())


def product_case() -> Case:
    """gelu(x wT + b) in float64."""
    x, w, b = bf16(197, 768), bf16(3072, 768, scale=0.05), f32(1, 3072)
    t = float_of_bf16(x).astype(np.float64) @ float_of_bf16(w).astype(np.float64).T + b
    truth = 0.5 * t * (1 + np.vectorize(math.erf)(t * math.sqrt(0.5)))
    return Case("product", [x, w, b, bf16(197, 3072)], (4, 24), truth)


def attention_case(keys: int) -> Case:
    """softmax(q kT / 8) v in float64, head by head."""
    qkv = bf16(keys, 2304)
    q, k, v = (a.reshape(keys, 12, 64).transpose(1, 0, 2)
               for a in np.split(float_of_bf16(qkv).astype(np.float64), 3, axis=1))
    s = q @ k.transpose(0, 2, 1) / 8
    p = np.exp(s - s.max(-1, keepdims=True))
    truth = (p / p.sum(-1, keepdims=True) @ v).transpose(1, 0, 2).reshape(keys, 768)
    return Case("attention", [qkv, bf16(keys, 768)], (-(-keys // 64), 12), truth)


def norm_case() -> Case:
    """Layer norm over 768 columns in float64."""
    x, gain, bias = 3 * f32(197, 768) + 1, f32(1, 768), f32(1, 768)
    d = x - x.mean(1, keepdims=True, dtype=np.float64)
    truth = d / np.sqrt((d * d).mean(1, keepdims=True) + 1e-6) * gain + bias
    return Case("norm", [x, gain, bias, bf16(197, 768)], (50, 1), truth)


def header(lowered: str, name: str) -> str:
    """The line that declares a lowered function, with what a launch must know."""
    return re.search(rf"llvm.func @{name}\(.*", lowered).group()


def on_processor(case: Case, library: ctypes.CDLL) -> float:
    """Error of the compiled loops."""
    def run(operands: list[np.ndarray]) -> None:
        pointers = [operand.ctypes.data_as(ctypes.c_void_p) for operand in operands]
        for y in range(case.grid[1]):
            for x in range(case.grid[0]):
                getattr(library, case.name)(*pointers, ctypes.c_int64(x), ctypes.c_int64(y))
    return case.error(run)


def emulated(case: Case, ptx: str, lowered: str, late: bool, seed: int) -> float:
    """Error of the PTX, interpreted."""
    line = header(lowered, case.name)
    shared = int(re.search(r"tile\.group_bytes = (\d+)", line).group(1))
    boxes = re.findall(r"tile\.box = array<i64: (\d+), (\d+)>", line)

    def run(operands: list[np.ndarray]) -> None:
        maps = [TensorMap(operands[int(i)], int(rows)) for i, rows in boxes]
        emulate.run(ptx, case.name, operands + maps, case.grid, shared, late, seed)
    return case.error(run)


# Faults that the interpreter must notice: function, chip, what becomes of the PTX.
FAULTS = [
    ("a wait for one copy less", "product", "sm_80", r"wait_group (\t)?2", "wait_group 3"),
    ("no barrier in a loop", "attention", "sm_80", r"(cp.async.wait_group \t?1;\n)\tbar.sync \t0;", r"\1"),
    ("blocks of a left operand exchanged", "product", "sm_80",
     r"(mma\S+\s*\{[^}]*\},\s*\{)(%r\d+), (%r\d+)", r"\1\3, \2"),
    ("a right operand not transposed", "attention", "sm_80", r"x4\.trans", "x4"),
    ("no wait for a tensor copy", "product", "sm_90a", r"not.pred\s+\S+ \S+;\n\s*@%p\d+ bra[^\n]*", ""),
    ("no wait for wgmma", "attention", "sm_90a", r"wgmma.wait_group.sync.aligned\s+0;", ""),
    ("no fence before wgmma", "attention", "sm_90a", r"wgmma.fence.sync.aligned;", ""),
    ("a descriptor with another stride", "product", "sm_90a", "4611686293305360384", "4611686155866406912"),
]


def noticed(case: Case, ptx: str, lowered: str, pattern: str, replacement: str) -> str:
    """What becomes of a program with a fault: refused, wrong, or not noticed."""
    changed, count = re.subn(pattern, replacement, ptx)
    assert count, pattern
    for late in (False, True):
        try:
            if not emulated(case, changed, lowered, late, 0) < LIMIT:
                return "wrong"
        except (RuntimeError, AssertionError, IndexError) as error:
            return f"refused ({error})"
    return "not noticed"


def main() -> None:
    """check.py FUNCTION KEYS LIBRARY (PTX LOWERED)... [--faults]"""
    function, keys, library, *pairs = [argument for argument in sys.argv[1:] if argument != "--faults"]
    cases = {"product": product_case, "attention": lambda: attention_case(int(keys)), "norm": norm_case}
    case = cases[function]()
    forms = [tuple(Path(path).read_text(encoding="utf-8") for path in pair)
             for pair in zip(pairs[::2], pairs[1::2])]
    errors = {"loops": on_processor(case, ctypes.CDLL(library))}
    for ptx, lowered in forms:
        for late in (False, True):
            label = f"{re.search(r'sm_[0-9a]+', ptx).group()} {'late' if late else 'early'}"
            errors[label] = emulated(case, ptx, lowered, late, seed=len(errors))
    print(*(f"{label} {error:.1e}" for label, error in errors.items()), sep="  ")
    if not all(error < LIMIT for error in errors.values()):
        sys.exit(f"{case.name}: wrong")
    for text, name, chip, pattern, replacement in FAULTS if "--faults" in sys.argv else []:
        for ptx, lowered in forms:
            if name == function and f".target {chip}\n" in ptx:
                print(f"    {chip:7} {text}: {noticed(case, ptx, lowered, pattern, replacement)}")


if __name__ == "__main__":
    main()
