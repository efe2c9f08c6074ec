# ===- test_layers_of_ranges.py - Any length, over all tokens of all layers -------=== #
# SPDX-License-Identifier: Apache-2.0
"""Omnidirectional attention in programs with ranges: an item's rows of all layers are those of its own tokens, so that its bits are
those of the program of its length alone, on processors and on emulated GPUs.

The judge is the program that is compiled for one size: its code knows nothing of ranges."""

import json
import subprocess
import sys

import numpy as np
import pytest
from test_ranges import HOVA, ITEMS, LENGTH, MASK, ROOT, Case, check_neighbours, compiled, encoder, hova
from test_ranges_on_gpus import check_on_a_driver

sys.path.insert(0, str(ROOT / "test"))
from campaigns import some_of  # noqa: E402


def over_all(**how):
    """An encoder, and an attention over three of its states."""
    model = encoder({}, [], {"y": "all"}, **how.pop("inputs", {}))
    first = {"name": "first", "op": "linear", "input": "placed", "width": 48}
    states = ["placed", "first", "encoder"]
    model["layers"] += [first, {"name": "all", "op": "omni_attention", "inputs": states, "heads": 3, "hidden": 40, **how}]
    return model


def twice(model):
    """A second one behind it, and a sum over each item's tokens."""
    again = {**model["layers"][-1], "name": "again", "inputs": ["first", "all", "encoder"]}
    row = {"name": "row", "op": "pool", "input": "again", "kind": "mean", "valid": "mask"}
    return {**model, "layers": [*model["layers"], again, row], "outputs": {"y": "again", "z": "row"}}


PERFORMER = {"kind": "performer", "features": 20}
MODELS = {
    "all": twice(over_all(inputs=MASK)),
    "causal": over_all(causal="flattened", pool="after_attention"),
    "causal by tokens": over_all(causal="block", norm="res_post"),
    "a score": over_all(score="score - 0.1 * abs(query // 3 - key // 3)", keep="key <= query + 30"),
    "performer": over_all(**PERFORMER, kernel="softmax"),
    "performer, causal": over_all(**PERFORMER, kernel="relu", causal="flattened", pool="after_attention"),
}
GPU = "--target=cuda-emulated"
SHARE = [
    ("all", ("--dtype=bf16",)), ("causal", ("--march=x86-64-v3",)), ("a score", ()), ("performer, causal", ("--dtype=f16",)),
    ("all", (GPU, "--dtype=bf16", "--gpu-arch=sm_90a")), ("performer", (GPU, "--dtype=bf16")),
]  # fmt: skip
CASES = some_of([*SHARE, ("all", ()), ("causal by tokens", ()), ("performer", ()), ("causal", (GPU,))], SHARE)


@pytest.mark.parametrize("name, options", CASES, ids=lambda value: value if isinstance(value, str) else " ".join(value) or "native")
def test_items_are_what_they_are_alone(name, options, tmp_path):
    is_emulated = GPU in options
    # Products are divided where they have few rows alone; the sums of a performer have narrow features where they are.
    divided = () if name.startswith("performer") else ("--without=hova-split-reductions",)
    alone = divided if is_emulated else ("--without=hova-form-sequence-kernels",)
    case = Case(tmp_path, MODELS[name], options, alone)
    random = np.random.default_rng(5)
    for threads in (1,) if is_emulated else (1, 3, 16):
        model = hova.load(case.library, threads=threads)
        for lengths in ([13], [LENGTH, 1, 34], [34, 13, 1, 1, 34, 13][:ITEMS], [1]):
            case.check(model, [case.draw(random, length) for length in lengths], threads)
        for length, count in ((13, 2), (34, 3), (1, 5)):
            case.check(model, [case.draw(random, length) for _ in range(count)], threads, packs=False)


@pytest.mark.parametrize("options", [(), (GPU, "--dtype=bf16")], ids=["cpu", "gpu"])
def test_an_item_that_is_no_number_is_its_own_affair(options, tmp_path):
    layers = [
        {"name": "other", "op": "linear", "input": "x", "width": 48},
        {"name": "all", "op": "omni_attention", "inputs": ["x", "other"], "heads": 3, "hidden": 40},
    ]
    model = {**over_all(), "inputs": {"x": {"shape": ["items", "length", 48]}}, "layers": layers, "blocks": {}}
    program = hova.load(compiled(tmp_path, model, "any", "--init=1", *options))
    random = np.random.default_rng(2)
    check_neighbours(program, [random.standard_normal((length, 48), np.float32) for length in (40, 7, 66)])


def test_a_driver_is_given_the_rows_of_each_run(tmp_path):
    """By a stand-in for it: kernels take the rows of all layers beside those of tokens."""
    model = over_all(pool="after_attention")
    model["layers"][2]["repeat"] = 1
    model["parameters"] = {"length": {"min": 1, "max": 12}, "items": {"min": 1, "max": 3}}
    check_on_a_driver(tmp_path, model, ((9, 2), (12, 1), (1, 3)))


def test_items_with_a_second_sequence_are_refused(tmp_path):
    parameters = {"length": {"min": 1, "max": 9}, "more": {"min": 1, "max": 7}}
    inputs = {"x": {"shape": [2, "length", 48]}, "t": {"shape": [2, "more", 48]}}
    beside = {"name": "beside", "op": "multi_head_attention", "query": "x", "key": "t", "value": "t", "heads": 3}
    layers = [beside, {"name": "all", "op": "omni_attention", "inputs": ["x", "beside"], "heads": 3, "hidden": 40}]
    model = {"hova": 1, "name": "m", "parameters": parameters, "inputs": inputs, "layers": layers, "outputs": {"y": "all"}}
    (tmp_path / "m.json").write_text(json.dumps(model))
    refused = subprocess.run([HOVA, "check", tmp_path / "m.json"], capture_output=True, text=True, check=False)
    assert refused.returncode == 1 and "it has 2 rows for each token, and items have tokens of two ranges already" in refused.stderr
