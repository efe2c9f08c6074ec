# ===- test_ranges_on_gpus.py - A program for a GPU, any length and any items -----=== #
# SPDX-License-Identifier: Apache-2.0
"""A program for a GPU with ranges gives each item what the program of its length alone gives, bit for bit, packed and as arrays,
after runs of other sizes. The judge does not divide the inner dimension of products, which a program of few rows does for speed,
and one of any number never. Nothing here runs on a GPU: kernels are emulated, with checks that none reads or writes a row that a
run has not, or executed by an interpreter of PTX behind a stand-in for the driver."""

import json
import sys

import numpy as np
import pytest
from test_ranges import HOVA, LENGTH, MASK, MODELS, ROOT, VOCAB, WIDTH, Case, check_neighbours, compiled, encoder

sys.path[:0] = [str(ROOT / "tools/python"), str(ROOT / "test/codegen/cuda")]
import hova  # noqa: E402
import stand_in  # noqa: E402
from test_items_on_gpus import run  # noqa: E402


def picked(**how):
    return encoder({}, [{"name": "row", "op": "pool", "input": "encoder", **how}], {"z": "row"}, **MASK)


# Positions of tokens, or of valid ones alone, by a table.
WORDS = {"name": "words", "op": "embedding", "input": "tokens", "vocab": VOCAB, "width": WIDTH}
VALID = {"name": "valid", "op": "padding_mask", "input": "tokens", "pad": 1}
IDS = {"name": "ids", "op": "position_ids", "valid": "valid"}
TABLE = [
    {"name": "table", "op": "embedding", "input": "ids", "vocab": LENGTH + 2, "width": WIDTH},
    {"name": "sum", "op": "add", "inputs": ["words", "table"]},
]
COUNTED = {"name": "sum", "op": "positions", "input": "words", "valid": "mask", "kind": "learned", "offset": 2, "length": LENGTH + 2}
EVERY = {
    **{name: model for name, model in MODELS.items() if name not in ("no mask", "causal rotations")},
    "boxes that all queries see": encoder({"keep": "key < 64 or query < 70"}, [], {"y": "encoder"}),
    "maximum": picked(kind="max"),
    "maximum of valid tokens": picked(kind="max", valid="mask"),
    "the first 7": picked(kind="token", ids="tokens", id=7),
    "the largest": picked(kind="token", ids="tokens"),
    "positions": {**encoder({}, [], {"y": "sum"}), "layers": [WORDS, VALID, IDS, *TABLE], "blocks": {}},
    "positions of valid tokens": {**encoder({}, [], {"y": "sum"}, **MASK), "layers": [WORDS, COUNTED], "blocks": {}},
}
WAYS = ((), ("--dtype=bf16", "--gpu-arch=sm_90a"), ("--dtype=f16",))
JUDGE = ("--without=hova-split-reductions",)


@pytest.fixture(params=enumerate(EVERY), ids=lambda param: param[1])
def case(request, tmp_path):
    number, name = request.param
    return Case(tmp_path, EVERY[name], ("--target=cuda-emulated", *WAYS[number % len(WAYS)]), JUDGE)


def test_items_are_what_they_are_alone(case):
    random = np.random.default_rng(4)
    model = hova.load(case.library)
    # Within one box of keys and in several; a tile's end and one more; one token.
    for lengths in ([5, LENGTH, 1, 33], [64, 64], [33, 1, 64, 5, 5, 33], [LENGTH]):
        case.check(model, [case.draw(random, length) for length in lengths], packs=len(set(lengths)) > 1)


@pytest.mark.parametrize("slots", [0, 4])
def test_an_item_that_is_no_number_is_its_own_affair(slots, tmp_path):
    layers = [
        {"name": "attn", "op": "multi_head_attention", "input": "x", "heads": 3, "memory": slots},
        {"name": "mean", "op": "pool", "input": "attn", "kind": "mean"},
    ]
    inputs = {"x": {"shape": ["items", "length", WIDTH]}}
    model = {**encoder({}, [], {"y": "attn", "z": "mean"}), "inputs": inputs, "layers": layers, "blocks": {}}
    program = hova.load(compiled(tmp_path, model, "any", "--target=cuda-emulated", "--init=1", "--dtype=bf16"))
    random = np.random.default_rng(2)
    check_neighbours(program, [random.standard_normal((length, WIDTH), np.float32) for length in (40, 7, 66)])


def check_on_a_driver(folder, model, sizes):
    """Runs of these lengths and items give what an emulation gives, but for the order of sums: PTX behind a stand-in for the driver."""
    (folder / "model.json").write_text(json.dumps(model))
    for name, target in (("device", "cuda"), ("emulated", "cuda-emulated")):
        words = ("--ptxas=none",) if target == "cuda" else ()
        run(HOVA, "compile", folder / "model.json", f"--target={target}", "-q", "--init=1", *words, "-o", folder / name)
    (folder / "launches").mkdir()
    environment = stand_in.environment(folder / "launches")
    for length, items in sizes:
        for kind in ("device", "emulated"):
            words = ("--random-inputs", 7, "--set", f"length={length}", "--set", f"items={items}")
            run(folder / kind, *words, "--output", f"y={folder}/{kind}.npy", **(environment if kind == "device" else {}))
        device, emulated = (np.load(folder / f"{kind}.npy") for kind in ("device", "emulated"))
        assert device.shape == (items, length, WIDTH)
        np.testing.assert_allclose(device, emulated, rtol=1e-5, atol=1e-6)


def test_a_driver_is_given_the_lengths_of_each_run(tmp_path):
    """The graph that was recorded for the largest sizes runs others, by a table that is copied before."""
    model = json.loads(json.dumps(MODELS["key_valid, first token"]))
    model["layers"][2]["repeat"] = 1
    model["parameters"] = {"length": {"min": 1, "max": 20}, "items": {"min": 1, "max": 3}}
    check_on_a_driver(tmp_path, model, ((9, 2), (20, 1), (1, 3)))


PACKED = """
import sys
import numpy as np
import hova
library, lengths, to = sys.argv[1:]
program, random = hova.load(library), np.random.default_rng(1)
for run, items in enumerate(eval(lengths)):
    y = program([random.standard_normal((length, 48), np.float32) for length in items])["y"]
    np.save(f"{to}{run}.npy", np.concatenate(y))
"""


def test_a_driver_is_given_the_longest_item_of_each_run(tmp_path):
    """Of as many items, and tokens of all of them, only the longest item differs: more blocks of its queries, and fewer again."""
    layer = {"name": "y", "op": "multi_head_attention", "input": "x", "heads": 3}
    model = {"hova": 1, "name": "m", "parameters": {"length": {"min": 1, "max": 140}, "items": {"min": 1, "max": 3}},
             "inputs": {"x": {"shape": ["items", "length", WIDTH]}}, "layers": [layer], "outputs": {"y": "y"}}  # fmt: skip
    (tmp_path / "launches").mkdir()
    driver = stand_in.environment(tmp_path / "launches")
    found = {}
    for target, words, environment in (("cuda", ("--ptxas=none",), driver), ("cuda-emulated", (), {})):
        library = compiled(tmp_path, model, target, f"--target={target}", "--init=1", *words)
        run(sys.executable, "-c", PACKED, library, "(50, 60, 30), (5, 5, 130), (50, 60, 30)", tmp_path / target, PYTHONPATH=str(ROOT / "tools/python"), **environment)
        found[target] = [np.load(tmp_path / f"{target}{number}.npy") for number in range(3)]
    for device, emulated in zip(found["cuda"], found["cuda-emulated"], strict=True):
        assert device.shape == (140, WIDTH)
        np.testing.assert_allclose(device, emulated, rtol=1e-5, atol=1e-6)
