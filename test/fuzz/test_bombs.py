# ===- test_bombs.py - Hostile descriptions are answered at once -------------=== #
# SPDX-License-Identifier: Apache-2.0
"""`hova check` takes little memory, and says what is wrong, whatever it is given.

The bombs that are dearest: `test/fuzz/bombs.py` runs them all. test/full counts their instructions
(test_check_of_bombs.py), and runs all of them under AddressSanitizer.
"""

import os
from pathlib import Path

import pytest
from bombs import BOMBS, DEAREST, measure

HOVA = Path(os.environ.get("HOVA_BUILD", "build")) / "bin" / "hova"

# What the documents promise.
MEBIBYTES = 256


@pytest.fixture(scope="module")
def base():
    """What starting takes: code and libraries."""
    return measure([HOVA, "--version"])[2]


@pytest.mark.parametrize("name", DEAREST)
def test_bomb(name, base, tmp_path):
    path = tmp_path / "bomb.json"
    path.write_text(BOMBS[name]())
    status, _, memory, said = measure([HOVA, "check", path])
    assert status in (0, 1) and said
    assert memory - base < MEBIBYTES


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/urandom"])
def test_endless_file(path, base):
    status, _, memory, said = measure([HOVA, "check", path])
    assert status == 1 and "more than 16777216 bytes" in said
    assert memory - base < MEBIBYTES
