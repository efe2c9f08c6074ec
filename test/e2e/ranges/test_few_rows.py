# ===- test_few_rows.py - Runs of few rows on several threads --------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Where a run of a program with ranges has few rows, threads divide the columns of its products, stage by stage, as those of a program of
that length do: the bits are the same, on any number of threads. The judge is the program that is compiled for one length."""

import json
import subprocess

import numpy as np
import pytest
from test_ranges import VOCAB, hova, same, some_of
from test_two_ranges import compiled

# Products whose columns are divided from 2 to 5 rows on, with panels of 64 columns and a narrower last one; sums of several blocks of the
# inner dimension, and of several splits; columns of one product that are values of their own; and products that are never divided.
WIDTH, HIDDEN = 272, 1000
LENGTH, ITEMS = 60, 2


def linear(name, x, width, **more):
    return {"name": name, "op": "linear", "input": x, "width": width, **more}


LAYER = [
    {"name": "attn", "op": "multi_head_attention", "input": "x", "heads": 2, "key_valid": "mask"},
    {"name": "sum1", "op": "add", "inputs": ["x", "attn"]},
    {"name": "norm1", "op": "layer_norm", "input": "sum1", "eps": 1e-5},
    {"name": "ffn", "op": "feed_forward", "input": "norm1", "hidden": HIDDEN, "activation": "gelu_erf"},
    {"name": "sum2", "op": "add", "inputs": ["norm1", "ffn"]},
    {"name": "norm2", "op": "layer_norm", "input": "sum2", "eps": 1e-5, "center": False, "bias": False},
    {"name": "gated", "op": "feed_forward", "input": "norm2", "hidden": 200, "activation": "silu", "gate": True},
    {"name": "y", "op": "add", "inputs": ["sum2", "gated"]},
]
MODEL = {
    "hova": 1,
    "name": "few",
    "parameters": {"length": {"min": 1, "max": LENGTH}, "items": {"min": 1, "max": ITEMS}},
    "inputs": {
        "tokens": {"shape": ["items", "length"], "dtype": "i32", "range": [0, VOCAB]},
        "mask": {"shape": ["items", "length"], "dtype": "bool"},
    },
    "blocks": {"layer": {"inputs": ["x", "mask"], "layers": LAYER, "output": "y"}},
    "layers": [
        {"name": "words", "op": "embedding", "input": "tokens", "vocab": VOCAB, "width": WIDTH},
        {"name": "encoder", "block": "layer", "repeat": 2, "inputs": {"x": "words", "mask": "mask"}},
        linear("narrow", "encoder", 10),
        linear("wide", "narrow", 3000),
    ],
    "outputs": {"y": "encoder", "z": "wide"},
}
WAYS = {"native": (), "bf16": ("--dtype=bf16",), "x86-64-v3": ("--march=x86-64-v3",)}


@pytest.mark.parametrize("way", some_of(list(WAYS), ["native", "bf16"]))
def test_runs_of_few_rows_have_the_bits_of_their_own_program(way, tmp_path):
    ranged = compiled(tmp_path, MODEL, "ranged", *WAYS[way], "--init=1")
    programs = {threads: hova.load(ranged, threads=threads) for threads in (1, 2, 3, 8, 64)}
    random = np.random.default_rng(6)
    for length in (1, 7, 16):
        fixed = compiled(tmp_path, MODEL, f"of{length}", *WAYS[way], "--init=1", f"--set=length={length}", "--set=items=1")
        given = {"tokens": random.integers(0, VOCAB, (1, length), dtype=np.int32), "mask": np.ones((1, length), bool)}
        expected = hova.load(fixed, threads=1)(given)
        # All of it, and rows of another item, behind those of this one.
        other = {"tokens": random.integers(0, VOCAB, LENGTH, dtype=np.int32), "mask": np.ones(LENGTH, bool)}
        for threads, program in programs.items():
            for name, value in program(given).items():
                assert same(value, expected[name]), (length, threads, name)
            together = program({name: [value[0], other[name]] for name, value in given.items()})
            assert all(same(together[name][0], value[0]) for name, value in expected.items()), (length, threads)
            # What a run of many rows left is none of the next one's.
            assert all(same(value, expected[name]) for name, value in program(given).items()), (length, threads)


def test_threads_divide_columns_of_few_rows(tmp_path):
    """Seven rows are 16 strips of the widest product of a layer, of which a part is three, and those of three rows of a program that divided
    rows alone were two threads'."""
    program = compiled(tmp_path, MODEL, "program", "--march=x86-64-v3", "--init=1", emit="exe")

    def threads_of(length):
        words = ("--random-inputs=1", "--set=items=1", f"--set=length={length}", "--threads=8", "--benchmark", "--warmup=1", "--repetitions=1")
        done = subprocess.run([program, *words, f"--trace={tmp_path}/trace.json"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        threads = {}
        for event in json.loads((tmp_path / "trace.json").read_text())["traceEvents"]:
            if event["ph"] == "X":
                threads.setdefault(event["name"], set()).add(event["tid"])
        return {name: len(found) for name, found in threads.items()}

    few = threads_of(7)
    assert few["encoder.0.attn.query"] == 4 and few["encoder.1.ffn.hidden"] == 5, few
    # A row has too little work.
    assert threads_of(1)["encoder.0.attn.query"] == 1
