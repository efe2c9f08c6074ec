# ===- attention.py - Loops of attention over windows ------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Attention of 49 queries and 49 keys of one head of width 32 in one window.

Two forms. `panels`: two panels of 32 lanes, the second with 17 keys, as
codegen/cpu/recipes/AttentionRecipe.cpp writes it today. `split`: panels of 32 and 16 lanes, and
the 49th key by itself: its scores are row sums of Q * k, and its powers, maxima and the
reciprocals of the sums are one vector over the queries of a block. `bare` is `split`
without FLOOR.

A table of biases has 50 rows of 64 columns for each kind of window and head: 49 queries
(-inf behind the 49th key), then the biases of the 49th key by query. It holds region
mask and relative position bias, times log2(e), so that powers are powers of two.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from tileir import Function, Index, Matrix, row_blocks

TOKENS, WIDTH, LANES, BLOCK = 49, 32, 16, 14
BIAS_ROWS, BIAS_COLUMNS = 50, 64
SCALE = math.log2(math.e) / math.sqrt(WIDTH)
V16 = "vector<16xf32>"
FLAGS = " fastmath<nnan,nsz>"
#: A mask of -100 would make powers of 2^-144, and every multiply-add that meets a number
#: below 2^-126 takes some 150 cycles. 49 powers of 2^-100 change no digit of a sum.
FLOOR = -100.0


@dataclass
class Window:
    """One head of one window: where its rows are and where they go."""

    query: Matrix
    query_row: Index
    query_column: Index
    key: Matrix
    key_row: Callable[[int | str], Index]  #: of key i
    key_column: Index
    value: Matrix
    value_row: Index
    value_column: Index
    bias: Matrix
    bias_row: Index
    finish: Callable[[str, str, int], None]  #: (tile, first query, height)
    ask: Callable[[Index], None]  #: for query i of the head that follows


def exchange(
    f: Function, rows: list[str], distance: int, low: list[int], high: list[int]
) -> None:
    """Between rows `distance` apart, as in codegen/cpu/recipes/AttentionPacking.cpp."""
    for i in range(16):
        if not i & distance:
            a, b = rows[i], rows[i + distance]
            for row, lanes in ((i, low), (i + distance, high)):
                rows[row] = f.value(f"vector.shuffle {a}, {b} {lanes} : {V16}, {V16}")


def transpose16(f: Function, rows: list[str]) -> None:
    def spread(lanes: list[int]) -> list[int]:
        return [base + lane for base in range(0, 16, 4) for lane in lanes]

    exchange(f, rows, 1, spread([0, 16, 1, 17]), spread([2, 18, 3, 19]))
    exchange(f, rows, 2, spread([0, 1, 16, 17]), spread([2, 3, 18, 19]))
    for i in range(0, 16, 4):
        rows[i + 1], rows[i + 2] = rows[i + 2], rows[i + 1]
    even = [lane for base in range(0, 32, 8) for lane in range(base, base + 4)]
    odd = [lane + 4 for lane in even]
    exchange(f, rows, 4, even, odd)
    exchange(f, rows, 8, even, odd)


class Attention:
    """Scratch of a thread and the loops of one head."""

    def __init__(self, f: Function, form: str):
        self.f, self.form = f, form
        self.splits = form != "panels"
        self.second = 16 if self.splits else 32  #: lanes of the second panel
        self.panels = [f.view(WIDTH, 32), f.view(WIDTH, self.second)]
        self.scores = f.view(BLOCK, 80)
        self.column = f.view(16, 1)  #: the 49th key: scores, then powers
        row = Matrix(self.column.name, 1, 16)
        row.name = self.alias(self.column, row)
        self.column_row = row
        self.maxima, self.sums = f.view(1, 16), f.view(1, 16)
        self.inverse = f.view(16, 1)
        self.inverse_row = Matrix("", 1, 16)
        self.inverse_row.name = self.alias(self.inverse, self.inverse_row)

    def alias(self, m: Matrix, other: Matrix) -> str:
        sizes = f"sizes: [{other.rows}, {other.columns}], strides: [{other.columns}, 1]"
        text = f"memref.reinterpret_cast {m.name} to offset: [0], {sizes}"
        return self.f.value(f"{text} : {m.type} to {other.type}")

    def emit(self, w: Window) -> None:
        self.pack(w)
        block = lambda row, height, *_: self.block(w, row, height)
        row_blocks(self.f, TOKENS, [12, 13], block)

    def pack(self, w: Window) -> None:
        f = self.f
        for first in range(0, 48 if self.splits else TOKENS, LANES):
            keys = [w.key_row(first + i) for i in range(min(LANES, TOKENS - first))]

            def channels(channel: str) -> None:
                column = f.add(w.key_column, channel)
                rows = [f.load(w.key, key, column, LANES) for key in keys]
                rows += [f.splat(0, LANES)] * (LANES - len(rows))
                transpose16(f, rows)
                panel = self.panels[first // 32]
                for i, row in enumerate(rows):
                    f.store(row, panel, f.add(channel, i), first % 32, LANES)

            f.loop(0, WIDTH, LANES, channels)

    def block(self, w: Window, row: str, height: int) -> None:
        f = self.f
        for panel, column in zip(self.panels, (0, 32)):
            self.score_tile(w, row, height, panel, column)
        if self.splits:
            self.last_key_scores(w, row, height)
        f.loop(0, height, 1, self.maximum)
        if self.splits:
            self.last_key_powers(w, row)
        f.loop(0, height, 1, lambda i: self.powers(w, i, f.add(row, i)))
        self.reciprocals()
        self.values(w, row, height)

    def score_tile(
        self, w: Window, row: str, height: int, panel: Matrix, column: int
    ) -> None:
        f, lanes = self.f, panel.columns
        kind = f"vector<{height}x{lanes}xf32>"
        query = f.at(w.query, f.add(row, w.query_row), w.query_column)
        tile = f.value(
            f"hova_cpu.tile_product {query}, {f.at(panel, 0, 0)} depth {f.index(WIDTH)}"
            f" : {w.query.type}, {panel.type} -> {kind}"
        )
        bias = f.load_tile(w.bias, f.add(row, w.bias_row), column, height, lanes)
        scale = f.splat(SCALE, lanes, height)
        tile = f.op("math.fma", (tile, scale, bias), kind)
        f.store_tile(tile, self.scores, 0, column, height, lanes)

    def last_key_scores(self, w: Window, row: str, height: int) -> None:
        f, kind = self.f, f"vector<{height}x{WIDTH}xf32>"
        query_row = f.add(row, w.query_row)
        query = f.load_tile(w.query, query_row, w.query_column, height, WIDTH)
        last = w.key_row(TOKENS - 1)
        key = f.load_row_tile(w.key, last, w.key_column, height, WIDTH)
        terms = f.op("arith.mulf", (query, key), kind)
        sums = f.value(f"hova_cpu.tile_row_sum {terms} : {kind} -> vector<{height}x1xf32>")
        f.store_tile(sums, self.column, 0, 0, height, 1)

    def vectors(self) -> list[int]:
        return list(range(0, 32 + self.second, LANES))

    def maximum(self, i: str) -> None:
        f = self.f
        most = f.load(self.scores, i, 0, LANES)
        for column in self.vectors()[1:]:
            other = f.load(self.scores, i, column, LANES)
            most = f.op("arith.maxnumf", (most, other), V16, FLAGS)
        most = f.reduce("maxnumf", most, LANES, "nnan,nsz")
        f.emit(f"memref.store {most}, {f.at(self.maxima, 0, i)} : {self.maxima.type}")

    def last_key_powers(self, w: Window, row: str) -> None:
        f = self.f
        dots = f.load(self.column_row, 0, 0, LANES)
        bias = f.load(w.bias, f.add(w.bias_row, TOKENS), row, LANES)
        scores = f.op("math.fma", (dots, f.splat(SCALE, LANES), bias), V16)
        maxima = f.load(self.maxima, 0, 0, LANES)
        maxima = f.op("arith.maxnumf", (maxima, scores), V16, FLAGS)
        f.store(maxima, self.maxima, 0, 0, LANES)
        f.store(self.power(scores, maxima), self.column_row, 0, 0, LANES)

    def power(self, score: str, maximum: str) -> str:
        f = self.f
        below = f.op("arith.subf", (score, maximum), V16)
        if self.form != "bare":
            floor = f.splat(FLOOR, LANES)
            below = f.op("arith.maxnumf", (below, floor), V16, FLAGS)
        return f.op("hova.exp2", (below,), V16)

    def powers(self, w: Window, i: str, query: Index) -> None:
        f = self.f
        w.ask(query)
        maximum = f.value(f"memref.load {f.at(self.maxima, 0, i)} : {self.maxima.type}")
        shift, total = f.broadcast(maximum, "f32", V16), ""
        for column in self.vectors():
            score = f.load(self.scores, i, column, LANES)
            power = self.power(score, shift)
            f.store(power, self.scores, i, column, LANES)
            total = f.op("arith.addf", (total, power), V16) if total else power
        total = f.reduce("add", total, LANES, "reassoc")
        f.emit(f"memref.store {total}, {f.at(self.sums, 0, i)} : {self.sums.type}")

    def reciprocals(self) -> None:
        f = self.f
        sums = f.load(self.sums, 0, 0, LANES)
        if self.splits:
            own = f.load(self.column_row, 0, 0, LANES)
            sums = f.op("arith.addf", (sums, own), V16)
        inverse = f.op("arith.divf", (f.splat(1, LANES), sums), V16)
        f.store(inverse, self.inverse_row, 0, 0, LANES)

    def values(self, w: Window, row: str, height: int) -> None:
        f, kind, one = self.f, f"vector<{height}x{WIDTH}xf32>", f"vector<{height}x1xf32>"
        keys = 48 if self.splits else TOKENS
        value = f.at(w.value, w.value_row, w.value_column)
        tile = f.value(
            f"hova_cpu.tile_product {f.at(self.scores, 0, 0)}, {value}"
            f" depth {f.index(keys)} : {self.scores.type}, {w.value.type} -> {kind}"
        )
        if self.splits:
            power = f.broadcast(f.load_tile(self.column, 0, 0, height, 1), one, kind)
            last = f.add(w.value_row, 48)
            own = f.load_row_tile(w.value, last, w.value_column, height, WIDTH)
            tile = f.op("math.fma", (power, own, tile), kind)
        inverse = f.broadcast(f.load_tile(self.inverse, 0, 0, height, 1), one, kind)
        w.finish(f.op("arith.mulf", (tile, inverse), kind), row, height)
