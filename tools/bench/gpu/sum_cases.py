# ===- sum_cases.py - Sums that tell how products are added -------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""An old sum and products at some k of 16, for which ways of adding differ, each in a row and a column of its own of one product: by
`mma.sync`, and by `wgmma`, whose old sum is a product of the 16 k before. The kernel of the first is that of test_sums.py, that of
the second the recipe's."""

from dataclasses import dataclass

import numpy as np
import ptx_numbers
from instructions import MMA, kernel
from kernels import emit
from test_layouts import C
from test_sums import CASES as BY_HAND
from test_sums import words
from wgmma_modules import grouped

K, DEPTH, ROWS = 16, 64, 64
CASES = {name: (old, products) for name, (old, products, *_) in BY_HAND.items()}
# How small a product may be beside an old sum of 1; whether two small ones that stand so far apart count together; whether many do.
CASES |= {f"1 + 2^-{s}": (1, [(0, 2.0**-s, 1)]) for s in range(22, 31)}
CASES |= {f"1 + 2^-{s} + 2^-{s} at k 0 and {k}": (1, [(0, 2.0**-s, 1), (k, 2.0**-s, 1)]) for s in range(24, 28) for k in (1, 4, 8, 15)}
CASES |= {f"1 + 16 2^-{s}": (1, [(k, 2.0**-s, 1) for k in range(K)]) for s in range(25, 32)}
# The same where the 1 is a product, and where the old sum is the small one.
CASES |= {f"products 1 + 2^-{s} at k 0 and {k}": (0, [(0, 1, 1), (k, 2.0**-s, 1)]) for s in (23, 24, 25, 26) for k in (1, 8, 15)}
CASES |= {f"2^-{s} + product 1": (2.0**-s, [(0, 1, 1)]) for s in range(23, 29)}


@dataclass
class Sync:
    """`mma.sync` of one warp, whose lanes have words of a buffer."""

    cases: int = 8
    threads: int = 32

    def takes(self, _):
        return True

    def launch(self, folder, chosen):
        """The text, operands whose last is the result, and the word of each case there."""
        (folder / "sums.mlir").write_text(kernel(MMA, 10, "f32"), encoding="utf-8")
        a, b, c = np.zeros((16, K)), np.zeros((8, K)), np.zeros((16, 8))
        for i, (old, products) in enumerate(chosen):
            c[i, i] = old
            for k, x, y in products:
                a[i, k], b[i, k] = x, y
        places = {(row, column): i for i, (row, column) in enumerate(C.reshape(-1, 2).tolist())}
        operands = [words(ptx_numbers.bf16_of_float(a), ptx_numbers.bf16_of_float(b), c), np.zeros((32, 4), np.uint32)]
        return emit("ptx", str(folder / "sums.mlir")), 512, operands, [places[i, i] for i in range(len(chosen))]


@dataclass
class Grouped:
    """`wgmma` of one block of 64 x 64, in f32."""

    cases: int = ROWS
    threads: int = 128

    def takes(self, case):
        """Whether the old sum is a number of bf16."""
        old = np.float32(case[0])
        return bool(ptx_numbers.float_of_bf16(ptx_numbers.bf16_of_float(old)) == old)

    def launch(self, _, chosen):
        made = grouped(ROWS, DEPTH, ROWS, (ROWS, ROWS), "wide")
        a, b = np.zeros((ROWS, DEPTH)), np.zeros((ROWS, DEPTH))
        for i, (old, products) in enumerate(chosen):
            a[i, 0], b[i, 0] = old, 1
            for k, x, y in products:
                a[i, K + k], b[i, K + k] = x, y
        operands = [ptx_numbers.bf16_of_float(a), ptx_numbers.bf16_of_float(b), np.zeros((ROWS, ROWS), np.uint32)]
        return made.ptx(), made.shared(), operands, [i * ROWS + i for i in range(len(chosen))]


LAYOUTS = {"mma.sync": Sync(), "wgmma": Grouped()}
