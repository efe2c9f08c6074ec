# ===- test_linear_attention_of_ranges_on_gpus.py - The same on GPUs --------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Linear attention in a program for a GPU with ranges gives each item what the program of its length alone gives, bit for bit.
Nothing here runs on a GPU: kernels are emulated, with checks that none reads or writes a row that a run has not, or executed by an
interpreter of PTX behind a stand-in for the driver."""

import json

import numpy as np
import pytest
from test_linear_attention_of_ranges import performer
from test_ranges import MASK, WIDTH, Case, check_neighbours, compiled, hova
from test_ranges_on_gpus import check_on_a_driver

# More keys than a block of a product's turns has, and than two blocks of a causal one.
LENGTH = 270
LENGTHS = {False: ([5, LENGTH, 1, 33], [256, 256], [257, 64, 1], [1]), True: ([64, LENGTH, 1, 5], [65, 65], [128, 129, 63], [1])}
WAYS = {
    "f32": (),
    "bf16": ("--dtype=bf16", "--gpu-arch=sm_80"),
    "bf16, sm_90a": ("--dtype=bf16", "--gpu-arch=sm_90a"),
    "f16": ("--dtype=f16",),
    "f16, sm_90a": ("--dtype=f16", "--gpu-arch=sm_90a"),
}
# Each kind of features as f32 and in each type of 16 bits, with a mask and without, and on both levels.
CASES = [
    ("softmax", False, "f32"), ("softmax", True, "f32"), ("relu", False, "f32"), ("exp", True, "f32"),
    ("softmax", False, "bf16, sm_90a"), ("softmax", True, "bf16"), ("relu", True, "bf16, sm_90a"), ("exp", False, "bf16"),
    ("softmax", False, "f16"), ("softmax", True, "f16, sm_90a"), ("relu", False, "f16, sm_90a"), ("exp", True, "f16"),
]


def described(kernel, causal, length=LENGTH, items=5, **more):
    """One layer, masked unless its features are those of `relu`."""
    mask = {"key_valid": "mask"} if kernel != "relu" else {}
    model = json.loads(json.dumps(performer(kernel, MASK if mask else {}, causal=causal, **mask, **more)))
    model["layers"][2]["repeat"] = 1
    model["layers"][1]["length"] = length
    model["parameters"] = {"length": {"min": 1, "max": length}, "items": {"min": 1, "max": items}}
    return model


@pytest.mark.parametrize(("kernel", "causal", "way"), CASES)
def test_items_are_what_they_are_alone(kernel, causal, way, tmp_path):
    case = Case(tmp_path, described(kernel, causal), ("--target=cuda-emulated", *WAYS[way]), ())
    model = hova.load(case.library)
    random = np.random.default_rng(4)
    for lengths in LENGTHS[causal]:
        case.check(model, [case.draw(random, length) for length in lengths])


@pytest.mark.parametrize("way", ["f32", "f16, sm_90a"])
@pytest.mark.parametrize("causal", [False, True])
def test_an_item_that_is_no_number_is_its_own_affair(causal, way, tmp_path):
    layer = {"name": "y", "op": "multi_head_attention", "input": "x", "heads": 3, "kind": "performer", "features": 20, "causal": causal}
    model = {**described("relu", causal), "inputs": {"x": {"shape": ["items", "length", WIDTH]}}, "layers": [layer], "outputs": {"y": "y"}, "blocks": {}}
    program = hova.load(compiled(tmp_path, model, "any", "--target=cuda-emulated", "--init=1", *WAYS[way]))
    random = np.random.default_rng(2)
    check_neighbours(program, [random.standard_normal((length, WIDTH), np.float32) for length in (130, 7, 66)])


def test_a_driver_runs_blocks_of_keys_that_an_item_has(tmp_path):
    """Kernels of PTX that loop over the blocks of an item, and end at once where it has none."""
    check_on_a_driver(tmp_path, described("softmax", True, length=70, items=2), ((9, 2), (70, 1)))
