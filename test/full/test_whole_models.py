# ===- test_whole_models.py - Kernel functions of whole models, interpreted ---=== #
# SPDX-License-Identifier: Apache-2.0
"""What test/pipeline/test_interpreted_kernels.py does, in the published widths but of two layers each:
more layers run the same functions.

Functions of many rows are interpreted for some at the start, in the middle and at the end.
"""

import os
import re
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("HOVA_BUILD", SOURCE / "build"))
# The settings that leave few layers.
FEW_LAYERS = {"lecture_mha": [], "omninet_mt": ["layers=2", "partition=2"]}
# As many tokens as published take a quarter of an hour.
SHORTER = {"bigbird_base": ["length=1024"], "omninet_mt": ["src_len=64", "tgt_len=64"]}


def run(program, *arguments):
    command = [str(part) for part in (BUILD / "bin" / program, *arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
@pytest.mark.parametrize(
    "model",
    sorted((SOURCE / "examples/models").glob("*.json")),
    ids=lambda path: path.stem,
)
def test_kernels_of_a_whole_model(model, dtype, tmp_path):
    out = ["--emit=mlir", "--stop-after=import", "-o", tmp_path / "import.mlir"]
    settings = FEW_LAYERS.get(model.stem, ["depth=2"]) + SHORTER.get(model.stem, [])
    sets = [part for setting in settings for part in ("--set", setting)]
    done = run("hova", "compile", model, f"--dtype={dtype}", *sets, *out)
    assert done.returncode == 0, done.stderr
    out = ["--stop-after=vectorize", "-o", os.devnull]
    done = run("hova-opt", tmp_path / "import.mlir", "--check-meaning", *out)
    assert done.returncode == 0, done.stderr
    assert "did not interpret" not in done.stderr
    assert int(re.search(r"interpreted (\d+) kernel functions", done.stderr)[1]) > 0
