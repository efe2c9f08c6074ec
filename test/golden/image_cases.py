#===- image_cases.py - Golden cases of unfolded images and their models ---===#
#
# SPDX-License-Identifier: Apache-2.0
#
# Images and tokens unfolded with kernels and strides of all kinds, borders
# inside and outside of squares; windows, padded axes and reshaped values; and
# the models that are made of these: a token performer between soft splits, and
# the words and sentences of a Transformer in a Transformer.
#
#===-----------------------------------------------------------------------===#

import numpy as np

import oracle
from case import Case
from model_cases import Model


def unfolded(name, batch, channels, image, kernel, stride=None, padding=None,
             within=None, dilation=None):
    case = Case(name)
    x = case.values("image", batch, channels, *image)
    options = dict(kernel=kernel, stride=stride, padding=padding, within=within,
                   dilation=dilation)
    case.layer("rows", "unfold", input="image", **options)
    given = {k: v for k, v in options.items() if v is not None}
    rows = oracle.unfold(x, **given)
    case.output("rows", "rows", rows)
    case.layer("reader", "linear", input="rows", width=5)
    case.output("y", "reader", case.net.linear("reader", rows, 5))
    return case


def regridded(name, batch, width, grid, kernel, stride, padding, within=None):
    """Tokens of an image unfolded, and the rows of that once more."""
    case = Case(name)
    x = case.values("x", batch, grid[0] * grid[1], width)
    case.layer("rows", "unfold", input="x", kernel=kernel, stride=stride,
               padding=padding, grid_height=grid[0], within=within)
    rows = oracle.unfold(oracle.image_of(x, grid), kernel, stride, padding, within)
    sides = (within, within) if within else grid
    second = tuple(oracle.places(s, kernel, stride, padding) for s in sides)
    case.layer("again", "unfold", input="rows", kernel=2, padding=1)
    again = oracle.unfold(oracle.image_of(rows, second), 2, 1, 1)
    case.layer("norm", "layer_norm", input="again")
    case.output("y", "norm", case.net.layer_norm("norm", again, 1e-5))
    return case


def along_time(name, batch, steps, channels, width):
    """Whisper's stem: convolutions along one axis of [batch, time, channels], with GELU."""
    case = Case(name)
    x = case.values("x", batch, steps, channels)
    value, before = x, "x"
    for number, stride in enumerate((1, 2)):
        rows, conv = f"rows{number}", f"conv{number}"
        case.layer(rows, "unfold", input=before, kernel=[3, 1], stride=[stride, 1],
                   padding=[1, 0], grid_height=value.shape[1])
        case.layer(conv, "linear", input=rows, width=width)
        before = case.layer(f"bent{number}", "activation", input=conv, kind="gelu_erf")
        image = oracle.image_of(value, (value.shape[1], 1))
        seen = oracle.unfold(image, (3, 1), (stride, 1), (1, 0))
        value = oracle.ACTIVATIONS["gelu_erf"](case.net.linear(conv, seen, width))
    case.output("y", before, value)
    return case


def cut(name, batch, grid, window, width):
    """Windows as sequences, after a norm and in front of an attention."""
    case = Case(name)
    x = case.values("x", batch, grid[0] * grid[1], width)
    case.layer("norm", "layer_norm", input="x")
    case.layer("cut", "windows", input="norm", window=window, grid_height=grid[0])
    case.layer("attn", "multi_head_attention", input="cut", heads=2)
    normed = case.net.layer_norm("norm", x, 1e-5)
    windows = oracle.partition(normed, grid, (window, window), (0, 0))
    case.output("y", "attn", case.net.multi_head_attention("attn", windows, 2))
    return case


def padded(name, shape, axis, before=None, after=None):
    case = Case(name)
    x = case.values("x", *shape)
    case.layer("pad", "pad", input="x", axis=axis, before=before, after=after)
    case.layer("y", "activation", input="pad", kind="sigmoid")
    rim = oracle.pad(x, axis, before or 0, after or 0)
    case.output("y", "y", oracle.sigmoid(rim))
    return case


def reshaped(name, shape, *others):
    """A computed value in other axes, one after the other, read by norms."""
    case = Case(name)
    x = case.values("x", *shape)
    case.layer("values", "activation", input="x", kind="tanh")
    value = np.tanh(x)
    previous = "values"
    for number, other in enumerate(others):
        case.layer(f"seen{number}", "reshape", input=previous, shape=list(other))
        previous = case.layer(f"norm{number}", "layer_norm", input=f"seen{number}")
        value = case.net.layer_norm(previous, value.reshape(other), 1e-5)
    case.output("y", previous, value)
    return case


def token_performer(m, name, source, width, features):
    """Linear attention of one head, with a residual from its values."""
    m.norm(name + "norm1", source)
    for role in ("key", "query", "value"):
        m.put(name + role, "linear",
              m.net.linear(name + role, m.value[name + "norm1"], width),
              input=name + "norm1", width=width)
    options = dict(kind="performer", kernel="exp", features=features)
    heads = [oracle.split_heads(m.value[name + role], 1)
             for role in ("query", "key", "value")]
    m.layer(name + "attn", "attention", heads=1,
            **{r: name + r for r in ("query", "key", "value")}, **options)
    m.value[name + "attn"] = oracle.merge_heads(
        m.net.attend(name + "attn", *heads, **options))
    m.put(name + "proj", "linear",
          m.net.linear(name + "proj", m.value[name + "attn"], width),
          input=name + "attn", width=width)
    m.add(name + "mid", name + "value", name + "proj")
    m.norm(name + "norm2", name + "mid")
    m.ffn(name + "ffn", name + "norm2", width, "gelu_erf")
    return m.add(name + "out", name + "mid", name + "ffn")


def layer(m, name, source, heads, hidden):
    m.norm(name + "norm1", source)
    m.attention(name + "attn", name + "norm1", heads, bias=False, output_bias=True)
    m.add(name + "mid", source, name + "attn")
    m.norm(name + "norm2", name + "mid")
    m.ffn(name + "ffn", name + "norm2", hidden, "gelu_erf")
    return m.add(name + "out", name + "mid", name + "ffn")


def begin(m, source, width, kind):
    """A class token, and positions."""
    value = m.value[source]
    first = np.broadcast_to(m.net.weight("token.weight", width),
                            (len(value), 1, width))
    value = np.concatenate([first, value], axis=1)
    m.put("token", "class_token", value, input=source)
    count = value.shape[1]
    table = (m.net.weight("placed.weight", count, width, scale=0.5)
             if kind == "learned" else oracle.sinusoid(count, width))
    return m.put("placed", "positions", value + table, input="token", kind=kind)


def end(m, source):
    m.norm("norm", source)
    m.put("pooled", "pool", m.value["norm"][:, 0], input="norm", kind="first")
    m.output("logits", "pooled", m.value["pooled"])
    return m


def soft_splits():
    """Tokens-to-Token ViT: odd sides, so that rims differ."""
    m = Model("tiny_t2t")
    image = m.values("image", 2, 3, 29, 29)
    m.put("split1", "unfold", oracle.unfold(image, 7, 4, 2), input="image",
          kernel=7, stride=4, padding=2)
    previous = "split1"
    for number, side in ((1, 7), (2, 4)):
        tokens = token_performer(m, f"performer{number}_", previous, 8, 4)
        previous = m.put(
            f"split{number + 1}", "unfold",
            oracle.unfold(oracle.image_of(m.value[tokens], (side, side)), 3, 2, 1),
            input=tokens, kernel=3, stride=2, padding=1)
    m.put("project", "linear", m.net.linear("project", m.value[previous], 12),
          input=previous, width=12)
    x = begin(m, "project", 12, "sinusoid")
    return end(m, layer(m, "layer_", x, 3, 20))


def words_and_sentences(name, variant, stem):
    """Transformer in Transformer: eight patches of sixteen words."""
    m = Model(name)
    image = m.values("image", 1, 2, 16, 32)
    width, model, kernel, rim = 6, 12, *((2, 0) if stem == "linear" else (5, 2))
    options = dict(kernel=kernel, stride=2, padding=rim or None,
                   within=8 if stem == "patch_conv" else None)
    given = {k: v for k, v in options.items() if v is not None}
    m.put("pixels", "unfold", oracle.unfold(image, **given), input="image", **options)
    m.put("embed", "linear", m.net.linear("embed", m.value["pixels"], width),
          input="pixels", width=width)
    by_patch = m.value["embed"]
    if stem != "patch_conv":
        by_patch = oracle.partition(by_patch, (8, 16), (4, 4), (0, 0))
    m.put("by_patch", "windows", by_patch, input="embed", window=4)
    table = m.net.weight("words.weight", 16, width, scale=0.5)
    words = m.put("words", "positions", by_patch + table, input="by_patch",
                  kind="learned")

    def fold(name, source, variant, bias):
        if variant == "v1":
            source = m.norm(name + "norm", source)
        shape = (1, 8, 16 * width)
        source = m.put(name + "seen", "reshape", m.value[source].reshape(shape),
                       input=source, shape=list(shape))
        if variant != "v1":
            source = m.norm(name + "norm1", source)
        source = m.put(name + "linear", "linear",
                       m.net.linear(name + "linear", m.value[source], model, bias),
                       input=source, width=model, bias=bias)
        return source if variant == "v1" else m.norm(name + "norm2", source)

    sentences = begin(m, fold("first_", words, "2021-06", True), model, "learned")
    for number in range(2):
        words = layer(m, f"inner{number}_", words, 2, 4 * width)
        folded = fold(f"fold{number}_", words, variant, variant == "v1")
        m.put(f"rim{number}", "pad", oracle.pad(m.value[folded], 1, 1),
              input=folded, axis=1, before=1)
        mixed = m.add(f"mixed{number}", sentences, f"rim{number}")
        sentences = layer(m, f"outer{number}_", mixed, 3, 20)
    return end(m, sentences)


def cases():
    yield unfolded("unfold", 2, 3, (9, 11), 3)
    yield unfolded("unfold_padded", 2, 2, (8, 9), 7, 4, 2)
    yield unfolded("unfold_strided", 1, 1, (10, 7), 2, 3)
    yield unfolded("unfold_padded_beyond", 1, 2, (1, 3), 2, 1, 3)
    yield unfolded("unfold_two_numbers", 2, 2, (9, 11), [3, 2], [1, 3], [2, 0])
    yield unfolded("unfold_holes", 1, 2, (9, 11), [3, 2], 2, [0, 1], dilation=[2, 3])
    yield unfolded("unfold_holes_down", 1, 2, (9, 5), [3, 5], dilation=[4, 1])
    yield unfolded("unfold_holes_beyond", 1, 1, (3, 4), 2, 1, [5, 3], dilation=[6, 1])
    yield along_time("unfold_along_time", 2, 11, 5, 12)
    yield unfolded("unfold_within", 2, 3, (8, 12), 5, 2, 2, 4)
    yield unfolded("unfold_within_once", 1, 2, (6, 6), 3, 3, 0, 3)
    yield regridded("unfold_tokens", 2, 5, (5, 7), 3, 2, 1)
    yield regridded("unfold_tokens_within", 1, 17, (4, 6), 2, 1, 0, 2)
    yield cut("windows_as_sequences", 2, (4, 6), 2, 8)
    yield cut("windows_of_sixteen", 1, (8, 16), 4, 6)
    yield padded("pad_rows", (2, 3, 5), 1, 1)
    yield padded("pad_both_ends", (2, 3, 5), 0, 2, 3)
    yield padded("pad_columns", (2, 3, 70), 2, 1, 65)
    yield reshaped("reshape", (6, 16, 5), (2, 3, 80), (32, 15), (4, 4, 5, 6))
    yield reshaped("reshape_rows", (2, 6, 7), (3, 4, 7), (12, 7))
    yield soft_splits()
    yield words_and_sentences("tiny_tnt", "2021-06", "patch_conv")
    yield words_and_sentences("tiny_tnt_v1", "v1", "image_conv")
    yield words_and_sentences("tiny_tnt_linear", "2021-06", "linear")
