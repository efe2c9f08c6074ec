# ===- modules.py - A module for each recipe, and what it should compute ---------=== #
# SPDX-License-Identifier: Apache-2.0
"""Modules that become one kernel by the phases of the CUDA target, for every operation that a kernel can begin with, with what
joins it: functions `main` whose arguments are in the order in which the kernel takes its buffers. The truth is what the formulas of
the operations say, in float64. Sizes are no multiples of tiles, and grids have several blocks along every axis that they have."""

from collections.abc import Callable

import numpy as np
from attention_modules import additive, attention, block_sparse, causal_summary_attention, empty_rows, heads_of_rows, heads_with_logits, key_summary, merge_summaries, scores_read, summary_attention, weights
from gate_modules import gated_product, gated_product_of_f32, gated_product_read_elsewhere
from kernels import BF16, F16, Case
from module_cases import F32, ONCE, Numbers, case, gelu_tanh, rounded, sigmoid, softmax
from product_modules import (center_alone, division_alone, norm_behind_product, product_and_squares, product_gate, product_in_parts, product_of_columns,
                             product_of_f32, product_of_scaled_heads, product_of_weight, product_positions, product_residual, project_tokens, squares_alone,
                             squares_of_parts, sum_of_parts)
from rotation_modules import rotated_product, rotation

# Heads and rows --------------------------------------------------------------


def unit_heads(gain: bool, count: int = 3) -> Case:
    """Each head at length one, times its gain; the last column of a row is within a tile. In one head a number is none."""
    n = Numbers()
    x = n.spoil(n.wide(2, 5, count * 26), 1, 2, 30)
    g = n.wide(count) if gain else np.ones(count)
    heads = x.reshape(2, 5, count, 26)
    unit = g[:, None] * heads / np.linalg.norm(heads, axis=-1, keepdims=True)
    return case(n, f"""
      !x = tensor<2x5x{count * 26}xf32>
      func.func @main(%x: !x{f", %g: tensor<{count}xf32>" if gain else ""}) -> !x {{
        %y = hova.normalize_heads %x {"gain(%g)" if gain else ""} {{heads = {count} : i64, eps = 1.0e-12 : f64}} : !x{f", tensor<{count}xf32>" if gain else ""}
        return %y : !x
      }}""", [unit.reshape(x.shape)], F32, "f32")


def normed(x: np.ndarray, eps: float) -> np.ndarray:
    apart = x - x.mean(-1, keepdims=True)
    return apart / np.sqrt((apart * apart).mean(-1, keepdims=True) + eps)


def plain_norm(width: int) -> Case:
    """No gain; rows end within a tile, and begin away from 0."""
    n = Numbers()
    x = n.wide(7, width, scale=3) + 0
    return case(n, f"""
      !x = tensor<7x{width}xf32>
      func.func @main(%x: !x) -> !x {{
        %0 = hova.layer_norm %x {{eps = 1.0e-5 : f64}} : !x
        return %0 : !x
      }}""", [normed(x, 1e-5)], F32, "f32")


def by_kind(heads: int, width: int, kind: str, gain: bool, bias: bool) -> Case:
    """Each head over the root of its mean square, or its length; one has a number that is none, and stays alone with it."""
    n = Numbers()
    x = n.wide(2, 5, heads * width)
    if heads > 1:
        x = n.spoil(x, 1, 2, width + 4)
    vectors = [n.wide(width) for _ in range(gain + bias)]
    split = x.reshape(2, 5, heads, width)
    square = (split * split).mean(-1, keepdims=True) if kind == "rms" else (split * split).sum(-1, keepdims=True)
    y = split / np.sqrt(square) if kind == "l2" else split / np.sqrt(square + 0.125)
    y = y * vectors[0] if gain else y
    y = y + vectors[-1] if bias else y
    names = {(True, True): ", %a, %b", (True, False): ", %a", (False, True): " bias(%a)", (False, False): ""}[gain, bias]
    operands = "".join(f", %{name}: tensor<{width}xf32>" for name in "ab"[: gain + bias])
    return case(n, f"""
      !x = tensor<2x5x{heads * width}xf32>
      func.func @main(%x: !x{operands}) -> !x {{
        %y = hova.layer_norm %x{names} kind({kind}) {{eps = 0.125 : f64, heads = {heads} : i64}} : !x{f", tensor<{width}xf32>" if gain or bias else ""}
        return %y : !x
      }}""", [y.reshape(x.shape)], 2 * F32, "f32")


def residual_norm() -> Case:
    """x + norm(y), as after a layer of SwinV2."""
    n = Numbers()
    y, g, b, x = n.wide(2, 3, 70), n.wide(70), n.wide(70), n.wide(2, 3, 70)
    return case(n, """
      !x = tensor<2x3x70xf32>
      func.func @main(%y: !x, %g: tensor<70xf32>, %b: tensor<70xf32>, %x: !x) -> (!x, tensor<2x3x70xbf16>) {
        %0 = hova.layer_norm %y, %g, %b {eps = 1.0e-5 : f64} : !x, tensor<70xf32>
        %1 = hova.add %0, %x : !x, !x
        %2 = hova.convert %1 : !x -> tensor<2x3x70xbf16>
        return %1, %2 : !x, tensor<2x3x70xbf16>
      }""", [x + normed(y, 1e-5) * g + b] * 2, BF16, "f32 bf16")


# Heads -------------------------------------------------------------------------


def head_logits(halves: str, bias: bool, heads: int, width: int, hidden: int) -> Case:
    """relu(H_m A + shift) . w + b for each head."""
    n = Numbers(halves)
    tokens = 51
    draw = n.wide if halves == "f32" else n.narrow
    h, s, a, w = draw(2, tokens, heads * width), n.wide(2, tokens, hidden), draw(width, hidden, scale=width**-0.5), n.wide(hidden)
    b = n.wide(1) if bias else np.zeros(1)
    terms = np.maximum(np.einsum("btmd,dn->btmn", h.reshape(2, tokens, heads, width), a) + s[:, :, None], 0)
    types = [f"tensor<2x{tokens}x{heads * width}x{halves}>", f"tensor<2x{tokens}x{hidden}xf32>", f"tensor<{width}x{hidden}x{halves}>",
             f"tensor<{hidden}xf32>", *(["tensor<1xf32>"] if bias else [])]
    return case(n, f"""
      !y = tensor<2x{tokens}x{heads}xf32>
      func.func @main({", ".join(f"%{i}: {t}" for i, t in enumerate(types))}) -> !y {{
        %y = hova.head_logits %0, %1, %2, %3 {"score_bias(%4)" if bias else ""} {{heads = {heads} : i64}}
            : ({", ".join(types)}) -> !y
        return %y : !y
      }}""", [terms @ w + b], hidden * 2.0**-24, "f32", "--block-rows=32 --warps=2")


def scale_heads(heads: int) -> Case:
    """Heads times their shares of a softmax."""
    n = Numbers()
    h, logits = n.narrow(2, 5, heads * 26), n.wide(2, 5, heads)
    return case(n, f"""
      !h = tensor<2x5x{heads * 26}xbf16>
      !b = tensor<2x5x{heads}xf32>
      func.func @main(%h: !h, %b: !b) -> !h {{
        %0 = hova.scale_heads %h, %b : !h, !b
        return %0 : !h
      }}""", [h * np.repeat(softmax(logits), 26, axis=2)], BF16, "bf16")


# Tokens ------------------------------------------------------------------------


def squares(x: np.ndarray, kernel: int, stride: int, padding: int) -> np.ndarray:
    """What a square sees of images, place by place."""
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    rows, columns = ((extent - kernel) // stride + 1 for extent in x.shape[2:])
    places = [x[:, :, stride * i : stride * i + kernel, stride * j : stride * j + kernel].reshape(len(x), -1)
              for i in range(rows) for j in range(columns)]
    return np.stack(places, axis=1)


def unfold(shape: tuple[int, ...], kernel: int, stride: int, padding: int) -> Case:
    n = Numbers()
    truth = squares(n.wide(*shape), kernel, stride, padding)
    image, y = "x".join(map(str, shape)), "x".join(map(str, truth.shape))
    return case(n, f"""
      func.func @main(%x: tensor<{image}xf32>) -> tensor<{y}xbf16> {{
        %0 = hova.unfold %x {{kernel = array<i64: {kernel}, {kernel}>, stride = array<i64: {stride}, {stride}>, padding = array<i64: {padding}, {padding}>}} : tensor<{image}xf32> -> tensor<{y}xf32>
        %1 = hova.convert %0 : tensor<{y}xf32> -> tensor<{y}xbf16>
        return %1 : tensor<{y}xbf16>
      }}""", [rounded(truth)], 0.0, "bf16")


def class_token() -> Case:
    """Before the tokens of each entry, and positions added to all."""
    n = Numbers()
    x, t, p = n.wide(3, 4, 70), n.wide(70), n.wide(5, 70)
    return case(n, """
      !y = tensor<3x5x70xf32>
      func.func @main(%x: tensor<3x4x70xf32>, %t: tensor<70xf32>, %p: tensor<5x70xf32>) -> !y {
        %0 = hova.class_token %x, %t : tensor<3x4x70xf32>, tensor<70xf32> -> !y
        %1 = hova.add %0, %p : !y, tensor<5x70xf32>
        return %1 : !y
      }""", [np.concatenate([np.broadcast_to(t, (3, 1, 70)), x], axis=1) + p], ONCE, "f32")


def sliced(shape: tuple[int, ...], axis: int, offset: int, size: int) -> Case:
    """Some rows, or columns."""
    n = Numbers()
    x = n.narrow(*shape)
    to = [*shape[:axis], size, *shape[axis + 1 :]]
    types = [f"tensor<{'x'.join(map(str, extents))}xbf16>" for extents in (shape, to)]
    return case(n, f"""
      func.func @main(%x: {types[0]}) -> {types[1]} {{
        %0 = hova.slice %x {{axis = {axis} : i64, offset = {offset} : i64}} : {types[0]} -> {types[1]}
        return %0 : {types[1]}
      }}""", [np.take(x, range(offset, offset + size), axis)], 0.0, "bf16")


def layer_pool() -> Case:
    """One number is none, and none is what becomes of its column."""
    n = Numbers()
    x = n.spoil(n.wide(2, 9, 70), 1, 4, 66)
    return case(n, """
      func.func @main(%x: tensor<2x9x70xf32>) -> tensor<2x3x70xf32> {
        %0 = hova.layer_pool %x {layers = 3 : i64} : tensor<2x9x70xf32> -> tensor<2x3x70xf32>
        return %0 : tensor<2x3x70xf32>
      }""", [x.reshape(2, 3, 3, 70).max(2)], 0.0, "f32")


def pool(kind: str, limit: float) -> Case:
    """The first token, or the mean of all."""
    n = Numbers()
    x = n.wide(6, 5, 70)
    return case(n, f"""
      func.func @main(%x: tensor<6x5x70xf32>) -> tensor<6x70xf32> {{
        %0 = hova.pool {kind} %x : tensor<6x5x70xf32> -> tensor<6x70xf32>
        return %0 : tensor<6x70xf32>
      }}""", [{"first": x[:, 0], "mean": x.mean(1), "max": x.max(1)}[kind]], limit, "f32")


def pool_of_kept(kind: str, limit: float) -> Case:
    """The mean or the maximum of tokens that count, or the last of them; an item has none."""
    n = Numbers()
    x, valid = n.wide(6, 5, 70), n.integers(6, 5, below=2, dtype=np.uint8)
    valid[1], valid[2], valid[3] = 0, 1, [0, 1, 0, 0, 0]
    kept = np.where(valid[..., None], x, np.nan)
    rows = [x[b, np.flatnonzero(v)[-1] if v.any() else 0] for b, v in enumerate(valid)]
    if kind != "last":
        rows = [(kept[b, v > 0].mean(0) if kind == "mean" else kept[b, v > 0].max(0)) if v.any() else 0 * x[b, 0] for b, v in enumerate(valid)]
    return case(n, f"""
      func.func @main(%x: tensor<6x5x70xf32>, %v: tensor<6x5xi1>) -> tensor<6x70xf32> {{
        %0 = hova.pool {kind} %x by %v : tensor<6x5x70xf32>, tensor<6x5xi1> -> tensor<6x70xf32>
        return %0 : tensor<6x70xf32>
      }}""", [np.stack(rows)], limit, "f32")


def pool_by_id(ids: str, attributes: str, find: Callable[[np.ndarray], np.ndarray]) -> Case:
    n = Numbers()
    x, tokens = n.wide(6, 5, 70), n.integers(6, 5, below=4, dtype={"i32": np.int32, "i64": np.int64}[ids])
    return case(n, f"""
      func.func @main(%x: tensor<6x5x70xf32>, %i: tensor<6x5x{ids}>) -> tensor<6x70xf32> {{
        %0 = hova.pool token %x by %i {attributes} : tensor<6x5x70xf32>, tensor<6x5x{ids}> -> tensor<6x70xf32>
        return %0 : tensor<6x70xf32>
      }}""", [x[np.arange(6), find(tokens)]], 0.0, "f32")


def embedding(ids: str, transposed: bool) -> Case:
    """Rows of a table, or columns of a product's weight, which lie as rows; one id that is none has zeros."""
    n = Numbers()
    tokens = n.integers(3, 5, below=11, dtype={"i32": np.int32, "i64": np.int64}[ids])
    tokens[1, 2] = {"i32": -1, "i64": 2**32 + 1}[ids]
    table = n.narrow(70, 11, transposed=72) if transposed else n.narrow(11, 70)
    rows = np.where((tokens == tokens[1, 2])[..., None], 0, (table.T if transposed else table)[tokens % 11])
    kind = f"tensor<{'x'.join(map(str, table.shape))}xbf16>"
    stored = f"""
      func.func private @weights() {{
        %t = hova.weight "t" : {kind}
        hova.store_weight "t", %t : {kind}
        return
      }}"""
    return case(n, f"""{stored if transposed else ""}
      func.func @main(%i: tensor<3x5x{ids}>{"" if transposed else f", %t: {kind}"}) -> tensor<3x5x70xbf16> {{
        {f'%t = hova.image_weight "t" : {kind}' if transposed else ""}
        %0 = hova.embedding %i, %t {{{"transposed" if transposed else ""}}} : tensor<3x5x{ids}>, {kind} -> tensor<3x5x70xbf16>
        return %0 : tensor<3x5x70xbf16>
      }}""", [rows], 0.0, "bf16")


def padding_mask(ids: str, class_token: bool, pad: int = 2) -> Case:
    n = Numbers()
    tokens = n.integers(6, 69, below=3, dtype={"i32": np.int32, "i64": np.int64}[ids])
    tokens[tokens == 2] = pad
    if ids == "i64":
        # The low half of the first two is that of the pad, and the others are neighbours of what i32 has.
        tokens[0, :5] = pad + 2**32, pad - 2**33, 2**31, -(2**31), -(2**31) - 1
    mask = tokens != pad
    if class_token:
        mask = np.concatenate([mask[:, :1], mask], axis=1)
    to = f"tensor<6x{mask.shape[1]}xi1>"
    return case(n, f"""
      func.func @main(%i: tensor<6x69x{ids}>) -> {to} {{
        %0 = hova.padding_mask %i {{pad = {pad} : i64{", class_token" if class_token else ""}}} : tensor<6x69x{ids}> -> {to}
        return %0 : {to}
      }}""", [mask.astype(np.float64)], 0.0, "i1")


def position_ids() -> Case:
    n = Numbers()
    valid = n.integers(6, 70, below=2, dtype=np.uint8)
    return case(n, """
      func.func @main(%v: tensor<6x70xi1>) -> tensor<6x70xi32> {
        %0 = hova.position_ids %v : tensor<6x70xi1> -> tensor<6x70xi32>
        return %0 : tensor<6x70xi32>
      }""", [np.where(valid, np.arange(1, 71), 0).astype(np.float64)], 0.0, "i32")


def counted_position_ids() -> Case:
    """More columns than a tile has, and a row without a token."""
    n = Numbers()
    valid = n.integers(6, 70, below=2, dtype=np.uint8)
    valid[1], valid[2] = 0, 1
    return case(n, """
      func.func @main(%v: tensor<6x70xi1>) -> tensor<6x70xi32> {
        %0 = hova.position_ids %v {counted, offset = 3 : i64} : tensor<6x70xi1> -> tensor<6x70xi32>
        return %0 : tensor<6x70xi32>
      }""", [(np.cumsum(valid.astype(int), 1) * valid + 2).astype(np.float64)], 0.0, "i32")


def mask_factors() -> Case:
    n = Numbers()
    valid = n.integers(3, 5, below=2, dtype=np.uint8)
    return case(n, """
      func.func @main(%v: tensor<3x5xi1>) -> tensor<3x5x1xf32> {
        %0 = hova.mask_factors %v : tensor<3x5xi1> -> tensor<3x5x1xf32>
        return %0 : tensor<3x5x1xf32>
      }""", [valid[..., None].astype(np.float64)], 0.0, "f32")


def moved(operation: str, shapes: list[tuple[int, ...]], attributes: str, truth: Callable[..., np.ndarray]) -> Case:
    """Elements of one or several values elsewhere."""
    n = Numbers()
    values = [n.wide(*shape) for shape in shapes]
    types = [f"tensor<{'x'.join(map(str, shape))}xf32>" for shape in shapes]
    result = truth(*values)
    to = f"tensor<{'x'.join(map(str, result.shape))}xf32>"
    names = [f"%{i}" for i in range(len(shapes))]
    listed = types[:1] if operation == "hova.index_sort" else types
    return case(n, f"""
      func.func @main({", ".join(f"{name}: {t}" for name, t in zip(names, types, strict=True))}) -> {to} {{
        %y = {operation} {", ".join(names)} {attributes} : {", ".join(listed)} -> {to}
        return %y : {to}
      }}""", [result], 0.0, "f32")


def shares(shape: tuple[int, ...], log: bool, limit: float) -> Case:
    n = Numbers()
    x = n.wide(*shape, scale=3.0)
    t = f"tensor<{'x'.join(map(str, shape))}xf32>"
    truth = softmax(x)
    return case(n, f"""
      func.func @main(%x: {t}) -> {t} {{
        %0 = hova.softmax %x {"{log}" if log else ""} : {t}
        return %0 : {t}
      }}""", [np.log(truth) if log else truth], limit, "f32")


def squares_of_tokens(x: np.ndarray) -> np.ndarray:
    """Squares of 4 x 4 tokens of an image of 4 x 8, each with borders of its own."""
    image = x.transpose(0, 2, 1).reshape(2, 3, 4, 8)
    parts = [squares(image[..., left : left + 4], 3, 2, 1) for left in (0, 4)]
    return np.stack(parts, axis=1).reshape(4, *parts[0].shape[1:])


def along_time(x: np.ndarray) -> np.ndarray:
    """Three tokens, two apart, from every second place on."""
    x = np.pad(x, ((0, 0), (2, 2), (0, 0)))
    return np.stack([x[:, i : i + 5 : 2].transpose(0, 2, 1).reshape(len(x), -1) for i in range(0, 33, 2)], axis=1)


# Elements ----------------------------------------------------------------------


def elements(operation: str, shapes: list[tuple[int, ...]], truth: Callable[..., np.ndarray], limit: float, to: str = "f32", attributes: str = "") -> Case:
    """An operation on elements alone, as it stands between kernels that it could not join."""
    n = Numbers()
    values = [n.wide(*shape) for shape in shapes]
    types = [f"tensor<{'x'.join(map(str, shape))}xf32>" for shape in shapes]
    result = types[0].replace("f32", to)
    names = [f"%{i}" for i in range(len(shapes))]
    arrow = f" -> {result}" if "convert" in operation else ""
    attributes = " {factor = -0.3 : f64}" if "scale" in operation else attributes
    return case(n, f"""
      func.func @main({", ".join(f"{name}: {t}" for name, t in zip(names, types, strict=True))}) -> {result} {{
        %y = {operation} {", ".join(names)}{attributes} : {", ".join(types)}{arrow}
        return %y : {result}
      }}""", [truth(*values)], limit, to)


def windows(x: np.ndarray) -> np.ndarray:
    """Of 2x3 tokens of a grid of 4x6 that is rolled by (1, 2)."""
    rolled = np.roll(x.reshape(2, 4, 6, -1), (-1, -2), (1, 2))
    return rolled.reshape(2, 2, 2, 2, 3, -1).transpose(0, 1, 3, 2, 4, 5).reshape(8, 6, -1)


IN_GRID = "#hova.inverse<#hova.window<2x3, shift 1x2, grid 4x6>>"


def in_grid(x: np.ndarray) -> np.ndarray:
    """Those windows put back."""
    rolled = x.reshape(2, 2, 2, 2, 3, -1).transpose(0, 1, 3, 2, 4, 5).reshape(2, 4, 6, -1)
    return np.roll(rolled, (1, 2), (1, 2)).reshape(2, 24, -1)


def merged(x: np.ndarray) -> np.ndarray:
    """Blocks of 2x3 tokens of a grid of 4x6 as one, the tokens of a column after each other."""
    return x.reshape(2, 2, 2, 2, 3, -1).transpose(0, 1, 3, 4, 2, 5).reshape(2, 4, -1)


# The place in this list says which faults test_mutants.py plants in a case: a new one stands last.
MODULES = {
    "product, f16, with a residual": product_residual,
    "product with positions": product_positions,
    "product with a gate": product_gate,
    "product of columns": product_of_columns,
    "product of a weight": product_of_weight,
    "product in parts": lambda: product_in_parts("bf16", 136 * ONCE),
    "product in parts, f32": lambda: product_in_parts("f32", 136 * ONCE),
    "sum of parts": sum_of_parts,
    "attention, heads of 12": lambda: attention("bf16", 2, 70, 45, 2, (12, 12), 12**-0.5),
    "attention, heads of 6 in f16": lambda: attention("f16", 2, 70, 45, 2, (6, 6), 6**-0.5),
    "attention, heads of 32 and 20": lambda: attention("bf16", 2, 70, 70, 2, (32, 20), -0.25),
    "attention, heads of 11 and 7, f32": lambda: attention("f32", 2, 65, 75, 2, (11, 7), 11**-0.5),
    "product, f32": product_of_f32,
    "attention, heads of 9 and 7": lambda: attention("bf16", 2, 65, 75, 2, (9, 7), 9**-0.5),
    "attention, wide heads": lambda: attention("bf16", 1, 70, 45, 2, (136, 130), 0.1),
    "attention of sums of tanh, f32": lambda: additive("f32", 65, 33, (3, 12), 4 * F32),
    "attention, means of values": lambda: empty_rows("bf16", BF16),
    "attention, scores read, f32": lambda: scores_read("f32", 65, 35, (12, 7)),
    "raw scores alone": lambda: scores_read("bf16", 130, 66, (12, 7), alone=True),
    "product of tokens": lambda: project_tokens("bf16", BF16),
    "product of tokens, f32": lambda: project_tokens("f32", 75 * ONCE),
    "attention to blocks": lambda: block_sparse("bf16", 1, 83, 20, 3, BF16),
    "attention to blocks in f16": lambda: block_sparse("f16", 2, 35, 8, 0, 2 * F16),
    "sums of keys": lambda: key_summary("softmax", "bf16", 33, 20, (12, 7), 63, 2.0**-17, 1, padded=True),
    "sums of keys, rectified": lambda: key_summary("relu", "f16", 70, 40, (11, 20), 0, 2.0**-17, 2),
    "sums of keys, f32": lambda: key_summary("exp", "f32", 45, 36, (12, 7), 34, 2.0**-17, 1, padded=True),
    "merged sums": lambda: merge_summaries("softmax", 12, 5, F32),
    "merged sums, rectified": lambda: merge_summaries("relu", 9, 67, F32),
    "merged sums before a block": lambda: merge_summaries("softmax", 12, 5, F32, exclusive=True),
    "queries of sums": lambda: summary_attention("softmax", "bf16", 70, (12, 7), 20, 2.0**-17, 1),
    "queries of sums, rectified": lambda: summary_attention("relu", "f16", 70, (11, 20), 0, 2.0**-17, 2, 0.25),
    "queries of sums, f32": lambda: summary_attention("exp", "f32", 70, (12, 7), 34, 2.0**-17, 1, 0.25),
    "queries of keys so far": lambda: causal_summary_attention("softmax", "bf16", 67, (12, 7), 20, 2.0**-16, padded=True),
    "queries of keys so far, rectified": lambda: causal_summary_attention("relu", "f16", 67, (35, 20), 0, 2.0**-17),
    "queries of keys so far, f32": lambda: causal_summary_attention("exp", "f32", 65, (12, 7), 34, 2.0**-17, padded=True),
    "sums of keys, narrow": lambda: key_summary("softmax", "bf16", 133, 70, (12, 7), 140, BF16, 1, padded=True, narrow=True),
    "sums of keys, narrow, of f16": lambda: key_summary("exp", "f16", 66, 40, (12, 7), 34, F16, 1, narrow=True, scale=3.0),
    "sums of keys, narrow, rectified": lambda: key_summary("relu", "f16", 168, 84, (11, 20), 0, F16, 2, narrow=True, scale=3000.0),
    "queries of sums, narrow": lambda: summary_attention("softmax", "bf16", 133, (12, 7), 40, BF16, 1, narrow=True, value=2.0**100),
    "queries of sums, narrow, of f16": lambda: summary_attention("exp", "f16", 133, (12, 7), 34, F16, 1, 0.25, narrow=True, size=1e6),
    "queries of sums, narrow, rectified": lambda: summary_attention("relu", "f16", 133, (11, 20), 0, F16, 2, 0.25, narrow=True, size=1e-9),
    "queries of sums, narrow, far exponents": lambda: summary_attention("exp", "bf16", 133, (12, 7), 3, BF16, 1, narrow=True, scale=2.0**60),
    "queries of keys so far, narrow": lambda: causal_summary_attention("softmax", "bf16", 67, (12, 7), 40, 2 * BF16, padded=True, narrow=True),
    "queries of keys so far, narrow, of f16": lambda: causal_summary_attention("softmax", "f16", 67, (12, 7), 20, 2 * F16, narrow=True, scale=0.75),
    "queries of keys so far, narrow, rectified": lambda: causal_summary_attention("relu", "bf16", 67, (35, 20), 0, 2 * BF16, narrow=True),
    "heads of length one": lambda: unit_heads(True),
    "heads of length one, no gain": lambda: unit_heads(False),
    "heads of length one, of long rows": lambda: unit_heads(True, 83),
    "norm without a gain": lambda: plain_norm(100),
    "norm of long rows": lambda: plain_norm(2100),
    "norm of long rows by mean square": lambda: by_kind(1, 2049, "rms", True, True),
    "norm by mean square": lambda: by_kind(1, 100, "rms", True, False),
    "norm by length": lambda: by_kind(1, 100, "l2", False, False),
    "norm of heads as wide as a tile": lambda: by_kind(3, 64, "rms", True, True),
    "norm of wide heads by length": lambda: by_kind(2, 128, "l2", False, True),
    "norm of heads within a tile": lambda: by_kind(3, 26, "rms", True, False),
    "norm of heads within a tile, by length": lambda: by_kind(3, 26, "l2", True, True),
    "norm of heads within a tile, of long rows": lambda: by_kind(83, 26, "rms", True, True),
    "norm with a residual": residual_norm,
    "logits of heads": lambda: head_logits("bf16", True, 3, 12, 20),
    "logits of heads in f16": lambda: head_logits("f16", False, 2, 36, 32),
    "logits of heads, f32": lambda: head_logits("f32", True, 3, 11, 19),
    "scaled heads": lambda: scale_heads(3),
    "scaled heads of long rows": lambda: scale_heads(84),
    "patches": lambda: unfold((2, 3, 8, 12), 4, 4, 0),
    "padded squares": lambda: unfold((2, 3, 5, 7), 5, 2, 1),
    "squares of tokens": lambda: moved("hova.unfold", [(2, 32, 3)], "{kernel = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, within = 4 : i64,"
                                       " grid = array<i64: 4, 8>}", squares_of_tokens),
    "embedding": lambda: embedding("i32", False),
    "embedding, ids of 64 bits, columns": lambda: embedding("i64", True),
    "mask of padding": lambda: padding_mask("i32", False),
    "mask of padding, ids of 64 bits, class token": lambda: padding_mask("i64", True),
    "numbers of tokens": position_ids,
    "factors of rows": mask_factors,
    "joined columns": lambda: moved("hova.concat", [(2, 3, 40), (2, 3, 31)], "{axis = 2 : i64}", lambda *x: np.concatenate(x, 2)),
    "joined rows": lambda: moved("hova.concat", [(2, 3, 2, 66), (2, 1, 2, 66), (2, 2, 2, 66)], "{axis = 1 : i64}",
                                 lambda *x: np.concatenate(x, 1)),
    "zeros around rows": lambda: moved("hova.pad", [(2, 3, 2, 66)], "{axis = 1 : i64, before = 1 : i64}",
                                       lambda x: np.pad(x, ((0, 0), (1, 2), (0, 0), (0, 0)))),
    "zeros around columns": lambda: moved("hova.pad", [(2, 3, 60)], "{axis = 2 : i64, before = 5 : i64}",
                                          lambda x: np.pad(x, ((0, 0), (0, 0), (5, 7)))),
    "merged patches": lambda: moved("hova.rearrange", [(2, 24, 11)], "[#hova.merge<2x3, grid 4x6>]", merged),
    "windows": lambda: moved("hova.rearrange", [(2, 24, 66)], "[#hova.window<2x3, shift 1x2, grid 4x6>]", windows),
    "windows in their grid": lambda: moved("hova.rearrange", [(8, 6, 66)], f"[{IN_GRID}]", in_grid),
    "merged windows": lambda: moved("hova.rearrange", [(8, 6, 11)], f"[#hova.chain<{IN_GRID}, #hova.merge<2x3, grid 4x6>>]",
                                    lambda x: merged(in_grid(x))),
    "repeated": lambda: moved("hova.repeat", [(3, 66)], "", lambda x: np.broadcast_to(x, (4, 3, 66))),
    "reshaped": lambda: moved("hova.reshape", [(6, 30)], "", lambda x: x.reshape(9, 20)),
    "sorted states": lambda: moved("hova.index_sort", [(2, 3, 66)] * 3, "", lambda *x: np.stack(x, 2).reshape(2, 9, 66)),
    "shares": lambda: shares((6, 70), False, F32),
    "logarithms of shares, rows in parts": lambda: shares((5, 1100), True, F32),
    "class token": class_token,
    "slice of columns": lambda: sliced((2, 5, 75), 2, 3, 67),
    "slice of rows": lambda: sliced((3, 5, 2, 66), 1, 2, 2),
    "pool of layers": layer_pool,
    "first token": lambda: pool("first", 0.0),
    "mean of tokens": lambda: pool("mean", F32),
    "sum": lambda: elements("hova.add", [(3, 3, 1030), (3, 1030)], np.add, ONCE),
    "product by rows": lambda: elements("hova.multiply", [(2, 3, 70), (2, 3, 1)], np.multiply, ONCE),
    "scaled": lambda: elements("hova.scale", [(6, 70)], lambda x: -0.3 * x, 2 * ONCE),
    "narrowed": lambda: elements("hova.convert", [(6, 70)], rounded, 0.0, "bf16"),
    "activated": lambda: elements("hova.activation tanh", [(6, 70)], np.tanh, F32),
    "attention, a window a warp": lambda: attention("bf16", 3, 13, 11, 2, (6, 10), 6**-0.5, ""),
    "attention, a window a warp, f32": lambda: attention("f32", 2, 16, 27, 2, (6, 6), 6**-0.5, ""),
    "attention, weights as they are": lambda: weights("bf16", "none", 70, 150, 12, BF16),
    "attention, weights over their sum, f32": lambda: weights("f32", "sum", 66, 70, 11, 4 * F32),
    "product of scaled heads": lambda: product_of_scaled_heads("bf16", 5, 64),
    "product of scaled heads in f16": lambda: product_of_scaled_heads("f16", 3, 32),
    "product of scaled heads, f32": lambda: product_of_scaled_heads("f32", 4, 32),
    "attention with logits": lambda: heads_with_logits("bf16", 150, 70, 2, 12, 20, 2 * BF16),
    "attention with logits in f16": lambda: heads_with_logits("f16", 133, 133, 2, 64, 96, 4 * F16),
    "attention with logits, f32": lambda: heads_with_logits("f32", 70, 35, 2, 11, 19, 8 * F32),
    "attention, heads of rows": lambda: heads_of_rows("bf16", 13, 4, (6, 6), 2 * BF16),
    "attention, heads of rows in f16": lambda: heads_of_rows("f16", 61, 4, (14, 10), 2 * F16),
    "attention, heads of rows, f32": lambda: heads_of_rows("f32", 29, 3, (6, 4), 4 * F32),
    "mask of a padding of -1, ids of 64 bits": lambda: padding_mask("i64", False, -1),
    "rotation": lambda: rotation(3, 5, 96, 6),
    "product of rotated columns": lambda: rotated_product(2, 45),
    "product of both halves": gated_product,
    "product of both halves in f16, read elsewhere": lambda: gated_product_read_elsewhere(45),
    "product of both halves in whole blocks, read elsewhere": lambda: gated_product_read_elsewhere(64),
    "product of both halves, f32": gated_product_of_f32,
    "numbers of valid tokens": counted_position_ids,
    "difference": lambda: elements("hova.subtract", [(2, 3, 70), (3, 1)], np.subtract, ONCE),
    "swapped quotient": lambda: elements("hova.divide", [(2, 3, 70), (70,)], lambda x, y: y / x, ONCE, attributes=" {swapped}"),
    "squares of tokens along time": lambda: moved(
        "hova.unfold", [(2, 33, 5)], "{kernel = array<i64: 3, 1>, stride = array<i64: 2, 1>, padding = array<i64: 2, 0>,"
        " dilation = array<i64: 2, 1>, grid = array<i64: 33, 1>}", along_time),
    "largest of tokens": lambda: pool("max", 0.0),
    "mean of kept tokens": lambda: pool_of_kept("mean", F32),
    "largest of kept tokens": lambda: pool_of_kept("max", 0.0),
    "last of kept tokens": lambda: pool_of_kept("last", 0.0),
    "token by its id, ids of 64 bits": lambda: pool_by_id("i64", "{id = 2 : i64}", lambda i: (i == 2).argmax(1)),
    "token of the largest id": lambda: pool_by_id("i32", "", lambda i: i.argmax(1)),
    "powers of e": lambda: elements("hova.exp", [(6, 70)], np.exp, 2 * F32),
    "product with squares": product_and_squares,
    "product with squares, two warps a row": lambda: product_and_squares("--block-rows=32 --block-columns=64 --row-warps=1 --column-warps=2 --stages=2"),
    "product behind a norm": norm_behind_product,
    "product behind a norm, f32": lambda: norm_behind_product("f32"),
    "squared rows of parts": squares_of_parts,
    "squared rows": squares_alone,
    "centred rows": lambda: center_alone(77),
    "centred rows, of long rows": lambda: center_alone(2200),
    "division by a norm": division_alone,
}
