# ===- swin.py - Swin Transformers -------------------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""swin_t and swinv2_t, as their authors wrote them: images are rolled, cut into windows
and put together.

Tables of position bias are looked up before the model runs, and those of the second
version computed, which the authors do in every run. Masks of shifted windows are
constants.
"""

import numpy as np

from .attention import (
    depth,
    feed_forward,
    horizontal,
    join_projections,
    merge_heads,
    split_heads,
    vertical,
)

TABLES = ()
STAGES = 4


def lookup(table):
    """[(2w-1)^2, heads] -> [heads, w*w, w*w], query less key"""
    side = (int(len(table) ** 0.5) + 1) // 2
    y, x = np.divmod(np.arange(side * side), side)
    down = y[:, None] - y[None, :] + side - 1
    right = x[:, None] - x[None, :] + side - 1
    return np.ascontiguousarray(table[down * (2 * side - 1) + right].transpose(2, 0, 1))


def continuous_bias(side, hidden, bias, output):
    """A table for `lookup`: 16 sigmoid of a network of differences (V2, section 3.3)."""
    far = np.arange(1 - side, side) * 8 / max(side - 1, 1)
    far = np.sign(far) * np.log2(1 + np.abs(far)) / 3
    offsets = np.stack(np.meshgrid(far, far, indexing="ij"), axis=-1).reshape(-1, 2)
    table = np.maximum(offsets @ hidden + bias, 0) @ output
    return (16 / (1 + np.exp(-table))).astype(np.float32)


def prepare(weights, parameters):
    prepared = join_projections(weights)
    for name, array in list(prepared.items()):
        path = name.rpartition(".")[0]
        if name.endswith("relative_bias"):
            prepared[name] = lookup(array)
        elif name.endswith("logit_scale"):
            factor = np.exp(np.minimum(array, np.log(100)))
            prepared[name] = factor.astype(np.float32)[:, None, None]
        elif name.endswith("relative_bias.hidden.weight"):
            stage = int(name.split(".")[1])
            grid = parameters["image"] // parameters["patch"] // 2**stage
            parts = ("hidden.weight", "hidden.bias", "output.weight")
            bias = path.removesuffix(".hidden")
            network = [prepared.pop(f"{bias}.{part}") for part in parts]
            side = min(grid, parameters["window"])
            prepared[bias] = lookup(continuous_bias(side, *network))
    return prepared


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


def mask(height, width, side, shift, value):
    """[windows, 1, side*side, side*side]: `value` for tokens that were no neighbours."""
    labels = np.zeros((1, height, width, 1))
    for axis, length in ((1, height), (2, width)):
        place = np.arange(length)
        region = (place >= length - side).astype(int) + (place >= length - shift)
        labels += region.reshape([-1 if a == axis else 1 for a in range(4)]) * 3**axis
    region = cut(labels, side)[0, :, :, 0]
    apart = region[:, :, None] != region[:, None, :]
    return np.where(apart, np.float32(value), np.float32(0))[:, None]


def window_attention(f, path, x, heads, side, shift, mask_value):
    """x [batch, H, W, C] -> the same shape"""
    batch, height, width, channels = x.shape
    if shift:
        x = f.roll(x, (-shift, -shift), (1, 2))
    windows = cut(x, side)
    count, area = windows.shape[1:3]
    tokens = windows.reshape(batch * count, area, channels)
    parts = f.thirds(f.linear(tokens, f"{path}.qkv"))
    q, k, v = (split_heads(y, heads) for y in parts)
    scale = None
    if f.has(f"{path}.logit_scale"):
        q, k = f.normalize(q) * f.weight(f"{path}.logit_scale"), f.normalize(k)
        scale = 1.0
    bias = f.weight(f"{path}.relative_bias")[None]
    if shift:
        apart = f.constant(mask, height, width, side, shift, mask_value)
        bias = f.repeat(bias + apart, batch)
    h = f.biased_attention(q, k, v, bias, scale)
    if f.has(f"{path}.horizontal.score"):
        h = horizontal(f, f"{path}.horizontal", h, tokens)
    y = f.linear(merge_heads(h), f"{path}.output")
    if f.has(f"{path}.vertical.gate_bias"):
        y = vertical(f, f"{path}.vertical", y, tokens)
    x = put_together(y.reshape(batch, count, area, channels), height, width, side)
    return f.roll(x, (shift, shift), (1, 2)) if shift else x


def merge(f, path, x, height, width, eps):
    """Four tokens become one of twice the channels."""
    batch, _, channels = x.shape
    grid = x.reshape(batch, height, width, channels)
    blocks = [grid[:, row::2, column::2] for column in (0, 1) for row in (0, 1)]
    merged = f.concat(blocks).reshape(batch, -1, 4 * channels)
    # The first version normalizes what it reduces, the second what it has reduced.
    if f.weight(f"{path}.norm.gain").shape[0] == 4 * channels:
        return f.linear(f.layer_norm(merged, f"{path}.norm", eps), f"{path}.reduction")
    return f.layer_norm(f.linear(merged, f"{path}.reduction"), f"{path}.norm", eps)


def sublayer(f, norm, x, eps, compute):
    """A residual around a norm and `compute`, whose result the second version normalizes."""
    path = norm.rpartition(".")[0]
    if f.has(f"{path}.attn.logit_scale"):
        return x + f.layer_norm(compute(x), norm, eps)
    return x + compute(f.layer_norm(x, norm, eps))


def block(f, path, x, heads, grid, eps, window):
    """`window`: its side, the shift and the score between tokens that were apart."""
    batch, tokens, channels = x.shape

    def attend(x):
        image = x.reshape(batch, *grid, channels)
        y = window_attention(f, f"{path}.attn", image, heads, *window)
        return y.reshape(batch, tokens, channels)

    x = sublayer(f, f"{path}.norm1", x, eps, attend)
    return sublayer(
        f, f"{path}.norm2", x, eps, lambda x: feed_forward(f, f"{path}.ffn", x, f.gelu)
    )


def forward(f, parameters, image):
    """image [batch, 3, H, W] -> logits [batch, classes]"""
    eps, patch, window = (parameters[key] for key in ("eps", "patch", "window"))
    heads, apart = parameters["heads"], parameters.get("mask_value", -100)
    height, width = image.shape[2] // patch, image.shape[3] // patch
    x = f.layer_norm(f.patches(image, "patches", patch), "patch_norm", eps)
    for stage in range(STAGES):
        if stage > 0:
            x = merge(f, f"stages.{stage}.merge", x, height, width, eps)
            height, width, heads = height // 2, width // 2, heads * 2
        whole = min(height, width) <= window
        side = min(height, width, window)
        for i in range(depth(f, f"stages.{stage}.blocks", "norm1.gain")):
            shift = 0 if whole else i % 2 * (window // 2)
            path, grid = f"stages.{stage}.blocks.{i}", (height, width)
            x = block(f, path, x, heads, grid, eps, (side, shift, apart))
    return (f.linear(f.layer_norm(x, "norm", eps).mean(1), "head"),)
