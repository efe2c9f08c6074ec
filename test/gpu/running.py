# ===- running.py - The compiler and programs for a GPU ------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""What the tests of this folder have in common."""

import os
import subprocess
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ["HOVA_BUILD"]) / "bin"
HOVA = BIN / "hova"
MODELS = ROOT / "examples/models"
VECTORS = ROOT / "test/golden/vectors"
DIGITS = ROOT / "examples/01-digits"
DTYPES = ["bf16", "f16", "f32"]


def run(*words, status=0, **environment):
    """What a command says, on both streams; its exit status must be this one."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False,
                          env={**os.environ, **{name: str(value) for name, value in environment.items()}})
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def options_of(settings):
    """`depth=2 width=32` as options of the compiler."""
    return [f"--set={setting}" for setting in settings.split()]


def compile_to(program, model, *options):
    run(HOVA, "compile", model, *options, "-o", program)
    return program


def outputs_of(program, folder, *options):
    """The outputs of a run as arrays, by name."""
    folder.mkdir()
    run(program, *options, "--output-dir", folder)
    return {path.stem: np.load(path) for path in folder.glob("*.npy")}


def verify(model, dtype, *options):
    """Compares what every kernel leaves with the reference evaluator."""
    said = run(HOVA, "verify", model, f"--dtype={dtype}", "--target=cuda", *options)
    assert "within the numeric policy" in said
    assert "emulate" not in said, said
