# ===- test_items.py - One program for every number of items --------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""A program with a range of items alone gives each run what the program of that many gives, bit for bit, whatever its
operators make of an item. The judge is the program that is compiled for one number."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from reduced_models import MODELS, draw, settings_of

ROOT = Path(__file__).resolve().parents[3]
HOVA = Path(os.environ.get("HOVA_BUILD", ROOT / "build")) / "bin/hova"
sys.path[:0] = [str(ROOT / "test"), str(ROOT / "tools/python")]
import hova  # noqa: E402
from campaigns import share  # noqa: E402

MOST = 6
SMALL = {"width": 48, "heads": 3, "depth": 2, "vocab": 50, "classes": 10}
BOTH = {"horizontal": True, "vertical": True}
# Reduced models of the papers: (name, what is set, options).
CASES = {
    "images": ("vit_b16", {"image": 64, **BOTH}, ()),
    "images, bf16": ("vit_b16", {"image": 64}, ("--dtype=bf16",)),
    "windows": ("swin_t", {"width": 24, "heads": 1, **BOTH}, ()),
    "cosines in windows, AVX2": ("swinv2_t", {"image": 128, "width": 32, "heads": 1}, ("--march=x86-64-v3",)),
    "tokens to tokens": ("t2t_vit_14", {"image": 64}, ()),
    "patches of words": ("tnt_s", {"image": 64}, ()),
    "meshed memory": ("m2", {"slots": 5, "feature_width": 40, "regions": 13, "length": 9}, ()),
    "translation": ("vanilla_hv", {"src_len": 13, "tgt_len": 11, **BOTH}, ("--dtype=f16",)),
    "all tokens of all layers": ("omninet_lm", {"partition": 2, "length": 13}, ()),
    "all tokens, performer": ("omninet_mt", {"src_len": 13, "tgt_len": 11}, ()),
    "blocks of keys": ("bigbird_base", {"length": 64, "block_size": 4, "random_blocks": 1}, ()),
    "projected keys": ("lra", {"attention": "linformer", "length": 40}, ()),
}


def run(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)


@pytest.fixture
def compiled(tmp_path, request):
    name, changed, options = CASES[request.param]
    path, settings = MODELS / f"{name}.json", settings_of(name, {**SMALL, **changed})

    def load_for(library, batch):
        done = run(HOVA, "compile", path, *settings, f"--set=batch={batch}", *options, "--emit=lib", "-q", "--init=1", "-o", tmp_path / library)
        assert done.returncode == 0, done.stderr
        return hova.load(tmp_path / f"{library}.so", threads=2)

    return load_for


@pytest.mark.parametrize("compiled", share(CASES, of=2), indirect=True)
def test_runs_have_the_bits_of_their_own_program(compiled):
    random = np.random.default_rng(5)
    program = compiled("any", f"1..{MOST}")
    # Numbers of the largest run lie in memory that smaller ones do not write.
    spoiled = {tensor.name: np.full_like(value, np.nan) if value.dtype.kind == "f" else value
               for tensor in program.inputs for value in [draw(random, tensor)]}
    for items in (1, MOST):
        fixed = compiled(f"of{items}", items)
        given = {tensor.name: draw(random, tensor) for tensor in fixed.inputs}
        expected = fixed(given)
        program(spoiled)
        found = program(given)
        for name, value in expected.items():
            assert found[name].shape == value.shape and found[name].tobytes() == value.tobytes(), (items, name)
    # As many as there are, and the first ones of these.
    for items in range(1, MOST):
        for name, value in program({name: value[:items] for name, value in given.items()}).items():
            assert value.tobytes() == expected[name][:items].tobytes(), (items, name)


def description(layers, output="y", **inputs):
    inputs = inputs or {"x": {"shape": ["items", 6, 16]}}
    return {"hova": 1, "name": "m", "parameters": {"items": {"min": 1, "max": 4}}, "inputs": inputs, "layers": layers, "outputs": {"y": output}}


def attend(**more):
    return [{"name": "y", "op": "attention", "query": "x", "key": "x", "value": "x", "heads": 2, **more}]


TABLE = {"name": "b", "op": "weight", "shape": [4]}
MISTAKES = {
    "items as tokens": ([{"name": "y", "op": "reshape", "input": "x", "shape": [1, 24, 16]}], "its result does not begin with an axis of items"),
    "some items": ([{"name": "y", "op": "slice", "input": "x", "axis": 0, "end": 1}], "its result does not begin with an axis of items"),
    "items one after the other": ([{"name": "y", "op": "concat", "inputs": ["x", "x"], "axis": 0}], "it reads other items than it computes"),
    "a table with a row for each": (
        [{"name": "b", "op": "weight", "shape": [4, 6, 16]}, {"name": "y", "op": "add", "inputs": ["x", "b"]}], "it reads a table that has a row for each item"
    ),
    "something else beside them": (
        [{"name": "b", "op": "weight", "shape": [4, 2, 16]}, {"name": "y", "op": "concat", "inputs": ["x", "b"], "axis": 1}],
        "it joins items with what is none",
    ),
    "states that are none": (
        [{"name": "c", "op": "constant", "shape": ["largest(items)", 6, 16], "value": "index0"}, {"name": "y", "op": "omni_attention", "inputs": ["x", "c"], "heads": 2, "hidden": 16}],
        "it joins items with what is none",
    ),
    "the number of an item": (attend(score="score - 0.1 * batch * key"), "its score depends on the number of an item"),
    "a table of items": ([TABLE, *attend(score="score + b[batch]")], "its score depends on the number of an item"),
    "another item": ([*attend(score="score + x[0, key, head]")], "a score reads an input at another place than that of its item"),
    "parts of items": (
        [{"name": "y", "op": "unfold", "input": "x", "grid_height": 2, "kernel": 1, "within": 1}], "it is an output, and begins with an axis of other things than items"
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_what_is_not_of_an_item_is_refused(name, tmp_path):
    layers, why = MISTAKES[name]
    (tmp_path / "m.json").write_text(json.dumps(description(layers)))
    refused = run(HOVA, "check", tmp_path / "m.json")
    assert refused.returncode == 1 and f"cannot be for a range of sizes: {why}" in refused.stderr, refused.stderr
    assert run(HOVA, "check", tmp_path / "m.json", "--set=items=4").returncode == 0


def load(path, model, *words):
    (path / "m.json").write_text(json.dumps(model))
    name = f"m{len(words)}"  # a library that is loaded stays as it is
    done = run(HOVA, "compile", path / "m.json", "--emit=lib", "-q", "--init=1", *words, "-o", path / name)
    assert done.returncode == 0, done.stderr
    return hova.load(path / f"{name}.so", threads=1)


@pytest.mark.parametrize("most", [8, 13])
def test_blocks_of_rows_have_every_height(most, tmp_path):
    """Of one row of each item: a kernel that has no body for the rows of a run computes fewer."""
    layers = [{"name": "y", "op": "multi_head_attention", "input": "x", "heads": 4, "horizontal": True, "vertical": True}]
    described = description(layers, x={"shape": ["items", 1, 16]}) | {"parameters": {"items": {"min": 1, "max": most}}}
    model = load(tmp_path, described)
    x = np.random.default_rng(1).standard_normal((most, 1, 16), np.float32)
    expected = load(tmp_path, described, f"--set=items={most}")(x=x)["y"]
    for items in range(1, most + 1):
        assert model(x=x[:items])["y"].tobytes() == expected[:items].tobytes(), items


LEARNED = {"name": "w", "op": "weight", "shape": [7, 8], "batch": "items"}
# What begins with rows that are the same for every item, and has the items behind them.
BESIDE = {
    "sum": [{"name": "y", "op": "add", "inputs": ["x", "w"]}],
    "product": [{"name": "l", "op": "linear", "input": "w", "width": 300}, {"name": "k", "op": "linear", "input": "x", "width": 300},
                {"name": "y", "op": "add", "inputs": ["k", "l"]}],
    "norm": [{"name": "l", "op": "layer_norm", "input": "w"}, {"name": "y", "op": "multiply", "inputs": ["x", "l"]}],
    "columns": [{"name": "c", "op": "concat", "inputs": ["w", "x"], "axis": 2}, {"name": "y", "op": "linear", "input": "c", "width": 70}],
    "pools": [{"name": "p", "op": "pool", "input": "w", "kind": "mean"}, {"name": "q", "op": "pool", "input": "x", "kind": "mean"},
              {"name": "y", "op": "add", "inputs": ["p", "q"]}],
}


@pytest.mark.parametrize("name", BESIDE)
def test_what_all_items_share_has_as_many_rows_as_a_run(name, tmp_path):
    described = description([LEARNED, *BESIDE[name]], x={"shape": ["items", 7, 8]})
    x = np.random.default_rng(1).standard_normal((4, 7, 8), np.float32)
    model, fixed = load(tmp_path, described), load(tmp_path, described, "--set=items=4")
    expected = fixed(x=x)["y"]
    for items in range(1, 5):
        assert model(x=x[:items])["y"].tobytes() == expected[:items].tobytes(), items


def test_short_sequences_are_those_of_one_item(tmp_path):
    """Tokens in lanes, of one sequence of each item and of several."""
    for shape in ([16, 64], [2, 16, 64]):
        layers = attend(heads=4) if len(shape) == 2 else [
            {"name": "r", "op": "reshape", "input": "x", "shape": ["items", 32, 64]},
            {**attend(heads=4)[0], "query": "r", "key": "r", "value": "r"},
        ]  # fmt: skip
        described = description(layers, x={"shape": ["items", *shape]})
        x = np.random.default_rng(1).standard_normal((4, *shape), np.float32)
        for items in (1, 2, 3):
            path = tmp_path / f"{len(shape)}{items}"
            path.mkdir()
            any_number = load(path, described)(x=x[:items])["y"]
            assert any_number.tobytes() == load(path, described, f"--set=items={items}")(x=x[:items])["y"].tobytes(), items


def test_learned_queries_are_those_of_every_item(tmp_path):
    layers = [{"name": "q", "op": "weight", "shape": [3, 16], "batch": "items"}, {**attend()[0], "query": "q"}]
    x = np.random.default_rng(1).standard_normal((2, 6, 16), np.float32)
    any_number = load(tmp_path, description(layers))(x=x)["y"]
    assert any_number.tobytes() == load(tmp_path, description(layers), "--set=items=2")(x=x)["y"].tobytes()


def test_items_of_one_shape_have_no_lengths(tmp_path):
    model = load(tmp_path, description(attend()))
    items = [np.zeros((6, 16), np.float32)] * 3
    assert model(x=items)["y"].shape == (3, 6, 16)
    with pytest.raises(hova.Error, match=r"input 'x' expects items of shape \[6, 16\], got \[5, 16\] as item 1"):
        model(x=[items[0], items[1][:5]])
