# ===- lists.py - What is asked of a GPU ----------------------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""The full list, in the order of what decides, and a small one of every kind that the stand-in for a driver runs in seconds."""

import sys
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from suites import GPU  # noqa: E402

# Rows and columns of a block, its warps along both, and its slots.
TILES = [((64, 64), (2, 2), 3), ((64, 128), (2, 2), 3), ((128, 64), (2, 2), 3), ((128, 128), (2, 2), 3), ((128, 128), (2, 4), 3),
         ((128, 256), (2, 4), 3)]
# Rows and columns of a block whose warps multiply together, 16 rows each, and its slots.
GROUPED = [((64, 64), 3), ((64, 128), 3), ((128, 128), 3), ((64, 256), 3), ((128, 192), 3), ((128, 256), 3), ((64, 128), 4), ((128, 128), 4)]
# Rows, columns and k: layers of ViT-B/16 at batches of 8, 1 and 32, where a product of s parts of k is s times as wide, and of Swin-T.
PRODUCTS = [(1576, 768, 3072), (1576, 2304, 768), (1576, 3072, 768), (1576, 768, 768), (1576, 1536, 1536), (197, 2304, 768), (197, 3072, 768),
            (197, 1536, 384), (197, 768, 768), (197, 1536, 1536), (197, 4608, 512), (6304, 2304, 768), (6304, 768, 3072), (3136, 288, 96),
            (784, 576, 192), (196, 1152, 384), (196, 384, 1536)]
# Queries of a block and its warps; batch, tokens, heads.
QUERIES = [(128, 4), (64, 2), (64, 4)]
ATTENTIONS = [(8, 197, 12), (1, 197, 12), (32, 197, 12), (1, 1024, 12), (4, 1024, 12)]
# A model of milliseconds, even on an interpreter.
TINY = ("../../tools/bench/encoder", ["tokens=3", "width=16", "heads=1", "depth=1", "hidden=16"])
# Of the models, those whose launches are timed one by one: what they are called, and batches.
SPANS = [("vit_b16", 8), ("vit_b16", 1), ("bert_base", 8), ("lm", 8), ("lm", 1), ("swin_t", 8), ("lm attention=performer", 8)]
# Threads, bytes of shared memory, and blocks a multiprocessor of kernels that do nothing; 0: one block in all.
EMPTIES = [(128, 98304, 0), (128, 49152, 0), (128, 98304, 1), (256, 65536, 2)]
# Threads, bytes of a turn and slots of blocks that copy.
COPIES = [(128, 16384, 3), (128, 32768, 3), (256, 32768, 3), (256, 32768, 4), (256, 49152, 4)]


@dataclass
class Lists:
    """Models with settings and batches; levels, the best first; patterns of tests of instructions; names of kernels, or none for all;
    small models with settings by name, or none for those of the tests; and sizes."""

    models: list
    batches: tuple = (8, 1)
    levels: tuple = ("sm_90a", "sm_80")
    spans: list = field(default_factory=lambda: SPANS)
    instructions: tuple = ("Table/Instructions*", "Mma*", "LdMatrix*", "Wgmma.multiplies*")
    kernels: tuple | None = None
    variants: dict | None = None
    products: list = field(default_factory=lambda: PRODUCTS)
    tiles: list = field(default_factory=lambda: TILES)
    grouped: list = field(default_factory=lambda: GROUPED)
    attentions: list = field(default_factory=lambda: ATTENTIONS)
    queries: list = field(default_factory=lambda: QUERIES)
    empties: list = field(default_factory=lambda: EMPTIES)
    copies: list = field(default_factory=lambda: COPIES)
    sums: int = 1  # every such case of adding
    launches: int = 89  # of chains that do nothing, as many as ViT-B/16 has
    of_tiles: int = 20  # launches of one tile in a graph
    replays: int = 15
    code: int = 1024  # instructions of straight code
    turns: int = 512  # of copies
    region: int = 1 << 17  # bytes that a block copies again and again
    counts: dict = field(default_factory=lambda: {"rounds": 5, "warmup": 5, "least": 10, "turn": 0.1, "traces": 3})


FULL = Lists([*GPU])
SMALL = Lists([TINY], (1,), spans=[("encoder", 1)], instructions=("Mma.multiplies_f16", "Wgmma.multiplies_rows_of_64_bytes"),
              kernels=("product of one part", "norm of short rows", "two parts, all copied at first", "from registers", "a stored left operand", "two blocks"),
              variants={"tiny": TINY}, products=[(70, 72, 16)], tiles=TILES[:1], grouped=GROUPED[:1], attentions=[(1, 8, 1)], queries=QUERIES[1:2],
              empties=EMPTIES[:1], copies=[(128, 4096, 2)], sums=6, launches=3, of_tiles=1, replays=1, code=4, turns=3, region=1 << 13,
              counts={"rounds": 1, "warmup": 0, "least": 1, "turn": 0.0, "traces": 1})
