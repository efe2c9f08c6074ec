# ===- test_whole_models_on_gpus.py - Programs for a GPU of published size --------=== #
# SPDX-License-Identifier: Apache-2.0
"""`hova verify` on models as large as published, and on all of test/golden in every type of storage, as programs for a GPU
that the processor emulates with all checks. Every value between two kernels is compared with the evaluator's, and other orders
of blocks, warps and copies must give equal bits."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODELS, VECTORS = ROOT / "examples" / "models", ROOT / "test" / "golden" / "vectors"
HOVA = Path(os.environ["HOVA_BUILD"]) / "bin" / "hova"


@pytest.mark.parametrize("model", ["vit_b16"])
def test_model_of_published_size(model):
    verify(MODELS / f"{model}.json", "bf16", "--case=0")


@pytest.mark.parametrize("dtype", ["f32", "bf16", "f16"])
@pytest.mark.parametrize("name", sorted(folder.name for folder in VECTORS.iterdir()))
def test_every_model_of_the_reference(name, dtype):
    verify(VECTORS / name / "model.json", dtype)


def verify(model, dtype, *options):
    command = [HOVA, "verify", model, f"--dtype={dtype}", "--target=cuda-emulated", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "within the numeric policy" in done.stdout
