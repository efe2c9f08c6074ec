# ===- pooling.py - What attention does between its projections --------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Softmax, performers and Linformer on heads [batch, heads, N, width].

Performers are computed as their authors do: sums over keys come first, so that no product
has tokens x tokens elements. Causal sums are those of chunks of at most 64 tokens, added
up, and scores inside of a chunk.

A kind of attention that descriptions name is a function here and a line of KINDS.
"""

import numpy as np

CHUNK = 64


def softmax(f, path, q, k, v, valid=None, causal=False):
    return f.attention(q, k, v, valid, causal)


def linformer(f, path, q, k, v, valid=None):
    """Keys and values are sums of all tokens; `valid` has no meaning here."""
    e = f.weight(f"{path}.token_projection")[: k.shape[2]].swapaxes(0, 1)
    return f.attention(q, e @ k, e @ v, None, False)


def relu_features(f, x):
    """phi(x) = relu(x) + 1e-3, without a projection"""
    return f.relu(x) + 1e-3


def softmax_features(f, x, w, axes):
    """phi(x) = (exp(w x - |x|^2/2 - max) + 1e-6) / sqrt(m), the maximum over `axes`."""
    x = x * x.shape[-1] ** -0.25
    projected = f.float32(x @ w.swapaxes(0, 1))
    half = f.float32(x * x).sum(-1)[..., None] * 0.5
    peak = f.largest(projected, axes)
    return (f.exp(projected - half - peak) + 1e-6) * (w.shape[0] ** -0.5)


def linear(q, k, v, stabilizer=0.0):
    """Features of queries and keys [..., N, m], values [..., N, width]"""
    total = q @ k.sum(-2)[..., None]
    if stabilizer:
        total = total + 2 * stabilizer * (abs(total) <= stabilizer)
    return (q @ (k.swapaxes(-2, -1) @ v)) / total


def lower_triangle(length):
    return np.tril(np.ones((length, length), np.float32))


def causal_linear(f, q, k, v):
    """The same where keys up to each query's own are summed."""
    batch, heads, tokens, _ = q.shape
    chunk = max(size for size in range(1, CHUNK + 1) if tokens % size == 0)
    q, k, v = (
        y.reshape(batch, heads, tokens // chunk, chunk, y.shape[-1]) for y in (q, k, v)
    )
    sums = k.swapaxes(3, 4) @ v
    ones = k.sum(3)
    scores = (q @ k.swapaxes(3, 4)) * f.constant(lower_triangle, chunk)
    before, ones_before = sums.cumsum(2) - sums, ones.cumsum(2) - ones
    total = (q @ ones_before[..., None]) + scores.sum(-1)[..., None]
    y = (q @ before + scores @ v) / total
    return y.reshape(batch, heads, tokens, y.shape[-1])


def performer(f, path, q, k, v, valid=None, causal=False):
    """With features that a softmax has, if there are any; `valid` must be all keys."""
    if f.has(f"{path}.features"):
        if causal:
            raise ValueError("no reference for a causal performer with drawn features")
        w = f.weight(f"{path}.features")
        q = softmax_features(f, q, w, (-1,))
        return linear(q, softmax_features(f, k, w, (-2, -1)), v, 1e-6)
    q, k = relu_features(f, q), relu_features(f, k)
    return causal_linear(f, q, k, v) if causal else linear(q, k, v)


KINDS = {"softmax": softmax, "performer": performer, "linformer": linformer}


def kind_of(name):
    if name not in KINDS:
        raise ValueError(f"no reference for the attention {name}")
    return KINDS[name]
