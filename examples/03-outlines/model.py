# ===- model.py - The outlines Transformer in PyTorch ----------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""The model of outlines.json, written once more in PyTorch for training.

As the paper writes it: the image of tokens is rolled, cut into windows and put
together again, and an index table looks the relative positions up. The compiled
program has none of these copies.
Shapes in comments: B batch, H x H tokens, C channels, W windows, w side of a window.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F
from training import FeedForward, LayerNorm, Linear

SIDE, PATCH, WINDOW, WIDTH, HEADS, CLASSES = 24, 3, 4, 24, 3, 6
EPS = 1e-5


def cut(x):
    """[B, H, H, C] -> [B, W, w*w, C]"""
    x = x.unflatten(2, (-1, WINDOW)).unflatten(1, (-1, WINDOW))
    return x.transpose(2, 3).flatten(3, 4).flatten(1, 2)


def put_together(x, side):
    """The inverse of `cut`."""
    across = side // WINDOW
    x = x.unflatten(2, (WINDOW, WINDOW)).unflatten(1, (across, across))
    return x.transpose(2, 3).flatten(3, 4).flatten(1, 2)


def differences():
    """[w*w, w*w]: the row of the bias table for each query and key of a window."""
    y, x = torch.arange(WINDOW**2) // WINDOW, torch.arange(WINDOW**2) % WINDOW
    down = y[:, None] - y[None, :] + WINDOW - 1
    right = x[:, None] - x[None, :] + WINDOW - 1
    return down * (2 * WINDOW - 1) + right


def strangers(side, shift):
    """[W, 1, w*w, w*w]: -100 for tokens of a window that were no neighbours."""
    place = torch.arange(side)
    region = (place >= side - WINDOW).int() + (place >= side - shift).int()
    region = cut((3 * region[:, None] + region[None, :])[None, :, :, None])[0, :, :, 0]
    return -100.0 * (region[:, :, None] != region[:, None, :]).unsqueeze(1)


class WindowAttention(nn.Module):
    """Attention inside windows of w x w tokens, with relative position bias."""

    def __init__(self, width, heads, side, shift):
        super().__init__()
        self.heads, self.side = heads, side
        self.query = Linear(width, width)
        self.key = Linear(width, width)
        self.value = Linear(width, width)
        self.output = Linear(width, width)
        self.relative_bias = nn.Parameter(
            0.02 * torch.randn((2 * WINDOW - 1) ** 2, heads)
        )
        self.rows = differences()
        # An image of one window is not shifted.
        self.shift = shift if side > WINDOW else 0
        self.mask = strangers(side, self.shift) if self.shift else 0.0

    def forward(self, x):  # [B, H*H, C]
        image = x.unflatten(1, (self.side, self.side))
        image = image.roll((-self.shift, -self.shift), (1, 2))
        windows = cut(image)

        def split(y):  # [B, W, w*w, C] -> [B, W, heads, w*w, d]
            return y.unflatten(3, (self.heads, -1)).transpose(2, 3)

        q, k, v = (split(f(windows)) for f in (self.query, self.key, self.value))
        scores = q @ k.transpose(3, 4) / math.sqrt(q.shape[-1])
        scores = scores + self.relative_bias[self.rows].permute(2, 0, 1) + self.mask
        heads = (scores.softmax(dim=-1) @ v).transpose(2, 3)
        y = put_together(self.output(heads.flatten(3)), self.side)
        return y.roll((self.shift, self.shift), (1, 2)).flatten(1, 2)


class Block(nn.Module):
    """x + Attention(LN(x)), then x + FeedForward(LN(x)); odd ones are shifted."""

    def __init__(self, width, heads, side, shift):
        super().__init__()
        self.norm1 = LayerNorm(width, EPS)
        self.attn = WindowAttention(width, heads, side, shift)
        self.norm2 = LayerNorm(width, EPS)
        self.ffn = FeedForward(width, 4 * width, F.gelu)

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.ffn(self.norm2(x))


def stage(width, heads, side, shifted):
    shifts = (0, WINDOW // 2 if shifted else 0)
    return nn.ModuleList([Block(width, heads, side, shift) for shift in shifts])


class Outlines(nn.Module):
    def __init__(self, shifted=True):
        super().__init__()
        side = SIDE // PATCH
        self.side = side
        self.patches = Linear(PATCH * PATCH, WIDTH)
        self.patch_norm = LayerNorm(WIDTH, EPS)
        self.fine = stage(WIDTH, HEADS, side, shifted)
        self.merge_norm = LayerNorm(4 * WIDTH, EPS)
        self.reduced = Linear(4 * WIDTH, 2 * WIDTH, bias=False)
        self.coarse = stage(2 * WIDTH, 2 * HEADS, side // 2, shifted)
        self.norm = LayerNorm(2 * WIDTH, EPS)
        self.head = Linear(2 * WIDTH, CLASSES)

    def forward(self, image):  # [B, 1, 24, 24], grey values 0..1
        columns = F.unfold(image, PATCH, stride=PATCH).transpose(1, 2)
        x = self.patch_norm(self.patches(columns))
        for block in self.fine:
            x = block(x)
        grid = x.unflatten(1, (self.side, self.side))
        parts = [grid[:, row::2, column::2] for column in (0, 1) for row in (0, 1)]
        x = self.reduced(self.merge_norm(torch.cat(parts, dim=3).flatten(1, 2)))
        for block in self.coarse:
            x = block(x)
        return self.head(self.norm(x).mean(dim=1))
