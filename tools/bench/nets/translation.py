# ===- translation.py - Encoder-decoder Transformer -------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""vanilla_hv: padding masks, one table for both sides and the output projection."""

import math

from .attention import depth, feed_forward, multi_head_attention
from .positions import sinusoid

TABLES = ("embed.weight",)


def prepare(weights, parameters):
    return weights


def embed(f, parameters, tokens, norm):
    x = f.embedding(tokens, "embed.weight")
    x = x + f.constant(sinusoid, tokens.shape[1], x.shape[-1])
    return f.layer_norm(x, norm, parameters["eps"])


def layer(f, parameters, path, x, valid, causal=False, memory=None, memory_valid=None):
    """One post-norm layer; with a memory, cross attention to it in the middle."""
    eps, heads = parameters["eps"], parameters["heads"]

    def attend(name, x, **options):
        y = multi_head_attention(f, f"{path}.{name}.attn", x, heads, **options)
        return f.layer_norm(x + y, f"{path}.{name}.norm", eps)

    x = attend("self", x, valid=valid, causal=causal)
    if memory is not None:
        x = attend("cross", x, memory=memory, valid=memory_valid)
    y = feed_forward(f, f"{path}.out.ffn", x, f.relu)
    return f.layer_norm(x + y, f"{path}.out.norm", eps)


def forward(f, parameters, source, target):
    """source [batch, Ns], target [batch, Nt] -> logits [batch, Nt, vocab]"""
    source_valid = source != parameters["pad"]
    target_valid = target != parameters["pad"]
    x = embed(f, parameters, source, "source_norm")
    for i in range(depth(f, "encoder", "self.norm.gain")):
        x = layer(f, parameters, f"encoder.{i}", x, source_valid)
    y = embed(f, parameters, target, "target_norm")
    for i in range(depth(f, "decoder", "self.norm.gain")):
        y = layer(
            f, parameters, f"decoder.{i}", y, target_valid, True, x, source_valid
        )
    return (f.tied(y, "embed.weight") * (1 / math.sqrt(y.shape[-1])),)
