# ===- test_boxes.py - Tiles from boxes of group memory, and to them ---------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Elements of a box that lie anywhere in it, and tiles that become one. Run in both executors, and compared with NumPy."""

import numpy as np
import pytest
from kernels import written
from test_group_ops import KINDS, both, numbers

# Lanes of a tile of 32x64, its element, and the step between its columns: runs are read at once, and two of f32 in either order.
BOX_GATHERS = [(lanes, element, step) for lanes in ("product 2x1", "row 2x1") for element in ("f32", "bf16", "f16") for step in (1, 3)]


@pytest.mark.parametrize("lanes, element, step", BOX_GATHERS)
def test_gathers_from_a_box(lanes, element, step, tmp_path):
    """Row i is row 47 - i of the second slot, from column 4 (i / 8) on in steps; 0 after the last column."""
    source = numbers((48, 96), element)
    t, m, n, s = (f"!hova.tile<32x64x{element}, {lanes}>", f"memref<48x96x{element}>", f"memref<32x64x{element}>",
                  f"!hova.slots<2x48x128x{element}>")
    truth = np.zeros((32, 64), KINDS[element])
    for i in range(32):
        row = np.concatenate([source[47 - i], np.zeros(128, KINDS[element])])
        truth[i] = row[4 * (i // 8) + step * np.arange(64)]
    case = written(tmp_path, f"""
func.func @kernel(%m: {m}, %r: {n}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c47 = arith.constant 47 : index
  %step = arith.constant {step} : index
  %s = hova.group_alloc : {s}
  %c = hova.group_copy %m[%c0, %c0] to %s[%c1] : {m} to {s}
  hova.group_wait %c
  %t = hova.group_gather %s[%c1] : {s} -> {t} {{
  ^bb0(%i: index, %j: index):
    %row = arith.subi %c47, %i : index
    %block = arith.divui %i, %c8 : index
    %first = arith.muli %block, %c4 : index
    %offset = arith.muli %j, %step : index
    %column = arith.addi %first, %offset : index
    hova.group_yield %row, %column : index, index
  }}
  hova.group_store %t, %r[%c0, %c0] : {t}, {n}
  return
}}""", [source, np.zeros((32, 64), KINDS[element])], truth)
    assert np.array_equal(both(case, tmp_path), truth)


@pytest.mark.parametrize("element", ["f32", "bf16", "f16"])
@pytest.mark.parametrize("lanes", ["product 2x1", "row 2x1"])
@pytest.mark.parametrize("boxes, columns", [(1, 32), (1, 64), (1, 128), (3, 32), (2, 64)])
def test_shares_a_tile(boxes, columns, lanes, element, tmp_path):
    """What members wrote to a box, or to all boxes beside each other, is there for all: the rows in the other order."""
    width = boxes * columns
    source, slot = numbers((32, width), element), "[%c0]" if boxes == 1 else ""
    t, m, s = f"!hova.tile<32x{width}x{element}, {lanes}>", f"memref<32x{width}x{element}>", f"!hova.slots<{boxes}x32x{columns}x{element}>"
    case = written(tmp_path, f"""
func.func @kernel(%m: {m}, %r: {m}) {{
  %c0 = arith.constant 0 : index
  %c31 = arith.constant 31 : index
  %s = hova.group_alloc : {s}
  %t = hova.group_load %m[%c0, %c0] : {m} -> {t}
  hova.group_share %t, %s{slot} : {t}, {s}
  %u = hova.group_gather %s{slot} : {s} -> {t} {{
  ^bb0(%i: index, %j: index):
    %row = arith.subi %c31, %i : index
    hova.group_yield %row, %j : index, index
  }}
  hova.group_store %u, %r[%c0, %c0] : {t}, {m}
  return
}}""", [source, np.zeros_like(source)], source[::-1])
    assert np.array_equal(both(case, tmp_path), source[::-1])


@pytest.mark.parametrize("element", ["f32", "bf16", "f16"])
@pytest.mark.parametrize("boxes, columns", [(3, 32), (4, 32), (2, 64)])
def test_boxes_of_copies_stand_beside_each_other(boxes, columns, element, tmp_path):
    """Each box is a copy, and all are read as one from column -4 on."""
    width = boxes * columns
    source = numbers((32, width), element)
    t, m, s = f"!hova.tile<32x{width}x{element}, row 2x1>", f"memref<32x{width}x{element}>", f"!hova.slots<{boxes}x32x{columns}x{element}>"
    truth = np.concatenate([np.zeros((32, 4), source.dtype), source[:, :-4]], axis=1)
    copies = "\n".join(f"""  %at{i} = arith.constant {i * columns} : index
  %box{i} = arith.constant {i} : index
  %k{i} = hova.group_copy %m[%c0, %at{i}] to %s[%box{i}] : {m} to {s}""" for i in range(boxes))
    case = written(tmp_path, f"""
func.func @kernel(%m: {m}, %r: {m}) {{
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c68 = arith.constant 68 : index
  %s = hova.group_alloc : {s}
{copies}
  hova.group_wait {", ".join(f"%k{i}" for i in range(boxes))}
  %u = hova.group_gather %s : {s} -> {t} {{
  ^bb0(%i: index, %j: index):
    %before = arith.subi %j, %c68 : index
    %column = arith.addi %before, %c64 : index
    hova.group_yield %i, %column : index, index
  }}
  hova.group_store %u, %r[%c0, %c0] : {t}, {m}
  return
}}""", [source, np.zeros_like(source)], truth)
    assert np.array_equal(both(case, tmp_path), truth)
