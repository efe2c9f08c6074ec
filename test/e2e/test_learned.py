# ===- test_learned.py - Values that are learned --------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Layers `weight` in compiled programs, against NumPy: a gain, a table, a bias of scores, learned
queries and learned memory. One file of weights serves every batch, embedded or beside the program."""

import json
import os
import subprocess
from pathlib import Path

import numpy
import pytest
from safetensors.numpy import save_file

HOVA = Path(os.environ.get("HOVA_BUILD", "build")) / "bin" / "hova"
TOKENS, WIDTH, HEADS, SLOTS, MEMORY = 5, 16, 2, 3, 4
MODEL = {
    "hova": 1,
    "name": "learned",
    "parameters": {"batch": 1, "biased": True},
    "inputs": {"x": {"shape": ["batch", TOKENS, WIDTH]}},
    "layers": [
        {"name": "gain", "op": "weight", "shape": [WIDTH], "init": {"weight": {"kind": "ones"}}},
        {"name": "table", "op": "weight", "shape": [TOKENS, WIDTH]},
        {"name": "scaled", "op": "multiply", "inputs": ["x", "gain"]},
        {"name": "placed", "op": "add", "inputs": ["scaled", "table"]},
        {"name": "bias", "op": "weight", "shape": [1, HEADS, SLOTS, TOKENS], "if": "biased"},
        {"name": "queries", "op": "weight", "shape": [SLOTS, WIDTH], "batch": "batch"},
        {"name": "keys", "op": "weight", "shape": [MEMORY, WIDTH], "batch": "batch", "trainable": False},
        {"name": "read", "block": "reading", "inputs": {"q": "queries", "x": "placed", "b": "bias"}},
        {"name": "out", "op": "attention", "query": "read", "key": "keys", "value": "keys", "heads": HEADS},
    ],
    "blocks": {
        "reading": {
            "inputs": ["q", "x", "b"],
            "layers": [
                {"name": "r", "op": "attention", "query": "q", "key": "x", "value": "x", "heads": HEADS, "score_bias": "b"}
            ],
            "output": "r",
        }
    },
    "outputs": {"out": "out"},
    "checkpoints": {"bare": {"rules": [{"to": "{name}.weight", "from": "{name}"}]}},
}
SHAPES = {
    "gain.weight": [WIDTH],
    "table.weight": [TOKENS, WIDTH],
    "bias.weight": [1, HEADS, SLOTS, TOKENS],
    "queries.weight": [SLOTS, WIDTH],
    "keys.weight": [MEMORY, WIDTH],
}


def attend(query, key, value, bias=0.0):
    batch, _, width = query.shape
    split = [v.reshape(batch, -1, HEADS, width // HEADS).transpose(0, 2, 1, 3) for v in (query, key, value)]
    scores = split[0] @ split[1].transpose(0, 1, 3, 2) / numpy.sqrt(width // HEADS) + bias
    shares = numpy.exp(scores - scores.max(-1, keepdims=True))
    shares /= shares.sum(-1, keepdims=True)
    return (shares @ split[2]).transpose(0, 2, 1, 3).reshape(batch, -1, width)


def reference(x, w, biased=True):
    w = {name: value.astype(numpy.float64) for name, value in w.items()}
    batch = len(x)
    placed = x * w["gain.weight"] + w["table.weight"]
    every = lambda name: numpy.repeat(w[name][None], batch, axis=0)  # noqa: E731
    read = attend(every("queries.weight"), placed, placed, w["bias.weight"] if biased else 0.0)
    return attend(read, every("keys.weight"), every("keys.weight"))


FACTORS = {"model": [1], "rows": [TOKENS, 1], "heads": [4, 1], "outer": [1, TOKENS, 1, 8]}
REPEATED = {
    "hova": 1,
    "name": "repeated",
    "inputs": {"x": {"shape": [3, TOKENS, WIDTH]}, "gate": {"shape": [3, 1, 32]}},
    "layers": [
        *({"name": name, "op": "weight", "shape": shape} for name, shape in FACTORS.items()),
        {"name": "wide", "op": "linear", "input": "x", "width": 32, "bias": False},
        {"name": "scaled", "op": "multiply", "inputs": ["wide", "model"]},
        {"name": "moved", "op": "add", "inputs": ["scaled", "rows"]},
        {"name": "gated", "op": "multiply", "inputs": ["gate", "moved"]},
        {"name": "split", "op": "reshape", "input": "gated", "shape": [3, TOKENS, 4, 8]},
        {"name": "by_head", "op": "multiply", "inputs": ["split", "heads"]},
        {"name": "by_token", "op": "add", "inputs": ["by_head", "outer"]},
        {"name": "joined", "op": "reshape", "input": "by_token", "shape": [3, TOKENS, 32]},
        {"name": "again", "op": "multiply", "inputs": ["joined", "gate", "model"]},
        {"name": "first", "op": "pool", "input": "again", "kind": "first"},
    ],
    "outputs": {"gated": "gated", "joined": "joined", "first": "first"},
}


@pytest.mark.parametrize("target", ["cpu", "cuda-emulated"])
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_a_factor_repeats_along_axes_of_one_element(target, level, tmp_path):
    """As NumPy has it: of a model, of rows, of heads, of items of a batch."""
    (tmp_path / "model.json").write_text(json.dumps(REPEATED))
    random = numpy.random.default_rng(7)
    shapes = {"wide.weight": [WIDTH, 32], **{f"{n}.weight": s for n, s in FACTORS.items()}}
    w = {name: random.standard_normal(shape).astype(numpy.float32) for name, shape in shapes.items()}
    save_file(w, tmp_path / "w.safetensors")
    inputs = {name: entry["shape"] for name, entry in REPEATED["inputs"].items()}
    x, gate = (random.standard_normal(shape).astype(numpy.float32) for shape in inputs.values())
    numpy.save(tmp_path / "x.npy", x)
    numpy.save(tmp_path / "gate.npy", gate)
    program = tmp_path / "program"
    options = [f"--target={target}", level, "--weights", tmp_path / "w.safetensors"]
    run(HOVA, "compile", tmp_path / "model.json", *options, "-o", program)
    run(program, f"--input=x={tmp_path}/x.npy", f"--input=gate={tmp_path}/gate.npy", f"--output-dir={tmp_path}")
    w = {name.removesuffix(".weight"): value.astype(numpy.float64) for name, value in w.items()}
    gated = gate * (x @ w["wide"] * w["model"] + w["rows"])
    joined = (gated.reshape(3, TOKENS, 4, 8) * w["heads"] + w["outer"]).reshape(3, TOKENS, 32)
    wanted = {"gated": gated, "joined": joined, "first": (joined * gate * w["model"])[:, 0]}
    for name, value in wanted.items():
        found = numpy.load(tmp_path / f"{name}.npy")
        assert numpy.abs(found - value).max() <= 1e-5 * numpy.abs(value).max(), name


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("learned")
    (folder / "model.json").write_text(json.dumps(MODEL))
    random = numpy.random.default_rng(5)
    weights = {name: random.standard_normal(shape).astype(numpy.float32) for name, shape in SHAPES.items()}
    save_file(weights, folder / "w.safetensors")
    return folder, weights


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_tensors_are_trained_parameters_named_by_their_layers(folder):
    report = json.loads(run(HOVA, "summary", folder[0] / "model.json", "--format=json"))["parameters"]
    assert {tensor["name"]: tensor["shape"] for tensor in report["tensors"]} == SHAPES
    assert report["frozen"] == MEMORY * WIDTH
    assert report["trainable"] == WIDTH + TOKENS * WIDTH + HEADS * SLOTS * TOKENS + SLOTS * WIDTH
    assert report["dense"] == 0


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("biased", [True, False])
def test_one_file_serves_every_batch(folder, batch, biased):
    path, weights = folder
    if not biased:
        weights = {name: value for name, value in weights.items() if name != "bias.weight"}
        save_file(weights, path / "unbiased.safetensors")
    file = path / ("w.safetensors" if biased else "unbiased.safetensors")
    program = path / f"program{batch}{biased}"
    settings = ["--set", f"batch={batch}", "--set", f"biased={str(biased).lower()}"]
    run(HOVA, "compile", path / "model.json", "--weights", file, *settings, "-o", program)
    x = numpy.random.default_rng(batch).standard_normal((batch, TOKENS, WIDTH)).astype(numpy.float32)
    numpy.save(path / "x.npy", x)
    run(program, f"--input={path}/x.npy", f"--output={path}/y.npy")
    wanted = reference(x.astype(numpy.float64), weights, biased)
    numpy.testing.assert_allclose(numpy.load(path / "y.npy"), wanted, rtol=1e-4, atol=1e-5)


def test_checkpoint_has_them_under_other_names(folder):
    path, weights = folder
    save_file({name.split(".")[0]: value for name, value in weights.items()}, path / "bare.safetensors")
    x = numpy.random.default_rng(2).standard_normal((1, TOKENS, WIDTH)).astype(numpy.float32)
    numpy.save(path / "x.npy", x)
    command = [HOVA, "evaluate", path / "model.json", "--input", path / "x.npy", "--output-dir", path / "bare"]
    run(*command, "--weights", path / "bare.safetensors", "--checkpoint=bare")
    wanted = reference(x.astype(numpy.float64), weights)
    numpy.testing.assert_allclose(numpy.load(path / "bare/out.npy"), wanted, rtol=1e-5, atol=1e-6)


def test_images_of_weights_do_not_depend_on_the_batch(folder):
    path, _ = folder
    images = []
    for batch in (1, 3):
        image = path / f"{batch}.weights"
        run(
            *(HOVA, "weights", "pack", path / "model.json", "--weights", path / "w.safetensors"),
            *("--set", f"batch={batch}", "-o", image),
        )
        images.append(image.stat().st_size)
    assert images[0] == images[1]
