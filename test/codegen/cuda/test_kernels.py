# ===- test_kernels.py - Kernels for a GPU, interpreted and emulated ------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Each recipe's kernel computes what NumPy does in float64, whatever the order of warps and
copies: its PTX in the interpreter, and what it is lowered to before in the emulation, which
share no code. The limit of each case is below an error of the size of a number. Nothing here runs on a GPU."""

import zlib

import numpy as np
import pytest
from attention_modules import block_sparse
from kernels import BF16, attention, call, norm, product
from modules import MODULES
from product_modules import product_of_scaled_heads

CASES = {
    "product": lambda: product(128, 128, 128),
    "product of few rows": lambda: product(70, 128, 136, (64, 128), (2, 2), "bias gelu"),
    "product of few columns": lambda: product(136, 64, 72, (128, 64), (2, 2), "bias"),
    "product of wide blocks": lambda: product(130, 64, 264, (128, 256), (2, 4)),
    "product with a tail of k": lambda: product(64, 200, 64, (64, 64), (2, 2)),
    "product of one part": lambda: product(64, 40, 64, (64, 64), (2, 2), "wide"),
    "product in f32": lambda: product(70, 128, 72, (64, 64), (2, 2), "bias wide"),
    "product of narrow warps": lambda: product(64, 128, 128, (64, 128), (2, 4)),
    "product whose rows are no chunks": lambda: product(64, 64, 10, (64, 64), (2, 2)),
    "product of seven parts": lambda: product(70, 400, 72, (64, 64), (2, 2)),
    # Eight warps have four rows each, of 768 columns.
    "product of scaled heads in wide blocks": lambda: product_of_scaled_heads("bf16", 12, 64),
    "product, four slots": lambda: product(64, 320, 64, (64, 64), (2, 2), stages=4),
    "attention, whole boxes": lambda: attention(1, 128, 1),
    "attention with a tail": lambda: attention(2, 133, 1),
    "attention with a tail alone": lambda: attention(2, 40, 1),
    "attention of two warps": lambda: attention(1, 70, 1, 64, 2),
    # 64 tokens are a whole tile, which the last block of 4 begins in the middle of.
    "attention to blocks of a whole tile": lambda: block_sparse("bf16", 1, 64, 12, 0, BF16),
    "norm": lambda: norm(10, 768),
    "norm of short rows": lambda: norm(4, 64),
    **MODULES,
}
# Those with instructions that PTX only approximates. Each operation of the others has one result.
APPROXIMATED = {"product of few rows", "product with a gate", "product of columns", "scaled heads", "scaled heads of long rows",
                "product of scaled heads", "product of scaled heads in f16",
                "product of scaled heads, f32", "product of scaled heads in wide blocks", "activated",
                "product of both halves", "product of both halves in f16, read elsewhere", "product of both halves in whole blocks, read elsewhere",
                "shares", "logarithms of shares, rows in parts", "heads of length one, no gain", "sums of keys", "sums of keys, f32",
                "merged sums", "merged sums before a block", "queries of sums", "queries of sums, f32", "queries of keys so far",
                "queries of keys so far, f32", "sum of parts", "powers of e", "product behind a norm", "product behind a norm, f32", "division by a norm",
                *(name for name in CASES if ", narrow" in name),
                *(name for name in CASES if name.startswith(("attention", "norm")))} - {"attention, weights as they are", "attention, weights over their sum, f32"}
# Those that multiply matrices by the instruction for it; f32 has none.
MULTIPLYING = [name for name in CASES if (", narrow" in name or name.startswith(("product", "attention", "logits", "raw scores"))) and name != "product by rows"
               and not name.endswith(", f32")]
# Orders of warps, and when copies land; early is the order that hides most.
ORDERS = [("late", 1), ("mixed", 2)]
# Two orders in which devices add: what is proven in one holds in others.
DEVICES = ["a100", "h100"]
EARLY = {"product of few rows": ("early", 0), "attention with a tail alone": ("early", 0), "norm": ("early", 0)}


@pytest.mark.parametrize("name", CASES)
def test_kernels_compute_what_numpy_does(name, tmp_path):
    case = CASES[name]()
    assert not (case.errors(case.planted()) <= case.limit).any()
    orders = [*ORDERS, *([EARLY[name]] if name in EARLY else [])]
    interpreted = [case.run(landing, seed) for landing, seed in orders]
    emulated = case.emulate(tmp_path, orders)
    for results in (interpreted, emulated):
        assert case.error(results[0]) <= case.limit
        for result in results[1:]:
            assert case.is_same(result, results[0])
    text = case.ptx()
    assert ("approx" in text, "mma.sync" in text) == (name in APPROXIMATED, name in MULTIPLYING)
    if name not in APPROXIMATED:
        assert case.is_same(interpreted[0], emulated[0])


@pytest.mark.parametrize("name, device", [(name, DEVICES[zlib.crc32(name.encode()) % 2]) for name in MULTIPLYING])
def test_kernels_are_right_as_devices_add(name, device, tmp_path):
    """As the one or as the other; test/full/test_kernels_as_devices_add.py has both of each."""
    case = CASES[name]()
    interpreted = case.run("late", 3, sums=device)
    (emulated,) = case.emulate(tmp_path, [("late", 3)], sums=device)
    assert case.error(interpreted) <= case.limit
    assert case.error(emulated) <= case.limit
    if name not in APPROXIMATED:
        assert case.is_same(interpreted, emulated)


def test_every_recipe_has_a_module():
    """Run by several blocks."""
    recipes = call("recipes").stdout.split()
    begun = {name: make().emit("launch").split()[0] for name, make in MODULES.items()}
    assert sorted(set(begun.values())) == recipes
    for name, make in MODULES.items():
        x, *others = make().grid
        # Of a window, and of all heads of rows, there is one block of queries.
        assert x > 1 or ("window a warp" in name and min(others) > 1) or ("heads of rows" in name and max(others) > 1), name


@pytest.mark.parametrize("body, message", [
    ("%1 = hova.pool first %0 : tensor<2x4x8xf32> -> tensor<2x8xf32>\nreturn %1 : tensor<2x8xf32>", "becomes one kernel, got 2"),
    ("%1 = hova.summary_attention relu %0, %s {heads = 2 : i64, block = 4 : i64} : (tensor<2x4x8xf32>, tensor<2x2x3x4x5xf32>) -> tensor<2x4x8xf32>\n"
     "return %1 : tensor<2x4x8xf32>", "'hova.summary_attention' op has code for a GPU for a summary that is merged, of one block"),
])
def test_what_is_no_kernel_is_an_error(body, message):
    result = body.rpartition(" : ")[2]
    source = f"func.func @main(%x: tensor<2x4x8xf32>, %s: tensor<2x2x3x4x5xf32>) -> {result} {{\n%0 = hova.layer_norm %x {{eps = 0.1 : f64}} : tensor<2x4x8xf32>\n{body}\n}}"
    done = call("-", source=source)
    assert done.returncode == 1 and message in done.stderr
