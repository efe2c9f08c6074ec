# ===- test_gathered_runs.py - Neighbours that a gather reads at once -------------=== #
# SPDX-License-Identifier: Apache-2.0
"""A lane holds runs of four columns of a tile along rows. One access reads as many of them as stand beside each other in the
source, from a multiple of their size on: what the operations of the body show. Run in both executors, and compared with NumPy."""

import numpy as np
import pytest
from kernels import written
from test_group_ops import KINDS, both, numbers, widest

ROWS, COLUMNS = 8, 128
DIV, REM, ADD, MUL, SUB = (f"arith.{name} %{{}}, %{{}} : index" for name in ("divui", "remui", "addi", "muli", "subi"))
BELOW, FROM = (f"arith.cmpi {name}, %{{}}, %{{}} : index" for name in ("ult", "uge"))
CHOOSE = "arith.select %{}, %{}, %{} : index"


def steps(*lines):
    """The body: `NAME = FORM OPERANDS` each, numbers as c8, the row as i and the column as j."""
    text = []
    for name, form, *operands in lines:
        text.append(f"    %{name} = {form.format(*operands)}")
    return "\n".join(text)


# Columns of the source, the body, where (i, j) stands, and elements that one access moves at most.
CASES = {
    "rows": (128, steps(("row", ADD, "i", "c0"), ("column", ADD, "j", "c0")), lambda i, j: (i, j), 4),
    "rows of an odd stride": (141, steps(("row", ADD, "i", "c0"), ("column", ADD, "j", "c0")), lambda i, j: (i, j), 1),
    "rows of an even stride": (142, steps(("row", ADD, "i", "c0"), ("column", ADD, "j", "c0")), lambda i, j: (i, j), 2),
    "rows that end within a run": (126, steps(("row", ADD, "i", "c0"), ("column", ADD, "j", "c0")), lambda i, j: (i, j), 2),
    "from column 4": (160, steps(("row", ADD, "i", "c0"), ("column", ADD, "c4", "j")), lambda i, j: (i, j + 4), 4),
    "from column 2": (160, steps(("row", ADD, "i", "c0"), ("column", ADD, "j", "c2")), lambda i, j: (i, j + 2), 2),
    "from column 1": (160, steps(("row", ADD, "i", "c0"), ("column", ADD, "j", "c1")), lambda i, j: (i, j + 1), 1),
    "before column 0": (160, steps(("row", ADD, "i", "c0"), ("column", SUB, "j", "c8")), lambda i, j: (i, j - 8), 4),
    "from a column of the row": (160, steps(("row", ADD, "i", "c0"), ("column", ADD, "j", "i")), lambda i, j: (i, j + i), 1),
    "from every fourth column": (160, steps(("m", MUL, "i", "c4"), ("row", ADD, "i", "c0"), ("column", ADD, "j", "m")), lambda i, j: (i, j + 4 * i), 4),
    "squares of 8": (64, steps(("d", DIV, "j", "c8"), ("row", ADD, "i", "d"), ("column", REM, "j", "c8")), lambda i, j: (i + j // 8, j % 8), 4),
    "squares of 6": (64, steps(("d", DIV, "j", "c6"), ("row", ADD, "i", "d"), ("column", REM, "j", "c6")), lambda i, j: (i + j // 6, j % 6), 2),
    "squares of 7": (64, steps(("d", DIV, "j", "c7"), ("row", ADD, "i", "d"), ("column", REM, "j", "c7")), lambda i, j: (i + j // 7, j % 7), 1),
    "backwards": (128, steps(("row", ADD, "i", "c0"), ("column", SUB, "c127", "j")), lambda i, j: (i, 127 - j), 1),
    "every second": (256, steps(("row", ADD, "i", "c0"), ("column", MUL, "j", "c2")), lambda i, j: (i, 2 * j), 1),
    "columns as rows": (16, steps(("row", ADD, "j", "c0"), ("column", ADD, "i", "c0")), lambda i, j: (j, i), 1),
    "another row from column 64 on": (128, steps(("s", BELOW, "j", "c64"), ("m", ADD, "i", "c1"), ("row", CHOOSE, "s", "i", "m"), ("column", ADD, "j", "c0")),
                                      lambda i, j: (i if j < 64 else i + 1, j), 4),
    "another row from column 66 on": (128, steps(("s", FROM, "j", "c66"), ("m", ADD, "i", "c1"), ("row", CHOOSE, "s", "m", "i"), ("column", ADD, "j", "c0")),
                                      lambda i, j: (i if j < 66 else i + 1, j), 2),
    "no row from column 64 on": (128, steps(("s", BELOW, "j", "c64"), ("row", CHOOSE, "s", "i", "none"), ("column", ADD, "j", "c0")),
                                 lambda i, j: (i if j < 64 else -1, j), 4),
    "one of eight": (128, steps(("row", ADD, "i", "c0"), ("column", DIV, "j", "c8")), lambda i, j: (i, j // 8), 1),
    "one of six": (128, steps(("row", ADD, "i", "c0"), ("column", DIV, "j", "c6")), lambda i, j: (i, j // 6), 1),
    "one element": (128, steps(("row", ADD, "i", "c0"), ("column", ADD, "i", "c2")), lambda i, j: (i, i + 2), 1),
}


@pytest.mark.parametrize("element", ["f32", "bf16"])
@pytest.mark.parametrize("name", CASES)
def test_runs(name, element, tmp_path):
    columns, body, place, width = CASES[name]
    source = numbers((40, columns), element)
    truth = np.zeros((ROWS, COLUMNS), source.dtype)
    for i in range(ROWS):
        for j in range(COLUMNS):
            row, column = place(i, j)
            if 0 <= row < 40 and 0 <= column < columns:
                truth[i, j] = source[row, column]
    t = f"!hova.tile<{ROWS}x{COLUMNS}x{element}, row {ROWS}x1>"
    m, r = f"memref<40x{columns}x{element}>", f"memref<{ROWS}x{COLUMNS}x{element}>"
    constants = "\n".join(f"  %c{c} = arith.constant {c} : index" for c in (0, 1, 2, 4, 6, 7, 8, 64, 66, 127))
    case = written(tmp_path, f"""
func.func @kernel(%from: {m}, %r: {r}) {{
{constants}
  %none = arith.constant -1 : index
  %t = hova.group_gather %from : {m} -> {t} {{
  ^bb0(%i: index, %j: index):
{body}
    hova.group_yield %row, %column : index, index
  }}
  hova.group_store %t, %r[%c0, %c0] : {t}, {r}
  return
}}""", [source, np.zeros((ROWS, COLUMNS), KINDS[element])], truth)
    assert np.array_equal(both(case, tmp_path), truth)
    assert widest(case)[0] == width * source.itemsize
    # Where all four columns of a lane are one element, it is read once.
    assert case.ptx().count("ld.global") == (1 if name in ("one of eight", "one element") else 4 // width)
