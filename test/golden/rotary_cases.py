#===- rotary_cases.py - Golden cases of rotary positions and gates --------===#
#
# SPDX-License-Identifier: Apache-2.0
#
# A pair of columns is a complex number and its rotation a product with another
# one, which no code of hova says. Heads with columns that are not rotated, heads
# whose columns fill no vector, keys with fewer heads, several items.
#
#===-----------------------------------------------------------------------===#

import numpy as np

import oracle
from case import Case
from net import wide


def angles(case, tokens, pairs, are_inputs=False):
    """Cosines and sines of angles that have no order, as frozen weights or inputs."""
    angle = case.net.draw.values(tokens, pairs, scale=2.0).astype(np.float64)
    tables = {}
    for name, function in (("cosines", np.cos), ("sines", np.sin)):
        table = function(angle).astype(np.float32)
        if are_inputs:
            tables[name] = case.input(name, table)
        else:
            case.layer(name, "weight", shape=[tokens, pairs], trainable=False)
            case.net.weights[name + ".weight"] = table
            tables[name] = wide(table)
    return tables


def rotate(name, batch, tokens, heads, width, rotated, **options):
    """One rotation by itself."""
    case = Case(name)
    x = case.values("x", batch, tokens, heads * width)
    tables = angles(case, tokens, rotated // 2, are_inputs=True)
    case.layer("turned", "rotate", input="x", heads=heads, cosines="cosines",
               sines="sines", **options)
    case.output("y", "turned", oracle.rotate(x, heads=heads, **tables, **options))
    return case


def attention(name, batch, tokens, model, heads, width, rotated, pairs=None,
              **options):
    """Self-attention whose queries and keys are rotated."""
    case = Case(name)
    x = case.values("x", batch, tokens, model)
    tables = angles(case, tokens, rotated // 2)
    case.layer("attn", "multi_head_attention", input="x", heads=heads,
               head_width=width, cosines="cosines", sines="sines", pairs=pairs, **options)
    case.output("y", "attn", case.net.multi_head_attention(
        "attn", x, heads, head_width=width, rotary=dict(tables, pairs=pairs or "halves"),
        **options))
    return case


def gated(kind, hidden=23, **options):
    case = Case("feed_forward_gated_" + kind)
    x = case.values("x", 2, 7, 10)
    case.layer("ffn", "feed_forward", input="x", hidden=hidden, activation=kind, gate=True,
               **options)
    case.output("y", "ffn", case.net.feed_forward("ffn", x, hidden, kind, gate=True, **options))
    return case


def cases():
    yield rotate("rotate_halves", 2, 5, 3, 8, 8)
    yield rotate("rotate_neighbours", 2, 5, 3, 8, 8, pairs="neighbours")
    yield rotate("rotate_part_halves", 1, 7, 2, 10, 6, pairs="halves")
    yield rotate("rotate_part_neighbours", 3, 4, 2, 7, 4, pairs="neighbours")
    yield rotate("rotate_wide", 1, 9, 5, 48, 48)
    yield attention("rotary_halves", 2, 9, 24, 3, 8, 8)
    yield attention("rotary_neighbours", 2, 9, 24, 3, 8, 8, pairs="neighbours")
    yield attention("rotary_grouped", 2, 6, 20, 4, 16, 12, key_value_heads=2,
                    causal=True, bias=False)
    yield attention("rotary_wide", 1, 33, 96, 2, 80, 80, key_value_heads=1, causal=True)
    yield attention("rotary_odd_heads", 2, 7, 15, 3, 5, 4)
    yield attention("rotary_one_token", 2, 1, 8, 1, 8, 8)
    yield gated("gelu_tanh", bias=False)
    yield gated("sigmoid", width=6)
    yield gated("silu", hidden=100)
    yield gated("relu", hidden=72, bias=False)
