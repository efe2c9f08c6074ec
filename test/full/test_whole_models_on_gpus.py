# ===- test_whole_models_on_gpus.py - Programs for a GPU of published size --------=== #
# SPDX-License-Identifier: Apache-2.0
"""`hova verify` on models as large as published, and on all of test/golden in every type of storage, as programs for a GPU
that the processor emulates with all checks. Every value between two kernels is compared with the evaluator's, and other orders
of blocks, warps and copies must give equal bits."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test/e2e"))
from test_gpu import FOR_FULL, IN_F32, VARIANTS, compile_to, run  # noqa: E402

MODELS, VECTORS = ROOT / "examples" / "models", ROOT / "test" / "golden" / "vectors"
HOVA = Path(os.environ["HOVA_BUILD"]) / "bin" / "hova"


@pytest.mark.parametrize("model", ["vit_b16"])
def test_model_of_published_size(model):
    verify(MODELS / f"{model}.json", "bf16", "--case=0")


def test_two_layers_of_full_width_compute_what_a_cpu_does(tmp_path):
    vit = (MODELS / "vit_b16.json", "--set=depth=2")
    emulated = compile_to(tmp_path / "emulated", *vit, "--target=cuda-emulated")
    native = compile_to(tmp_path / "native", *vit)
    run(native, "--random-inputs", "1", "--output-dir", tmp_path)
    run(emulated, "--random-inputs", "1", "--expected", f"logits={tmp_path / 'logits.npy'}")


@pytest.mark.parametrize("name", sorted(FOR_FULL))
def test_reduced_models_that_take_long(name):
    model, settings = (VARIANTS | IN_F32)[name]
    verify(model, "f32" if name in IN_F32 else "bf16", *(f"--set={setting}" for setting in settings.split()))


@pytest.mark.parametrize("dtype", ["f32", "bf16", "f16"])
@pytest.mark.parametrize("name", sorted(folder.name for folder in VECTORS.iterdir()))
def test_every_model_of_the_reference(name, dtype):
    verify(VECTORS / name / "model.json", dtype)


def verify(model, dtype, *options):
    command = [HOVA, "verify", model, f"--dtype={dtype}", "--target=cuda-emulated", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "within the numeric policy" in done.stdout
