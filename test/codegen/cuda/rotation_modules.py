# ===- rotation_modules.py - Modules in which pairs of columns are rotated --------=== #
# SPDX-License-Identifier: Apache-2.0
"""Rotations by themselves and in the kernel of a product (modules.py). Pairs are complex numbers in the truth."""

import numpy as np
from kernels import BF16, Case
from module_cases import F32, Numbers, case
from product_modules import BLOCK


def tables(n: Numbers, tokens: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Operands cosines and sines of all columns, whose signs are of no rotation: each has numbers of its own."""
    return n.wide(tokens, columns), n.wide(tokens, columns)


def turned(x: np.ndarray, cosines: np.ndarray, sines: np.ndarray) -> np.ndarray:
    """Each column and its neighbour, times what the tables have for the column."""
    times = x.shape[-1] // cosines.shape[1]
    partners = np.stack([x[..., 1::2], x[..., 0::2]], axis=-1).reshape(x.shape)
    return x * np.tile(cosines, times) + partners * np.tile(sines, times)


def rotation(items: int, tokens: int, width: int, period: int) -> Case:
    """A kernel of its own; the tables begin anew with each item, and within a tile."""
    n = Numbers()
    x = n.wide(items, tokens, width)
    c, s = tables(n, tokens, period)
    return case(n, f"""
      !x = tensor<{items}x{tokens}x{width}xf32>
      !t = tensor<{tokens}x{period}xf32>
      func.func @main(%x: !x, %c: !t, %s: !t) -> !x {{
        %y = hova.rotate %x, %c, %s : !x, !t
        return %y : !x
      }}""", [turned(x, c, s)], F32, "f32")


def rotated_product(items: int, tokens: int) -> Case:
    """Queries and keys of one product, which has columns that are not rotated besides."""
    n = Numbers()
    x, w, b = n.narrow(items, tokens, 40), n.narrow(160, 40, scale=0.2).T, n.wide(160)
    c, s = tables(n, tokens, 32)
    y = x @ w + b
    return case(n, f"""
      !x = tensor<{items}x{tokens}x40xbf16>
      !w = tensor<160x40xbf16>
      !y = tensor<{items}x{tokens}x160xf32>
      !q = tensor<{items}x{tokens}x64xf32>
      !v = tensor<{items}x{tokens}x32xf32>
      !t = tensor<{tokens}x32xf32>
      func.func @main(%x: !x, %w: !w, %b: tensor<160xf32>, %c: !t, %s: !t)
          -> (tensor<{items}x{tokens}x64xbf16>, tensor<{items}x{tokens}x64xbf16>, !v) {{
        %y = hova.linear %x, %w bias(%b) {{transposed}} : !x, !w, tensor<160xf32> -> !y
        %q = hova.slice %y {{axis = 2 : i64, offset = 0 : i64}} : !y -> !q
        %k = hova.slice %y {{axis = 2 : i64, offset = 64 : i64}} : !y -> !q
        %v = hova.slice %y {{axis = 2 : i64, offset = 128 : i64}} : !y -> !v
        %0 = hova.rotate %q, %c, %s : !q, !t
        %1 = hova.rotate %k, %c, %s : !q, !t
        %2 = hova.convert %0 : !q -> tensor<{items}x{tokens}x64xbf16>
        %3 = hova.convert %1 : !q -> tensor<{items}x{tokens}x64xbf16>
        %4 = hova.scale %v {{factor = 0.5 : f64}} : !v
        return %2, %3, %4 : tensor<{items}x{tokens}x64xbf16>, tensor<{items}x{tokens}x64xbf16>, !v
      }}""", [turned(y[..., :64], c, s), turned(y[..., 64:128], c, s), y[..., 128:] * 0.5], 2 * BF16, "bf16 bf16 f32", BLOCK)
