#===- score_cases.py - Golden cases of written scores ---------------------===#
#
# SPDX-License-Identifier: Apache-2.0
#
# Forms of scores that papers know, each kind of score and of value that is
# read, rows without a key, and heads of queries that share keys and values.
#
#===-----------------------------------------------------------------------===#

import numpy as np
import oracle
import scores
from case import Case


class ScoreCase(Case):
    """A case whose layers read values by index."""

    def __init__(self, name):
        super().__init__(name)
        self.values_by_name = {}

    def input(self, name, array, bound=None):
        value = super().input(name, array, bound)
        self.values_by_name[name] = value
        return value

    def weight(self, name, *shape):
        """A layer `weight` that scores read."""
        self.layer(name, "weight", shape=list(shape))
        self.values_by_name[name] = self.net.weight(name + ".weight", *shape)

    def written(self, score=None, keep=None):
        given = {"score": score, "keep": keep}
        given = {key: text for key, text in given.items() if text}
        return scores.WrittenScores(**given, read=self.values_by_name.__getitem__)


def attention(name, score=None, keep=None, batch=2, queries=7, keys=None, model=12,
              heads=2, reads=(), weights=(), integers=(), wide=False, padding=False,
              gives=False, **options):
    """A multi-head attention whose scores read inputs, weights and integers.

    `reads` and `weights` are (name, shape), `integers` (name, shape, bound), of i64 if
    `wide`; without a bound they are any of 32 bits, the least and the greatest too.
    """
    case = ScoreCase(name)
    x = case.values("x", batch, queries, model)
    memory = x
    role = {"input": "x"}
    if keys:
        memory = case.values("memory", batch, keys, model)
        role = {"query": "x", "key": "memory"}
    for read, shape in reads:
        case.values(read, *shape)
    for read, shape, bound in integers:
        dtype = {"dtype": np.int64} if wide else {}
        drawn = case.net.draw.integers(bound or 2**32, *shape, **dtype)
        if bound is None:
            drawn.flat[:2] = np.iinfo(np.int32).min, np.iinfo(np.int32).max
        case.input(read, drawn, bound)
    for read, shape in weights:
        case.weight(read, *shape)
    masks = {}
    if padding:
        masks["key_valid"] = case.input(
            "valid", case.net.draw.booleans(batch, keys or queries))
    case.layer(
        "attn", "multi_head_attention", **role, heads=heads, score=score, keep=keep,
        key_valid="valid" if padding else None, scores=gives or None, **options)
    written = case.written(score, keep) if score or keep else None
    case.output("y", "attn", case.net.multi_head_attention(
        "attn", x, heads, key=memory, written=written, **masks, **options))
    if gives:
        case.output("scores", "attn.scores", case.net.scores)
    return case


def window(name, grid, side, shift, score, keep=None, batch=2, model=12, heads=2,
           reads=(), **options):
    """Attention in windows, whose tokens are what scores know of."""
    case = ScoreCase(name)
    x = case.values("x", batch, grid[0] * grid[1], model)
    for read, shape in reads:
        case.values(read, *shape)
    case.layer("attn", "multi_head_attention", input="x", heads=heads, window=side,
               shift=shift or None, grid_height=grid[0], score=score, keep=keep, **options)
    case.output("y", "attn", case.net.window_attention(
        "attn", x, heads, grid, (side, side), (shift, shift),
        written=case.written(score, keep), **options))
    return case


def pooling(name, kind, groups, widths, batch=2, queries=5, keys=7, heads=4,
            score=None, keep=None, **options):
    """Attention by itself, whose heads of queries share keys and values."""
    case = ScoreCase(name)
    q = case.values("q", batch, queries, heads * widths[0])
    k = case.values("k", batch, keys, groups * widths[1])
    v = case.values("v", batch, keys, groups * widths[2])
    case.layer("attn", "attention", query="q", key="k", value="v", heads=heads,
               key_value_heads=groups, kind=kind, score=score, keep=keep, **options)
    split = [oracle.split_heads(x, n) for x, n in ((q, heads), (k, groups), (v, groups))]
    written = case.written(score, keep) if score or keep else None
    h = case.net.attend("attn", *split, kind=kind, written=written, **options)
    case.output("y", "attn", oracle.merge_heads(h))
    return case


def scores_alone(name, widths, batch=2, queries=5, keys=39, heads=2, **options):
    """Logits of pairs: the scores are an output and the pooled values are not."""
    case = ScoreCase(name)
    q = case.values("q", batch, queries, heads * widths[0])
    k = case.values("k", batch, keys, heads * widths[0])
    v = case.values("v", batch, keys, heads * widths[1])
    case.layer("attn", "attention", query="q", key="k", value="v", heads=heads,
               scores=True, **options)
    case.net.attend("attn", *(oracle.split_heads(x, heads) for x in (q, k, v)), **options)
    case.output("scores", "attn.scores", case.net.scores)
    return case


def omni(name, score, keep, tokens=4, count=3, width=12, heads=2):
    """Rows of Z are what scores know of."""
    case = ScoreCase(name)
    states = [case.values(f"x{i}", 2, tokens, width) for i in range(count)]
    case.layer("omni", "omni_attention", inputs=[f"x{i}" for i in range(count)],
               heads=heads, hidden=9, score=score, keep=keep)
    case.output("y", "omni", case.net.omni_attention(
        "omni", states, heads, 9, written=case.written(score, keep)))
    return case


def cases():
    yield attention("score_alibi", "score - slope[head] * (query - key)", "key <= query",
                    weights=[("slope", (2,))])
    yield attention("score_alibi_long", "score - exp(-8 * log(2) * (head + 1) / heads)"
                    " * (query - key)", "key <= query", batch=1, queries=67)
    yield attention("score_exponents", "score - 2 ** (-8 * (head + 1) / heads) * (query - key)"
                    " / 4 + 0.5 ** abs(query - key)", "key <= query", heads=3, queries=19)
    yield attention("score_jumps", "score + floor((key - query) / 7) / 8 - ceil(0.1 * key) / 4"
                    " + if(key / 7 == 3, 1, 0)", "floor(query / 0.3) >= floor(key / 0.3) - 90",
                    batch=1, queries=97)
    yield attention("score_soft_cap", "1.5 * tanh(score / 1.5)",
                    "key <= query and query - key < 5", queries=37)
    yield attention("score_documents", keep="document[batch, query] == document[batch, key]",
                    queries=23, integers=[("document", (2, 23), 3)])
    yield attention("score_prefix", keep="key <= query or key < prefix[batch]", queries=19,
                    integers=[("prefix", (2,), 20)])
    yield attention("score_backwards", "score + bias[head, query - key + 8]", queries=9,
                    reads=[("bias", (2, 17))])
    yield attention("score_backwards_cross", "score + bias[head, query - key + keys - 1]",
                    queries=6, keys=19, reads=[("bias", (2, 24))])
    yield attention("score_buckets",
                    "score + distances[head, bucket[min(max(query - key, 0), 15)]]",
                    "key <= query", queries=21, scale=1.0,
                    weights=[("distances", (2, 5))], integers=[("bucket", (16,), 5)])
    yield attention("score_hops", "score + paths[hops[batch, query, key], head]",
                    "hops[batch, query, key] < 3", queries=11,
                    weights=[("paths", (4, 2))], integers=[("hops", (2, 11, 11), 4)])
    yield attention("score_dilated", keep="abs(query - key) <= 12 and (query - key) % 3 == 0",
                    queries=41)
    yield attention("score_sinks", keep="key <= query and (key < 3 or query - key < 20)",
                    queries=150, batch=1)
    yield attention("score_global", keep="key < 2 or query < 2 or abs(query - key) <= 9",
                    queries=131, batch=1, padding=True)
    yield attention("score_sinks_whole", keep="key <= query and (key < 3 or query - key < 150)",
                    queries=301, batch=1, model=8)
    yield attention("score_late_gap", keep="query >= 128 or key < 4 or key >= 200",
                    queries=256, batch=1, model=4)
    yield attention("score_negative", "score - key / 8", "key != query + 2", scale=-0.5,
                    queries=37)
    yield attention("score_wide_documents", "score + bias[head, document[batch, key]]",
                    "document[batch, query] == document[batch, key]", queries=23, wide=True,
                    weights=[("bias", (2, 3))], integers=[("document", (2, 23), 3)])
    yield attention("keep_hash", "score + bias[head, document[batch, key]]",
                    "(query * 65443576 + key * 40503 + document[batch, key]) % 7 != 3",
                    queries=23, weights=[("bias", (2, 3))], integers=[("document", (2, 23), 3)])
    yield attention("keep_hash_wide", keep="(document[batch, key] * 265443576 + query) % 5 != 3",
                    queries=23, wide=True, integers=[("document", (2, 23), 3)])
    yield attention("keep_any_integer", "score + bias[head, hash[batch, key] % 3]"
                    " - (hash[batch, query] % -5) / 4", "hash[batch, key] % 7 < 5 and"
                    " hash[batch, key] // -1000000007 < 2", queries=23,
                    weights=[("bias", (2, 3))], integers=[("hash", (2, 23), None)])
    yield attention("score_strided_whole", "score + near[head, query - key + 31]"
                    " + far[2 * key, 3] + grid[key, query]", queries=32, batch=1, model=8,
                    reads=[("near", (2, 63)), ("far", (64, 5)), ("grid", (32, 32))])
    yield attention("score_rounded_down", "score - step[(query - 9) // 4 + 3]"
                    " * ((query - 9) % 5) - (key - 7) % 3", queries=19,
                    reads=[("step", (6,))])
    yield scores_alone("score_alone", (4, 5), scale=-0.5)
    yield attention("score_uneven", "score * (head + 1) / heads - (query - key) ** 2 / 16",
                    "query // 3 >= key // 4 or (key - query) // 5 == -2", queries=33)
    yield attention("score_functions",
                    "if(score > 0.25, sqrt(score) + log2(score), sigmoid(score) * score**3)"
                    " - max(floor(score), ceil(score / 2), -1) + min(abs(score), exp(score))")
    yield attention("score_cosine", "score - abs(query - key) / 4", kind="cosine")
    yield attention("score_cosine_both", "0.5 * score", "key != query + 1", kind="cosine",
                    heads=3, horizontal=True, vertical={"if": True, "width": 5})
    yield attention("keep_additive", keep="key <= query + head", kind="additive", hidden=5)
    yield attention("score_temperature", "tanh(score)", "key < 6", temperature=0.5,
                    gives=True)
    yield attention("keep_empty_rows", keep="key < query - 5 and valid[batch, key]",
                    queries=7, keys=13, causal=True, padding=True)
    yield attention("keep_empty_rows_uniform", keep="key < query - 2", queries=7, keys=9,
                    causal=True, empty_row="uniform")
    yield attention("weights_sigmoid", "sigmoid(score - log(keys))", normalize="none",
                    queries=37, padding=True, causal=True)
    yield attention("weights_relu", "max(score, 0) / keys", normalize="none", queries=21,
                    keys=70, gives=True)
    yield attention("weights_relu_over_sum", "max(score, 0)", "key < query + 3",
                    normalize="sum", queries=67, batch=1)
    yield attention("weights_polynomial", "(1 + score)**2", normalize="sum", heads=4,
                    key_value_heads=2, horizontal=True, padding=True)
    yield attention("weights_empty_rows", "score**2 + 0.5", "key < query - 5", queries=7,
                    keys=13, normalize="sum")
    yield attention("weights_as_they_are", normalize="none", memory=3, queries=6)
    yield attention("weights_additive", "exp(score)", normalize="sum", kind="additive",
                    hidden=5)
    yield window("weights_shifted", (4, 6), 2, 1, "sigmoid(score)", relative_bias=True,
                 mask_value="-inf", normalize="none")
    yield window("score_windows", (4, 6), 2, 1, "score + bias[batch, head, key, query]",
                 "key <= query + 1", relative_bias=True, reads=[("bias", (2, 2, 4, 4))])
    yield window("score_windows_capped", (6, 6), 3, 0,
                 "2 * tanh(score / 2) - abs(query - key) / keys")
    yield omni("score_omni", "score - abs(query // 3 - key // 3) / 2", "key // 3 <= query // 3")
    yield attention("grouped_heads", heads=4, key_value_heads=2, padding=True,
                    horizontal=True)
    yield attention("grouped_heads_one", heads=4, key_value_heads=1, padding=True,
                    horizontal=True, queries=35, causal=True)
    yield attention("grouped_heads_score", "score - slope[head] * abs(query - key)", heads=4,
                    key_value_heads=2, weights=[("slope", (4,))], value_head_width=5,
                    queries=5, keys=18, gives=True)
    yield attention("grouped_heads_memory", heads=6, key_value_heads=3, memory=4)
    yield attention("grouped_heads_performer", heads=4, key_value_heads=2, padding=True,
                    kind="performer", features=6, horizontal=True)
    yield attention("grouped_heads_bigbird", heads=4, key_value_heads=2, padding=True,
                    kind="bigbird", block_size=3, random_blocks=1, queries=29, causal=True)
    yield attention("score_bigbird", "score - slope[head] * abs(query - key)",
                    "document[batch, query] == document[batch, key] and query - key < 60",
                    kind="bigbird", block_size=7, random_blocks=2, queries=97, padding=True,
                    weights=[("slope", (2,))], integers=[("document", (2, 97), 2)])
    yield attention("score_bigbird_sinks", keep="key <= query and (key < 5 or query - key < 40)",
                    kind="bigbird", block_size=40, random_blocks=1, queries=400, batch=1,
                    model=8)
    yield attention("score_bigbird_long", "-0.5 * score", kind="bigbird", block_size=100,
                    random_blocks=0, queries=800, batch=1, model=6)
    yield attention("score_bigbird_padding", kind="bigbird", block_size=4, random_blocks=1,
                    queries=48, padding=True)
    yield attention("score_bigbird_dense", "2 * tanh(score / 2)", "key != query",
                    kind="bigbird", block_size=7, random_blocks=2, queries=29)
    yield pooling("grouped_attention_performer", "performer", 2, (4, 4, 5), queries=9,
                  keys=150, features=7, heads=6)
    yield pooling("grouped_attention_performer_causal", "performer", 1, (4, 4, 5),
                  queries=141, keys=141, heads=3, causal=True, kernel="relu", batch=1)
    yield pooling("grouped_attention", "softmax", 2, (4, 4, 5))
    yield pooling("grouped_attention_cosine", "cosine", 1, (4, 4, 5), keep="key != head")
    yield pooling("grouped_attention_additive", "additive", 2, (4, 3, 5), hidden=6,
                  score="score * (key + 1)")
