# ===- test_similarity_plugin.py - A similarity that a plugin brings --------------=== #
# SPDX-License-Identifier: Apache-2.0
"""The plugin of examples/distance-attention, from outside, against an installed hova.

A similarity is one term, as operations and as a number. All that an attention has beside it
comes from hova: projections, windows, padding, masks, biases, scores of the description, a
memory, grouped heads, horizontal attention, loops for both targets. Numbers are compared with
NumPy, written from the formula.
"""

import re

import numpy as np
import pytest
from installation import SOURCE, run, weights_of

MODEL = SOURCE / "examples/distance-attention/models/neighbours.json"
BATCH, TOKENS, WIDTH, HEADS = 2, 16, 24, 3


def model(**keys):
    layer = {"name": "a", "op": "multi_head_attention", "input": "x", "heads": HEADS, "kind": "laplace", **keys}
    return {
        "hova": 1,
        "name": "near",
        "inputs": {
            "x": {"shape": [BATCH, TOKENS, WIDTH]},
            "valid": {"shape": [BATCH, TOKENS], "dtype": "bool"},
        },
        "layers": [layer, {"name": "rows", "op": "mask_rows", "input": "x", "valid": "valid"}],
        "outputs": {"y": "a", "r": "rows"},
    }


AROUND = {
    "plain": {},
    "padding": {"key_valid": "valid"},
    "causal": {"causal": True, "scale": 0.5},
    "own": {"score": "3 * tanh(score / 3) - 0.1 * head", "keep": "query - key < 3 and key - query < 3"},
    "windows": {"window": 2, "grid_height": 4, "shift": 1, "relative_bias": True},
    "memory": {"memory": 5},
    "grouped": {"key_value_heads": 1},
    "horizontal": {"horizontal": True, "vertical": True},
}


@pytest.mark.parametrize("keys", AROUND.values(), ids=AROUND)
def test_similarity_has_all_that_an_attention_has(near, write, keys):
    path = write(model(**keys))
    assert "within the numeric policy" in near("verify", path, "--guard")
    assert "attention a: fused" in near("explain", path)


@pytest.mark.parametrize("keys", AROUND.values(), ids=AROUND)
def test_kernels_of_a_gpu_have_it_too(near, write, keys):
    said = near("verify", write(model(**keys)), "--dtype=bf16", "--target=cuda-emulated", "--cases=2")
    assert "within the numeric policy, on a GPU that the processor emulates" in said


# The other kind: a learned vector, and a mask and a score of the kind's own, beside those of the description.

NEAR = {name: {**keys, "kind": "near", "reach": 4} for name, keys in AROUND.items() if name != "memory"}


@pytest.mark.parametrize("keys", NEAR.values(), ids=NEAR)
def test_kind_brings_a_vector_a_mask_and_a_score(near, write, keys):
    path = write(model(**keys))
    assert "within the numeric policy" in near("verify", path, "--guard")
    assert "attention a: fused" in near("explain", path)


@pytest.mark.parametrize("name", ["plain", "own", "grouped"])
def test_kernels_of_a_gpu_have_a_vector_a_mask_and_a_score(near, write, name):
    said = near("verify", write(model(**NEAR[name])), "--dtype=f16", "--target=cuda-emulated", "--cases=2")
    assert "within the numeric policy, on a GPU that the processor emulates" in said


def test_mask_of_a_kind_is_one_of_the_description(near, write):
    """Keys that no query of a block sees are not read, whoever hides them."""
    described = model(kind="near", reach=2)
    described["inputs"]["x"]["shape"] = [1, 512, WIDTH]
    described["inputs"]["valid"]["shape"] = [1, 512]
    said = near("explain", write(described))
    assert re.search(r"tiles? of .*keys?.*skipped", said), said


def test_guide_shows_code_of_the_example():
    guide = (SOURCE / "docs/write-an-operator.md").read_text()
    example = SOURCE / "examples/distance-attention"
    for file, first, end in [("Similarity.cpp", "Value WeightedAttr::addTerm", "\n}\n"), ("Kind.cpp", "attention.scores.score", "\n  return")]:
        code = (example / file).read_text()
        begin = code.index(first)
        lines = code[begin : code.index(end, begin)].splitlines()
        assert lines and all(line.strip() in guide for line in lines)


def test_a_memory_has_no_indices(near, write):
    said = near("check", write(model(kind="near", memory=5)), status=1)
    assert 'the slots of a memory are keys without an index, and kind "near" asks for indices' in said


def test_queries_and_keys_stay_f32(near, write):
    """A distance is no product of matrices: only the values are of the storage type."""
    said = near("compile", write(model()), "--dtype=bf16", "--emit=mlir", "--stop-after=normalize", "-o", "-")
    (operands,) = re.findall(r"similarity\(#distattn\.laplace\).* : \((.*)\) -> .* scores", said)
    assert [re.findall(r"(\w+)>$", operand)[0].rpartition("x")[2] for operand in operands.split(", ")] == ["f32", "f32", "bf16"]


def test_example_is_within_the_policy(near):
    for options in ([], ["--dtype=bf16"], ["--dtype=f16", "--target=cuda-emulated", "--cases=1"]):
        assert "within the numeric policy" in near("verify", MODEL, *options)


def distances(x, w, memory):
    """Raw scores and values [batch, head, ..] of a layer."""
    parts = {}
    for name in ("query", "key", "value"):
        y = x @ w[f"a.{name}.weight"] + w[f"a.{name}.bias"]
        if memory and name != "query":
            stored = w[f"a.memory.{name}"]
            stored = stored * np.sqrt(WIDTH // HEADS if name == "key" else len(stored))
            slots = np.broadcast_to(stored, (BATCH, *stored.shape))
            y = np.concatenate([y, slots], axis=1)
        parts[name] = y.reshape(*y.shape[:2], HEADS, -1).transpose(0, 2, 1, 3)
    difference = parts["query"][:, :, :, None, :] - parts["key"][:, :, None, :, :]
    columns = w.get("a.near.weight", np.ones(WIDTH)).reshape(1, HEADS, 1, 1, -1)
    return -(columns * np.abs(difference)).sum(-1), parts["value"]


def attend(x, w, valid, keys):
    raw, value = distances(x, w, "memory" in keys)
    scores = raw * keys.get("scale", 1 / np.sqrt(WIDTH // HEADS))
    query, key = np.arange(TOKENS)[:, None], np.arange(raw.shape[-1])
    kept = np.ones(raw.shape, bool)
    if keys.get("kind") == "near":
        scores = scores - w["a.near.slope"][:, None, None] * abs(query - key)
        kept &= abs(query - key) <= keys["reach"]
    if "key_valid" in keys:
        kept &= valid[:, None, None, :]
    if "causal" in keys:
        kept &= key <= query
    if "score" in keys:
        scores = 3 * np.tanh(scores / 3) - 0.1 * np.arange(HEADS)[:, None, None]
        kept &= abs(query - key) < 3
    scores = np.where(kept, scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    heads = weights / weights.sum(-1, keepdims=True) @ value
    return heads.transpose(0, 2, 1, 3).reshape(x.shape) @ w["a.output.weight"] + w["a.output.bias"]


CASES = {name: AROUND[name] for name in ["plain", "padding", "causal", "own", "memory"]}
CASES |= {f"near_{name}": NEAR[name] for name in ["plain", "padding", "causal", "own"]}


@pytest.mark.parametrize("keys", CASES.values(), ids=CASES)
def test_numbers_are_those_of_numpy(near, write, tmp_path, keys):
    path = write(model(**keys))
    file, w = weights_of(near, path, tmp_path, seed=5)
    generator = np.random.default_rng(6)
    x = generator.normal(size=(BATCH, TOKENS, WIDTH)).astype(np.float32)
    valid = generator.random((BATCH, TOKENS)) < 0.6
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "valid.npy", valid)
    given = ["--input", f"x={tmp_path}/x.npy", "--input", f"valid={tmp_path}/valid.npy"]
    want = attend(x.astype(np.float64), w, valid, keys)
    near("evaluate", path, "--weights", file, *given, "--output-dir", tmp_path / "float64")
    np.testing.assert_allclose(np.load(tmp_path / "float64/y.npy"), want, rtol=1e-6, atol=1e-6)
    near("compile", path, "--weights", file, "-o", tmp_path / "program")
    run(tmp_path / "program", *given, "--output-dir", tmp_path / "compiled")
    np.testing.assert_allclose(np.load(tmp_path / "compiled/y.npy"), want, rtol=3e-5, atol=3e-5)


ATTENTION = """func.func @f(%q: tensor<2x5x12xf32>, %k: tensor<2x7x12xf32>) -> tensor<2x5x12xf32> {{
  %o = hova.attention %q, %k, %k similarity({similarity}) {{heads = 3 : i64}}
      : (tensor<2x5x12xf32>, tensor<2x7x12xf32>, tensor<2x7x12xf32>) -> tensor<2x5x12xf32> scores {{
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }}
  return %o : tensor<2x5x12xf32>
}}"""


def test_dumps_are_read_again(near):
    said = near.opt(ATTENTION.format(similarity="#distattn.laplace"))
    assert "similarity(#distattn.laplace)" in near.opt(said)


def test_what_is_no_similarity_is_refused(near):
    said = near.opt(ATTENTION.format(similarity="#hova.layout<rows 4>"), status=1)
    assert "'hova.attention' invalid kind of attribute specified" in said


def test_without_the_plugin_the_kind_is_unknown(near):
    assert re.search('unknown word "laplace"; expected softmax, cosine, additive', near.plain("check", MODEL, status=1))
