# ===- swin.py - Swin Transformer --------------------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""swin_t, as its authors wrote it: images are rolled, cut into windows and put together.

Tables of position bias are looked up before the model runs, which its authors do in every
run, and masks of shifted windows are constants.
"""

import numpy as np

from .attention import depth, feed_forward, horizontal, merge_heads, split_heads, vertical
from .vit import prepare as join_projections

TABLES = ()
STAGES = 4


def lookup(table):
    """[(2w-1)^2, heads] -> [heads, w*w, w*w], query less key"""
    side = (int(len(table) ** 0.5) + 1) // 2
    y, x = np.divmod(np.arange(side * side), side)
    down = y[:, None] - y[None, :] + side - 1
    right = x[:, None] - x[None, :] + side - 1
    return np.ascontiguousarray(table[down * (2 * side - 1) + right].transpose(2, 0, 1))


def prepare(weights):
    return {
        name: lookup(array) if name.endswith("relative_bias") else array
        for name, array in join_projections(weights).items()
    }


def cut(x, side):
    """[batch, H, W, C] -> [batch, windows, side*side, C]"""
    batch, height, width, channels = x.shape
    parts = x.reshape(batch, height // side, side, width // side, side, channels)
    return parts.swapaxes(2, 3).reshape(batch, -1, side * side, channels)


def put_together(x, height, width, side):
    """The inverse of `cut`."""
    batch, channels = x.shape[0], x.shape[-1]
    parts = x.reshape(batch, height // side, width // side, side, side, channels)
    return parts.swapaxes(2, 3).reshape(batch, height, width, channels)


def mask(height, width, side, shift):
    """[windows, 1, side*side, side*side]: -100 for tokens that were no neighbours."""
    labels = np.zeros((1, height, width, 1))
    for axis, length in ((1, height), (2, width)):
        place = np.arange(length)
        region = (place >= length - side).astype(int) + (place >= length - shift)
        labels += region.reshape([-1 if a == axis else 1 for a in range(4)]) * 3**axis
    region = cut(labels, side)[0, :, :, 0]
    apart = region[:, :, None] != region[:, None, :]
    return np.where(apart, np.float32(-100), np.float32(0))[:, None]


def window_attention(f, path, x, heads, side, shift):
    """x [batch, H, W, C] -> the same shape"""
    batch, height, width, channels = x.shape
    if shift:
        x = f.roll(x, (-shift, -shift), (1, 2))
    windows = cut(x, side)
    count, area = windows.shape[1:3]
    tokens = windows.reshape(batch * count, area, channels)
    parts = f.thirds(f.linear(tokens, f"{path}.qkv"))
    bias = f.weight(f"{path}.relative_bias")[None]
    if shift:
        bias = f.repeat(bias + f.constant(mask(height, width, side, shift)), batch)
    h = f.biased_attention(*(split_heads(y, heads) for y in parts), bias)
    if f.has(f"{path}.horizontal.score"):
        h = horizontal(f, f"{path}.horizontal", h, tokens)
    y = f.linear(merge_heads(h), f"{path}.output")
    if f.has(f"{path}.vertical.gate_bias"):
        y = vertical(f, f"{path}.vertical", y, tokens)
    x = put_together(y.reshape(batch, count, area, channels), height, width, side)
    return f.roll(x, (shift, shift), (1, 2)) if shift else x


def forward(f, parameters, image):
    """image [batch, 3, H, W] -> logits [batch, classes]"""
    eps, patch, window = (parameters[key] for key in ("eps", "patch", "window"))
    heads = parameters["heads"]
    height, width = image.shape[2] // patch, image.shape[3] // patch
    x = f.layer_norm(f.patches(image, "patches", patch), "patch_norm", eps)
    for stage in range(STAGES):
        batch, _, channels = x.shape
        whole = min(height, width) <= window
        side = min(height, width, window)
        for i in range(depth(f, f"stages.{stage}.blocks", "norm1.gain")):
            path = f"stages.{stage}.blocks.{i}"
            normed = f.layer_norm(x, f"{path}.norm1", eps)
            shift = 0 if whole else i % 2 * (window // 2)
            y = window_attention(
                f,
                f"{path}.attn",
                normed.reshape(batch, height, width, channels),
                heads,
                side,
                shift,
            )
            x = x + y.reshape(batch, height * width, channels)
            normed = f.layer_norm(x, f"{path}.norm2", eps)
            x = x + feed_forward(f, f"{path}.ffn", normed, f.gelu)
        if stage + 1 < STAGES:
            path = f"stages.{stage + 1}.merge"
            grid = x.reshape(batch, height, width, channels)
            blocks = [grid[:, row::2, column::2] for column in (0, 1) for row in (0, 1)]
            height, width, heads = height // 2, width // 2, heads * 2
            merged = f.concat(blocks).reshape(batch, height * width, 4 * channels)
            merged = f.layer_norm(merged, f"{path}.norm", eps)
            x = f.linear(merged, f"{path}.reduction")
    return (f.linear(f.layer_norm(x, "norm", eps).mean(1), "head"),)
