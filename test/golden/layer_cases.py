#===- layer_cases.py - Golden cases of dense, token and omni layers -------===#
#
# SPDX-License-Identifier: Apache-2.0
#
# Widths that are no multiple of a vector, one row, large magnitudes, and both
# places and orders of the omnidirectional layer.
#
#===-----------------------------------------------------------------------===#

import numpy as np

import oracle
from case import Case


def linear(name, rows, width, result, bias=True):
    case = Case(name)
    x = case.values("x", *rows, width)
    case.layer("fc", "linear", input="x", width=result, bias=bias)
    case.output("y", "fc", case.net.linear("fc", x, result, bias))
    return case


def tied():
    """An embedding whose table is also the output projection, scaled."""
    case = Case("tied_embedding")
    ids = case.input("tokens", case.net.draw.integers(11, 2, 7), bound=11)
    case.layer("embed", "embedding", input="tokens", vocab=11, width=6)
    case.layer("scaled", "scale", input="embed", by=0.375)
    case.layer("head", "linear", input="scaled", width=11, bias=False,
               weight="embed.weight", transposed=True)
    table = case.net.weight("embed.weight", 11, 6)
    case.output("y", "head", oracle.linear(0.375 * table[ids], table.T))
    return case


def wide_ids():
    case = Case("embedding_i64")
    ids = case.net.draw.integers(13, 3, 5, dtype=np.int64)
    ids[0, 0], ids[0, 1] = 0, 12
    case.input("tokens", ids, bound=13)
    case.layer("embed", "embedding", input="tokens", vocab=13, width=7)
    case.layer("valid", "padding_mask", input="tokens", pad=2)
    case.layer("attn", "attention", query="embed", key="embed", value="embed",
               heads=1, key_valid="valid")
    value = case.net.weight("embed.weight", 13, 7)[ids]
    case.output("y", "attn", oracle.attention(
        *[value[:, None]] * 3, key_valid=ids != 2)[:, 0])
    return case


def class_token_mask():
    """The class token counts as a key where the first token does."""
    case = Case("class_token_mask")
    ids = case.net.draw.integers(13, 3, 5)
    ids[0, 0] = ids[1, 2] = 4
    case.input("tokens", ids, bound=13)
    case.layer("embed", "embedding", input="tokens", vocab=13, width=7)
    case.layer("all", "class_token", input="embed")
    case.layer("valid", "padding_mask", input="tokens", pad=4, class_token=True)
    case.layer("attn", "attention", query="all", key="all", value="all",
               heads=1, key_valid="valid")
    value = case.net.weight("embed.weight", 13, 7)[ids]
    first = np.broadcast_to(case.net.weight("all.weight", 7), (3, 1, 7))
    value = np.concatenate([first, value], axis=1)
    valid = np.concatenate([ids[:, :1], ids], axis=1) != 4
    case.output("y", "attn", oracle.attention(
        *[value[:, None]] * 3, key_valid=valid)[:, 0])
    return case


def norm(name, shape, eps, scale=1.0, **options):
    case = Case(name)
    x = case.values("x", *shape, scale=scale)
    case.layer("norm", "layer_norm", input="x", eps=eps, **options)
    case.output("y", "norm", case.net.layer_norm("norm", x, eps, **options))
    return case


def unit_length(name, shape, eps, **options):
    """Rows at length one, of which one is zeros and one shorter than eps."""
    case = Case(name)
    x = case.net.draw.values(*shape)
    x[0, 0], x[0, 1] = 0.0, x[0, 1] * np.float32(eps / 1000)
    value = case.input("x", x)
    case.layer("unit", "layer_norm", input="x", kind="l2", eps=eps, **options)
    case.output("y", "unit", case.net.layer_norm(
        "unit", value, eps, kind="l2", gain=options.get("gain", False),
        bias=options.get("bias", False), heads=options.get("heads", 1)))
    return case


def activation(kind):
    case = Case("activation_" + kind)
    x = case.net.draw.values(3, 37, scale=3.0)
    edges = np.array([0.0, -0.0, 1e-30, -1e-30, 20, -20, 100, -100, 1e4, -1e4])
    x[0, : len(edges)] = edges.astype(np.float32)
    value = case.input("x", x)
    case.layer("act", "activation", input="x", kind=kind)
    with np.errstate(over="ignore"):
        case.output("y", "act", oracle.ACTIVATIONS[kind](value))
    return case


def feed_forward(kind, **options):
    case = Case("feed_forward_" + kind)
    x = case.values("x", 2, 7, 10)
    case.layer("ffn", "feed_forward", input="x", hidden=23, activation=kind,
               **options)
    case.output("y", "ffn", case.net.feed_forward("ffn", x, 23, kind, **options))
    return case


def softmax(name, shape, scale=1.0, **options):
    case = Case(name)
    x = case.values("x", *shape, scale=scale)
    case.layer("shares", "softmax", input="x", **options)
    case.output("y", "shares", case.net.softmax(x, **options))
    return case


def shared_results():
    """Results that are inputs, and values that are two results."""
    case = Case("shared_results")
    ids = case.input("tokens", case.net.draw.integers(5, 2, 7), bound=5)
    x = case.values("x", 2, 7, 9)
    case.layer("valid", "padding_mask", input="tokens", pad=3)
    case.layer("norm", "layer_norm", input="x", eps=1e-6)
    case.output("given", "x", x)
    case.output("valid", "valid", ids != 3)
    case.output("valid_again", "valid", ids != 3)
    case.output("y", "norm", case.net.layer_norm("norm", x, 1e-6))
    case.output("y_again", *case.outputs["y"])
    return case


def masked_rows():
    """Padding at row 0 of a frozen table, and then set to 0."""
    case = Case("masked_rows")
    valid = case.net.draw.booleans(2, 5)
    valid[0, 1], valid[1] = False, [True, True, True, False, False]
    case.input("valid", valid)
    x = case.values("x", 2, 5, 7)
    case.layer("ids", "position_ids", valid="valid")
    case.layer("places", "embedding", input="ids", vocab=9, width=7,
               trainable=False)
    case.layer("placed", "add", inputs=["x", "places"])
    case.layer("rows", "mask_rows", input="placed", valid="valid")
    case.layer("column", "slice", input="x", end=1)
    case.layer("scaled", "multiply", inputs=["rows", "column"])
    table = case.net.weight("places.weight", 9, 7)
    rows = (x + table[np.where(valid, np.arange(5) + 1, 0)]) * valid[..., None]
    case.output("rows", "rows", rows)
    case.output("y", "scaled", rows * x[..., :1])
    return case


def elementwise():
    case = Case("elementwise")
    a, b, c = (case.values(name, 2, 5, 7) for name in "abc")
    case.layer("sum", "add", inputs=["a", "b", "c"])
    case.layer("product", "multiply", inputs=["sum", "a"])
    case.layer("scaled", "scale", input="product", by=-1.5)
    case.layer("joined", "concat", inputs=["scaled", "b"])
    case.layer("part", "slice", input="joined", start=3, end=11)
    case.layer("rows", "slice", input="part", axis=1, start=1, end=4)
    total = a + b + c
    scaled = -1.5 * (total * a)
    joined = np.concatenate([scaled, b], axis=-1)
    case.output("product", "product", total * a)
    case.output("part", "part", joined[:, :, 3:11])
    case.output("rows", "rows", joined[:, 1:4, 3:11])
    return case


def ordered():
    """Differences and quotients, whichever of the two repeats, and exponentials."""
    case = Case("ordered")
    a, b = (case.values(name, 2, 5, 7) for name in "ab")
    row = case.values("row", 2, 5, 1)
    x = case.net.draw.values(3, 37, scale=20.0)
    edges = [0.0, -0.0, 88.0, 88.5, 88.72, -87.0, -1e4]
    x[0, : len(edges)] = np.array(edges, np.float32)
    x = case.input("x", x)
    case.layer("less", "subtract", inputs=["a", "b", "row"])
    case.layer("from", "subtract", inputs=["row", "less"])
    case.layer("power", "exp", input="b")
    case.layer("over", "divide", inputs=["a", "power"])
    case.layer("part", "divide", inputs=["row", "power"])
    case.layer("powers", "exp", input="x")
    case.output("from", "from", row - (a - b - row))
    case.output("power", "power", np.exp(b))
    case.output("over", "over", a / np.exp(b))
    case.output("part", "part", row / np.exp(b))
    case.output("powers", "powers", np.exp(x))
    return case


def repeated():
    """Factors of a model, of each head, of each batch item and column, and of a row."""
    case = Case("repeated")
    x = case.values("x", 2, 5, 4, 7)
    gate = case.values("gate", 2, 1, 1, 7)
    rows = case.values("rows", 2, 5, 1, 1)
    factors = {"model": (1,), "heads": (4, 1), "tokens": (5, 1, 1), "outer": (1, 4, 7)}
    value, before = x, "x"
    for name, shape in factors.items():
        case.layer(name, "weight", shape=list(shape))
        weight = case.net.weight(f"{name}.weight", *shape)
        op = "add" if name == "tokens" else "multiply"
        # The smaller one may stand first.
        order = [name, before] if name == "heads" else [before, name]
        before = case.layer(f"by_{name}", op, inputs=order)
        value = value + weight if op == "add" else value * weight
        case.output(name, before, value)
    case.layer("gated", "multiply", inputs=[before, "gate", "rows"])
    case.output("gated", "gated", value * gate * rows)
    return case


def turned():
    """Rotary positions by another base: a frozen table that its initialiser makes."""
    case = Case("turned")
    x = case.values("x", 2, 6, 8)
    init = {"weight": {"kind": "sinusoid", "first": 2, "base": 50}}
    case.layer("table", "weight", shape=[6, 8], trainable=False, init=init)
    case.layer("y", "multiply", inputs=["x", "table"])
    table = oracle.sinusoid(6, 8, base=50)
    table[:2] = 0
    case.output("y", "y", x * table)
    return case


def positions(name, tokens, width, **options):
    case = Case(name)
    x = case.values("x", 2, tokens, width)
    case.layer("pos", "positions", input="x", **options)
    offset = options.get("offset", 0)
    rows = options.get("length", offset + tokens)
    if options["kind"] == "learned":
        table = case.net.weight("pos.weight", rows, width)
    else:
        table = oracle.sinusoid(rows, width, options.get("layout", "interleaved"),
                                options.get("base", 10000))
    case.output("y", "pos", x + table[offset:offset + tokens])
    return case


def counted_positions(name, **options):
    """Padding in front, between and after, everywhere and nowhere."""
    case = Case(name)
    ids = case.net.draw.integers(11, 5, 7)
    ids[ids == 3] = 4
    ids[0, :2], ids[1, 2], ids[1, 5:], ids[2] = 3, 3, 3, 3
    case.input("tokens", ids, bound=11)
    x = case.values("x", 5, 7, 6)
    case.layer("valid", "padding_mask", input="tokens", pad=3)
    case.layer("pos", "positions", input="x", valid="valid", **options)
    offset = options.get("offset", 1)
    rows = options.get("length", offset + 7)
    if options["kind"] == "learned":
        table = case.net.weight("pos.weight", rows, 6)
    else:
        table = oracle.sinusoid(rows, 6)
    case.output("y", "pos", x + table[oracle.counted_positions(ids != 3, offset)])
    return case


def pools():
    """One token, some, none, the last one alone and all; ids that are there, twice and not."""
    case = Case("pools")
    x = case.values("x", 5, 7, 37)
    valid = case.net.draw.booleans(5, 7)
    valid[0], valid[1], valid[2], valid[3] = True, False, False, True
    valid[2, 6], valid[3, 0], valid[3, 5:] = True, False, False
    case.input("valid", valid)
    ids = case.net.draw.integers(9, 5, 7)
    ids[ids == 4] = 3
    ids[0, 2], ids[0, 5], ids[2, 6] = 4, 4, 4
    ids[3, 3] = ids[3, 4] = 8
    case.input("ids", ids, bound=9)
    ways = {
        "mean": {}, "max": {}, "last": {}, "kept_mean": {"valid": "valid"},
        "kept_max": {"valid": "valid"}, "kept_last": {"valid": "valid"},
        "own_token": {"ids": "ids", "id": 4}, "largest_token": {"ids": "ids"},
    }
    for name, reads in ways.items():
        kind = name.split("_")[-1]
        case.layer(name, "pool", input="x", kind=kind, **reads)
        case.output(name, name, oracle.pool(
            x, kind, valid if "valid" in reads else None, ids, reads.get("id")))
    return case


def image(name, batch, channels, size, patch, width, bias=True):
    case = Case(name)
    x = case.values("image", batch, channels, *size)
    case.layer("patches", "patch_embedding", input="image", patch=patch,
               width=width, bias=bias)
    case.layer("token", "class_token", input="patches")
    case.layer("first", "pool", input="token", kind="first")
    case.layer("mean", "pool", input="token", kind="mean")
    tokens = case.net.linear("patches", oracle.patches(x, patch), width, bias)
    first = np.broadcast_to(case.net.weight("token.weight", width), (batch, 1, width))
    tokens = np.concatenate([first, tokens], axis=1)
    case.output("tokens", "token", tokens)
    case.output("first", "first", tokens[:, 0])
    case.output("mean", "mean", tokens.mean(axis=1))
    return case


def omni(name, count, batch, tokens, width, heads, hidden, **options):
    case = Case(name)
    names = [f"state{i}" for i in range(count)]
    states = [case.values(n, batch, tokens, width) for n in names]
    case.layer("omni", "omni_attention", inputs=names, heads=heads,
               hidden=hidden, **options)
    case.output("y", "omni", case.net.omni_attention(
        "omni", states, heads, hidden, **options))
    return case


def cases():
    yield linear("linear_one", (1, 1), 1, 1)
    yield linear("linear_odd", (2, 5), 7, 19)
    yield linear("linear_no_bias", (3, 13), 33, 17, bias=False)
    yield linear("linear_matrix", (5,), 48, 31)
    yield tied()
    yield wide_ids()
    yield class_token_mask()
    yield norm("layer_norm", (2, 5, 13), 1e-6)
    yield norm("layer_norm_large", (3, 4, 48), 1e-12, scale=1000.0)
    yield norm("layer_norm_small", (1, 1, 5), 1e-5, scale=1e-4)
    yield norm("layer_norm_gain_alone", (2, 5, 13), 1e-6, bias=False)
    yield norm("layer_norm_bias_alone", (2, 5, 13), 1e-6, gain=False)
    yield norm("layer_norm_heads", (2, 5, 21), 1e-6, heads=3)
    yield norm("rms_norm", (2, 5, 37), 1e-6, center=False, bias=False)
    yield norm("rms_norm_heads", (2, 5, 128), 1e-6, center=False, bias=False,
               heads=2)
    yield unit_length("unit_length", (2, 5, 13), 0.01)
    yield unit_length("unit_length_heads", (2, 5, 20), 0.01, heads=4, gain=True,
                      bias=True)
    for kind in oracle.ACTIVATIONS:
        yield activation(kind)
    yield feed_forward("relu")
    yield feed_forward("gelu_erf", width=6)
    yield feed_forward("gelu_tanh")
    yield feed_forward("silu", bias=False)
    yield feed_forward("quick_gelu")
    yield softmax("softmax", (2, 5, 37), scale=3.0)
    yield softmax("softmax_log", (3, 259), scale=30.0, log=True)
    yield softmax("softmax_log_one", (2, 1), log=True)
    yield masked_rows()
    yield shared_results()
    yield elementwise()
    yield ordered()
    yield repeated()
    yield turned()
    yield positions("positions_interleaved", 11, 9, kind="sinusoid")
    yield positions("positions_split", 7, 10, kind="sinusoid", layout="split")
    yield positions("positions_interleaved_base", 11, 9, kind="sinusoid", base=37.5)
    yield positions("positions_split_base", 7, 10, kind="sinusoid", layout="split",
                    base=2)
    yield positions("positions_learned", 5, 6, kind="learned")
    yield positions("positions_learned_longer", 5, 6, kind="learned", length=9)
    yield positions("positions_learned_offset", 5, 6, kind="learned", offset=2)
    yield positions("positions_sinusoid_offset", 5, 6, kind="sinusoid", offset=3,
                    length=11)
    yield counted_positions("positions_counted", kind="learned", offset=4)
    yield counted_positions("positions_counted_longer", kind="learned", length=12)
    yield counted_positions("positions_counted_sinusoid", kind="sinusoid")
    yield pools()
    yield image("patches", 2, 3, (8, 12), 4, 10)
    yield image("patches_no_bias", 1, 1, (6, 6), 3, 7, bias=False)
    yield omni("omni_one_state", 1, 2, 5, 12, 2, 20)
    yield omni("omni_after_block", 3, 2, 5, 12, 2, 20)
    yield omni("omni_after_attention", 3, 2, 5, 12, 3, 20,
               pool="after_attention", activation="gelu_tanh")
    yield omni("omni_flattened", 3, 1, 7, 12, 2, 20, causal="flattened", bias=False)
    yield omni("omni_cosine", 3, 2, 7, 12, 3, 20, kind="cosine", causal="block")
    yield omni("omni_performer", 3, 2, 7, 12, 3, 20, kind="performer",
               features=10, feature_eps=1e-3)
    yield omni("omni_performer_causal", 3, 1, 41, 12, 2, 20, kind="performer",
               causal="flattened", pool="after_attention")
    yield omni("omni_linformer", 3, 2, 7, 12, 2, 20, kind="linformer",
               projected_tokens=5)
    yield omni("omni_bigbird", 3, 2, 7, 12, 2, 20, kind="bigbird",
               block_size=2, random_blocks=2, pool="after_attention")
    yield omni("omni_bigbird_flattened", 3, 1, 7, 12, 2, 20, kind="bigbird",
               block_size=2, random_blocks=1, causal="flattened", bias=False)
    yield omni("omni_bigbird_block", 3, 1, 9, 12, 2, 20, kind="bigbird",
               block_size=2, random_blocks=2, causal="block")
    yield omni("omni_block", 2, 2, 7, 12, 2, 20, causal="block",
               pool="after_attention")
