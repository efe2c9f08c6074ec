# ===- test_constants.py - Constants by expression in programs ----------------=== #
# SPDX-License-Identifier: Apache-2.0
"""What the golden cases do not show: that no count has constants, that a program of every storage
type holds them, and that one table in every repetition of a block is one in the packed weights."""

import json
import os
import subprocess
from pathlib import Path

import numpy
import pytest

HOVA = Path(os.environ.get("HOVA_BUILD", "build")) / "bin" / "hova"
TOKENS, HEADS, WIDTH = 24, 2, 16
BUCKET = f"min(abs(index0 - {TOKENS - 1}), 7) + if(index0 > {TOKENS - 1}, 8, 0)"
SCORE = f"score + bias[bucket[key - query + {TOKENS - 1}], head] - slope[head] * abs(key - query)"
LAYER = [
    {"name": "bucket", "op": "constant", "shape": [2 * TOKENS - 1], "dtype": "i32", "value": BUCKET},
    {"name": "slope", "op": "constant", "shape": [HEADS], "value": f"2 ** (-8 * (index0 + 1) / {HEADS})"},
    {"name": "place", "op": "constant", "shape": [TOKENS, WIDTH], "value": "cos(row * 100 ** (-column / 16))"},
    {"name": "placed", "op": "add", "inputs": ["x", "place"]},
    {"name": "bias", "op": "weight", "shape": [16, HEADS]},
    {"name": "attn", "op": "multi_head_attention", "input": "placed", "heads": HEADS, "score": SCORE},
    {"name": "out", "op": "add", "inputs": ["x", "attn"]},
]
MODEL = {
    "hova": 1,
    "name": "constants",
    "parameters": {"depth": 3},
    "inputs": {"x": {"shape": [2, TOKENS, WIDTH]}},
    "blocks": {"layer": {"inputs": ["x"], "layers": LAYER, "output": "out"}},
    "layers": [{"name": "y", "block": "layer", "input": "x", "repeat": "depth"}],
    "outputs": {"y": "y"},
}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("constants") / "model.json"
    path.write_text(json.dumps(MODEL))
    return path


def run(*arguments):
    done = subprocess.run(
        [HOVA, *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_no_count_has_them(model):
    summary = json.loads(run("summary", model, "--format=json", "--set", "depth=1"))
    names = {tensor["name"] for tensor in summary["parameters"]["tensors"]}
    assert {name.split(".")[2] for name in names} == {"bias", "attn"}
    assert summary["parameters"]["trainable"] == 16 * HEADS + 4 * (WIDTH * WIDTH + WIDTH)
    assert summary["parameters"]["frozen"] == 0


def test_tables_of_a_repeated_block_are_one(model):
    text = run("compile", model, "--emit=mlir", "--stop-after=normalize", "--init=1")
    stored = [line for line in text.splitlines() if "hova.store_weight \"constant" in line]
    assert len(stored) == 3, stored


@pytest.mark.parametrize("target", ["cpu", "cuda-emulated"])
@pytest.mark.parametrize("dtype", ["f32", "bf16", "f16"])
def test_programs_of_every_storage_hold_them(model, target, dtype):
    run("verify", model, f"--target={target}", f"--dtype={dtype}", "--cases=1", "--set", "depth=1")


def test_program_equals_numpy(model, tmp_path):
    """Of two layers whose attention adds nothing, so that only the tables are left."""
    still = json.loads(json.dumps(MODEL))
    still["blocks"]["layer"]["output"] = "placed"
    still["layers"].append({"name": "z", "op": "add", "inputs": ["y", "y"]})
    still["outputs"] = {"z": "z"}
    layers = still["blocks"]["layer"]["layers"]
    still["blocks"]["layer"]["layers"] = [layer for layer in layers if layer["name"] in ("place", "placed")]
    path = tmp_path / "still.json"
    path.write_text(json.dumps(still))
    x = numpy.random.default_rng(3).standard_normal((2, TOKENS, WIDTH)).astype(numpy.float32)
    numpy.save(tmp_path / "x.npy", x)
    run("compile", path, "-o", tmp_path / "still", "--set", "depth=2")
    subprocess.run(
        [tmp_path / "still", "--input", f"x={tmp_path}/x.npy", "--output-dir", tmp_path / "out"], check=True
    )
    place = numpy.cos(numpy.arange(TOKENS)[:, None] * 100.0 ** (-numpy.arange(WIDTH) / 16))
    numpy.testing.assert_allclose(numpy.load(tmp_path / "out/z.npy"), 2 * (x + 2 * place), rtol=1e-5, atol=1e-5)
