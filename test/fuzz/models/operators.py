# ===- operators.py - The operators of a description, one function each ------=== #
# SPDX-License-Identifier: Apache-2.0
"""From a layer's values and attributes (evaluator.BoundLayer) to a call of the Net.

The defaults are those of the tables in docs/description.md.
"""

import numpy as np

from golden import oracle

ACTIVATIONS = tuple(oracle.ACTIVATIONS)
HEAD_NORMS = ("none", "layer", "rms", "l2")


def linear(layer):
    x, width, bias = layer.read("input"), layer.get("width"), layer.get("bias", True)
    if "weight" not in layer:
        return layer.net.linear(layer.path, x, width, bias)
    matrix = layer.net.table(layer.shared_weight())
    matrix = matrix.T if layer.get("transposed", False) else matrix
    return layer.net.product(layer.path, x, matrix, bias)


def layer_norm(layer):
    kind = layer.word("kind", ("standard", "l2"), "standard")
    plain = kind == "l2"
    return layer.net.layer_norm(
        layer.path,
        layer.read("input"),
        layer.get("eps", 1e-12 if plain else 1e-5),
        center=layer.get("center", not plain),
        gain=layer.get("gain", not plain),
        bias=layer.get("bias", not plain),
        kind=kind,
        heads=layer.get("heads", 1),
    )


def softmax(layer):
    return layer.net.softmax(layer.read("input"), layer.get("log", False))


def mask_rows(layer):
    valid = layer.read("valid")
    x = layer.read("input")
    return layer.net.mask_rows(x, valid.astype(x.dtype))


def position_ids(layer):
    valid = layer.read("valid")
    return np.where(valid, np.arange(valid.shape[1]) + 1, 0)


def activation(layer):
    return layer.net.activation(layer.read("input"), layer.word("kind", ACTIVATIONS))


def add(layer):
    first, *others = layer.read_list("inputs")
    for other in others:
        first = layer.net.keep(first + other)
    return first


def multiply(layer):
    first, *others = layer.read_list("inputs")
    for other in others:
        first = layer.net.keep(first * other)
    return first


def subtract(layer):
    first, *others = layer.read_list("inputs")
    for other in others:
        first = layer.net.keep(first - other)
    return first


def divide(layer):
    first, *others = layer.read_list("inputs")
    for other in others:
        first = layer.net.keep(first / other)
    return first


def exp(layer):
    return np.exp(layer.read("input"))


def scale(layer):
    x = layer.read("input")
    return x * x.dtype.type(layer.get("by"))


def concat(layer):
    return np.concatenate(layer.read_list("inputs"), axis=layer.get("axis", -1))


def slice_(layer):
    x, axis = layer.read("input"), layer.get("axis", -1)
    places = range(layer.get("start", 0), layer.get("end", x.shape[axis]))
    return x.take(places, axis=axis)


def weight(layer):
    shape = layer.sizes("shape")
    name = layer.path + ".weight"
    if layer.get("trainable", True) is False and "weights" not in layer:
        made = initialised(layer.layer.get("init", {}).get("weight", {}), shape)
        if made is not None:
            layer.net.initialise(name, made)
    value = layer.net.weight(name, *shape)
    if "batch" in layer:
        value = np.broadcast_to(value, (layer.get("batch"), *shape))
    return value


def constant(layer):
    """Every element by its indices; numbers are of f32."""
    shape = layer.sizes("shape")
    value = np.empty(shape)
    for place in np.ndindex(*shape):
        indices = {f"index{axis}": i for axis, i in enumerate(place)}
        if len(shape) == 2:
            indices |= {"row": place[0], "column": place[1]}
        value[place] = layer.get("value", names=indices)
    return value.astype(np.int64 if layer.layer.get("dtype") == "i32" else np.float32)


def initialised(init, shape):
    """What an initialiser makes that no seed decides; None of others."""
    kind = init.get("kind")
    if kind == "sinusoid":
        table = oracle.sinusoid(*shape, base=init.get("base", 10000))
        table[: init["first"]] = 0
        return table
    values = {"zeros": 0, "ones": 1, "constant": init.get("value")}
    return np.full(shape, values[kind]) if kind in values else None


def embedding(layer):
    shape = layer.get("vocab"), layer.get("width")
    return layer.net.stored_weight(layer.path + ".weight", *shape)[layer.read("input")]


def positions(layer):
    x, valid = layer.read("input"), layer.read("valid")
    tokens, width = x.shape[1:]
    offset = layer.get("offset", 0 if valid is None else 1)
    rows = layer.get("length", offset + tokens)
    if layer.word("kind", ("sinusoid", "learned")) == "learned":
        # Rows that are chosen are stored as those of an embedding.
        draw = layer.net.weight if valid is None else layer.net.stored_weight
        table = draw(layer.path + ".weight", rows, width)
    else:
        layouts = ("interleaved", "split")
        layout = layer.word("layout", layouts, "interleaved")
        base = layer.get("base", 10000)
        table = oracle.sinusoid(rows, width, layout, base).astype(x.dtype)
        table = table if valid is None else layer.net.stored(table)
    if valid is None:
        return x + table[offset : offset + tokens]
    return x + table[oracle.counted_positions(valid, offset)]


def patch_embedding(layer):
    image, size = layer.read("input"), layer.get("patch")
    patches = oracle.patches(image, size)
    layer.grid = image.shape[2] // size, image.shape[3] // size
    width, bias = layer.get("width"), layer.get("bias", True)
    return layer.net.linear(layer.path, patches, width, bias)


def pad(layer):
    rim = layer.get("before", 0), layer.get("after", 0)
    return oracle.pad(layer.read("input"), layer.get("axis", -1), *rim)


def reshape(layer):
    return layer.read("input").reshape(layer.sizes("shape"))


def unfold(layer):
    x = layer.read("input")
    if x.ndim == 3:
        x = oracle.image_of(x, layer.grid_of_input())
    kernel, stride, padding, dilation = (
        layer.sides(key, otherwise)
        for key, otherwise in (("kernel", 0), ("stride", 1), ("padding", 0), ("dilation", 1))
    )
    side = layer.get("within")
    sides = (side, side) if side else x.shape[2:]
    along = zip(sides, kernel, stride, padding, dilation)
    layer.grid = tuple(oracle.places(*one) for one in along)
    return oracle.unfold(x, kernel, stride, padding, side, dilation)


def windows(layer):
    side = layer.get("window")
    layer.grid = side, side
    return oracle.partition(
        layer.read("input"), layer.grid_of_input(), (side, side), (0, 0)
    )


def merge_patches(layer):
    height, width = grid = layer.grid_of_input()
    layer.grid = height // 2, width // 2
    return oracle.merge_patches(layer.read("input"), grid)


def class_token(layer):
    x = layer.read("input")
    token = layer.net.weight(layer.path + ".weight", x.shape[-1])
    first = np.broadcast_to(token, (x.shape[0], 1, x.shape[2]))
    return np.concatenate([first, x], axis=1)


def pool(layer):
    kinds = ("first", "mean", "max", "last", "token")
    kind = layer.word("kind", kinds)
    valid, ids = layer.read("valid"), layer.read("ids")
    return oracle.pool(layer.read("input"), kind, valid, ids, layer.get("id"))


def padding_mask(layer):
    valid = layer.read("input") != layer.get("pad", 0)
    if layer.get("class_token", False):
        valid = np.concatenate([valid[:, :1], valid], axis=1)
    return valid


def feed_forward(layer):
    x = layer.read("input")
    return layer.net.feed_forward(
        layer.path,
        x,
        layer.get("hidden"),
        layer.word("activation", ACTIVATIONS, "relu"),
        layer.get("width", x.shape[-1]),
        layer.get("bias", True),
        layer.get("gate", False),
    )


def _rotary(layer):
    """The angles that a layer reads, or None."""
    cosines, sines = layer.read("cosines"), layer.read("sines")
    pairs = layer.word("pairs", ("halves", "neighbours"), "halves")
    tables = {"cosines": cosines, "sines": sines, "pairs": pairs}
    return None if cosines is None else tables


def rotate(layer):
    x = layer.read("input")
    return layer.net.rotate(x, layer.get("heads"), **_rotary(layer))


def _score_options(layer):
    kinds = ("softmax", "cosine", "additive", "performer", "linformer", "bigbird")
    kind = layer.word("kind", kinds, "softmax")
    options = {
        "kind": kind,
        "scale": layer.get("scale"),
        "causal": layer.get("causal", False),
        "key_valid": layer.read("key_valid"),
    }
    if kind == "performer":
        return options | _feature_options(layer)
    if kind == "bigbird":
        options |= _block_options(layer)
    if kind == "linformer":
        options |= _projection_options(layer)
    options["written"] = layer.written_scores()
    masks = {role: layer.read(role) for role in ("mask", "score_bias")}
    empty_row = layer.word("empty_row", ("zero", "uniform"), "zero")
    kinds = {
        "hidden": layer.get("hidden"),
        "memory": layer.get("memory", 0),
        "temperature": layer.get("temperature", 1.0),
        "normalize": layer.word("normalize", ("softmax", "sum", "none"), "softmax"),
    }
    return options | masks | kinds | {"empty_row": empty_row}


def _feature_options(layer):
    count = layer.get("features")
    kernels = ("softmax", "relu", "exp")
    kernel = layer.word("kernel", kernels, "softmax" if count else "relu")
    constants = {
        key: layer.get(key)
        for key in ("eps", "stabilizer", "denominator_eps")
        if key in layer
    }
    return {"features": count, "kernel": kernel} | constants


def _block_options(layer):
    return {
        "block_size": layer.get("block_size", 64),
        "random_blocks": layer.get("random_blocks", 3),
        "repeats": layer.word("repeats", ("error", "count"), "error"),
    }


def _projection_options(layer):
    return {
        "projected_tokens": layer.get("projected_tokens"),
        "max_tokens": layer.get("max_tokens"),
        "shared_projection": layer.get("shared_projection", True),
    }


def _window_options(layer):
    """What attention in windows has beside that of all tokens."""
    grid, side = layer.grid_of_input(), layer.get("window")
    clamp = layer.word("clamp", ("both", "per_axis"), "both")
    window, shift = oracle.clamped(grid, side, layer.get("shift", 0), clamp)
    return {
        "grid": grid,
        "window": window,
        "shift": shift,
        "relative_bias": layer.word("relative_bias", ("continuous",), False),
        "relative_bias_hidden": layer.get("relative_bias_hidden"),
        "pretrained_window": layer.get("pretrained_window", 0),
        "mask_value": float(layer.word("mask_value", ("-inf",), -100.0)),
    }


def multi_head_attention(layer):
    query = layer.read("query", "input")
    width, bias = layer.get("width", query.shape[-1]), layer.get("bias", True)
    gate = layer.gate(width)
    if "window" in layer:
        attend, kinds = layer.net.window_attention, _window_options(layer)
    else:
        attend = layer.net.multi_head_attention
        kinds = {
            "key": layer.read("key", "input"),
            "value": layer.read("value", "key", "input"),
        }
    return attend(
        layer.path,
        query,
        layer.get("heads"),
        head_width=layer.get("head_width"),
        key_head_width=layer.get("key_head_width"),
        value_head_width=layer.get("value_head_width"),
        key_value_heads=layer.get("key_value_heads"),
        width=width,
        bias=bias,
        key_bias=layer.get("key_bias", bias),
        output_bias=layer.get("output_bias", bias),
        query_norm=layer.word("query_norm", HEAD_NORMS, "none"),
        key_norm=layer.word("key_norm", HEAD_NORMS, None),
        norm_eps=layer.get("norm_eps"),
        norm_bias=layer.get("norm_bias", True),
        rotary=_rotary(layer),
        horizontal=layer.get("horizontal", False),
        vertical=gate and {"width": gate},
        **kinds,
        **_score_options(layer),
    )


def attention(layer):
    heads = layer.get("heads")
    groups = layer.get("key_value_heads", heads)
    split = (
        oracle.split_heads(layer.read(role), count)
        for role, count in (("query", heads), ("key", groups), ("value", groups))
    )
    result = layer.net.attend(layer.path, *split, **_score_options(layer))
    return oracle.merge_heads(result)


def head_reweight(layer):
    split = oracle.split_heads(layer.read("heads_input"), layer.get("heads"))
    path = layer.path + ".horizontal"
    return oracle.merge_heads(layer.net.head_reweight(path, split, layer.read("input")))


def channel_gate(layer):
    gated = layer.read("gated")
    width = layer.get("width", max(1, gated.shape[-1] // 4))
    path = layer.path + ".vertical"
    return layer.net.channel_gate(path, gated, layer.read("input"), width)


def omni_attention(layer):
    return layer.net.omni_attention(
        layer.path,
        layer.read_list("inputs"),
        layer.get("heads"),
        layer.get("hidden"),
        head_width=layer.get("head_width"),
        activation=layer.word("activation", ACTIVATIONS, "relu"),
        eps=layer.get("eps", 1e-6),
        pool=layer.word("pool", ("after_block", "after_attention"), "after_block"),
        causal=layer.word("causal", ("none", "flattened", "block"), "none"),
        bias=layer.get("bias", True),
        norm=layer.word("norm", ("pre_ln", "res_post"), "pre_ln"),
        **_omni_scores(layer),
    )


def _omni_scores(layer):
    kinds = ("softmax", "cosine", "performer", "linformer", "bigbird")
    kind = layer.word("kind", kinds, "softmax")
    options = {"kind": kind, "scale": layer.get("scale")}
    if kind in ("softmax", "cosine", "bigbird"):
        options["written"] = layer.written_scores()
    if kind == "bigbird":
        options |= _block_options(layer)
    if kind == "linformer":
        options |= _projection_options(layer)
    if kind == "performer":
        options |= _feature_options(layer)
        options.pop("eps", None)  # of the norms
        if "feature_eps" in layer:
            options["feature_eps"] = layer.get("feature_eps")
    return options


OPERATORS = {
    "linear": linear,
    "layer_norm": layer_norm,
    "softmax": softmax,
    "mask_rows": mask_rows,
    "position_ids": position_ids,
    "activation": activation,
    "add": add,
    "multiply": multiply,
    "subtract": subtract,
    "divide": divide,
    "exp": exp,
    "scale": scale,
    "concat": concat,
    "slice": slice_,
    "pad": pad,
    "reshape": reshape,
    "weight": weight,
    "constant": constant,
    "embedding": embedding,
    "positions": positions,
    "patch_embedding": patch_embedding,
    "unfold": unfold,
    "windows": windows,
    "merge_patches": merge_patches,
    "class_token": class_token,
    "pool": pool,
    "padding_mask": padding_mask,
    "feed_forward": feed_forward,
    "multi_head_attention": multi_head_attention,
    "attention": attention,
    "rotate": rotate,
    "head_reweight": head_reweight,
    "channel_gate": channel_gate,
    "omni_attention": omni_attention,
}
