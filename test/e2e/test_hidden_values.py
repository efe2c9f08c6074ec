# ===- test_hidden_values.py - NaN and infinities behind masks ------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""A key that a query does not see has no part in its row, whatever its value is: as the evaluator and programs for
a processor see it, row by row; in programs for a GPU of the keys and queries that are taken together.

Every batch entry has one value that is no number. Rows that do not see it are what they are without it, tier T3."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

SOURCE = Path(__file__).resolve().parents[2]
HOVA = Path(os.environ.get("HOVA_BUILD", SOURCE / "build")) / "bin/hova"
TOKENS, HEADS, WIDTH = 75, 2, 20
BAD = [0, 1, 33, 63, 64, 73, 74]  # the key of each batch entry whose value is none
Q, K = np.arange(TOKENS)[:, None], np.arange(TOKENS)
DRAWN = np.random.default_rng(5)
VALID = DRAWN.random((len(BAD), TOKENS)) < 0.6
MASK = DRAWN.random((len(BAD), 1, TOKENS, TOKENS)) < 0.5
# What a layer says, what it reads besides, and which keys [batch, query, key] are seen.
CASES = {
    "causal": ({"causal": True}, {}, K <= Q),
    "a window": ({"keep": "key <= query and query - key < 9"}, {}, (K <= Q) & (Q - K < 9)),
    "key_valid": ({"key_valid": "valid"}, {"valid": VALID}, VALID[:, None, :]),
    "mask": ({"mask": "mask"}, {"mask": MASK}, MASK[:, 0]),
    "shared keys": ({"causal": True, "key_value_heads": 1}, {}, K <= Q),
    "sums": ({"causal": True, "score": "exp(score)", "normalize": "sum"}, {}, K <= Q),
    "blocks": (
        {"kind": "bigbird", "block_size": 6, "random_blocks": 0, "key_valid": "valid", "causal": True},
        {"valid": VALID},
        VALID[:, None, :] & (K <= Q) & ((abs(Q // 6 - K // 6) <= 1) | np.isin(K // 6, (0, 12)) | np.isin(Q // 6, (0, 12))),
    ),
}


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


class Program:
    """One layer `attention`, compiled or evaluated."""

    def __init__(self, folder, how, layer, inputs):
        shapes = {name: {"shape": list(x.shape), "dtype": "bool" if x.dtype == bool else "f32"} for name, x in inputs.items()}
        layer = {"name": "y", "op": "attention", "query": "q", "key": "k", "value": "v", "heads": HEADS, **layer}
        model = {"hova": 1, "name": "m", "inputs": shapes, "layers": [layer], "outputs": {"y": "y"}}
        (folder / "model.json").write_text(json.dumps(model))
        self.folder, self.words = folder, (folder / "program",)
        if how is None:
            self.words = (HOVA, "evaluate", folder / "model.json", "--quiet")
        else:
            run(HOVA, "compile", folder / "model.json", *how, "-o", folder / "program", "--quiet")

    def __call__(self, inputs):
        words = ["--output-dir", self.folder / "results"]
        for name, x in inputs.items():
            np.save(self.folder / f"{name}.npy", x)
            words += ["--input", f"{name}={self.folder}/{name}.npy"]
        run(*self.words, *words)
        return np.load(self.folder / "results/y.npy")


def operands(tokens, batch, key_heads, more):
    draw = np.random.default_rng(1)
    shapes = {"q": HEADS, "k": key_heads, "v": key_heads}
    return {name: draw.standard_normal((batch, tokens, heads * WIDTH)).astype(np.float32) for name, heads in shapes.items()} | more


HOW = {
    "evaluated": None,
    "native": (),
    "bf16": ("--dtype=bf16",),
    "f16": ("--dtype=f16",),
    "x86-64-v3": ("--march=x86-64-v3",),
    "x86-64-v3 bf16": ("--march=x86-64-v3", "--dtype=bf16"),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("how", HOW)
def test_rows_do_not_see_what_is_hidden_from_them(how, case, tmp_path):
    layer, more, seen = CASES[case]
    inputs = operands(TOKENS, len(BAD), layer.get("key_value_heads", HEADS), more)
    program = Program(tmp_path, HOW[how], layer, inputs)
    wanted = program(inputs)
    assert np.isfinite(wanted).all()
    values = inputs["v"].copy()
    for entry, key in enumerate(BAD):
        values[entry, key, 3] = [np.nan, np.inf, -np.inf][entry % 3]
    got = program({**inputs, "v": values})
    seen = np.broadcast_to(seen, (len(BAD), TOKENS, TOKENS))
    # Columns of the heads that read this one of the values.
    columns = [3] if inputs["v"].shape[2] == HEADS * WIDTH else [3, WIDTH + 3]
    broken = np.zeros(got.shape, bool)
    for entry, key in enumerate(BAD):
        broken[entry][:, columns] = seen[entry, :, key][:, None]
    np.testing.assert_array_equal(~np.isfinite(got), broken)
    np.testing.assert_allclose(got[~broken], wanted[~broken], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
@pytest.mark.parametrize("case", ["causal", "a window"])
def test_a_gpu_keeps_them_from_other_blocks(case, dtype, tmp_path):
    """Blocks have 128 queries at most, and take boxes of 64 keys at most."""
    tokens, layer = 330, CASES[case][0]
    inputs = operands(tokens, 2, HEADS, {})
    program = Program(tmp_path, ("--target=cuda-emulated", f"--dtype={dtype}"), layer, inputs)
    wanted = program(inputs)
    values = inputs["v"].copy()
    values[0, 0], values[1, -1] = np.nan, np.nan
    got = program({**inputs, "v": values})
    apart = np.zeros((2, tokens), bool)
    apart[1, :256] = True
    if case == "a window":
        apart[0, 192:] = True
    np.testing.assert_array_equal(got[apart], wanted[apart])
    assert np.isnan(got[0, 0]).all() and np.isnan(got[1, -1]).all()
