# ===- wgmma_modules.py - Products of warp groups ----------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Kernels for sm_90a whose products stay under way for a turn: those of the product recipe, and some of group operations whose
left operand is in registers."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import ptx_numbers
from kernels import BF16, F16, Case, bf16, generator, product, wide, written

ARCH = "sm_90a"
NARROW = {"bf16": ptx_numbers.bf16_of_float, "f16": ptx_numbers.f16_of_float}
WIDEN = {"bf16": ptx_numbers.float_of_bf16, "f16": ptx_numbers.float_of_f16}


def grouped(rows: int, inner: int, columns: int, block: tuple[int, int], options: str = "", stages: int = 3, under_way: int = 1, seed: int = 0) -> Case:
    """The product of kernels.product, by warps of 16 rows each."""
    case = product(rows, inner, columns, block, (block[0] // 16, 1), options, stages, seed)
    return replace(case, flags=[*case.flags, f"--under-way={under_way}", f"--gpu={ARCH}"])


def module_product(halves: str) -> Case:
    """The same of a module, in another type: y = x wT, of which rows end in a block."""
    random = generator(3)
    x, w = (NARROW[halves](random.standard_normal(shape, np.float32) * np.float32(scale)) for shape, scale in (((70, 96), 1), ((64, 96), 96**-0.5)))
    truth = WIDEN[halves](x).astype(np.float64) @ WIDEN[halves](w).astype(np.float64).T
    source = f"""func.func @main(%x: tensor<70x96x{halves}>, %w: tensor<64x96x{halves}>) -> tensor<70x64x{halves}> {{
  %0 = hova.linear %x, %w {{transposed}} : tensor<70x96x{halves}>, tensor<64x96x{halves}> -> tensor<70x64xf32>
  %1 = hova.convert %0 : tensor<70x64xf32> -> tensor<70x64x{halves}>
  return %1 : tensor<70x64x{halves}>
}}"""
    flags = ["--block-rows=64", "--block-columns=64", "--row-warps=4", "--column-warps=1", "--stages=3", "--under-way=1", f"--gpu={ARCH}"]
    return Case("-", flags, (2, 1), [x, w, np.zeros((70, 64), np.uint16)], truth, {"bf16": BF16, "f16": F16}[halves], source, halves=halves)


def added(rows: int, inner: int, columns: int, block: tuple[int, int], residual: str = "f32") -> Case:
    """y = x wT + r, whose r is copied to shared memory before the first turn."""
    random = generator(6)
    x, w = bf16(random, rows, inner), bf16(random, columns, inner, scale=inner**-0.5)
    r = random.standard_normal((rows, columns), np.float32) if residual == "f32" else bf16(random, rows, columns)
    truth = wide(x) @ wide(w).T + (r if residual == "f32" else wide(r))
    source = f"""func.func @main(%x: tensor<{rows}x{inner}xbf16>, %w: tensor<{columns}x{inner}xbf16>, %r: tensor<{rows}x{columns}x{residual}>)
    -> tensor<{rows}x{columns}xf32> {{
  %0 = hova.linear %x, %w {{transposed}} : tensor<{rows}x{inner}xbf16>, tensor<{columns}x{inner}xbf16> -> tensor<{rows}x{columns}xf32>
  %1 = hova.add %0, %r : tensor<{rows}x{columns}xf32>, tensor<{rows}x{columns}x{residual}>
  return %1 : tensor<{rows}x{columns}xf32>
}}"""
    flags = [f"--block-rows={block[0]}", f"--block-columns={block[1]}", f"--row-warps={block[0] // 16}", "--column-warps=1"]
    grid = (-(-rows // block[0]), -(-columns // block[1]))
    return Case("-", [*flags, "--stages=3", "--under-way=1", f"--gpu={ARCH}"], grid, [x, w, r, np.zeros((rows, columns), np.float32)], truth, 2 * inner * 2.0**-24, source)


def from_registers(folder: Path, depth: int = 64, groups: int = 1, under_way: int = 0) -> Case:
    """r = x wT + x vT, where x is a tile in registers and two products are begun before a wait."""
    random, rows, columns = generator(4), 64 * groups, 48
    x, w, v = bf16(random, rows, depth), bf16(random, columns, depth, scale=0.125), bf16(random, columns, depth, scale=0.125)
    t, a = f"!hova.tile<{rows}x{columns}xf32, product {4 * groups}x1>", f"!hova.tile<{rows}x{depth}xbf16, product {4 * groups}x1>"
    m, s = f"memref<{columns}x{depth}xbf16>", f"!hova.slots<2x{columns}x{depth}xbf16>"
    text = f"""
func.func @kernel(%x: memref<{rows}x{depth}xbf16>, %w: {m}, %v: {m}, %r: memref<{rows}x{columns}xf32>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %s = hova.group_alloc : {s}
  %k = hova.group_copy %w[%c0, %c0] to %s[%c0] {{in_bounds = array<i1: true, true>}} : {m} to {s}
  %l = hova.group_copy %v[%c0, %c0] to %s[%c1] {{in_bounds = array<i1: true, true>}} : {m} to {s}
  %a = hova.group_load %x[%c0, %c0] {{in_bounds = array<i1: true, true>}} : memref<{rows}x{depth}xbf16> -> {a}
  %z = hova.group_map () : () -> {t} {{
  ^bb0(%p: index, %q: index):
    hova.group_yield %zero : f32
  }}
  hova.group_wait %k, %l
  %u = hova_cuda.begin_product %a, %s[%c0], %z : {a}, {s}, {t}
  %b = hova_cuda.end_products {under_way}, %u : {t}
  %e = hova_cuda.begin_product %a, %s[%c1], %b : {a}, {s}, {t}
  %t = hova_cuda.end_products 0, %e : {t}
  hova.group_store %t, %r[%c0, %c0] {{in_bounds = array<i1: true, true>}} : {t}, memref<{rows}x{columns}xf32>
  return
}}"""
    truth = wide(x) @ wide(w).T + wide(x) @ wide(v).T
    case = written(folder, text, [x, w, v, np.zeros((rows, columns), np.float32)], truth, 2 * depth * 2.0**-24)
    return replace(case, flags=[f"--gpu={ARCH}"])


def shared_left(folder: Path) -> Case:
    """r = (2 x) wT, where 2 x is stored to a slot by the threads that hold it."""
    random = generator(5)
    x, w = bf16(random, 64, 32), bf16(random, 64, 32, scale=0.125)
    t, a, s, m = "!hova.tile<64x64xf32, product 4x1>", "!hova.tile<64x32xbf16, product 4x1>", "!hova.slots<1x64x32xbf16>", "memref<64x32xbf16>"
    text = f"""
func.func @kernel(%x: {m}, %w: {m}, %r: memref<64x64xf32>) {{
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %xs = hova.group_alloc : {s}
  %ws = hova.group_alloc : {s}
  %k = hova.group_copy %w[%c0, %c0] to %ws[%c0] {{in_bounds = array<i1: true, true>}} : {m} to {s}
  %a = hova.group_load %x[%c0, %c0] {{in_bounds = array<i1: true, true>}} : {m} -> {a}
  %b = hova.group_map (%a) : ({a}) -> {a} {{
  ^bb0(%e: bf16, %p: index, %q: index):
    %f = arith.extf %e : bf16 to f32
    %g = arith.addf %f, %f : f32
    %h = arith.truncf %g : f32 to bf16
    hova.group_yield %h : bf16
  }}
  hova.group_wait %k
  hova.group_share %b, %xs[%c0] : {a}, {s}
  %z = hova.group_map () : () -> {t} {{
  ^bb0(%p: index, %q: index):
    hova.group_yield %zero : f32
  }}
  %u = hova_cuda.begin_product %xs[%c0], %ws[%c0], %z : {s}, {s}, {t}
  %t = hova_cuda.end_products 0, %u : {t}
  hova.group_store %t, %r[%c0, %c0] {{in_bounds = array<i1: true, true>}} : {t}, memref<64x64xf32>
  return
}}"""
    case = written(folder, text, [x, w, np.zeros((64, 64), np.float32)], 2 * wide(x) @ wide(w).T, 32 * 2.0**-24)
    return replace(case, flags=[f"--gpu={ARCH}"])


WGMMA: dict[str, Callable[[Path], Case]] = {
    "whole blocks": lambda _: grouped(128, 256, 128, (64, 128)),
    "two groups": lambda _: grouped(128, 320, 128, (128, 128), "bias gelu"),
    "rows and columns that end in a block": lambda _: grouped(70, 200, 72, (64, 64)),
    "wide blocks, one part": lambda _: grouped(130, 32, 264, (64, 256)),
    "wide blocks of two groups": lambda _: grouped(140, 192, 264, (128, 256), "bias"),
    "blocks of 160 columns, of which some are none": lambda _: grouped(70, 192, 200, (64, 160), "bias"),
    "blocks of 96 columns, two groups": lambda _: grouped(128, 256, 192, (128, 96), "bias gelu"),
    "a residual": lambda _: added(128, 192, 128, (64, 128)),
    "a residual whose rows and columns end in a block": lambda _: added(140, 256, 200, (64, 160)),
    "a residual of 16 bits": lambda _: added(130, 64, 96, (128, 96), "bf16"),
    "two parts, all copied at first": lambda _: grouped(64, 128, 64, (64, 64), "wide"),
    "four slots": lambda _: grouped(64, 448, 128, (64, 128), "wide", 4),
    "five slots, two turns under way": lambda _: grouped(64, 576, 48, (64, 48), "wide", 5, 2),
    "f16": lambda _: module_product("f16"),
    "a module": lambda _: module_product("bf16"),
    "from registers": from_registers,
    "from registers, half a row, under way": lambda folder: from_registers(folder, 32, 2, 1),
    "a stored left operand": shared_left,
}
