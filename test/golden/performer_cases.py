#===- performer_cases.py - Golden cases of linear cost --------------------===#
#
# SPDX-License-Identifier: Apache-2.0
#
# Every kernel, with and without a causal order, in one block of keys and in
# several, the last of which is shorter; rows without a key; widths and numbers
# of features that are no multiple of a vector. Linformer with fewer and with more
# rows than a register tile has, with biases, which are projected by themselves.
# BigBird with blocks of one token, of fewer and of more than a vector, whose last is
# shorter; with rows without a key; and with so few blocks that it is dense.
#
#===-----------------------------------------------------------------------===#

import oracle
from attention_cases import gate, self_attention
from case import Case


def pooling(name, batch, lengths, heads, widths, empty=(), scale=1.0,
            kind="performer", **options):
    """Linear attention by itself; `empty` are the keys of entry 0 that are
    padding, besides all of the last entry."""
    case = Case(name)
    queries, keys = lengths
    q = case.values("q", batch, queries, heads * widths[0], scale=scale)
    k = case.values("k", batch, keys, heads * widths[0], scale=scale)
    v = case.values("v", batch, keys, heads * widths[1])
    given = {}
    if empty:
        valid = case.net.draw.booleans(batch, keys)
        valid[0, list(empty)] = False
        valid[-1] = False
        given["key_valid"] = case.input("key_valid", valid)
    case.layer("attn", "attention", query="q", key="k", value="v", heads=heads,
               kind=kind, **{name: name for name in given}, **options)
    split = [oracle.split_heads(x, heads) for x in (q, k, v)]
    h = case.net.attend("attn", *split, kind=kind, **given, **options)
    case.output("y", "attn", oracle.merge_heads(h))
    return case


def cases():
    for kernel in oracle.PERFORMER:
        m = {"softmax": 10, "relu": None, "exp": 9}[kernel]
        same = dict(kernel=kernel, **({"features": m} if m else {}))
        yield pooling(f"performer_{kernel}", 2, (5, 7), 3, (4, 5), **same)
        yield pooling(f"performer_{kernel}_blocks", 1, (103, 211), 2, (6, 7),
                      **same)
        yield pooling(f"performer_{kernel}_padding", 3, (5, 131), 2, (4, 3),
                      empty=range(70), **same)
        yield pooling(f"performer_{kernel}_causal", 2, (7, 7), 2, (4, 5),
                      causal=True, **same)
        yield pooling(f"performer_{kernel}_causal_blocks", 1, (211, 211), 2,
                      (6, 7), causal=True, **same)
        yield pooling(f"performer_{kernel}_causal_padding", 3, (131, 131), 1,
                      (4, 3), empty=range(70), causal=True, **same)
    yield pooling("performer_relu_features", 2, (5, 7), 2, (6, 5),
                  kernel="relu", features=11)
    yield pooling("performer_one_token", 2, (1, 1), 2, (4, 5), features=6,
                  causal=True)
    yield pooling("performer_wide", 1, (23, 37), 1, (64, 80), features=100)
    yield pooling("performer_large", 1, (19, 37), 2, (8, 8), features=16,
                  scale=6.0)
    yield pooling("performer_large_causal", 1, (131, 131), 2, (8, 8),
                  features=16, scale=6.0, causal=True)
    yield pooling("performer_constants", 2, (5, 7), 2, (4, 5), features=6,
                  eps=1e-2, stabilizer=5.0, denominator_eps=0.25)
    yield self_attention("mha_performer", 2, 13, 12, 3, kind="performer",
                         features=10, scale=0.4)
    yield self_attention("mha_performer_both", 2, 11, 12, 3, kind="performer",
                         kernel="relu", causal=True, horizontal=True,
                         vertical=gate(4))
    yield pooling("linformer", 2, (5, 7), 3, (4, 5), kind="linformer",
                  projected_tokens=3)
    yield pooling("linformer_apart", 1, (4, 19), 2, (6, 7), kind="linformer",
                  projected_tokens=17, max_tokens=23, shared_projection=False)
    yield pooling("linformer_one_token", 3, (1, 1), 1, (4, 3), kind="linformer",
                  projected_tokens=1)
    yield self_attention("mha_linformer", 2, 41, 12, 3, kind="linformer",
                         projected_tokens=5, max_tokens=50)
    yield self_attention("mha_linformer_both", 2, 37, 12, 2, kind="linformer",
                         projected_tokens=4, bias=False, horizontal=True,
                         vertical=gate(4))
    blocks = dict(kind="bigbird")
    yield pooling("bigbird", 2, (23, 23), 2, (4, 5), block_size=2,
                  random_blocks=2, **blocks)
    yield pooling("bigbird_dense", 1, (18, 18), 2, (4, 5), block_size=2,
                  random_blocks=2, **blocks)
    yield pooling("bigbird_no_random", 1, (29, 29), 3, (6, 7), block_size=5,
                  random_blocks=0, **blocks)
    yield pooling("bigbird_one_token", 1, (13, 13), 1, (3, 2), block_size=1,
                  random_blocks=3, causal=True, **blocks)
    yield pooling("bigbird_causal", 1, (131, 131), 2, (6, 7), block_size=16,
                  random_blocks=1, causal=True, **blocks)
    yield pooling("bigbird_padding", 3, (151, 151), 2, (4, 3), block_size=13,
                  random_blocks=3, empty=[*range(70), *range(80, 151)], **blocks)
    yield pooling("bigbird_causal_padding", 3, (151, 151), 1, (4, 3),
                  block_size=13, random_blocks=2, empty=range(70), causal=True,
                  **blocks)
    yield pooling("bigbird_repeats", 1, (70, 70), 2, (4, 5), block_size=7,
                  random_blocks=2, repeats="count", **blocks)
    yield pooling("bigbird_long_blocks", 1, (531, 531), 1, (5, 3),
                  block_size=66, random_blocks=1, scale=3.0, **blocks)
    yield pooling("bigbird_wide", 1, (35, 35), 1, (24, 40), block_size=4,
                  random_blocks=1, **blocks)
    yield self_attention("mha_bigbird", 2, 37, 12, 3, kind="bigbird",
                         block_size=3, random_blocks=2, scale=0.4)
    yield self_attention("mha_bigbird_both", 2, 37, 12, 2, kind="bigbird",
                         block_size=4, random_blocks=1, causal=True,
                         horizontal=True, vertical=gate(4))
