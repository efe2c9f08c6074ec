# ===- test_two_ranges_on_gpus.py - Items with tokens of two sequences on GPUs ----=== #
# SPDX-License-Identifier: Apache-2.0
"""A program for a GPU with tokens of two sequences gives each item what the program of its two lengths gives, bit for bit, packed
and as arrays, after runs of other sizes. The judge does not divide the inner dimension of products, which a program of few rows
does for speed, and one of any number never. Nothing here runs on a GPU: kernels are emulated, with checks that none reads or writes
a row that a run has not, or executed by an interpreter of PTX behind a stand-in for the driver."""

import json
import sys

import numpy as np
import pytest
from test_two_ranges import BACK, EXAMPLES, HOVA, LINEAR, ROOT, SOURCE, TARGET, WIDTH, Case, check_example, translator

sys.path[:0] = [str(ROOT / "tools/python"), str(ROOT / "test"), str(ROOT / "test/codegen/cuda")]
import hova  # noqa: E402
import stand_in  # noqa: E402
from campaigns import share  # noqa: E402
from test_items_on_gpus import run  # noqa: E402

# More keys than a box of them has, and more queries than a block.
LONG = 70
MODELS = {
    "two lengths": translator(LONG, TARGET),
    "lengths that are alike": translator(LONG, LONG, placed="sinusoid"),
    "the target first": translator(SOURCE, LONG, first="target"),
    "masks of both": translator(LONG, LONG, cross={"key_valid": "seen", "keep": "said[batch, query] or key < 3", "empty_row": "uniform"}),
    "both ways": translator(SOURCE, SOURCE, cross={"score": "score - 0.1 * abs(query - key)", "key_value_heads": 1}, tail=BACK, outputs={"back": "again"}),
    "a source of 16": translator("16", LONG),
    "a target of 1": translator(SOURCE, "1", cross={"causal": False}),
    "slots of a memory": translator(SOURCE, LONG, encoder_kinds={"memory": 3}, cross={"memory": 6}),
    "linear attention in front": translator(LONG, LONG, encoder_kinds={"kind": "performer"}),
    # Several blocks of keys, which are merged, of one sequence and one of the other.
    "linear attention of both": translator(260, LONG, cross={"kind": "performer"}, tail=LINEAR, outputs={"back": "again", "own": "own"}, placed="sinusoid"),
    "linear attention of lengths that are alike": translator(LONG, LONG, cross={"kind": "performer"}, tail=LINEAR, outputs={"back": "again", "own": "own"}, placed="sinusoid"),
}
WAYS = {"f32": (), "bf16": ("--dtype=bf16",), "bf16, sm_90a": ("--dtype=bf16", "--gpu-arch=sm_90a"), "f16": ("--dtype=f16",)}
CASES = [
    ("two lengths", "f32"), ("two lengths", "bf16"), ("lengths that are alike", "bf16, sm_90a"), ("lengths that are alike", "f16"),
    ("the target first", "f16"), ("masks of both", "f32"), ("both ways", "f32"), ("both ways", "bf16"), ("a source of 16", "f16"),
    ("a target of 1", "bf16"), ("slots of a memory", "f16"), ("slots of a memory", "bf16, sm_90a"), ("linear attention in front", "f32"),
    ("linear attention of lengths that are alike", "f16"), ("linear attention of both", "f32"),
]
# A tile's end and one more of either, one token of both, and each the longer one.
PAIRS = [(1, 1), (64, 33), (260, 10), (33, 1), (5, 64), (65, LONG)]
JUDGE = ("--without=hova-split-reductions",)


@pytest.mark.parametrize(("model", "way"), share(CASES, of=2, always=[("masks of both", "f32"), ("slots of a memory", "f16")]))
def test_items_are_what_they_are_alone(model, way, tmp_path):
    case = Case(tmp_path, MODELS[model], ("--target=cuda-emulated", *WAYS[way]), JUDGE)
    random = np.random.default_rng(4)
    lengths = case.lengths(PAIRS)
    program = hova.load(case.library)
    for order in ([0, 1, 2, 3, 4], [5, 0], [2, 1, 2]):
        items = [case.draw(random, lengths[number]) for number in order]
        case.check(program({name: [item[name] for item in items] for name in items[0]}), items, order)
    # As arrays [items, tokens], with fewer items, or shorter ones of one sequence, than in the run before.
    for pair, count in ((5, 2), (1, 2), (4, 1)):
        items = [case.draw(random, lengths[pair]) for _ in range(count)]
        case.check(program({name: np.stack([item[name] for item in items]) for name in items[0]}), items, lengths[pair])


@pytest.mark.parametrize("way", ["f32", "f16"])
def test_an_item_that_is_no_number_is_its_own_affair(way, tmp_path):
    case = Case(tmp_path, MODELS["lengths that are alike"], ("--target=cuda-emulated", *WAYS[way]), JUDGE)
    program = hova.load(case.library)
    random = np.random.default_rng(8)
    items = [case.draw(random, lengths) for lengths in ((13, 27), (33, 1))]
    for wrong in (np.nan, np.inf):
        other = case.draw(random, (LONG, 66))
        for name in ("source", "target"):
            other[name][:] = wrong
        together = [items[0], other, items[1]]
        results = program({name: [item[name] for item in together] for name in other})
        assert np.isnan(results["words"][1]).all()
        case.check({name: [results[name][number] for number in (0, 2)] for name in results}, items, wrong)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_has_the_bits_of_its_own_program(name, tmp_path):
    check_example(tmp_path, name, ("--target=cuda-emulated",), JUDGE)


def test_a_driver_is_given_both_lengths_of_each_run(tmp_path):
    """The graph that was recorded for the largest sizes runs others, by tables that are copied before: as an emulation does, but for the
    order of sums."""
    model = translator(20, 13)
    model["parameters"]["items"]["max"] = 3
    (tmp_path / "model.json").write_text(json.dumps(model))
    (tmp_path / "launches").mkdir()
    for name, words in (("device", ("--target=cuda", "--ptxas=none")), ("emulated", ("--target=cuda-emulated",))):
        run(HOVA, "compile", tmp_path / "model.json", "-q", "--init=1", *words, "-o", tmp_path / name)
    for source, target, items in ((9, 13, 2), (20, 1, 3), (9, 12, 2)):
        sizes = [word for name, size in (("src", source), ("tgt", target), ("items", items)) for word in ("--set", f"{name}={size}")]
        for kind, environment in (("device", stand_in.environment(tmp_path / "launches")), ("emulated", {})):
            run(tmp_path / kind, "--random-inputs", 7, *sizes, "--output", f"words={tmp_path}/{kind}.npy", **environment)
        device, emulated = (np.load(tmp_path / f"{kind}.npy") for kind in ("device", "emulated"))
        assert device.shape == (items, target, WIDTH)
        np.testing.assert_allclose(device, emulated, rtol=1e-5, atol=1e-6)
