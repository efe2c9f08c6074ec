# ===- test_models.py - Random models, and the generator itself --------------=== #
# SPDX-License-Identifier: Apache-2.0
"""What ./dev fuzz models does, on fixed seeds, and that it would notice a mistake.

The generator must know every word of the language: the schema that hova prints lists
them, so an operator or an option that nobody draws fails here.
"""

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from expressions import evaluate
from judge import judge
from model import Model
from rounding import STORAGES, meet
from shrink import shrink, smaller_expressions
from trial import HOVA, Trial, Verdict, bits, run_all

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from campaigns import share  # noqa: E402

MODELS = 200
DESCRIPTIONS = 5000  # for words that are rare
OTHER_IMAGE = 5520244  # windows of one image after windows of another


@pytest.mark.parametrize("seed", [*share(range(MODELS), of=2), OTHER_IMAGE])
def test_a_random_model_equals_numpy(seed, tmp_path):
    assert Trial.draw(seed).run(tmp_path) is None


@pytest.mark.parametrize("seed", [10, 40, 189])
def test_a_random_model_takes_any_number_of_items(seed, tmp_path):
    """Of those above, a tenth do, and are run with fewer."""
    trial = Trial.draw(seed)
    assert trial.items and trial.run(tmp_path) is None and trial.ranged


# Slices of one product that are added, slices that begin at an odd column, one head beside all, a slice of a slice alone.
GPU_MODELS = [*share(range(100), of=2), 1079, 1175, 1538, 990329]


@pytest.mark.parametrize("first", range(0, len(GPU_MODELS), 35))
def test_random_models_equal_numpy_on_an_emulated_gpu(first, tmp_path):
    """Or, of a few, compilation says in a sentence what is too large for a GPU."""
    failed, refused = run_all(GPU_MODELS[first : first + 35], tmp_path, target="cuda-emulated")
    assert not failed
    assert len(refused) <= 2


# --- everything is drawn -------------------------------------------------------------


@cache
def drawn_words():
    """(operator, key) and (operator, key, word) of all layers of many descriptions."""
    words = set()
    for seed in range(DESCRIPTIONS):
        description = Model(seed).description
        blocks = description.get("blocks", {}).values()
        words |= {("description", key) for key in description}
        words |= {("block", key) for block in blocks for key in block}
        words |= {
            ("input", key, str(entry[key]))
            for entry in description["inputs"].values()
            for key in entry
        }
        for layers in [description["layers"], *(block["layers"] for block in blocks)]:
            for layer in layers:
                what = layer.get("op", "use of a block")
                words |= {(what, key) for key in layer}
                words |= {
                    (what, key, value)
                    for key, value in layer.items()
                    if isinstance(value, str)
                }
                words |= {
                    ("initialiser", init["kind"])
                    for init in layer.get("init", {}).values()
                }
    return words


def schema():
    done = subprocess.run([HOVA, "schema"], capture_output=True, check=True, text=True)
    return json.loads(done.stdout)


def missing(kind, properties, senseless):
    """What the schema has for one kind of layer that was never drawn."""
    for key, value in properties.items():
        if key in senseless:
            continue
        if (kind, key) not in drawn_words():
            yield f"{kind}: {key}"
        for choice in value.get("anyOf", []):
            for word in choice.get("enum", []):
                if (kind, key, word) not in drawn_words():
                    yield f"{kind}: {key}: {word}"


def test_every_word_of_the_language_is_drawn():
    definitions = schema()["definitions"]
    left_out = []
    for layer in definitions["layer"]["oneOf"]:
        properties = layer["properties"]
        kind = properties.get("op", {}).get("const", "use of a block")
        senseless = []
        if not properties.get("init", {"properties": 1})["properties"]:
            senseless = ["init", "weights", "trainable"]  # it has no weights
        if "op" in properties and "input" not in properties:
            senseless.append("repeat")  # the result cannot be read again
        left_out += missing(kind, properties, senseless)
    kinds = definitions["initializer"]["properties"]["kind"]["enum"]
    left_out += [
        f"init: {kind}" for kind in kinds if ("initialiser", kind) not in drawn_words()
    ]
    assert left_out == []


def test_every_dtype_of_inputs_and_every_section_is_drawn():
    words = drawn_words()
    properties = schema()["properties"]
    # disguise.py makes the section for checkpoints out of the weights, and figures of papers
    # are about models of papers.
    sections = set(properties) - {"$schema", "checkpoints", "published"}
    assert {name for name in sections if ("description", name) not in words} == set()
    dtypes = properties["inputs"]["additionalProperties"]["properties"]["dtype"]["enum"]
    assert [d for d in dtypes if ("input", "dtype", d) not in words] == []
    assert {
        key
        for key in ("inputs", "arguments", "layers", "output", "outputs")
        if ("block", key) not in words
    } == set()


# --- it would notice -----------------------------------------------------------------


def noisy(want):
    rng = np.random.default_rng(0)
    return [want * (1 + rng.uniform(-1, 1, want.shape) * 2**-23) for _ in range(6)]


def test_judge_notices():
    want = np.random.default_rng(1).normal(size=(4, 9))
    plains = noisy(want)
    assert judge(want.astype(np.float32), want, plains) is None
    for place, value in (
        ((1, 2), want[1, 2] + 1e-5),
        ((0, 0), np.nan),
        ((3, 8), np.inf),
    ):
        got = want.copy()
        got[place] = value
        assert "[%d, %d]" % place in judge(got, want, plains)
    assert "everywhere" in judge(want * (1 + 7 * 2**-23), want, plains)
    assert judge(want[:, :8], want, plains).startswith("has shape")


def test_judge_knows_nothing_where_float32_overflows():
    want = np.array([1e60, 2.0, np.inf])
    plains = [np.array([np.nan, 2.0, np.inf])] * 6
    assert judge(np.array([np.inf, 2.0, np.inf]), want, plains) is None
    assert judge(np.array([np.inf, 2.0, 3.0]), want, plains)


def test_heads_meet_where_their_storage_overflows():
    heads = np.array([1.0, 7e4], np.float32).reshape(1, 2, 1, 1)
    with np.errstate(over="ignore"):
        met = {name: meet(heads, store(heads)).ravel() for name, store in STORAGES.items()}
    np.testing.assert_array_equal(met["f16"], np.array([np.nan, 7e4], np.float32))
    for name in ("f32", "bf16"):
        np.testing.assert_array_equal(met[name], heads.ravel())


def test_expressions_follow_the_description():
    names = {"width": 12, "index": 3, "on": False}
    for text, value in {
        "4*width": 48,
        "7/2": 3.5,
        "8/2": 4,
        "-7 // 2": -4,
        "-7 % 3": 2,
        "-2**2": -4,
        "if(on, 1, index)": 3,
        "index % 2 == 1 and not on": True,
        "min(5, width)": 5,
        "'a' == 'b' or true": True,
        "floor(sqrt(10))": 3,
    }.items():
        assert evaluate(text, names) == value


def test_shrinking_keeps_the_failure():
    """A "failure" that needs one operator is shrunk to little more than that."""

    def has_gate(trial):
        return any(
            layer.get("op") == "channel_gate" for layer in trial.description["layers"]
        )

    trial = next(
        t
        for t in map(Trial.draw, range(200))
        if has_gate(t) and len(t.description["layers"]) > 3
    )
    small = shrink(trial, has_gate, 5)
    assert [layer["op"] for layer in small.description["layers"]] == ["channel_gate"]


def test_shrinking_makes_expressions_of_scores_small():
    """The parts of an expression stand for it, and no longer one does."""
    parts = set(smaller_expressions("if(key < 2, score, t[head, 3])"))
    assert {"key < 2", "score", "t[head, 3]", "if(key, score, t[head, 3])"} <= parts
    assert "if(key < 2, score, 3)" in parts


def test_bits_tell_zeros_apart_but_not_nans():
    nan = np.array([0x7FC00000, 0xFFC00000, 0x7FC00001], "u4").view("f4")
    assert len({bits(value) for value in nan}) == 1
    assert bits(np.float32(0.0)) != bits(np.float32(-0.0))
    assert bits(nan[0]) != bits(np.float32(np.inf))


def test_a_failure_is_saved_and_loaded(tmp_path):
    trial = Trial.draw(3)
    trial.save(tmp_path, Verdict("threads", "differ"))
    assert Trial.load(tmp_path) == trial
