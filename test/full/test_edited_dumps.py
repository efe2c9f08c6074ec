# ===- test_edited_dumps.py - Dumps that somebody has edited badly --------------=== #
# SPDX-License-Identifier: Apache-2.0
"""One change in a dump of each phase, drawn at random: test/fuzz/dumps.py says what may come of it."""

import subprocess
import sys
from pathlib import Path

DUMPS = Path(__file__).resolve().parents[1] / "fuzz/dumps.py"


def test_no_edit_is_a_mistake_of_hova(tmp_path):
    words = ["--folder", tmp_path, "--count", "60"]
    done = subprocess.run([sys.executable, "-B", DUMPS, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
