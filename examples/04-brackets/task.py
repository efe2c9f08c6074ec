# ===- task.py - Rows of letters and brackets ------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Rows of 48 letters and brackets: which letter stands most often outside of brackets?

Brackets are nested up to three deep and balanced. What is inside of them, at any
depth, does not count, and one letter is frequent there to lead astray: in four of
ten rows the letter that is most frequent in the whole row is another one.
"""

import numpy as np

LENGTH, LETTERS, DEPTH = 48, 6, 3
OPEN, CLOSE = LETTERS, LETTERS + 1


def skeleton(rng):
    """Brackets at random places, -1 where a letter goes."""
    row, depth = [], 0
    while len(row) < LENGTH:
        room = LENGTH - len(row) - depth
        drawn = rng.uniform()
        if depth and (room == 0 or drawn < 0.12):
            row.append(CLOSE)
            depth -= 1
        elif depth < DEPTH and room >= 3 and drawn > 0.92:
            row.append(OPEN)
            depth += 1
        else:
            row.append(-1)
    return np.array(row)


def inside(row):
    """True between brackets."""
    return np.cumsum((row == OPEN).astype(int) - (row == CLOSE)) > 0


def counts(row):
    """How often each letter stands in a row."""
    return np.bincount(row[row < LETTERS], minlength=LETTERS)


def winner(row):
    """The most frequent letter outside of brackets, or None if there are two."""
    ordered = counts(row[~inside(row)])
    best = int(ordered.argmax())
    return best if (ordered == ordered[best]).sum() == 1 else None


def sample(rng):
    while True:
        row = skeleton(rng)
        hidden = inside(row)
        for place, often in ((~hidden, 0.15), (hidden, 0.3)):
            shares = np.full(LETTERS, (1 - often) / LETTERS)
            shares[rng.randint(LETTERS)] += often
            holes = place & (row < 0)
            row[holes] = rng.choice(LETTERS, holes.sum(), p=shares)
        label = winner(row)
        if label is not None:
            return row, label


def samples(count, seed):
    """Rows [count, 48] of tokens and their answers [count]."""
    rng = np.random.RandomState(seed)
    rows, labels = zip(*(sample(rng) for _ in range(count)))
    return np.stack(rows).astype(np.int32), np.array(labels)
