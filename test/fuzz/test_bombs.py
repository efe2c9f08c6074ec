# ===- test_bombs.py - Hostile descriptions are answered at once -------------=== #
# SPDX-License-Identifier: Apache-2.0
"""`hova check` takes little time and memory, whatever it is given.

The bombs that are dearest: `test/fuzz/bombs.py` runs them all.
"""

import os
from pathlib import Path

import pytest
from bombs import BOMBS, measure

HOVA = Path(os.environ.get("HOVA_BUILD", "build")) / "bin" / "hova"

# What the documents promise, and room for a machine that has other things to do.
SECONDS = 2
BUSY = 2
MEBIBYTES = 256


@pytest.fixture(scope="module")
def base():
    """What starting takes: code and libraries."""
    return measure([HOVA, "--version"])[2]


@pytest.mark.parametrize(
    "name",
    [
        "repetitions",
        "a list passed by name",
        "ranges of ranges",
        "repetitions of nothing",
        "names of the longest kind",
        "60,000 layers",
        "50,000 wrong uses of blocks",
        "400,000 operands written down",
        "240,000 objects of one",
        "newlines",
    ],
)
def test_bomb(name, base, tmp_path):
    path = tmp_path / "bomb.json"
    path.write_text(BOMBS[name]())
    status, seconds, memory, _ = measure([HOVA, "check", path])
    assert status in (0, 1)
    assert seconds < BUSY * SECONDS
    assert memory - base < MEBIBYTES


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/urandom"])
def test_endless_file(path, base):
    status, seconds, memory, said = measure([HOVA, "check", path])
    assert status == 1 and "more than 16777216 bytes" in said
    assert seconds < BUSY * SECONDS
    assert memory - base < MEBIBYTES
