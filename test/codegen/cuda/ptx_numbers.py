# ===- ptx_numbers.py - How PTX computes with numbers -----------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Formats of 16 bits, operations with one rounding, and the sums of `mma.sync`, in NumPy, for the interpreter (ptx.py)."""

from collections.abc import Callable

import numpy as np


def float_of_bf16(bits: np.ndarray) -> np.ndarray:
    """Values of 16-bit patterns."""
    return (np.asarray(bits).astype(np.uint32) << np.uint32(16)).view(np.float32)


def bf16_of_float(value: np.ndarray) -> np.ndarray:
    """Patterns nearest to f32, ties to even; NaN is 0x7FFF."""
    value = np.ascontiguousarray(value, np.float32)
    bits = value.view(np.uint32).astype(np.uint64)
    nearest = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return np.where(np.isnan(value), np.uint16(0x7FFF), nearest)


def fused(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """x y + z, rounded once. A sum in f64 that is rounded to f32 is wrong at most where it lies in the middle of two numbers of f32:
    there it is rounded to odd before."""
    product = np.multiply(x, y, dtype=np.float64)  # exact: 48 bits, of immediates too
    total = np.ascontiguousarray(np.add(product, z, dtype=np.float64))
    middle = (total.view(np.uint64) & np.uint64(0x1FFFFFFF) == 0x10000000) | (np.abs(total) < 2.0**-126) & (total != 0)
    if middle.any():
        exact, z = product[middle], np.broadcast_to(z, total.shape)[middle].astype(np.float64)
        total[middle] = odd(exact, z, total[middle])
    return total.astype(np.float32)


def odd(product: np.ndarray, z: np.ndarray, total: np.ndarray) -> np.ndarray:
    """The sum of product and z, rounded to odd; `total` is the nearest number."""
    part = total - product
    error = (product - (total - part)) + (z - part)
    even = (total.view(np.uint64) & np.uint64(1)) == 0
    toward = np.nextafter(total, np.where(error > 0, np.inf, -np.inf))
    return np.where(np.isfinite(total) & (error != 0) & even, toward, total)


def float_of_f16(bits: np.ndarray) -> np.ndarray:
    """Values of 16-bit patterns."""
    return np.asarray(bits).astype(np.uint16).view(np.float16).astype(np.float32)


def f16_of_float(value: np.ndarray) -> np.ndarray:
    """Patterns nearest to f32, ties to even; NaN is 0x7FFF."""
    value = np.ascontiguousarray(value, np.float32)
    return np.where(np.isnan(value), np.uint16(0x7FFF), value.astype(np.float16).view(np.uint16))


# How devices add, as arXiv:2512.07004 and arXiv:2511.10909 have measured it: how many products at once, and how many bits
# are kept after the leading one of the largest.
SUMS = {"a100": (8, 24), "h100": (16, 25)}


def split(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Significand in [1, 2), or less below the normal numbers of f32, and exponent."""
    significand, exponent = np.frexp(x)
    deeper = np.maximum(-126, exponent - 1)
    return np.ldexp(significand, exponent - deeper), deeper


def add_at_once(products: np.ndarray, exponents: np.ndarray, old: np.ndarray, bits: int) -> np.ndarray:
    """The sum over the first axis and the old sum: terms aligned to the largest, the rest of each cut off, f32 cut off.
    `products` are of significands, `exponents` theirs."""
    significand, exponent = split(old.astype(np.float64))
    terms, exponents = np.concatenate([products, significand[None]]), np.concatenate([exponents, exponent[None]])
    exponents = np.where(terms == 0, -126, exponents)
    top = exponents.max(axis=0)
    total = np.ldexp(np.trunc(np.ldexp(terms, exponents - top + bits)).sum(axis=0), top - bits)
    _, exponent = split(total)
    return (np.ldexp(np.trunc(np.ldexp(total, 23 - exponent)), exponent - 23) + 0.0).astype(np.float32)


def add_as(device: str, left: np.ndarray, right: np.ndarray, total: np.ndarray) -> np.ndarray:
    """total + the sum of left right over the first axis."""
    at_once, bits = SUMS[device]
    (s, e), (t, f) = split(left.astype(np.float64)), split(right.astype(np.float64))
    for k in range(0, len(left), at_once):
        part = slice(k, k + at_once)
        plain = (left[part].astype(np.float64) * right[part]).sum(axis=0) + total
        finite = np.where(np.isfinite(total), total, 0)
        terms = np.where(np.isfinite(left[part] * right[part].astype(np.float64)), s[part] * t[part], 0)
        total = np.where(np.isfinite(plain), add_at_once(terms, e[part] + f[part], finite, bits), plain).astype(np.float32)
    return total


def add_in_order(left: np.ndarray, right: np.ndarray, total: np.ndarray) -> np.ndarray:
    """The same, one product after the other, each sum rounded to the nearest."""
    products = left.astype(np.float64) * right
    narrow = products.astype(np.float32)
    if np.array_equal(narrow, products, equal_nan=True):
        for product in narrow:
            total = total + product
        return total
    for x, y in zip(left, right, strict=True):
        total = fused(x, y, total)
    return total


def largest(of: Callable) -> Callable:
    """The larger, where the zero with a sign is the smaller one."""
    return lambda x, y: np.where((x == 0) & (y == 0), x + y, of(x, y)) if x.dtype == np.float32 else of(x, y)


def smallest(of: Callable) -> Callable:
    """The smaller, likewise."""
    return lambda x, y: np.where((x == 0) & (y == 0), -(-x - y), of(x, y)) if x.dtype == np.float32 else of(x, y)


# How far from what is exact the result of an `approx` instruction may lie (docs/gpu-arithmetic.md), with that.


def last_place(value: np.ndarray) -> np.ndarray:
    """The unit of the last place of numbers of f32 of this size."""
    return np.ldexp(1.0, np.maximum(np.frexp(value)[1] - 24, -149))


def bound_of_ex2(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """2 units from what is correctly rounded, which is exact for 0 and below all numbers."""
    rounded = np.exp2(x).astype(np.float32).astype(np.float64)
    return rounded, np.where((x == 0) | (rounded == 0), 0, 2 * last_place(rounded))


def bound_of_lg2(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """2^-22, absolutely between 1/2 and 2 and relatively elsewhere."""
    exact = np.log2(x)
    return exact, 2.0**-22 * np.where((x > 0.5) & (x < 2), 1, np.abs(exact))


def bound_of_rcp(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """1 unit."""
    exact = 1 / x
    return exact, np.where(exact == 0, 0, last_place(exact))


def bound_of_rsqrt(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """2^-22.9 of the result."""
    exact = 1 / np.sqrt(x)
    return exact, 2.0**-22.9 * exact


BOUNDS = {"ex2": bound_of_ex2, "lg2": bound_of_lg2, "rcp": bound_of_rcp, "rsqrt": bound_of_rsqrt}
APPROXIMATIONS = ("nearest", "above", "below", "either")


def approximated(name: str, x: np.ndarray, way: str) -> np.ndarray:
    """The result of an `approx` instruction: the nearest number, the last one above or below that its bound allows, or either of
    these by the bits of the argument."""
    exact, error = BOUNDS[name](x.astype(np.float64))
    nearest = np.asarray(exact.astype(np.float32))
    if way != "nearest":
        above = np.ascontiguousarray(x).view(np.uint32) * np.uint32(0x9E3779B9) >> np.uint32(31) == 1 if way == "either" else way == "above"
        bound = np.where(above, exact + error, exact - error)
        last, back = bound.astype(np.float32), np.where(above, np.float32(-np.inf), np.float32(np.inf))
        last = np.where(np.where(above, last > bound, last < bound), np.nextafter(last, back), last)
        nearest = np.where((error == 0) | np.isinf(nearest), nearest, last)
    return np.where(np.isnan(nearest), np.uint32(0x7FFFFFFF).view(np.float32), nearest)


def flushed(x: np.ndarray) -> np.ndarray:
    """Subnormal numbers as zeros of their sign."""
    return np.where(np.abs(x) < 2.0**-126, np.copysign(np.float32(0), x), x)


def divided(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Rounded as the type is: integers toward zero."""
    if x.dtype.kind == "f":
        return x / y
    whole = np.abs(x.astype(np.int64)) // np.abs(y.astype(np.int64)) * np.sign(x.astype(np.int64)) * np.sign(y.astype(np.int64))
    return whole.astype(x.dtype)
