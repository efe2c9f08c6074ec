# ===- kernels.py - Kernels of the recipes, and what they should compute --------=== #
# SPDX-License-Identifier: Apache-2.0
"""Makes kernels with cuda-kernel, and their results three times: interpreted, emulated, and in float64."""

import json
import math
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np
import ptx
import ptx_numbers
from ptx_memory import LaunchOrder, behind

# This file also travels (tools/bench/gpu), to where no folder need be above it.
BIN = Path(os.environ.get("HOVA_BUILD", Path(__file__).resolve().parent / "../../../build")) / "bin"
# One rounding of the largest result to bf16, which sums of bf16 products end in; and to f16.
BF16, F16 = 2.0**-8, 2.0**-11
WIDEN = {"bf16": ptx_numbers.float_of_bf16, "f16": ptx_numbers.float_of_f16}


# Levels whose launches may begin before others have ended.
OVERLAPPING = {"sm_90a", "sm_120"}

DRAWING = 0


@contextmanager
def drawn(drawing: int) -> Iterator[None]:
    """Cases that are made meanwhile have other random numbers."""
    global DRAWING
    before, DRAWING = DRAWING, drawing
    yield
    DRAWING = before


def generator(seed: int) -> np.random.Generator:
    return np.random.default_rng([seed, DRAWING] if DRAWING else seed)


class Tool:
    """cuda-kernel, which has loaded its libraries: each call is a process that it makes of itself."""

    def __init__(self) -> None:
        self.place = tempfile.TemporaryDirectory()
        self.files = {name: Path(self.place.name) / name for name in ("in", "out", "err")}
        self.process = subprocess.Popen([BIN / "cuda-kernel", "serve", self.place.name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def call(self, words: list[str], source: str) -> subprocess.CompletedProcess:
        self.files["in"].write_text(source, encoding="utf-8")
        print(json.dumps(words), file=self.process.stdin, flush=True)
        status = int(self.process.stdout.readline())
        return subprocess.CompletedProcess(words, status, *(self.files[name].read_text(encoding="utf-8") for name in ("out", "err")))


@cache
def tool(environment: tuple[tuple[str, str], ...]) -> Tool:
    """The one that was started in this environment."""
    return Tool()


def call(*words: object, source: str = "") -> subprocess.CompletedProcess:
    """What `cuda-kernel` says to a command line and, as its standard input, a source."""
    environment = sorted(item for item in os.environ.items() if item[0] != "PYTEST_CURRENT_TEST")
    return tool(tuple(environment)).call([str(word) for word in words], source)


@cache
def emit(form: str, recipe: str, *flags: str, source: str = "") -> str:
    """The text of a kernel: mlir, nvvm or ptx; or its launch. The source is that of a recipe `-`."""
    done = call(recipe, f"--emit={form}", *flags, source=source)
    assert done.returncode == 0, done.stderr
    return done.stdout


@dataclass
class Case:
    """A kernel, its operands (the results last), its grid, and the truth.

    A recipe is the name of one, or a file that has a function `kernel` of group operations. If it is `-`, the source is a module
    whose function `main` becomes one kernel. What computes several results gives their bytes, one after the other."""

    recipe: str
    flags: list[str]
    grid: tuple[int, ...]
    operands: list[np.ndarray]
    truth: np.ndarray | list[np.ndarray]
    limit: float
    source: str = ""
    results: int = 1
    halves: str = "bf16"  # what results of 16 bits are
    # Whether numbers are sums of terms that are far larger at times, so that errors are parts of the largest of all instead of its row.
    cancels: bool = False
    # How far each number of the only result may be off besides: what is rounded inside and lies in the middle of two numbers may
    # become either.
    spread: np.ndarray | float = 0.0
    grown: ptx.Grid | None = field(default=None, repr=False)

    def entry(self) -> str:
        return "kernel" if self.source or self.recipe.endswith(".mlir") else self.recipe

    def emit(self, form: str) -> str:
        return emit(form, self.recipe, *self.flags, source=self.source)

    def ptx(self) -> str:
        return self.emit("ptx")

    def shared(self) -> int:
        return int(re.search(r"hova\.group_bytes = (\d+)", self.emit("nvvm")).group(1))

    def joined(self, results: list[np.ndarray]) -> np.ndarray:
        """The only result, or the bytes of all."""
        return results[0] if self.results == 1 else np.concatenate([result.reshape(-1).view(np.uint8) for result in results])

    def run(self, landing: str, seed: int, text: str | None = None, sums: str = "in-order", counts: bool = False,
            approximations: str = "nearest") -> np.ndarray:
        """The bits of the result, which was poisoned before."""
        results = [np.full_like(result, {"f": np.nan, "i": -1}.get(result.dtype.kind, np.iinfo(result.dtype).max if result.dtype.kind == "u" else 0)) for result in self.operands[-self.results :]]
        operands = [*self.operands[: -self.results], *results]
        self.grown = ptx.Grid(text or self.ptx(), self.entry(), operands, self.grid, self.shared(), landing, seed, sums, counts=counts,
                              results=self.results, approximations=approximations, order=self.order(operands))
        self.grown.run()
        return self.joined(results)

    def order(self, operands: list[np.ndarray]) -> LaunchOrder | None:
        """On a level where a launch may begin before others have ended, it does, and reads at most what is settled before it waits."""
        levels = {flag.removeprefix("--gpu=") for flag in self.flags if flag.startswith("--gpu=")}
        named = [flag.removeprefix("--settled=").split(",") for flag in self.flags if flag.startswith("--settled=")]
        return behind(operands, {int(number) for numbers in named for number in numbers}) if levels & OVERLAPPING else None

    def emulate(self, folder: Path, orders: list[tuple[str, int]], text: str | None = None, sums: str = "in-order",
                approximations: str = "nearest") -> list[np.ndarray]:
        """The bits of the result for each time at which copies land and each seed, of the kernel or of a changed text of it
        in the NVVM dialect. A fault that the checks find is an error."""
        kernel = [self.recipe, *self.flags]
        if text:
            kernel = [str(folder / "kernel.mlir")]
            Path(kernel[0]).write_text(text, encoding="utf-8")
        for i, operand in enumerate(self.operands):
            operand.tofile(folder / str(i))
        grid = [f"--grid-{axis}={blocks}" for axis, blocks in zip("xyz", self.grid, strict=False)]
        launches = ",".join(f"{landing}:{seed}" for landing, seed in orders)
        done = call(*kernel, *grid, f"--emulate={folder}", f"--orders={launches}", f"--sums={sums}", f"--approximations={approximations}", f"--results={self.results}",
                    source=self.source)
        assert done.returncode == 0, done.stderr
        result = self.joined(self.operands[-self.results :])
        return list(np.fromfile(folder / "results", result.dtype).reshape(len(orders), *result.shape))

    def counts(self, folder: Path) -> dict[str, list[int]]:
        """What a run in the emulation has done, by what `cuda-kernel --counts` calls it; of accesses requests, used and least."""
        for i, operand in enumerate(self.operands):
            operand.tofile(folder / str(i))
        grid = [f"--grid-{axis}={blocks}" for axis, blocks in zip("xyz", self.grid, strict=False)]
        done = call(self.recipe, *self.flags, *grid, f"--emulate={folder}", "--counts", f"--results={self.results}", source=self.source)
        assert done.returncode == 0, done.stderr
        lines = (line.split(":") for line in done.stdout.splitlines())
        return {name: [int(number) for number in numbers.split()] for name, numbers in lines}

    def parts(self, result: np.ndarray) -> list[np.ndarray]:
        """Each result as it is stored."""
        stored = self.operands[-self.results :]
        ends = np.cumsum([operand.nbytes for operand in stored])[:-1]
        return [part.view(operand.dtype).reshape(operand.shape) for part, operand in zip(np.split(result.reshape(-1).view(np.uint8), ends), stored, strict=True)]

    def values(self, result: np.ndarray) -> list[np.ndarray]:
        """The numbers of each result."""
        return [WIDEN[self.halves](part) if part.dtype == np.uint16 else part for part in self.parts(result)]

    def is_same(self, x: np.ndarray, y: np.ndarray) -> bool:
        """Whether two results have the same bits, but for which number is none: of most instructions PTX does not say."""
        both = zip(self.parts(x), self.parts(y), self.values(x), self.values(y), strict=True)
        return all(((a == b) & (np.signbit(v) == np.signbit(w)) | np.isnan(v) & np.isnan(w)).all() for a, b, v, w in both)

    def truths(self) -> list[np.ndarray]:
        return [self.truth] if self.results == 1 else self.truth

    def error(self, result: np.ndarray) -> float:
        """The largest of all rows; not a number if a number alone is none, in the result or in the truth."""
        return float(np.max(self.errors(self.values(result))))

    def errors(self, values: list[np.ndarray]) -> np.ndarray:
        """Of each row the largest difference from the truth, in parts of the largest magnitude of the row: that of others may be far larger."""
        return np.concatenate([errors_of_rows(value, truth, self.cancels, self.spread) for value, truth in zip(values, self.truths(), strict=True)])

    def planted(self) -> list[np.ndarray]:
        """The truth with one wrong number in each row, off by the median magnitude of the row, or of all; of a row of zeros by one."""
        random, wrong = np.random.default_rng(0), []
        for truth in self.truths():
            rows = truth.reshape(-1, truth.shape[-1]).astype(np.float64)
            sizes = np.ma.masked_where(~np.isfinite(rows) | (rows == 0), np.abs(rows))
            off = np.ma.median(sizes, axis=None if self.cancels else 1)
            off = np.ma.filled(off, 1.0)
            at = np.arange(len(rows)), random.integers(rows.shape[1], size=len(rows))
            rows[at] = np.where(np.isfinite(rows[at]), rows[at] + off, 0)
            wrong.append(rows.reshape(truth.shape))
        return wrong


def errors_of_rows(values: np.ndarray, truth: np.ndarray, cancels: bool, spread: np.ndarray | float) -> np.ndarray:
    with np.errstate(invalid="ignore", divide="ignore"):
        difference = np.where((values == truth) | np.isnan(values) & np.isnan(truth), 0, np.abs(values - truth))
        difference = np.maximum(difference - spread, 0)
        size = np.where(np.isfinite(truth), np.abs(truth), 0).max(None if cancels else -1, keepdims=True)
        return np.where(difference == 0, 0, difference / size).max(-1).reshape(-1)


def bf16(random: np.random.Generator, *shape: int, scale: float = 1.0) -> np.ndarray:
    """Random patterns."""
    return ptx_numbers.bf16_of_float(random.standard_normal(shape, np.float32) * np.float32(scale))


def wide(bits: np.ndarray) -> np.ndarray:
    return ptx_numbers.float_of_bf16(bits).astype(np.float64)


def ceil(a: int, b: int) -> int:
    return -(-a // b)


def product(rows: int, inner: int, columns: int, block: tuple[int, int] = (128, 128), warps: tuple[int, int] = (2, 2),
            options: str = "", stages: int = 3, seed: int = 0) -> Case:
    """f(x wT + b); options are of bias, gelu and wide."""
    random = generator(seed)
    x, w = bf16(random, rows, inner), bf16(random, columns, inner, scale=inner**-0.5)
    truth = wide(x) @ wide(w).T
    operands = [x, w]
    if "bias" in options:
        operands.append(random.standard_normal((1, columns), np.float32))
        truth = truth + operands[-1]
    if "gelu" in options:
        truth = 0.5 * truth * (1 + np.vectorize(math.erf)(truth * math.sqrt(0.5)))
    flags = [f"--rows={rows}", f"--inner={inner}", f"--columns={columns}", f"--block-rows={block[0]}",
             f"--block-columns={block[1]}", f"--row-warps={warps[0]}", f"--column-warps={warps[1]}",
             f"--stages={stages}", *(f"--{option}" for option in options.split())]
    is_wide = "wide" in options
    operands.append(np.zeros((rows, columns), np.float32 if is_wide else np.uint16))
    # Sums of f32 in order: at most inner roundings of partial sums near the result.
    limit = inner * 2.0**-24 if is_wide else BF16
    return Case("product", flags, (ceil(rows, block[0]), ceil(columns, block[1])), operands, truth, limit)


def attention(batch: int, tokens: int, heads: int, queries: int = 128, warps: int = 4, seed: int = 0) -> Case:
    """softmax(q kT / 8) v, head by head."""
    random = generator(seed)
    qkv = bf16(random, batch, tokens, 3 * heads * 64, scale=1.5)
    q, k, v = (part.reshape(batch, tokens, heads, 64).transpose(0, 2, 1, 3) for part in np.split(wide(qkv), 3, axis=2))
    scores = q @ k.transpose(0, 1, 3, 2) / 8
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    truth = (powers / powers.sum(-1, keepdims=True) @ v).transpose(0, 2, 1, 3).reshape(batch, tokens, heads * 64)
    flags = [f"--batch={batch}", f"--tokens={tokens}", f"--heads={heads}", f"--queries={queries}", f"--warps={warps}"]
    operands = [qkv, np.zeros((batch, tokens, heads * 64), np.uint16)]
    return Case("attention", flags, (ceil(tokens, queries), heads, batch), operands, truth, BF16, cancels=True)


def norm(rows: int, columns: int, seed: int = 0) -> Case:
    """Layer norm along rows."""
    random = generator(seed)
    x = 3 * random.standard_normal((rows, columns), np.float32) + np.float32(1)
    gain, bias = (random.standard_normal((1, columns), np.float32) for _ in range(2))
    apart = x.astype(np.float64) - x.astype(np.float64).mean(1, keepdims=True)
    truth = apart / np.sqrt((apart * apart).mean(1, keepdims=True) + 1e-6) * gain + bias
    flags = [f"--rows={rows}", f"--columns={columns}"]
    operands = [x, gain, bias, np.zeros((rows, columns), np.uint16)]
    return Case("norm", flags, (ceil(rows, 4),), operands, truth, BF16)


def written(folder: Path, text: str, operands: list[np.ndarray], truth: np.ndarray, limit: float = 0.0, grid: tuple[int, ...] = (1,)) -> Case:
    """A kernel that is given as a function `kernel`."""
    path = folder / "written.mlir"
    path.write_text(text, encoding="utf-8")
    return Case(str(path), [], grid, operands, truth, limit)
