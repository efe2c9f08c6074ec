# ===- test_approximations.py - What PTX only approximates -------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""PTX bounds what an `approx` instruction may give. Both executors give the nearest number, or the last one above or below that
is allowed, by code of their own; kernels are right with each, so that they are right on a device whatever it gives in between."""

import re

import numpy as np
import ptx
import ptx_numbers
import pytest
from instructions import HEAD
from kernels import Case, emit
from test_kernels import APPROXIMATED, CASES

# Intrinsics, and what they approximate.
INSTRUCTIONS = {
    "ex2.approx.f32": np.exp2, "ex2.approx.ftz.f32": np.exp2, "lg2.approx.f": np.log2, "rcp.approx.ftz.f": lambda x: 1 / x,
    "rsqrt.approx.f": lambda x: 1 / np.sqrt(x), "rsqrt.approx.ftz.f": lambda x: 1 / np.sqrt(x),
}
TINY = np.float32(2.0**-126)


def arguments() -> np.ndarray:
    """Of every size, near 0 and 1, and those that are special."""
    random = np.random.default_rng(3)
    sizes = np.float32(2) ** np.arange(-149, 128, 4, dtype=np.float32) * random.uniform(1, 2, 70).astype(np.float32)
    usual = np.concatenate([random.uniform(-b, b, 150) for b in (1, 30, 150)] + [random.uniform(0.4, 2.2, 150)]).astype(np.float32)
    special = np.array([0, 1, 2, 0.5, 0.25, 127, 128, 3.4e38, np.inf, 1e-40], np.float32)
    values = np.concatenate([sizes, -sizes, usual, special, -special, [np.nan]]).astype(np.float32)
    return np.resize(values, 32 * 26).reshape(32, 26)


def kernel(instruction: str, words: int) -> str:
    """Each lane computes it of words of its own, and stores the results in their place."""
    text = HEAD.replace("%four = llvm.mlir.constant(4", f"%four = llvm.mlir.constant({words}").replace("WORDS", str(words))
    for i in range(words):
        text += (f"%p{i} = llvm.getelementptr %x[{i}] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32\n%w{i} = llvm.load %p{i} : !llvm.ptr<1> -> f32\n"
                 f'%d{i} = llvm.call_intrinsic "llvm.nvvm.{instruction}"(%w{i}) : (f32) -> f32\n'
                 f"%q{i} = llvm.getelementptr %r[{i}] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32\nllvm.store %d{i}, %q{i} : f32, !llvm.ptr<1>\n")
    return text + "llvm.return\n}\n"


def both(instruction: str, x: np.ndarray, way: str, folder) -> list[np.ndarray]:
    """What the emulation and the interpreter give."""
    text = kernel(instruction, x.shape[1])
    case = Case("kernel", [], (1,), [x, np.zeros_like(x)], np.zeros(1), 0)
    emulated = case.emulate(folder, [("early", 0)], text, approximations=way)[0]
    result = np.zeros_like(x)
    ptx.Grid(emit("ptx", str(folder / "kernel.mlir")), "kernel", [x, result], (1,), 512, results=1, approximations=way).run()
    return [emulated, result]


def bound(instruction: str, x: np.ndarray, exact: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """From what a result may be away, and how far."""
    rounded = exact.astype(np.float32)
    unit = np.spacing(np.abs(rounded)).astype(np.float64)
    if instruction.startswith("ex2"):
        return rounded.astype(np.float64), np.where((x == 0) | (rounded == 0), 0, 2 * unit)
    if instruction.startswith("rcp"):
        # Of a result that rounds up to a power of two the unit is that of what is exact.
        return exact, np.where(exact == 0, 0, np.where(np.abs(rounded) > np.abs(exact), np.spacing(np.nextafter(np.abs(rounded), np.float32(0))), unit))
    if instruction.startswith("rsqrt"):
        return exact, 2**-22.9 * exact
    return exact, 2.0**-22 * np.where((x > 0.5) & (x < 2), 1, np.abs(exact))


@pytest.mark.parametrize("instruction", INSTRUCTIONS)
def test_results_lie_at_the_end_of_what_is_allowed(instruction, tmp_path):
    """In both executors, bit for bit: no number beyond is allowed, and each that PTX says is exact is."""
    x = arguments()
    with np.errstate(all="ignore"):
        given = np.where(np.abs(x) < TINY, np.copysign(np.float32(0), x), x) if "ftz" in instruction else x
        exact = INSTRUCTIONS[instruction](given.astype(np.float64))
        middle, error = bound(instruction, given, exact)
        results = {}
        for way in ptx_numbers.APPROXIMATIONS:
            emulated, interpreted = both(instruction, x, way, tmp_path)
            assert np.array_equal(emulated.view(np.uint32), interpreted.view(np.uint32)), way
            results[way] = emulated
        nearest = exact.astype(np.float32)
        if "ftz" in instruction:
            nearest = np.where(np.abs(nearest) < TINY, np.copysign(np.float32(0), nearest), nearest)
        assert np.array_equal(results["nearest"], nearest, equal_nan=True)
        usual = np.isfinite(nearest) & (error > 0) & ((np.abs(exact) > 2 * TINY) | ("ftz" not in instruction))
        assert usual.sum() > 100
        for way, sign in (("above", 1), ("below", -1)):
            result = results[way].astype(np.float64)
            beyond = np.nextafter(results[way], np.float32(sign * np.inf)).astype(np.float64)
            far, further = sign * (result - middle), sign * (beyond - middle)
            assert (far[usual] <= error[usual]).all() and (far[usual] >= 0).all()
            assert ((further > error) | ~np.isfinite(beyond))[usual].all()
            kept = ~np.isfinite(nearest) | (error == 0)
            assert np.array_equal(results[way][kept], nearest[kept], equal_nan=True)
        above, below = (results["either"] == results[way] for way in ("above", "below"))
        assert (above | below)[usual].all() and not above[usual].all() and not below[usual].all()


# Of every instruction and every function that has one, those that take least; test/full/test_kernels_at_their_bounds.py has all.
CHOSEN = ["norm", "norm of short rows", "norm without a gain", "norm with a residual", "sum of parts", "heads of length one, no gain", "activated",
          "product with a gate", "scaled heads", "shares", "logarithms of shares, rows in parts", "merged sums", "merged sums before a block",
          "attention, heads of 12", "attention, heads of 6 in f16", "attention, a window a warp", "attention, a window a warp, f32", "attention, heads of rows"]
WAYS = ["above", "below", "either"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", CHOSEN)
def test_kernels_are_right_wherever_results_lie(name, way, tmp_path):
    case = CASES[name]()
    interpreted = case.run("late", 1, approximations=way)
    (emulated,) = case.emulate(tmp_path, [("late", 1)], approximations=way)
    print(f"{name}, {way}: {case.error(interpreted):.3g} and {case.error(emulated):.3g}, at most {case.limit:.3g}")
    assert case.error(interpreted) <= case.limit
    assert case.error(emulated) <= case.limit


def test_the_chosen_have_all_instructions():
    assert {kind for name in CHOSEN for kind in re.findall(r"(\w+)\.approx", CASES[name]().ptx())} == set(ptx_numbers.BOUNDS)
