# ===- test_windows.py - Windows cost no copy ---------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Rows of windows are read and written where they are.

An attention in shifted windows keeps between its kernels what one without windows keeps,
and every value that it keeps has the rows of the image or of what a product writes: none
is a partitioned, rolled or reversed copy.
"""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("HOVA_BUILD", SOURCE / "build"))
HOVA = BUILD / "bin/hova"
WINDOWS = {"window": 4, "shift": 2, "relative_bias": True}


def block(name, previous, options):
    """One block of Swin after the layer `previous`."""
    attention = {"op": "multi_head_attention", "heads": 3, **options}
    return [
        {"name": name + "norm1", "op": "layer_norm", "input": previous},
        {"name": name + "attn", "input": name + "norm1", **attention},
        {"name": name + "mid", "op": "add", "inputs": [previous, name + "attn"]},
        {"name": name + "norm2", "op": "layer_norm", "input": name + "mid"},
        {"name": name + "ffn", "op": "feed_forward", "input": name + "norm2", "hidden": 384},
        {"name": name + "out", "op": "add", "inputs": [name + "mid", name + "ffn"]},
    ]


def model(options, blocks=3):
    layers = [{"name": "x", "op": "patch_embedding", "input": "image", "patch": 4, "width": 96}]
    for number in range(blocks):
        # Windows that are shifted and windows that are not follow each other.
        settings = {**options, "shift": 0} if options and number % 2 else options
        layers += block(f"block{number}.", layers[-1]["name"], settings)
    for layer in layers:
        layer["name"] = layer["name"].replace(".", "_")
        for key in ("input", "inputs"):
            value = layer.get(key)
            if isinstance(value, str):
                layer[key] = value.replace(".", "_")
            elif value:
                layer[key] = [name.replace(".", "_") for name in value]
    inputs = {"image": {"shape": [2, 3, 64, 64]}}
    outputs = {"y": layers[-1]["name"]}
    return {"hova": 1, "name": "blocks", "inputs": inputs, "layers": layers, "outputs": outputs}


def dump(options, phase, folder):
    """The IR after a phase."""
    path = folder / "model.json"
    path.write_text(json.dumps(model(options)))
    command = [HOVA, "compile", path, "--quiet", "--emit=mlir", f"--stop-after={phase}", "-o", "-"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def arena_bytes(text):
    return int(re.search(r"hova.arena_bytes = (\d+)", text)[1])


def test_windows_need_no_memory_of_their_own(tmp_path):
    windows = arena_bytes(dump(WINDOWS, "tile", tmp_path))
    assert windows == arena_bytes(dump({}, "tile", tmp_path))


def test_no_kernel_rearranges(tmp_path):
    text = dump(WINDOWS, "assign", tmp_path)
    assert "hova.window<4x4, shift 2x2, grid 16x16>" in text
    assert "hova.rearrange" not in text
    # Blocks are three kernels each, of which neighbours share one.
    assert len(re.findall(r"= hova.kernel ", text)) == 2 * 3 + 1


def test_kept_values_are_of_products_and_sums(tmp_path):
    text = dump(WINDOWS, "tile", tmp_path)
    kept = re.search(r"hova.values = \[(.*?)\]", text, re.DOTALL)[1]
    paths = set(re.findall(r'path = "([^"]+)"', kept))
    parts = {path.partition("_")[2] or path for path in paths}
    assert parts == {"x", "attn.query", "attn", "out"}


ATTENTION = {"op": "multi_head_attention", "heads": 1, "window": 2, "shift": 1}
# What reads the sum of an attention in windows of 4 x 4 tokens with its input. `y` is an
# output beside the sum.
READERS = {
    "some_tokens": {"op": "slice", "axis": 1, "end": 5},
    "patches_of_another_image": {"op": "merge_patches", "grid_height": 2},
    "a_copy": {"op": "concat"},
    "a_product": {"op": "linear", "width": 3},
    "a_norm": {"op": "layer_norm"},
    "one_vector": {"op": "pool", "kind": "mean"},
    "attention_without_windows": {"op": "multi_head_attention", "heads": 2},
}


@pytest.mark.parametrize("reader", READERS)
def test_what_reads_windows_in_another_order(tmp_path, reader):
    layers = [
        {"name": "attn", "input": "x", "grid_height": 4, **ATTENTION},
        {"name": "sum", "op": "add", "inputs": ["x", "attn"]},
        {"name": "y", "inputs" if reader == "a_copy" else "input": "sum", **READERS[reader]},
    ]
    description = {
        "hova": 1,
        "name": "readers",
        "inputs": {"x": {"shape": [2, 16, 6]}},
        "layers": layers,
        "outputs": {"y": "y", "sum": "sum"},
    }
    path = tmp_path / "model.json"
    path.write_text(json.dumps(description))
    done = subprocess.run([HOVA, "verify", path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
