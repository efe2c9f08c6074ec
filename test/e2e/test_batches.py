# ===- test_batches.py - An item's result depends on the item alone --------------=== #
# SPDX-License-Identifier: Apache-2.0
"""The bits of an item are the same in a batch of 1, 3 and 8, and wherever it stands in it; those
of a sequence the same whatever stands after its end, and after how much of it.

docs/compile-a-model.md promises it. That threads change nothing is in test_threads.py.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

SOURCE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "test"))
from campaigns import share  # noqa: E402

BUILD = Path(os.environ.get("HOVA_BUILD", SOURCE / "build"))
HOVA = BUILD / "bin/hova"
VECTORS = SOURCE / "test/golden/vectors"
ITEMS = 8
# They mix the items of a batch.
MIXED = {"pad_both_ends", "reshape", "reshape_rows"}
# One for each way in which tokens meet; test/full has all.
CHOSEN = (
    "all_masks", "all_masks_additive", "all_masks_cosine", "attention_additive", "bigbird_causal_padding",
    "linear_matrix", "mha_linformer", "padding_causal", "residual_scores_memory", "score_bias_of_heads", "tiny_bert",
    "tiny_captions", "tiny_omninet_lm", "tiny_t2t", "tiny_tnt", "windows_shifted",
)  # fmt: skip


def compiled(description, folder, *options):
    folder.mkdir()
    (folder / "model.json").write_text(json.dumps(description))
    command = [HOVA, "compile", folder / "model.json", "-o", folder / "program", *options]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "program"


def run(program, inputs):
    folder = program.parent
    command = [program, "--output-dir", folder / "out"]
    for name, value in inputs.items():
        np.save(folder / f"{name}.npy", value)
        command += ["--input", f"{name}={folder / name}.npy"]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {path.stem: np.load(path) for path in (folder / "out").glob("*.npy")}


# --- batches -------------------------------------------------------------------------


def is_table(name, description):
    """Whether a score reads a value by another index than the batch first: its first axis is none of items."""
    scores = (layer.get(key, "") for layer in description["layers"] for key in ("score", "keep"))
    return any(re.search(rf"\b{re.escape(name)}\[(?!batch\b)", score) for score in scores)


def with_batch(description, batch):
    """The description for another batch: the first axis of each input, where it is not for all."""
    before = max(entry["shape"][0] for name, entry in description["inputs"].items() if not is_table(name, description))
    inputs = {}
    for name, entry in description["inputs"].items():
        first, *rest = entry["shape"]
        items = first == before and not is_table(name, description)
        inputs[name] = entry | {"shape": [batch if items else first, *rest]}
    layers = [dict(layer) for layer in description["layers"]]
    for layer in layers:
        if layer.get("shape", [None])[0] == before and not is_table(layer["name"], description):
            layer["shape"] = [batch, *layer["shape"][1:]]
    return description | {"inputs": inputs, "layers": layers}


def drawn(entry, draw):
    shape, dtype = entry["shape"], entry.get("dtype", "f32")
    if dtype == "bool":
        return draw.random(shape) < 0.7
    if dtype == "f32":
        return draw.standard_normal(shape).astype(np.float32)
    low, high = entry.get("range", (0, 2))
    return draw.integers(low, high, shape).astype({"i32": np.int32, "i64": np.int64}[dtype])


def check_batches(description, folder, *options):
    whole = with_batch(description, ITEMS)
    draw = np.random.default_rng(11)
    inputs = {name: drawn(entry, draw) for name, entry in whole["inputs"].items()}
    programs = {n: compiled(with_batch(description, n), folder / str(n), *options) for n in (1, 3, ITEMS)}

    def results(items):
        chosen = {n: v[items] if len(v) == ITEMS else v for n, v in inputs.items()}
        return run(programs[len(items)], chosen)

    expected = results(list(range(ITEMS)))
    assert expected
    for items in (list(draw.permutation(ITEMS)), [6, 1, 4], [6], [1]):
        for name, value in results(items).items():
            rows = len(expected[name]) // ITEMS
            assert rows * ITEMS == len(expected[name])
            for place, item in enumerate(items):
                got = value[place * rows : (place + 1) * rows]
                want = expected[name][item * rows : (item + 1) * rows]
                assert got.tobytes() == want.tobytes(), (name, items, item)


def check_model(name, folder):
    check_batches(json.loads((VECTORS / name / "model.json").read_text()), folder)


@pytest.mark.parametrize("name", CHOSEN)
def test_items_of_a_small_model(name, tmp_path):
    check_model(name, tmp_path)


def block(batch, tokens, width, heads, inner, **attention):
    """A block with all that a sequence kernel may hold."""
    return {
        "hova": 1, "name": "block", "inputs": {"x": {"shape": [batch, tokens, width]}},
        "layers": [
            {"name": "norm1", "op": "layer_norm", "input": "x"},
            {"name": "attn", "op": "multi_head_attention", "input": "norm1", "heads": heads, **attention},
            {"name": "mid", "op": "add", "inputs": ["x", "attn"]},
            {"name": "norm2", "op": "layer_norm", "input": "mid"},
            {"name": "mlp", "op": "feed_forward", "input": "norm2", "hidden": inner},
            {"name": "y", "op": "add", "inputs": ["mid", "mlp"]},
        ],
        "outputs": {"y": "y"},
    }  # fmt: skip


@pytest.mark.parametrize("march", ["x86-64-v3", "native"])
@pytest.mark.parametrize("tokens", [16, 17])
def test_items_of_short_sequences(tokens, march, tmp_path):
    check_batches(block(1, tokens, 24, 4, 96), tmp_path, f"--march={march}")


def test_items_whose_positions_are_weights(tmp_path):
    """A table for one item looks like a batch of one."""
    description = block(1, 16, 24, 4, 96)
    description["layers"].insert(0, {"name": "p", "op": "positions", "input": "x", "kind": "learned"})
    description["layers"][1]["input"] = "p"
    check_batches(description, tmp_path)


@pytest.mark.parametrize("kind", ["horizontal", "vertical"])
def test_items_of_wide_rows(kind, tmp_path):
    """Few rows are divided by columns, many by rows."""
    check_batches(block(1, 20, 160, 4, 640, **{kind: True}), tmp_path)


# --- padding -------------------------------------------------------------------------

# Memory slots stand after the keys, where padding moves them to other lanes.
PADDED = {
    "softmax": {},
    "causal": {"causal": True},
    "additive": {"kind": "additive", "hidden": 5},
    "cosine": {"kind": "cosine"},
    "temperature": {"temperature": 2},
    "uniform": {"empty_row": "uniform"},
    "performer": {"kind": "performer", "features": 20},
    "causal_performer": {"kind": "performer", "features": 20, "causal": True},
    "relu_performer": {"kind": "performer", "kernel": "relu"},
    "exp_performer": {"kind": "performer", "kernel": "exp", "features": 20},
    "causal_exp_performer": {"kind": "performer", "kernel": "exp", "features": 20, "causal": True},
}
# Tokens of the short program and of the padded one: tails, panels, blocks of keys.
LENGTHS = [(1, 2), (5, 49), (97, 98), (150, 300)]


def padded_program(tokens, layer, folder, dtype):
    description = block(2, tokens, 24, 3, 40, key_valid="valid", **layer)
    description["inputs"]["valid"] = {"shape": [2, tokens], "dtype": "bool"}
    return compiled(description, folder, f"--dtype={dtype}")


def draw_padded(short, long):
    draw = np.random.default_rng(3)
    x = draw.standard_normal((2, long, 24)).astype(np.float32)
    valid = np.zeros((2, long), bool)
    valid[0, :short] = valid[1, : max(1, short - 3)] = True
    garbage = x.copy()
    garbage[:, short:] = 1e4 * draw.standard_normal(garbage[:, short:].shape)
    return x, garbage, valid


# Each kind with two or three of the lengths, and each length with half of the kinds.
PADDINGS = [(kind, *sizes) for kind in PADDED for sizes in [*((*pair, "f32") for pair in LENGTHS), (16, 33, "bf16")]]


@pytest.mark.parametrize("kind, short, long, dtype", share(PADDINGS, of=2))
def test_padding_changes_no_bit(kind, short, long, dtype, tmp_path):
    x, garbage, valid = draw_padded(short, long)
    program = padded_program(short, PADDED[kind], tmp_path / "short", dtype)
    want = run(program, {"x": x[:, :short], "valid": valid[:, :short]})["y"]
    program = padded_program(long, PADDED[kind], tmp_path / "long", dtype)
    for padding in (x, garbage):
        got = run(program, {"x": padding, "valid": valid})["y"][:, :short]
        assert got.tobytes() == want.tobytes()


def test_garbage_after_the_end_changes_no_bit_beside_a_memory(tmp_path):
    x, garbage, valid = draw_padded(33, 64)
    program = padded_program(64, {"memory": 5}, tmp_path / "long", "f32")
    first, second = (run(program, {"x": given, "valid": valid})["y"][:, :33] for given in (x, garbage))
    assert first.tobytes() == second.tobytes()
