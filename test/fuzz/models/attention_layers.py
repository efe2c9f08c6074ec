# ===- attention_layers.py - Draws one layer of each kind of attention ---------=== #
# SPDX-License-Identifier: Apache-2.0
"""As layers.py, for what reads several values: masks of all shapes, heads of odd widths,
windows of images.
"""

from attributes import ACTIVATIONS, Attributes, Layer, size, with_last
from drawn_scores import DrawnScores
from scopes import SIZES

MOST_SCORES = 20000
KINDS = ("softmax", "cosine", "additive", "performer", "linformer", "bigbird")
SCORELESS = ("performer", "linformer")  # none of two tokens
KERNELS = ("softmax", "relu", "exp")


def divisors(number):
    return [d for d in range(1, number + 1) if number % d == 0]


def draw_kind(scope):
    return scope.rng.choice(("softmax", "softmax", *KINDS))


def scores(scope, attributes, kind, default_hidden, keys):
    """What scores are made of: the kind of attention and its constants."""
    attributes.put("kind", kind, "softmax", KINDS)
    if kind == "performer":
        return features(scope, attributes)
    if kind == "bigbird":
        blocks(scope, attributes, keys)
        if scope.model.later.random() < 0.2:
            attributes.number("temperature", (1.0, 2.0, 0.3, 3), 1.0)
        return 0
    if kind == "linformer":
        projection(scope, attributes, keys)
    elif kind == "additive":
        hidden = scope.rng.choice((1, 2, 5, 8, 16, default_hidden))
        attributes.put("hidden", hidden, default_hidden)
    elif kind == "softmax" and scope.chance(0.3):
        attributes.number("scale", (1.0, -0.5, 0.125, 0, 2.5))
    slots = 0
    if kind != "cosine" and scope.chance(0.25):
        slots = attributes.put("memory", scope.rng.choice((0, 1, 2, 5, 17, 40)), 0)
    if scope.chance(0.2):
        attributes.number("temperature", (1.0, 2.0, 0.3, 3), 1.0)
    if kind != "linformer":  # none of its rows is empty
        attributes.word("empty_row", ("zero", "uniform"), "zero")
    return slots


def draw_scores(scope, attributes, kind, slots, shape):
    """Expressions of the scores; `shape` is that of the scores of an entry's tokens."""
    if kind in SCORELESS or slots:
        return None
    return DrawnScores.draw(scope, attributes, shape)


def normalization(scope, attributes, kind, slots):
    """Weights without a softmax, where nothing is said of one. What is divided by its sum is
    positive: a sum of either sign may be near 0."""
    about_softmax = {"temperature", "empty_row", "shift"}
    rng = scope.model.later
    if kind == "performer" or about_softmax & set(attributes) or rng.random() < 0.75:
        if rng.random() < 0.1:
            attributes["normalize"] = "softmax"
        return
    if kind == "linformer" or slots:  # there is no expression of two tokens
        attributes["normalize"] = "none"
        return
    attributes["normalize"] = form = rng.choice(("sum", "none"))
    functions = ("sigmoid({})", "abs({}) + 0.5", "exp(tanh({}))")
    if form == "none":
        functions += ("tanh({})", "max({}, 0) / keys", "{}")
    attributes["score"] = rng.choice(functions).format(attributes.get("score", "score"))


def draw_groups(scope, attributes, heads):
    """How many heads keys and values have."""
    many = scope.model.batch >= 8  # sequences, which may have loops of their own
    if scope.model.later.random() < (0.3 if many else 0.7):
        return heads
    return attributes.put("key_value_heads", scope.rng.choice(divisors(heads)), heads)


def features(scope, attributes, eps="eps"):
    """The random features of a performer; `eps` is what is added to them."""
    kernel = scope.rng.choice(KERNELS)
    random = kernel != "relu" or scope.chance(0.5)
    if random:
        attributes.put("features", scope.rng.choice((1, 3, 8, 16, 24, 33)))
    default = ("softmax" if random else "relu") if scope.chance(0.6) else None
    attributes.put("kernel", kernel, default, KERNELS)
    if scope.chance(0.3):
        attributes.number("scale", (1.0, 0.125, 2.5))
    if kernel != "exp" and scope.chance(0.3):
        attributes.number(eps, (1e-6, 1e-3, 0.1))
    if scope.chance(0.2):
        attributes.number("stabilizer", (0, 1e-6, 0.25))
    if scope.chance(0.2):
        attributes.number("denominator_eps", (0, 1e-8, 0.5))


def projection(scope, attributes, keys):
    """The rows that keys and values become."""
    attributes.put("projected_tokens", scope.rng.choice((1, 2, 5, 16, 17, 33)))
    attributes.put("max_tokens", keys + scope.rng.choice((0, 0, 1, 7)), keys)
    attributes.put("shared_projection", scope.chance(0.7), True)
    if scope.chance(0.3):
        attributes.number("scale", (1.0, -0.5, 0.125, 0, 2.5))


def blocks(scope, attributes, tokens):
    """Blocks of tokens, mostly so many that a few are drawn for each."""
    size = max(1, tokens // scope.rng.choice((3, 6, 8, 9, 12, 20)))
    attributes.put("block_size", size, 64)
    attributes.put("random_blocks", scope.rng.choice((0, 1, 1, 2, 3)), 3)
    attributes.word("repeats", ("error", "count"), "error")
    if scope.chance(0.3):
        attributes.number("scale", (1.0, -0.5, 0.125, 0, 2.5))


def given_scores(scope, attributes, kind, shape):
    """The shape of the scores that a layer gives, or None."""
    gives = kind not in (*SCORELESS, "bigbird") and scope.chance(0.3)
    attributes.put("scores", gives, False)
    return shape if gives else None


def masks(scope, attributes, kind, reads, shape):
    """Which keys are seen, and what is added. `shape` is [batch, h, Nq, Nk]."""
    batch, heads, queries, keys = shape
    if kind == "linformer":
        return  # every row it attends to is a sum of all tokens
    if kind != "performer" or queries == keys:
        attributes.flag("causal", 0.3)
    for role, stem, dtype in (
        ("key_valid", "valid", "bool"),
        ("mask", "seen", "bool"),
        ("score_bias", "bias", "f32"),
    ):
        if kind in SCORELESS and role != "key_valid":
            continue
        if scope.chance(0.3):
            full = [n if scope.chance(0.6) else 1 for n in (batch, heads, queries)]
            wanted = (batch, keys) if role == "key_valid" else (*full, keys)
            known = scope.pick(lambda s: s == wanted, dtype)
            value = known or scope.fresh(stem, wanted, dtype)
            reads |= {role: value} if value else {}


def few_scores(batch, heads, queries, keys):
    return batch * heads * queries * keys <= MOST_SCORES


def grids(tokens):
    return [(rows, tokens // rows) for rows in divisors(tokens)]


def put_grid(scope, attributes, tokens, grid):
    """Says of which image the tokens are, unless that is known."""
    if tokens.grid != grid or scope.chance(0.3):
        attributes["grid_height"] = scope.say(grid[0])


def draw_grid(scope, tokens):
    known = [tokens.grid] * 3 if tokens.grid else []
    return scope.rng.choice(known + grids(tokens.shape[1]))


def window_area(grid, side, clamp):
    """Tokens of a window, or None where windows do not divide the image."""
    if clamp == "per_axis":
        window = [min(side, length) for length in grid]
    else:
        window = [min(side, *grid)] * 2
    if any(length % part for length, part in zip(grid, window, strict=True)):
        return None
    return window[0] * window[1]


def relative_bias(scope, attributes):
    """A table of numbers, a network that makes them, or none."""
    if scope.chance(0.7):
        attributes.put("relative_bias", scope.chance(0.6), False)
        return
    attributes["relative_bias"] = scope.say("continuous", ("continuous",))
    attributes.put("relative_bias_hidden", scope.rng.choice((1, 5, 16, 512)), 512)
    attributes.put("pretrained_window", scope.rng.choice((0, 0, 1, 2, 7)), 0)


def windows(scope, attributes, tokens, kind):
    """Attention in windows: (their number, tokens of one, the image), or None."""
    grid = draw_grid(scope, tokens)
    clamp = scope.rng.choice(("both", "both", "per_axis"))
    sides = [s for s in range(1, max(grid) + 3) if window_area(grid, s, clamp)]
    if not sides:
        return None
    side = scope.rng.choice(sides)
    area = window_area(grid, side, clamp)
    put_grid(scope, attributes, tokens, grid)
    attributes.put("window", side)
    attributes.put("clamp", clamp, "both", ("both", "per_axis"))
    if kind not in SCORELESS:
        attributes.put("shift", scope.rng.choice((0, side // 2, side - 1)), 0)
        relative_bias(scope, attributes)
        if scope.chance(0.3):
            attributes.number("mask_value", (-1.5, -100, -1e4, 0, 2))
        elif scope.chance(0.2):
            attributes["mask_value"] = "-inf"
    return tokens.shape[1] // area, area, grid


def merge_patches(scope):
    def even(value):
        return [g for g in grids(value.shape[1]) if g[0] % 2 == g[1] % 2 == 0]

    fits = [v for v in scope.fits(lambda shape: len(shape) == 3) if even(v)]
    if not fits:
        return None
    x = scope.rng.choice(fits)
    grid = x.grid if x.grid in even(x) else scope.rng.choice(even(x))
    attributes = Attributes(scope)
    put_grid(scope, attributes, x, grid)
    batch, tokens, width = x.shape
    merged = grid[0] // 2, grid[1] // 2
    return Layer({"input": x}, attributes, (batch, tokens // 4, 4 * width), grid=merged)


def projected(scope, query):
    """What a multi-head attention reads, by role, and its key."""
    batch = query.shape[0]
    reads = {scope.rng.choice(("input", "query")): query}
    key = query
    if "query" in reads or scope.chance(0.3):
        memory = lambda s: len(s) == 3 and s[0] == batch  # noqa: E731
        key = reads["key"] = scope.memory(batch, SIZES) or scope.pick(memory)
    if scope.chance(0.2):
        beside = lambda s: len(s) == 3 and s[:2] == key.shape[:2]  # noqa: E731
        reads["value"] = scope.pick(beside)
    return reads, key


def head_widths(scope, attributes, model, kind):
    """The number of heads and the width of a query's head."""
    heads = scope.rng.choice([d for d in divisors(model) if d <= 16])
    width = model // heads
    if scope.chance(0.4):
        heads = scope.rng.choice((1, 2, 3, 5, 8))
        width = scope.rng.choice((1, 5, 6, 7, 8, 16))
        attributes["head_width"] = scope.say(width)
    of_key = scope.rng.choice((width, 3, 7)) if kind == "additive" else width
    attributes.put("key_head_width", of_key, width)
    of_value = scope.rng.choice((width,) * 3 + (1, 6, 9))
    attributes.put("value_head_width", of_value, width)
    return heads, width


def head_norms(scope, attributes):
    """Norms of the heads of queries and of keys."""
    kinds = ("none", "layer", "rms", "l2")
    of_queries = scope.rng.choice(kinds)
    attributes.put("query_norm", of_queries, "none", words=kinds)
    of_keys = scope.rng.choice((of_queries,) + kinds)
    attributes.put("key_norm", of_keys, of_queries, words=kinds)
    if scope.chance(0.4):
        attributes["norm_eps"] = scope.rng.choice((1e-5, 0.01))
    attributes.put("norm_bias", scope.chance(0.5), True)


def rotary(scope, attributes, reads, tokens, width):
    """Tables of angles for heads of this width, where there are some. Whether it could."""
    pairs = scope.rng.choice((1, max(1, width // 4), width // 2))

    def table():
        found = scope.pick(lambda s: s == (tokens, pairs))
        return found or scope.fresh("angles", (tokens, pairs))

    tables = {"cosines": table(), "sines": table()}
    if width < 2 or not all(tables.values()):
        return False
    reads.update(tables)
    kinds = ("halves", "neighbours")
    attributes.put("pairs", scope.rng.choice(kinds), "halves", words=kinds)
    return True


def rotate(scope):
    x = scope.pick()
    heads = [d for d in divisors(x.shape[2]) if x.shape[2] // d >= 2] if x else []
    if not heads:
        return None
    attributes, reads, count = Attributes(scope), {"input": x}, scope.rng.choice(heads)
    attributes.put("heads", count)
    if not rotary(scope, attributes, reads, x.shape[1], x.shape[2] // count):
        return None
    return Layer(reads, attributes, x.shape, grid=x.grid)


def vertical(scope, attributes):
    on = scope.chance(0.35)
    if scope.chance(0.6):
        attributes.put("vertical", on, False)
        return
    gate = {"if": scope.say(on), "width": scope.say(scope.rng.choice((1, 3, 8, 17)))}
    if on and scope.chance(0.3):
        del gate["if"]
    if scope.chance(0.3):
        del gate["width"]
    attributes["vertical"] = gate


def multi_head_attention(scope):
    query = scope.pick()
    if not query:
        return None
    batch, queries, model = query.shape
    kind, attributes = draw_kind(scope), Attributes(scope)
    heads, head_width = head_widths(scope, attributes, model, kind)
    attributes.put("heads", heads)
    draw_groups(scope, attributes, heads)
    given, grid = None, query.grid
    if scope.chance(0.25):
        reads, cut = {"input": query}, windows(scope, attributes, query, kind)
        if not cut or not few_scores(batch * cut[0], heads, cut[1], cut[1]):
            return None
        keys, grid = cut[1:]
        shape = batch, heads, keys, keys
    else:
        reads, key = projected(scope, query)
        keys = key.shape[1]
        shape = batch, heads, queries, keys
        if not few_scores(*shape) or (kind == "bigbird" and queries != keys):
            return None
        masks(scope, attributes, kind, reads, shape)
        given = given_scores(scope, attributes, kind, shape)
    width = model if scope.chance(0.7) else size(scope)
    attributes.put("width", width, model)
    bias = attributes.put("bias", scope.chance(0.7), True)
    attributes.put("key_bias", scope.chance(0.2) != bias, bias)
    attributes.put("output_bias", scope.chance(0.7), bias)
    if kind != "cosine" and scope.chance(0.3):
        head_norms(scope, attributes)
    alike = kind != "additive" and shape[2] == shape[3]
    if alike and head_width > 1 and scope.chance(0.3):
        rotary(scope, attributes, reads, keys, head_width)
    attributes.put("horizontal", scope.chance(0.35), False)
    vertical(scope, attributes)
    slots = scores(scope, attributes, kind, head_width, keys)
    drawn = draw_scores(scope, attributes, kind, slots, shape)
    normalization(scope, attributes, kind, slots)
    shape = with_last(query.shape, width)
    return Layer(reads, attributes, shape, grid=grid, scores=given, drawn=drawn)


def attention(scope):
    query = scope.pick()
    if not query:
        return None
    batch, queries, width = query.shape
    heads = scope.rng.choice([d for d in divisors(width) if d <= 16])
    kind, attributes = draw_kind(scope), Attributes(scope)
    groups = draw_groups(scope, attributes, heads)
    of_keys = width // heads * groups

    def is_key(s):
        whole = len(s) == 3 and s[0] == batch and s[2] % groups == 0
        return whole and (kind == "additive" or s[2] == of_keys)

    key = scope.memory(batch, (of_keys,)) or scope.pick(is_key)
    key = key or scope.fresh("x", (batch, queries, of_keys))
    if key and kind == "bigbird" and queries != key.shape[1]:
        key = query if width == of_keys else scope.fresh("x", (batch, queries, of_keys))
    if not key or not few_scores(batch, heads, queries, key.shape[1]):
        return None
    value = scope.pick(
        lambda s: len(s) == 3 and s[:2] == key.shape[:2] and s[2] % groups == 0
    )
    reads = {"query": query, "key": key, "value": value}
    attributes.put("heads", heads)
    shape = batch, heads, queries, key.shape[1]
    masks(scope, attributes, kind, reads, shape)
    given = given_scores(scope, attributes, kind, shape)
    slots = scores(scope, attributes, kind, width // heads, key.shape[1])
    drawn = draw_scores(scope, attributes, kind, slots, shape)
    normalization(scope, attributes, kind, slots)
    result = batch, queries, value.shape[2] // groups * heads
    return Layer(reads, attributes, result, scores=given, drawn=drawn)


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
    # But for additive, whose "hidden" is the feed-forward's.
    kinds = tuple(kind for kind in KINDS if kind != "additive")
    kind = scope.rng.choice(("softmax", *kinds))
    attributes.put("kind", kind, "softmax", kinds)
    orders = ("none", "flattened", "block")
    if kind == "performer":
        features(scope, attributes, eps="feature_eps")
        orders = orders[:2]  # its keys are added up row by row
    elif kind == "linformer":
        projection(scope, attributes, tokens * count)
        orders = orders[:1]
    elif kind == "bigbird":
        blocks(scope, attributes, tokens * count)
    elif kind == "softmax" and scope.chance(0.2):
        attributes.number("scale", (1.0, -0.5, 0.125, 2.5))
    attributes.word("causal", orders, "none")
    attributes.put("bias", scope.chance(0.7), True)
    rows = tokens * count
    drawn = draw_scores(scope, attributes, kind, 0, (batch, heads, rows, rows))
    return Layer({"inputs": states}, attributes, first.shape, drawn=drawn)
