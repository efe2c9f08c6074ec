# ===- test_races.py - The runtime under ThreadSanitizer ---------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Builds the runtime and its tests of threads with ThreadSanitizer (build/races) and runs them."""

import os
import subprocess
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
RACES = Path(os.environ["HOVA_BUILD"]) / "races"
ROUNDS = 10


def checked(*command, **options):
    result = subprocess.run(command, cwd=SOURCE, capture_output=True, text=True, check=False, **options)
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-6000:]


def test_no_order_of_threads_is_a_race():
    checked("cmake", "--preset", "races", "-B", str(RACES))
    checked("cmake", "--build", str(RACES), "--target", "hova-race-test")
    # A child of fork() makes threads in one of the tests.
    sanitizer = {**os.environ, "TSAN_OPTIONS": "halt_on_error=1 die_after_fork=0"}
    checked(str(RACES / "bin/hova-race-test"), f"--gtest_repeat={ROUNDS}", env=sanitizer)
