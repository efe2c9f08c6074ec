#!/usr/bin/env python3
# ===- generate.py - TNT's inner block with tokens in lanes -------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Writes IR of the phase `tile`: TNT's inner block with one token in each lane.

A unit is a group of patches, whose tokens fill the lanes: 16, 32 or 64. A matrix of
activations is [group * channel][token], a weight is [output channel][input channel], and
a product is `hova_cpu.tile_product` with the weight on the left and activations on the right.

usage: generate.py FOLDER    writes block.mlir and forms.inc, the list of its forms
"""

import math
import sys
from dataclasses import dataclass
from pathlib import Path

TOKENS, WIDTH, HEADS, HIDDEN = 16, 24, 4, 96
HEAD = WIDTH // HEADS
PATCHES = 8 * 196
# Rows of the parts of scratch, in channels: a norm, queries with keys and values and
# then the hidden layer in the same place, the heads, the stream between the halves.
NORM, WIDE, HEADS_AT, MIDDLE, ROWS = 0, WIDTH, WIDTH + HIDDEN, 2 * WIDTH + HIDDEN, 168
ONE = f"vector<{TOKENS}xf32>"

# Name, rows and columns of every weight, in the order of the arguments.
WEIGHTS = (
    ("gain1", WIDTH, 1),
    ("shift1", WIDTH, 1),
    ("query", 3 * WIDTH, WIDTH),
    ("output", WIDTH, WIDTH),
    ("output_bias", WIDTH, 1),
    ("gain2", WIDTH, 1),
    ("shift2", WIDTH, 1),
    ("hidden", HIDDEN, WIDTH),
    ("hidden_bias", HIDDEN, 1),
    ("back", WIDTH, HIDDEN),
    ("back_bias", WIDTH, 1),
)


def resources() -> str:
    """The end of a dump: hova compiles a dump behind which a description stands."""
    text = (Path(__file__).parent / "inner_block.json").read_text()
    text = text.replace('"', "\\22").replace("\n", " ")
    return (
        '{-# external_resources: {hova: {arguments: "--march=x86-64-v4", '
        f'level: "x86-64-v4", file: "inner_block.json", description: "{text}"}}}} #-}}'
    )


@dataclass(frozen=True)
class Form:
    """One way to write the block."""

    name: str
    patches: int  # in the lanes of a register tile
    rows: int  # output channels of a register tile
    indexed: bool = False  # attention adds base and index in every address
    passes: bool = False  # attention in two passes, its exponents in scratch between
    joined: bool = False  # accumulators begin with bias and residual
    folded: bool = False  # a joined product whose addresses are one register each

    @property
    def lanes(self) -> int:
        return self.patches * TOKENS


FORMS = (
    Form("tile16", 1, 24),
    Form("tile32", 2, 12),
    Form("tile64", 4, 6),
    Form("indexed64", 4, 6, indexed=True),
    Form("passes64", 4, 6, passes=True),
    Form("joined64", 4, 6, passes=True, joined=True),
    Form("joined32", 2, 12, passes=True, joined=True),
    Form("folded16", 1, 24, passes=True, joined=True, folded=True),
    Form("folded64", 4, 6, passes=True, joined=True, folded=True),
)


class Function:
    """The text of one kernel function, an operation at a time."""

    def __init__(self, form: Form):
        self.form = form
        self.lines: list[str] = []
        self.constants: dict[str, str] = {}
        self.types = {name: f"memref<{r}x{c}xf32>" for name, r, c in WEIGHTS}
        stream = f"memref<{PATCHES // form.patches * WIDTH}x{form.lanes}xf32>"
        self.types |= {"x": stream, "out": stream}
        self.types["mem"] = f"memref<{ROWS}x{form.lanes}xf32>"
        self.size = 4 * (ROWS * form.lanes + HEADS * TOKENS * TOKENS)
        self.types["flat"] = f"memref<{self.size // 4}xf32>"
        self.count = 0

    def value(self, text: str) -> str:
        self.count += 1
        self.lines.append(f"%{self.count} = {text}")
        return f"%{self.count}"

    def constant(self, text: str) -> str:
        return self.constants.setdefault(text, f"%c{len(self.constants)}")

    def index(self, number: int) -> str:
        return self.constant(f"arith.constant {number} : index")

    def splat(self, number: float, kind: str) -> str:
        return self.constant(f"arith.constant dense<{number:.9e}> : {kind}")

    def plus(self, index: str | int, number: int) -> str:
        if isinstance(index, int):
            return self.index(index + number)
        return self.value(f"arith.addi {index}, {self.index(number)} : index")

    def times(self, index: str, number: int) -> str:
        return self.value(f"arith.muli {index}, {self.index(number)} : index")

    def apply(self, operation: str, kind: str, *operands: str, flags: str = "") -> str:
        return self.value(f"{operation} {', '.join(operands)} {flags}: {kind}")

    def tree(self, operation: str, kind: str, values: list[str], flags="") -> str:
        while len(values) > 1:
            pairs = zip(values[::2], values[1::2])
            odd = values[len(values) & ~1 :]
            values = [self.apply(operation, kind, *p, flags=flags) for p in pairs] + odd
        return values[0]

    def load(self, matrix: str, row: str, column: str, kind: str = ONE) -> str:
        at = f"%{matrix}[{row}, {column}] : {self.types[matrix]}"
        return self.value(f"vector.load {at}, {kind}")

    def store(self, value: str, matrix: str, row: str, column: str, kind: str = ONE):
        at = f"%{matrix}[{row}, {column}] : {self.types[matrix]}"
        self.lines.append(f"vector.store {value}, {at}, {kind}")

    def splat_of(self, matrix: str, row: str, column: str, kind: str = ONE) -> str:
        element = self.value(
            f"memref.load %{matrix}[{row}, {column}] : {self.types[matrix]}"
        )
        return self.value(f"vector.broadcast {element} : f32 to {kind}")

    def tile(self, matrix: str, row: str, kind: str) -> str:
        zero = self.index(0)
        at = f"%{matrix}[{row}, {zero}] : {self.types[matrix]}"
        return self.value(f"hova_cpu.tile_load {at} -> {kind}")

    def loop(self, end: int | str, step: int, begin: int | str = 0) -> str:
        self.count += 1
        bounds = [self.index(b) if isinstance(b, int) else b for b in (begin, end)]
        self.lines.append(
            f"scf.for %{self.count} = {bounds[0]} to {bounds[1]} step {self.index(step)} {{"
        )
        return f"%{self.count}"

    def end(self):
        self.lines.append("}")


def row_of(f: Function, first: str | int, row: str) -> str:
    if isinstance(first, int):
        return f.plus(row, first)
    return f.value(f"arith.addi {row}, {first} : index")


def sums_over_channels(f: Function, source: str, first: str | int, term) -> str:
    """The sum over channels of term(row of source, sum so far), in four chains."""
    kind, chains = f"vector<{f.form.lanes}xf32>", range(4)
    f.count += 2
    channel, result = f"%{f.count - 1}", f"%{f.count}"
    names = [f"%s{channel[1:]}_{i}" for i in chains]
    carried = ", ".join(f"{n} = {f.splat(0, kind)}" for n in names)
    kinds = ", ".join([kind] * 4)
    f.lines.append(
        f"{result}:4 = scf.for {channel} = {f.index(0)} to {f.index(WIDTH)} "
        f"step {f.index(4)} iter_args({carried}) -> ({kinds}) {{"
    )
    row = row_of(f, first, channel)
    rows = [f.load(source, f.plus(row, i), f.index(0), kind) for i in chains]
    sums = [term(value, sum_) for value, sum_ in zip(rows, names)]
    f.lines.append(f"scf.yield {', '.join(sums)} : {kinds}")
    f.end()
    return f.tree("arith.addf", kind, [f"{result}#{i}" for i in chains])


def norm(f: Function, source: str, first: str | int, gain: str, shift: str):
    """Rows of a tile are channels: mean and variance are sums of vectors, and all patches
    of a tile wait for one root and one division."""
    kind, zero = f"vector<{f.form.lanes}xf32>", f.index(0)
    share = f.splat(1 / WIDTH, kind)

    def squared(value: str, sum_: str) -> str:
        moved = f.apply("arith.subf", kind, value, mean)
        return f.apply("math.fma", kind, moved, moved, sum_)

    mean = sums_over_channels(
        f, source, first, lambda value, sum_: f.apply("arith.addf", kind, value, sum_)
    )
    mean = f.apply("arith.mulf", kind, mean, share)
    square = sums_over_channels(f, source, first, squared)
    square = f.apply("math.fma", kind, square, share, f.splat(1e-5, kind))
    root = f.apply("math.sqrt", kind, square)
    factor = f.apply("arith.divf", kind, f.splat(1, kind), root)
    minus = f.apply("arith.mulf", kind, mean, f.apply("arith.negf", kind, factor))
    channel = f.loop(WIDTH, 4)
    row = row_of(f, first, channel)
    for i in range(4):
        value = f.load(source, f.plus(row, i), zero, kind)
        value = f.apply("math.fma", kind, value, factor, minus)
        to = f.plus(channel, i)
        gained = f.splat_of(gain, to, zero, kind), f.splat_of(shift, to, zero, kind)
        value = f.apply("math.fma", kind, value, *gained)
        f.store(value, "mem", f.plus(to, NORM), zero, kind)
    f.end()


class Address:
    """Elements at constant distances from one address, which stands in one register.

    Left alone, LLVM writes base + index into every instruction, and with two registers
    in its address a multiply-add of a broadcast element runs at two thirds of its rate
    on Golden Cove. Nothing in MLIR hides the sum but an empty piece of assembly.
    """

    def __init__(self, f: Function, matrix: str, index: str):
        self.f = f
        pointer = f"memref.extract_aligned_pointer_as_index %{matrix}"
        whole = f.value(f"{pointer} : {f.types[matrix]} -> index")
        whole = f.value(f"arith.addi {whole}, {f.times(index, 4)} : index")
        whole = f.value(f"arith.index_cast {whole} : index to i64")
        if not f.form.indexed:
            nothing = 'llvm.inline_asm asm_dialect = att "", "=r,0"'
            whole = f.value(f"{nothing} {whole} : (i64) -> i64")
        self.base = f.value(f"llvm.inttoptr {whole} : i64 to !llvm.ptr")

    def at(self, offset: int) -> str:
        place = f"{self.base}[{offset}] : (!llvm.ptr) -> !llvm.ptr, f32"
        return self.f.value(f"llvm.getelementptr {place}")

    def load(self, offset: int, kind: str = ONE) -> str:
        alignment = "{alignment = 4 : i64} : !llvm.ptr"
        return self.f.value(f"llvm.load {self.at(offset)} {alignment} -> {kind}")

    def splat_of(self, offset: int, kind: str = ONE) -> str:
        element = self.load(offset, "f32")
        return self.f.value(f"vector.broadcast {element} : f32 to {kind}")

    def store(self, value: str, offset: int, kind: str = ONE):
        place = f"{self.at(offset)} {{alignment = 4 : i64}} : {kind}, !llvm.ptr"
        self.f.lines.append(f"llvm.store {value}, {place}")


SHAPES = {name: (rows, columns) for name, rows, columns in WEIGHTS}


def tile_product(f: Function, weight: str, right: int, bias: str, finish):
    """Tiles of weight * scratch[right ..] + bias, each handed to finish."""
    outputs, depth = SHAPES[weight]
    kind = f"vector<{f.form.rows}x{f.form.lanes}xf32>"
    row, zero = f.loop(outputs, f.form.rows), f.index(0)
    tile = f.value(
        f"hova_cpu.tile_product %{weight}[{row}, {zero}], %mem[{f.index(right)}, {zero}] "
        f"depth {f.index(depth)} : {f.types[weight]}, {f.types['mem']} -> {kind}"
    )
    if bias:
        column = f"vector<{f.form.rows}x1xf32>"
        own = f.tile(bias, row, column)
        own = f.value(f"vector.broadcast {own} : {column} to {kind}")
        tile = f.apply("arith.addf", kind, tile, own)
    finish(row, tile, kind)
    f.end()


def multiply(f: Function, weight: str, right: int, row: str, k: str, sums: list[str]):
    """Two steps of the inner dimension."""
    kind, zero, depth = f"vector<{f.form.lanes}xf32>", f.index(0), SHAPES[weight][1]
    if f.form.folded:
        left = Address(f, weight, f.value(f"arith.addi {f.times(row, depth)}, {k} : index"))
    for step in range(2):
        at = f.plus(k, step)
        panel = f.load("mem", f.plus(at, right), zero, kind)
        for i, sum_ in enumerate(sums):
            if f.form.folded:
                own = left.splat_of(i * depth + step, kind)
            else:
                own = f.splat_of(weight, f.plus(row, i), at, kind)
            sums[i] = f.apply("math.fma", kind, own, panel, sum_)


def joined_product(f: Function, weight: str, right: int, bias: str, finish, first):
    """The same, but accumulators begin with bias and residual."""
    depth, height = SHAPES[weight][1], f.form.rows
    kind = f"vector<{f.form.lanes}xf32>"
    row, zero = f.loop(SHAPES[weight][0], height), f.index(0)
    sums = [f.splat(0, kind)] * height
    if bias:
        sums = [f.splat_of(bias, f.plus(row, i), zero, kind) for i in range(height)]
    if first:
        sums = [f.apply("arith.addf", kind, s, first(row, i)) for i, s in enumerate(sums)]
    f.count += 2
    k, result = f"%{f.count - 1}", f"%{f.count}"
    names, kinds = [f"%s{k[1:]}_{i}" for i in range(height)], ", ".join([kind] * height)
    carried = ", ".join(f"{n} = {s}" for n, s in zip(names, sums))
    f.lines.append(
        f"{result}:{height} = scf.for {k} = {zero} to {f.index(depth)} "
        f"step {f.index(2)} iter_args({carried}) -> ({kinds}) {{"
    )
    multiply(f, weight, right, row, k, names)
    f.lines.append(f"scf.yield {', '.join(names)} : {kinds}")
    f.end()
    finish(row, [f"{result}#{i}" for i in range(height)], kind)
    f.end()


def scores_of(f: Function, head: Address) -> list[str]:
    """Sixteen vectors, one for each key: its products with all queries of a patch."""
    scores: list[str] = []
    for c in range(HEAD):
        row = (WIDE + c) * f.form.lanes
        own, row = head.load(row), row + WIDTH * f.form.lanes
        keys = [head.splat_of(row + j) for j in range(TOKENS)]
        if c == 0:
            scores = [f.apply("arith.mulf", ONE, own, k) for k in keys]
        else:
            pairs = zip(keys, scores)
            scores = [f.apply("math.fma", ONE, own, k, s) for k, s in pairs]
    return scores


def exponents_of(f: Function, scores: list[str]) -> list[str]:
    """Scores less the greatest of each query, times log2 e."""
    scale = math.log2(math.e) / math.sqrt(HEAD)
    most = f.tree("arith.maxnumf", ONE, scores, flags="fastmath<nnan,nsz> ")
    most = f.apply("arith.mulf", ONE, most, f.splat(-scale, ONE))
    return [f.apply("math.fma", ONE, s, f.splat(scale, ONE), most) for s in scores]


def weighted_values(f: Function, head: Address, powers: list[str]):
    """The heads' rows of scratch: values weighted by powers, over the sum of powers."""
    total = f.tree("arith.addf", ONE, powers)
    inverse = f.apply("arith.divf", ONE, f.splat(1, ONE), total)
    for c in range(HEAD):
        row = (WIDE + 2 * WIDTH + c) * f.form.lanes
        values = [head.splat_of(row + j) for j in range(TOKENS)]
        half = [f.apply("arith.mulf", ONE, powers[j], values[j]) for j in range(2)]
        for j in range(2, TOKENS):
            half[j % 2] = f.apply("math.fma", ONE, powers[j], values[j], half[j % 2])
        total = f.apply("arith.addf", ONE, *half)
        result = f.apply("arith.mulf", ONE, total, inverse)
        head.store(result, (HEADS_AT + c) * f.form.lanes)


def attention(f: Function):
    """Softmax down the sixteen vectors of a head; in registers, or in two passes over
    the heads of a patch so that each has more independent chains at hand."""
    patch = f.loop(f.form.lanes, TOKENS)
    rows, first = TOKENS * TOKENS, ROWS * f.form.lanes

    def next_head() -> tuple[Address, Address]:
        number = f.loop(HEADS, 1)
        channel = f.times(number, HEAD * f.form.lanes)
        at = f.value(f"arith.addi {channel}, {patch} : index")
        return Address(f, "flat", at), Address(f, "flat", f.times(number, rows))

    head, tiles = next_head()
    vectors = exponents_of(f, scores_of(f, head))
    if f.form.passes:
        for j, vector in enumerate(vectors):
            tiles.store(vector, first + j * TOKENS)
        f.end()
        head, tiles = next_head()
        vectors = [tiles.load(first + j * TOKENS) for j in range(TOKENS)]
    powers = [f.apply("hova.exp2", ONE, v) for v in vectors]
    weighted_values(f, head, powers)
    f.end()
    f.end()


def to_memory(f: Function, matrix: str, first: str | int, activation=False, added=None):
    """A finish of a product: GELU or the residual `added`, then a store."""

    def finish_rows(at, tile, kind):
        for i, vector in enumerate(tile):
            if activation:
                vector = f.value(f"hova.activation gelu_erf {vector} : {kind}")
            f.store(vector, matrix, f.plus(at, i), f.index(0), kind)

    def finish(row, tile, kind):
        at = row_of(f, first, row)
        if isinstance(tile, list):
            finish_rows(at, tile, kind)
            return
        if activation:
            tile = f.value(f"hova.activation gelu_erf {tile} : {kind}")
        if added:
            other = f.tile(added[0], row_of(f, added[1], row), kind)
            tile = f.apply("arith.addf", kind, tile, other)
        place = f"%{matrix}[{at}, {f.index(0)}] : {kind}, {f.types[matrix]}"
        f.lines.append(f"hova_cpu.tile_store {tile}, {place}")

    return finish


def linear(f, weight, right, bias, matrix, first, activation=False, added=None):
    """weight * scratch[right ..] + bias, by GELU or with `added`, to matrix[first ..]."""
    finish = to_memory(f, matrix, first, activation, added)
    if not f.form.joined:
        tile_product(f, weight, right, bias, finish)
        return

    def residual(row, i):
        at = f.plus(row_of(f, added[1], row), i)
        return f.load(added[0], at, f.index(0), f"vector<{f.form.lanes}xf32>")

    joined_product(f, weight, right, bias, finish, residual if added else None)


def stages(f: Function, group: str):
    """Name and code of each stage of a group whose first row is `group`."""
    return {
        "norm": lambda: norm(f, "x", group, "gain1", "shift1"),
        "query": lambda: linear(f, "query", NORM, "", "mem", WIDE),
        "attention": lambda: attention(f),
        "output": lambda: linear(
            f, "output", HEADS_AT, "output_bias", "mem", MIDDLE, added=("x", group)
        ),
        "norm2": lambda: norm(f, "mem", MIDDLE, "gain2", "shift2"),
        "hidden": lambda: linear(
            f, "hidden", NORM, "hidden_bias", "mem", WIDE, activation=True
        ),
        "back": lambda: linear(
            f, "back", WIDE, "back_bias", "out", group, added=("mem", MIDDLE)
        ),
    }


def function(form: Form, stage: str) -> str:
    f = Function(form)
    group = f.times(f.loop("%end", 1, "%begin"), WIDTH)
    for name, emit in stages(f, group).items():
        if stage in (name, "block"):
            emit()
    f.end()
    f.constant("arith.constant 0 : index")
    names = ["x", *(w[0] for w in WEIGHTS), "out"]
    arguments = [f"%{n}: {f.types[n]} {{llvm.noalias}}" for n in names]
    arguments.append(f"%scratch: memref<{f.size}xi8> {{llvm.noalias}}")
    constants = [f"{n} = {text}" for text, n in f.constants.items()]
    view = (
        f"%mem = memref.view %scratch[{f.index(0)}][] : memref<{f.size}xi8> "
        f"to {f.types['mem']}"
    )
    flat = (
        f"%flat = memref.view %scratch[{f.index(0)}][] : memref<{f.size}xi8> "
        f"to memref<{f.size // 4}xf32>"
    )
    head = (
        f"func.func private @{form.name}_{stage}({', '.join(arguments)}, "
        f"%begin: index, %end: index) {{"
    )
    return "\n".join([head, *constants, view, flat, *f.lines, "return", "}"])


def module() -> str:
    functions = []
    for form in FORMS:
        for stage in ("block", *stages(Function(form), "")):
            if stage != "norm2":
                functions.append(function(form, stage))
    main = (
        'module attributes {hova.model = "block", hova.phase = "tile"} {\n'
        "func.func @main() attributes {hova.arena_bytes = 0 : i64, hova.image_bytes = 0 "
        ": i64, hova.inputs = 0 : i64, hova.types = [], "
        "hova.values = []} {\nreturn\n}\nfunc.func private @weights() {\nreturn\n}"
    )
    return "\n".join([main, *functions, "}", resources()])


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    (folder / "block.mlir").write_text(module())
    forms = [f"FORM({form.name}, {form.patches})\n" for form in FORMS]
    (folder / "forms.inc").write_text("".join(forms))
