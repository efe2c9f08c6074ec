# ===- test_check_of_bombs.py - Hostile descriptions, counted and sanitized ---=== #
# SPDX-License-Identifier: Apache-2.0
"""Counts the instructions of `hova check` on hostile descriptions with Cachegrind, and reads and
expands all of test/fuzz/bombs.py under AddressSanitizer and UndefinedBehaviorSanitizer.

The units of a description end in the middle of some layer, so a value that a mistake has made
unknown is in use there; the tests of the description's readers run sanitized too for its sake.
"""

import fcntl
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "test/fuzz"))

from bombs import BOMBS, DEAREST, measure  # noqa: E402

BUILD = Path(os.environ["HOVA_BUILD"])
HOVA = BUILD / "bin/hova"
SANITIZED = BUILD / "fuzz/build"

# The two seconds of docs/description.md, at three instructions a nanosecond: Zen 4 runs this code at
# 3.5 to 5.
MOST_INSTRUCTIONS = 6_000_000_000


@pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind is missing")
@pytest.mark.parametrize("name", DEAREST)
def test_check_takes_few_instructions(name, tmp_path):
    path = tmp_path / "bomb.json"
    path.write_text(BOMBS[name]())
    done = subprocess.run(
        ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
        + [HOVA, "check", path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr[-3000:]
    counted = int(re.search(r"I\s+refs:\s+([\d,]+)", done.stderr)[1].replace(",", ""))
    assert counted < MOST_INSTRUCTIONS


@pytest.fixture(scope="session")
def sanitized():
    """The readers alone: LLVM's libraries are not instrumented."""
    (BUILD / "fuzz").mkdir(exist_ok=True)
    # One build for all processes of pytest.
    with open(BUILD / "fuzz/lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for command in (
            ["cmake", "--preset", "fuzz", "-B", SANITIZED],
            ["cmake", "--build", SANITIZED, "--target", "check-description", "hova-description-test"],
        ):
            done = subprocess.run(command, cwd=SOURCE, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return SANITIZED / "bin"


@pytest.mark.parametrize("name", BOMBS)
def test_bomb_is_clean(name, sanitized, tmp_path):
    path = tmp_path / "bomb.json"
    path.write_text(BOMBS[name]())
    status, _, _, said = measure([sanitized / "check-description", "check", path], preexec_fn=None)
    assert status in (0, 1) and "Sanitizer" not in said, said


def test_readers_are_clean(sanitized):
    done = subprocess.run(
        [sanitized / "hova-description-test", "--gtest_brief=1"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-6000:]
