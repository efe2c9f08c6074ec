# ===- test_scores_that_are_no_number.py - NaN, infinities and masks ------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Which scores hide a key and which make NaN of a row, as the evaluator and both targets see it.

A key whose score is -inf is hidden where a product of 0 would have that score as well. All else follows from
arithmetic: NaN + -inf is NaN, and so is the logarithm of a negative score.
"""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

SOURCE = Path(__file__).resolve().parents[2]
HOVA = Path(os.environ.get("HOVA_BUILD", SOURCE / "build")) / "bin/hova"
KEYS, INFINITY = 5, np.float32(np.inf)
# Products of each query with each key, what is added to them, and the shares of the keys; None: the row is NaN.
ROWS = {
    "a bias hides": ([0, 0, 0, 0, 0], [0, 0, -INFINITY, 0, 0], [1, 1, 0, 1, 1]),
    "a bias hides all": ([1, 2, 3, 4, 5], [-INFINITY] * KEYS, [0] * KEYS),
    "all products are -inf": ([-INFINITY] * KEYS, [0] * KEYS, None),
    "a product is -inf": ([0, -INFINITY, 0, 0, 0], [0] * KEYS, [1, 0, 1, 1, 1]),
    "a product is NaN": ([0, np.nan, 0, 0, 0], [0] * KEYS, None),
    "a bias cannot hide NaN": ([0, np.nan, 0, 0, 0], [0, -INFINITY, 0, 0, 0], None),
    "a bias cannot hide +inf": ([0, INFINITY, 0, 0, 0], [0, -INFINITY, 0, 0, 0], None),
    "a bias is +inf": ([0] * KEYS, [0, INFINITY, 0, 0, 0], None),
}
LOGARITHMS = {
    "of positive ones": ([1, 2, 1, 2, 2], [1, 2, 1, 2, 2]),
    "of 0, which hides": ([1, 0, 1, 2, 0], [1, 0, 1, 2, 0]),
    "of 0 alone": ([0] * KEYS, [0] * KEYS),
    "of a negative one": ([1, -1, 1, 2, 1], None),
}


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def results(folder, inputs, how, **score):
    """Each row is a batch entry of one query of one channel, which is 1: products are the keys."""
    layer = {"name": "y", "op": "attention", "query": "q", "key": "k", "value": "v", "heads": 1, "scale": 1, **score}
    shapes = {name: {"shape": list(x.shape)} for name, x in inputs.items()}
    model = {"hova": 1, "name": "m", "inputs": shapes, "layers": [layer], "outputs": {"y": "y"}}
    (folder / "model.json").write_text(json.dumps(model))
    words = ["--output-dir", folder / "results"]
    for name, x in inputs.items():
        np.save(folder / f"{name}.npy", x)
        words += ["--input", f"{name}={folder}/{name}.npy"]
    if how == "evaluate":
        run(HOVA, "evaluate", folder / "model.json", *words, "--quiet")
    else:
        run(HOVA, "compile", folder / "model.json", *how, "-o", folder / "program", "--quiet")
        run(folder / "program", *words)
    return np.load(folder / "results/y.npy")


def operands(products):
    rows = len(products)
    values = np.tile(np.eye(KEYS, dtype=np.float32), (rows, 1, 1))
    return {"q": np.ones((rows, 1, 1), np.float32), "k": np.array(products, np.float32)[:, :, None], "v": values}


def compare(got, wanted):
    for row, shares in zip(got[:, 0], wanted):
        total = max(sum(shares), 1) if shares else 1
        np.testing.assert_allclose(row, [np.nan] * KEYS if shares is None else np.array(shares) / total, rtol=1e-5)


HOW = {"evaluated": "evaluate", "native": (), "x86-64-v3": ("--march=x86-64-v3",), "GPU": ("--target=cuda-emulated",)}


@pytest.mark.parametrize("as_score", [False, True], ids=["score_bias", "score"])
@pytest.mark.parametrize("how", HOW)
def test_biases(how, as_score, tmp_path):
    products, biases, wanted = zip(*ROWS.values())
    inputs = operands(products) | {"bias": np.array(biases, np.float32)[:, None, None]}
    score = {"score": "score + bias[batch, head, query, key]"} if as_score else {"score_bias": "bias"}
    compare(results(tmp_path, inputs, HOW[how], **score), wanted)


@pytest.mark.parametrize("how", HOW)
def test_logarithms(how, tmp_path):
    products, wanted = zip(*LOGARITHMS.values())
    compare(results(tmp_path, operands(products), HOW[how], score="log(score)"), wanted)


TOKENS = 12
# Each batch entry: the product with every key, what is added to it, and whether its rows are NaN, 0 or numbers.
ENTRIES = [(0, 0, "numbers"), (-INFINITY, 0, "NaN"), (0, -INFINITY, "0"), (np.nan, -INFINITY, "NaN")]


@pytest.mark.parametrize("causal", [False, True], ids=["", "causal"])
@pytest.mark.parametrize("how", HOW)
def test_blocks_of_keys(how, causal, tmp_path):
    """Which keys a query sees is data there, and rules are the same."""
    products, biases, kinds = zip(*ENTRIES)
    shape = (len(ENTRIES), TOKENS, 1)
    ones = np.ones(shape, np.float32)
    inputs = {
        "q": ones,
        "k": ones * np.array(products, np.float32)[:, None, None],
        "v": ones,
        "bias": np.ones((len(ENTRIES), 1, TOKENS, TOKENS), np.float32) * np.array(biases, np.float32)[:, None, None, None],
    }
    blocks = {"kind": "bigbird", "block_size": 2, "random_blocks": 0, "score_bias": "bias", "causal": causal}
    got = results(tmp_path, inputs, HOW[how], **blocks)
    wanted = {"numbers": 1, "NaN": np.nan, "0": 0}
    for rows, kind in zip(got, kinds):
        np.testing.assert_allclose(rows, np.full((TOKENS, 1), wanted[kind]), rtol=1e-6, err_msg=kind)
