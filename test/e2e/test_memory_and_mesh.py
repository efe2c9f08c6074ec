# ===- test_memory_and_mesh.py - What M2's attention and decoder promise -------=== #
# SPDX-License-Identifier: Apache-2.0
"""Slots that hold the keys and values of tokens are those tokens, no row is empty, gates of
zeros give the mean of the levels, no word sees the future, and the queries of a decoder
layer are projected once for all levels of the encoder.

Numbers are in test_golden.py, sizes that fit no tile and storage of 16 bits here.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

SOURCE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "test"))
from campaigns import share  # noqa: E402

BUILD = Path(os.environ.get("HOVA_BUILD", SOURCE / "build"))
HOVA = BUILD / "bin/hova"
M2 = SOURCE / "examples/models/m2.json"
SMALL = {"feature_width": 24, "width": 16, "heads": 2, "vocab": 37, "regions": 7, "length": 9,
         "slots": 3, "positions": 10, "batch": 2}


def hova(verb, model, *arguments, **settings):
    options = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
    command = [str(part) for part in (HOVA, verb, model, *arguments, *options)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def describe(folder, layers, outputs, **inputs):
    folder.mkdir(exist_ok=True)
    model = folder / "model.json"
    model.write_text(json.dumps({
        "hova": 1, "name": "m", "inputs": inputs, "layers": layers, "outputs": outputs,
    }))
    return model


def evaluate(folder, model, *options, **inputs):
    arguments = []
    for name, value in inputs.items():
        np.save(folder / f"{name}.npy", value)
        arguments += ["--input", f"{name}={folder}/{name}.npy"]
    hova("evaluate", model, *arguments, *options, "--output-dir", folder / "out")
    return {file.stem: np.load(file) for file in (folder / "out").iterdir()}


SHAPE = {"shape": [2, 5, 6]}


def attention(folder, memory, **masks):
    layer = {"name": "y", "op": "attention", "query": "x", "key": "x", "value": "x",
             "heads": 2, "memory": memory, "init": {"memory.key": {"kind": "constant", "value": 1},
                                                   "memory.value": {"kind": "constant", "value": 1}}}
    if not memory:
        del layer["init"]
    inputs = {"x": SHAPE} | {role: {"shape": [2, 5], "dtype": "bool"} for role in masks}
    return describe(folder, [layer | {role: role for role in masks}], {"y": "y"}, **inputs)


def test_no_slots_are_no_memory(tmp_path):
    dumps = []
    for memory in (0, None):
        layer = {"name": "y", "op": "multi_head_attention", "input": "x", "heads": 2}
        layer |= {} if memory is None else {"memory": memory}
        model = describe(tmp_path / str(memory), [layer], {"y": "y"}, x=SHAPE)
        dump = hova("compile", model, "--emit=mlir", "--stop-after=import", "-o", "-")
        dumps.append(re.findall(r" = hova\.[^{]*", dump))
    assert dumps[0] == dumps[1]


def test_a_row_without_keys_is_the_mean_of_equal_slots(tmp_path):
    x = np.random.default_rng(3).standard_normal((2, 5, 6)).astype(np.float32)
    model = attention(tmp_path, 4, key_valid=0)
    y = evaluate(tmp_path, model, x=x, key_valid=np.zeros((2, 5), bool))["y"]
    np.testing.assert_allclose(y, np.full((2, 5, 6), np.sqrt(4.0)), rtol=1e-12)


# Slots begin inside of a panel of keys, fill panels of their own, and end in a tail.
SLOTS = [(keys, slots, dtype) for keys, slots in [(1, 1), (5, 40), (32, 16), (33, 95), (47, 1), (64, 64), (130, 333)] for dtype in ("f32", "bf16", "f16")]


@pytest.mark.parametrize("keys, slots, dtype", share(SLOTS, of=2))
def test_slots_anywhere(keys, slots, dtype, tmp_path):
    shape = [2, 3, keys, keys]
    inputs = {
        "x": {"shape": [2, keys, 18]},
        "valid": {"shape": [2, keys], "dtype": "bool"},
        "mask": {"shape": [1, 3, 1, keys], "dtype": "bool"},
        "bias": {"shape": shape},
    }
    layer = {"op": "multi_head_attention", "input": "x", "heads": 3, "head_width": 7, "memory": slots}
    variants = [{}, {"key_valid": "valid"}, {"causal": True}, {"kind": "additive", "hidden": 5},
                {"key_valid": "valid", "mask": "mask", "score_bias": "bias", "causal": True}]
    layers = [layer | variant | {"name": f"y{i}"} for i, variant in enumerate(variants)]
    model = describe(tmp_path, layers, {one["name"]: one["name"] for one in layers}, **inputs)
    # f16 is converted where it is read, on both alike.
    for level in ("x86-64-v3",) if dtype == "f16" else ("x86-64-v3", "native"):
        hova("verify", model, f"--dtype={dtype}", f"--march={level}", "--guard")


def test_no_copy_joins_slots_and_keys():
    dump = hova("compile", M2, "--emit=mlir", "--stop-after=fuse", "-o", "-", **SMALL)
    main = dump.split("@weights")[0]
    assert "memory(" in main
    # Seven regions and three slots: nothing has ten rows.
    assert not re.search(r"tensor<2x10x", main)


def test_queries_are_projected_once(tmp_path):
    dump = hova("compile", M2, "--emit=mlir", "--stop-after=normalize", "-o", "-", depth=3, **SMALL)
    main = dump.split("@weights")[0]
    queries = set(re.findall(r"hova.attention (%[\w.]+), (%[\w.]+),", main))
    for layer in range(3):
        cross = {query for query, _ in queries if f"decoder.{layer}.cross" in query}
        assert len(cross) == 1, cross


def test_gates_of_zeros_share_evenly(tmp_path):
    layers = []
    for i in range(3):
        layers += [
            {"name": f"both{i}", "op": "concat", "inputs": ["s", f"c{i}"]},
            {"name": f"gate{i}", "op": "linear", "input": f"both{i}", "width": 6,
             "init": {"weight": {"kind": "zeros"}, "bias": {"kind": "zeros"}}},
            {"name": f"share{i}", "op": "activation", "input": f"gate{i}", "kind": "sigmoid"},
            {"name": f"gated{i}", "op": "multiply", "inputs": [f"c{i}", f"share{i}"]},
        ]
    layers += [{"name": "sum", "op": "add", "inputs": [f"gated{i}" for i in range(3)]},
               {"name": "u", "op": "scale", "input": "sum", "by": "1/sqrt(3)"}]
    model = describe(tmp_path, layers, {"u": "u"}, **{n: SHAPE for n in ("s", "c0", "c1", "c2")})
    draw = np.random.default_rng(5)
    values = {n: draw.standard_normal((2, 5, 6)).astype(np.float32) for n in ("s", "c0", "c1", "c2")}
    u = evaluate(tmp_path, model, **values)["u"]
    want = sum(values[f"c{i}"].astype(np.float64) for i in range(3)) / (2 * np.sqrt(3))
    np.testing.assert_allclose(u, want, rtol=1e-6, atol=1e-7)


def test_no_word_sees_the_future_and_padding_is_nothing(tmp_path):
    program = tmp_path / "program"
    hova("compile", M2, "-o", program, depth=2, **SMALL)
    draw = np.random.default_rng(7)
    fixed = {"features": draw.standard_normal((2, 7, 24)).astype(np.float32),
             "region_valid": draw.random((2, 7)) < 0.7}

    def run(words, name):
        folder = tmp_path / name
        folder.mkdir()
        options = []
        for key, value in (fixed | {"words": words.astype(np.int32)}).items():
            np.save(folder / f"{key}.npy", value)
            options += ["--input", f"{key}={folder / key}.npy"]
        subprocess.run([program, *options, "--output", folder / "y.npy"], check=True)
        return np.load(folder / "y.npy")

    words = draw.integers(2, 37, (2, 9))
    plain = run(words, "plain")
    for token in (1, 4, 8):
        other = words.copy()
        other[:, token:] = draw.integers(2, 37, other[:, token:].shape)
        changed = run(other, str(token))
        assert changed[:, :token].tobytes() == plain[:, :token].tobytes()
        assert (changed[:, token:] != plain[:, token:]).any()
    # Rows of padding are rows of zeros after the last layer: all words are as likely.
    words[1, 5:] = 1
    padded = run(words, "padded")
    np.testing.assert_allclose(padded[1, 5:], -np.log(37), rtol=1e-6)
    np.testing.assert_allclose(padded[1, :5], plain[1, :5], rtol=1e-4, atol=1e-5)
