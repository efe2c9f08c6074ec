# ===- vit.py - Vision Transformer ------------------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""vit_b16 and vit_b32, with one projection for query, key and value as in timm."""

import re

import numpy as np

from .attention import depth, feed_forward, multi_head_attention

TABLES = ("tokens.weight", "placed.weight")


def prepare(weights):
    """Joins the three projections of each attention."""
    joined = dict(weights)
    for name in weights:
        part = re.fullmatch(r"(.*\.attn)\.query\.(weight|bias)", name)
        if part:
            path, kind = part.groups()
            parts = [joined.pop(f"{path}.{r}.{kind}") for r in ("query", "key", "value")]
            joined[f"{path}.qkv.{kind}"] = np.concatenate(parts, axis=-1)
    return joined


def forward(f, parameters, image):
    """image [batch, 3, H, W] -> logits [batch, classes]"""
    eps = parameters["eps"]
    x = f.patches(image, "patches", parameters["patch"])
    x = f.prepend(x, "tokens.weight") + f.weight("placed.weight")
    for i in range(depth(f, "encoder", "norm1.gain")):
        path = f"encoder.{i}"
        normed = f.layer_norm(x, f"{path}.norm1", eps)
        x = x + multi_head_attention(f, f"{path}.attn", normed, parameters["heads"])
        normed = f.layer_norm(x, f"{path}.norm2", eps)
        x = x + feed_forward(f, f"{path}.ffn", normed, f.gelu)
    x = f.layer_norm(x, "norm", eps)
    return (f.linear(x[:, 0], "head"),)
