# ===- attention.py - Multi-head attention with its two extensions ----------=== #
# SPDX-License-Identifier: Apache-2.0
"""Multi-head attention; horizontal and vertical attention where the weights exist.

Yu and Zhang, Horizontal and Vertical Attention in Transformers, equations 5 to 8.
"""


def split_heads(x, heads):
    """[batch, N, heads*width] -> [batch, heads, N, width]"""
    batch, length, width = x.shape
    return x.reshape(batch, length, heads, width // heads).swapaxes(1, 2)


def merge_heads(h):
    """[batch, heads, N, width] -> [batch, N, heads*width]"""
    batch, heads, length, width = h.shape
    return h.swapaxes(1, 2).reshape(batch, length, heads * width)


def horizontal(f, path, h, x):
    """Weighs the heads [batch, heads, N, width] of each token by a softmax."""
    hidden = f.relu(f.linear(h, f"{path}.head") + f.linear(x, f"{path}.input")[:, None])
    score = (hidden * f.weight(f"{path}.score")).sum(-1) + f.weight(f"{path}.score_bias")
    return h * f.softmax(score, 1)[..., None]


def vertical(f, path, y, x):
    """Gates the channels of each token [batch, N, D]."""
    hidden = f.relu(f.linear(x, f"{path}.input") + f.linear(y, f"{path}.output"))
    gate = f.linear(hidden, f"{path}.gate") + f.weight(f"{path}.gate_bias")
    return f.sigmoid(gate) * y


def multi_head_attention(f, path, x, heads, memory=None, valid=None, causal=False):
    """x [batch, Nq, D], memory [batch, Nk, D], valid [batch, Nk] -> [batch, Nq, D]"""
    if f.has(f"{path}.qkv.weight"):
        q, k, v = f.thirds(f.linear(x, f"{path}.qkv"))
    else:
        memory = x if memory is None else memory
        q = f.linear(x, f"{path}.query")
        k = f.linear(memory, f"{path}.key")
        v = f.linear(memory, f"{path}.value")
    q, k, v = (split_heads(y, heads) for y in (q, k, v))
    h = f.attention(q, k, v, valid, causal)
    if f.has(f"{path}.horizontal.score"):
        h = horizontal(f, f"{path}.horizontal", h, x)
    y = f.linear(merge_heads(h), f"{path}.output")
    if f.has(f"{path}.vertical.gate_bias"):
        y = vertical(f, f"{path}.vertical", y, x)
    return y


def feed_forward(f, path, x, activation):
    return f.linear(activation(f.linear(x, f"{path}.hidden")), f"{path}.output")


def depth(f, prefix, last):
    """How many layers PREFIX.0.LAST, PREFIX.1.LAST, ... have weights."""
    count = 0
    while f.has(f"{prefix}.{count}.{last}"):
        count += 1
    return count
