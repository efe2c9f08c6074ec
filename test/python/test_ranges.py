# ===- test_ranges.py - Models for every length from Python ----------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""What `hova.Model` makes of arrays of any size, and of lists of items."""

import json

import hova
import numpy as np
import pytest
from test_results import tensors  # noqa: F401 -- a fixture

MODEL = {
    "hova": 1,
    "name": "ranged",
    "parameters": {"length": {"min": 2, "max": 9}, "items": {"min": 1, "max": 4}},
    "inputs": {
        "tokens": {"shape": ["items", "length"], "dtype": "i32", "range": [0, 9]},
        "mask": {"shape": ["items", "length"], "dtype": "bool"},
    },
    "layers": [
        {"name": "x", "op": "embedding", "input": "tokens", "vocab": 9, "width": 8},
        {"name": "y", "op": "multi_head_attention", "input": "x", "heads": 2, "key_valid": "mask"},
        {"name": "z", "op": "pool", "input": "y", "kind": "mean", "valid": "mask"},
    ],
    "outputs": {"y": "y", "z": "z"},
}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("ranges")


@pytest.fixture
def model(path):
    (path / "model.json").write_text(json.dumps(MODEL))
    program = hova.compile(path / "model.json", output=path / "model.so", emit="lib")
    with hova.load(program) as model:
        yield model


def item(length, seed=0):
    random = np.random.default_rng(seed)
    return {"tokens": random.integers(0, 9, length, dtype=np.int32), "mask": np.ones(length, bool)}


def test_tensors_say_which_axes_are_ranges(model):
    assert model.ranges == {"items": (1, 4), "tokens": (2, 9)}
    assert [(one.shape, one.axes) for one in model.inputs] == [((4, 9), ("items", "tokens"))] * 2
    assert [(one.shape, one.axes) for one in model.outputs] == [((4, 9, 8), ("items", "tokens", "")), ((4, 8), ("items", ""))]
    assert repr(model).startswith("<hova.Model ranged(tokens: int32[1 to 4, 2 to 9], mask: bool[1 to 4, 2 to 9]) -> y: float32[1 to 4, 2 to 9, 8], z")


def test_lists_are_packed_and_results_of_tokens_are_lists(model):
    items = [item(5, 1), item(2, 2), item(9, 3)]
    packed = model(tokens=[one["tokens"] for one in items], mask=[one["mask"] for one in items])
    assert [y.shape for y in packed["y"]] == [(5, 8), (2, 8), (9, 8)] and packed["z"].shape == (3, 8)
    for number, one in enumerate(items):
        alone = model(one["tokens"][None], one["mask"][None])
        assert alone["y"].shape == (1, len(one["tokens"]), 8)
        assert np.array_equal(alone["y"][0], packed["y"][number]) and np.array_equal(alone["z"][0], packed["z"][number])


def test_lists_of_another_library_have_results_of_it(model, tensors):
    items = [item(5, 1), item(2, 2)]
    given = {name: [one[name] for one in items] for name in ("tokens", "mask")}
    others = {name: [tensors(array) for array in arrays] for name, arrays in given.items()}
    expected, found = model(given), model(others)
    assert [type(y) for y in found["y"]] == [tensors] * 2 and type(found["z"]) is tensors
    assert all(np.array_equal(y.array, want) for y, want in zip(found["y"], expected["y"], strict=True))
    assert np.array_equal(found["z"].array, expected["z"])
    for mixed, how in [(others, {"like": "numpy"}), ({**others, "mask": given["mask"]}, {}), ({**others, "tokens": [given["tokens"][0], others["tokens"][1]]}, {})]:
        kept = model(mixed, **how)
        assert all(type(y) is np.ndarray and np.array_equal(y, want) for y, want in zip(kept["y"], expected["y"], strict=True))
    others["mask"][1].__class__ = type("Elsewhere", (tensors,), {"__dlpack__": lambda self, **options: 1 / 0})
    with pytest.raises(hova.Error, match="item 1 of input 'mask' is not given by its library: division by zero"):
        model(others)


def test_results_are_written_where_they_are_wanted(model):
    one = item(4)
    out = {"z": np.empty((1, 8), np.float32)}
    assert model(one["tokens"][None], one["mask"][None], out=out)["z"] is out["z"]
    with pytest.raises(hova.Error, match=r"output 'z' expects shape \[1, 8\], got \[4, 8\]"):
        model(one["tokens"][None], one["mask"][None], out={"z": np.empty((4, 8), np.float32)})


TOKENS, MASK = np.zeros((2, 5), np.int32), np.ones((2, 5), bool)
MISTAKES = {
    "too long": ((np.zeros((1, 10), np.int32), np.ones((1, 10), bool)), "input 'tokens' expects 2 to 9 tokens in an item ('length'), got 10"),
    "too many": ((np.zeros((5, 3), np.int32), np.ones((5, 3), bool)), "input 'tokens' expects 1 to 4 items ('items'), got 5"),
    "no item": (([], []), "expects 1 to 4 items ('items'), got 0"),
    "too short": (([np.zeros(1, np.int32)], [np.ones(1, bool)]), "expects 2 to 9 tokens in an item ('length'), got 1"),
    "another length": ((TOKENS, MASK[:, :4].copy()), "input 'mask' expects shape [2, 5], got [2, 4]"),
    "one axis": ((TOKENS[0], MASK[0]), "input 'tokens' expects an array [items, tokens], or a list with an array for each item, got shape [5]"),
    "lists that differ": (
        ([TOKENS[0]], [MASK[0][:4]]),
        "input 'mask' expects items of [5] tokens, as the first input has, got [4]",
    ),
    "a list beside an array": ((TOKENS, list(MASK)), "input 'mask' is a list of items, and the first input is one array of them"),
    "a list of matrices": (([TOKENS], [MASK]), "input 'tokens' expects a list of arrays of 1 axes, NumPy's or others with __dlpack__, got an array of 2 axes as item 0"),
    "a list of numbers": (([1, 2], [True, True]), "input 'tokens' expects a list of arrays of 1 axes, NumPy's or others with __dlpack__, got int as item 0"),
    "another type": (([TOKENS[0].astype(np.int64)], [MASK[0]]), "input 'tokens' expects int32, got int64"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_told(model, name):
    given, message = MISTAKES[name]
    with pytest.raises(hova.Error) as caught:
        model(*given)
    assert message in str(caught.value)


COLUMNS = {"c": {"shape": ["items", 6]}}
WITH_TOKENS = {"x": {"shape": ["items", 6, 8]}}
ROWS = [{"name": "z", "op": "linear", "input": "c", "width": 4}]
POOLED = [
    {"name": "p", "op": "pool", "input": "x", "kind": "mean"},
    {"name": "l", "op": "linear", "input": "p", "width": 4},
    {"name": "s", "op": "add", "inputs": ["l", "z"]},
]


@pytest.mark.parametrize(
    "inputs, layers, output",
    [(COLUMNS, ROWS, "z"), ({**COLUMNS, **WITH_TOKENS}, ROWS + POOLED, "s"), ({**WITH_TOKENS, **COLUMNS}, ROWS + POOLED, "s")],
    ids=["columns", "columns, tokens", "tokens, columns"],
)
def test_any_number_of_rows_of_columns(path, inputs, layers, output):
    model = {"hova": 1, "name": "rows", "parameters": {"items": {"min": 1, "max": 4}}, "inputs": inputs, "layers": layers, "outputs": {"y": output}}
    (path / "rows.json").write_text(json.dumps(model))
    random = np.random.default_rng(4)
    given = {name: random.standard_normal((4, *one["shape"][1:]), dtype=np.float32) for name, one in inputs.items()}

    def results(count, **options):
        with hova.load(hova.compile(path / "rows.json", output=path / "rows.so", emit="lib", **options)) as program:
            return program({name: array[:count] for name, array in given.items()})["y"]

    for count in (1, 3, 4):
        assert np.allclose(results(count), results(count, set={"items": count}), rtol=1e-5, atol=1e-6), count
    if next(iter(inputs)) == "x":
        with hova.load(hova.compile(path / "rows.json", output=path / "rows.so", emit="lib")) as program:
            packed = program({name: list(array[:3]) for name, array in given.items()})["y"]
            assert np.array_equal(packed, program({name: array[:3] for name, array in given.items()})["y"])
            assert np.array_equal(packed, program(x=given["x"][:3], c=list(given["c"][:3]))["y"])
            with pytest.raises(hova.Error, match=r"input 'x' expects an array \[items, 6, 8\], or a list with an array for each item, got shape \[6, 8\]"):
                program(x=given["x"][0], c=given["c"][:1])
            with pytest.raises(hova.Error, match=r"input 'c' expects items of shape \[6\], got \[5\] as item 0"):
                program(x=list(given["x"][:1]), c=[given["c"][0, :5]])
            with pytest.raises(hova.Error, match=r"input 'x' expects items of shape \[6, 8\], got \[6, 7\] as item 0"):
                program(x=[given["x"][0, :, :7]], c=given["c"][:1])
