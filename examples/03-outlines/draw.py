# ===- draw.py - Pictures of outlines, closed or with a gap ----------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Pictures of 24 x 24 grey values, of six classes: 2 * shape + (1 if it has a gap).

The outline of a circle, a square or a triangle lies turned, moved and scaled at
random. Half of the outlines lack a piece of 4 to 6 pixels anywhere along the line.
"""

import numpy as np

SIDE = 24
SHAPES = ("circle", "square", "triangle")
SPACING = 0.5
NOISE = 0.05
GREYS = 15


def corners(shape):
    """The corners of a shape around the origin, of equal areas."""
    count = {"circle": 60, "square": 4, "triangle": 3}[shape]
    angle = 2 * np.pi * np.arange(count) / count
    radius = {"circle": 1.0, "square": 1.25, "triangle": 1.55}[shape]
    return radius * np.stack([np.sin(angle), np.cos(angle)], axis=1)


def along(points, spacing):
    """Points `spacing` apart along the closed line through `points`."""
    closed = np.concatenate([points, points[:1]])
    lengths = np.linalg.norm(np.diff(closed, axis=0), axis=1)
    ends = np.concatenate([[0.0], np.cumsum(lengths)])
    places = np.arange(0.0, ends[-1], spacing)
    return np.stack([np.interp(places, ends, closed[:, i]) for i in (0, 1)], axis=1)


def picture(shape, gap, rng):
    angle = rng.uniform(0, 2 * np.pi)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    line = along(rng.uniform(4.5, 6.5) * corners(shape) @ turn, SPACING)
    middle = (line.min(axis=0) + line.max(axis=0)) / 2
    room = (SIDE - 2 - np.ptp(line, axis=0)) / 2
    line += SIDE / 2 - middle + rng.uniform(-1, 1, 2) * room
    line = np.roll(line, rng.randint(len(line)), axis=0)
    length = int(rng.uniform(4, 6) / SPACING)
    if gap:
        line = line[length:]
    pixels = np.stack(np.mgrid[:SIDE, :SIDE], axis=-1).reshape(-1, 1, 2) + 0.5
    distance = np.linalg.norm(pixels - line, axis=-1).min(axis=1)
    grey = np.clip(1.3 - distance, 0, 1) + NOISE * rng.standard_normal(SIDE * SIDE)
    # Few grey values: files of them are small when they are packed.
    return np.round(np.clip(grey, 0, 1) * GREYS).reshape(1, SIDE, SIDE) / GREYS


def pictures(count, seed):
    """Pictures [count, 1, 24, 24] and their classes [count]."""
    rng = np.random.RandomState(seed)
    labels = rng.randint(2 * len(SHAPES), size=count)
    drawn = [picture(SHAPES[label // 2], label % 2 == 1, rng) for label in labels]
    return np.stack(drawn).astype(np.float32), labels
