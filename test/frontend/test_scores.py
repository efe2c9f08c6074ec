# ===- test_scores.py - Written scores mean what Python makes of them ----------=== #
# SPDX-License-Identifier: Apache-2.0
"""The language of scores is nearly Python's: Python evaluates each expression, those that are
written down here and random ones, for every query and key, and NumPy does the rest."""

import json
import math
import os
import random
import subprocess
from pathlib import Path

import numpy
import pytest

HOVA = Path(os.environ.get("HOVA_BUILD", "build")) / "bin" / "hova"
BATCH, HEADS, QUERIES, KEYS, WIDTH = 2, 2, 5, 7, 8
RANDOM = 24

INPUTS = {
    "q": {"shape": [BATCH, QUERIES, WIDTH]},
    "k": {"shape": [BATCH, KEYS, WIDTH]},
    "bias": {"shape": [HEADS, QUERIES, KEYS]},
    "slope": {"shape": [HEADS]},
    "document": {"shape": [BATCH, KEYS], "dtype": "i32", "range": [0, 3]},
    "far": {"shape": [BATCH], "dtype": "i64", "range": [-2, 9]},
    "any": {"shape": [BATCH, KEYS], "dtype": "i32"},
    "valid": {"shape": [BATCH, KEYS], "dtype": "bool"},
}
# Of an input without a range.
LEAST, MOST = -(2**31), 2**31 - 1

CASES = [
    ("20 * tanh(score / 20)", "key <= query + 2"),
    ("score - exp(-8 * log(2) * (head + 1) / heads) * abs(query - key)", "true"),
    ("score + bias[head, query, key]", "document[batch, key] == document[batch, query]"),
    ("score + bias[head, min(query, document[batch, key]), (key - query) % 7]", "true"),
    ("sigmoid(score) + slope[head] * sqrt(abs(query - key))", "key < far[batch] or key == 0"),
    ("score ** 3 / 7 - log2(key + 1)", "valid[batch, key] != (key == 0)"),
    ("if(key > query, score, floor(score) - ceil(score / 2))", "not (key % 2 == query % 2)"),
    ("score * ((query - key) // 2)", "true"),
    ("score + (query - key) // -3 + (query - key) % -3", "key // 2 <= query // 2"),
    ("-(query - key) ** 2 / 10", "max(query - key, key - query, 1) < 3"),
    ("score + any[batch, key] % 7 / 4 - any[batch, key] % -5", "any[batch, key] % 3 < 2"),
    ("score + bias[head, any[batch, key] % 5, any[batch, query] % 7]", "any[batch, key] // -3 < 9"),
    ("score + any[batch, key] // 1073741824 / 2", "any[batch, key] // -2147483647 <= 0"),
    ("score + if(any[batch, key] % 2147483647 > 9, 1, 0)", "any[batch, key] % -2147483647 < 0"),
]


def made_inputs(seed):
    rng = numpy.random.default_rng(seed)
    values = {}
    for name, info in INPUTS.items():
        low, high = info.get("range", [0, 2] if name != "any" else [LEAST, MOST + 1])
        shape = info["shape"]
        if "dtype" not in info:
            values[name] = rng.normal(size=shape).astype("float32")
        elif info["dtype"] == "bool":
            values[name] = rng.integers(0, 2, size=shape).astype(bool)
        else:
            dtype = {"i32": "int32", "i64": "int64"}[info["dtype"]]
            values[name] = rng.integers(low, high, size=shape).astype(dtype)
    values["any"][:, :4] = [LEAST, LEAST + 1, MOST, -1]
    return values


FUNCTIONS = {
    "pick": lambda condition, a, b: a if condition else b,
    "min": min,
    "max": max,
    "abs": abs,
    "sqrt": math.sqrt,
    "floor": math.floor,
    "ceil": math.ceil,
    "log2": math.log2,
    "exp": math.exp,
    "log": math.log,
    "tanh": math.tanh,
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    "true": True,
    "false": False,
    "heads": HEADS,
    "queries": QUERIES,
    "keys": KEYS,
}


def expected(score, keep, values):
    """The attention, with Python's meaning of both expressions."""
    plain = {name: value.astype(object) for name, value in values.items()}
    codes = [compile(text.replace("if(", "pick("), text, "eval") for text in (score, keep)]
    q, k = (
        values[name].astype(float).reshape(BATCH, -1, HEADS, WIDTH // HEADS) for name in "qk"
    )
    raw = numpy.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(WIDTH // HEADS)
    scores = numpy.full(raw.shape, -numpy.inf)
    for index in numpy.ndindex(*raw.shape):
        names = dict(zip(("batch", "head", "query", "key"), index), score=raw[index])
        number, kept = (eval(code, {**FUNCTIONS, **plain, **names}) for code in codes)
        assert isinstance(kept, bool | numpy.bool_), keep
        if kept:
            scores[index] = number
    most = scores.max(axis=-1, keepdims=True)
    shares = numpy.exp(scores - numpy.where(numpy.isfinite(most), most, 0))
    total = shares.sum(axis=-1, keepdims=True)
    shares /= numpy.where(total > 0, total, 1)
    return numpy.einsum("bhqk,bkhd->bqhd", shares, k).reshape(BATCH, QUERIES, WIDTH)


def evaluated(score, keep, values, folder):
    used = [name for name in INPUTS if name in "qk" or name in score + keep]
    layer = {"name": "y", "op": "attention", "query": "q", "key": "k", "value": "k"}
    description = {
        "hova": 1,
        "name": "m",
        "inputs": {name: INPUTS[name] for name in used},
        "layers": [{**layer, "heads": HEADS, "score": score, "keep": keep}],
        "outputs": {"out": "y"},
    }
    (folder / "m.json").write_text(json.dumps(description))
    command = [HOVA, "evaluate", folder / "m.json", "--output-dir", folder]
    for name in used:
        numpy.save(folder / f"{name}.npy", values[name])
        command += ["--input", f"{name}={folder / name}.npy"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{score}\n{keep}\n{done.stderr}"
    return numpy.load(folder / "out.npy")


def compare(score, keep, folder):
    values = made_inputs(7)
    found = evaluated(score, keep, values, folder)
    numpy.testing.assert_allclose(found, expected(score, keep, values), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("score, keep", CASES)
def test_python_agrees(score, keep, tmp_path):
    compare(score, keep, tmp_path)


class Writer:
    """Random expressions whose types and ranges are right."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def one_of(self, depth, leaves, others):
        choose = self.random.choice
        return choose(leaves)() if depth == 0 else choose(others + leaves[:1])()

    def integer(self, depth):
        inner = lambda: self.integer(depth - 1)
        by = lambda: self.random.choice([-3, -2, 2, 5])
        return self.one_of(
            depth,
            [
                lambda: self.random.choice(["batch", "head", "query", "key"]),
                lambda: str(self.random.randint(-4, 9)),
                lambda: "keys",
                lambda: "document[batch, key]",
                lambda: "far[batch]",
            ],
            [
                lambda: f"({inner()} {self.random.choice('+-*')} {inner()})",
                lambda: f"({inner()} // {by()})",
                lambda: f"({inner()} % {by()})",
                lambda: f"{self.random.choice(['min', 'max'])}({inner()}, {inner()})",
                lambda: f"abs({inner()})",
                lambda: f"if({self.condition(depth - 1)}, {inner()}, {inner()})",
                lambda: f"document[batch, {self.index(depth - 1, KEYS)}]",
            ],
        )

    def index(self, depth, size):
        return f"max(0, min({self.integer(depth)}, {size - 1}))"

    def number(self, depth):
        inner = lambda: self.number(depth - 1)
        place = lambda size: self.index(depth - 1, size)
        return self.one_of(
            depth,
            [
                lambda: "score",
                lambda: str(self.random.randint(-40, 40) / 16),
                lambda: "slope[head]",
            ],
            [
                lambda: f"({inner()} {self.random.choice('+-')} {inner()})",
                lambda: f"(tanh({inner()}) * {inner()})",
                lambda: f"sigmoid(({inner()}) / 8)",
                lambda: f"exp(-abs({inner()}))",
                lambda: f"log(1 + ({inner()}) ** 2)",
                lambda: f"({self.integer(depth - 1)} / 4)",
                lambda: f"max({inner()}, {self.integer(depth - 1)})",
                lambda: f"bias[{place(HEADS)}, {place(QUERIES)}, {place(KEYS)}]",
                lambda: f"if({self.condition(depth - 1)}, {inner()}, {inner()})",
            ],
        )

    def condition(self, depth):
        inner = lambda: self.condition(depth - 1)
        integers = lambda: (self.integer(max(depth - 1, 0)) for _ in range(2))
        return self.one_of(
            depth,
            [
                lambda: "valid[batch, key]",
                lambda: " {} ".format(self.random.choice(["<=", ">", "==", "!="])).join(integers()),
            ],
            [
                lambda: "(" + self.random.choice([" and ", " or "]).join([inner(), inner()]) + ")",
                lambda: f"(not {inner()})",
                lambda: " {} ".format(self.random.choice(["<", ">=", "=="])).join(integers()),
                lambda: f"if({inner()}, {inner()}, {inner()})",
            ],
        )


@pytest.mark.parametrize("seed", range(RANDOM))
def test_python_agrees_on_random_expressions(seed, tmp_path):
    writer = Writer(seed)
    # Large scores would compare one key alone.
    score = f"4 * tanh(({writer.number(3)}) / 4)"
    compare(score, f"{writer.condition(3)} or key == 0", tmp_path)
