#!/usr/bin/env python3
# ===- generate.py - A shifted Swin block as tile IR -------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Writes the kernels of a Swin block with shifted windows, at the level of `tile`.

usage: generate.py DUMP WIDTH GRID BATCH GROUP ROWS... > FILE.mlir

DUMP is what `hova compile --stop-after=tile` printed for any description: its module
receives the kernels. GRID tokens a side; GROUP windows, or as many rows,
pass through a kernel together. ROWS are the numbers of rows that a call may be given. Partition, shift and
reverse exist in one table of i32 alone: `table[window, i]` is a row of x.

- one: units are windows; everything from gather to scatter
- rows_qkv, attention, rows_mlp: three kernels, buffers in the order of windows
- grid_qkv, grid_attention, grid_mlp: the same in the order of the image, with the table
  in attention alone
- part_*: one stage of `one` by itself, on the same scratch
"""

import re
import sys
from collections.abc import Callable
from pathlib import Path

from attention import BIAS_COLUMNS, BIAS_ROWS, TOKENS, WIDTH, Attention, Window
from tileir import (
    PANEL,
    Function,
    Index,
    Matrix,
    Product,
    ceil_div,
    chunks_of,
    norm_row,
    padded,
)

EPS = 1e-5
Finish = Callable[[str, str, Index, int, int], None]


class Block:
    """The stages of one block; each is emitted into a function over `rows` rows."""

    def __init__(self, width: int, grid: int, batch: int, group: int, calls: list[int]):
        self.width, self.image, self.group = width, grid * grid, group
        self.total, self.heads = batch * grid * grid, width // WIDTH
        self.windows = self.image // TOKENS
        self.calls = calls

    def matrices(self) -> dict[str, Matrix]:
        c, rows = self.width, self.total
        shapes = {"x": (rows, c), "out": (rows, c), "qkv": (rows, 3 * c)}
        shapes |= {"attended": (rows, c), "gain1": (1, c), "bias1": (1, c)}
        shapes |= {"qkv_bias": (1, 3 * c), "proj_bias": (1, c), "gain2": (1, c)}
        shapes |= {"bias2": (1, c), "hidden_bias": (1, 4 * c), "out_bias": (1, c)}
        shapes["scores"] = (4 * self.heads * BIAS_ROWS, BIAS_COLUMNS)
        found = {n: Matrix(f"%{n}", *shape) for n, shape in shapes.items()}
        table = Matrix("%table", 1, rows, element="i32")
        kinds = Matrix("%kinds", 1, self.windows, element="i32")
        return found | {"table": table, "kinds": kinds}

    def arguments(self) -> dict[str, str]:
        c, m = self.width, self.matrices()
        weights = {"qkv_w": (c, 3 * c), "proj_w": (c, c), "hidden_w": (c, 4 * c)}
        weights["out_w"] = (4 * c, c)
        names = "x out qkv attended table kinds scores gain1 bias1 qkv_w qkv_bias"
        names += " proj_w proj_bias gain2 bias2 hidden_w hidden_bias out_w out_bias"
        packed = {
            n: f"memref<{ceil_div(columns, PANEL)}x{depth}x{PANEL}xf32>"
            for n, (depth, columns) in weights.items()
        }
        return {n: packed.get(n) or m[n].type for n in names.split()}

    def function(self, name: str, rows: int, counts: list[int]) -> "Stages":
        scratch = 4 * rows * (2 * self.width + padded(4 * self.width)) + 192 * 1024
        return Stages(self, Function(name, self.arguments(), scratch), rows, counts)

    #: ------------------------------------------------------------- kernels

    def over_windows(self, name: str, chosen: str) -> str:
        """Units are windows, `group` of which share every pass over the weights."""
        counts = [TOKENS * i for i in self.group_sizes()]
        s = self.function(name, TOKENS * self.group, counts)
        f = s.f
        all_windows = f.arith("subi", "%end", "%begin")
        groups = f.arith("divui", f.add(all_windows, self.group - 1), self.group)

        def one_group(number: str) -> None:
            edge = lambda n: f.add(
                "%begin", f.arith("divui", f.mul(all_windows, n), groups)
            )
            first, end = edge(number), edge(f.add(number, 1))
            count = f.arith("subi", end, first)
            s.rows, s.first = f.mul(count, TOKENS), f.mul(first, TOKENS)
            stages = "norm qkv attention project norm2 hidden output".split()
            for stage in stages if chosen == "all" else [chosen]:
                getattr(s, stage)()

        f.loop(0, groups, 1, one_group)
        return f.text()

    def group_sizes(self) -> list[int]:
        sizes = set()
        for rows in self.calls:
            groups = ceil_div(rows // TOKENS, self.group)
            sizes |= {rows // TOKENS // groups, ceil_div(rows // TOKENS, groups)}
        return sorted(sizes)

    def over_rows(self, name: str, stages: list[str], placed: bool) -> str:
        """Units are rows; as many as in a group of windows pass through all stages."""
        most, counts = TOKENS * self.group, set()
        for rows in self.calls:
            blocks = ceil_div(rows, most)
            edges = [rows * i // blocks for i in range(blocks + 1)]
            counts |= {b - a for a, b in zip(edges, edges[1:])}
        s = self.function(name, most, sorted(counts))
        s.placed, s.is_kernel, f = placed, True, s.f
        rows = f.arith("subi", "%end", "%begin")
        blocks = f.arith("divui", f.add(rows, most - 1), most)

        def one_block(number: str) -> None:
            edge = lambda n: f.add("%begin", f.arith("divui", f.mul(rows, n), blocks))
            s.first = edge(number)
            s.rows = f.arith("subi", edge(f.add(number, 1)), s.first)
            for stage in stages:
                getattr(s, stage)()

        f.loop(0, blocks, 1, one_block)
        return f.text()

    def over_heads(self, name: str, form: str, placed: bool) -> str:
        """Units are (window, head) pairs."""
        s = self.function(name, TOKENS, [])
        s.form, s.placed, s.is_kernel = form, placed, True
        s.first, f = 0, s.f
        s.prepare_attention()

        def unit(i: str) -> None:
            window = f.arith("divui", i, self.heads)
            head = f.arith("remui", i, self.heads)
            last = f.arith("minui", f.add(i, 1), f.arith("subi", "%end", 1))
            s.head(window, head, last)

        f.loop("%begin", "%end", 1, unit)
        return f.text()

    def kernels(self) -> list[str]:
        mlp = ["project", "norm2", "hidden", "output"]
        texts = [self.over_windows("one", "all")]
        for stage in ["norm", "qkv", "attention", *mlp]:
            texts.append(self.over_windows(f"part_{stage}", stage))
        for prefix, placed in (("rows", True), ("grid", False)):
            texts.append(self.over_rows(f"{prefix}_qkv", ["norm", "qkv"], placed))
            texts.append(self.over_rows(f"{prefix}_mlp", mlp, placed))
            name = f"{prefix}_attention"
            texts.append(self.over_heads(name, "split", not placed))
        for form in ("panels", "bare"):
            texts.append(self.over_heads(f"{form}_attention", form, False))
        return texts


class Stages:
    """What a kernel is made of. `first`: its first row; `rows`: how many."""

    def __init__(self, block: Block, f: Function, rows: int, counts: list[int]):
        self.block, self.f, self.counts, self.c = block, f, counts, block.width
        self.m = block.matrices()
        self.first: Index = 0
        self.rows: Index = rows
        self.placed, self.is_kernel, self.form = True, False, "split"
        self.loops: Attention | None = None
        if counts:
            wide = padded(4 * self.c)
            whole = f.view(rows, wide)
            self.partials = f.view(rows, PANEL)
            self.tile = f.view(6, PANEL)
            self.narrow, self.middle = f.view(rows, self.c), f.view(rows, self.c)
            self.hidden_rows = self.part(whole, 4 * self.c)
            self.qkv_rows = self.part(whole, 3 * self.c)

    def part(self, m: Matrix, columns: int) -> Matrix:
        part = Matrix("", m.rows, columns, m.columns)
        if part.type == m.type:
            return m
        cut = f"[0, 0] [{m.rows}, {columns}] [1, 1]"
        part.name = self.f.value(f"memref.subview {m.name}{cut} : {m.type} to {part.type}")
        return part

    def place(self, row: Index) -> str:
        """The row of x that `row`, counted in windows, is."""
        f = self.f
        if not self.placed:
            return row
        table = self.m["table"]
        entry = f.value(f"memref.load {f.at(table, 0, row)} : {table.type}")
        return f.value(f"arith.index_cast {entry} : i32 to index")

    def load_row(self, m: Matrix, row: Index) -> list[str]:
        return [self.f.load(m, row, c, lanes) for c, lanes in chunks_of(self.c)]

    def store_row(self, row: list[str], m: Matrix, at: Index) -> None:
        for part, (column, lanes) in zip(row, chunks_of(self.c)):
            self.f.store(part, m, at, column, lanes)

    def product(
        self, lhs: Matrix, at: Index, name: str, depth: int, columns: int, end: Finish
    ) -> None:
        bias = self.m[f"{name}_bias"]
        shape = (depth, columns, self.rows, self.counts)
        Product(lhs, at, f"{name}_w", bias, *shape, self.partials, end).emit(self.f)

    def to(self, m: Matrix, first: Index) -> Finish:
        f = self.f
        return lambda tile, row, *rest: f.store_tile(tile, m, f.add(row, first), *rest)

    #: -------------------------------------------------------------- stages

    def norm(self) -> None:
        def row(i: str) -> None:
            x = self.load_row(self.m["x"], self.place(self.f.add(i, self.first)))
            gain, bias = self.m["gain1"], self.m["bias1"]
            self.store_row(norm_row(self.f, x, self.c, gain, bias, EPS), self.narrow, i)

        self.f.loop(0, self.rows, 1, row)

    def qkv(self) -> None:
        end = self.to(self.qkv_rows, 0)
        if self.is_kernel:
            end = self.to(self.m["qkv"], self.first)
        self.product(self.narrow, 0, "qkv", self.c, 3 * self.c, end)

    def project(self) -> None:
        """Where rows are contiguous the residual joins here, else in `norm2`."""
        f, end = self.f, self.to(self.middle, 0)

        def residual(tile: str, row: str, column: Index, h: int, lanes: int) -> None:
            x = f.load_tile(self.m["x"], f.add(row, self.first), column, h, lanes)
            tile = f.op("arith.addf", (tile, x), f"vector<{h}x{lanes}xf32>")
            end(tile, row, column, h, lanes)

        lhs, at = self.narrow, 0
        if self.is_kernel:
            lhs, at = self.m["attended"], self.first
        finish = end if self.placed else residual
        self.product(lhs, at, "proj", self.c, self.c, finish)

    def norm2(self) -> None:
        f = self.f

        def row(i: str) -> None:
            x = self.load_row(self.middle, i)
            if self.placed:
                own = self.load_row(self.m["x"], self.place(f.add(i, self.first)))
                for j, (_, lanes) in enumerate(chunks_of(self.c)):
                    x[j] = f.op("arith.addf", (x[j], own[j]), f"vector<{lanes}xf32>")
                self.store_row(x, self.middle, i)
            gain, bias = self.m["gain2"], self.m["bias2"]
            self.store_row(norm_row(f, x, self.c, gain, bias, EPS), self.narrow, i)

        f.loop(0, self.rows, 1, row)

    def hidden(self) -> None:
        f, end = self.f, self.to(self.hidden_rows, 0)

        def gelu(tile: str, row: str, column: Index, h: int, lanes: int) -> None:
            kind = f"vector<{h}x{lanes}xf32>"
            tile = f.value(f"hova.activation gelu_erf {tile} : {kind}")
            end(tile, row, column, h, lanes)

        self.product(self.narrow, 0, "hidden", self.c, 4 * self.c, gelu)

    def output(self) -> None:
        f, out = self.f, self.m["out"]

        def scatter(tile: str, row: str, column: Index, h: int, lanes: int) -> None:
            x = f.load_tile(self.middle, row, column, h, lanes)
            tile = f.op("arith.addf", (tile, x), f"vector<{h}x{lanes}xf32>")
            if not self.placed:
                f.store_tile(tile, out, f.add(row, self.first), column, h, lanes)
                return
            f.store_tile(tile, self.tile, 0, 0, h, lanes)
            for i in range(h):
                to = self.place(f.add(f.add(row, i), self.first))
                f.store(f.load(self.tile, i, 0, lanes), out, to, column, lanes)

        self.product(self.hidden_rows, 0, "out", 4 * self.c, self.c, scatter)

    #: ----------------------------------------------------------- attention

    def prepare_attention(self) -> None:
        self.loops = Attention(self.f, self.form)
        if self.placed and self.is_kernel:
            self.copies = [self.f.view(TOKENS, WIDTH) for _ in range(2)]
            self.tile = self.f.view(16, WIDTH)

    def attention(self) -> None:
        f = self.f
        if not self.loops:
            self.prepare_attention()
        base = f.arith("divui", f.index(self.first), TOKENS)

        def window(w: str) -> None:
            f.loop(0, self.block.heads, 1, lambda h: self.head(w, h, None, base))

        f.loop(0, f.arith("divui", f.index(self.rows), TOKENS), 1, window)

    def bias_row(self, window: Index, head: Index) -> Index:
        f, kinds = self.f, self.m["kinds"]
        local = f.arith("remui", window, self.block.windows)
        kind = f.value(f"memref.load {f.at(kinds, 0, local)} : {kinds.type}")
        kind = f.value(f"arith.index_cast {kind} : i32 to index")
        return f.mul(f.add(f.mul(kind, self.block.heads), head), BIAS_ROWS)

    def head(
        self, window: Index, head: Index, following: Index | None, base: Index = 0
    ) -> None:
        """One head of window `base + window`, whose rows begin at window * 49."""
        f, c = self.f, self.c
        source, target = self.qkv_rows_of(), self.narrow_of()
        row, column = f.mul(window, TOKENS), f.mul(head, WIDTH)
        bias_row = self.bias_row(f.add(window, base), head)
        key, value = f.add(column, c), f.add(column, 2 * c)
        key_row = lambda i: f.add(row, i)
        finish = lambda tile, i, h: f.store_tile(
            tile, target, f.add(row, i), column, h, WIDTH
        )
        places = [(source, row, column), (source, row, value)]
        if self.placed and self.is_kernel:
            key_row = lambda i: self.place(f.add(row, i))
            finish = lambda tile, i, h: self.scatter(tile, f.add(row, i), column, h)
            places = self.copy(row, source, (column, value))
        loops = self.loops
        scores = self.m["scores"]
        ask = lambda i: self.ask(source, following, i)
        query_place, value_place = places
        own = (source, key_row, key, *value_place, scores, bias_row, finish, ask)
        loops.emit(Window(*query_place, *own))

    def qkv_rows_of(self) -> Matrix:
        return self.m["qkv"] if self.is_kernel else self.qkv_rows

    def narrow_of(self) -> Matrix:
        return self.m["attended"] if self.is_kernel else self.narrow

    def copy(
        self, row: Index, source: Matrix, columns: tuple[Index, Index]
    ) -> list[tuple[Matrix, Index, Index]]:
        """Queries and values of one head, side by side in scratch."""
        f = self.f

        def one(i: str) -> None:
            own = self.place(f.add(row, i))
            for copy, column in zip(self.copies, columns):
                f.store(f.load(source, own, column, WIDTH), copy, i, 0, WIDTH)

        f.loop(0, TOKENS, 1, one)
        return [(copy, 0, 0) for copy in self.copies]

    def scatter(self, tile: str, row: Index, column: Index, height: int) -> None:
        f = self.f
        f.store_tile(tile, self.tile, 0, 0, height, WIDTH)

        def one(i: str) -> None:
            own = f.load(self.tile, i, 0, WIDTH)
            f.store(own, self.m["attended"], self.place(f.add(row, i)), column, WIDTH)

        f.loop(0, height, 1, one)

    def ask(self, source: Matrix, following: Index | None, i: Index) -> None:
        """For the lines of query i's row in the head that follows."""
        f = self.f
        if following is None:
            return
        window = f.arith("divui", following, self.block.heads)
        head = f.arith("remui", following, self.block.heads)
        row = self.place(f.add(f.mul(window, TOKENS), i))
        for column in (0, self.c, 2 * self.c):
            for line in (0, 16):
                at = f.add(f.mul(head, WIDTH), column + line)
                where = f.at(source, row, at)
                f.emit(
                    f"memref.prefetch {where}, read, locality<2>, data : {source.type}"
                )


def main() -> None:
    dump = Path(sys.argv[1]).read_text()
    block = Block(*map(int, sys.argv[2:6]), list(map(int, sys.argv[6:])))
    end = re.search(r"\n}[^\n]*\n(#loc.*\n)*\n{-#", dump).start()
    print(dump[:end] + "\n" + "\n".join(block.kernels()) + dump[end:])


if __name__ == "__main__":
    main()
