# ===- tileir.py - Tile IR as text, and the loops of a product ---------------=== #
# SPDX-License-Identifier: Apache-2.0
"""What `generate.py` writes kernels with: values, loops, products, norms.

The loops of a product are those of codegen/cpu/recipes/LinearRecipe.cpp: panels of 64 columns
outside, chunks of the inner dimension, row blocks of even heights inside, every tile
asking for its share of the next chunk.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

PANEL, TILE_ROWS, DEPTH = 64, 6, 128
Index = int | str


def ceil_div(a: int, b: int) -> int:
    return -(-a // b)


def padded(columns: int) -> int:
    """A row stride that is no multiple of 2048 bytes."""
    return columns + 16 if columns * 4 % 2048 == 0 else columns


@dataclass
class Matrix:
    """A row-major matrix of f32 (or i32), perhaps with a row stride."""

    name: str
    rows: int
    columns: int
    stride: int = 0
    element: str = "f32"

    @property
    def type(self) -> str:
        strided = self.stride not in (0, self.columns)
        layout = f", strided<[{self.stride}, 1]>" if strided else ""
        return f"memref<{self.rows}x{self.columns}x{self.element}{layout}>"


class Function:
    """One kernel function while it is written."""

    def __init__(self, name: str, arguments: dict[str, str], scratch: int):
        self.name, self.scratch = name, scratch
        self.arguments = arguments
        self.lines: list[str] = []
        self.constants: dict[str, str] = {}
        self.count = self.used = 0
        self.indent = 4

    def emit(self, text: str) -> None:
        self.lines.append(" " * self.indent + text)

    def value(self, text: str) -> str:
        self.count += 1
        self.emit(f"%v{self.count} = {text}")
        return f"%v{self.count}"

    def constant(self, literal: str, kind: str) -> str:
        key = f"arith.constant {literal} : {kind}"
        return self.constants.setdefault(key, f"%k{len(self.constants)}")

    def index(self, i: Index) -> str:
        return i if isinstance(i, str) else self.constant(str(i), "index")

    def splat(self, number: float, lanes: int, rows: int = 0) -> str:
        shape = f"{rows}x{lanes}" if rows else f"{lanes}"
        kind = f"vector<{shape}xf32>"
        return self.constant(f"dense<{number:.9e}>", kind)

    def arith(self, op: str, a: Index, b: Index) -> Index:
        if isinstance(a, int) and isinstance(b, int):
            return {"addi": a + b, "subi": a - b, "muli": a * b}[op]
        if b == 0 and op in ("addi", "subi"):
            return a
        return self.value(f"arith.{op} {self.index(a)}, {self.index(b)} : index")

    def add(self, a: Index, b: Index) -> Index:
        return self.arith("addi", b, a) if a == 0 else self.arith("addi", a, b)

    def mul(self, a: Index, b: Index) -> Index:
        return self.arith("muli", a, b)

    def loop(
        self, begin: Index, end: Index, step: int, body: Callable[[str], None]
    ) -> None:
        self.count += 1
        i, bounds = f"%i{self.count}", (self.index(begin), self.index(end))
        self.emit(f"scf.for {i} = {bounds[0]} to {bounds[1]} step {self.index(step)} {{")
        self.indent += 2
        body(i)
        self.indent -= 2
        self.emit("}")

    def switch(
        self, chosen: str, cases: Sequence[int], body: Callable[[int], None]
    ) -> None:
        """One body for each possible value."""
        if len(cases) == 1:
            body(cases[0])
            return
        self.emit(f"scf.index_switch {chosen}")
        for case in cases:
            last = case == cases[-1]
            self.emit("default {" if last else f"case {case} {{")
            self.indent += 2
            body(case)
            self.emit("scf.yield")
            self.indent -= 2
            self.emit("}")

    def view(self, rows: int, columns: int, stride: int = 0) -> Matrix:
        """The next bytes of the scratch as a matrix."""
        stride = stride or columns
        whole = Matrix("", rows, stride)
        offset, self.used = self.used, self.used + ceil_div(rows * stride, 16) * 64
        assert self.used <= self.scratch, (self.name, self.used, self.scratch)
        source = f"memref<{self.scratch}xi8>"
        at = self.constant(str(offset), "index")
        name = self.value(f"memref.view %scratch[{at}][] : {source} to {whole.type}")
        if stride == columns:
            return Matrix(name, rows, columns)
        part = Matrix("", rows, columns, stride)
        cut = f"[0, 0] [{rows}, {columns}] [1, 1]"
        text = f"memref.subview {name}{cut} : {whole.type} to {part.type}"
        return Matrix(self.value(text), rows, columns, stride)

    def at(self, m: Matrix, row: Index, column: Index) -> str:
        return f"{m.name}[{self.index(row)}, {self.index(column)}]"

    def load(self, m: Matrix, row: Index, column: Index, lanes: int) -> str:
        where = self.at(m, row, column)
        return self.value(f"vector.load {where} : {m.type}, vector<{lanes}xf32>")

    def store(self, v: str, m: Matrix, row: Index, column: Index, lanes: int) -> None:
        where = self.at(m, row, column)
        self.emit(f"vector.store {v}, {where} : {m.type}, vector<{lanes}xf32>")

    def load_tile(self, m: Matrix, row: Index, column: Index, h: int, w: int) -> str:
        where = self.at(m, row, column)
        return self.value(f"hova_cpu.tile_load {where} : {m.type} -> vector<{h}x{w}xf32>")

    def load_row_tile(self, m: Matrix, row: Index, col: Index, h: int, w: int) -> str:
        """One row for all rows of a tile."""
        one = self.load_tile(m, row, col, 1, w)
        return self.broadcast(one, f"vector<1x{w}xf32>", f"vector<{h}x{w}xf32>")

    def store_tile(
        self, t: str, m: Matrix, row: Index, column: Index, h: int, w: int
    ) -> None:
        where = self.at(m, row, column)
        self.emit(f"hova_cpu.tile_store {t}, {where} : vector<{h}x{w}xf32>, {m.type}")

    def broadcast(self, v: str, source: str, target: str) -> str:
        return self.value(f"vector.broadcast {v} : {source} to {target}")

    def op(self, name: str, operands: Iterable[str], kind: str, flags: str = "") -> str:
        return self.value(f"{name} {', '.join(operands)}{flags} : {kind}")

    def reduce(self, kind: str, v: str, lanes: int, flags: str) -> str:
        text = f"vector.reduction <{kind}>, {v} fastmath<{flags}>"
        return self.value(f"{text} : vector<{lanes}xf32> into f32")

    def text(self) -> str:
        args = [f"%{n}: {t} {{llvm.noalias}}" for n, t in self.arguments.items()]
        args += [f"%scratch: memref<{self.scratch}xi8> {{llvm.noalias}}"]
        args += ["%begin: index", "%end: index"]
        head = [f"  func.func private @{self.name}({', '.join(args)}) {{"]
        head += [f"    {name} = {text}" for text, name in self.constants.items()]
        return "\n".join([*head, *self.lines, "    return", "  }"])


def heights_of(counts: Iterable[int], most: int) -> list[int]:
    """Heights of the blocks into which any of these row counts is divided."""
    found = set()
    for rows in counts:
        blocks = ceil_div(rows, most)
        found |= {rows // blocks} | ({rows // blocks + 1} if rows % blocks else set())
    return sorted(found)


def row_blocks(
    f: Function,
    rows: Index,
    heights: list[int],
    body: Callable[[str, int, str, str], None],
) -> None:
    """Even blocks of at most max(heights) rows: body(row, height, number, count)."""
    count = f.arith("divui", f.add(f.index(rows), max(heights) - 1), max(heights))
    least = f.arith("divui", f.index(rows), count)
    longer = f.arith("remui", f.index(rows), count)

    def block(number: str) -> None:
        before = f.arith("minui", number, longer)
        row = f.add(f.mul(number, least), before)
        is_longer = f.value(f"arith.cmpi ult, {number}, {longer} : index")
        one, zero = f.index(1), f.index(0)
        extra = f.value(f"arith.select {is_longer}, {one}, {zero} : index")
        f.switch(f.add(least, extra), heights, lambda h: body(row, h, number, count))

    f.loop(0, count, 1, block)


@dataclass
class Product:
    """rows x K times K x N in panels; `finish(tile, row, column, height, lanes)`."""

    lhs: Matrix
    lhs_row: Index
    weight: str
    bias: Matrix
    depth: int
    columns: int
    rows: Index
    counts: list[int]
    partials: Matrix
    finish: Callable[[str, str, Index, int, int], None]

    def emit(self, f: Function) -> None:
        whole, rest = divmod(self.columns, PANEL)
        f.loop(0, whole, 1, lambda p: self.panel(f, p, f.mul(p, PANEL), PANEL))
        if rest:
            self.panel(f, f.index(whole), whole * PANEL, rest)

    def panel(self, f: Function, panel: str, column: Index, lanes: int) -> None:
        size = ceil_div(ceil_div(self.depth, ceil_div(self.depth, DEPTH)), 16) * 16
        last = self.depth - (ceil_div(self.depth, size) - 1) * size
        if last == self.depth:
            self.chunk(f, panel, column, lanes, 0, last, "only")
            return
        self.chunk(f, panel, column, lanes, 0, size, "first")
        if 2 * size < self.depth:
            step = lambda k: self.chunk(f, panel, column, lanes, k, size, "middle")
            f.loop(size, self.depth - last, size, step)
        self.chunk(f, panel, column, lanes, self.depth - last, last, "last")

    def chunk(
        self,
        f: Function,
        panel: str,
        column: Index,
        lanes: int,
        k: Index,
        size: int,
        which: str,
    ) -> None:
        panels = ceil_div(self.columns, PANEL)
        weight = f"memref<{panels}x{self.depth}x{PANEL}xf32>"
        following = f.add(f.mul(panel, self.depth), f.add(k, size))
        most = (panels * self.depth - size) * PANEL
        following = f.arith("minui", f.index(f.mul(following, PANEL)), most)
        heights = heights_of(self.counts, TILE_ROWS)
        ask = ceil_div(PANEL, max(1, ceil_div(min(self.counts), TILE_ROWS)))

        def block(row: str, height: int, number: str, count: str) -> None:
            step = f.arith("divui", f.add(count, PANEL - 1), count)
            ahead = f.add(following, f.mul(f.mul(number, size), step))
            place = f.at(self.lhs, f.add(row, self.lhs_row), k)
            kind = f"vector<{height}x{lanes}xf32>"
            tile = f.value(
                f"hova_cpu.tile_product {place}, %{self.weight}"
                f"[{panel}, {f.index(k)}, {f.index(0)}] depth {f.index(size)}"
                f" prefetch({ahead} by {step}, {ask}) : {self.lhs.type}, {weight} -> {kind}"
            )
            if which in ("middle", "last"):
                sums = f.load_tile(self.partials, row, 0, height, lanes)
                tile = f.op("arith.addf", (tile, sums), kind)
            if which in ("first", "middle"):
                f.store_tile(tile, self.partials, row, 0, height, lanes)
                return
            bias = f.load_row_tile(self.bias, 0, column, height, lanes)
            tile = f.op("arith.addf", (tile, bias), kind)
            self.finish(tile, row, column, height, lanes)

        row_blocks(f, self.rows, heights, block)


def chunks_of(width: int) -> list[tuple[int, int]]:
    """(first column, lanes) of the vectors of a row, which are equally long."""
    lanes = PANEL if width % PANEL == 0 else PANEL // 2
    return [(column, lanes) for column in range(0, width, lanes)]


def norm_row(
    f: Function, parts: list[str], width: int, gain: Matrix, bias: Matrix, eps: float
) -> list[str]:
    """The normalised vectors of a row whose vectors are `parts`."""
    chunks = chunks_of(width)
    lanes = chunks[0][1]
    kind = f"vector<{lanes}xf32>"

    def mean_of(vectors: list[str]) -> str:
        both = vectors[0]
        for v in vectors[1:]:
            both = f.op("arith.addf", (both, v), kind)
        total = f.reduce("add", both, lanes, "reassoc")
        return f.op("arith.mulf", (total, f.constant(f"{1 / width:.9e}", "f32")), "f32")

    mean = f.broadcast(mean_of(parts), "f32", kind)
    centred = [f.op("arith.subf", (v, mean), kind) for v in parts]
    variance = mean_of([f.op("arith.mulf", (v, v), kind) for v in centred])
    shifted = f.op("arith.addf", (variance, f.constant(f"{eps:.9e}", "f32")), "f32")
    root = f.op("math.sqrt", (shifted,), "f32")
    factor = f.op("arith.divf", (f.constant("1.0", "f32"), root), "f32")
    factor = f.broadcast(factor, "f32", kind)
    results = []
    for v, (column, _) in zip(centred, chunks):
        normal = f.op("arith.mulf", (v, factor), kind)
        own = (f.load(gain, 0, column, lanes), f.load(bias, 0, column, lanes))
        results.append(f.op("math.fma", (normal, *own), kind))
    return results
