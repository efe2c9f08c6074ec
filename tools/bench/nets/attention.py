# ===- attention.py - Multi-head attention with its two extensions ----------=== #
# SPDX-License-Identifier: Apache-2.0
"""Multi-head attention; horizontal and vertical attention where the weights exist.

Yu and Zhang, Horizontal and Vertical Attention in Transformers, equations 5 to 8.
"""

import re

import numpy as np

from . import pooling

# Attention whose queries, keys and values are projections of one value.
SELF = r".*\.(attn|over|projected)"
ROLES = ("query", "key", "value")


def join_projections(weights, path=SELF, roles=ROLES):
    """The roles PATH.query, .key and .value as PATH.qkv, which is one product.

    The name is made of the roles' initials. Where some have no bias, theirs is zero.
    """
    joined = dict(weights)
    for name in weights:
        found = re.fullmatch(rf"({path})\.{roles[0]}\.(weight|bias)", name)
        if not found:
            continue
        place, kind = found[1], found[found.lastindex]
        absent = np.zeros_like(joined[name])
        parts = [joined.pop(f"{place}.{role}.{kind}", absent) for role in roles]
        initials = "".join(role[0] for role in roles)
        joined[f"{place}.{initials}.{kind}"] = np.concatenate(parts, axis=-1)
    return joined


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


def with_slots(f, path, k, v, valid):
    """Slots after the keys and values (Meshed-Memory Transformer, section 3.1)."""
    batch, heads, _, width = k.shape
    slots = f.weight(f"{path}.key").shape[0]

    def extended(x, role, square):
        rows = f.weight(f"{path}.{role}") * square**0.5
        return f.concat([x, f.repeat(split_heads(rows[None], heads), batch)], 2)

    if valid is not None:
        valid = f.concat([valid, f.constant(all_true, batch, slots)], 1)
    return extended(k, "key", width), extended(v, "value", slots), valid


def all_true(*shape):
    return np.ones(shape, np.bool_)


def multi_head_attention(
    f, path, x, heads, memory=None, pool=pooling.softmax, valid=None, **order
):
    """x [batch, Nq, D], memory [batch, Nk, D], valid [batch, Nk] -> [batch, Nq, D]"""
    if f.has(f"{path}.qkv.weight"):
        q, k, v = f.thirds(f.linear(x, f"{path}.qkv"))
    else:
        memory = x if memory is None else memory
        q = f.linear(x, f"{path}.query")
        k = f.linear(memory, f"{path}.key")
        v = f.linear(memory, f"{path}.value")
    q, k, v = (split_heads(y, heads) for y in (q, k, v))
    if f.has(f"{path}.memory.key"):
        k, v, valid = with_slots(f, f"{path}.memory", k, v, valid)
    h = pool(f, path, q, k, v, valid=valid, **order)
    if f.has(f"{path}.horizontal.score"):
        h = horizontal(f, f"{path}.horizontal", h, x)
    y = f.linear(merge_heads(h), f"{path}.output")
    if f.has(f"{path}.vertical.gate_bias"):
        y = vertical(f, f"{path}.vertical", y, x)
    return y


def feed_forward(f, path, x, activation):
    return f.linear(activation(f.linear(x, f"{path}.hidden")), f"{path}.output")


def encoder_layer(f, path, x, heads, eps, attention="attn", activation=None, **options):
    """A layer with norms in front of attention and feed-forward."""
    normed = f.layer_norm(x, f"{path}.norm1", eps)
    x = x + multi_head_attention(f, f"{path}.{attention}", normed, heads, **options)
    normed = f.layer_norm(x, f"{path}.norm2", eps)
    return x + feed_forward(f, f"{path}.ffn", normed, activation or f.gelu)


def depth(f, prefix, last):
    """How many layers PREFIX.0.LAST, PREFIX.1.LAST, ... have weights."""
    count = 0
    while f.has(f"{prefix}.{count}.{last}"):
        count += 1
    return count
