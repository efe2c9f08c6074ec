# ===- linear_attention.py - Performers, as their authors compute them ------=== #
# SPDX-License-Identifier: Apache-2.0
"""tools/bench/token_performer.json and causal_performer.json.

Sums over keys come first, so that no product has tokens x tokens elements. The causal
sums are those of chunks of 64 tokens, added up, and scores inside of a chunk.
"""

import numpy as np

from .attention import merge_heads, split_heads

TABLES = ("attn.features",)
CHUNK = 64


def prepare(weights):
    return weights


def token_features(f, x):
    w = f.weight("attn.features")
    half = (x * x).sum(-1)[..., None] * 0.5
    return f.exp(x @ w.swapaxes(0, 1) - half) * (w.shape[0] ** -0.5)


def token_performer(f, q, k, v):
    """phi(u) = exp(w u - |u|^2/2) / sqrt(m); 1e-8 is added to the denominators."""
    q, k = token_features(f, q), token_features(f, k)
    total = q @ k.sum(1)[..., None] + 1e-8
    return (q @ (k.swapaxes(1, 2) @ v)) / total


def causal_performer(f, x, heads):
    """phi(u) = relu(u) + 1e-3, keys up to each query's own."""
    parts = ("attn.query", "attn.key", "attn.value")
    q, k, v = (split_heads(f.linear(x, part), heads) for part in parts)
    q, k = f.relu(q) + 1e-3, f.relu(k) + 1e-3
    batch, _, tokens, width = q.shape
    q, k, v = (y.reshape(batch, heads, tokens // CHUNK, CHUNK, -1) for y in (q, k, v))
    sums = k.swapaxes(3, 4) @ v
    ones = k.sum(3)
    scores = (q @ k.swapaxes(3, 4)) * f.constant(np.tril(np.ones((CHUNK, CHUNK), np.float32)))
    before, ones_before = sums.cumsum(2) - sums, ones.cumsum(2) - ones
    total = (q @ ones_before[..., None]) + scores.sum(-1)[..., None]
    y = (q @ before + scores @ v) / total
    return f.linear(merge_heads(y.reshape(batch, heads, tokens, width)), "attn.output")


def forward(f, parameters, *inputs):
    """Values [batch, tokens, width] -> the same shape"""
    if f.has("attn.features"):
        return (token_performer(f, *inputs),)
    return (causal_performer(f, *inputs, parameters["heads"]),)
