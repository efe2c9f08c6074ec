# ===- test_lengths.py - One program for every length beside fixed ones --------=== #
# SPDX-License-Identifier: Apache-2.0
"""./dev bench --lengths: what its ratios are made of. No test asserts how long anything takes."""

import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]

sys.path.insert(0, str(SOURCE / "tools/bench"))
import lengths  # noqa: E402


def test_ratios_are_of_medians_of_one_size():
    times = {
        (1, 7): {"ranged": [3.0, 9.0, 4.0], "fixed": [2.0, 1.0, 8.0]},
        (8, 64): {"ranged": [5.0, 5.0, 5.0], "fixed": [5.0, 4.0, 6.0]},
    }
    rows = lengths.rows_of(times)
    assert [(row["items"], row["tokens"], row["ratio"]) for row in rows] == [(1, 7, 2.0), (8, 64, 1.0)]
    assert "| 1 | 7 | 4.000 | 2.000 | 2.000 |" in lengths.table_of(rows)


def test_sizes_are_in_the_ranges_of_the_program():
    items, length = lengths.MOST_SIZES
    assert all(1 <= size[0] <= items and 1 <= size[1] <= length for size in lengths.SIZES)
