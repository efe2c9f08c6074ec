# ===- encoder.py - An encoder of any shape ---------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""tools/bench/encoder.json, with one projection for query, key and value."""

from .attention import depth, feed_forward, multi_head_attention
from .vit import prepare

TABLES = ()

__all__ = ["TABLES", "forward", "prepare"]


def forward(f, parameters, x):
    """x [batch, tokens, width] -> the same shape"""
    for i in range(depth(f, "encoder", "norm1.gain")):
        path = f"encoder.{i}"
        normed = f.layer_norm(x, f"{path}.norm1", 1e-6)
        x = x + multi_head_attention(f, f"{path}.attn", normed, parameters["heads"])
        normed = f.layer_norm(x, f"{path}.norm2", 1e-6)
        x = x + feed_forward(f, f"{path}.ffn", normed, f.gelu)
    return (x,)
