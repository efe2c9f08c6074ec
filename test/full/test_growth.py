# ===- test_growth.py - The work of compiling grows with depth ----------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Counts the instructions of a compilation with Cachegrind: time would depend on what else runs."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))

import deep  # noqa: E402

HOVA = Path(os.environ["HOVA_BUILD"]) / "bin" / "hova"


def instructions(depth, folder):
    """Instructions of compiling a model of `depth` layers, all threads together."""
    model = deep.write_model(folder / f"{depth}.json", depth)
    done = subprocess.run(
        ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
        + [HOVA, "compile", model, "-o", folder / f"{depth}"],
        check=True,
        capture_output=True,
        text=True,
    )
    return int(re.search(r"I\s+refs:\s+([\d,]+)", done.stderr)[1].replace(",", ""))


@pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind is missing")
def test_work_is_linear_in_depth(tmp_path):
    # 13 million instructions a layer, whichever layer it is. The 300 layers from 100 to 400 would
    # show a share that grows with the square: 1 % of a layer's work at a depth of 100 makes 4 % here.
    few, some, many = (instructions(depth, tmp_path) for depth in (25, 100, 400))
    first, later = (some - few) / 75, (many - some) / 300
    assert 0.97 < later / first < 1.03, f"{first:.0f} and {later:.0f} instructions a layer"
