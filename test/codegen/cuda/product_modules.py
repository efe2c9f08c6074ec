# ===- product_modules.py - Modules of products ----------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Functions `main` for the recipes of products, as in modules.py."""

import numpy as np
from kernels import BF16, F16, WIDEN, Case
from module_cases import F32, NARROW, ONCE, Numbers, case, gelu_tanh, sigmoid, softmax

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


def product_of_scaled_heads(halves: str, heads: int, width: int) -> Case:
    """Horizontal attention's heads, scaled by the softmax of their logits and rounded, times the output's weight, and a residual.
    A share of 0 leaves nothing of its head."""
    n, tokens, columns = Numbers(halves), 37, 72
    draw = n.wide if halves == "f32" else n.narrow
    h = draw(2, tokens, heads * width)
    logits = n.random.standard_normal((2, tokens, heads), np.float32)
    logits[:, 4, 1] = -np.inf
    n.store(logits, 0, np.nan)
    w, b, r = draw(columns, heads * width, scale=0.1).T, n.wide(columns), n.wide(2, tokens, columns)
    scaled, spread = h * np.repeat(softmax(logits.astype(np.float64)), width, axis=2), 0.0
    if halves != "f32":
        # A share is right to 2^-20: two units of each exponential and one of the reciprocal may be missing (PTX), and half a unit of
        # what an exponential is made of. So near to the middle of two numbers of 16 bits, what it scales may be rounded to either.
        least, scaled, most = (WIDEN[halves](NARROW[halves]((scaled * factor).astype(np.float32))).astype(np.float64)
                               for factor in (1 - 2**-20, 1, 1 + 2**-20))
        spread = np.abs(most - least) @ np.abs(w)
    made = case(n, f"""
      !h = tensor<2x{tokens}x{heads * width}x{halves}>
      !w = tensor<{columns}x{heads * width}x{halves}>
      !y = tensor<2x{tokens}x{columns}xf32>
      func.func @main(%h: !h, %l: tensor<2x{tokens}x{heads}xf32>, %w: !w, %b: tensor<{columns}xf32>, %r: !y) -> !y {{
        %0 = hova.scale_heads %h, %l : !h, tensor<2x{tokens}x{heads}xf32>
        %1 = hova.linear %0, %w bias(%b) {{transposed}} : !h, !w, tensor<{columns}xf32> -> !y
        %2 = hova.add %1, %r : !y, !y
        return %2 : !y
      }}""", [scaled @ w + b + r], 4 * F32, "f32")
    made.spread = spread
    return made


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
    """A weight [in, out], which assign transposes; rows of it begin where rows of values do, as codegen/cuda/facts/AllGpus.h says. In one
    row of x a number is none, and relu keeps what it makes of the row."""
    n = Numbers()
    x = n.spoil(n.narrow(70, 36), 67, 35)
    w = n.narrow(36, 70, scale=0.2, transposed=40)
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


def project_tokens(halves: str, limit: float) -> Case:
    """wT x for each sequence, whose rows and columns begin at any element."""
    n = Numbers(halves)
    draw = n.wide if halves == "f32" else n.narrow
    x, w = draw(2, 75, 77)[:, :, 3:74], draw(75, 66, scale=75**-0.5, transposed=80)
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


def product_in_parts(halves: str, limit: float) -> Case:
    """Two parts of the inner dimension, 136 columns of x each: the last turn of a part ends within a step."""
    n = Numbers(halves)
    draw = n.wide if halves == "f32" else n.narrow
    x, w = draw(67, 272), draw(66, 272, scale=0.1).T
    return case(n, f"""
      !y = tensor<2x1x67x66xf32>
      func.func @main(%x: tensor<1x67x272x{halves}>, %w: tensor<66x272x{halves}>) -> !y {{
        %y = hova.linear_parts %x, %w {{transposed}} : tensor<1x67x272x{halves}>, tensor<66x272x{halves}> -> !y
        return %y : !y
      }}""", [np.stack([x[:, :136] @ w[:136], x[:, 136:] @ w[136:]])], limit, "f32", BLOCK)


def sum_of_parts() -> Case:
    """Added from the first on, with the bias after the last; a norm reads the rows with a residual."""
    n = Numbers()
    x, b, r = n.wide(3, 2, 5, 77), n.wide(77), n.wide(2, 5, 77)
    y = x.sum(0) + b + r
    apart = y - y.mean(-1, keepdims=True)
    return case(n, """
      !y = tensor<2x5x77xf32>
      func.func @main(%x: tensor<3x2x5x77xf32>, %b: tensor<77xf32>, %r: !y) -> (!y, !y) {
        %0 = hova.sum_parts %x bias(%b) : tensor<3x2x5x77xf32>, tensor<77xf32> -> !y
        %1 = hova.add %0, %r : !y, !y
        %2 = hova.layer_norm %1 {eps = 0.01 : f64} : !y
        return %1, %2 : !y, !y
      }""", [y, apart / np.sqrt((apart * apart).mean(-1, keepdims=True) + 0.01)], F32, "f32 f32")


def squares_of(x: np.ndarray, columns: int = 32) -> np.ndarray:
    parts = -(-x.shape[-1] // columns)
    padded = np.zeros((*x.shape[:-1], parts * columns))
    padded[..., : x.shape[-1]] = x * x
    return padded.reshape(*x.shape[:-1], parts, columns).sum(-1)


def product_and_squares(flags: str = BLOCK) -> Case:
    """What a residual stream gets of a product: the sum, in f32; that times the gain of the norm, rounded; and sums of its squares, of
    which the last is of 8 columns. Rows and columns end within tiles."""
    n = Numbers()
    x, w, b, r, g = n.narrow(2, 35, 72), n.narrow(72, 72, scale=0.1).T, n.wide(72), n.wide(2, 35, 72), n.wide(72)
    y = x @ w + b + r
    return case(n, """
      !y = tensor<2x35x72xf32>
      !h = tensor<2x35x72xbf16>
      !q = tensor<2x35x3xf32>
      func.func @main(%x: !h, %w: tensor<72x72xbf16>, %b: tensor<72xf32>, %r: !y, %g: tensor<72xf32>) -> (!y, !q, !h) {
        %0 = hova.linear %x, %w bias(%b) {transposed} : !h, tensor<72x72xbf16>, tensor<72xf32> -> !y
        %1 = hova.add %r, %0 : !y, !y
        %2 = hova.row_squares %1 {columns = 32 : i64} : !y -> !q
        %3 = hova.multiply %1, %g : !y, tensor<72xf32>
        %4 = hova.convert %3 : !y -> !h
        return %1, %2, %4 : !y, !q, !h
      }""", [y, squares_of(y), y * g], BF16, "f32 f32 bf16", flags)


def norm_behind_product(halves: str = "bf16") -> Case:
    """Five parts of squares, which four lanes of a row add, one of them two."""
    n, tokens, width, eps = Numbers(), 35, 136, 0.01
    draw = n.narrow if halves == "bf16" else n.wide
    x, w = draw(2, tokens, width), draw(72, width, scale=0.1).T
    q, b = n.wide(2, tokens, 5), n.wide(72)
    n.operands[2] = np.abs(n.operands[2])
    y = x @ w / np.sqrt(np.abs(q).sum(-1, keepdims=True) / width + eps) + b
    return case(n, f"""
      !x = tensor<2x{tokens}x{width}x{halves}>
      !y = tensor<2x{tokens}x72xf32>
      !q = tensor<2x{tokens}x5xf32>
      func.func @main(%x: !x, %w: tensor<72x{width}x{halves}>, %q: !q, %b: tensor<72xf32>) -> !y {{
        %0 = hova.linear %x, %w {{transposed}} : !x, tensor<72x{width}x{halves}> -> !y
        %1 = hova.divide_by_rms %0, %q bias(%b) {{eps = {eps} : f64, width = {width} : i64}} : !y, !q, tensor<72xf32>
        %2 = hova.activation relu %1 : !y
        return %2 : !y
      }}""", [np.maximum(y, 0)], width * ONCE, "f32", BLOCK)


def squares_of_parts() -> Case:
    """Where a warp has a row: eight lanes have the columns of a sum. What begins a stream is centred there."""
    n = Numbers()
    x, r = n.wide(3, 2, 5, 200), n.wide(2, 5, 200)
    y = x.sum(0) + r
    apart = y - y.mean(-1, keepdims=True)
    return case(n, """
      !y = tensor<2x5x200xf32>
      !q = tensor<2x5x7xf32>
      func.func @main(%x: tensor<3x2x5x200xf32>, %r: !y) -> (!y, !q, !y) {
        %0 = hova.sum_parts %x : tensor<3x2x5x200xf32> -> !y
        %1 = hova.add %0, %r : !y, !y
        %2 = hova.row_squares %1 {columns = 32 : i64} : !y -> !q
        %3 = hova.center %1 : !y
        return %1, %2, %3 : !y, !q, !y
      }""", [y, squares_of(y), apart], F32, "f32 f32 f32")


def squares_alone() -> Case:
    """Of rows that are longer than a tile, in kernels of their own, as where kernels are not fused."""
    n = Numbers()
    x = n.wide(5, 1100)
    return case(n, """
      func.func @main(%x: tensor<5x1100xf32>) -> tensor<5x35xf32> {
        %0 = hova.row_squares %x {columns = 32 : i64} : tensor<5x1100xf32> -> tensor<5x35xf32>
        return %0 : tensor<5x35xf32>
      }""", [squares_of(x)], F32, "f32")


def center_alone(width: int) -> Case:
    """Of 2,200 columns a warp has parts, one after the other."""
    n = Numbers()
    x = n.wide(5, width)
    return case(n, f"""
      func.func @main(%x: tensor<5x{width}xf32>) -> tensor<5x{width}xf32> {{
        %0 = hova.center %x : tensor<5x{width}xf32>
        return %0 : tensor<5x{width}xf32>
      }}""", [x - x.mean(-1, keepdims=True)], F32, "f32")


def division_alone() -> Case:
    """As where kernels are not fused, without a bias."""
    n = Numbers()
    x, q = n.wide(2, 9, 150), n.wide(2, 9, 3)
    n.operands[1] = np.abs(n.operands[1])
    return case(n, """
      !x = tensor<2x9x150xf32>
      func.func @main(%x: !x, %q: tensor<2x9x3xf32>) -> !x {
        %0 = hova.divide_by_rms %x, %q {eps = 0.5 : f64, width = 96 : i64} : !x, tensor<2x9x3xf32>
        return %0 : !x
      }""", [x / np.sqrt(np.abs(q).sum(-1, keepdims=True) / 96 + 0.5)], F32, "f32")
