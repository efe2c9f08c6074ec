# ===- deep.py - Models of many equal layers --------------------------------------=== #
# SPDX-License-Identifier: Apache-2.0

import json

LAYER = [
    {"name": "n", "op": "layer_norm", "input": "x"},
    {"name": "a", "op": "multi_head_attention", "input": "n", "heads": 2},
    {"name": "m", "op": "add", "inputs": ["x", "a"]},
    {"name": "g", "op": "layer_norm", "input": "m"},
    {"name": "f", "op": "feed_forward", "input": "g", "hidden": 32},
    {"name": "o", "op": "add", "inputs": ["m", "f"]},
]


def write_model(path, depth):
    """Writes a pre-norm Transformer of `depth` layers, 4 tokens and width 32 to `path`; returns `path`."""
    model = {
        "hova": 1,
        "name": "deep",
        "inputs": {"x": {"shape": [1, 4, 32]}},
        "blocks": {"b": {"inputs": ["x"], "layers": LAYER, "output": "o"}},
        "layers": [{"name": "y", "block": "b", "input": "x", "repeat": depth}],
        "outputs": {"out": "y"},
    }
    path.write_text(json.dumps(model))
    return path
