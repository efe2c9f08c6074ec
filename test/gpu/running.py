# ===- running.py - The compiler and programs for a GPU ------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""What the tests of this folder have in common."""

import numpy as np
from test_gpu import HOVA, ROOT, run

VECTORS = ROOT / "test/golden/vectors"
DTYPES = ["bf16", "f16", "f32"]


def options_of(settings):
    """`depth=2 width=32` as options of the compiler."""
    return [f"--set={setting}" for setting in settings.split()]


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
