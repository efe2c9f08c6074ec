# ===- test_sums.py - How mma.sync adds ------------------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""The emulation and the interpreter add in the same ways, by code of their own: in order of k, and as two devices do,
of which arXiv:2512.07004 and arXiv:2511.10909 say how. No device was asked here."""

import re

import numpy as np
import ptx_numbers
import pytest
from instructions import EXECUTORS, MMA, emulated, interpreted, kernel
from test_layouts import A, B, C

WAYS = ["in-order", "a100", "h100"]
# It takes pairs of f16 as vectors.
MMA_OF_F16 = ("".join(f"  %h{i} = llvm.bitcast %w{i} : i32 to vector<2xf16>\n" for i in range(6))
              + re.sub(r"%w(\d)", r"%h\1", MMA).replace("bf16", "f16").replace("(i32, i32, f32)", "(vector<2xf16>, vector<2xf16>, f32)"))
LARGEST = 2.0**128 - 2.0**104
ULP = 2.0**-23
# An old sum, products at k as (k, left, right), and what the ways make of them.
CASES = {
    "each alone is half a unit": (1, [(0, 2**-24, 1), (1, 2**-24, 1)], 1, 1 + ULP, 1 + ULP),
    "a bit more is kept": (1, [(k, 2**-25, 1) for k in range(4)], 1, 1, 1 + ULP),
    "halves of k apart": (1, [(0, 2**-24, 1), (8, 2**-24, 1)], 1, 1, 1 + ULP),
    "sums are cut off": (1, [(0, 1.5 * 2**-24, 1)], 1 + ULP, 1, 1),
    "towards 0": (-1, [(0, -1.5 * 2**-24, 1)], -1 - ULP, -1, -1),
    "of a large one nothing remains": (1, [(0, 2**30, 1), (1, -(2**30), 1)], 0, 0, 0),
    "what is small beside it comes later": (0, [(0, 2**30, 1), (1, -(2**30), 1), (8, 1, 1)], 1, 1, 0),
    "a product of 2 or more moves no exponent": (0, [(0, 1.5, 1.5), *((k, 2**-24, 1) for k in range(1, 5))], 2.25, 2.25 + 2 * ULP, 2.25 + 2 * ULP),
    "below the normal numbers": (0, [(0, 2.0**-70, 2.0**-62), (1, 2.0**-100, 2.0**-49)], 2.0**-132 + 2.0**-149, 2.0**-132 + 2.0**-149, 2.0**-132 + 2.0**-149),
    "beyond the largest": (LARGEST, [(0, 2.0**104, 1)], np.inf, np.inf, np.inf),
    "half a unit beyond the largest": (LARGEST, [(0, 2.0**103, 1)], np.inf, LARGEST, LARGEST),
    "products beyond the largest": (1, [(0, 2.0**100, 2.0**100), (1, -(2.0**100), 2.0**100)], np.inf, 0, 0),
    "no number": (1, [(0, np.inf, 0)], np.nan, np.nan, np.nan),
    "infinities of both signs": (np.inf, [(0, -np.inf, 1)], np.nan, np.nan, np.nan),
    "an infinity": (1, [(0, -np.inf, 2)], -np.inf, -np.inf, -np.inf),
    "zeros": (0, [(0, -1, 0)], 0, 0, 0),
}
# The same of f16, whose numbers have 11 bits.
CASES_OF_F16 = {
    "all bits count": (0, [(0, 1 + 2**-10, 1 + 2**-10)], *3 * [1 + 2**-9 + 2**-20]),
    "with a sign": (0, [(0, -1 - 2**-10, 1 + 3 * 2**-10)], *3 * [-1 - 2**-8 - 3 * 2**-20]),
    "beside a larger sum": (2, [(0, 1 + 2**-10, 1 + 2**-10), (1, -1, 1)], *3 * [2 + 2**-9 + 2**-20]),
    "below the normal numbers": (0, [(0, 2.0**-24, 3 * 2.0**-24)], *3 * [3 * 2.0**-48]),
    "beyond the largest of f16": (1, [(0, 65504, 2)], *3 * [131009]),
}


def words(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Ten words of each lane; a and b are patterns."""
    halves = [np.ascontiguousarray(m[t[..., 0], t[..., 1]]).view(np.uint32) for m, t in ((a, A), (b, B))]
    return np.concatenate([*halves, c[C[..., 0], C[..., 1]].astype(np.float32).view(np.uint32)], axis=1)


@EXECUTORS
@pytest.mark.parametrize("way", WAYS)
def test_cases_by_hand(execute, way, tmp_path):
    """A case has a row and a column of its own; of the other sums nothing is asked."""
    check_by_hand(execute, way, tmp_path, CASES, MMA, ptx_numbers.bf16_of_float)


@EXECUTORS
@pytest.mark.parametrize("way", WAYS)
def test_cases_of_f16_by_hand(execute, way, tmp_path):
    check_by_hand(execute, way, tmp_path, CASES_OF_F16, MMA_OF_F16, ptx_numbers.f16_of_float)


def check_by_hand(execute, way, tmp_path, cases, product, narrow):
    names = list(cases)
    for first in range(0, len(names), 8):
        a, b, c = np.zeros((16, 16)), np.zeros((8, 16)), np.zeros((16, 8))
        for i, name in enumerate(names[first : first + 8]):
            old, products, *_ = cases[name]
            c[i, i] = old
            for k, x, y in products:
                a[i, k], b[i, k] = x, y
        sums = execute(kernel(product, 10, "f32"), words(narrow(a), narrow(b), c), tmp_path, way).view(np.float32)
        placed = np.zeros((16, 8), np.float32)
        placed[C[..., 0], C[..., 1]] = sums
        for i, name in enumerate(names[first : first + 8]):
            expected = np.float32(cases[name][2 + WAYS.index(way)])
            assert np.array_equal(placed[i, i], expected, equal_nan=True), f"{name}: {placed[i, i]!r}, expected {expected!r}"


@pytest.mark.parametrize("way", WAYS)
def test_both_executors_add_alike(way, tmp_path):
    """Numbers of like and of all sizes, a tenth of them special, bit for bit."""
    random = np.random.default_rng(7)
    special = np.array([0, 0x8000, 0x7F80, 0xFF80, 0x7FC0, 1, 0x807F, 0x80, 0x3F80, 0x7F7F, 0xFF7F, 0x1A00], np.uint16)
    for spread, rare in ((4, 0), (12, 0), (40, 0), (128, 0), (250, 0), (4, 0.01), (128, 0.02)):
        def patterns(*shape, spread=spread, rare=rare):
            low = max(0, 127 - spread // 2)
            bits = random.integers(low << 7, (low + spread) << 7, shape) | random.integers(0, 2, shape) << 15
            return np.where(random.random(shape) < rare, random.choice(special, shape), bits).astype(np.uint16)
        a, b = patterns(16, 16), patterns(8, 16)
        old = (patterns(16, 8).astype(np.uint32) << np.uint32(16) | random.integers(0, 2**16, (16, 8), dtype=np.uint32)).view(np.float32)
        results = [execute(kernel(MMA, 10, "f32"), words(a, b, old), tmp_path, way) for execute in (emulated, interpreted)]
        assert np.array_equal(*results), (spread, rare)
        assert np.isfinite(results[0].view(np.float32)).any()


@pytest.mark.parametrize("way", WAYS)
def test_both_executors_add_f16_alike(way, tmp_path):
    """All patterns of f16, those that are no finite numbers rarely."""
    random = np.random.default_rng(7)
    for largest in (0x7C00, 0x7C00, 0x8000):
        a, b = (random.integers(0, largest, shape, np.uint16) | random.integers(0, 2, shape, np.uint16) << np.uint16(15) for shape in ((16, 16), (8, 16)))
        a, b = (np.where((m & 0x7C00 == 0x7C00) & (random.random(m.shape) < 0.99), np.uint16(1), m) for m in (a, b))
        old = random.standard_normal((16, 8), np.float32)
        results = [execute(kernel(MMA_OF_F16, 10, "f32"), words(a, b, old), tmp_path, way) for execute in (emulated, interpreted)]
        assert np.array_equal(*results)
        assert np.isfinite(results[0].view(np.float32)).any()
