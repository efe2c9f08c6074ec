# ===- gate_modules.py - Modules whose products hold both halves of their columns ---=== #
# SPDX-License-Identifier: Apache-2.0
"""Gated feed-forwards: a block has columns of both halves of a product (modules.py). Halves end within a block unless a case says so."""

import numpy as np
from kernels import BF16, F16, Case
from module_cases import F32, ONCE, Numbers, case, gelu_tanh, sigmoid
from product_modules import BLOCK

# Each warp has runs of both halves.
WARPS = "--block-rows=32 --block-columns=64 --row-warps=1 --column-warps=2 --stages=2"


def gated_product() -> Case:
    """silu of the first half times the second one."""
    n = Numbers()
    x, w = n.narrow(2, 35, 72), n.narrow(144, 72, scale=0.1).T
    y = x @ w
    return case(n, """
      !y = tensor<2x35x144xf32>
      !h = tensor<2x35x72xf32>
      func.func @main(%x: tensor<2x35x72xbf16>, %w: tensor<144x72xbf16>) -> tensor<2x35x72xbf16> {
        %y = hova.linear %x, %w {transposed} : tensor<2x35x72xbf16>, tensor<144x72xbf16> -> !y
        %g = hova.slice %y {axis = 2 : i64, offset = 0 : i64} : !y -> !h
        %u = hova.slice %y {axis = 2 : i64, offset = 72 : i64} : !y -> !h
        %a = hova.activation silu %g : !h
        %m = hova.multiply %a, %u : !h, !h
        %0 = hova.convert %m : !h -> tensor<2x35x72xbf16>
        return %0 : tensor<2x35x72xbf16>
      }""", [y[..., :72] * sigmoid(y[..., :72]) * y[..., 72:]], BF16, "bf16", BLOCK)


def gated_product_read_elsewhere(half: int) -> Case:
    """Also the product itself is read, what becomes of its second half, and columns of both halves, which a block may have whole. The
    second half is added to what both make."""
    n = Numbers("f16")
    x, w, b = n.narrow(1, 67, 40), n.narrow(2 * half, 40, scale=0.2).T, n.wide(2 * half)
    y = x @ w + b
    first, second = y[..., :half], y[..., half:]
    return case(n, f"""
      !y = tensor<1x67x{2 * half}xf32>
      !h = tensor<1x67x{half}xf32>
      !c = tensor<1x67x20xf32>
      func.func @main(%x: tensor<1x67x40xf16>, %w: tensor<{2 * half}x40xf16>, %b: tensor<{2 * half}xf32>) -> (!y, !h, tensor<1x67x{half}xf16>, !c) {{
        %y = hova.linear %x, %w bias(%b) {{transposed}} : tensor<1x67x40xf16>, tensor<{2 * half}x40xf16>, tensor<{2 * half}xf32> -> !y
        %g = hova.slice %y {{axis = 2 : i64, offset = 0 : i64}} : !y -> !h
        %u = hova.slice %y {{axis = 2 : i64, offset = {half} : i64}} : !y -> !h
        %s = hova.slice %y {{axis = 2 : i64, offset = {half - 15} : i64}} : !y -> !c
        %a = hova.activation gelu_tanh %g : !h
        %t = hova.scale %u {{factor = 0.5 : f64}} : !h
        %m = hova.multiply %t, %a : !h, !h
        %p = hova.add %m, %u : !h, !h
        %0 = hova.convert %p : !h -> tensor<1x67x{half}xf16>
        %c = hova.scale %s {{factor = 2.0 : f64}} : !c
        return %y, %t, %0, %c : !y, !h, tensor<1x67x{half}xf16>, !c
      }}""", [y, second * 0.5, gelu_tanh(first) * 0.5 * second + second, y[..., half - 15 : half + 5] * 2], F16, "f32 f32 f16 f32", WARPS)


def gated_product_of_f32() -> Case:
    """By multiply-adds, with a bias; halves are read without anything between, and multiplied with a number for each row."""
    n = Numbers()
    x, w, b, r = n.wide(1, 67, 73), n.wide(142, 73, scale=73**-0.5).T, n.wide(142), n.wide(1, 67, 1)
    y = x @ w + b
    return case(n, """
      !y = tensor<1x67x142xf32>
      !h = tensor<1x67x71xf32>
      func.func @main(%x: tensor<1x67x73xf32>, %w: tensor<142x73xf32>, %b: tensor<142xf32>, %r: tensor<1x67x1xf32>) -> !h {
        %y = hova.linear %x, %w bias(%b) {transposed} : tensor<1x67x73xf32>, tensor<142x73xf32>, tensor<142xf32> -> !y
        %g = hova.slice %y {axis = 2 : i64, offset = 0 : i64} : !y -> !h
        %u = hova.slice %y {axis = 2 : i64, offset = 71 : i64} : !y -> !h
        %m = hova.multiply %g, %u : !h, !h
        %0 = hova.multiply %m, %r : !h, tensor<1x67x1xf32>
        return %0 : !h
      }""", [y[..., :71] * y[..., 71:] * r], 73 * ONCE, "f32", WARPS)
