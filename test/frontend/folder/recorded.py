# ===- recorded.py - What the library computes of small folders ------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Folders that transformers has saved, and some of the numbers that it computed of them, without the library.

`recorded/FAMILY.json` has, by class: the configuration, the names and shapes of the tensors, how the inputs
are drawn, and every n-th number of each result. Weights and inputs are drawn here, on both sides.
test/peers/record_folders.py writes the files.
"""

import json
import zlib
from pathlib import Path

import numpy as np

FILES = sorted((Path(__file__).parent / "recorded").glob("*.json"))
BATCH, LENGTH = 3, 7
NUMBERS = 80


def cases():
    """Of each class that was saved: (family, class, what is recorded)."""
    for path in FILES:
        for kind, case in json.loads(path.read_text()).items():
            yield path.stem, kind, case


def weight_of(name, shape):
    """By its name, so that it is the same whatever else there is: gains near 1, and biases away from 0."""
    noise = np.random.RandomState(zlib.crc32(name.encode())).randn(*shape)
    is_table = any(word in name for word in ("embed", "wte", "wpe", "token", "relative_attention_bias"))
    if len(shape) < 2 or 1 in shape[:-1]:
        return np.asarray(1 + 0.3 * noise if name.endswith(("weight", "lambda1")) else 0.2 * noise, np.float32)
    return (noise * (0.5 if is_table else np.prod(shape[1:]) ** -0.5)).astype(np.float32)


def input_of(name, drawn):
    """`drawn` is the shape of numbers, or the number of ids, with the ids of padding and of a text's end beside it."""
    random = np.random.RandomState(zlib.crc32(name.encode()))
    mask = np.arange(LENGTH) < np.array([LENGTH, LENGTH - 3, 1])[:, None]
    if name == "mask":
        return mask
    if "shape" in drawn:
        return random.randn(*drawn["shape"]).astype(np.float32)
    ids = random.randint(0, drawn["ids"], (BATCH, LENGTH)).astype(np.int32)
    if "pad" in drawn:
        # Padding has its id, which may stand among the tokens too; no other token has it.
        ids[ids == drawn["pad"]] += 1 if drawn["pad"] == 0 else -1
        ids[~mask] = drawn["pad"]
        ids[0, 4] = drawn["pad"]
    if "end" in drawn:
        # Once, twice, and behind what the mask keeps.
        ids[ids == drawn["end"]] -= 1
        ids[[0, 1, 1, 2], [5, 2, 6, 3]] = drawn["end"]
    return ids


def inputs_of(case):
    return {name: input_of(name, drawn) for name, drawn in case["inputs"].items()}


def weights_of(case):
    return {name: weight_of(name, shape) for name, shape in case["tensors"].items()}


def some_of(value, case):
    """Every n-th number. Where padding sees no token, what is made of it is a matter of taste."""
    if case["only_valid"] and value.ndim == 3:
        value = value[input_of("mask", {})]
    flat = value.reshape(-1)
    return flat[:: max(1, flat.size // NUMBERS)]
