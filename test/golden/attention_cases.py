#===- attention_cases.py - Golden cases of attention and its reweighting --===#
#
# SPDX-License-Identifier: Apache-2.0
#
# Shapes where kernels tend to be wrong: one token, prime lengths, head widths
# that fill no vector, many heads, more queries than keys and the reverse, rows
# without a key, and all eight widths different.
#
#===-----------------------------------------------------------------------===#

import numpy as np

import oracle
from case import Case


def self_attention(name, batch, tokens, model, heads, **options):
    """One multi-head self-attention; `options` go to both sides."""
    case = Case(name)
    x = case.values("x", batch, tokens, model)
    case.layer("attn", "multi_head_attention", input="x", heads=heads, **options)
    case.output(
        "y", "attn", case.net.multi_head_attention("attn", x, heads, **options)
    )
    return case


def cross_attention(name, batch, queries, keys, widths, heads, **options):
    """Attention of x over memory with different lengths and input widths."""
    case = Case(name)
    x = case.values("x", batch, queries, widths[0])
    memory = case.values("memory", batch, keys, widths[1])
    case.layer(
        "attn", "multi_head_attention", query="x", key="memory", heads=heads,
        **options,
    )
    case.output("y", "attn", case.net.multi_head_attention(
        "attn", x, heads, key=memory, **options))
    return case


def masked_attention(
    name, masks, batch=2, queries=5, keys=9, model=12, heads=2, shape=None,
    **options,
):
    """Attention with the mask inputs in `masks`, some rows without a key.

    `shape` is that of mask and score_bias, [batch, heads, queries, keys] unless
    given.
    """
    case = Case(name)
    x = case.values("x", batch, queries, model)
    memory = case.values("memory", batch, keys, model)
    shape = shape or (batch, heads, queries, keys)
    given = {}
    if "key_valid" in masks:
        valid = case.net.draw.booleans(batch, keys)
        valid[-1] = False
        given["key_valid"] = case.input("key_valid", valid)
    if "mask" in masks:
        mask = case.net.draw.booleans(*shape)
        mask.reshape(-1, shape[-2], keys)[0, 0] = False
        mask.reshape(-1, shape[-2], keys)[-1] = False
        given["mask"] = case.input("mask", mask)
    if "score_bias" in masks:
        bias = case.net.draw.values(*shape)
        bias.reshape(-1, shape[-2], keys)[0, 0] = -np.inf
        bias[..., 0] = -np.inf
        given["score_bias"] = case.input("score_bias", bias)
    case.layer(
        "attn", "multi_head_attention", query="x", key="memory", heads=heads,
        **{name: name for name in given}, **options,
    )
    case.output("y", "attn", case.net.multi_head_attention(
        "attn", x, heads, key=memory, **given, **options))
    return case


def pooling(name, kind, batch, queries, keys, heads, widths, **options):
    """Attention by itself, without projections."""
    case = Case(name)
    query_width, key_width, value_width = widths
    q = case.values("q", batch, queries, heads * query_width)
    k = case.values("k", batch, keys, heads * key_width)
    v = case.values("v", batch, keys, heads * value_width)
    case.layer("attn", "attention", query="q", key="k", value="v", heads=heads,
               kind=kind, **options)
    split = [oracle.split_heads(x, heads) for x in (q, k, v)]
    if kind == "additive":
        tables = case.net.additive_tables(
            "attn.additive", heads, query_width, key_width,
            options.pop("hidden"),
        )
        h = oracle.additive_attention(*split, *tables, **options)
    elif kind == "cosine":
        h = case.net.attend("attn", *split, kind=kind, **options)
    else:
        h = oracle.attention(*split, **options)
    case.output("y", "attn", oracle.merge_heads(h))
    return case


def zero_heads():
    """Queries and keys of which some have no direction, and some are tiny."""
    case = Case("attention_cosine_zeros")
    q, k, v = (case.net.draw.values(2, 5, 12) for _ in "qkv")
    for x in (q, k):
        x[0, 1, 4:8] = 0
        x[1, 2] = 0
        x[1, 3] *= np.float32(1e-30)
        x[0, 4, :4] *= np.float32(1e-13)
    inputs = [case.input(name, x) for name, x in zip("qkv", (q, k, v))]
    case.layer("attn", "attention", query="q", key="k", value="v", heads=3,
               kind="cosine")
    split = [oracle.split_heads(x, 3) for x in inputs]
    case.output("y", "attn", oracle.merge_heads(
        case.net.attend("attn", *split, kind="cosine")))
    return case


def lecture(name, kind, **options):
    """The eight independent widths of the general form."""
    case = Case(name)
    q = case.values("q", 2, 5, 5)
    k = case.values("k", 2, 11, 7)
    v = case.values("v", 2, 11, 6)
    same = dict(heads=2, head_width=4, value_head_width=3, width=8, **options)
    case.layer("attn", "multi_head_attention", query="q", key="k", value="v",
               kind=kind, **same)
    case.output("y", "attn", case.net.multi_head_attention(
        "attn", q, key=k, value=v, kind=kind, **same))
    return case


def gate(width):
    return {"if": True, "width": width}


def reweighting():
    """Horizontal and vertical attention outside of an attention layer."""
    case = Case("reweighting_alone")
    x = case.values("x", 2, 5, 9)
    h = case.values("h", 2, 5, 12)
    y = case.values("y", 2, 5, 10)
    case.layer("hor", "head_reweight", input="x", heads_input="h", heads=4)
    case.layer("ver", "channel_gate", input="x", gated="y", width=3)
    case.output("heads", "hor", oracle.merge_heads(case.net.head_reweight(
        "hor.horizontal", oracle.split_heads(h, 4), x)))
    case.output("gated", "ver", case.net.channel_gate("ver.vertical", y, x, 3))
    return case


def residual_scores(name, tokens, batch=2, masked=True, **options):
    """RealFormer: the scores of a layer are added to those of the next."""
    case = Case(name)
    x = case.values("x", batch, tokens, 12)
    masks = {}
    if masked:
        masks["key_valid"] = case.input(
            "valid", case.net.draw.booleans(batch, tokens))
    bias = None
    for i in range(3):
        before = {} if bias is None else {"score_bias": bias}
        read = {} if bias is None else {"score_bias": f"attn{i - 1}.scores"}
        y = case.net.multi_head_attention(
            f"attn{i}", x, 2, temperature=i + 1.0, **before, **masks, **options)
        case.layer(f"attn{i}", "multi_head_attention", input="x" if not i else f"x{i - 1}",
                   heads=2, scores=True, temperature=i + 1.0, **read,
                   key_valid="valid" if masked else None, **options)
        bias = case.net.scores
        x = x + y
        case.layer(f"x{i}", "add", inputs=["x" if not i else f"x{i - 1}", f"attn{i}"])
    case.output("y", "x2", x)
    case.output("scores", "attn2.scores", bias)
    return case


def cases():
    yield self_attention("mha_one_token", 1, 1, 8, 2, bias=False)
    yield self_attention("mha_prime_length", 3, 13, 12, 4)
    yield self_attention("mha_head_width_6", 2, 7, 18, 3, bias=False)
    yield self_attention("mha_head_width_7", 1, 17, 21, 3, output_bias=False)
    yield self_attention("mha_head_width_64", 1, 19, 20, 2, head_width=64)
    yield self_attention("mha_28_heads", 1, 5, 20, 28, head_width=3)
    yield self_attention("mha_scale", 2, 5, 20, 4, scale=0.125)
    yield self_attention("mha_causal", 2, 11, 16, 2, causal=True)
    yield self_attention("mha_long", 1, 67, 16, 2, causal=True)
    yield self_attention("mha_cosine", 2, 7, 20, 4, kind="cosine")
    yield self_attention("mha_cosine_head_width_1", 2, 5, 6, 6, kind="cosine")
    yield self_attention("mha_cosine_head_width_67", 1, 5, 12, 2, kind="cosine",
                         head_width=67, causal=True)
    yield self_attention("mha_cosine_both", 2, 7, 24, 4, kind="cosine",
                         key_bias=False, horizontal=True, vertical=gate(6))
    yield self_attention("mha_rms_heads", 2, 7, 24, 4, query_norm="rms",
                         key_value_heads=2)
    yield self_attention("mha_layer_norm_heads", 1, 5, 12, 2, head_width=64,
                         query_norm="layer", key_norm="rms", norm_bias=False,
                         norm_eps=0.01)
    yield self_attention("mha_layer_norm_heads_bias", 2, 5, 12, 3,
                         query_norm="none", key_norm="layer")
    yield self_attention("mha_unit_heads", 2, 5, 20, 2, query_norm="l2", scale=8.0)
    yield self_attention("mha_key_bias", 2, 5, 8, 2, bias=False, key_bias=True)
    yield self_attention("mha_horizontal", 2, 7, 24, 4, horizontal=True)
    yield self_attention("mha_horizontal_one_head", 1, 5, 9, 1, horizontal=True)
    yield self_attention("mha_vertical", 2, 7, 24, 4, vertical=gate(6))
    yield self_attention("mha_both", 3, 5, 33, 3, horizontal=True,
                         vertical=gate(8))
    yield cross_attention("cross_fewer_queries", 2, 3, 13, (10, 14), 2)
    yield cross_attention("cross_one_key", 2, 5, 1, (12, 12), 3)
    yield cross_attention("cross_causal_decode", 1, 3, 7, (12, 12), 3, causal=True)
    yield cross_attention("cross_causal_empty_rows", 1, 7, 3, (12, 12), 3,
                          causal=True)
    yield cross_attention("cross_both", 2, 5, 9, (16, 10), 2, horizontal=True,
                          vertical=gate(4))
    yield masked_attention("padding", ["key_valid"], batch=3)
    yield masked_attention("padding_uniform", ["key_valid"], batch=3,
                           empty_row="uniform")
    yield masked_attention("padding_causal", ["key_valid"], queries=9, causal=True)
    yield masked_attention("boolean_mask", ["mask"])
    yield masked_attention("boolean_mask_uniform", ["mask"], empty_row="uniform")
    yield masked_attention("boolean_mask_shared", ["mask"], shape=(1, 1, 5, 9))
    yield masked_attention("score_bias", ["score_bias"])
    yield masked_attention("score_bias_of_heads", ["score_bias"],
                           shape=(1, 2, 5, 9))
    yield residual_scores("residual_scores", 7)
    yield residual_scores("residual_scores_causal", 37, batch=1, causal=True)
    yield residual_scores("residual_scores_additive", 5, kind="additive", hidden=3,
                          masked=False)
    yield residual_scores("residual_scores_memory", 6, memory=4)
    yield self_attention("memory", 2, 7, 12, 3, memory=5)
    yield self_attention("memory_one_slot", 1, 1, 8, 2, memory=1, bias=False)
    yield self_attention("memory_causal", 2, 37, 12, 2, memory=40, causal=True)
    yield self_attention("memory_additive", 2, 5, 12, 2, memory=3,
                         kind="additive", hidden=7)
    yield masked_attention("memory_masks", ["key_valid", "mask", "score_bias"],
                           memory=4, horizontal=True)
    yield masked_attention("memory_padding", ["key_valid"], keys=35, memory=70)
    yield masked_attention("all_masks", ["key_valid", "mask", "score_bias"],
                           queries=9, causal=True)
    yield masked_attention("all_masks_additive",
                           ["key_valid", "mask", "score_bias"], queries=9,
                           causal=True, kind="additive", hidden=5)
    yield masked_attention("all_masks_cosine",
                           ["key_valid", "mask", "score_bias"], queries=9,
                           causal=True, kind="cosine")
    yield lecture("lecture_cosine", "cosine")
    yield lecture("lecture_softmax", "softmax")
    yield lecture("lecture_additive", "additive", hidden=9, key_head_width=5)
    yield lecture("lecture_both", "softmax", horizontal=True, vertical=gate(2))
    yield pooling("attention_softmax", "softmax", 2, 5, 7, 3, (4, 4, 5))
    yield pooling("attention_additive", "additive", 2, 5, 7, 3, (4, 3, 5),
                  hidden=6)
    yield pooling("attention_cosine", "cosine", 2, 5, 7, 3, (4, 4, 5))
    yield zero_heads()
    yield reweighting()
