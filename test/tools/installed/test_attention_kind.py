# ===- test_attention_kind.py - A kind of attention that a plugin brings ---------=== #
# SPDX-License-Identifier: Apache-2.0
"""The kind "sigmoid" of examples/sigmoid-attention, from outside, against an installed hova.

A kind is queries, keys and values to heads. What stands around it in a layer, it gets from
hova: projections, windows, key_valid, horizontal and vertical attention, states of several
layers, schema, checks, counts. Numbers are compared with NumPy, written from the formulas.
"""

import json
import re

import numpy as np
import pytest
from installation import run, weights_of
from jsonschema import Draft7Validator

BATCH, TOKENS, WIDTH, HEADS = 2, 16, 24, 3


def model(op="multi_head_attention", more=(), **keys):
    names = {"inputs": ["x", "more"]} if op == "omni_attention" else {"input": "x"}
    layer = {"name": "a", "op": op, **names, "heads": HEADS, "kind": "sigmoid", **keys}
    return {
        "hova": 1,
        "name": "kinds",
        "inputs": {
            "x": {"shape": [BATCH, TOKENS, WIDTH]},
            "valid": {"shape": [BATCH, TOKENS], "dtype": "bool"},
        },
        "layers": [
            {"name": "more", "op": "scale", "input": "x", "by": -0.5},
            layer,
            {"name": "rows", "op": "mask_rows", "input": "x", "valid": "valid"},
        ],
        "outputs": {"y": "a", "r": "rows", "m": "more"},
    }


AROUND = {
    "plain": {},
    "padding": {"key_valid": "valid"},
    "windows": {"window": 2, "grid_height": 4},
    "horizontal": {"horizontal": True},
    "vertical": {"vertical": {"width": 5}},
    "all": {"window": 2, "grid_height": 4, "horizontal": True, "vertical": True, "offset": -0.5, "scale": 2},
    "states": {"op": "omni_attention", "hidden": 32},
}


@pytest.mark.parametrize("keys", AROUND.values(), ids=AROUND)
def test_kind_has_all_that_an_attention_has(hova, write, keys):
    path = write(model(**keys))
    assert "within the numeric policy" in hova("verify", path, "--guard")
    site = "omni a:" if "op" in keys else "sigmoid attention a: fused"
    assert site in hova("explain", path)


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
def test_kind_with_padding_in_16_bits(hova, write, dtype):
    assert "within the numeric policy" in hova("verify", write(model(key_valid="valid")), f"--dtype={dtype}")


@pytest.mark.parametrize("keys", [AROUND["all"], AROUND["padding"]], ids=["all", "padding"])
def test_kind_on_a_gpu_has_what_stands_around(hova, write, keys):
    said = hova("verify", write(model(**keys)), "--dtype=bf16", "--target=cuda-emulated", "--cases=2")
    assert "within the numeric policy, on a GPU that the processor emulates" in said


def heads_of(x, w, heads):
    """Queries, keys and values [batch, head, token, width]."""
    parts = []
    for name in ("query", "key", "value"):
        y = x @ w[f"a.{name}.weight"] + w[f"a.{name}.bias"]
        parts.append(y.reshape(*y.shape[:2], heads, -1).transpose(0, 2, 1, 3))
    return parts


def sigmoid_heads(x, w, valid):
    q, k, v = heads_of(x, w, HEADS)
    keys = x.shape[1]
    scores = q @ k.swapaxes(2, 3) / np.sqrt(q.shape[-1]) - np.log(keys)
    weight = 1 / (1 + np.exp(-scores)) * valid[:, None, None, :]
    total = np.exp(w["a.sink"])[None, :, None, None] + weight.sum(-1, keepdims=True)
    return (weight @ v / total).transpose(0, 2, 1, 3)


def reweighted(heads, x, w):
    """Horizontal attention: a softmax over the heads of a token."""
    part = heads.shape[-1]
    hidden = np.maximum(0, heads @ w["a.horizontal.head"] + (x @ w["a.horizontal.input"])[:, :, None, :])
    scores = hidden @ w["a.horizontal.score"] + w["a.horizontal.score_bias"]
    share = np.exp(scores - scores.max(-1, keepdims=True))
    assert part * HEADS == WIDTH
    return heads * (share / share.sum(-1, keepdims=True))[..., None]


def images(x, inverse=False):
    """4 x 4 tokens as windows of 2 x 2, or back."""
    if inverse:
        return x.reshape(BATCH, 2, 2, 2, 2, -1).transpose(0, 1, 3, 2, 4, 5).reshape(BATCH, TOKENS, -1)
    return x.reshape(BATCH, 2, 2, 2, 2, -1).transpose(0, 1, 3, 2, 4, 5).reshape(BATCH * 4, 4, -1)


@pytest.mark.parametrize("name", ["plain", "padding", "windows", "horizontal"])
def test_numbers_are_those_of_numpy(hova, write, tmp_path, name):
    path = write(model(**AROUND[name]))
    file, w = weights_of(hova, path, tmp_path, seed=3)
    generator = np.random.default_rng(4)
    x = generator.normal(size=(BATCH, TOKENS, WIDTH)).astype(np.float32)
    valid = generator.random((BATCH, TOKENS)) < 0.6
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "valid.npy", valid)
    given = ["--input", f"x={tmp_path}/x.npy", "--input", f"valid={tmp_path}/valid.npy"]
    inside = images(x.astype(np.float64)) if name == "windows" else x.astype(np.float64)
    counted = valid if name == "padding" else np.ones(inside.shape[:2], bool)
    heads = sigmoid_heads(inside, w, counted)
    if name == "horizontal":
        heads = reweighted(heads, inside, w)
    want = heads.reshape(*inside.shape) @ w["a.output.weight"] + w["a.output.bias"]
    want = images(want, inverse=True) if name == "windows" else want
    hova("evaluate", path, "--weights", file, *given, "--output-dir", tmp_path / "float64")
    np.testing.assert_allclose(np.load(tmp_path / "float64/y.npy"), want, rtol=1e-6, atol=1e-6)
    hova("compile", path, "--weights", file, "-o", tmp_path / "program")
    run(tmp_path / "program", *given, "--output-dir", tmp_path / "compiled")
    np.testing.assert_allclose(np.load(tmp_path / "compiled/y.npy"), want, rtol=2e-5, atol=2e-5)


def test_masked_keys_change_nothing(hova, write, tmp_path):
    """Bits of a row do not depend on what stands in keys that do not count."""
    path = write(model(key_valid="valid"))
    hova("compile", path, "-o", tmp_path / "program", "--init", "1")
    generator = np.random.default_rng(4)
    x = generator.normal(size=(BATCH, TOKENS, WIDTH)).astype(np.float32)
    valid = np.arange(TOKENS) < np.array([[11], [16]])
    results = []
    for factor in (1, -30):
        changed = np.where(valid[..., None], x, factor * x)
        np.save(tmp_path / "x.npy", changed.astype(np.float32))
        np.save(tmp_path / "valid.npy", valid)
        run(tmp_path / "program", "--input", f"x={tmp_path}/x.npy", "--input", f"valid={tmp_path}/valid.npy",
            "--output-dir", tmp_path / "out")
        results.append(np.load(tmp_path / "out/y.npy")[valid].tobytes())
    assert results[0] == results[1]


def test_schema_has_the_kind_where_attentions_are(hova, write):
    with_kind = Draft7Validator(json.loads(hova("schema")))
    without = Draft7Validator(json.loads(hova.plain("schema")))
    for keys in AROUND.values():
        with_kind.validate(model(**keys))
    assert not without.is_valid(model(offset=1))
    with_kind.validate(model(offset=1))
    assert not with_kind.is_valid(model(offset=True))


def test_without_the_plugin_the_kind_is_unknown(hova, write):
    said = hova.plain("check", write(model()), status=1)
    assert re.search('unknown word "sigmoid"; expected .*softmax, cosine, additive, performer, linformer, bigbird', said)


def test_padding_of_another_shape_is_refused(hova):
    code = """func.func @f(%q: tensor<2x5x12xf32>, %k: tensor<2x7x12xf32>, %s: tensor<3xf32>, %m: tensor<2x5xi1>)
        -> tensor<2x5x12xf32> {
      %o = sigattn.attention %q, %k, %k, %s key_valid(%m) {heads = 3 : i64, scale = 1.0 : f64, offset = 0.0 : f64}
          : (tensor<2x5x12xf32>, tensor<2x7x12xf32>, tensor<2x7x12xf32>, tensor<3xf32>, tensor<2x5xi1>)
          -> tensor<2x5x12xf32>
      return %o : tensor<2x5x12xf32>
    }"""
    assert "expects key_valid of shape 2x7, got 2x5" in hova.opt(code, status=1)


@pytest.mark.parametrize(
    "keys, message",
    [
        ({"causal": True}, '"causal" has no meaning for kind sigmoid, whose keys all count but for key_valid'),
        ({"keep": "key <= query"}, '"keep" has no meaning for kind sigmoid, whose keys all count'),
        ({"memory": 4}, '"memory" has no meaning for kind sigmoid, which has no softmax'),
        ({"key_value_heads": 1}, "kind sigmoid has as many heads of keys as of queries"),
        ({"features": 8}, '"features" has no meaning for kind sigmoid, only for performer'),
        ({"kind": "softmax", "offset": 1}, '"offset" has no meaning for kind softmax, only for sigmoid'),
        ({"window": 2, "grid_height": 4, "relative_bias": True}, "kind sigmoid has no scores of two tokens that a bias could be added to"),
        ({"window": 2, "grid_height": 4, "shift": 1}, "kind sigmoid has no scores of two tokens that the mask of a shift could be added to"),
        ({"init": {"sinks": {"kind": "zeros"}}}, 'did you mean "sink"?'),
    ],
)
def test_mistakes_have_a_place(hova, write, keys, message):
    path = write(model(**keys))
    said = hova("check", path, status=1)
    assert message in said
    assert re.search(re.escape(str(path)) + r":\d+:\d+: error", said)


@pytest.mark.parametrize("keys", [{"causal": False, "memory": 0, "temperature": 1, "empty_row": "zero"}, {"features": 0}])
def test_what_says_nothing_is_no_mistake(hova, write, keys):
    """A description whose kind is a parameter names what one of its kinds takes."""
    assert ": ok" in hova("check", write(model(**keys)))


def test_weights_are_counted(hova, write):
    report = json.loads(hova("summary", write(model()), "--format=json"))
    tensors = {entry["name"]: entry["shape"] for entry in report["parameters"]["tensors"]}
    assert tensors["a.sink"] == [HEADS] and len(tensors) == 9
