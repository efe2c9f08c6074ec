# ===- captions.py - Meshed-Memory Transformer -------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""m2: memory slots in the encoder; a decoder that attends to all of its levels."""

import math

import numpy as np

from .attention import depth, feed_forward, multi_head_attention

TABLES = ("embed.weight", "places.weight", "*.memory.key", "*.memory.value")


def prepare(weights, parameters):
    return weights


def positions(length):
    """Row 0 of the table is that of padding."""
    return np.arange(1, length + 1, dtype=np.int32)


def encoder_layer(f, path, x, heads, eps, valid):
    attended = multi_head_attention(f, f"{path}.attn", x, heads, valid=valid)
    x = f.layer_norm(x + attended, f"{path}.norm1", eps)
    return f.layer_norm(
        x + feed_forward(f, f"{path}.ffn", x, f.relu), f"{path}.norm2", eps
    )


def decoder_layer(f, path, y, levels, heads, eps, valid, region_valid):
    rows = valid[..., None]
    attended = multi_head_attention(
        f, f"{path}.self", y, heads, valid=valid, causal=True
    )
    s = f.layer_norm(y + attended, f"{path}.norm1", eps) * rows
    gated = []
    for i, level in enumerate(levels):
        cross = f"{path}.cross.0"
        found = multi_head_attention(
            f, f"{cross}.attn", s, heads, memory=level, valid=region_valid
        )
        c = f.layer_norm(s + found, f"{cross}.norm", eps) * rows
        gate = f.sigmoid(f.linear(f.concat([s, c]), f"{path}.mesh.{i}.alpha"))
        gated.append(gate * c)
    u = sum(gated) * (1 / math.sqrt(len(levels))) * rows
    inner = feed_forward(f, f"{path}.ffn", u, f.relu)
    return f.layer_norm(u + inner, f"{path}.norm2", eps) * rows


def forward(f, parameters, features, region_valid, words):
    """features [batch, regions, width], words [batch, N] -> [batch, N, vocab]"""
    eps, heads = parameters["eps"], parameters["heads"]
    x = f.layer_norm(f.relu(f.linear(features, "project")), "project_norm", eps)
    levels = []
    for i in range(depth(f, "encoder", "norm1.gain")):
        x = encoder_layer(f, f"encoder.{i}", x, heads, eps, region_valid)
        levels.append(x)
    valid = words != parameters["pad"]
    ids = f.constant(positions, words.shape[1]) * valid
    y = f.embedding(words, "embed.weight") + f.embedding(ids, "places.weight")
    for i in range(depth(f, "decoder", "norm1.gain")):
        y = decoder_layer(f, f"decoder.{i}", y, levels, heads, eps, valid, region_valid)
    return (f.log_softmax(f.linear(y, "logits")),)
