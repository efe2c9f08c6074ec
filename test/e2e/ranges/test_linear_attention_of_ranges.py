# ===- test_linear_attention_of_ranges.py - Sums over the keys of each item -------=== #
# SPDX-License-Identifier: Apache-2.0
"""Linear attention in a program with ranges gives each item what the program of its length alone gives, bit for bit: sums over keys
are of blocks that begin at the item's start and have one size, so what stands behind an item is in none of them.

The judge is the program that is compiled for one length."""

import numpy as np
import pytest
from test_ranges import MASK, WIDTH, Case, check_neighbours, compiled, encoder, hova

# More tokens than two blocks of keys have on every level of a processor.
LENGTH = 230
# One token, rows of a tile and of several, a block's end and one more, several blocks.
LENGTHS = [1, 13, 64, 98, 99, 196, LENGTH]


def performer(kernel, inputs=(), **more):
    """An encoder of which each layer's attention is linear; with features, unless they are keys themselves."""
    attention = {"kind": "performer", "kernel": kernel, "features": 20, **more}
    model = encoder(attention, [], {"y": "encoder"}, **dict(inputs))
    model["parameters"]["length"]["max"] = LENGTH
    model["layers"][1]["length"] = LENGTH
    return model


MODELS = {
    "softmax": performer("softmax"),
    "softmax, masked": performer("softmax", MASK, key_valid="mask"),
    "softmax, causal": performer("softmax", causal=True),
    "softmax, causal, masked": performer("softmax", MASK, causal=True, key_valid="mask"),
    "softmax, shared keys": performer("softmax", causal=True, key_value_heads=1),
    "relu, masked": performer("relu", MASK, key_valid="mask"),
    "relu, keys are features": performer("relu", causal=True, features=0),
    "exp": performer("exp"),
    "exp, causal, masked": performer("exp", MASK, causal=True, key_valid="mask"),
}
WAYS = {
    "native": (),
    "bf16": ("--dtype=bf16",),
    "x86-64-v3": ("--march=x86-64-v3",),
    "x86-64-v3 f16": ("--march=x86-64-v3", "--dtype=f16"),
}
CASES = [(model, "native") for model in MODELS] + [
    ("softmax, masked", "x86-64-v3 f16"),
    ("softmax, causal, masked", "bf16"),
    ("softmax, causal", "x86-64-v3"),
    ("relu, masked", "bf16"),
    ("relu, keys are features", "x86-64-v3"),
    ("exp", "x86-64-v3 f16"),
]


@pytest.fixture(params=CASES, ids=lambda param: f"{param[0]}, {param[1]}")
def case(request, tmp_path):
    model, way = request.param
    return Case(tmp_path, MODELS[model], WAYS[way])


def test_items_are_what_they_are_alone(case):
    random = np.random.default_rng(3)
    for threads in (1, 3, 16):
        model = hova.load(case.library, threads=threads)
        # A longest item first and last, so that sums of other runs stand behind those of each.
        for lengths in ([LENGTH, 1, 99], [98, 13, 64, 1, 5, 196], [1], [91, LENGTH]):
            case.check(model, [case.draw(random, length) for length in lengths], threads)
        for length, count in ((13, 2), (98, 2), (99, 5), (1, 3)):
            case.check(model, [case.draw(random, length) for _ in range(count)], threads, packs=False)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("kernel", ["softmax", "relu", "exp"])
def test_an_item_that_is_no_number_is_its_own_affair(kernel, causal, tmp_path):
    layer = {"name": "y", "op": "multi_head_attention", "input": "x", "heads": 3, "kind": "performer", "kernel": kernel, "features": 20, "causal": causal}
    inputs = {"x": {"shape": ["items", "length", WIDTH]}}
    model = {**performer(kernel), "inputs": inputs, "layers": [layer], "outputs": {"y": "y"}, "blocks": {}}
    program = hova.load(compiled(tmp_path, model, "any", "--init=1"), threads=1)
    random = np.random.default_rng(2)
    check_neighbours(program, [random.standard_normal((length, WIDTH), np.float32) for length in (99, 7, 130)])
