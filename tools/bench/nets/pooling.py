# ===- pooling.py - What attention does between its projections --------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Softmax, performers, Linformer and BigBird on heads [batch, heads, N, width].

Performers are computed as their authors do: sums over keys come first, so that no product
has tokens x tokens elements. Causal sums are those of chunks of at most 64 tokens, added
up, and scores inside of a chunk. BigBird gathers the blocks of keys that a block of queries
sees, as its authors do, so that scores are products of few matrices.

A kind of attention that descriptions name is a function here and a line of KINDS.
"""

import numpy as np

CHUNK = 64
BLOCK = 64  # tokens, of BigBird


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


def fixed_blocks(blocks):
    """[blocks - 2, 5]: what the inner blocks always see; -1 for what is there twice."""
    rows = []
    for block in range(1, blocks - 1):
        row = [0, block - 1, block, block + 1, blocks - 1]
        rows.append([-1 if b in row[:i] else b for i, b in enumerate(row)])
    return np.array(rows)


def counted(*shape):
    """0, 1, .. in that shape."""
    return np.arange(np.prod(shape)).reshape(shape)


def bigbird(f, path, q, k, v, valid=None, causal=False):
    """Few blocks are all seen: the description has no table then."""
    if not f.has(f"{path}.random_table"):
        return f.attention(q, k, v, valid, causal)
    table = f.integers(f.weight(f"{path}.random_table"))
    batch, heads, tokens, _ = q.shape
    blocks = table.shape[1] + 2
    rest = blocks * BLOCK - tokens

    def in_blocks(x):
        x = f.concat([x, x[:, :, :rest] * 0], 2) if rest else x
        return x.reshape(batch, heads, blocks, BLOCK, x.shape[-1])

    q, k, v = in_blocks(q), in_blocks(k), in_blocks(v)
    place = f.constant(counted, blocks, BLOCK)
    counts = (place < tokens)[None]
    if valid is not None:
        valid = f.concat([valid, valid[:, :rest]], 1) if rest else valid
        counts = counts & valid.reshape(batch, blocks, BLOCK)
    zero = q[0, 0, 0, 0, 0] * 0

    def attend(queries, keys, values, seen):
        return f.biased_attention(queries, keys, values, f.where(seen, zero, -np.inf))

    def all_rows(x):
        return x.reshape(*x.shape[:2], -1, x.shape[-1])

    # The first and the last block see all keys.
    ends = f.concat([q[:, :, 0], q[:, :, -1]], 2)
    seen = counts.reshape(len(counts), 1, 1, -1)
    if causal:
        rows = f.concat([place[0], place[-1]], 0)
        seen = seen & (place.reshape(-1) <= rows[:, None])
    ends = attend(ends, all_rows(k), all_rows(v), seen)
    # The others see the blocks of a row: [heads, blocks - 2, 5 + r]. Heads and blocks are
    # one axis, because ONNX has attention for four axes alone.
    row = f.concat([f.constant(fixed_blocks, blocks) + table[..., :1] * 0, table], 2)
    head = f.constant(counted, heads, 1, 1)
    each = heads * (blocks - 2)
    inner = q[:, :, 1:-1].reshape(batch, each, BLOCK, q.shape[-1])
    gathered = [x[:, head, row].reshape(batch, each, -1, x.shape[-1]) for x in (k, v)]
    seen = counts[:, row] & (row >= 0)[..., None]
    seen = seen.reshape(*seen.shape[:3], 1, -1)
    if causal:
        keys = place[row].reshape(heads, blocks - 2, 1, -1)
        seen = seen & (keys <= place[1:-1][..., None])
    seen = seen.reshape(len(seen), each, *seen.shape[3:])
    inner = attend(inner, *gathered, seen).reshape(batch, heads, -1, v.shape[-1])
    y = f.concat([ends[:, :, :BLOCK], inner, ends[:, :, BLOCK:]], 2)
    return y[:, :, :tokens]


KINDS = {
    "softmax": softmax,
    "performer": performer,
    "linformer": linformer,
    "bigbird": bigbird,
}


def kind_of(name):
    if name not in KINDS:
        raise ValueError(f"no reference for the attention {name}")
    return KINDS[name]
