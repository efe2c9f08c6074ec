# ===- test_group_ops.py - Operations of a group where they are not round ---------=== #
# SPDX-License-Identifier: Apache-2.0
"""Operations of a group at places that no recipe of a large model has: rows of any width, tiles
that begin before a matrix and end after it. Run in both executors, which must give the same bits."""

import math
import re

import numpy as np
import ptx_numbers
import pytest
import sass
from kernels import written

KINDS = {"f32": np.float32, "bf16": np.uint16, "f16": np.uint16}
NARROW = {"bf16": ptx_numbers.bf16_of_float, "f16": ptx_numbers.f16_of_float}
WIDEN = {"bf16": ptx_numbers.float_of_bf16, "f16": ptx_numbers.float_of_f16}


def numbers(shape, element, seed=0):
    """Small integers, which all types have."""
    values = np.random.default_rng(seed).integers(-120, 120, shape).astype(np.float32)
    return values if element == "f32" else NARROW[element](values)


def both(case, folder):
    """The result, which is the same in both executors and whatever the order."""
    orders = [("late", 1), ("mixed", 2)]
    results = [*case.emulate(folder, orders), *(case.run(*order) for order in orders)]
    for result in results[1:]:
        assert np.array_equal(result.view(np.uint8), results[0].view(np.uint8))
    return results[0]


def shifted(source, rows, columns, row, column):
    """rows x columns of a matrix from (row, column) on, zeros outside of it."""
    result = np.zeros((rows, columns), source.dtype)
    for i in range(rows):
        for j in range(columns):
            if 0 <= row + i < source.shape[0] and 0 <= column + j < source.shape[1]:
                result[i, j] = source[row + i, column + j]
    return result


def widest(case):
    """Bytes of the widest access to global memory, when loading and when storing."""
    text = case.ptx()
    widths = {}
    for line in text.splitlines():
        words = line.strip().split()
        if words and words[0].startswith(("ld.global", "st.global")):
            parts = words[0].split(".")
            count = next((int(p[1:]) for p in parts if p[0] == "v" and p[1:].isdigit()), 1)
            widths[parts[0]] = max(widths.get(parts[0], 0), count * int(parts[-1][1:]) // 8)
    return widths["ld"], widths["st"]


# Lanes of the tile, its extents, extents of the matrix, first row and column, and bytes that a load may move at most: what
# the stride of a row, the first column and the extent of a row allow.
WINDOWS = [
    ("product 2x1", (32, 32), (20, 40), (0, 0), "f32", 8),
    ("product 2x1", (32, 32), (20, 41), (3, 0), "f32", 4),
    ("product 2x1", (32, 32), (20, 40), (-5, -16), "f32", 8),
    ("product 2x1", (32, 32), (20, 40), (-5, -13), "f32", 4),
    ("product 2x1", (32, 32), (20, 40), (7, 13), "bf16", 2),
    ("product 2x1", (32, 32), (20, 40), (7, 14), "bf16", 4),
    ("product 2x1", (32, 64), (33, 10), (0, 0), "bf16", 4),
    ("product 2x1", (32, 64), (33, 13), (0, 0), "bf16", 2),
    ("product 2x1", (32, 64), (17, 1), (0, 0), "bf16", 2),
    ("product 2x1", (32, 64), (17, 1), (0, 0), "f32", 4),
    ("row 2x1", (4, 128), (9, 100), (6, 0), "f32", 16),
    ("row 2x1", (4, 128), (9, 100), (6, 2), "f32", 8),
    ("row 2x1", (4, 128), (9, 102), (-2, -3), "f32", 4),
    ("row 2x1", (4, 128), (9, 100), (0, -48), "bf16", 8),
    ("row 2x1", (4, 128), (9, 90), (0, -48), "bf16", 4),
    ("row 2x1", (4, 64), (5, 48), (1, 0), "bf16", 4),
    ("row 2x1", (4, 64), (5, 43), (1, 0), "bf16", 2),
    ("row 2x1", (4, 96), (5, 48), (0, 0), "bf16", 2),
    ("row 2x1", (4, 96), (5, 90), (1, -3), "f32", 4),
    ("row 4x1", (4, 32), (9, 10), (0, 0), "bf16", 2),
    ("row 1x2", (4, 192), (5, 190), (0, 0), "bf16", 2),
]


@pytest.mark.parametrize("lanes, tile, extents, start, element, width", WINDOWS)
def test_loads_of_any_window(lanes, tile, extents, start, element, width, tmp_path):
    source = numbers(extents, element)
    truth = shifted(source, *tile, *start)
    t = f"!hova.tile<{tile[0]}x{tile[1]}x{element}, {lanes}>"
    case = written(tmp_path, f"""
func.func @kernel(%m: memref<{extents[0]}x{extents[1]}x{element}>, %r: memref<{tile[0]}x{tile[1]}x{element}>) {{
  %i = arith.constant {start[0]} : index
  %j = arith.constant {start[1]} : index
  %c0 = arith.constant 0 : index
  %t = hova.group_load %m[%i, %j] : memref<{extents[0]}x{extents[1]}x{element}> -> {t}
  hova.group_store %t, %r[%c0, %c0] : {t}, memref<{tile[0]}x{tile[1]}x{element}>
  return
}}""", [source, np.zeros(tile, KINDS[element])], truth)
    assert np.array_equal(both(case, tmp_path), truth)
    assert widest(case)[0] == width


@pytest.mark.parametrize("lanes, tile, extents, start, element, width", WINDOWS)
def test_stores_of_any_window(lanes, tile, extents, start, element, width, tmp_path):
    """Writes the matrix in blocks, the first of which begins before it; a store moves as much as a load of such a window, or
    16 bytes where the results of a warp go through shared memory."""
    begin = [-abs(first) for first in start]
    blocks = [-(-(extents[i] - begin[i]) // tile[i]) for i in range(2)]
    padded = (blocks[0] * tile[0], blocks[1] * tile[1])
    source = numbers(padded, element)
    truth = shifted(source, *extents, -begin[0], -begin[1])
    t = f"!hova.tile<{tile[0]}x{tile[1]}x{element}, {lanes}>"
    m, r = (f"memref<{shape[0]}x{shape[1]}x{element}>" for shape in (padded, extents))
    case = written(tmp_path, f"""
func.func @kernel(%m: {m}, %r: {r}, %x: index, %y: index) {{
  %rows = arith.constant {tile[0]} : index
  %columns = arith.constant {tile[1]} : index
  %i = arith.muli %x, %rows : index
  %j = arith.muli %y, %columns : index
  %ci = arith.constant {begin[0]} : index
  %cj = arith.constant {begin[1]} : index
  %k = arith.addi %i, %ci : index
  %l = arith.addi %j, %cj : index
  %t = hova.group_load %m[%i, %j] : {m} -> {t}
  hova.group_store %t, %r[%k, %l] : {t}, {r}
  return
}}""", [source, np.zeros(extents, KINDS[element])], truth, grid=tuple(blocks))
    assert np.array_equal(both(case, tmp_path), truth)
    staged = lanes == "product 2x1" and element == "bf16" and extents[1] % 8 == 0 and start[1] % 8 == 0
    assert widest(case)[1] == (16 if staged else width)


# Element, columns of a matrix, and sectors: of rows that begin at sectors each block of eight columns asks for one, of others
# for two at most.
ODD_COLUMNS = [
    ("f32", 48, 6 * 20),
    ("f32", 41, 11 * 20),
    ("bf16", 48, 6 * 20),
    ("f16", 41, 9 * 20),
]


@pytest.mark.parametrize("element, columns, sectors", ODD_COLUMNS)
def test_columns_that_are_stored_alone_lie_side_by_side(element, columns, sectors, tmp_path):
    """From any column on a lane stores one element at a time; a request has all columns of a block, not every other one."""
    source = numbers((32, 64), element)
    t, m, r = f"!hova.tile<32x64x{element}, product 1x2>", f"memref<32x64x{element}>", f"memref<20x{columns}x{element}>"
    case = written(tmp_path, f"""
func.func @kernel(%m: {m}, %r: {r}, %x: index) {{
  %c0 = arith.constant 0 : index
  %t = hova.group_load %m[%c0, %c0] {{in_bounds = array<i1: true, true>}} : {m} -> {t}
  hova.group_store %t, %r[%c0, %x] : {t}, {r}
  return
}}""", [source, np.zeros((20, columns), KINDS[element])], source[:20, :columns])
    assert np.array_equal(both(case, tmp_path), source[:20, :columns])
    _, used, least = case.counts(tmp_path)["sectors of stores"]
    assert least <= used <= sectors


# Members, rows and columns of a box, extents of the matrix, first row and column, and bytes that a copy moves.
COPIES = [
    (4, (64, 64), (70, 64), (0, 0), 16),
    (4, (64, 64), (70, 72), (32, 16), 16),
    (4, (64, 128), (64, 136), (-3, -8), 16),
    (4, (16, 32), (20, 32), (-7, 0), 16),  # fewer chunks than threads
    (2, (32, 32), (20, 12), (0, 0), 8),
    (4, (32, 64), (33, 12), (16, 0), 8),
    (4, (32, 32), (33, 4), (1, 0), 8),
    (4, (32, 32), (33, 10), (0, 0), 4),
    (4, (48, 64), (33, 34), (0, 0), 4),
    (4, (32, 64), (17, 72), (0, 36), 8),
    (4, (32, 64), (17, 72), (0, -36), 8),
    (4, (32, 64), (17, 72), (-20, 6), 4),
    (1, (16, 64), (17, 64), (0, 0), 16),  # four rows at once
    (3, (48, 64), (40, 64), (0, 0), 16),  # 12 rows at once
    (3, (48, 64), (40, 50), (0, 0), 4),
    (8, (32, 64), (31, 64), (5, 0), 16),
    (4, (32, 64), (9, 44), (0, 0), 8),
    (4, (32, 64), (9, 13 * 8 + 4), (0, 96), 8),
    # A round has 16 rows, and the first row is a multiple of 32 or 64: a round that the matrix ends in, between rounds, and before it.
    (4, (64, 64), (70, 64), (64, 0), 16),
    (4, (64, 64), (96, 64), (64, 0), 16),
    (4, (64, 64), (20, 64), (-32, 0), 16),
    (4, (96, 64), (112, 64), (32, 0), 16),
]


@pytest.mark.parametrize("members, box, extents, start, width", COPIES)
def test_copies_of_any_window(members, box, extents, start, width, tmp_path):
    """A unit matrix times the transposed box shows the box; all members together copy it, however few its rows are."""
    source = numbers(extents, "bf16")
    group = 16 * members
    rows = -(-box[1] // group) * group
    unit = ptx_numbers.bf16_of_float(np.eye(rows, box[1], dtype=np.float32))
    truth = np.zeros((rows, box[0]), np.float32)
    truth[: box[1]] = ptx_numbers.float_of_bf16(shifted(source, *box, *start)).T
    t = f"!hova.tile<{rows}x{box[0]}xf32, product {members}x1>"
    m, u, r = f"memref<{extents[0]}x{extents[1]}xbf16>", f"memref<{rows}x{box[1]}xbf16>", f"memref<{rows}x{box[0]}xf32>"
    xs, ws = (f"!hova.slots<1x{n}x{box[1]}xbf16>" for n in (rows, box[0]))
    case = written(tmp_path, f"""
func.func @kernel(%u: {u}, %m: {m}, %r: {r}) {{
  %i = arith.constant {start[0]} : index
  %j = arith.constant {start[1]} : index
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %x = hova.group_alloc : {xs}
  %w = hova.group_alloc : {ws}
  %k = hova.group_copy %u[%c0, %c0] to %x[%c0] {{in_bounds = array<i1: true, true>}} : {u} to {xs}
  %l = hova.group_copy %m[%i, %j] to %w[%c0] : {m} to {ws}
  hova.group_wait %k, %l
  %z = hova.group_map () : () -> {t} {{
  ^bb0(%p: index, %q: index):
    hova.group_yield %zero : f32
  }}
  %t = hova.group_product %x[%c0], %w[%c0] transposed, %z : {xs}, {ws}, {t}
  hova.group_store %t, %r[%c0, %c0] : {t}, {r}
  return
}}""", [unit, source, np.zeros((rows, box[0]), np.float32)], truth)
    assert np.array_equal(both(case, tmp_path), truth)
    moved = re.findall(r"cp\.async\.c[ag]\S*\s+\[[^]]*\], \[[^]]*\], (\d+)", case.ptx())
    assert {"16", str(width)} == set(moved)
    if width < 16:
        sass.check_registers(case.ptx(), tmp_path)


def test_rows_of_32_columns_are_reduced(tmp_path):
    """Sums of rows of 48 columns, of which a tile has 96, and what is left when each is taken away."""
    source = numbers((7, 48), "f32")
    truth = source - source.sum(1, keepdims=True)
    t, s, m = "!hova.tile<4x96xf32, row 4x1>", "!hova.tile<4x1xf32, row 4x1>", "memref<7x48xf32>"
    case = written(tmp_path, f"""
func.func @kernel(%m: {m}, %r: {m}, %x: index) {{
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %i = arith.muli %x, %c4 : index
  %t = hova.group_load %m[%i, %c0] : {m} -> {t}
  %s = hova.group_reduce add %t : {t} -> {s}
  %u = hova.group_map (%t, %s) : ({t}, {s}) -> {t} {{
  ^bb0(%a: f32, %b: f32, %p: index, %q: index):
    %d = arith.subf %a, %b : f32
    hova.group_yield %d : f32
  }}
  hova.group_store %u, %r[%i, %c0] : {t}, {m}
  return
}}""", [source, np.zeros((7, 48), np.float32)], truth, grid=(2,))
    assert np.array_equal(both(case, tmp_path), truth)


@pytest.mark.parametrize(("lanes", "columns"), [("product 2x2", 128), ("product 4x1", 16), ("row 4x1", 64), ("row 4x1", 128)])
def test_neighbours_change_places(lanes, columns, tmp_path):
    source = numbers((64, columns), "f32")
    truth = source.reshape(64, -1, 2)[:, :, ::-1].reshape(64, columns)
    t, m = f"!hova.tile<64x{columns}xf32, {lanes}>", f"memref<64x{columns}xf32>"
    case = written(tmp_path, f"""
func.func @kernel(%m: {m}, %r: {m}, %x: index) {{
  %c0 = arith.constant 0 : index
  %t = hova.group_load %m[%c0, %c0] : {m} -> {t}
  %u = hova.group_exchange %t : {t}
  hova.group_store %u, %r[%c0, %c0] : {t}, {m}
  return
}}""", [source, np.zeros((64, columns), np.float32)], truth)
    assert np.array_equal(both(case, tmp_path), truth)


@pytest.mark.parametrize("half", [0, 1])
@pytest.mark.parametrize(("members", "columns"), [((2, 2), 128), ((1, 4), 128), ((4, 1), 32)])
def test_every_member_has_a_half_of_its_columns(members, columns, half, tmp_path):
    source = numbers((64, columns), "f32")
    truth = source.reshape(64, members[1], 2, -1)[:, :, half].reshape(64, columns // 2)
    t, u = (f"!hova.tile<64x{width}xf32, product {members[0]}x{members[1]}>" for width in (columns, columns // 2))
    m, r = f"memref<64x{columns}xf32>", f"memref<64x{columns // 2}xf32>"
    case = written(tmp_path, f"""
func.func @kernel(%m: {m}, %r: {r}, %x: index) {{
  %c0 = arith.constant 0 : index
  %t = hova.group_load %m[%c0, %c0] : {m} -> {t}
  %u = hova.group_half %t {"second" if half else ""} : {t} -> {u}
  hova.group_store %u, %r[%c0, %c0] : {u}, {r}
  return
}}""", [source, np.zeros((64, columns // 2), np.float32)], truth)
    assert np.array_equal(both(case, tmp_path), truth)


# Lanes of a tile, its extents, and the extents of the matrix: what many threads hold is written by one.
ALONE = [
    ("product 2x2", (64, 1), (50, 1)),
    ("product 2x2", (1, 64), (1, 50)),
    ("product 4x1", (64, 1), (64, 1)),
    ("product 1x4", (1, 128), (1, 128)),
    ("product 2x2", (1, 1), (1, 1)),
    ("row 2x2", (8, 1), (7, 1)),
    ("row 2x2", (1, 128), (1, 100)),
    ("row 4x1", (1, 1), (1, 1)),
]


@pytest.mark.parametrize("element", KINDS)
@pytest.mark.parametrize("lanes, tile, extents", ALONE)
def test_what_many_threads_hold_is_stored_once(lanes, tile, extents, element, tmp_path):
    source = numbers(extents, element)
    t, m = f"!hova.tile<{tile[0]}x{tile[1]}x{element}, {lanes}>", f"memref<{extents[0]}x{extents[1]}x{element}>"
    case = written(tmp_path, f"""
func.func @kernel(%m: {m}, %r: {m}) {{
  %c0 = arith.constant 0 : index
  %t = hova.group_load %m[%c0, %c0] : {m} -> {t}
  hova.group_store %t, %r[%c0, %c0] : {t}, {m}
  return
}}""", [source, np.zeros_like(source)], source)
    assert np.array_equal(both(case, tmp_path), source)


def test_copies_a_head_of_12_columns(tmp_path):
    """Head 2 of 17 tokens, 4 heads of 12 columns: what lies after its columns is zero, and not the next head."""
    source = numbers((2, 17, 144), "bf16")
    truth = shifted(source[1, :, 48 + 2 * 12 : 48 + 3 * 12], 64, 32, 0, 0)
    t, m, r, s = "!hova.tile<64x32xbf16, product 4x1>", "memref<2x17x144xbf16>", "memref<2x4x64x32xbf16>", "!hova.slots<1x64x32xbf16>"
    view, part = "memref<17x12xbf16, strided<[144, 1], offset: ?>>", "memref<64x32xbf16, strided<[32, 1], offset: ?>>"
    case = written(tmp_path, f"""
func.func @kernel(%m: {m}, %r: {r}, %x: index, %y: index) {{
  %c0 = arith.constant 0 : index
  %c12 = arith.constant 12 : index
  %c48 = arith.constant 48 : index
  %s = hova.group_alloc : {s}
  %h = arith.muli %y, %c12 : index
  %k = arith.addi %h, %c48 : index
  %v = memref.subview %m[%x, 0, %k] [1, 17, 12] [1, 1, 1] : {m} to {view}
  %c = hova.group_copy %v[%c0, %c0] to %s[%c0] : {view} to {s}
  hova.group_wait %c
  %t = hova.group_load %s[%c0] : {s} -> {t}
  %w = memref.subview %r[%x, %y, 0, 0] [1, 1, 64, 32] [1, 1, 1, 1] : {r} to {part}
  hova.group_store %t, %w[%c0, %c0] : {t}, {part}
  return
}}""", [source, np.zeros((2, 4, 64, 32), np.uint16)], truth, grid=(2, 4))
    assert np.array_equal(both(case, tmp_path)[1, 2], truth)


# Lanes of a tile of 32x64, and its element.
GATHERS = [("product 2x1", "f32"), ("product 2x1", "bf16"), ("row 2x1", "bf16"), ("product 1x2", "bf16"), ("row 2x2", "f32"), ("row 2x2", "bf16"),
           ("product 2x1", "f16"), ("row 2x2", "f16")]


@pytest.mark.parametrize("lanes, element", GATHERS)
def test_gathers_patches_of_an_image(lanes, element, tmp_path):
    """Patches of 8x8 at steps of 5, the first of which begins 2 rows and 3 columns before the image of 40x30."""
    image = numbers((3, 40, 30), element)
    truth = np.stack([shifted(image[1], 8, 8, 5 * (i // 6) - 2, 5 * (i % 6) - 3).reshape(64) for i in range(32)])
    t, m, n = f"!hova.tile<32x64x{element}, {lanes}>", f"memref<3x40x30x{element}>", f"memref<32x64x{element}>"
    view = f"memref<40x30x{element}, strided<[30, 1], offset: ?>>"
    case = written(tmp_path, f"""
func.func @kernel(%m: {m}, %r: {n}, %x: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %c6 = arith.constant 6 : index
  %c8 = arith.constant 8 : index
  %above = arith.constant -2 : index
  %before = arith.constant -3 : index
  %second = arith.addi %x, %c1 : index
  %image = memref.subview %m[%second, 0, 0] [1, 40, 30] [1, 1, 1] : {m} to {view}
  %t = hova.group_gather %image : {view} -> {t} {{
  ^bb0(%i: index, %j: index):
    %p = arith.divui %i, %c6 : index
    %q = arith.remui %i, %c6 : index
    %y = arith.divui %j, %c8 : index
    %z = arith.remui %j, %c8 : index
    %top = arith.muli %p, %c5 : index
    %left = arith.muli %q, %c5 : index
    %a = arith.addi %top, %y : index
    %b = arith.addi %left, %z : index
    %row = arith.addi %a, %above : index
    %column = arith.addi %b, %before : index
    hova.group_yield %row, %column : index, index
  }}
  hova.group_store %t, %r[%c0, %c0] : {t}, {n}
  return
}}""", [image, np.zeros((32, 64), KINDS[element])], truth)
    assert np.array_equal(both(case, tmp_path), truth)


def test_gathers_a_factor_of_each_row(tmp_path):
    """A tile of one column: the factor of row i stands in row 2 i + 1, column 3."""
    source, factors = numbers((16, 32), "f32"), numbers((24, 5), "f32", 1)
    truth = source * np.concatenate([factors[1::2, 3], np.zeros(4, np.float32)])[:, None]
    t, f = "!hova.tile<16x32xf32, product 1x1>", "!hova.tile<16x1xf32, product 1x1>"
    case = written(tmp_path, f"""
func.func @kernel(%m: memref<16x32xf32>, %f: memref<24x5xf32>, %r: memref<16x32xf32>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %t = hova.group_load %m[%c0, %c0] : memref<16x32xf32> -> {t}
  %g = hova.group_gather %f : memref<24x5xf32> -> {f} {{
  ^bb0(%i: index, %j: index):
    %d = arith.muli %i, %c2 : index
    %row = arith.addi %d, %c1 : index
    hova.group_yield %row, %c3 : index, index
  }}
  %u = hova.group_map (%t, %g) : ({t}, {f}) -> {t} {{
  ^bb0(%a: f32, %b: f32, %p: index, %q: index):
    %d = arith.mulf %a, %b : f32
    hova.group_yield %d : f32
  }}
  hova.group_store %u, %r[%c0, %c0] : {t}, memref<16x32xf32>
  return
}}""", [source, factors, np.zeros((16, 32), np.float32)], truth)
    assert np.array_equal(both(case, tmp_path), truth)


@pytest.mark.parametrize("asking", [[], [3], [16, 17, 24, 95], list(range(96))], ids=["none", "one", "some", "all"])
def test_rows_that_ask(asking, tmp_path):
    """The largest element of the rows whose flag is not 0, also where it is NaN, and 0 of others: also of those in a thread
    that asks for another row."""
    source, flags = numbers((96, 32), "f32") + 200, np.zeros((96, 1), np.float32)
    flags[asking] = 1
    flags[asking[1:2]] = np.nan
    truth = np.where(flags != 0, source.max(1, keepdims=True), 0).astype(np.float32)
    t, c, p = "!hova.tile<96x32xf32, product 6x1>", "!hova.tile<96x1xf32, product 6x1>", "!hova.tile<96x1xf32, partial 6x1>"
    case = written(tmp_path, f"""
func.func @kernel(%m: memref<96x32xf32>, %f: memref<96x1xf32>, %r: memref<96x1xf32>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant 0.0 : f32
  %f0 = hova.group_load %f[%c0, %c0] : memref<96x1xf32> -> {c}
  %w = hova.group_where %f0 : {c} -> {p} {{
    %first = hova.group_map() : () -> {p} {{
    ^bb0(%i: index, %j: index):
      hova.group_yield %zero : f32
    }}
    %all = scf.for %half = %c0 to %c2 step %c1 iter_args(%before = %first) -> {p} {{
      %from = arith.muli %half, %c16 : index
      %t = hova.group_gather %m {{in_bounds = array<i1: true, true>}} : memref<96x32xf32> -> !hova.tile<96x16xf32, product 6x1> {{
      ^bb0(%i: index, %j: index):
        %column = arith.addi %from, %j : index
        hova.group_yield %i, %column : index, index
      }}
      %most = hova.group_reduce max %t : !hova.tile<96x16xf32, product 6x1> -> {p}
      %after = hova.group_map(%before, %most) : ({p}, {p}) -> {p} {{
      ^bb0(%a: f32, %b: f32, %i: index, %j: index):
        %larger = arith.maxnumf %a, %b : f32
        hova.group_yield %larger : f32
      }}
      scf.yield %after : {p}
    }}
    hova.group_yield %all : {p}
  }}
  %x = hova.group_reduce max %w : {p} -> {c}
  hova.group_store %x, %r[%c0, %c0] : {c}, memref<96x1xf32>
  return
}}""", [source, flags, np.zeros((96, 1), np.float32)], truth)
    assert np.array_equal(both(case, tmp_path), truth)
    sass.check_registers(case.ptx(), tmp_path)


def test_a_promise_of_a_gather_is_held(tmp_path):
    """With a promise nothing is compared, and the emulation refuses what is not there."""
    source, t = numbers((16, 32), "f32"), "!hova.tile<16x32xf32, product 1x1>"

    def gather(first):
        return written(tmp_path, f"""
func.func @kernel(%m: memref<16x32xf32>, %r: memref<16x32xf32>) {{
  %c0 = arith.constant 0 : index
  %first = arith.constant {first} : index
  %g = hova.group_gather %m {{in_bounds = array<i1: true, true>}} : memref<16x32xf32> -> {t} {{
  ^bb0(%i: index, %j: index):
    %row = arith.addi %first, %i : index
    hova.group_yield %row, %j : index, index
  }}
  hova.group_store %g, %r[%c0, %c0] {{in_bounds = array<i1: true, true>}} : {t}, memref<16x32xf32>
  return
}}""", [source, np.zeros((16, 32), np.float32)], source)

    case = gather(0)
    assert "setp" not in case.ptx() and "selp" not in case.ptx()
    assert np.array_equal(both(case, tmp_path), source)
    with pytest.raises(AssertionError, match="reads 8 bytes from byte 2048 of"):
        gather(1).emulate(tmp_path, [("early", 0)])


@pytest.mark.parametrize("element", NARROW)
def test_products_of_a_tile_and_a_box(element, tmp_path):
    """gelu(x wT) rounded to 16 bits, x from registers: products that both types have, sums in f32."""
    random = np.random.default_rng(9)
    x, w = (NARROW[element](random.standard_normal(shape, np.float32)) for shape in ((50, 64), (48, 64)))
    sums = WIDEN[element](x).astype(np.float64) @ WIDEN[element](w).astype(np.float64).T
    truth = sums * np.vectorize(math.erfc)(-sums / math.sqrt(2)) / 2
    t, z, y = (f"!hova.tile<64x{n}x{e}, product 4x1>" for n, e in ((64, element), (48, "f32"), (48, element)))
    s, m, v, r = f"!hova.slots<1x48x64x{element}>", f"memref<50x64x{element}>", f"memref<48x64x{element}>", f"memref<50x48x{element}>"
    case = written(tmp_path, f"""
func.func @kernel(%x: {m}, %w: {v}, %r: {r}) {{
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %s = hova.group_alloc : {s}
  %c = hova.group_copy %w[%c0, %c0] to %s[%c0] {{in_bounds = array<i1: true, true>}} : {v} to {s}
  %t = hova.group_load %x[%c0, %c0] : {m} -> {t}
  %z = hova.group_map () : () -> {z} {{
  ^bb0(%p: index, %q: index):
    hova.group_yield %zero : f32
  }}
  hova.group_wait %c
  %u = hova.group_product %t, %s[%c0] transposed, %z : {t}, {s}, {z}
  %y = hova.group_map (%u) : ({z}) -> {y} {{
  ^bb0(%a: f32, %p: index, %q: index):
    %v = vector.broadcast %a : f32 to vector<1x1xf32>
    %g = hova.activation gelu_erf %v : vector<1x1xf32>
    %n = arith.truncf %g : vector<1x1xf32> to vector<1x1x{element}>
    %b = vector.extract %n[0, 0] : {element} from vector<1x1x{element}>
    hova.group_yield %b : {element}
  }}
  hova.group_store %y, %r[%c0, %c0] : {y}, {r}
  return
}}""", [x, w, np.zeros((50, 48), np.uint16)], truth)
    sass.check_registers(case.ptx(), tmp_path)
    # One rounding, and what 64 sums in f32 lose.
    unit = np.abs(truth) * (2.0**-8 if element == "bf16" else 2.0**-11) + 1e-5
    for result in (both(case, tmp_path), case.run("early", 0)):
        assert (np.abs(WIDEN[element](result) - truth) <= unit).all()


# Lanes of a column, and of the row that it becomes.
TRANSPOSED = [("product 4x1", "product 4x1", 64), ("row 4x1", "product 4x1", 32), ("product 2x2", "row 4x1", 64), ("row 2x2", "row 2x2", 64)]


@pytest.mark.parametrize("column, row, count", TRANSPOSED)
def test_a_column_is_a_row_of_all(column, row, count, tmp_path):
    """Twice, so that what is read first is not what stands there afterwards."""
    source = numbers((2 * count, 1), "f32")
    t, u, m = f"!hova.tile<{count}x1xf32, {column}>", f"!hova.tile<1x{count}xf32, {row}>", f"memref<{2 * count}x1xf32>"
    truth = source.reshape(2, count)
    case = written(tmp_path, f"""
func.func @kernel(%m: {m}, %r: memref<2x{count}xf32>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %half = arith.constant {count} : index
  %t = hova.group_load %m[%c0, %c0] : {m} -> {t}
  %u = hova.group_transpose %t : {t} -> {u}
  %v = hova.group_load %m[%half, %c0] : {m} -> {t}
  %w = hova.group_transpose %v : {t} -> {u}
  hova.group_store %u, %r[%c0, %c0] : {u}, memref<2x{count}xf32>
  hova.group_store %w, %r[%c1, %c0] : {u}, memref<2x{count}xf32>
  return
}}""", [source, np.zeros((2, count), np.float32)], truth)
    assert np.array_equal(both(case, tmp_path), truth)


# Elements beside each other that begin at a multiple of so many, and the columns of the matrix.
WIDENED = [(4, 96), (2, 94), (1, 75), (4, 32)]


@pytest.mark.parametrize("element", NARROW)
@pytest.mark.parametrize("width, columns", WIDENED)
def test_copies_widen_elements_of_16_bits(width, columns, element, tmp_path):
    """A box of f32, multiplied by the first rows of a matrix of ones and zeros; rows and columns after the last are zeros."""
    source = numbers((50, columns), element)
    first = width if columns > 32 else 0
    box = np.zeros((16, 64), np.float64)
    wide = WIDEN[element](source)[36:52, first : first + 64]
    box[: wide.shape[0], : wide.shape[1]] = wide
    ones = np.eye(32, 16, dtype=np.float32)
    t, s, m = "!hova.tile<32x64xf32, product 2x1>", "!hova.slots<2x16x64xf32>", f"memref<50x{columns}x{element}>"
    left = "!hova.tile<32x16xf32, product 2x1>"
    case = written(tmp_path, f"""
func.func @kernel(%m: {m}, %e: memref<32x16xf32>, %r: memref<16x64xf32>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %row = arith.constant 36 : index
  %column = arith.constant {first} : index
  %s = hova.group_alloc : {s}
  %c = hova.group_copy %m[%row, %column] to %s[%c1] : {m} to {s}
  %x = hova.group_load %e[%c0, %c0] : memref<32x16xf32> -> {left}
  %z = hova.group_map () : () -> {t} {{
  ^bb0(%p: index, %q: index):
    %zero = arith.constant 0.0 : f32
    hova.group_yield %zero : f32
  }}
  hova.group_wait %c
  %u = hova.group_product %x, %s[%c1], %z : {left}, {s}, {t}
  hova.group_store %u, %r[%c0, %c0] : {t}, memref<16x64xf32>
  return
}}""", [source, ones, np.zeros((16, 64), np.float32)], box)
    assert np.array_equal(both(case, tmp_path), box)
