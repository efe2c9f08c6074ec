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
    %own = arith.muli %j, %step : index
    %column = arith.addi %first, %own : index
    hova.group_yield %row, %column : index, index
  }}
  hova.group_store %t, %r[%c0, %c0] : {t}, {n}
  return
}}""", [source, np.zeros((32, 64), KINDS[element])], truth)
    assert np.array_equal(both(case, tmp_path), truth)


@pytest.mark.parametrize("element", ["f32", "bf16", "f16"])
@pytest.mark.parametrize("columns", [32, 64, 128])
def test_shares_a_tile(columns, element, tmp_path):
    """What members wrote to a box is there for all: the rows in the other order."""
    source = numbers((32, columns), element)
    t, m, s = f"!hova.tile<32x{columns}x{element}, product 2x1>", f"memref<32x{columns}x{element}>", f"!hova.slots<1x32x{columns}x{element}>"
    case = written(tmp_path, f"""
func.func @kernel(%m: {m}, %r: {m}) {{
  %c0 = arith.constant 0 : index
  %c31 = arith.constant 31 : index
  %s = hova.group_alloc : {s}
  %t = hova.group_load %m[%c0, %c0] : {m} -> {t}
  hova.group_share %t, %s[%c0] : {t}, {s}
  %u = hova.group_gather %s[%c0] : {s} -> {t} {{
  ^bb0(%i: index, %j: index):
    %row = arith.subi %c31, %i : index
    hova.group_yield %row, %j : index, index
  }}
  hova.group_store %u, %r[%c0, %c0] : {t}, {m}
  return
}}""", [source, np.zeros_like(source)], source[::-1])
    assert np.array_equal(both(case, tmp_path), source[::-1])
