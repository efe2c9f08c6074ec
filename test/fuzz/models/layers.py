# ===- layers.py - Draws one layer of each operator --------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""A function per operator: it picks what to read, or finds nothing that fits.

Every function returns (roles, attributes, shape of the result), or None. Attributes are
left out at times, where that means the same (defaults).
"""

import math

from attention_layers import (
    attention,
    channel_gate,
    head_reweight,
    divisors,
    merge_patches,
    multi_head_attention,
    omni_attention,
    rotate,
    put_grid,
    draw_grid,
)
from attributes import ACTIVATIONS, Attributes, Layer, size, with_last
from scopes import MOST_NUMBERS, SIZES, numbers

# --- dense -------------------------------------------------------------------


def linear(scope):
    x = scope.pick(lambda shape: True)
    if not x:
        return None
    attributes = Attributes(scope)
    shared = [
        (path, shape)
        for path, shape in scope.visible_matrices()
        if x.shape[-1] in shape
    ]
    if shared and scope.chance(0.4):
        path, (rows, columns) = scope.rng.choice(shared)
        transposed = rows != x.shape[-1] or (rows == columns and scope.chance(0.5))
        width = rows if transposed else columns
        attributes["weight"] = path
        attributes.put("transposed", transposed, False)
    else:
        width = size(scope)
    attributes.put("width", width)
    attributes.put("bias", scope.chance(0.7), True)
    return Layer({"input": x}, attributes, with_last(x.shape, width), grid=x.grid)


def layer_norm(scope):
    x = scope.pick(lambda shape: True)
    if not x:
        return None
    attributes = Attributes(scope)
    lengths = scope.chance(0.2)
    attributes.word("kind", ("l2",) if lengths else ("standard",), "standard")
    if not lengths:
        attributes.put("center", scope.chance(0.6), True)
    attributes.number("eps", (1e-5, 1e-6, 1e-12, 0.1), 1e-12 if lengths else 1e-5)
    attributes.put("gain", scope.chance(0.2 if lengths else 0.8), not lengths)
    attributes.put("bias", scope.chance(0.2 if lengths else 0.6), not lengths)
    heads = [d for d in divisors(x.shape[-1]) if d <= 16]
    attributes.put("heads", scope.rng.choice(heads) if scope.chance(0.3) else 1, 1)
    return Layer({"input": x}, attributes, x.shape, grid=x.grid)


def softmax(scope):
    x = scope.pick(lambda shape: True)
    if not x:
        return None
    attributes = Attributes(scope)
    attributes.put("log", scope.chance(0.5), False)
    return Layer({"input": x}, attributes, x.shape)


def activation(scope):
    x = scope.pick(lambda shape: True)
    if not x:
        return None
    attributes = Attributes(scope)
    attributes.word("kind", ACTIVATIONS)
    return Layer({"input": x}, attributes, x.shape)


def scale(scope):
    x = scope.pick(lambda shape: True)
    if not x:
        return None
    attributes = Attributes(scope)
    attributes.number("by", (2, -0.5, 0.125, 1, 3.7, -1))
    return Layer({"input": x}, attributes, x.shape)


def repeats_to(shape, other):
    """Whether a value of this shape is added to one of `other` without making it larger."""
    return len(shape) <= len(other) and all(
        mine in (1, size) for mine, size in zip(shape[::-1], other[::-1])
    )


def elementwise(scope):
    first = scope.pick_for_list()
    if not first:
        return None
    inputs = [first]
    for _ in range(scope.rng.choice((0, 1, 1, 1, 2, 3))):
        lists = scope.lists(first.shape)
        if lists and scope.chance(0.7):
            inputs.append(scope.rng.choice(lists))
        else:
            fits = lambda s: repeats_to(s, first.shape)  # noqa: E731
            if scope.chance(0.3):
                fits = lambda s: s != first.shape and repeats_to(s, first.shape)  # noqa: E731
            inputs.append(scope.pick(fits) or scope.input_like(first.shape))
    inputs = [v for v in inputs if v]
    # A value that repeats may stand before what it repeats for.
    if len(inputs) == 2 and not scope.rows_only and scope.chance(0.2):
        if all(v.count is None for v in inputs):
            inputs.reverse()
    return Layer({"inputs": inputs}, Attributes(scope), first.shape)


def divide(scope):
    """By an input of the model, which is not near 0 by accident of a model."""
    x = scope.pick(lambda shape: True)
    divisor = scope.input_like(x.shape) if x else None
    if not divisor:
        return None
    inputs = [x, divisor] if scope.chance(0.8) else [x]
    return Layer({"inputs": inputs}, Attributes(scope), x.shape)


def exp(scope):
    x = scope.pick(lambda shape: True)
    return x and Layer({"input": x}, Attributes(scope), x.shape)


def concat(scope):
    first = scope.pick_for_list(lambda shape: numbers(shape) * 3 < MOST_NUMBERS)
    if not first:
        return None
    rank = len(first.shape)
    axis = rank - 1
    if not scope.rows_only:
        axis = scope.rng.choice((axis, axis, *range(rank)))
    inputs, total = [first], first.shape[axis]

    def joins(shape):
        return len(shape) == rank and all(
            shape[i] == first.shape[i] for i in range(rank) if i != axis
        )

    for _ in range(scope.rng.choice((0, 1, 1, 2))):
        lists = [v for v in scope.lists(first.shape) if not v.growing]
        other = (
            scope.rng.choice(lists)
            if lists and scope.chance(0.7)
            else scope.pick(joins)
        )
        inputs.append(other)
        total += other.shape[axis] * max(1, other.count)
    attributes = Attributes(scope)
    attributes.put("axis", axis if scope.chance(0.5) else axis - rank, -1)
    shape = list(first.shape)
    shape[axis] = total
    return Layer({"inputs": inputs}, attributes, tuple(shape))


def slice_(scope):
    x = scope.pick(lambda shape: True)
    if not x:
        return None
    rank = len(x.shape)
    axis = rank - 1 if scope.rows_only else scope.rng.randrange(rank)
    end = scope.rng.randint(1, x.shape[axis])
    start = scope.rng.randrange(end)
    attributes = Attributes(scope)
    attributes.put("axis", axis if scope.chance(0.5) else axis - rank, -1)
    attributes.put("start", start, 0)
    attributes.put("end", end, x.shape[axis])
    shape = list(x.shape)
    shape[axis] = end - start
    return Layer({"input": x}, attributes, tuple(shape))


def pad(scope):
    x = scope.pick(lambda shape: True)
    if not x:
        return None
    rank = len(x.shape)
    axis = rank - 1 if scope.rows_only else scope.rng.randrange(rank)
    attributes = Attributes(scope)
    attributes.put("axis", axis if scope.chance(0.5) else axis - rank, -1)
    before = attributes.put("before", scope.rng.choice((0, 1, 1, 2, 17)), 0)
    after = attributes.put("after", scope.rng.choice((0, 0, 1, 5)), 0)
    shape = list(x.shape)
    shape[axis] += before + after
    return Layer({"input": x}, attributes, tuple(shape))


def reshape(scope):
    x = scope.pick(lambda shape: True)
    if not x:
        return None
    left, shape = numbers(x.shape), []
    while len(shape) < scope.rng.choice((1, 2, 2, 3)):
        shape.append(scope.rng.choice(divisors(left)))
        left //= shape[-1]
    shape = (*shape, left) if scope.chance(0.8) or not shape else (left, *shape)
    attributes = Attributes(scope)
    attributes["shape"] = [
        scope.say(size) if scope.chance(0.3) else size for size in shape
    ]
    return Layer({"input": x}, attributes, tuple(shape))


def feed_forward(scope):
    x = scope.pick(lambda shape: True)
    if not x:
        return None
    attributes = Attributes(scope)
    attributes.put("hidden", scope.rng.choice(SIZES) * scope.rng.choice((1, 2)))
    attributes.word("activation", ACTIVATIONS, "relu")
    width = x.shape[-1] if scope.chance(0.7) else size(scope)
    attributes.put("width", width, x.shape[-1])
    attributes.put("bias", scope.chance(0.7), True)
    attributes.put("gate", scope.chance(0.3), False)
    return Layer({"input": x}, attributes, with_last(x.shape, width))


# --- tokens ------------------------------------------------------------------


def embedding(scope):
    ids = scope.ids()
    if not ids:
        return None
    attributes = Attributes(scope)
    # Without a range, the first table says what ids are valid.
    spare = scope.rng.choice((0, 0, 1, 9)) if ids.ranged else 0
    attributes.put("vocab", ids.below + spare)
    width = attributes.put("width", size(scope))
    if numbers(ids.shape) * width > MOST_NUMBERS:
        return None
    return Layer({"input": ids}, attributes, (*ids.shape, width))


def positions(scope):
    x = scope.pick()
    if not x:
        return None
    attributes = Attributes(scope)
    kinds = ("sinusoid", "learned")
    width = x.shape[-1]
    if scope.chance(0.5):
        attributes.word("kind", kinds)
    else:
        # Only the fixed table has a layout and a base.
        attributes.put("kind", "sinusoid", words=kinds)
        layouts = ("interleaved", "split")[: 2 if width % 2 == 0 and width >= 4 else 1]
        attributes.word("layout", layouts, "interleaved")
        attributes.put("base", scope.rng.choice((1, 2.5, 50, 10000)), 10000)
    reads = {"input": x}
    if scope.chance(0.4) and (valid := draw_valid(scope, x.shape[:2])):
        reads["valid"] = valid
    least = int("valid" in reads)
    offset = attributes.put("offset", least + scope.rng.choice((0, 0, 1, 3)), least)
    rows = offset + x.shape[1]
    attributes.put("length", rows + scope.rng.choice((0, 0, 1, 7)), rows)
    return Layer(reads, attributes, x.shape)


def patch_embedding(scope):
    image = scope.image()
    if not image:
        return None
    batch, _, height, width = image.shape
    sides = [p for p in (1, 2, 3, 4, 5) if height % p == 0 and width % p == 0]
    attributes = Attributes(scope)
    patch = attributes.put("patch", scope.rng.choice(sides))
    columns = attributes.put("width", size(scope))
    attributes.put("bias", scope.chance(0.7), True)
    grid = height // patch, width // patch
    shape = (batch, grid[0] * grid[1], columns)
    return (
        Layer({"input": image}, attributes, shape, grid=grid)
        if numbers(shape) < MOST_NUMBERS
        else None
    )


def put_sides(scope, attributes, key, choices, default=None):
    """A number for both sides where it fits both, or a list of two."""
    both = [c for c in choices(0) if c in choices(1)]
    if both and scope.chance(0.6):
        return (attributes.put(key, scope.rng.choice(both), default),) * 2
    sides = [scope.rng.choice(choices(axis)) for axis in (0, 1)]
    attributes[key] = [scope.say(s) if scope.chance(0.3) else s for s in sides]
    return tuple(sides)


def unfold(scope):
    """An image, or tokens of one."""
    attributes = Attributes(scope)
    if scope.chance(0.4) and (x := scope.image()):
        batch, channels, *sides = x.shape
        grid = tuple(sides)
    elif x := scope.pick():
        grid = draw_grid(scope, x)
        batch, _, channels = x.shape
        put_grid(scope, attributes, x, grid)
    else:
        return None
    side = scope.rng.choice(divisors(math.gcd(*grid)))
    squares = 1
    if scope.chance(0.4):
        attributes.put("within", side)
        squares = grid[0] // side * (grid[1] // side)
        grid = side, side
    padding = put_sides(scope, attributes, "padding", lambda _: (0, 0, 1, 2, 4), 0)
    dilation = put_sides(scope, attributes, "dilation", lambda _: (1, 1, 1, 2, 3), 1)
    room = [g + 2 * p for g, p in zip(grid, padding)]
    most = [min(7, (r - 1) // d + 1) for r, d in zip(room, dilation)]
    kernel = put_sides(scope, attributes, "kernel", lambda i: range(1, most[i] + 1))
    stride = put_sides(scope, attributes, "stride", lambda i: (1, 2, 3, 4, kernel[i]), 1)
    extents = [(k - 1) * d + 1 for k, d in zip(kernel, dilation)]
    places = tuple((r - e) // s + 1 for r, e, s in zip(room, extents, stride))
    shape = batch * squares, places[0] * places[1], channels * kernel[0] * kernel[1]
    return Layer({"input": x}, attributes, shape, grid=places)


def windows(scope):
    x = scope.pick()
    if not x:
        return None
    grid = draw_grid(scope, x)
    side = scope.rng.choice(divisors(math.gcd(*grid)))
    attributes = Attributes(scope)
    attributes.put("window", side)
    put_grid(scope, attributes, x, grid)
    batch, tokens, width = x.shape
    shape = batch * tokens // side**2, side**2, width
    return Layer({"input": x}, attributes, shape, grid=(side, side))


def class_token(scope):
    x = scope.pick()
    if not x:
        return None
    batch, tokens, width = x.shape
    return Layer({"input": x}, Attributes(scope), (batch, tokens + 1, width))


def pool(scope):
    x = scope.pick()
    if not x:
        return None
    attributes, reads = Attributes(scope), {"input": x}
    if scope.chance(0.5):
        attributes.word("kind", ("first", "mean", "max", "last"))
    elif scope.chance(0.4):
        fits = [v for v in scope.values if v.below and not v.count]
        fits = [v for v in fits if v.shape == x.shape[:2]]
        ids = scope.rng.choice(fits) if fits else scope.fresh_ids(x.shape[:2])
        if not ids:
            return None
        reads["ids"] = ids
        attributes.put("kind", "token", words=("token",))
        if scope.chance(0.7):
            attributes.number("id", (0, 1, 2, max(0, ids.below - 1)))
    elif valid := draw_valid(scope, x.shape[:2]):
        reads["valid"] = valid
        attributes.word("kind", ("mean", "max", "last"))
    else:
        return None
    return Layer(reads, attributes, (x.shape[0], x.shape[2]))


def padding_mask(scope):
    ids = scope.ids(rank=2)
    if not ids:
        return None
    attributes = Attributes(scope)
    attributes.number("pad", (0, 0, 1, ids.below - 1, -1), 0)
    before = scope.chance(0.3)
    attributes.put("class_token", before, False)
    batch, tokens = ids.shape
    return Layer({"input": ids}, attributes, (batch, tokens + before), "bool")


def draw_valid(scope, shape):
    """Booleans of tokens."""
    found = scope.pick(lambda s: s == shape, "bool")
    return found or scope.fresh("valid", shape, "bool")


def mask_rows(scope):
    x = scope.pick()
    valid = draw_valid(scope, x.shape[:2]) if x else None
    if not valid:
        return None
    return Layer({"input": x, "valid": valid}, Attributes(scope), x.shape, grid=x.grid)


def position_ids(scope):
    valid = scope.pick(lambda s: len(s) == 2, "bool")
    if not valid:
        x = scope.pick()
        valid = draw_valid(scope, x.shape[:2]) if x else None
    if not valid:
        return None
    below = valid.shape[1] + 1
    return Layer({"valid": valid}, Attributes(scope), valid.shape, "i32", below=below)


LAYERS = {
    "linear": linear,
    "layer_norm": layer_norm,
    "softmax": softmax,
    "activation": activation,
    "add": elementwise,
    "multiply": elementwise,
    "subtract": elementwise,
    "divide": divide,
    "exp": exp,
    "scale": scale,
    "concat": concat,
    "slice": slice_,
    "pad": pad,
    "reshape": reshape,
    "feed_forward": feed_forward,
    "mask_rows": mask_rows,
    "position_ids": position_ids,
    "embedding": embedding,
    "positions": positions,
    "patch_embedding": patch_embedding,
    "unfold": unfold,
    "windows": windows,
    "merge_patches": merge_patches,
    "class_token": class_token,
    "pool": pool,
    "padding_mask": padding_mask,
    "multi_head_attention": multi_head_attention,
    "attention": attention,
    "rotate": rotate,
    "head_reweight": head_reweight,
    "channel_gate": channel_gate,
    "omni_attention": omni_attention,
}
# These keep batch and tokens, so that they may stand in a block that is repeated.
ROW_LAYERS = (
    "linear",
    "layer_norm",
    "softmax",
    "mask_rows",
    "activation",
    "add",
    "multiply",
    "subtract",
    "exp",
    "scale",
    "concat",
    "slice",
    "feed_forward",
    "positions",
    "multi_head_attention",
    "attention",
    "rotate",
    "head_reweight",
    "channel_gate",
    "omni_attention",
)
