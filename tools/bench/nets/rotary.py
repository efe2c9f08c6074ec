# ===- rotary.py - Layers with rotary positions and gates --------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""llama, qwen3 and modernbert of the library of models, in the way of transformers.

Halves of heads are turned by tables of sines and cosines, heads of keys and values may
serve several of queries, and a feed-forward layer is act(x G) * (x U), times O.
"""

import numpy as np

from .attention import depth, join_projections, merge_heads, split_heads

TABLES = ("words.weight",)


def prepare(weights, parameters):
    """ModernBERT keeps one matrix for query, key and value, and one for gate and up."""
    if "global_theta" not in parameters:
        return weights
    return join_projections(weights)


def angles(length, width, theta):
    """[length, width / 2], in float64"""
    return np.arange(length)[:, None] * theta ** (-np.arange(0, width, 2) / width)


def cosines(length, width, theta):
    return np.tile(np.cos(angles(length, width, theta)), 2).astype(np.float32)


def sines(length, width, theta):
    return np.tile(np.sin(angles(length, width, theta)), 2).astype(np.float32)


def neighbours(length, reach):
    """[length, length]: 0 for keys at most so far away, -inf for the others."""
    place = np.arange(length)
    far = abs(place[:, None] - place) > reach
    return np.where(far, -np.inf, 0.0).astype(np.float32)


def rotate(f, x, tables):
    """x C + R(x) S of heads [batch, heads, N, width]; R turns the halves' places."""
    cosine, sine = tables
    half = x.shape[-1] // 2
    turned = f.concat([-x[..., half:], x[..., :half]])
    return x * cosine + turned * sine


def tables_of(f, length, width, theta):
    return (
        f.constant(cosines, length, width, theta),
        f.constant(sines, length, width, theta),
    )


def gated(f, path, x, activation):
    """act(x G) * (x U), times O"""
    return f.linear(
        activation(f.linear(x, f"{path}.gate")) * f.linear(x, f"{path}.hidden"),
        f"{path}.output",
    )


def projections(f, path, x, heads, groups):
    """Queries, keys and values [batch, heads or groups, N, width]"""
    if f.has(f"{path}.qkv.weight"):
        return (split_heads(y, heads) for y in f.thirds(f.linear(x, f"{path}.qkv")))
    counts = {"query": heads, "key": groups, "value": groups}
    return (
        split_heads(f.linear(x, f"{path}.{role}"), count) for role, count in counts.items()
    )


def decoder_attention(f, path, x, parameters, tables, valid):
    heads, eps = parameters["heads"], parameters["eps"]
    groups = parameters["groups"] or heads
    q, k, v = projections(f, path, x, heads, groups)
    if f.has(f"{path}.query_norm.gain"):
        q = f.rms_norm(q, f"{path}.query_norm", eps)
        k = f.rms_norm(k, f"{path}.key_norm", eps)
    q, k = rotate(f, q, tables), rotate(f, k, tables)
    k, v = f.repeat_heads(k, heads // groups), f.repeat_heads(v, heads // groups)
    return f.linear(merge_heads(f.attention(q, k, v, valid, True)), f"{path}.output")


def decoder(f, parameters, tokens, mask):
    """tokens, mask [batch, N] -> hidden [batch, N, D]"""
    eps, heads = parameters["eps"], parameters["heads"]
    width = parameters["head"] or parameters["width"] // heads
    tables = tables_of(f, tokens.shape[1], width, parameters["theta"])
    x = f.embedding(tokens, "words.weight")
    for i in range(depth(f, "decoder", "norm1.gain")):
        path = f"decoder.{i}"
        normed = f.rms_norm(x, f"{path}.norm1", eps)
        x = x + decoder_attention(f, f"{path}.attn", normed, parameters, tables, mask)
        x = x + gated(f, f"{path}.ffn", f.rms_norm(x, f"{path}.norm2", eps), f.silu)
    return (f.rms_norm(x, "norm", eps),)


def encoder_attention(f, path, x, parameters, tables, near, valid):
    """Of all keys, or of those near a query. All of a sequence is valid (the benchmark
    pads nothing), and a mask of the neighbours is one table, as the library makes it."""
    heads = parameters["heads"]
    q, k, v = projections(f, path, x, heads, heads)
    q, k = rotate(f, q, tables), rotate(f, k, tables)
    if near is None:
        h = f.attention(q, k, v, valid, False)
    else:
        h = f.biased_attention(q, k, v, near)
    return f.linear(merge_heads(h), f"{path}.output")


def encoder(f, parameters, tokens, mask):
    """tokens, mask [batch, N] -> hidden [batch, N, D]"""
    eps, length = parameters["eps"], tokens.shape[1]
    width = parameters["width"] // parameters["heads"]
    everywhere = tables_of(f, length, width, parameters["global_theta"])
    locally = tables_of(f, length, width, parameters["local_theta"])
    near = f.constant(neighbours, length, parameters["window"] // 2)
    x = f.layer_norm(f.embedding(tokens, "words.weight"), "norm", eps)
    for i in range(depth(f, "encoder", "norm2.gain")):
        path = f"encoder.{i}"
        is_global = i % parameters["every"] == 0
        normed = f.layer_norm(x, f"{path}.norm1", eps) if i else x
        x = x + encoder_attention(
            f,
            f"{path}.attn",
            normed,
            parameters,
            everywhere if is_global else locally,
            None if is_global else near,
            mask,
        )
        x = x + gated(f, f"{path}.ffn", f.layer_norm(x, f"{path}.norm2", eps), f.gelu)
    return (f.layer_norm(x, "final", eps),)


def forward(f, parameters, tokens, mask):
    is_encoder = "global_theta" in parameters
    return (encoder if is_encoder else decoder)(f, parameters, tokens, mask)
