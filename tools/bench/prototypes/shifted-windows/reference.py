#!/usr/bin/env python3
# ===- reference.py - A shifted Swin block in float64 ------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Draws the data of a block and compares the kernels' results with NumPy.

usage: reference.py data FILE WIDTH GRID BATCH
       reference.py compare RESULTS WIDTH GRID BATCH

The block here is the textbook's: it rolls the grid, copies windows and labels regions. It
shares no table with the kernels; those are made in `packed_data`.
"""

import math
import sys

import numpy as np

WINDOW, SHIFT, HEAD, EPS = 7, 3, 32, 1e-5
TOKENS = WINDOW * WINDOW


def draw(width: int, grid: int, batch: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    normal = lambda *shape, scale=1.0: rng.normal(size=shape, scale=scale)
    c, heads = width, width // HEAD
    data = {"x": normal(batch, grid, grid, c)}
    data["table"] = normal((2 * WINDOW - 1) ** 2, heads)
    for name, k, n in (("qkv", c, 3 * c), ("proj", c, c), ("hidden", c, 4 * c)):
        data |= {f"{name}_w": normal(k, n, scale=k**-0.5), f"{name}_bias": normal(n)}
    data |= {"out_w": normal(4 * c, c, scale=c**-0.5), "out_bias": normal(c)}
    for i in "12":
        data |= {f"gain{i}": 1 + normal(c, scale=0.2), f"bias{i}": normal(c)}
    return {k: v.astype(np.float32).astype(np.float64) for k, v in data.items()}


def position_bias(table: np.ndarray) -> np.ndarray:
    """[heads, 49, 49] of the table's rows (dy + 6) * 13 + (dx + 6)."""
    y, x = np.divmod(np.arange(TOKENS), WINDOW)
    dy, dx = y[:, None] - y[None, :], x[:, None] - x[None, :]
    side = 2 * WINDOW - 1
    return table[(dy + WINDOW - 1) * side + dx + WINDOW - 1].transpose(2, 0, 1)


def packed_data(data: dict[str, np.ndarray], grid: int, batch: int) -> list[np.ndarray]:
    """The arguments of the kernels: placements, biases and panels."""
    side = grid // WINDOW
    y, x = np.divmod(np.arange(TOKENS), WINDOW)
    table, kinds = [], []
    for w in range(side * side):
        wy, wx = divmod(w, side)
        rows = (wy * WINDOW + y + SHIFT) % grid * grid + (wx * WINDOW + x + SHIFT) % grid
        table.append(rows)
        kinds.append(2 * (wy == side - 1) + (wx == side - 1))
    bias, heads = position_bias(data["table"]), data["table"].shape[1]
    scores = np.full((4, heads, TOKENS + 1, 64), -np.inf)
    for kind in range(4):
        below = (y >= WINDOW - SHIFT) & bool(kind & 2)
        right = (x >= WINDOW - SHIFT) & bool(kind & 1)
        label = 2 * below + right
        own = bias - 100.0 * (label[:, None] != label[None, :])
        scores[kind, :, :TOKENS, :TOKENS] = own * math.log2(math.e)
        scores[kind, :, TOKENS, :TOKENS] = own[:, :, -1] * math.log2(math.e)
        scores[kind, :, TOKENS, TOKENS:] = 0

    def panels(w: np.ndarray) -> np.ndarray:
        w = np.pad(w, ((0, 0), (0, -w.shape[1] % 64)))
        return w.reshape(w.shape[0], -1, 64).transpose(1, 0, 2)

    names = "gain1 bias1 qkv_w qkv_bias proj_w proj_bias gain2 bias2 hidden_w"
    names += " hidden_bias out_w out_bias"
    weights = [panels(data[n]) if n.endswith("_w") else data[n] for n in names.split()]
    images = np.arange(batch)[:, None] * grid * grid
    rows = (images + np.array(table).reshape(1, -1)).astype(np.int32)
    integers = [rows, np.array(kinds, np.int32)]
    return [data["x"], *integers, scores, *weights]


def layer_norm(x: np.ndarray, gain: np.ndarray, bias: np.ndarray) -> np.ndarray:
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + EPS) * gain + bias


def partition(x: np.ndarray) -> np.ndarray:
    """[batch, grid, grid, c] as [batch, windows, 49, c]."""
    b, grid, _, c = x.shape
    x = x.reshape(b, grid // WINDOW, WINDOW, grid // WINDOW, WINDOW, c)
    return x.transpose(0, 1, 3, 2, 4, 5).reshape(b, -1, TOKENS, c)


def region_mask(grid: int) -> np.ndarray:
    cuts = (slice(0, -WINDOW), slice(-WINDOW, -SHIFT), slice(-SHIFT, None))
    label = np.zeros((1, grid, grid, 1))
    for r, rows in enumerate(cuts):
        for c, columns in enumerate(cuts):
            label[:, rows, columns] = 3 * r + c
    own = partition(label)[0, :, :, 0]
    return np.where(own[:, :, None] == own[:, None, :], 0.0, -100.0)


def attend(d: dict[str, np.ndarray], x: np.ndarray, grid: int) -> np.ndarray:
    b, windows, _, c = x.shape
    split = (x @ d["qkv_w"] + d["qkv_bias"]).reshape(b, windows, TOKENS, 3, -1, HEAD)
    q, k, v = split.transpose(3, 0, 1, 4, 2, 5)
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(HEAD) + position_bias(d["table"])
    scores += region_mask(grid)[:, None]
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    heads = powers / powers.sum(-1, keepdims=True) @ v
    return heads.transpose(0, 1, 3, 2, 4).reshape(b, windows, TOKENS, c)


def block(d: dict[str, np.ndarray]) -> np.ndarray:
    x = d["x"]
    b, grid, _, c = x.shape
    rolled = np.roll(layer_norm(x, d["gain1"], d["bias1"]), (-SHIFT, -SHIFT), (1, 2))
    y = attend(d, partition(rolled), grid) @ d["proj_w"] + d["proj_bias"]
    side = grid // WINDOW
    y = y.reshape(b, side, side, WINDOW, WINDOW, c).transpose(0, 1, 3, 2, 4, 5)
    x = x + np.roll(y.reshape(b, grid, grid, c), (SHIFT, SHIFT), (1, 2))
    hidden = layer_norm(x, d["gain2"], d["bias2"]) @ d["hidden_w"] + d["hidden_bias"]
    erf = np.vectorize(math.erf)(hidden / math.sqrt(2))
    return x + hidden * 0.5 * (1 + erf) @ d["out_w"] + d["out_bias"]


def main() -> None:
    command, path = sys.argv[1:3]
    width, grid, batch = map(int, sys.argv[-3:])
    data = draw(width, grid, batch)
    if command == "data":
        with open(path, "wb") as file:
            for array in packed_data(data, grid, batch):
                is_integer = array.dtype == np.int32
                file.write((array if is_integer else array.astype(np.float32)).tobytes())
        return
    expected = block(data)
    found = np.fromfile(path, np.float32).reshape(-1, *expected.shape)
    worst = np.abs(found - expected).max(axis=(1, 2, 3, 4)) / np.abs(expected).max()
    print(f"width {width}: error over largest value {', '.join(f'{w:.1e}' for w in worst)}")
    if not (worst < 2e-6).all():
        sys.exit("the kernels differ from the reference")


if __name__ == "__main__":
    main()
