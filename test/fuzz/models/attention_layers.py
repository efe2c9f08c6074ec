# ===- attention_layers.py - Draws one layer of each kind of attention ---------=== #
# SPDX-License-Identifier: Apache-2.0
"""As layers.py, for what reads several values: masks of all shapes, heads of odd widths."""

from attributes import ACTIVATIONS, Attributes, Layer, size, with_last
from scopes import SIZES

MOST_SCORES = 20000


def divisors(number):
    return [d for d in range(1, number + 1) if number % d == 0]


def scores(scope, attributes, reads, shape, additive, default_hidden):
    """What both attentions have: kind, scale, masks. `shape` is [batch, h, Nq, Nk]."""
    batch, heads, queries, keys = shape
    attributes.put("heads", heads)
    attributes.put(
        "kind",
        "additive" if additive else "softmax",
        "softmax",
        ("softmax", "additive"),
    )
    if additive:
        hidden = scope.rng.choice((1, 2, 5, 8, 16, default_hidden))
        attributes.put("hidden", hidden, default_hidden)
    elif scope.chance(0.3):
        attributes.number("scale", (1.0, -0.5, 0.125, 0, 2.5))
    attributes.flag("causal", 0.3)
    attributes.word("empty_row", ("zero", "uniform"), "zero")
    if scope.chance(0.35):
        reads["key_valid"] = scope.pick(
            lambda s: s == (batch, keys), "bool"
        ) or scope.fresh("valid", (batch, keys), "bool")
    for role, dtype in (("mask", "bool"), ("score_bias", "f32")):
        if scope.chance(0.3):
            full = [n if scope.chance(0.6) else 1 for n in (batch, heads, queries)]
            full = (*full, keys)
            stem = "mask" if dtype == "bool" else "bias"
            known = scope.pick(lambda s: s == full, dtype)
            reads[role] = known or scope.fresh(stem, full, dtype)
    for role in [role for role, value in reads.items() if value is None]:
        del reads[role]
    if scope.chance(0.1):
        attributes["require"] = "fused"


def few_scores(batch, heads, queries, keys):
    return batch * heads * queries * keys <= MOST_SCORES


def multi_head_attention(scope):
    query = scope.pick()
    if not query:
        return None
    batch, queries, model = query.shape
    reads = {scope.rng.choice(("input", "query")): query}
    memory = lambda s: len(s) == 3 and s[0] == batch  # noqa: E731
    key = value = query
    if "query" in reads or scope.chance(0.3):
        key = reads["key"] = scope.memory(batch, SIZES) or scope.pick(memory)
        value = key
    if scope.chance(0.2):
        like = lambda s: len(s) == 3 and s[:2] == key.shape[:2]  # noqa: E731
        value = reads["value"] = scope.pick(like)
    del value
    additive = scope.chance(0.3)
    heads = scope.rng.choice([d for d in divisors(model) if d <= 16])
    attributes = Attributes(scope)
    head_width = model // heads
    if scope.chance(0.4):
        heads = scope.rng.choice((1, 2, 3, 5, 8))
        head_width = scope.rng.choice((1, 5, 6, 7, 8, 16))
        attributes["head_width"] = scope.say(head_width)
    if not few_scores(batch, heads, queries, key.shape[1]):
        return None
    if additive:
        attributes.put(
            "key_head_width", scope.rng.choice((head_width, 3, 7)), head_width
        )
    else:
        attributes.put("key_head_width", head_width, head_width)
    attributes.put(
        "value_head_width", scope.rng.choice((head_width,) * 3 + (1, 6, 9)), head_width
    )
    width = model if scope.chance(0.7) else size(scope)
    attributes.put("width", width, model)
    bias = attributes.put("bias", scope.chance(0.7), True)
    attributes.put("output_bias", scope.chance(0.7), bias)
    attributes.put("horizontal", scope.chance(0.35), False)
    vertical = scope.chance(0.35)
    if scope.chance(0.4):
        hidden = scope.rng.choice((1, 3, 8, 17))
        gate = {"if": scope.say(vertical), "width": scope.say(hidden)}
        for key_ in [k for k in gate if scope.chance(0.3)]:
            if key_ != "if" or vertical:
                del gate[key_]
        attributes["vertical"] = gate
    else:
        attributes.put("vertical", vertical, False)
    shape = batch, heads, queries, key.shape[1]
    scores(scope, attributes, reads, shape, additive, head_width)
    return Layer(reads, attributes, with_last(query.shape, width))


def attention(scope):
    query = scope.pick()
    if not query:
        return None
    batch, queries, width = query.shape
    heads = scope.rng.choice([d for d in divisors(width) if d <= 16])
    additive = scope.chance(0.3)

    def is_key(s):
        whole = len(s) == 3 and s[0] == batch and s[2] % heads == 0
        return whole and (additive or s[2] == width)

    key = scope.memory(batch, (width,)) or scope.pick(is_key)
    if not few_scores(batch, heads, queries, key.shape[1]):
        return None
    value = scope.pick(
        lambda s: len(s) == 3 and s[:2] == key.shape[:2] and s[2] % heads == 0
    )
    reads = {"query": query, "key": key, "value": value}
    attributes = Attributes(scope)
    shape = batch, heads, queries, key.shape[1]
    scores(scope, attributes, reads, shape, additive, width // heads)
    return Layer(reads, attributes, (batch, queries, value.shape[2]))


def head_reweight(scope):
    x = scope.pick()
    if not x:
        return None
    heads_input = scope.pick(lambda s: len(s) == 3 and s[:2] == x.shape[:2])
    attributes = Attributes(scope)
    attributes.put("heads", scope.rng.choice(divisors(heads_input.shape[2])))
    return Layer(
        {"input": x, "heads_input": heads_input}, attributes, heads_input.shape
    )


def channel_gate(scope):
    x = scope.pick()
    if not x:
        return None
    gated = scope.pick(lambda s: len(s) == 3 and s[:2] == x.shape[:2])
    attributes = Attributes(scope)
    attributes.put(
        "width", scope.rng.choice((1, 3, 8, 17)), max(1, gated.shape[2] // 4)
    )
    return Layer({"input": x, "gated": gated}, attributes, gated.shape)


def omni_attention(scope):
    first = scope.pick_for_list(lambda shape: len(shape) == 3)
    if not first:
        return None
    states, count = [first], 1
    for _ in range(scope.rng.choice((0, 1, 2))):
        lists = scope.lists(first.shape)
        other = scope.rng.choice(lists) if lists and scope.chance(0.7) else None
        states.append(other or scope.pick(lambda s: s == first.shape))
        count += max(1, states[-1].count)
    batch, tokens, width = first.shape
    attributes = Attributes(scope)
    heads = scope.rng.choice([d for d in divisors(width) if d <= 8])
    if scope.chance(0.3):
        heads = scope.rng.choice((1, 2, 3))
        attributes["head_width"] = scope.say(scope.rng.choice((1, 5, 6, 7, 8)))
    if not few_scores(batch, heads, tokens * count, tokens * count):
        return None
    attributes.put("heads", heads)
    attributes.put("hidden", scope.rng.choice((1, 5, 16, 33)))
    attributes.word("activation", ACTIVATIONS, "relu")
    attributes.number("eps", (1e-6, 1e-5, 0.01), 1e-6)
    attributes.word("norm", ("pre_ln", "res_post"), "pre_ln")
    attributes.word("pool", ("after_block", "after_attention"), "after_block")
    attributes.word("causal", ("none", "flattened", "block"), "none")
    attributes.put("bias", scope.chance(0.7), True)
    if scope.chance(0.1):
        attributes["require"] = "fused"
    return Layer({"inputs": states}, attributes, first.shape)
