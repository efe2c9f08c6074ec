# ===- values.py - Inputs for a random model ----------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Numbers that a program may be given: ordinary ones, extremes, and masks.

An input is drawn from the seed and its own name, so that removing another one leaves it
as it is. Names tell the purpose: bias0 is added to scores, valid0 and mask0 say which
keys are seen, ids0 is looked up.
"""

import zlib

import numpy as np

LARGEST = float(np.finfo(np.float32).max)
NUMBERS = ("f32", "bf16", "f16")
DTYPES = {"f32": np.float32, "i32": np.int32, "i64": np.int64, "bool": bool}
# What stands for "do not attend" in the masks of frameworks.
NOT_SEEN = (-1e4, -1e9, -1e10, -3e10, -2.5e38, -LARGEST, -np.inf)


def mixed(rng, shape):
    return rng.normal(size=shape) * 10.0 ** rng.integers(-4, 4, shape)


def zeros(rng, shape):
    return np.where(rng.random(shape) < 0.5, 0.0, -0.0)


def specials(rng, shape):
    """Ordinary numbers, two of which are NaN or infinite."""
    x = rng.normal(size=shape)
    for _ in range(2):
        x.flat[rng.integers(x.size)] = rng.choice([np.nan, np.inf, -np.inf])
    return x


def one_huge_row(rng, shape):
    x = rng.normal(size=shape)
    x[..., rng.integers(shape[-1])] *= rng.choice([1e4, 1e10, 1e20])
    return x


def scaled(factor):
    return lambda rng, shape: factor * rng.normal(size=shape)


REGIMES = {
    "normal": scaled(1.0),
    "integers": lambda rng, shape: rng.integers(-3, 4, shape),
    "mixed": mixed,
    "1e4": scaled(1e4),
    "1e10": scaled(1e10),
    "1e30": scaled(1e30),
    "1e-30": scaled(1e-30),
    "denormal": scaled(1e-40),
    "zeros": zeros,
    "specials": specials,
    "one huge row": one_huge_row,
}


def draw(seed, name, shape, dtype, regime, below, storage):
    """The value of the input `name`; `storage` rounds numbers that it can hold, and all of an input of 16
    bits, whose it is."""
    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
    if dtype == "bool":
        seen = rng.random(shape) < rng.choice([0.1, 0.5, 0.9, 1.0])
        seen &= rng.random((*shape[:-1], 1)) < 0.8  # rows without any key
        if rng.random() < 0.5:  # padding: whole tiles of keys that nobody sees
            seen &= np.arange(shape[-1]) < rng.integers(
                0, shape[-1] + 1, (*shape[:-1], 1)
            )
        return seen
    if dtype not in NUMBERS:
        return rng.integers(0, below, shape).astype(DTYPES[dtype])
    values = REGIMES[regime](rng, shape)
    if name.startswith("bias") and rng.random() < 0.5:
        values = np.where(rng.random(shape) < 0.4, rng.choice(NOT_SEEN), values)
        values = np.where(
            rng.random((*shape[:-1], 1)) < 0.1, rng.choice(NOT_SEEN), values
        )
    with np.errstate(all="ignore"):
        values = np.asarray(values, np.float32)
        rounded = storage(values)
    kept = np.where(np.isfinite(rounded) & (rounded != 0), rounded, values)
    if dtype == "f32":
        return kept
    # A file of f16 has no more than these, and the program reads what is there.
    most = 65504 if dtype == "f16" else np.finfo(np.float32).max
    with np.errstate(all="ignore"):
        return storage(np.where(np.isfinite(kept), np.clip(kept, -most, most), kept))


def saved(values, dtype):
    """As a file of NumPy has them, which knows no bf16."""
    return values.astype(np.float16) if dtype == "f16" else values
