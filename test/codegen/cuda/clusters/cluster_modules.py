# ===- cluster_modules.py - Products that blocks of a cluster add -----------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Kernels of which each block of a cluster multiplies a part of the inner dimension, and has rows of the sum of all."""

from dataclasses import replace

import numpy as np
import ptx_numbers
from kernels import BF16, Case, ceil, generator, product


def divided(rows, inner, columns, block, warps, cluster, options="", level="sm_90a", under_way=0, stages=3):
    """The product of kernels.product, by clusters of so many blocks."""
    case = product(rows, inner, columns, block, warps, options, stages)
    flags = [*case.flags, f"--cluster={cluster}", f"--gpu={level}", f"--under-way={under_way}"]
    return replace(case, flags=flags, grid=(*case.grid, cluster))


def joined(halves="bf16", rows=70, inner=256, columns=96, cluster=4):
    """y = x wT + b + r in f32, and its squares beside, whose sum is of 32 columns; y is read in 16 bits too."""
    random = generator(8)
    narrow, widen = {"bf16": (ptx_numbers.bf16_of_float, ptx_numbers.float_of_bf16), "f16": (ptx_numbers.f16_of_float, ptx_numbers.float_of_f16),
                     "f32": (np.float32, np.float64)}[halves]
    x, w = narrow(random.standard_normal((rows, inner), np.float32)), narrow(random.standard_normal((columns, inner), np.float32) * np.float32(inner**-0.5))
    b, r = random.standard_normal(columns, np.float32), random.standard_normal((rows, columns), np.float32)
    y = widen(x).astype(np.float64) @ widen(w).astype(np.float64).T + b + r
    h = halves if halves != "f32" else "bf16"
    source = f"""func.func @main(%x: tensor<{rows}x{inner}x{halves}>, %w: tensor<{columns}x{inner}x{halves}>, %b: tensor<{columns}xf32>, %r: tensor<{rows}x{columns}xf32>)
    -> (tensor<{rows}x{columns}xf32>, tensor<{rows}x{columns}x{h}>) {{
  %0 = hova.linear %x, %w bias(%b) {{transposed}} : tensor<{rows}x{inner}x{halves}>, tensor<{columns}x{inner}x{halves}>, tensor<{columns}xf32> -> tensor<{rows}x{columns}xf32>
  %1 = hova.add %0, %r : tensor<{rows}x{columns}xf32>, tensor<{rows}x{columns}xf32>
  %2 = hova.convert %1 : tensor<{rows}x{columns}xf32> -> tensor<{rows}x{columns}x{h}>
  return %1, %2 : tensor<{rows}x{columns}xf32>, tensor<{rows}x{columns}x{h}>
}}"""
    flags = ["--block-rows=64", "--block-columns=64", "--row-warps=2", "--column-warps=2", "--stages=3", "--under-way=0", f"--cluster={cluster}", "--gpu=sm_90a"]
    return Case("-", flags, (ceil(rows, 64), ceil(columns, 64), cluster), [x, w, b, r, np.zeros(y.shape, np.float32), np.zeros(y.shape, np.uint16)], [y, y],
                BF16, source, 2, h)


CASES = {
    "two blocks": lambda: divided(64, 256, 64, (64, 64), (2, 2), 2, "wide"),
    "four blocks, rows and columns that end in a block": lambda: divided(70, 512, 136, (64, 64), (2, 2), 4, "bias gelu"),
    "eight blocks": lambda: divided(128, 512, 128, (64, 128), (2, 2), 8, "wide bias"),
    "sm_120": lambda: divided(64, 256, 64, (64, 64), (2, 2), 4, "wide", "sm_120", stages=2),
    "products under way": lambda: divided(70, 768, 128, (64, 128), (4, 1), 4, "wide bias", under_way=1),
    "two groups under way": lambda: divided(130, 384, 64, (128, 64), (8, 1), 2, "wide", under_way=1),
    "what joins": joined,
    "what joins, in f16": lambda: joined("f16", cluster=2),
    "what joins, in f32": lambda: joined("f32", cluster=8),
}
