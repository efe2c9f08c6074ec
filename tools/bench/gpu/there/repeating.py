# ===- repeating.py - Weights that are small when they travel --------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Weights of a model, drawn from a seed, of which a packed image is a few hundred kilobytes when it is compressed.

A matrix repeats a block of 256 x 256 random numbers, moved on by its name in steps of 64. Kernels read weights transposed, padded,
with columns exchanged inside of 64, and multiplied with gains: whatever packing does, rows of an image repeat, and a compressor with
a large window finds them. So an image is made by hova itself, where hova is, and who times PyTorch beside it draws the same weights
here. Every number is still random, no two rows or columns that a block of threads has at once are alike, and an address in memory
is as far away as ever, so that kernels take the time that they take."""

import zlib

import numpy as np
from drawing import draw_blocks, soften_exponents

PERIOD, STEP = 256, 64  # steps are whole groups of the columns that layouts exchange


def block():
    """The numbers that all weights are made of."""
    return np.random.default_rng(0).standard_normal((PERIOD, PERIOD), np.float32)


def tensor(name, shape, is_table, numbers):
    """One weight: rows of tables of a fifth, matrices so that their products stay of order one, gains near 1, biases near 0."""
    if name.endswith(".random_table"):
        return draw_blocks(np.random.default_rng(0), shape)
    place = zlib.crc32(name.encode())
    moved = np.roll(numbers, (STEP * (place % 4), STEP * (place // 4 % 4)), (0, 1))
    if len(shape) == 1:
        return np.resize(moved[place // 16 % PERIOD], shape).astype(np.float32) * np.float32(0.1) + np.float32(name.endswith("gain"))
    rows, columns = int(np.prod(shape[:-1])), shape[-1]
    tiled = np.tile(moved, (-(-rows // PERIOD), -(-columns // PERIOD)))[:rows, :columns].reshape(shape)
    if is_table:
        return tiled * np.float32(0.2)
    # Sums over k have so many equal parts, which add up instead of partly cancelling each other.
    equal = max(1, shape[-2] // PERIOD)
    return np.ascontiguousarray(tiled * np.float32((shape[-2] * equal) ** -0.5))


def weights(described):
    """All weights of a model by name, from rows of (name, shape, whether its rows are looked up)."""
    numbers = block()
    tensors = {name: tensor(name, shape, is_table, numbers) for name, shape, is_table in described}
    soften_exponents(tensors)
    return tensors
