# ===- test_traffic.py - What kernels ask of memory -------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Wavefronts of shared memory and sectors of global memory, by requests of warps, next to the fewest that the same bytes
could take. The emulation counts them, and the interpreter by code of its own."""

import pytest
from kernels import attention, norm, product
from modules import MODULES

WAVEFRONTS = {"ldmatrix": "wavefronts of ldmatrix", "shared": "wavefronts of loads and stores", "copied": "wavefronts of copies"}
SECTORS = {"ld": "sectors of loads", "st": "sectors of stores", "cp": "sectors of copies"}


def vit(rows: int, inner: int, columns: int, block: tuple[int, int], warps: tuple[int, int] = (2, 2), options: str = "bias"):
    return lambda: product(rows, inner, columns, block, warps, options)


# Kernels of ViT-B/16 as its two batches have them, with rows of one block or two and a tail, columns of two blocks, and a
# shorter inner dimension: a turn of the main loop is as any other.
KERNELS = {
    "patches, queries, projection, second layer, batch 8": vit(168, 192, 256, (128, 128)),
    "first layer, batch 8": vit(168, 192, 256, (128, 128), options="bias gelu"),
    "first layer, batch 8, wide blocks": vit(168, 192, 512, (128, 256), (2, 4), "bias gelu"),
    "classes, batch 8": vit(8, 192, 1000, (64, 128)),
    "patches, queries, second layer": vit(69, 192, 256, (64, 128)),
    "projection": vit(197, 192, 128, (128, 64)),
    "first layer": vit(69, 192, 256, (64, 128), options="bias gelu"),
    "attention, 128 queries on 4 warps": lambda: attention(1, 197, 1, 128, 4),
    "attention, 64 queries on 2 warps": lambda: attention(2, 197, 1, 64, 2),
    "norm": lambda: norm(6, 768),
}
MOST_SECTORS = 1.1
# Rows of 1000 results of 16 bits: each second row begins in the middle of a sector, so its requests of 128 bytes touch five
# sectors instead of four. The result is the caller's, and 16 KB large.
EXCEPTIONS = {("classes, batch 8", "sectors of stores"): 1.13}


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_of_vit(name, tmp_path):
    """No bank is asked twice for one wavefront, in main loops and elsewhere; sectors are full but for a tenth."""
    counts = KERNELS[name]().counts(tmp_path)
    figures = [f"{kind} {counts[kind][1]} of {counts[kind][2]}" for kind in (*WAVEFRONTS.values(), *SECTORS.values())]
    print(f"\n{name}: " + ", ".join(figures))
    for kind in WAVEFRONTS.values():
        assert counts[kind][1] == counts[kind][2], kind
    for kind in SECTORS.values():
        assert counts[kind][1] <= EXCEPTIONS.get((name, kind), MOST_SECTORS) * counts[kind][2], kind
    if name != "norm":
        assert counts["wavefronts of ldmatrix"][2] > 0
        assert counts["wavefronts of copies"][2] > 0
        assert counts["sectors of copies"][2] * 32 == counts["copied bytes"][0]
    assert counts["sectors of stores"][2] > 0


# Times as many wavefronts, where no loop multiplies.
# Nine rows lie in eight places; three rows, of which every other one is read, in five.
CONFLICTS = {"squares of tokens": 2, "squares of tokens along time": 2.5}


@pytest.mark.parametrize("name", MODULES)
def test_no_recipe_asks_a_bank_twice(name, tmp_path):
    """In f32 rows begin at any element and are read four at once, and lanes of a row read the same."""
    counts = MODULES[name]().counts(tmp_path)
    for kind in WAVEFRONTS.values():
        assert counts[kind][1] <= CONFLICTS.get(name, 1) * counts[kind][2], kind
    assert counts["sectors of stores"][2] > 0
    if name.endswith(", f32"):
        assert counts["wavefronts of loads and stores"][2] > 0


def test_one_member_reads_what_the_denominator_needs(tmp_path):
    """The last column of sums of keys, 4 bytes of each row: four warps have the same sectors read once."""
    _, used, least = MODULES["queries of sums, f32"]().counts(tmp_path)["sectors of loads"]
    assert used == least > 0


WHOLE = {
    "product of whole blocks": lambda: product(128, 64, 128, options="bias"),
    "product in f32": lambda: product(64, 64, 64, (64, 64), options="wide"),
    "attention of whole blocks": lambda: attention(1, 128, 1, 64, 2),
    "norm of whole blocks": lambda: norm(8, 256),
}
TAILS = ["classes, batch 8", "first layer", "attention, 64 queries on 2 warps", "norm"]


@pytest.mark.parametrize("name", [*WHOLE, *TAILS])
def test_the_interpreter_counts_the_same(name, tmp_path):
    case = (WHOLE | KERNELS)[name]()
    counts = case.counts(tmp_path)
    case.run("early", 0, counts=True)
    for kind, emulated in (WAVEFRONTS | SECTORS).items():
        interpreted = [case.grown.total(kind, which) for which in ("used", "least")]
        if kind in ("shared", "ld") and name in TAILS:
            # LLVM reads only where a row is there that is written; what stands before it does so everywhere.
            assert interpreted <= counts[emulated][1:], kind
        else:
            assert interpreted == counts[emulated][1:], kind
