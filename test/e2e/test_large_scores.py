# ===- test_large_scores.py - Softmax of scores of any size ------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Attention with score biases up to the largest float against the evaluator.

Queries are zero, so that scores are the biases, exactly. Each query has a row of its own:
masks in their usual spellings (-1e10, the smallest float, -inf), rows of one huge value,
sizes on both sides of the one from which a maximum is subtracted before exponentials are taken,
infinities and NaN.
"""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("HOVA_BUILD", SOURCE / "build"))
HOVA = BUILD / "bin/hova"
# Probabilities and values are rounded to the storage type.
TOLERANCE = {"f32": 1e-6, "bf16": 2e-2, "f16": 2e-3}
TARGETS = [
    ("native", "f32"),
    ("native", "bf16"),
    ("x86-64-v4", "f16"),
    ("x86-64-v3", "f32"),
    ("x86-64-v3", "bf16"),
]
# However little the work: more threads then divide it, with other code.
DIVIDE = "before-target(hova-lower-launches{suffix=_0 least-work=0})"
KEYS = [5, 70]  # less than a panel; panels and a tail
SMALLEST = float(np.finfo(np.float32).min)
SIZES = [1e4, 1.1e7, 1.2e7, 2.0**26, 1e9, 3e9, 1e10, 3e10, 1e20, 2.5e38, -SMALLEST]


def bias_rows(keys):
    def row(value, *first):
        return list(first) + [value] * (keys - len(first))

    rows = [row(sign * size) for size in SIZES for sign in (-1, 1)]
    rows += [row(0.0, size) for size in SIZES]
    rows += [row(-size, 0.5, -size, 1.5) for size in SIZES]
    # Finite masks, whose powers are normal numbers, denormal ones, and 0.
    rows += [row(-size, 0.5, -size, 1.5) for size in (80, 87, 88, 95, 100, 104, 150)]
    rows += [row(sign * 1.2e7, sign * 1.2e7 + 1, sign * 1.2e7 + 2) for sign in (-1, 1)]
    rows += [row(SMALLEST, -SMALLEST), row(-np.inf, -1e10), row(-np.inf, SMALLEST)]
    rows += [row(-np.inf), row(0.0, np.inf), row(0.0, np.nan), row(np.nan)]
    rows += [row(-1e10, np.nan), row(-np.inf, np.nan), row(np.inf)]
    return np.array(rows, np.float32)[None, None]


def describe(keys, inputs):
    """Layers whose inputs have the suffix `keys`, and those inputs."""
    rows = bias_rows(keys).shape[2]
    shapes = {
        "q": {"shape": [1, rows, 6]},
        "k": {"shape": [1, keys, 6]},
        "v": {"shape": [1, keys, 8]},
        "bias": {"shape": [1, 1, rows, keys]},
        "valid": {"shape": [1, keys], "dtype": "bool"},
        "mask": {"shape": [1, 1, rows, keys], "dtype": "bool"},
    }
    inputs |= {f"{name}{keys}": shape for name, shape in shapes.items()}
    shared = {"op": "attention", "query": f"q{keys}", "key": f"k{keys}"}
    shared |= {"value": f"v{keys}", "score_bias": f"bias{keys}", "heads": 2}
    return [
        shared | {"name": f"plain{keys}"},
        shared | {"name": f"uniform{keys}", "empty_row": "uniform"},
        shared | {"name": f"additive{keys}", "kind": "additive", "hidden": 3},
        shared | {"name": f"padded{keys}", "key_valid": f"valid{keys}"},
        shared
        | {"name": f"masked{keys}", "mask": f"mask{keys}", "empty_row": "uniform"},
    ]


def draw(keys):
    random = np.random.default_rng(keys)
    bias = bias_rows(keys)
    rows = bias.shape[2]
    values = {
        "q": np.zeros((1, rows, 6), np.float32),
        "k": np.zeros((1, keys, 6), np.float32),
        # Numbers that every storage type has.
        "v": random.integers(-8, 8, (1, keys, 8)).astype(np.float32),
        "bias": bias,
        "valid": random.random((1, keys)) < 0.8,
        "mask": random.random((1, 1, rows, keys)) < 0.5,
    }
    return {f"{name}{keys}": value for name, value in values.items()}


def run(*command):
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False
    )
    if "needs a processor of level" in done.stderr:
        pytest.skip("this machine does not run the level")
    assert done.returncode == 0, done.stderr


def outputs(folder):
    return {file.stem: np.load(file) for file in sorted(folder.iterdir())}


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    """The model, arguments with its inputs, and what the evaluator makes of them."""
    folder = tmp_path_factory.mktemp("case")
    inputs, layers, arguments = {}, [], []
    for keys in KEYS:
        layers += describe(keys, inputs)
        for name, value in draw(keys).items():
            np.save(folder / f"{name}.npy", value)
            arguments += ["--input", f"{name}={folder / name}.npy"]
    model = {"hova": 1, "name": "large", "inputs": inputs, "layers": layers}
    model["outputs"] = {layer["name"]: layer["name"] for layer in layers}
    path = folder / "model.json"
    path.write_text(json.dumps(model))
    run(HOVA, "evaluate", path, *arguments, "--output-dir", folder / "want")
    return path, arguments, outputs(folder / "want")


@pytest.mark.parametrize(("level", "dtype"), TARGETS)
def test_scores_of_every_size_have_a_softmax(level, dtype, case, tmp_path):
    model, arguments, want = case
    program = tmp_path / "program"
    options = ["--march", level, "--dtype", dtype, f"--pass-pipeline={DIVIDE}"]
    run(HOVA, "compile", model, *options, "-o", program)
    for threads in (1, 3):
        folder = tmp_path / str(threads)
        run(program, *arguments, "--threads", threads, "--output-dir", folder)
    one, several = outputs(tmp_path / "1"), outputs(tmp_path / "3")
    assert one.keys() == want.keys() and len(want) == 10
    for name, expected in want.items():
        assert np.isnan(expected).any() and not np.isnan(expected).all()
        np.testing.assert_allclose(
            one[name], expected, rtol=0, atol=TOLERANCE[dtype] * 8, err_msg=name
        )
        # Down to the sign of a NaN.
        assert one[name].tobytes() == several[name].tobytes(), name


@pytest.mark.parametrize("level", ["native", "x86-64-v3"])
def test_rows_of_infinite_scores_are_not_empty(level, tmp_path):
    """A product of -1e40 is -inf in f32: neither 0 nor the mean of all values."""
    inputs = {name: {"shape": [1, 3, 1]} for name in "qkv"}
    inputs |= {"valid": {"shape": [1, 3], "dtype": "bool"}}
    shared = {"op": "attention", "query": "q", "key": "k", "value": "v", "heads": 1}
    layers = [
        shared | {"name": "y", "key_valid": "valid"},
        shared | {"name": "z", "causal": True, "empty_row": "uniform"},
    ]
    model = {"hova": 1, "name": "overflow", "inputs": inputs, "layers": layers}
    model["outputs"] = {"y": "y", "z": "z"}
    path = tmp_path / "model.json"
    path.write_text(json.dumps(model))
    values = {"q": [1e20, 1, -1e20], "k": [-1e20] * 3, "v": [1, 2, 4]}
    arguments = []
    for name, value in values.items():
        np.save(tmp_path / f"{name}.npy", np.array(value, np.float32).reshape(1, 3, 1))
        arguments += ["--input", f"{name}={tmp_path / name}.npy"]
    np.save(tmp_path / "valid.npy", np.array([[True, False, True]]))
    arguments += ["--input", f"valid={tmp_path}/valid.npy"]
    run(HOVA, "compile", path, "--march", level, "-o", tmp_path / "program")
    run(tmp_path / "program", *arguments, "--output-dir", tmp_path / "got")
    got = outputs(tmp_path / "got")
    nan = np.nan
    np.testing.assert_array_equal(got["y"].ravel(), np.float32([nan, 2.5, nan]))
    np.testing.assert_array_equal(got["z"].ravel(), np.float32([nan, 1.5, nan]))


@pytest.mark.parametrize("scale", [2e38, -3e38])
@pytest.mark.parametrize("tokens", [(16, 16), (3, 21)])  # of a vector for each key, or not
@pytest.mark.parametrize("level", ["native", "x86-64-v3"])
def test_scales_up_to_the_greatest_number(level, tokens, scale, tmp_path):
    """To the base of two a scale is 1.44 times as large."""
    queries, keys = tokens
    shapes = {"q": [16, queries, 2], "k": [16, keys, 2], "v": [16, keys, 2]}
    layer = {"name": "y", "op": "attention", "query": "q", "key": "k", "value": "v"}
    layer |= {"heads": 2, "scale": 1, "score": f"score * {scale:e}"}
    model = {"hova": 1, "name": "scale", "layers": [layer], "outputs": {"y": "y"}}
    model["inputs"] = {name: {"shape": shape} for name, shape in shapes.items()}
    path = tmp_path / "model.json"
    path.write_text(json.dumps(model))
    random, arguments, x = np.random.default_rng(1), [], {}
    for name, shape in shapes.items():
        # Products of heads with one channel; the scores are numbers.
        x[name] = random.permuted(np.linspace(-1, 1, np.prod(shape)).astype(np.float32)).reshape(shape)
        np.save(tmp_path / f"{name}.npy", x[name])
        arguments += ["--input", f"{name}={tmp_path / name}.npy"]
    run(HOVA, "compile", path, "--march", level, "-o", tmp_path / "program")
    run(tmp_path / "program", *arguments, "--output-dir", tmp_path / "got")
    raw = x["q"][:, :, None] * x["k"][:, None]
    best = (np.sign(scale) * raw).argmax(2)
    want = np.take_along_axis(x["v"], best, 1)
    np.testing.assert_array_equal(outputs(tmp_path / "got")["y"], want)
