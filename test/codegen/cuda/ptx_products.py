# ===- ptx_products.py - Asynchronous products of warp groups -----------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""wgmma as the interpreter (ptx.py) has it, from the words of PTX: four warps multiply together, each its own 16 rows, and go on;
sums are under way until a wait of their own warp. Operands in shared memory are found by the bits of their descriptors.

Refused are registers that are touched while products add to them or read them; a product that takes a register which was written
after the last `wgmma.fence`; operands that no fence of proxies stands behind, or that are written before a wait has ended the
products that read them; warps of a group that do not the same; products that nobody commits or waits for."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from ptx_code import Fault, Instruction, check, names_of
from ptx_memory import Threads
from ptx_numbers import add_as, add_in_order, float_of_bf16, float_of_f16

LANES = np.arange(32)
ROW, PAIR = LANES // 4, 2 * (LANES % 4)
WIDEN = {"bf16": float_of_bf16, "f16": float_of_f16}
SHAPE = re.compile(r"wgmma\.mma_async\.sync\.aligned\.m64n(\d+)k16\.f32\.(bf16|f16)\.(bf16|f16)")
# Ways to exchange chunks, by the upper bits of a descriptor: bytes of a row, and bits of an address that chunks are exchanged by.
EXCHANGES = {1: (128, 7), 2: (64, 3)}


@dataclass
class Operand:
    """Rows of 16 elements in shared memory of each block: where their elements are, and the runs of 16 bytes that these lie in."""

    places: np.ndarray  # blocks, rows, 16
    runs: np.ndarray
    threads: Threads


@dataclass
class Product:
    """One instruction: the registers that it touches, and what is left to do."""

    sums: list[str]
    touched: list[str]
    add: Callable[[], None]
    operands: list[Operand]
    is_done: bool = False


@dataclass
class Products:
    """Of a warp, those under way."""

    uncommitted: list[Product] = field(default_factory=list)
    groups: list[list[Product]] = field(default_factory=list)
    written: set[str] = field(default_factory=set)  # registers, since the last fence
    busy: dict[str, int] = field(default_factory=dict)  # registers that products touch, and how many do
    begun: list[tuple] = field(default_factory=list)  # what warps of a group must have in common

    def under_way(self) -> list[Product]:
        return [product for group in [*self.groups, self.uncommitted] for product in group]


def described(s: Instruction, bits: np.ndarray, first: int, rows: int) -> np.ndarray:
    """Bytes of shared memory where the elements of rows from `first` on lie, for each block, by a descriptor of a K-major operand."""
    check((bits == bits[:, :1]).all(), f"{s.place}: {s.op} with a descriptor for each lane")
    bits = bits[:, 0].astype(np.uint64)
    start, stride = ((bits >> np.uint64(at) & np.uint64(0x3FFF)).astype(np.int64)[:, None, None] << 4 for at in (0, 32))
    way = np.unique(bits >> np.uint64(61))
    check(len(way) == 1 and int(way[0]) % 2 == 0 and int(way[0]) // 2 in EXCHANGES, f"{s.place}: {s.op} with an operand of another exchange of chunks")
    row_bytes, by = EXCHANGES[int(way[0]) // 2]
    check((bits >> np.uint64(49) & np.uint64(7) == 0).all(), f"{s.place}: {s.op} with an operand that begins inside of a pattern")
    check((start % (8 * row_bytes) < row_bytes).all(), f"{s.place}: {s.op} with an operand that begins at row {start.max() // row_bytes % 8} of a pattern")
    row, k = (first + np.arange(rows))[:, None], np.arange(16)
    at = start + row // 8 * stride + row % 8 * row_bytes + 2 * k
    return at ^ (at >> 7 & by) << 4


class WarpProducts:
    """The part of a warp that begins products and waits for them (mixed into ptx.Warp)."""

    products: Products

    def do_fence(self, s: Instruction, mask: np.ndarray) -> None:
        """Of proxies: what was written before is visible to products."""
        check(s.op == "fence.proxy.async.shared::cta", f"{s.op} is not known")
        check(mask.all(), f"{s.place}: part of a warp at {s.op}")
        self.grid.marks.fence(self.number)

    def do_wgmma(self, s: Instruction, mask: np.ndarray) -> None:
        check(mask.all(), f"{s.place}: part of a warp at {s.op}")
        state = self.products
        if s.op == "wgmma.fence.sync.aligned":
            state.written.clear()
        elif s.op == "wgmma.commit_group.sync.aligned":
            state.groups.append(state.uncommitted)
            state.uncommitted = []
        elif s.op == "wgmma.wait_group.sync.aligned":
            while len(state.groups) > int(s.operands[0]):
                for product in state.groups.pop(0):
                    self.end(s, product)
        else:
            self.begin(s)

    def begin(self, s: Instruction) -> None:
        shape = SHAPE.fullmatch(s.op)
        check(shape is not None and shape[2] == shape[3], f"{s.op} is not known")
        columns, widen, state = int(shape[1]), WIDEN[shape[2]], self.products
        sums, left, right, *flags = s.operands
        sums, words = names_of(sums), names_of(left) if left.startswith("{") else []
        check(len(sums) == columns // 2 and columns % 8 == 0 and columns <= 256, f"{s.place}: {s.op} of {len(sums)} sums")
        check(flags == ["1", "1", "1", "0", *([] if words else ["0"])], f"{s.place}: {s.op} with {flags} is not known")
        check(self.grid.threads % 128 == 0, f"{s.place}: {s.op} in a block without whole groups of warps")
        check(not state.written.intersection([*sums, *words]), f"{s.place}: {s.op} of registers that were written after the last wgmma.fence")
        added_to = {name for product in state.under_way() for name in product.sums}
        check(added_to.isdisjoint(words), f"{s.place}: {s.op} reads registers that another product adds to")
        descriptors = [self.descriptor(name) for name in ([right] if words else [left, right])]
        operands = [] if words else [self.operand(s, descriptors[0], 16 * (self.number % 4), 16)]
        operands.append(self.operand(s, descriptors[-1], 0, columns))
        held = [self.word(name, widen) for name in words]
        state.begun.append((s.place, *(d[:, 0].tobytes() for d in descriptors)))

        def add() -> None:
            a = self.elements(operands[0], widen) if not words else fragment(held)
            self.add_product(sums, a, self.elements(operands[-1], widen))

        product = Product(sums, [*sums, *words], add, operands)
        for name in product.touched:
            state.busy[name] = state.busy.get(name, 0) + 1
        behind = any(not p.is_done and set(p.sums) & set(sums) for p in state.under_way())
        now = {"early": True, "late": False, "mixed": self.grid.random.random() < 0.5}[self.grid.landing]
        if now and not behind:
            product.add()
            product.is_done = True
        state.uncommitted.append(product)

    def end(self, s: Instruction, product: Product) -> None:
        if not product.is_done:
            product.add()
        for name in product.touched:
            self.products.busy[name] -= 1
            if not self.products.busy[name]:
                del self.products.busy[name]
        for operand in product.operands:
            self.grid.marks.end_reading(s, operand.runs, 16 // self.grid.cell, operand.threads)

    def descriptor(self, name: str) -> np.ndarray:
        return np.broadcast_to(self.get(name, np.uint64), (self.grid.blocks, 32))

    def word(self, name: str, widen: Callable) -> tuple[np.ndarray, np.ndarray]:
        """Both values of a register, which other products may read too."""
        if name not in self.products.busy:
            return self.halves(name, widen)
        bits = self.registers[name].view(np.uint32)
        return widen(bits & np.uint32(0xFFFF)), widen(bits >> np.uint32(16))

    def operand(self, s: Instruction, descriptor: np.ndarray, first: int, rows: int) -> Operand:
        """Lanes take turns in reading rows."""
        places = described(s, descriptor, first, rows)
        check((places + 2 <= self.grid.shared_bytes).all(), f"{s.place}: {s.op} out of bounds")
        runs = self.runs_of(places[:, :, ::8].reshape(self.grid.blocks, -1), 16)  # the first of a row, and the second
        lanes = np.repeat(np.arange(rows) % 32, 2)
        blocks = np.repeat(np.arange(self.grid.blocks), len(lanes))
        threads = self.threads[blocks * 32 + np.tile(lanes, self.grid.blocks)]
        self.grid.marks.begin_reading(s, runs.reshape(-1), 16 // self.grid.cell, threads)
        return Operand(places, runs.reshape(-1), threads)

    def elements(self, operand: Operand, widen: Callable) -> np.ndarray:
        """As k, row, block."""
        memory = self.grid.shared.view(np.uint16)
        bits = memory[(self.grid.block[:, :, None] * self.grid.held + operand.places) // 2]
        return widen(bits).transpose(2, 1, 0)

    def add_product(self, sums: list[str], left: np.ndarray, right: np.ndarray) -> None:
        total = np.zeros((16, right.shape[1], self.grid.blocks), np.float32)
        places = [(ROW + 8 * (i % 4 // 2), 8 * (i // 4) + PAIR + i % 2) for i in range(len(sums))]
        for name, place in zip(sums, places, strict=True):
            total[place] = np.ascontiguousarray(self.registers[name]).view(np.float32).T
        left, right = left[:, :, None], right[:, None]
        total = add_in_order(left, right, total) if self.grid.sums == "in-order" else add_as(self.grid.sums, left, right, total)
        bits = np.where(np.isnan(total), np.uint32(0x7FFFFFFF), total.view(np.uint32))
        for name, place in zip(sums, places, strict=True):
            self.registers[name] = np.ascontiguousarray(bits[place].T)

    def check_products_ended(self) -> None:
        check(not self.products.under_way(), "a warp ends while products of it are under way")

    def check_idle(self, name: str) -> None:
        if name in self.products.busy:
            raise Fault(f"{name} is touched while a product adds to it or reads it")


def fragment(words: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """A left operand in registers, as k, row, block."""
    left = np.zeros((16, 16, len(words[0][0])), np.float32)
    for i, halves in enumerate(words):
        for e, value in enumerate(halves):
            left[PAIR + e + 8 * (i // 2), ROW + 8 * (i % 2)] = value.T
    return left


def check_groups(warps: list) -> None:
    """Four warps, from a multiple of four on, have begun the same products."""
    for warp in warps:
        first = warps[warp.number // 4 * 4]
        check(warp.products.begun == first.products.begun, "warps of a group have not begun the same products")
