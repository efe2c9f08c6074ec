#!/usr/bin/env python3
# ===- generate.py - A linear attention over divided tokens, as tile IR ------=== #
# SPDX-License-Identifier: Apache-2.0
"""Writes a program that hova compiles from phase `tile` on.

usage: generate.py NAME [options] > NAME.mlir

One head of a Performer: y = phi(q) (phi(k)^T v) / (phi(q) (phi(k)^T 1)), over TOKENS rows
[k | q | v]. A chunk of tokens is a unit: the kernel `partial` writes the sums over the
tokens of a chunk to the chunk's own slot, so they do not depend on who computes them; the
slots are added up in their order, by a kernel of its own or by every thread that reads
the sums. `--merge=none` is the same attention without a split: one unit, one thread.
"""

import argparse
import math

from tile_ir import Emitter, matrix, program, vector

TOKENS, WIDTH, FEATURES = 3136, 64, 32
COLUMNS = 3 * WIDTH  # of a row [k | q | v]
KEY, QUERY, VALUE = 0, WIDTH, 2 * WIDTH
HEIGHT = 14  # rows of a register tile of FEATURES columns
SLOT = FEATURES + 2  # phi(k)^T v, then [phi(k)^T 1 | maximum], then 1^T v
LOG2_E = 1 / math.log(2)
T2T_EPSILON = 1e-8 * FEATURES  # of the denominator, without the factors 1 / m
FAVOR_EPSILON = 1e-6

KQV = f"memref<{TOKENS}x{COLUMNS}xf32>"
WEIGHT = f"memref<{WIDTH}x{FEATURES}xf32>"
OUT = f"memref<{TOKENS}x{WIDTH}xf32>"


def heights_of(rows, most):
    """Even heights of at most `most`."""
    blocks = -(-rows // most)
    return [rows // blocks + (i < rows % blocks) for i in range(blocks)]


class Attention:
    """The parts that kernels are put together from."""

    def __init__(self, options):
        self.options = options
        self.favor = options.form == "favor"
        # The maximum of a chunk stands in for that of all keys, until slots are merged.
        self.rescaled = self.favor and options.stabiliser == "chunk"
        self.chunk_rows = TOKENS // options.chunks
        self.block = options.block or self.chunk_rows
        root = math.sqrt(WIDTH) if self.favor else 1
        self.norm_factor = -0.5 * LOG2_E / root

    def for_heights(self, e, rows, body, most=HEIGHT):
        """`body(row, height)` over blocks of rows: loops, one body for each height."""
        heights = heights_of(rows, most)
        start = 0
        for height in sorted(set(heights), reverse=True):
            end = start + heights.count(height) * height
            e.loop(start, end, height, lambda row, _, h=height: body(row, h))
            start = end

    def norms(self, e, kqv, row, column, rows, norms):
        """norms[i] = -|u_i|^2 / 2, times what changes the base of the exponential."""

        def body(i, _):
            kind, one = vector(1, WIDTH), vector(1, 1)
            u = e.load(kqv, e.add(row, i), column, kind)
            square = e.arith("mulf", u, u, kind)
            total = e.op(f"hova_cpu.tile_row_sum {square} : {kind} -> {one}")
            factor = e.splat(self.norm_factor, 1, 1)
            e.store(e.arith("mulf", total, factor, one), norms, i, 0, one)

        e.loop(0, rows, 1, body)

    def projected(self, e, kqv, row, column, height):
        kind = vector(height, FEATURES)
        return e.op(
            f"hova_cpu.tile_product {kqv[0]}[{e.index(row)}, {e.index(column)}], "
            f"%weight[{e.index(0)}, {e.index(0)}] depth {e.index(WIDTH)} "
            f": {kqv[1]}, {WEIGHT} -> {kind}"
        )

    def features(self, e, kqv, row, column, rows, phi, norms):
        """phi[i] = 2^(w u_i - |u_i|^2 / 2): no maximum is needed."""
        self.norms(e, kqv, row, column, rows, norms)

        def body(i, height):
            kind, one = vector(height, FEATURES), vector(height, 1)
            score = self.projected(e, kqv, e.add(row, i), column, height)
            norm = e.broadcast(e.load(norms, i, 0, one), one, kind)
            power = e.op(f"hova.exp2 {e.arith('addf', score, norm, kind)} : {kind}")
            e.store(power, phi, i, 0, kind)

        self.for_heights(e, rows, body)

    def scores(self, e, kqv, row, column, rows, target, target_row):
        """target = w u, and the maxima of its columns."""

        def product(i, height):
            score = self.projected(e, kqv, e.add(row, i), column, height)
            kind = vector(height, FEATURES)
            e.store(score, target, e.add(target_row, i), 0, kind)

        self.for_heights(e, rows, product)

    def column_maxima(self, e, source, row, rows):
        kind = vector(FEATURES)

        def body(i, values):
            at = e.add(row, i)
            rows_of = [e.load(source, e.add(at, n), 0, kind) for n in range(len(values))]
            return [e.maximum(v, r, kind) for v, r in zip(values, rows_of)]

        ways = 7
        assert rows % ways == 0
        values = e.loop(
            0, rows, ways, body, [(e.splat(-3e38, FEATURES), kind)] * ways
        )
        for value in values[1:]:
            values[0] = e.maximum(values[0], value, kind)
        return values[0]

    def powers(self, e, source, row, rows, phi, norms, shift, epsilon):
        """phi[i] = 2^(score + norm - maximum) + epsilon; `shift` null: each row its own."""
        kind = vector(FEATURES)

        def body(i, _):
            score = e.load(source, e.add(row, i), 0, kind)
            largest = shift or e.largest(score, kind)
            norm = e.arith("subf", e.load(norms, i, 0, "f32"), largest, "f32")
            x = e.arith("addf", score, e.broadcast(norm, "f32", kind), kind)
            power = e.op(f"hova.exp2 {x} : {kind}")
            if epsilon:
                power = e.arith("addf", power, e.splat(epsilon, FEATURES), kind)
            e.store(power, phi, i, 0, kind)

        e.loop(0, rows, 1, body)

    def contract(self, e, phi, kqv, row, rows, slot, slot_row, is_first):
        """slot = or += phi^T [v | 1], and 1^T v where slots are rescaled.

        The left operand is read down its columns: hova_cpu.tile_product cannot do that.
        """
        options = self.options
        for column in range(0, WIDTH, options.columns):
            for first in range(0, FEATURES, options.rows):
                height = min(options.rows, FEATURES - first)
                self.contract_tile(
                    e, phi, kqv, row, rows, slot, slot_row, is_first, first, height, column
                )

    def contract_tile(
        self, e, phi, kqv, row, rows, slot, slot_row, is_first, first, height, column
    ):
        kind, sums = vector(self.options.columns), vector(FEATURES)
        has_ones = first == 0 and column == 0
        has_values = first == 0 and self.rescaled
        carried = [(e.splat(0, self.options.columns), kind)] * (height + has_values)
        carried += [(e.splat(0, FEATURES), sums)] * has_ones
        unroll = 2 if rows % 2 == 0 else 1

        def body(j, values):
            at = e.add(row, j)
            for step in range(unroll):
                value = e.load(kqv, e.add(at, step), VALUE + column, kind)
                token = e.add(j, step)
                for i in range(height):
                    scalar = e.load(phi, token, first + i, "f32")
                    splat = e.broadcast(scalar, "f32", kind)
                    values[i] = e.fma(splat, value, values[i], kind)
                if has_values:
                    values[height] = e.arith("addf", values[height], value, kind)
                if has_ones:
                    own = e.load(phi, token, 0, sums)
                    values[-1] = e.arith("addf", values[-1], own, sums)
            return values

        values = e.loop(0, rows, unroll, body, carried)
        places = [(first + i, column, kind) for i in range(height)]
        places += [(FEATURES + 1, column, kind)] * has_values
        places += [(FEATURES, 0, sums)] * has_ones
        for value, (line, at, own) in zip(values, places):
            line = e.add(slot_row, line)
            if not is_first:
                value = e.arith("addf", e.load(slot, line, at, own), value, own)
            e.store(value, slot, line, at, own)

    def attend(self, e, kqv, sums, begin, end):
        """Units [begin, end) of the result."""
        rows = self.options.unit
        phi, norms = e.allocate(rows, FEATURES), e.allocate(rows, 1)
        inverse = e.allocate(rows, 1)
        ones = e.load(sums, FEATURES, 0, vector(FEATURES))

        def unit(number, _):
            row = e.multiply(number, rows)
            if self.favor:
                self.norms(e, kqv, row, QUERY, rows, norms)
                self.scores(e, kqv, row, QUERY, rows, phi, 0)
                self.powers(e, phi, 0, rows, phi, norms, None, FAVOR_EPSILON)
            else:
                self.features(e, kqv, row, QUERY, rows, phi, norms)
            self.denominators(e, phi, ones, inverse)
            columns = self.options.columns

            def block(i, height):
                for column in range(0, WIDTH, columns):
                    self.weighted(e, phi, sums, inverse, row, i, column, height)

            self.for_heights(e, rows, block, HEIGHT if columns == 32 else 6)

        e.loop(begin, end, 1, unit)

    def denominators(self, e, phi, ones, inverse):
        kind = vector(FEATURES)

        def body(i, _):
            product = e.arith("mulf", e.load(phi, i, 0, kind), ones, kind)
            total = e.op(
                f"vector.reduction <add>, {product} fastmath<reassoc> : {kind} into f32"
            )
            if not self.favor:
                epsilon = e.constant(f"{T2T_EPSILON:.9e}", "f32")
                total = e.arith("addf", total, epsilon, "f32")
            result = e.arith("divf", e.constant("1.0", "f32"), total, "f32")
            at = f"{inverse[0]}[{i}, {e.index(0)}]"
            e.do(f"memref.store {result}, {at} : {inverse[1]}")

        e.loop(0, self.options.unit, 1, body)

    def weighted(self, e, phi, sums, inverse, row, i, column, height):
        kind, one = vector(height, self.options.columns), vector(height, 1)
        product = e.op(
            f"hova_cpu.tile_product {phi[0]}[{e.index(i)}, {e.index(0)}], "
            f"{sums[0]}[{e.index(0)}, {e.index(column)}] "
            f"depth {e.index(FEATURES)} : {phi[1]}, {sums[1]} -> {kind}"
        )
        factor = e.broadcast(e.load(inverse, i, 0, one), one, kind)
        scaled = e.arith("mulf", product, factor, kind)
        e.store(scaled, ("%out", OUT), e.add(row, i), column, kind)

    def slot_scales(self, e, slots, scales):
        """scales[c] = 2^(maximum of chunk c - maximum of all)."""
        chunks, kind = self.options.chunks, vector(FEATURES)

        def largest(c, values):
            row = e.add(e.multiply(c, SLOT), FEATURES)
            return [e.maximum(values[0], e.load(slots, row, FEATURES, kind), kind)]

        start = [(e.splat(-3e38, FEATURES), kind)]
        largest = e.loop(0, chunks, 1, largest, start)[0]

        def scale(c, _):
            row = e.add(e.multiply(c, SLOT), FEATURES)
            own = e.load(slots, row, FEATURES, kind)
            rest = e.arith("subf", own, largest, kind)
            e.store(e.op(f"hova.exp2 {rest} : {kind}"), scales, c, 0, kind)

        e.loop(0, chunks, 1, scale)

    def merge(self, e, slots, target, begin, end):
        """Rows [begin, end) of the sums of all slots, in the order of the slots."""
        chunks, kind = self.options.chunks, vector(WIDTH)
        if self.rescaled:
            scales = e.allocate(chunks, FEATURES)
            self.slot_scales(e, slots, scales)
            plain = e.allocate(1, FEATURES)

        def row_sum(row, first, scaled):
            def body(c, values):
                own = e.load(slots, e.add(e.multiply(c, SLOT), row), 0, kind)
                if not scaled:
                    return [e.arith("addf", values[0], own, kind)]
                scale = e.broadcast(e.load(scales, c, 0, "f32"), "f32", kind)
                return [e.fma(scale, own, values[0], kind)]

            return e.loop(0, chunks, 1, body, [(first, kind)])[0]

        def rescaled(row, _):
            values = row_sum(e.index(FEATURES + 1), e.splat(0, WIDTH), False)
            last = e.constant(FEATURES)
            is_sum = e.op(f"arith.cmpi ult, {row}, {last} : index")
            tokens = e.splat(TOKENS, WIDTH)
            added = e.op(f"arith.select {is_sum}, {values}, {tokens} : {kind}")
            first = e.arith("mulf", added, e.splat(FAVOR_EPSILON, WIDTH), kind)
            e.store(row_sum(row, first, True), target, row, 0, kind)

        def unscaled(row, _):
            e.store(row_sum(row, e.splat(0, WIDTH), False), target, row, 0, kind)

        e.loop(begin, end, 1, rescaled if self.rescaled else unscaled)

    #===--------------------------------------------------------------------===#
    # Kernels
    #===--------------------------------------------------------------------===#

    def key_sums(self, e, kqv, row, rows, slot, slot_row, given):
        """The sums over `rows` tokens from `row`; `given`: their scores and maximum."""
        phi, norms = e.allocate(self.block, FEATURES), e.allocate(self.block, 1)
        is_single = rows == self.block

        def block(start, _):
            at = e.add(row, start)
            if not self.favor:
                self.features(e, kqv, at, KEY, self.block, phi, norms)
            else:
                self.norms(e, kqv, at, KEY, self.block, norms)
                if given:
                    scores, largest = given
                    self.powers(
                        e, scores, at, self.block, phi, norms, largest, FAVOR_EPSILON
                    )
                else:
                    self.chunk_powers(e, kqv, at, phi, norms, slot, slot_row)
            self.contract(e, phi, kqv, at, self.block, slot, slot_row, is_single)

        if is_single:
            block(0, None)
            return

        def clear(i, _):
            zero = e.splat(0, WIDTH)
            e.store(zero, slot, e.add(slot_row, i), 0, vector(WIDTH))

        e.loop(0, SLOT, 1, clear)
        e.loop(0, rows, self.block, block)

    def chunk_powers(self, e, kqv, row, phi, norms, slot, slot_row):
        """Relative to the chunk's own maximum, which joins its slot."""
        assert self.block == self.chunk_rows, "a maximum over several blocks"
        kind = vector(FEATURES)
        self.scores(e, kqv, row, KEY, self.block, phi, 0)
        maxima = self.column_maxima(e, phi, 0, self.block)
        largest = e.largest(maxima, kind)
        splat = e.broadcast(largest, "f32", kind)
        e.store(splat, slot, e.add(slot_row, FEATURES), FEATURES, kind)
        self.powers(e, phi, 0, self.block, phi, norms, largest, None)

    def largest_of(self, e, maxima, count):
        kind = vector(FEATURES)

        def body(c, values):
            return [e.maximum(values[0], e.load(maxima, c, 0, kind), kind)]

        start = [(e.splat(-3e38, FEATURES), kind)]
        return e.largest(e.loop(0, count, 1, body, start)[0], kind)

    def kernels(self):
        """[(emitter, units, flops)] in the order of their launches."""
        o = self.options
        inputs = {"%kqv": KQV, "%weight": WEIGHT}
        slots = {"%slots": matrix(o.chunks * SLOT, WIDTH)}
        sums = {"%sums": matrix(SLOT, WIDTH)}
        scores = {
            "%scores": matrix(TOKENS, FEATURES),
            "%maxima": matrix(o.chunks, FEATURES),
        }
        projection = 2 * TOKENS * WIDTH * FEATURES
        keys, queries = 2 * projection + projection // WIDTH, 2 * projection
        queries += projection // WIDTH
        is_global = self.favor and not self.rescaled
        found = scores if is_global else {}
        if o.merge == "none":
            return [(self.whole({**inputs, "%out": OUT, **found}), 1, keys + queries)]
        kernels = []
        if is_global:
            kernels.append((self.score({**inputs, **scores}), o.chunks, projection))
            keys -= projection
        kernels.append((self.partial({**inputs, **slots, **found}), o.chunks, keys))
        if o.merge == "kernel":
            e = Emitter("merge", slots | sums)
            self.merge(e, *slots.items(), *sums.items(), "%begin", "%end")
            kernels.append((e, SLOT - 1, o.chunks * SLOT * WIDTH))
        read = sums if o.merge == "kernel" else slots
        attend = self.attention({**inputs, "%out": OUT, **read})
        return [*kernels, (attend, TOKENS // o.unit, queries)]

    def score(self, buffers):
        e = Emitter("score", buffers)
        kqv, _, scores, maxima = buffers.items()

        def unit(c, _):
            row = e.multiply(c, self.chunk_rows)
            self.scores(e, kqv, row, KEY, self.chunk_rows, scores, row)
            largest = self.column_maxima(e, scores, row, self.chunk_rows)
            e.store(largest, maxima, c, 0, vector(FEATURES))

        e.loop("%begin", "%end", 1, unit)
        return e

    def partial(self, buffers):
        e = Emitter("partial", buffers)
        kqv, _, slots, *found = buffers.items()
        given = found and (found[0], self.largest_of(e, found[1], self.options.chunks))

        def unit(c, _):
            row, slot_row = e.multiply(c, self.chunk_rows), e.multiply(c, SLOT)
            self.key_sums(e, kqv, row, self.chunk_rows, slots, slot_row, given)

        e.loop("%begin", "%end", 1, unit)
        return e

    def attention(self, buffers):
        e = Emitter("attend", buffers)
        kqv, _, _, sums = buffers.items()
        if self.options.merge == "prologue":
            slots, sums = sums, e.allocate(SLOT, WIDTH)
            self.merge(e, slots, sums, 0, SLOT - 1)
        self.attend(e, kqv, sums, "%begin", "%end")
        return e

    def whole(self, buffers):
        e = Emitter("whole", buffers)
        kqv, _, _, *found = buffers.items()
        sums, given = e.allocate(SLOT, WIDTH), None
        if found:
            scores, _ = found
            self.scores(e, kqv, 0, KEY, TOKENS, scores, 0)
            largest = self.column_maxima(e, scores, 0, TOKENS)
            given = scores, e.largest(largest, vector(FEATURES))
        self.key_sums(e, kqv, 0, TOKENS, sums, 0, given)
        self.attend(e, kqv, sums, 0, TOKENS // self.options.unit)
        return e


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name")
    parser.add_argument("--chunks", type=int, default=32)
    parser.add_argument("--block", type=int, help="tokens between additions to a slot")
    parser.add_argument(
        "--merge", choices=("kernel", "prologue", "none"), default="kernel"
    )
    parser.add_argument("--form", choices=("t2t", "favor"), default="t2t")
    parser.add_argument("--stabiliser", choices=("chunk", "global"), default="chunk")
    parser.add_argument("--rows", type=int, default=6, help="of the contraction's tile")
    parser.add_argument("--columns", type=int, default=64)
    parser.add_argument("--unit", type=int, default=98, help="rows of the result")
    options = parser.parse_args()
    inputs = {"%kqv": KQV, "%weight": WEIGHT}
    kernels = Attention(options).kernels()
    print(program(options.name, inputs, {"%out": OUT}, kernels))


if __name__ == "__main__":
    main()
