# ===- test_random_ranges.py - Random models for every length and any items --------=== #
# SPDX-License-Identifier: Apache-2.0
"""Ten thousand runs of random encoders with ranges: an item's bits are those that the program of its length alone gives it, whatever
stands beside it, in whatever order, packed or as arrays, on 1 to 64 threads, after runs of other sizes, and beside items that are no
numbers. The same for programs for a GPU, emulated, with fewer runs of each. `hova verify` of a thousand such encoders."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test/e2e/ranges"))
from test_ranges import BUCKETS, HOVA, ROTATIONS, Case, hova, same  # noqa: E402

MODELS, RUNS, RUNS_ON_GPUS, VERIFIED = 100, 100, 10, 1000
HEADS, VOCAB = 3, 50


def attention(random, most):
    """What one layer of attention may be asked for, and the tables that it reads."""
    asked, tables = {}, []
    if random.random() < 0.3:
        asked["causal"] = True
    if random.random() < 0.5:
        asked["key_valid"] = "mask"
        if random.random() < 0.3:
            asked["empty_row"] = "uniform"
    if random.random() < 0.25:
        asked["key_value_heads"] = 1
    for word in ("horizontal", "vertical"):
        if random.random() < 0.2:
            asked[word] = True
    kind = random.integers(7)
    if kind == 0 and "key_value_heads" not in asked:
        asked |= {"cosines": "cosines", "sines": "sines"}
        tables = ROTATIONS
    elif kind == 1:
        asked["keep"] = f"abs(query - key) <= {random.integers(most)}"
    elif kind == 2:
        asked["score"] = f"score - {random.integers(1, 9) / 16} * abs(query - key)"
    elif kind == 3:
        asked["score"] = "score + distances[bucket[key - query + largest(length) - 1], head]"
        tables = BUCKETS
    elif kind == 4:
        asked |= {"score": "max(score, 0)", "normalize": "sum"}
        asked.pop("empty_row", None)
    elif kind == 5:
        asked["keep"] = f"key <= {random.integers(4)} or query >= key and query - key < {random.integers(1, most)}"
    return asked, tables


def pool(random):
    kind = random.choice(["first", "mean", "max", "last", "token"])
    layer = {"name": "row", "op": "pool", "input": "out", "kind": str(kind)}
    if kind == "token":
        layer |= {"ids": "tokens"} | ({"id": int(random.integers(VOCAB))} if random.random() < 0.5 else {})
    elif kind == "last" or (kind != "first" and random.random() < 0.5):
        layer["valid"] = "mask"
    return layer


def over_all(random, states):
    """An attention over the tokens of all these states, or of the last two."""
    how = {"kind": "performer", "kernel": str(random.choice(["softmax", "relu"])), "features": int(random.integers(5, 30))} if random.random() < 0.4 else {}
    how |= {"causal": str(random.choice(["none", "flattened"])), "pool": str(random.choice(["after_block", "after_attention"]))}
    states = states if random.random() < 0.5 else states[-2:]
    return {"name": "all", "op": "omni_attention", "inputs": states, "heads": HEADS, "hidden": int(random.integers(20, 100)), **how}


def draw_model(random):
    most, items, width = int(random.integers(3, 140)), int(random.integers(1, 7)), int(16 * HEADS)
    x = "words"
    layers = [{"name": "words", "op": "embedding", "input": "tokens", "vocab": VOCAB, "width": width}]
    positions = random.integers(4)
    if positions < 3:
        layer = {"name": "placed", "op": "positions", "input": "words", "kind": "learned", "length": most + 3}
        if positions == 1:
            layer |= {"valid": "mask", "offset": 2}
        layers.append(layer)
        x = "placed"
    made = {}
    for number in range(random.integers(1, 4)):
        asked, tables = attention(random, most)
        made |= {table["name"]: table for table in tables}
        names = {part: f"{part}{number}" for part in ("attn", "sum", "norm", "ffn", "end", "out")}
        norm = {"op": "layer_norm"} if random.random() < 0.7 else {"op": "layer_norm", "center": False, "bias": False}
        gate = {"gate": True} if random.random() < 0.3 else {}
        layers += [
            {"name": names["attn"], "op": "multi_head_attention", "input": x, "heads": HEADS, **asked},
            {"name": names["sum"], "op": "add", "inputs": [x, names["attn"]]},
            {"name": names["norm"], "input": names["sum"], **norm},
            {"name": names["ffn"], "op": "feed_forward", "input": names["norm"], "hidden": int(random.integers(20, 130)), "activation": "gelu_erf", **gate},
            {"name": names["end"], "op": "add", "inputs": [names["norm"], names["ffn"]]},
        ]
        x = names["end"]
    if random.random() < 0.25:
        layers.append(over_all(random, [layer["name"] for layer in layers if layer["name"].startswith(("words", "end", "norm"))]))
        x = "all"
    layers.append({"name": "out", "op": "linear", "input": x, "width": int(random.integers(1, 90))})
    outputs = {"y": "out"}
    if random.random() < 0.7:
        layers.append(pool(random))
        outputs["z"] = "row"
    return {
        "hova": 1, "name": "ranged", "outputs": outputs, "layers": [*made.values(), *layers],
        "parameters": {"length": {"min": 1, "max": most}, "items": {"min": 1, "max": items}},
        "inputs": {"tokens": {"shape": ["items", "length"], "dtype": "i32", "range": [0, VOCAB]}, "mask": {"shape": ["items", "length"], "dtype": "bool"}},
    }


def draw_items(random, most):
    """Items of a few lengths: one, the most, an edge of a tile, others."""
    edges = [length for length in (2, 7, 16, 17, 31, 32, 33, 63, 64, 65, 97, 128, 129) if length < most]
    lengths = {1, most, *(int(random.choice(edges)) for _ in range(2) if edges), int(random.integers(1, most + 1))}
    items = []
    for length in lengths:
        for _ in range(3):
            mask = random.random(length) < random.choice([0.3, 0.8, 1.1])
            items.append({"tokens": random.integers(0, VOCAB, length, dtype=np.int32), "mask": mask})
    return items


def check(case, random, runs, threads):
    pool_of_items = draw_items(random, case.model["parameters"]["length"]["max"])
    expected = [case.alone(item) for item in pool_of_items]
    programs = [hova.load(case.library, threads=count) if count else hova.load(case.library) for count in threads]
    most = case.model["parameters"]["items"]["max"]
    for run in range(runs):
        first = int(random.integers(len(pool_of_items)))
        alike = [n for n, item in enumerate(pool_of_items) if len(item["tokens"]) == len(pool_of_items[first]["tokens"])]
        stacked = random.random() < 0.3
        chosen = random.choice(alike if stacked else len(pool_of_items), int(random.integers(1, most + 1)))
        put = np.stack if stacked else list
        found = programs[run % len(programs)]({name: put([pool_of_items[n][name] for n in chosen]) for name in ("tokens", "mask")})
        for place, n in enumerate(chosen):
            for name, value in expected[n].items():
                lengths = [len(pool_of_items[m]["tokens"]) for m in chosen]
                assert same(found[name][place], value), (case.options, lengths, stacked, place, name, threads[run % len(threads)])


@pytest.mark.parametrize("seed", range(MODELS))
def test_items_of_a_random_model(seed, tmp_path):
    random = np.random.default_rng(seed)
    ways = ((), ("--dtype=bf16",), ("--march=x86-64-v3",), ("--march=x86-64-v3", "--dtype=bf16"), ("--dtype=f16",))
    case = Case(tmp_path, draw_model(random), ways[seed % len(ways)])
    check(case, random, RUNS, (1, 2, 3, 16, 64))


@pytest.mark.parametrize("seed", range(MODELS))
def test_items_of_a_random_model_on_a_gpu(seed, tmp_path):
    random = np.random.default_rng(seed)
    ways = ((), ("--dtype=bf16",), ("--gpu-arch=sm_90a", "--dtype=bf16"), ("--dtype=f16",))
    options = ("--target=cuda-emulated", *ways[seed % len(ways)])
    model = draw_model(random)
    # Sums of a performer are divided in every program, and its features are narrow where they are.
    alone = () if "performer" in json.dumps(model) else ("--without=hova-split-reductions",)
    case = Case(tmp_path, model, options, alone)
    check(case, random, RUNS_ON_GPUS, (0,))


@pytest.mark.parametrize("first", range(0, VERIFIED, 20))
def test_random_models_are_verified(first, tmp_path):
    """Each by its largest sizes, its least ones and two that a seed draws, against the evaluation of the description."""
    ways = ((), ("--dtype=bf16",), ("--target=cuda-emulated",), ("--march=x86-64-v3",), ("--dtype=f16", "--target=cuda-emulated"))
    for seed in range(first, first + 20):
        path = tmp_path / f"{seed}.json"
        path.write_text(json.dumps(draw_model(np.random.default_rng(seed))))
        words = [HOVA, "verify", path, f"--seed={seed}", *ways[seed % len(ways)]]
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
        assert done.returncode == 0, (seed, words[4:], done.stdout[-2000:], done.stderr[-1000:])
