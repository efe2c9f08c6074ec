# ===- test_depth.py - Compile time grows with depth, not with its square ----=== #
# SPDX-License-Identifier: Apache-2.0

import json
import os
import resource
import subprocess
from pathlib import Path

HOVA = Path(os.environ.get("HOVA_BUILD", "build")) / "bin" / "hova"

LAYER = [
    {"name": "n", "op": "layer_norm", "input": "x"},
    {"name": "a", "op": "multi_head_attention", "input": "n", "heads": 2},
    {"name": "m", "op": "add", "inputs": ["x", "a"]},
    {"name": "f", "op": "feed_forward", "input": "m", "hidden": 32},
    {"name": "o", "op": "add", "inputs": ["m", "f"]},
]


def seconds(depth, folder):
    """Processor time of compiling that many layers."""
    model = {
        "hova": 1,
        "name": "deep",
        "inputs": {"x": {"shape": [1, 4, 32]}},
        "blocks": {"b": {"inputs": ["x"], "layers": LAYER, "output": "o"}},
        "layers": [{"name": "y", "block": "b", "input": "x", "repeat": depth}],
        "outputs": {"out": "y"},
    }
    path = folder / f"{depth}.json"
    path.write_text(json.dumps(model))
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run(
        [HOVA, "compile", path, "-o", folder / f"{depth}"],
        check=True,
        capture_output=True,
    )
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def test_time_is_linear_in_depth(tmp_path):
    # A multiple of 8 in depth; what is not linear in it would be far beyond.
    assert seconds(1600, tmp_path) < 9 * seconds(200, tmp_path)
