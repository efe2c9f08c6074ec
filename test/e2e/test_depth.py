# ===- test_depth.py - A deep model compiles and runs ------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Stacks of many equal layers. How the work of compiling grows with their number is counted by
test/full/test_growth.py."""

import os
import subprocess
import sys
from pathlib import Path

import numpy

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))

import deep  # noqa: E402

HOVA = Path(os.environ.get("HOVA_BUILD", "build")) / "bin" / "hova"


def test_deep_model_runs(tmp_path):
    # A compiler whose work grew with the square of the depth would need minutes for this one.
    model = deep.write_model(tmp_path / "deep.json", depth=1600)
    program = tmp_path / "deep"
    subprocess.run([HOVA, "compile", model, "-o", program], check=True, capture_output=True)
    outputs = []
    for threads in ("1", "3"):
        output = tmp_path / f"{threads}.npy"
        subprocess.run(
            [program, "--random-inputs=1", f"--threads={threads}", f"--output=out={output}"],
            check=True,
            capture_output=True,
        )
        outputs.append(numpy.load(output))
    assert outputs[0].shape == (1, 4, 32)
    assert numpy.isfinite(outputs[0]).all() and numpy.abs(outputs[0]).max() > 1
    assert (outputs[0] == outputs[1]).all()
