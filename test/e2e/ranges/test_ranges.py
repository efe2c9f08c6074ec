# ===- test_ranges.py - One program for every length and number of items --------=== #
# SPDX-License-Identifier: Apache-2.0
"""A program with ranges gives each item what the program of that length alone gives it, bit for bit: whatever stands
beside it, padded or packed, on any number of threads, and after runs of other sizes.

The judge is the program that is compiled for one size: its code knows nothing of ranges."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[3]
HOVA = Path(os.environ.get("HOVA_BUILD", ROOT / "build")) / "bin/hova"
sys.path[:0] = [str(ROOT / "test"), str(ROOT / "tools/python")]
import hova  # noqa: E402
from campaigns import some_of  # noqa: E402

VOCAB, WIDTH, LENGTH, ITEMS = 50, 48, 75, 6


def encoder(attention, tail, outputs, tables=(), **inputs):
    """Two layers, and what a task does with them."""
    layer = [
        {"name": "attn", "op": "multi_head_attention", "input": "x", "heads": 3, **attention},
        {"name": "sum1", "op": "add", "inputs": ["x", "attn"]},
        {"name": "norm1", "op": "layer_norm", "input": "sum1", "eps": 1e-5},
        {"name": "ffn", "op": "feed_forward", "input": "norm1", "hidden": 100, "activation": "gelu_erf"},
        {"name": "sum2", "op": "add", "inputs": ["norm1", "ffn"]},
    ]
    handed = [*inputs, *(table["name"] for table in tables)]
    names = ["x", *handed]
    return {
        "hova": 1,
        "name": "ranged",
        "parameters": {"length": {"min": 1, "max": LENGTH}, "items": {"min": 1, "max": ITEMS}},
        "inputs": {"tokens": {"shape": ["items", "length"], "dtype": "i32", "range": [0, VOCAB]}, **inputs},
        "blocks": {"layer": {"inputs": names, "layers": layer, "output": "sum2"}},
        "layers": [
            {"name": "words", "op": "embedding", "input": "tokens", "vocab": VOCAB, "width": WIDTH},
            {"name": "placed", "op": "positions", "input": "words", "kind": "learned", "length": 80},
            *tables,
            {"name": "encoder", "block": "layer", "repeat": 2, "inputs": {"x": "placed", **{name: name for name in handed}}},
            *tail,
        ],
        "outputs": outputs,
    }


ROTATIONS = [
    {"name": name, "op": "constant", "shape": ["largest(length)", 8], "value": f"{function}(row * 100 ** (-column / 8))"}
    for name, function in (("cosines", "cos"), ("sines", "sin"))
]
BUCKETS = [
    {"name": "distances", "op": "weight", "shape": [6, 3]},
    {"name": "bucket", "op": "constant", "dtype": "i32", "shape": ["2*largest(length) - 1"],
     "value": "if(index0 >= largest(length), 3, 0) + min(abs(index0 - largest(length) + 1), 2)"},
]
MASK = {"mask": {"shape": ["items", "length"], "dtype": "bool"}}
MODELS = {
    "no mask": encoder({}, [], {"y": "encoder"}),
    "key_valid, first token": encoder(
        {"key_valid": "mask"},
        [{"name": "first", "op": "pool", "input": "encoder", "kind": "first"}, {"name": "out", "op": "linear", "input": "first", "width": 70}],
        {"y": "encoder", "z": "out"},
        **MASK,
    ),
    "mean of valid tokens": encoder(
        {"key_valid": "mask"}, [{"name": "mean", "op": "pool", "input": "encoder", "kind": "mean", "valid": "mask"}], {"z": "mean"}, **MASK
    ),
    "mean, causal": encoder({"causal": True}, [{"name": "mean", "op": "pool", "input": "encoder", "kind": "mean"}], {"y": "encoder", "z": "mean"}),
    "last token, a window": encoder(
        {"keep": "abs(query - key) < 50", "key_valid": "mask"},
        [{"name": "last", "op": "pool", "input": "encoder", "kind": "last", "valid": "mask"}],
        {"y": "encoder", "z": "last"},
        **MASK,
    ),
    "distances, shared keys": encoder({"score": "score - 0.1 * abs(query - key)", "key_value_heads": 1}, [], {"y": "encoder"}),
    "rows without keys": encoder({"key_valid": "mask", "empty_row": "uniform"}, [], {"y": "encoder"}, **MASK),
    "rotations": encoder({"cosines": "cosines", "sines": "sines", "key_valid": "mask"}, [], {"y": "encoder"}, ROTATIONS, **MASK),
    "causal rotations": encoder({"cosines": "cosines", "sines": "sines", "causal": True, "key_value_heads": 1}, [], {"y": "encoder"}, ROTATIONS),
    "buckets of distances": encoder({"score": "score + distances[bucket[key - query + largest(length) - 1], head]"}, [], {"y": "encoder"}, BUCKETS),
    "heads and channels weighed": encoder({"horizontal": True, "vertical": True}, [], {"y": "encoder"}),
    "slots of a memory": encoder({"memory": 7, "key_valid": "mask"}, [], {"y": "encoder"}, **MASK),
    "slots, causal": encoder({"memory": 20, "causal": True, "key_value_heads": 1}, [], {"y": "encoder"}),
    "slots without softmax": encoder({"memory": 1, "normalize": "sum"}, [], {"y": "encoder"}),
    "weights without softmax": encoder({"score": "max(score, 0)", "normalize": "sum"}, [], {"y": "encoder"}),
}
WAYS = {"native": (), "bf16": ("--dtype=bf16",), "x86-64-v3": ("--march=x86-64-v3",), "x86-64-v3 f16": ("--march=x86-64-v3", "--dtype=f16")}
# Each way with some of the models.
OTHERS = [
    ("rotations", "bf16"), ("causal rotations", "x86-64-v3"), ("buckets of distances", "x86-64-v3 f16"),
    ("key_valid, first token", "bf16"), ("slots of a memory", "bf16"), ("slots, causal", "bf16"), ("slots, causal", "x86-64-v3 f16"), ("mean, causal", "bf16"), ("last token, a window", "x86-64-v3"), ("no mask", "x86-64-v3 f16")
]
# Each model in one way; ./dev test --full has all of them natively, too.
OTHERWISE = {model for model, _ in OTHERS}
NATIVE = [(model, "native") for model in MODELS]
CASES = some_of([*NATIVE, *OTHERS], [*(case for case in NATIVE if case[0] not in OTHERWISE), *OTHERS])
LENGTHS = some_of([1, 5, 13, 34, 64, LENGTH], [1, 13, 64, LENGTH])


def compiled(folder, model, name, *options):
    folder.mkdir(exist_ok=True)
    (folder / "model.json").write_text(json.dumps(model))
    words = [HOVA, "compile", folder / "model.json", "--emit=lib", "--quiet", *options, "-o", folder / name]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / f"{name}.so"


class Case:
    """A model with ranges, and the programs of one length that judge it, compiled with `alone` besides: what adds in another
    order where there are few rows is left out."""

    def __init__(self, folder, model, options, alone=("--without=hova-form-sequence-kernels",)):
        self.folder, self.model, self.options, self.options_alone = folder, model, options, alone
        self.library = compiled(folder, model, "ranged", *options)
        self.fixed = {}

    def alone(self, item):
        """What the program of the item's length gives."""
        length = len(item["tokens"])
        if length not in self.fixed:
            words = (f"--set=length={length}", "--set=items=1", *self.options_alone)
            library = compiled(self.folder, self.model, f"fixed{length}", *self.options, *words)
            self.fixed[length] = hova.load(library, threads=1)
        return {name: y[0] for name, y in self.fixed[length]({name: x[None] for name, x in item.items()}).items()}

    def draw(self, random, length):
        item = {"tokens": random.integers(0, VOCAB, length, dtype=np.int32)}
        if "mask" in self.model["inputs"]:
            item["mask"] = random.random(length) < 0.7
            if any(word in json.dumps(self.model) for word in ("empty_row", "memory")) and random.random() < 0.5:
                item["mask"][:] = False
            else:
                item["mask"][random.integers(length)] = True
        return item

    def check(self, model, items, *what, packs=True):
        """A run of these items, packed or as arrays [items, tokens], gives each what it is alone."""
        given = {name: [item[name] for item in items] for name in items[0]}
        found = model(given if packs else {name: np.stack(values) for name, values in given.items()})
        for number, item in enumerate(items):
            for name, expected in self.alone(item).items():
                assert same(found[name][number], expected), (*what, [len(item["tokens"]) for item in items], packs, number, name)


@pytest.fixture(params=CASES, ids=lambda param: f"{param[0]}, {param[1]}")
def case(request, tmp_path):
    model, way = request.param
    return Case(tmp_path, MODELS[model], WAYS[way])


def same(found, expected):
    return found.shape == expected.shape and found.tobytes() == expected.tobytes()


def check_neighbours(program, items):
    """Neither what stands beside the second of three items nor what was there in a run before has a part in it, not even times 0: the
    others become NaN and infinity."""
    before = program({"x": items})
    nothing = program({"x": [np.full_like(items[0], np.nan), items[1], np.full_like(items[2], np.inf)]})
    again = program({"x": items})
    for name, expected in before.items():
        assert same(nothing[name][1], expected[1]), name
        assert np.isnan(nothing[name][0]).all(), name
        for number, found in enumerate(again[name]):
            assert same(found, expected[number]), (name, number)


def test_items_are_what_they_are_alone(case):
    random = np.random.default_rng(3)
    for threads in (1, 3, 16):
        model = hova.load(case.library, threads=threads)
        for _ in range(4):
            items = [case.draw(random, int(random.choice(LENGTHS))) for _ in range(random.integers(1, ITEMS + 1))]
            case.check(model, items, threads)
        # As arrays, of which one run after the other has more items, or longer ones.
        for length, count in ((13, 2), (64, 2), (64, 5), (1, 5)):
            case.check(model, [case.draw(random, length) for _ in range(count)], threads, packs=False)


def attend(**more):
    return {"name": "y", "op": "multi_head_attention", "input": "x", "heads": 3, **more}


def over_all(name, states):
    """An attention over the rows of several layers."""
    return {"name": name, "op": "omni_attention", "inputs": states, "heads": 2, "hidden": 16}


X = {"x": {"shape": ["items", "length", WIDTH]}}
TOKENS = {"t": {"shape": ["items", "length"], "dtype": "i32", "range": [0, VOCAB]}}


@pytest.mark.parametrize("way", WAYS)
def test_slots_behind_an_item_are_none_of_the_next(way, tmp_path):
    model = {"hova": 1, "name": "m", "parameters": {"length": {"min": 1, "max": LENGTH}, "items": {"min": 1, "max": 3}},
             "inputs": X, "layers": [attend(memory=4)], "outputs": {"y": "y"}}  # fmt: skip
    program = hova.load(compiled(tmp_path, model, "any", "--init=1", *WAYS[way]), threads=2)
    random = np.random.default_rng(2)
    check_neighbours(program, [random.standard_normal((length, WIDTH), np.float32) for length in (40, 7, 66)])


# What depends on more than an item's own tokens: inputs, layers, and what is said of the last one.
MISTAKES = {
    "blocks of keys": (X, [attend(kind="bigbird", block_size=8, random_blocks=1)], "its blocks of keys depend on the number of tokens"),
    "keys of no run": (
        X,
        [{"name": "k", "op": "weight", "shape": ["largest(items)", "largest(length)", WIDTH]}, attend(kind="performer", key="k", value="k")],
        "its queries, or its keys, are no tokens of a range",
    ),
    "scores": (X, [attend(name="a", scores=True), attend(score_bias="a.scores")], "its scores are read by others"),
    "the number of an item": (X, [attend(score="score - 0.1 * batch * key")], "its score depends on the number of an item"),
    "a table of items": (
        X, [{"name": "b", "op": "weight", "shape": [3]}, attend(score="score + b[batch]")], "its score depends on the number of an item"
    ),
    "another token": ({**X, **TOKENS}, [attend(score="score + t[batch, 0]")], "a score reads an input at another place"),
    "rows of other numbers of layers": (
        X, [over_all("o", ["x", "x"]), over_all("y", ["x", "x", "o"])], "it has 3 rows for each token, and others have 2"
    ),
    "all layers of what has no tokens": (
        X,
        [{"name": "w", "op": "weight", "shape": ["largest(items)", "largest(length)", WIDTH]}, over_all("y", ["x", "w"])],
        "its states are not all of tokens of a range",
    ),
    "a class token": (X, [{"name": "y", "op": "class_token", "input": "x"}], "it reads other rows than it computes, or counts them"),
    "a class token in a mask": (TOKENS, [{"name": "y", "op": "padding_mask", "input": "t", "pad": 1, "class_token": True}], "its result has a class token"),
}


@pytest.mark.parametrize(
    ("sizes", "layer", "rows", "dtype"),
    [
        ((46341, 46341), {"name": "y", "op": "layer_norm", "input": "x"}, 2147488281, "f32"),
        ((46341, 46341), {"name": "y", "op": "layer_norm", "input": "x"}, 2147488281, "bf16"),
        ((32768, 32768), over_all("y", ["x", "x"]), 2147483648, "f32"),
        ((32768, 65535), {"name": "y", "op": "layer_norm", "input": "x"}, None, "f32"),
    ],
    ids=["tokens", "tokens of 16 bits", "tokens of all layers", "as many as there may be"],
)
def test_rows_that_have_no_number_are_refused(sizes, layer, rows, dtype, tmp_path):
    parameters = {name: {"min": 1, "max": most} for name, most in zip(("items", "length"), sizes)}
    model = {"hova": 1, "name": "m", "parameters": parameters, "inputs": {"x": {"shape": ["items", "length", 8], "dtype": dtype}}, "layers": [layer], "outputs": {"y": "y"}}
    (tmp_path / "m.json").write_text(json.dumps(model))
    done = subprocess.run([HOVA, "check", tmp_path / "m.json"], capture_output=True, text=True, check=False)
    why = f"cannot be for a range of sizes: its largest sizes have {rows} rows, and a run has at most 2147483647"
    assert (done.returncode, why in done.stderr) == ((1, True) if rows else (0, False)), done.stderr


def test_one_item_may_have_a_table(tmp_path):
    """A table with a row for each item is one with a row, where there is one item."""
    layers = [{"name": "w", "op": "weight", "shape": [1, 1, WIDTH]}, {"name": "y", "op": "multiply", "inputs": ["x", "w"]}]
    model = {"hova": 1, "name": "m", "parameters": {"length": {"min": 1, "max": 9}}, "inputs": {"x": {"shape": [1, "length", WIDTH]}}, "layers": layers, "outputs": {"y": "y"}}
    x = np.random.default_rng(1).standard_normal((1, 5, WIDTH), np.float32)
    found = hova.load(compiled(tmp_path, model, "any", "--init=1"))(x=x)["y"]
    assert same(found, hova.load(compiled(tmp_path, model, "five", "--init=1", "--set=length=5"))(x=x)["y"])


@pytest.mark.parametrize("name", MISTAKES)
def test_what_reads_more_than_an_items_tokens_is_refused(name, tmp_path):
    inputs, layers, why = MISTAKES[name]
    parameters = {"length": {"min": 1, "max": 64}, "items": {"min": 1, "max": 3}}
    model = {"hova": 1, "name": "m", "parameters": parameters, "inputs": inputs, "layers": layers, "outputs": {"y": "y"}}
    (tmp_path / "m.json").write_text(json.dumps(model))

    def check(*words):
        return subprocess.run([HOVA, "check", tmp_path / "m.json", *words], capture_output=True, text=True, check=False)

    refused = check()
    kind = layers[-1]["op"]
    assert refused.returncode == 1 and f'operator "{kind}" cannot be for a range of sizes: {why}' in refused.stderr, refused.stderr
    assert check("--set=length=64", "--set=items=3").returncode == 0
