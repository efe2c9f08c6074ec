# ===- judge.py - When are the numbers of a compiled program right? ----------=== #
# SPDX-License-Identifier: Apache-2.0
"""Compares outputs with the exact run, by the distance of plain runs from it.

The measure is a row (the last axis), so that a huge row hides no small one, and the root
mean square of the whole, so that one ill-conditioned row hides no small errors everywhere.
NaN and infinities must sit where the exact run has them, except where a plain run
disagrees with it about that: there float32 overflows.
"""

import numpy as np

# Multiples of the worst plain run's error: of the largest in a row, and of the root mean
# square. A row has few numbers, so luck weighs more; both are far below what a lost
# operation, a mask that is off by one or a swapped operand does in float32.
ROW, WHOLE = 8.0, 4.0
# Units in the last place of a row's largest number, where the plain runs happen to be
# exact: this many for a row, one for the whole.
UNITS = 8.0
# Functions are zero where their result is no normal number.
TINY = float(np.finfo(np.float32).tiny)


def judge(got, want, plains):
    """None, or what is wrong, as one sentence."""
    if got.shape != want.shape:
        return f"has shape {list(got.shape)} instead of {list(want.shape)}"
    if want.dtype.kind != "f":
        return None if np.array_equal(got, want) else "has other values"
    with np.errstate(all="ignore"):
        return _judge_numbers(got.astype(np.float64), want, plains)


def _judge_numbers(got, want, plains):
    plains = np.stack(plains).astype(np.float64)
    # Infinities compare as numbers, NaN as a place.
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    known = np.all(
        (plains == want)
        | np.isfinite(plains) & np.isfinite(want)
        | np.isnan(plains) & np.isnan(want),
        axis=0,
    )
    misplaced = known & ~same & ~(np.isfinite(got) & np.isfinite(want))
    if misplaced.any():
        return _sentence("NaN or infinite in other places", misplaced, got, want)
    compared = known & np.isfinite(want)
    if not compared.any():
        return None
    error = np.where(compared, np.abs(got - want), 0)
    noise = np.where(compared, np.abs(plains - want).max(axis=0), 0)
    size = np.where(compared, np.abs(want), 0).max(axis=-1, keepdims=True)
    floor = UNITS * np.spacing(size.astype(np.float32)).astype(np.float64) + TINY
    bound = ROW * noise.max(axis=-1, keepdims=True) + floor
    far = error > bound
    if far.any():
        return _sentence("differs", far, got, want, error / bound)
    count = compared.sum()
    rms = np.sqrt((error**2).sum() / count)
    plain = np.sqrt((np.abs(plains - want) ** 2)[:, compared].sum(axis=1) / count).max()
    limit = (
        WHOLE * plain
        + np.sqrt((np.where(compared, floor, 0) ** 2).sum() / count) / UNITS
    )
    if rms > limit:
        return f"differs everywhere: root mean square {rms:.3g}, at most {limit:.3g}"
    return None


def _sentence(what, wrong, got, want, measure=None):
    measure = wrong if measure is None else measure
    place = np.unravel_index(np.argmax(measure), got.shape)
    index = [int(i) for i in place]
    numbers = f"{got[place]:.9g} instead of {want[place]:.9g} at {index}"
    return f"{what}: {numbers}, {int(wrong.sum())} of {got.size} numbers"
