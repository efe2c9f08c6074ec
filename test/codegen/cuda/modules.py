# ===- modules.py - A module for each recipe, and what it should compute ---------=== #
# SPDX-License-Identifier: Apache-2.0
"""Modules that become one kernel by the phases of the CUDA target, for every operation that a kernel can begin with, with what
joins it: functions `main` whose arguments are in the order in which the kernel takes its buffers. The truth is what the formulas of
the operations say, in float64. Sizes are no multiples of tiles, and grids have several blocks along every axis that they have."""

import math
from collections.abc import Callable

import numpy as np
import ptx_numbers
from kernels import BF16, F16, WIDEN, Case, emit

NARROW = {"bf16": ptx_numbers.bf16_of_float, "f16": ptx_numbers.f16_of_float}
# Roundings to f32: one of the largest result, and some.
ONCE, F32 = 2.0**-24, 2.0**-21


class Numbers:
    """Random operands, in the order in which they are asked for."""

    def __init__(self, halves: str = "bf16"):
        self.random = np.random.default_rng(1)
        self.halves = halves
        self.operands: list[np.ndarray] = []

    def wide(self, *shape: int, scale: float = 1.0, transposed: int = 0) -> np.ndarray:
        """An operand of f32, in float64; stored as `narrow` does."""
        values = self.random.standard_normal(shape, np.float32) * np.float32(scale)
        self.store(values, transposed, np.nan)
        return values.astype(np.float64)

    def store(self, values: np.ndarray, transposed: int, none: float) -> None:
        """Where it is stored transposed, rows of it are so many elements apart, of which those between are no numbers."""
        if transposed:
            stored = np.full((values.shape[1], transposed), none, values.dtype)
            stored[:, : values.shape[0]] = values.T
            values = stored
        self.operands.append(values)

    def narrow(self, *shape: int, scale: float = 1.0, transposed: int = 0) -> np.ndarray:
        """An operand of 16 bits, in float64."""
        bits = NARROW[self.halves](self.random.standard_normal(shape, np.float32) * np.float32(scale))
        self.store(bits, transposed, 0x7FFF)
        return WIDEN[self.halves](bits).astype(np.float64)

    def integers(self, *shape: int, below: int, dtype: type) -> np.ndarray:
        """An operand of ids, or of booleans as bytes."""
        values = self.random.integers(0, below, shape).astype(dtype)
        self.operands.append(values)
        return values


RESULTS = {"f32": np.float32, "bf16": np.uint16, "f16": np.uint16, "i32": np.int32, "i1": np.uint8}


def case(numbers: Numbers, source: str, truths: list[np.ndarray], limit: float, types: str, flags: str = "") -> Case:
    """`types` are those of the results."""
    operands = [np.zeros(truth.shape, RESULTS[kind]) for truth, kind in zip(truths, types.split(), strict=True)]
    words = flags.split()
    grid = emit("launch", "-", *words, source=source).split()[1:]
    return Case("-", words, tuple(int(extent) for extent in grid), [*numbers.operands, *operands], truths if len(truths) > 1 else truths[0],
                limit, source, len(truths), numbers.halves)


def rounded(x: np.ndarray) -> np.ndarray:
    """The nearest numbers of bf16, which is what a value is that is only moved."""
    return ptx_numbers.float_of_bf16(ptx_numbers.bf16_of_float(x.astype(np.float32))).astype(np.float64)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def gelu_tanh(x: np.ndarray) -> np.ndarray:
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def softmax(x: np.ndarray) -> np.ndarray:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


# Products ----------------------------------------------------------------------

BLOCK = "--block-rows=32 --block-columns=64 --row-warps=2 --column-warps=1 --stages=2"


def product_residual() -> Case:
    """The sum is read in f32 and in f16."""
    n = Numbers("f16")
    x, w, b, r = n.narrow(70, 72), n.narrow(72, 72, scale=0.1).T, n.wide(72), n.wide(70, 72)
    y = x @ w + b + r
    return case(n, """
      !y = tensor<2x35x72xf32>
      !h = tensor<2x35x72xf16>
      func.func @main(%x: !h, %w: tensor<72x72xf16>, %b: tensor<72xf32>, %r: !y) -> (!y, !h) {
        %0 = hova.linear %x, %w bias(%b) {transposed} : !h, tensor<72x72xf16>, tensor<72xf32> -> !y
        %1 = hova.add %0, %r : !y, !y
        %2 = hova.convert %1 : !y -> !h
        return %1, %2 : !y, !h
      }""", [y, y], F16, "f32 f16", BLOCK)


def product_positions() -> Case:
    """A table with the rows of one sequence is added to those of all."""
    n = Numbers()
    x, w, p = n.narrow(3, 25, 40), n.narrow(72, 40, scale=0.2).T, n.wide(25, 72)
    return case(n, """
      !y = tensor<3x25x72xf32>
      func.func @main(%x: tensor<3x25x40xbf16>, %w: tensor<72x40xbf16>, %p: tensor<25x72xf32>) -> !y {
        %0 = hova.linear %x, %w {transposed} : tensor<3x25x40xbf16>, tensor<72x40xbf16> -> !y
        %1 = hova.add %0, %p : !y, tensor<25x72xf32>
        return %1 : !y
      }""", [x @ w + p], F32, "f32", BLOCK)


def product_gate() -> Case:
    """The channel gate of vertical attention: sigmoid(u w + b) y."""
    n = Numbers()
    u, w, b, y = n.narrow(70, 18), n.narrow(72, 18, scale=0.3).T, n.wide(72), n.wide(70, 72)
    return case(n, """
      !y = tensor<1x70x72xf32>
      func.func @main(%u: tensor<1x70x18xbf16>, %w: tensor<72x18xbf16>, %b: tensor<72xf32>, %y: !y) -> tensor<1x70x72xbf16> {
        %0 = hova.linear %u, %w bias(%b) {transposed} : tensor<1x70x18xbf16>, tensor<72x18xbf16>, tensor<72xf32> -> !y
        %1 = hova.activation sigmoid %0 : !y
        %2 = hova.multiply %1, %y : !y, !y
        %3 = hova.convert %2 : !y -> tensor<1x70x72xbf16>
        return %3 : tensor<1x70x72xbf16>
      }""", [sigmoid(u @ w + b) * y], BF16, "bf16", BLOCK)


def product_of_columns() -> Case:
    """x is columns of a wider matrix."""
    n = Numbers()
    x, w = n.narrow(67, 88)[:, 8:80], n.narrow(66, 72, scale=0.1).T
    return case(n, """
      !x = tensor<1x67x72xbf16>
      !y = tensor<1x67x66xf32>
      func.func @main(%a: tensor<1x67x88xbf16>, %w: tensor<66x72xbf16>) -> tensor<1x67x66xbf16> {
        %x = hova.slice %a {axis = 2 : i64, offset = 8 : i64} : tensor<1x67x88xbf16> -> !x
        %0 = hova.linear %x, %w {transposed} : !x, tensor<66x72xbf16> -> !y
        %1 = hova.activation gelu_tanh %0 : !y
        %2 = hova.convert %1 : !y -> tensor<1x67x66xbf16>
        return %2 : tensor<1x67x66xbf16>
      }""", [gelu_tanh(x @ w)], BF16, "bf16", BLOCK)


def product_of_f32() -> Case:
    """All in f32, by multiply-adds; rows and columns begin at any element."""
    n = Numbers()
    x, w, b = n.wide(67, 81)[:, 5:78], n.wide(70, 73, scale=73**-0.5).T, n.wide(70)
    return case(n, """
      !x = tensor<1x67x73xf32>
      !y = tensor<1x67x70xf32>
      func.func @main(%a: tensor<1x67x81xf32>, %w: tensor<70x73xf32>, %b: tensor<70xf32>) -> !y {
        %x = hova.slice %a {axis = 2 : i64, offset = 5 : i64} : tensor<1x67x81xf32> -> !x
        %y = hova.linear %x, %w bias(%b) {transposed} : !x, tensor<70x73xf32>, tensor<70xf32> -> !y
        return %y : !y
      }""", [x @ w + b], 73 * ONCE, "f32", BLOCK)


def product_of_weight() -> Case:
    """A weight [in, out], which assign transposes; rows of it begin at multiples of 16 bytes."""
    n = Numbers()
    x, w = n.narrow(70, 36), n.narrow(36, 70, scale=0.2, transposed=40)
    return case(n, """
      !y = tensor<1x70x70xf32>
      func.func private @weights() {
        %w = hova.weight "w" : tensor<36x70xbf16>
        hova.store_weight "w", %w : tensor<36x70xbf16>
        return
      }
      func.func @main(%x: tensor<1x70x36xbf16>) -> tensor<1x70x70xbf16> {
        %w = hova.image_weight "w" : tensor<36x70xbf16>
        %0 = hova.linear %x, %w : tensor<1x70x36xbf16>, tensor<36x70xbf16> -> !y
        %1 = hova.activation relu %0 : !y
        %2 = hova.convert %1 : !y -> tensor<1x70x70xbf16>
        return %2 : tensor<1x70x70xbf16>
      }""", [np.maximum(x @ w, 0)], BF16, "bf16", BLOCK)


# Attentions --------------------------------------------------------------------


def attended(q: np.ndarray, k: np.ndarray, v: np.ndarray, heads: int, scale: float) -> np.ndarray:
    """softmax(scale q kT) v, head by head."""
    q, k, v = (x.reshape(*x.shape[:2], heads, -1).transpose(0, 2, 1, 3) for x in (q, k, v))
    o = softmax(scale * q @ k.transpose(0, 1, 3, 2)) @ v
    return o.transpose(0, 2, 1, 3).reshape(o.shape[0], o.shape[2], -1)


def attention(halves: str, batch: int, queries: int, keys: int, heads: int, widths: tuple[int, int], scale: float) -> Case:
    """Of queries to other keys; widths are those of keys and values."""
    n = Numbers(halves)
    draw = n.wide if halves == "f32" else n.narrow
    q, k, v = draw(batch, queries, heads * widths[0]), draw(batch, keys, heads * widths[0]), draw(batch, keys, heads * widths[1])
    types = [f"tensor<{batch}x{rows}x{heads * width}x{halves}>" for rows, width in [(queries, widths[0]), (keys, widths[0]), (keys, widths[1]),
                                                                                  (queries, widths[1])]]
    return case(n, f"""
      func.func @main(%q: {types[0]}, %k: {types[1]}, %v: {types[2]}) -> {types[3]} {{
        %o = hova.attention softmax %q, %k, %v {{heads = {heads} : i64}}
            : ({", ".join(types[:3])}) -> {types[3]} scores {{
        ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
          %scale = hova.number {scale:e}
          %score = arith.mulf %raw, %scale : f32
          %all = arith.constant true
          hova.score_yield %score kept %all
        }}
        return %o : {types[3]}
      }}""", [attended(q, k, v, heads, scale)], {"bf16": BF16, "f16": 2 * F16, "f32": 2 * F32}[halves], halves, "--queries=32 --warps=2 --keys=32")


def block_sparse(halves: str, batch: int, tokens: int, block: int, drawn: int, limit: float) -> Case:
    """Of queries to keys before them, the first of which has none; a row of the table names one block twice, one of the window, and
    what is none."""
    n, heads, widths = Numbers(halves), 2, (12, 7)
    draw = n.wide if halves == "f32" else n.narrow
    q, k, v = draw(batch, tokens, heads * widths[0]), draw(batch, tokens, widths[0]), draw(batch, tokens, widths[1])
    blocks = -(-tokens // block)
    table = n.integers(heads, blocks - 2, drawn, below=blocks, dtype=np.int32) if drawn else np.zeros((heads, blocks - 2, 0), np.int32)
    if drawn:
        table[0, 0], table[1, -1] = (3, 3, 1)[:drawn], (-1, blocks, 2)[:drawn]
    truth = np.zeros((batch, tokens, heads * widths[1]))
    for b, h, i in np.ndindex(batch, heads, tokens):
        own = i // block
        seen = list(range(blocks)) if own in (0, blocks - 1) else sorted({0, own - 1, own, own + 1, blocks - 1})
        if own not in (0, blocks - 1):
            seen += [t for t in table[h, own - 1] if 0 <= t < blocks]
        keys = [j for t in seen for j in range(t * block, min((t + 1) * block, tokens)) if j < i]
        if keys:
            scores = k[b, keys] @ q[b, i, h * widths[0] : (h + 1) * widths[0]] * 0.25
            truth[b, i, h * widths[1] : (h + 1) * widths[1]] = softmax(scores) @ v[b, keys]
    q_type, k_type, v_type, y = (f"tensor<{batch}x{tokens}x{width}x{halves}>" for width in (heads * widths[0], *widths, heads * widths[1]))
    table_type = f"tensor<{heads}x{blocks - 2}x{drawn}xi32>"
    return case(n, f"""
      func.func @main(%q: {q_type}, %k: {k_type}, %v: {v_type}{f", %t: {table_type}" if drawn else ""}) -> {y} {{
        %o = hova.block_sparse_attention %q, %k, %v {"random_blocks(%t)" if drawn else ""}
            {{heads = {heads} : i64, block = {block} : i64, key_value_heads = 1 : i64}}
            : ({q_type}, {k_type}, {v_type}{f", {table_type}" if drawn else ""}) -> {y} scores {{
        ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
          %scale = hova.number 0.25
          %score = arith.mulf %raw, %scale : f32
          %kept = arith.cmpi slt, %key, %query : index
          hova.score_yield %score kept %kept
        }}
        return %o : {y}
      }}""", [truth], limit, halves)


def project_tokens(halves: str, limit: float) -> Case:
    """wT x for each sequence, whose rows and columns begin at any element."""
    n = Numbers(halves)
    draw = n.wide if halves == "f32" else n.narrow
    x, w = draw(2, 75, 77)[:, :, 3:74], draw(75, 66, scale=75**-0.5, transposed=80 if halves == "bf16" else 76)
    weight = f"tensor<75x66x{halves}>"
    return case(n, f"""
      !x = tensor<2x75x71x{halves}>
      !y = tensor<2x66x71x{halves}>
      func.func private @weights() {{
        %w = hova.weight "w" : {weight}
        hova.store_weight "w", %w : {weight}
        return
      }}
      func.func @main(%a: tensor<2x75x77x{halves}>) -> !y {{
        %w = hova.image_weight "w" : {weight}
        %x = hova.slice %a {{axis = 2 : i64, offset = 3 : i64}} : tensor<2x75x77x{halves}> -> !x
        %y = hova.project_tokens %x, %w : !x, {weight} -> !y
        return %y : !y
      }}""", [np.einsum("btc,tp->bpc", x, w)], limit, halves)


def unit_heads(gain: bool) -> Case:
    """Each head at length one, times its gain; the last column of a row is within a tile."""
    n = Numbers()
    x, g = n.wide(2, 5, 3 * 26), n.wide(3) if gain else np.ones(3)
    heads = x.reshape(2, 5, 3, 26)
    unit = g[:, None] * heads / np.linalg.norm(heads, axis=-1, keepdims=True)
    return case(n, f"""
      !x = tensor<2x5x78xf32>
      func.func @main(%x: !x{", %g: tensor<3xf32>" if gain else ""}) -> !x {{
        %y = hova.normalize_heads %x {"gain(%g)" if gain else ""} {{heads = 3 : i64, eps = 1.0e-12 : f64}} : !x{", tensor<3xf32>" if gain else ""}
        return %y : !x
      }}""", [unit.reshape(x.shape)], F32, "f32")


# Rows --------------------------------------------------------------------------


def normed(x: np.ndarray, eps: float) -> np.ndarray:
    apart = x - x.mean(-1, keepdims=True)
    return apart / np.sqrt((apart * apart).mean(-1, keepdims=True) + eps)


def plain_norm() -> Case:
    """No gain; rows end within a tile."""
    n = Numbers()
    x = n.wide(7, 100, scale=3) + 0
    return case(n, """
      func.func @main(%x: tensor<7x100xf32>) -> tensor<7x100xf32> {
        %0 = hova.layer_norm %x {eps = 1.0e-5 : f64} : tensor<7x100xf32>
        return %0 : tensor<7x100xf32>
      }""", [normed(x, 1e-5)], F32, "f32")


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


def scale_heads() -> Case:
    """Heads times their shares of a softmax."""
    n = Numbers()
    h, logits = n.narrow(2, 5, 3 * 26), n.wide(2, 5, 3)
    return case(n, """
      !h = tensor<2x5x78xbf16>
      func.func @main(%h: !h, %b: tensor<2x5x3xf32>) -> !h {
        %0 = hova.scale_heads %h, %b : !h, tensor<2x5x3xf32>
        return %0 : !h
      }""", [h * np.repeat(softmax(logits), 26, axis=2)], BF16, "bf16")


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
        %0 = hova.unfold %x {{kernel = {kernel} : i64, stride = {stride} : i64, padding = {padding} : i64}} : tensor<{image}xf32> -> tensor<{y}xf32>
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
    n = Numbers()
    x = n.wide(2, 9, 70)
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
      }}""", [x[:, 0] if kind == "first" else x.mean(1)], limit, "f32")


def embedding(ids: str, transposed: bool) -> Case:
    """Rows of a table, or its columns; one id that is none has zeros, as positions outside of a matrix have."""
    n = Numbers()
    own = n.integers(3, 5, below=11, dtype={"i32": np.int32, "i64": np.int64}[ids])
    own[1, 2] = {"i32": -1, "i64": 2**32 + 1}[ids]
    table = n.narrow(*((70, 11) if transposed else (11, 70)))
    rows = np.where((own == own[1, 2])[..., None], 0, (table.T if transposed else table)[own % 11])
    shape = "x".join(map(str, table.shape))
    return case(n, f"""
      func.func @main(%i: tensor<3x5x{ids}>, %t: tensor<{shape}xbf16>) -> tensor<3x5x70xbf16> {{
        %0 = hova.embedding %i, %t {"{transposed}" if transposed else ""} : tensor<3x5x{ids}>, tensor<{shape}xbf16> -> tensor<3x5x70xbf16>
        return %0 : tensor<3x5x70xbf16>
      }}""", [rows], 0.0, "bf16")


def padding_mask(ids: str, class_token: bool) -> Case:
    n = Numbers()
    own = n.integers(6, 69, below=3, dtype={"i32": np.int32, "i64": np.int64}[ids])
    mask = own != 2
    if class_token:
        mask = np.concatenate([mask[:, :1], mask], axis=1)
    to = f"tensor<6x{mask.shape[1]}xi1>"
    return case(n, f"""
      func.func @main(%i: tensor<6x69x{ids}>) -> {to} {{
        %0 = hova.padding_mask %i {{pad = 2 : i64{", class_token" if class_token else ""}}} : tensor<6x69x{ids}> -> {to}
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


# Elements ----------------------------------------------------------------------


def elements(operation: str, shapes: list[tuple[int, ...]], truth: Callable[..., np.ndarray], limit: float, to: str = "f32") -> Case:
    """An operation on elements alone, as it stands between kernels that it could not join."""
    n = Numbers()
    values = [n.wide(*shape) for shape in shapes]
    types = [f"tensor<{'x'.join(map(str, shape))}xf32>" for shape in shapes]
    result = types[0].replace("f32", to)
    names = [f"%{i}" for i in range(len(shapes))]
    arrow = f" -> {result}" if "convert" in operation else ""
    attributes = " {factor = -0.3 : f64}" if "scale" in operation else ""
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


# Linear attention --------------------------------------------------------------


def features(x: np.ndarray, w: np.ndarray | None, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """(scale x w)_r and |scale x|^2 / 2 of rows x, of each head."""
    scaled = scale * x
    return scaled if w is None else scaled @ w, (scaled**2).sum(-1) / 2


def of_heads(x: np.ndarray, heads: int) -> np.ndarray:
    """[batch, heads, tokens, width of a head]."""
    return x.reshape(*x.shape[:2], heads, -1).transpose(0, 2, 1, 3)


def weight_of(rows: int, columns: int) -> tuple[str, str]:
    """A weight of f32 as the kernel's operand: its program, and how main reads it."""
    kind = f"tensor<{rows}x{columns}xf32>"
    return (f"""func.func private @weights() {{
        %w = hova.weight "w" : {kind}
        hova.store_weight "w", %w : {kind}
        return
      }}""", f'%w = hova.image_weight "w" : {kind}')


def key_summary(kind: str, halves: str, tokens: int, block: int, widths: tuple[int, int], count: int, limit: float, batch: int, padded: bool = False) -> Case:
    """Sums over blocks of keys; those of softmax relative to the maximum of the block, which is in its last row."""
    n, heads, scale, eps = Numbers(halves), 2, 0.5, 0.125 if kind == "relu" else 0.0
    draw = n.wide if halves == "f32" else n.narrow
    k, v = draw(batch, tokens, heads * widths[0]), draw(batch, tokens, heads * widths[1])
    w = n.wide(widths[0], count, transposed=(count and widths[0] + -widths[0] % 4)) if count else None
    valid = n.integers(batch, tokens, below=2, dtype=np.uint8) if padded else np.ones((batch, tokens), np.uint8)
    if padded:
        valid[:, :block] = 0  # a block without keys
    products, half = features(of_heads(k, heads), w, scale)
    count, extra = products.shape[-1], 2 if kind == "softmax" else 0
    blocks, values = -(-tokens // block), of_heads(v, heads)
    truth = np.zeros((batch, heads, blocks, count + extra, widths[1] + 1))
    for b, h, t in np.ndindex(batch, heads, blocks):
        own = [j for j in range(block * t, min(block * (t + 1), tokens)) if valid[b, j]]
        most = products[b, h, own].max() if own and extra else 0.0
        shift = math.log(count) / 2 if kind == "exp" else most
        made = np.maximum(products[b, h, own], 0) + eps if kind == "relu" else np.exp(products[b, h, own] - half[b, h, own, None] - shift)
        ones = np.concatenate([values[b, h, own], np.ones((len(own), 1))], 1)
        truth[b, h, t, :count] = made.T @ ones
        if extra:
            truth[b, h, t, count] = ones.sum(0)
            truth[b, h, t, count + 1] = most * math.log2(math.e) if own else -1e30
    kinds = [f"tensor<{batch}x{tokens}x{heads * width}x{halves}>" for width in widths]
    shape = "x".join(map(str, truth.shape))
    program, read = weight_of(widths[0], count) if w is not None else ("", "")
    arguments = f"%k: {kinds[0]}, %v: {kinds[1]}" + (f", %m: tensor<{batch}x{tokens}xi1>" if padded else "")
    types = ", ".join([*kinds, *([f"tensor<{widths[0]}x{count}xf32>"] if read else []), *([f"tensor<{batch}x{tokens}xi1>"] if padded else [])])
    return case(n, f"""
      {program}
      func.func @main({arguments}) -> tensor<{shape}xf32> {{
        {read}
        %y = hova.key_summary {kind} %k, %v {"features(%w)" if read else ""} {"key_valid(%m)" if padded else ""}
            {{heads = {heads} : i64, block = {block} : i64, scale = {scale} : f64, eps = {eps} : f64}} : ({types}) -> tensor<{shape}xf32>
        return %y : tensor<{shape}xf32>
      }}""", [truth], limit, "f32")


def merge_summaries(kind: str, rows: int, columns: int, limit: float) -> Case:
    """Of three blocks: that of softmax scales sums by powers of two."""
    n = Numbers()
    s = n.wide(2, 3, 3, rows, columns)
    if kind == "softmax":
        n.operands[0][:, :, :, -1] = n.random.integers(-9, 9, (2, 3, 3, 1))
        n.operands[0][0, 1, 1, -1] = -1e30
        s = n.operands[0].astype(np.float64)
        most = s[:, :, :, -1:].max(2, keepdims=True)
        scaled = s * np.exp2(s[:, :, :, -1:] - most)
        truth = scaled.sum(2, keepdims=True)
        truth[:, :, 0, -2], truth[:, :, :, -1:] = s[:, :, :, -2].sum(2), most
    else:
        truth = s.sum(2, keepdims=True)
    return case(n, f"""
      func.func @main(%s: tensor<2x3x3x{rows}x{columns}xf32>) -> tensor<2x3x1x{rows}x{columns}xf32> {{
        %y = hova.merge_summaries {kind} %s : tensor<2x3x3x{rows}x{columns}xf32> -> tensor<2x3x1x{rows}x{columns}xf32>
        return %y : tensor<2x3x1x{rows}x{columns}xf32>
      }}""", [truth], limit, "f32")


def summary_attention(kind: str, halves: str, tokens: int, widths: tuple[int, int], count: int, limit: float, batch: int, added: float = 0.0) -> Case:
    """Queries read sums of one block; two heads share a head of these. `added` is each constant that is added to denominators."""
    n, heads, scale = Numbers(halves), 2, 0.5
    eps = 0.0 if kind == "exp" else 0.125
    q = (n.wide if halves == "f32" else n.narrow)(batch, tokens, heads * widths[0])
    features_count, extra = count or widths[0], 2 if kind == "softmax" else 0
    n.store(np.abs(n.random.standard_normal((batch, 1, 1, features_count + extra, widths[1] + 1), np.float32)), 0, np.nan)
    s = n.operands[-1].astype(np.float64)[:, :, 0]
    w = n.wide(widths[0], count, transposed=(count and widths[0] + -widths[0] % 4)) if count else None
    products, half = features(of_heads(q, heads), w, scale)
    if kind == "relu":
        own = np.maximum(products, 0) + eps
    else:
        peak = products.max(-1, keepdims=True) if extra else math.log(features_count) / 2
        own = np.exp(products - half[..., None] - peak) + eps
    sums = s[:, :, :features_count] + (eps * s[:, :, features_count : features_count + 1] if extra else 0)
    result = own @ sums / (features_count if extra else 1)
    denominator = result[..., -1:]
    denominator = denominator + np.where(np.abs(denominator) <= added, 2 * added, 0) + added
    truth = (result[..., :-1] / denominator).transpose(0, 2, 1, 3).reshape(batch, tokens, -1)
    kinds = [f"tensor<{batch}x{tokens}x{heads * widths[0]}x{halves}>", f"tensor<{batch}x1x1x{features_count + extra}x{widths[1] + 1}xf32>"]
    program, read = weight_of(widths[0], count) if w is not None else ("", "")
    types = ", ".join([*kinds, *([f"tensor<{widths[0]}x{count}xf32>"] if read else [])])
    shape = "x".join(map(str, truth.shape))
    return case(n, f"""
      {program}
      func.func @main(%q: {kinds[0]}, %s: {kinds[1]}) -> tensor<{shape}xf32> {{
        {read}
        %y = hova.summary_attention {kind} %q, %s {"features(%w)" if read else ""}
            {{heads = {heads} : i64, block = 64 : i64, scale = {scale} : f64, eps = {eps} : f64, stabilizer = {added} : f64,
             denominator_eps = {added} : f64}} : ({types}) -> tensor<{shape}xf32>
        return %y : tensor<{shape}xf32>
      }}""", [truth], limit, "f32")


MODULES = {
    "product, f16, with a residual": product_residual,
    "product with positions": product_positions,
    "product with a gate": product_gate,
    "product of columns": product_of_columns,
    "product of a weight": product_of_weight,
    "attention, heads of 12": lambda: attention("bf16", 2, 70, 45, 2, (12, 12), 12**-0.5),
    "attention, heads of 6 in f16": lambda: attention("f16", 2, 70, 45, 2, (6, 6), 6**-0.5),
    "attention, heads of 32 and 20": lambda: attention("bf16", 2, 70, 70, 2, (32, 20), -0.25),
    "attention, heads of 11 and 7, f32": lambda: attention("f32", 2, 65, 75, 2, (11, 7), 11**-0.5),
    "product, f32": product_of_f32,
    "attention, heads of 9 and 7": lambda: attention("bf16", 2, 65, 75, 2, (9, 7), 9**-0.5),
    "product of tokens": lambda: project_tokens("bf16", BF16),
    "product of tokens, f32": lambda: project_tokens("f32", 75 * ONCE),
    "attention to blocks": lambda: block_sparse("bf16", 1, 83, 20, 3, BF16),
    "attention to blocks in f16": lambda: block_sparse("f16", 2, 35, 8, 0, 2 * F16),
    "sums of keys": lambda: key_summary("softmax", "bf16", 33, 20, (12, 7), 63, 2.0**-17, 1, padded=True),
    "sums of keys, rectified": lambda: key_summary("relu", "f16", 70, 40, (11, 20), 0, 2.0**-17, 2),
    "sums of keys, f32": lambda: key_summary("exp", "f32", 45, 36, (12, 7), 34, 2.0**-17, 1, padded=True),
    "merged sums": lambda: merge_summaries("softmax", 12, 5, F32),
    "merged sums, rectified": lambda: merge_summaries("relu", 9, 67, F32),
    "queries of sums": lambda: summary_attention("softmax", "bf16", 70, (12, 7), 20, 2.0**-17, 1),
    "queries of sums, rectified": lambda: summary_attention("relu", "f16", 70, (11, 20), 0, 2.0**-17, 2, 0.25),
    "queries of sums, f32": lambda: summary_attention("exp", "f32", 70, (12, 7), 34, 2.0**-17, 1, 0.25),
    "heads of length one": lambda: unit_heads(True),
    "heads of length one, no gain": lambda: unit_heads(False),
    "norm without a gain": plain_norm,
    "norm with a residual": residual_norm,
    "logits of heads": lambda: head_logits("bf16", True, 3, 12, 20),
    "logits of heads in f16": lambda: head_logits("f16", False, 2, 36, 32),
    "logits of heads, f32": lambda: head_logits("f32", True, 3, 11, 19),
    "scaled heads": scale_heads,
    "patches": lambda: unfold((2, 3, 8, 12), 4, 4, 0),
    "padded squares": lambda: unfold((2, 3, 5, 7), 5, 2, 1),
    "squares of tokens": lambda: moved("hova.unfold", [(2, 32, 3)], "{kernel = 3 : i64, stride = 2 : i64, padding = 1 : i64, within = 4 : i64,"
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
}
