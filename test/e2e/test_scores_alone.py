# ===- test_scores_alone.py - Attention whose scores alone are read -------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Maps of attention, and logits of pairs: the scores are an output and the pooled values are not.

Every kind that has scores gives them alone, in every storage type; they are what the formula
says (in NumPy, on inputs that are queries and keys), and nothing is computed for values.
"""

import itertools
import json
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("HOVA_BUILD", SOURCE / "build"))
HOVA = BUILD / "bin/hova"


def hova(verb, model, *options):
    command = [str(part) for part in (HOVA, verb, model, *options)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def described(folder, layer, inputs, more=()):
    model = folder / "model.json"
    layers = [*more, {"name": "a", "scores": True, **layer}]
    inputs = {name: value if isinstance(value, dict) else {"shape": value} for name, value in inputs.items()}
    model.write_text(json.dumps({"hova": 1, "name": "m", "inputs": inputs, "layers": layers,
                                 "outputs": {"s": "a.scores"}}))
    return model


MULTI_HEAD = {"op": "multi_head_attention", "input": "x", "heads": 3}
X = {"x": [2, 19, 24]}
VARIANTS = {
    "plain": (MULTI_HEAD, X),
    "additive": (MULTI_HEAD | {"kind": "additive", "hidden": 5}, X),
    "cosine": (MULTI_HEAD | {"kind": "cosine"}, X),
    "linformer": (MULTI_HEAD | {"kind": "linformer", "projected_tokens": 7}, X),
    "causal": (MULTI_HEAD | {"causal": True, "empty_row": "uniform"}, X),
    "memory": (MULTI_HEAD | {"memory": 3, "temperature": 2}, X),
    "widths": (MULTI_HEAD | {"key_head_width": 5, "head_width": 5, "value_head_width": 9}, X),
    "gates": (MULTI_HEAD | {"horizontal": True, "vertical": True}, X),
    "one_head": ({"op": "attention", "heads": 1, "query": "x", "key": "x", "value": "x"}, X),
    "values_of_another_width": (
        {"op": "attention", "query": "x", "key": "k", "value": "v", "heads": 2, "scale": -0.5},
        X | {"k": [2, 70, 24], "v": [2, 70, 6]},
    ),
    "masks": (
        MULTI_HEAD | {"key_valid": "valid", "mask": "seen", "score_bias": "bias"},
        X | {"valid": {"shape": [2, 19], "dtype": "bool"}, "seen": {"shape": [2, 1, 19, 19], "dtype": "bool"},
             "bias": [1, 3, 19, 19]},
    ),
}


@pytest.mark.parametrize("dtype", ["f32", "bf16", "f16"])
@pytest.mark.parametrize("name", VARIANTS)
def test_scores_alone_are_right(name, dtype, tmp_path):
    hova("verify", described(tmp_path, *VARIANTS[name]), f"--dtype={dtype}", "--guard")


@pytest.mark.parametrize("options", [["--march=x86-64-v3"], ["--strict"], ["--without=hova-fuse-kernels"],
                                     ["--march=x86-64-v3", "--dtype=bf16"]], ids=" ".join)
@pytest.mark.parametrize("name", ["plain", "additive", "masks"])
def test_scores_alone_are_right_on_other_levels(name, options, tmp_path):
    hova("verify", described(tmp_path, *VARIANTS[name]), *options, "--guard")


@pytest.mark.parametrize("queries, keys", itertools.product([1, 19, 70], [1, 33, 97]))
def test_scores_are_those_of_the_formula(queries, keys, tmp_path):
    width, heads = 20, 2
    shapes = {"q": [2, queries, width], "k": [2, keys, width], "bias": [1, heads, 1, keys]}
    layer = {"op": "attention", "query": "q", "key": "k", "value": "k", "heads": heads, "scale": 0.75,
             "score_bias": "bias"}
    hova("compile", described(tmp_path, layer, shapes), "-o", tmp_path / "program")
    draw = np.random.default_rng(1)
    given = {name: draw.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    command = [tmp_path / "program", "--output", tmp_path / "s.npy"]
    for name, array in given.items():
        np.save(tmp_path / f"{name}.npy", array)
        command += ["--input", f"{name}={tmp_path / name}.npy"]
    subprocess.run(command, check=True)
    q, k = (given[name].astype(np.float64).reshape(2, -1, heads, width // heads) for name in "qk")
    wanted = 0.75 * np.einsum("bihc,bjhc->bhij", q, k) + given["bias"]
    np.testing.assert_allclose(np.load(tmp_path / "s.npy"), wanted, rtol=0, atol=2e-5)


def test_nothing_is_computed_for_values(tmp_path):
    for name in ("plain", "memory", "gates"):
        model = described(tmp_path, *VARIANTS[name])
        text = hova("compile", model, "--emit=mlir", "--stop-after=normalize", "-o", "-").stdout
        operations = re.findall(r"hova\.\w+", text.split("@weights")[0])
        assert sum(op == "hova.linear" for op in operations) <= 2, name  # queries and keys
        assert not re.search(r'"a\.(value|output|memory|horizontal|vertical)', text), name


def test_only_weights_that_nothing_needs_are_called_unused(tmp_path):
    model = described(tmp_path, *VARIANTS["memory"])
    message = hova("check", model).stderr
    assert "warning" in message
    assert set(re.findall(r'"a\.([a-z.]+)"', message)) == {
        "value.weight", "value.bias", "output.weight", "output.bias", "memory.key", "memory.value"}


def test_layers_that_make_values_alone_are_named_and_not_computed(tmp_path):
    made = {"name": "v", "op": "linear", "input": "x", "width": 6}
    layer = {"op": "attention", "query": "x", "key": "x", "value": "v", "heads": 2}
    model = described(tmp_path, layer, X, [made])
    assert set(re.findall(r'"v\.([a-z.]+)"', hova("check", model).stderr)) == {"weight", "bias"}
    hova("verify", model, "--guard")
    text = hova("compile", model, "--emit=mlir", "--stop-after=normalize", "-o", "-").stdout
    assert "hova.linear" not in text


def test_a_reader_of_the_result_has_its_values(tmp_path):
    model = described(tmp_path, *VARIANTS["plain"])
    description = json.loads(model.read_text())
    model.write_text(json.dumps(description | {"outputs": {"s": "a.scores", "y": "a"}}))
    assert "warning" not in hova("check", model).stderr
    hova("verify", model, "--guard")
