# ===- test_whole_models_on_gpus.py - Programs for a GPU of published size --------=== #
# SPDX-License-Identifier: Apache-2.0
"""`hova verify` on models as large as published, as programs for a GPU that the processor emulates with all checks. Every
value between two kernels is compared with the evaluator's, and other orders of blocks, warps and copies must give equal bits."""

import os
import subprocess
from pathlib import Path

import pytest

MODELS = Path(__file__).resolve().parents[2] / "examples" / "models"
HOVA = Path(os.environ["HOVA_BUILD"]) / "bin" / "hova"


@pytest.mark.parametrize("model", ["vit_b16"])
def test_model_of_published_size(model):
    command = [HOVA, "verify", MODELS / f"{model}.json", "--dtype=bf16", "--target=cuda-emulated", "--case=0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "within the numeric policy" in done.stdout
