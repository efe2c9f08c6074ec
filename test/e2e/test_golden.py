# ===- test_golden.py - The golden vectors against hova ----------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Every golden case: the evaluator to twelve digits, the compiled program in float32.

The vectors in test/golden were computed by an implementation that shares no code with
hova. `hova evaluate` must give the same float64 numbers up to the order of its sums;
a compiled program the same within the outer bounds for users, and within the numeric
policy on random and edge inputs, value by value, and between guard pages.
"""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("HOVA_BUILD", SOURCE / "build"))
HOVA = BUILD / "bin/hova"
VECTORS = SOURCE / "test/golden/vectors"
CASES = sorted(path.parent.name for path in VECTORS.glob("*/model.json"))

# What attentions make of scores of their own, and heads that share keys.
SCORES = [case for case in CASES if case.startswith(("score_", "keep_", "grouped_"))]

# Of those, and of performers, what a GPU finds out about its tiles; a table of the model; and norms of rows and of heads.
EMULATED = [
    "rms_norm", "rms_norm_heads", "layer_norm_heads", "unit_length_heads", "mha_rms_heads", "mha_layer_norm_heads",
    "positions_split_base", "unfold_within",
    "constant_buckets", "constant_rows", "constant_bilinear_4_7",
    "score_backwards", "score_rounded_down", "score_uneven", "score_sinks", "score_late_gap",
    "score_jumps", "score_bigbird_sinks", "grouped_heads_score", "grouped_attention_performer",
]

# One operator, and a chain of them.
OPERATOR = {"rtol": 1e-4, "atol": 1e-5}
MODEL = {"rtol": 1e-3, "atol": 1e-4}


def run(*command):
    result = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr


def inputs(case):
    files = sorted((VECTORS / case / "inputs").glob("*.npy"))
    return [part for file in files for part in ("--input", f"{file.stem}={file}")]


def weights(case):
    file = VECTORS / case / "weights.safetensors"
    return ["--weights", file] if file.exists() else []


def pairs(case, folder):
    """(name, computed, expected) for every output of a case."""
    files = sorted((VECTORS / case / "outputs").glob("*.npy"))
    assert {file.name for file in files} == {file.name for file in folder.iterdir()}
    return [(file.stem, np.load(folder / file.name), np.load(file)) for file in files]


def compare(name, got, want, computed, **bounds):
    """Numbers are of the type that computes them and near; any others are equal."""
    assert got.shape == want.shape, name
    if want.dtype.kind == "f":
        assert got.dtype == computed, name
        np.testing.assert_allclose(got, want, **bounds)
    else:
        assert got.dtype == want.dtype, name
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("case", CASES)
def test_evaluator_equals_the_oracle(case, tmp_path):
    model = VECTORS / case / "model.json"
    out = tmp_path / "outputs"
    run(HOVA, "evaluate", model, *weights(case), *inputs(case), "--output-dir", out)
    for name, got, want in pairs(case, out):
        compare(name, got, want, np.float64, rtol=1e-12, atol=1e-12 * np.abs(want).max())


@pytest.mark.parametrize("case", CASES)
def test_compiled_program_equals_the_oracle(case, tmp_path):
    model, program = VECTORS / case / "model.json", tmp_path / case
    out = tmp_path / "outputs"
    run(HOVA, "compile", model, *weights(case), "-o", program)
    run(program, *inputs(case), "--output-dir", out)
    bounds = MODEL if case.startswith("tiny_") else OPERATOR
    for name, got, want in pairs(case, out):
        compare(name, got, want, np.float32, **bounds)


@pytest.mark.parametrize("case", EMULATED)
def test_emulated_program_equals_the_oracle(case, tmp_path):
    model, program = VECTORS / case / "model.json", tmp_path / case
    out = tmp_path / "outputs"
    run(HOVA, "compile", model, *weights(case), "-o", program, "--target=cuda-emulated")
    run(program, *inputs(case), "--output-dir", out)
    for name, got, want in pairs(case, out):
        compare(name, got, want, np.float32, **OPERATOR)


@pytest.mark.parametrize("case", CASES)
def test_verify_accepts_the_compiled_program(case):
    run(HOVA, "verify", VECTORS / case / "model.json", *weights(case), "--guard")


@pytest.mark.parametrize("case", SCORES)
def test_verify_accepts_scores_in_bf16(case):
    run(HOVA, "verify", VECTORS / case / "model.json", *weights(case), "--dtype=bf16")
