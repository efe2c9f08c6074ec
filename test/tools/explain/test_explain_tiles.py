# ===- test_explain_tiles.py - Which tiles of scores are computed -------------=== #
# SPDX-License-Identifier: Apache-2.0
"""`hova explain` says what loops do with the tiles of an attention's scores.

The numbers are counted again, score by score.
"""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

SOURCE = Path(__file__).resolve().parents[3]
HOVA = Path(os.environ.get("HOVA_BUILD", SOURCE / "build")) / "bin/hova"

# What is kept of a query and a key, in NumPy and in a description.
CASES = {
    "causal": (lambda q, k: k <= q, {"causal": True}),
    "window": (lambda q, k: (k <= q) & (q - k < 40), {"keep": "key <= query and query - key < 40"}),
    "sinks": (
        lambda q, k: (k <= q) & ((k < 4) | (q - k < 70)),
        {"keep": "key <= query and (key < 4 or query - key < 70)"},
    ),
    "both_sides": (lambda q, k: abs(q - k) <= 33, {"keep": "abs(query - key) <= 33"}),
}
TARGETS = {
    # Blocks of six queries, so many sequences and heads that threads divide no queries.
    "avx2": (["--march=x86-64-v3"], 6),
    "gpu": (["--target=cuda", "--dtype=bf16"], None),
}


def explain(folder, options, *more, tokens, **keys):
    model = {
        "hova": 1,
        "name": "tiles",
        "inputs": {"x": {"shape": [8, tokens, 256]}},
        "layers": [{"name": "a", "op": "multi_head_attention", "input": "x", "heads": 8, **keys}],
        "outputs": {"y": "a"},
    }
    path = folder / "model.json"
    path.write_text(json.dumps(model))
    done = subprocess.run([HOVA, "explain", path, *options, *more], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("case", CASES)
def test_counts_are_those_of_all_scores(case, target, tmp_path):
    kept, keys = CASES[case]
    options, rows = TARGETS[target]
    tokens = 384  # a multiple of every tile
    sites = json.loads(explain(tmp_path, options, "--format=json", tokens=tokens, **keys))["sites"]
    (tiles,) = [site["score_tiles"] for site in sites if "score_tiles" in site]
    height, width = tiles["queries"], tiles["keys"]
    assert rows in (None, height) and tokens % height == 0 and tokens % width == 0
    query, key = np.mgrid[:tokens, :tokens]
    blocks = kept(query, key).reshape(tokens // height, height, tokens // width, width)
    some, every = blocks.any((1, 3)), blocks.all((1, 3))
    counts = {"skipped": (~some).sum(), "mixed": (some & ~every).sum(), "whole": every.sum()}
    # Whole tiles are one range: another one may be on the other side of a gap.
    apart = counts["whole"] - tiles["whole"]
    assert 0 <= apart <= (0.01 * counts["whole"] if case == "sinks" else 0)
    counts |= {"mixed": counts["mixed"] + apart, "whole": tiles["whole"]}
    assert {name: tiles[name] for name in counts} == counts
    assert counts["skipped"] and counts["mixed"]
    text = explain(tmp_path, options, tokens=tokens, **keys)
    assert (
        f"  of {sum(counts.values())} tiles of a head's scores, {height} queries x {width} keys, {counts['skipped']} are "
        f"skipped, {counts['mixed']} evaluate conditions, {counts['whole']} have none to evaluate\n" in text
    )


def test_nothing_is_said_where_all_scores_are_computed(tmp_path):
    assert "tiles" not in explain(tmp_path, [], tokens=48)
