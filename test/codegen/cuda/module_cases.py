# ===- module_cases.py - Operands and truths of modules ----------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""What the modules of all recipes are made with (modules.py): random operands, and functions that several truths have."""

import math

import numpy as np
import ptx_numbers
from kernels import WIDEN, Case, emit, generator

NARROW = {"bf16": ptx_numbers.bf16_of_float, "f16": ptx_numbers.f16_of_float}
# Roundings to f32: one of the largest result, and some.
ONCE, F32 = 2.0**-24, 2.0**-21


class Numbers:
    """Random operands, in the order in which they are asked for."""

    def __init__(self, halves: str = "bf16"):
        self.random = generator(1)
        self.halves = halves
        self.operands: list[np.ndarray] = []

    def wide(self, *shape: int, scale: float = 1.0, transposed: int = 0) -> np.ndarray:
        """An operand of f32, in float64; stored as `narrow` does."""
        values = self.random.standard_normal(shape, np.float32) * np.float32(scale)
        self.store(values, transposed, np.nan)
        return values.astype(np.float64)

    def store(self, values: np.ndarray, transposed: int, none: float) -> None:
        """Where it is stored transposed, rows of it are so many elements apart, of which those between are no numbers."""
        if transposed:
            stored = np.full((values.shape[1], transposed), none, values.dtype)
            stored[:, : values.shape[0]] = values.T
            values = stored
        self.operands.append(values)

    def narrow(self, *shape: int, scale: float = 1.0, transposed: int = 0) -> np.ndarray:
        """An operand of 16 bits, in float64."""
        bits = NARROW[self.halves](self.random.standard_normal(shape, np.float32) * np.float32(scale))
        self.store(bits, transposed, 0x7FFF)
        return WIDEN[self.halves](bits).astype(np.float64)

    def spoil(self, x: np.ndarray, *at: int) -> np.ndarray:
        """The last operand, of which one number is none."""
        last = self.operands[-1]
        last[at] = np.nan if last.dtype == np.float32 else NARROW[self.halves](np.full(1, np.nan, np.float32))[0]
        x[at] = np.nan
        return x

    def integers(self, *shape: int, below: int, dtype: type) -> np.ndarray:
        """An operand of ids, or of booleans as bytes."""
        values = self.random.integers(0, below, shape).astype(dtype)
        self.operands.append(values)
        return values


RESULTS = {"f32": np.float32, "bf16": np.uint16, "f16": np.uint16, "i32": np.int32, "i1": np.uint8}


def case(numbers: Numbers, source: str, truths: list[np.ndarray], limit: float, types: str, flags: str = "", cancels: bool = False) -> Case:
    """`types` are those of the results."""
    operands = [np.zeros(truth.shape, RESULTS[kind]) for truth, kind in zip(truths, types.split(), strict=True)]
    words = flags.split()
    grid = emit("launch", "-", *words, source=source).split()[1:]
    return Case("-", words, tuple(int(extent) for extent in grid), [*numbers.operands, *operands], truths if len(truths) > 1 else truths[0],
                limit, source, len(truths), numbers.halves, cancels)


def rounded(x: np.ndarray) -> np.ndarray:
    """The nearest numbers of bf16, which is what a value is that is only moved."""
    return ptx_numbers.float_of_bf16(ptx_numbers.bf16_of_float(x.astype(np.float32))).astype(np.float64)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def gelu_tanh(x: np.ndarray) -> np.ndarray:
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def softmax(x: np.ndarray) -> np.ndarray:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)
