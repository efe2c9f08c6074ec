# ===- positions.py - Tables of positions -----------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Sines and cosines [length, width] of positions from 0."""

import numpy as np


def sinusoid(length, width):
    """Sines and cosines in turns."""
    angle = np.arange(length)[:, None] / 10000 ** (np.arange(0, width, 2) / width)
    table = np.stack([np.sin(angle), np.cos(angle)], axis=2)
    return table.reshape(length, width).astype(np.float32)


def split_sinusoid(length, width):
    """All sines, then all cosines."""
    half = width // 2
    rate = np.exp(-np.arange(half) * np.log(10000) / (half - 1))
    angle = np.arange(length)[:, None] * rate
    return np.concatenate([np.sin(angle), np.cos(angle)], axis=1).astype(np.float32)
