# ===- ptx.py - PTX in NumPy ----------------------------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""An interpreter of the PTX of sm_80 that kernels become, after LLVM's back end.

All blocks of a grid run at once: a register of a warp is an array of blocks x 32 lanes.
Fragments are written from the tables of the PTX ISA, not from the compiler, and the sums of
`mma.sync` are exact products added in order of k, each addition rounded to f32, or as a device adds. Warps run in
a random order from barrier to barrier, and copies land when they are issued, as late as a
wait allows, or either by chance; a program must not notice.

Refused (`Fault`) are accesses out of bounds or misaligned, shared bytes that nobody has
written or that two threads touch without meeting in between, one of them to write, barriers
that part of a warp reaches, instructions of a warp that part of it executes, and loops that do not end. On demand wavefronts of shared memory and sectors of global memory are
counted, and how few of each the same bytes could take.
"""

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np
from ptx_code import KINDS, Fault, Instruction, check, constant, names_of, parse
from ptx_numbers import add_as, add_in_order, bf16_of_float, divided, f16_of_float, float_of_bf16, float_of_f16, fused, largest, smallest

LANES = np.arange(32)
ROW, PAIR = LANES // 4, 2 * (LANES % 4)  # what a lane holds of an 8x8 block
EVERYBODY, WARP = -1, 4096  # who may touch a byte of shared memory; else one thread, by number
MOST_TURNS = 200  # of loops that a warp takes; kernels of tests take fewer by far
NOWHERE = 2**62  # after every address
SPACE = 40  # an address of global memory: number of the buffer above, byte below


def in_runs(memory: np.ndarray, count: int) -> np.ndarray:
    """The bytes of a buffer, or of the shared memory of blocks, as runs of so many, without the last if they are fewer."""
    whole = memory.shape[-1] // count * count
    return memory[..., :whole].reshape(*memory.shape[:-1], -1, count)


def first_of_each(ordered: np.ndarray) -> np.ndarray:
    """Where a row of ordered numbers has one that it did not have before."""
    first = np.ones(ordered.shape, bool)
    np.not_equal(ordered[:, 1:], ordered[:, :-1], out=first[:, 1:])
    return first


def spread(value: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """One value for each thread."""
    return value if value.shape == shape else np.broadcast_to(value, shape)


class Grid:
    """Memory that warps share, and the warps."""

    def __init__(self, ptx: str, name: str, buffers: list[np.ndarray], grid: tuple[int, ...],
                 shared: int, landing: str = "early", seed: int = 0, sums: str = "in-order", block: tuple[int, ...] | None = None,
                 counts: bool = False):
        self.sums, self.is_counted = sums, counts
        self.code, self.labels, self.leaving = parse(ptx, name)
        entry = re.search(rf"\.entry {name}\(.*?\n\{{", ptx, re.DOTALL).group()
        needed = re.search(r"\.reqntid (\d+)(?:, (\d+), (\d+))?", entry)
        demanded = tuple(int(size or 1) for size in needed.groups()) if needed else None
        check(not (block and demanded) or tuple(block) == demanded, f"{name} is made for blocks of {demanded} threads, not {block}")
        self.shape = block or demanded
        self.threads = int(np.prod(self.shape))
        self.symbols = set(re.findall(r"\.shared [^;]*?(\w+)\[", ptx))
        self.params = re.findall(r"\.param \S+.*?(\w+_param_\d+)", entry)
        check(len(self.params) == len(buffers), f"{len(buffers)} buffers for {self.params}")
        self.landing, self.random = landing, random.Random(seed)
        self.sizes = sizes = [*grid, 1, 1][:3]
        self.blocks = int(np.prod(sizes))
        self.block = np.arange(self.blocks)[:, None]
        self.ids = (self.block % sizes[0], self.block // sizes[0] % sizes[1],
                    self.block // (sizes[0] * sizes[1]))
        # Whole runs of the bytes that one thread moves, 16 at most.
        self.shared_bytes, held = shared, -(-shared // 16) * 16
        self.shared = np.full((self.blocks, held), 0xFF, np.uint8)
        self.written = np.zeros((self.blocks, held), bool)
        # The last who wrote and read each byte since the threads met.
        self.writer, self.reader = (np.full((self.blocks, held), EVERYBODY, np.int16) for _ in range(2))
        self.buffers = [buffer.reshape(-1).view(np.uint8) for buffer in buffers]
        self.counts: Counter = Counter()
        self.warps = [Warp(self, warp) for warp in range(self.threads // 32)]

    def run(self) -> None:
        """Warps in turn, each until it waits; barriers when all have come."""
        waiting: list = []
        blocks = None  # of which threads wait
        ready = [warp.run() for warp in self.warps]
        while ready or waiting:
            if not ready:
                ready, waiting = waiting, []
                self.writer[blocks] = self.reader[blocks] = EVERYBODY
            turn = ready.pop(self.random.randrange(len(ready)))
            with np.errstate(all="ignore"):
                come = next(turn, None)
            if come is None:
                check(not waiting, "a warp ends while others wait at a barrier")
                continue
            check(not waiting or np.array_equal(come, blocks), "warps of a block wait at different barriers")
            blocks = come
            waiting.append(turn)

    def touch(self, s: Instruction, where: tuple, count: int, who: np.ndarray, warp: int, writes: bool) -> None:
        """Checks, and notes, that `who` may touch these runs of shared memory now."""
        for owner in (self.writer, self.reader) if writes else (self.writer,):
            old = in_runs(owner, count)[where]
            check(((old == EVERYBODY) | (old == WARP + warp) | (old == who)).all(),
                  f"{s.place}: {s.op} of bytes of a thread that was not met since")
        in_runs(self.writer if writes else self.reader, count)[where] = who

    def meet(self, warp: int) -> None:
        """The threads of a warp meet."""
        for owner in (self.writer, self.reader):
            owner[owner // 32 == warp] = WARP + warp

    def count(self, place: int, kind: str, used: int, least: int) -> None:
        self.counts[place, kind, "used"] += used
        self.counts[place, kind, "least"] += least

    def total(self, kind: str, which: str) -> int:
        return sum(n for (_, k, w), n in self.counts.items() if (k, w) == (kind, which))


class Warp:
    """Registers and position of 32 threads of each block."""

    def __init__(self, grid: Grid, number: int):
        self.grid, self.number, shape = grid, number, (grid.blocks, 32)
        self.registers: dict[str, np.ndarray] = {}
        threads = np.unravel_index(32 * number + LANES, grid.shape[::-1])[::-1]
        for axis, values, thread, size, blocks in zip("xyz", grid.ids, threads, grid.shape, grid.sizes, strict=True):
            self.registers[f"%ctaid.{axis}"] = np.broadcast_to(values, shape).astype(np.uint32)
            self.registers[f"%tid.{axis}"] = np.tile(thread, (grid.blocks, 1)).astype(np.uint32)
            self.registers[f"%ntid.{axis}"] = np.full(shape, size, np.uint32)
            self.registers[f"%nctaid.{axis}"] = np.full(shape, blocks, np.uint32)
        self.registers["%laneid"] = np.tile(LANES, (grid.blocks, 1)).astype(np.uint32)
        self.at = np.zeros(shape, np.int64)
        self.everybody = np.ones(shape, bool)  # the very mask of statements that all threads execute
        self.turns = 0  # of loops
        self.groups: list[list[Callable[[], None]]] = []  # cp.async, committed
        self.copies: list[Callable[[], None]] = []

    def run(self) -> Iterator[np.ndarray]:
        """Executes the lowest statement that any thread is at; gives the blocks of those that come to a barrier."""
        code = self.grid.code
        parked = np.zeros(self.at.shape, bool)  # at a barrier of the warp
        while (here := int(np.where(parked, len(code) + 1, self.at).min())) < len(code):
            mask = (self.at == here) & ~parked
            if mask.all():
                mask = self.everybody
            # Up to a statement that threads may leave elsewhere, or where others are, these go on alone.
            end = min(self.grid.leaving[here], int(self.at.min(where=~mask & ~parked, initial=len(code))))
            for statement in code[here:end]:
                self.execute(statement, self.guarded(statement, mask))
            self.at[mask] = max(end, here + 1)
            if end > here:
                continue
            statement, mask = code[here], self.guarded(code[here], mask)
            if statement.op == "bar.warp.sync":
                parked |= mask
                if parked.all(axis=1).any():
                    self.grid.meet(self.number)
                parked &= ~parked.all(axis=1, keepdims=True)
            elif statement.op.startswith("bra"):
                self.at[mask] = target = self.grid.labels[statement.operands[0]]
                self.turns += mask.any() and target <= here
                check(self.turns <= MOST_TURNS, f"{here}: a loop does not end")
            elif statement.op == "ret":
                self.at[mask] = len(code)
            else:
                # Blocks with more turns of a loop come here without the others.
                blocks = mask.any(axis=1)
                check((mask.all(axis=1) | ~blocks).all(), f"{here}: part of a warp at a barrier")
                yield blocks
        check(not parked.any(), "part of a warp ends while the rest waits for it")
        check(not self.copies, "a copy is never committed")

    def guarded(self, s: Instruction, mask: np.ndarray) -> np.ndarray:
        """Those of the threads whose predicate lets them execute a statement."""
        return mask & (self.get(s.guard.lstrip("!"), np.bool_) ^ s.guard.startswith("!")) if s.guard else mask

    # Operands ----------------------------------------------------------------

    def get(self, name: str, kind: type) -> np.ndarray:
        """The bits of an operand as an array of kind."""
        if name[0] == "%":
            value = self.registers.get(name)
            check(value is not None, f"{name} is read before it is written")
            if value.dtype == kind:
                return value
            size = np.dtype(kind).itemsize
            if value.dtype.itemsize != size:  # the low bits, or zeros above them
                value = value.view(f"u{value.dtype.itemsize}").astype(f"u{size}")
            return value.view(kind)
        return np.array(0, kind) if name in self.grid.symbols else constant(name, kind)

    def set(self, name: str, value: np.ndarray, mask: np.ndarray) -> None:
        """Writes a register where mask says so."""
        if name == "_":
            return
        value = spread(value, mask.shape)
        if value.dtype == np.float32:
            value = np.ascontiguousarray(value).view(np.uint32)
        if mask is not self.everybody and not mask.all() and name in self.registers:
            old = self.registers[name]
            value = np.where(mask, value, old if old.dtype == value.dtype else old.view(value.dtype))
        self.registers[name] = np.ascontiguousarray(value)

    def address(self, text: str) -> np.ndarray:
        """`[base+offset]` for every thread."""
        base, _, offset = text.strip("[]").partition("+")
        kind = np.uint64 if base.startswith("%rd") else np.uint32
        value = self.get(base, kind).astype(np.int64) + int(offset or 0)
        if kind == np.uint32:
            value &= 0xFFFFFFFF
        return spread(value, self.everybody.shape)

    def global_bytes(self, s: Instruction, text: str, count: int, mask: np.ndarray,
                     touched: np.ndarray | int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The buffer, and the places of count bytes for each thread of mask, the first `touched` of which it needs."""
        touched = np.broadcast_to(count if touched is None else touched, mask.shape)
        address = self.address(text)
        owners = address[mask] >> SPACE
        owner = int(owners[0])
        check((owners == owner).all() and 0 < owner <= len(self.grid.buffers), f"{s.place}: {s.op} outside of all buffers")
        buffer = self.grid.buffers[owner - 1]
        place = address & (2**SPACE - 1)
        check((place[mask] % count == 0).all(), f"{s.place}: {s.op} is misaligned")
        check((place[mask] + touched[mask] <= buffer.size).all(), f"{s.place}: {s.op} out of bounds")
        if self.grid.is_counted:
            self.count_sectors(s, place, touched, mask)
        return buffer, np.where(mask, place, 0)

    def count_sectors(self, s: Instruction, place: np.ndarray, touched: np.ndarray, mask: np.ndarray) -> None:
        """What a thread touches lies in one sector, because it is aligned. What several touch counts once."""
        order = np.argsort(np.where(mask, place, NOWHERE), axis=1, kind="stable")
        ordered, there = np.take_along_axis(place, order, axis=1), np.take_along_axis(mask, order, axis=1)
        sectors = (first_of_each(ordered // 32) & there).sum(axis=1)
        own = np.where(first_of_each(ordered) & there, np.take_along_axis(touched, order, axis=1), 0).sum(axis=1)
        self.grid.count(s.place, s.parts[0], int(sectors.sum()), int((-(-own // 32)).sum()))

    def shared_places(self, s: Instruction, text: str, count: int, mask: np.ndarray, kind: str) -> np.ndarray:
        """Places of count bytes of shared memory for each thread of mask."""
        place = self.address(text)
        check((place[mask] % count == 0).all(), f"{s.place}: {s.op} is misaligned")
        inside = (place[mask] >= 0) & (place[mask] + count <= self.grid.shared_bytes)
        check(inside.all(), f"{s.place}: {s.op} out of bounds")
        if self.grid.is_counted:
            self.count_wavefronts(s, place, count, mask, kind)
        return place

    def count_wavefronts(self, s: Instruction, place: np.ndarray, count: int, mask: np.ndarray, kind: str) -> None:
        """So many lanes go at once, and those that need the same word or the same run of words count once."""
        unit = max(count, 4)
        lanes = 128 // unit
        units = np.sort(np.where(mask, place // unit, NOWHERE).reshape(-1, lanes), axis=1)
        apart = first_of_each(units) & (units < NOWHERE)
        groups, banks = np.nonzero(apart)[0], units[apart] % lanes
        used = np.bincount(groups * lanes + banks, minlength=units.size).reshape(units.shape).max(axis=1)
        self.grid.count(s.place, kind, int(used.sum()), int((-(-apart.sum(axis=1) // lanes)).sum()))

    def touch(self, s: Instruction, mask: np.ndarray, place: np.ndarray, count: int, writes: bool, whole: bool = False) -> tuple:
        """The runs of the threads of mask, after the check that they may touch them."""
        where = np.broadcast_to(self.grid.block, mask.shape)[mask], place[mask] // count
        threads = np.broadcast_to(32 * self.number + LANES, mask.shape)[mask][:, None]
        self.grid.touch(s, where, count, threads, self.number, writes)
        if whole:  # all lanes read what the address of one is for
            in_runs(self.grid.reader, count)[where] = WARP + self.number
        return where

    def read_shared(self, s: Instruction, text: str, count: int, mask: np.ndarray, kind: str) -> np.ndarray:
        """Bytes of shared memory that the threads of mask may read: blocks x lanes x count, with any bytes for the others."""
        place = np.where(mask, self.shared_places(s, text, count, mask, kind), 0)
        where = self.grid.block, place // count
        check((in_runs(self.grid.written, count)[where] | ~mask[..., None]).all(), f"{s.place}: {s.op} of bytes that nobody has written")
        self.touch(s, mask, place, count, writes=False, whole=kind == "ldmatrix")
        return in_runs(self.grid.shared, count)[where]

    def write_shared(self, where: tuple, data: np.ndarray) -> None:
        """Runs of shared memory."""
        in_runs(self.grid.shared, data.shape[-1])[where] = data
        in_runs(self.grid.written, data.shape[-1])[where] = True

    # Statements ----------------------------------------------------------------

    def execute(self, s: Instruction, mask: np.ndarray) -> None:
        """One statement that neither jumps nor waits for others."""
        if mask is not self.everybody:
            if s.is_of_warp:
                check((mask.all(axis=1) | ~mask.any(axis=1)).all(), f"{s.place}: part of a warp at {s.op}")
            if not mask.any():
                return
        getattr(self, f"do_{s.parts[0]}", self.arithmetic)(s, mask)

    def arithmetic(self, s: Instruction, mask: np.ndarray) -> None:
        """Statements that compute a register from others."""
        parts, kind = s.parts, s.kind
        target, *names = s.operands
        if parts[0] in MIXED and parts[1:] != ["rn", "f32"]:
            value = self.mixed(parts, kind, names)
        elif "ftz" in parts:
            flush = [np.where(np.abs(x) < 2.0**-126, np.copysign(np.float32(0), x), x)
                     for x in (self.get(name, kind) for name in names)]
            value = SIMPLE[parts[0]](*flush).astype(np.float32)
            value = np.where(np.abs(value) < 2.0**-126, np.copysign(np.float32(0), value), value)
        else:
            check(parts[0] in SIMPLE, f"{s.op} is not known")
            value = SIMPLE[".".join(parts[:2]) if "NaN" in parts else parts[0]](*(self.get(name, kind) for name in names))
            value = value.astype(np.float32) if value.dtype == np.float64 else value
        self.set(target, value, mask)

    def mixed(self, parts: list[str], kind: type, names: list[str]) -> np.ndarray:
        """Operations whose operands differ in type, or whose result does."""
        if parts[0] == "selp":
            return np.where(self.get(names[2], np.bool_), self.get(names[0], kind), self.get(names[1], kind))
        x = self.get(names[0], kind)
        if parts[0] in ("shl", "shr"):
            shift = np.minimum(self.get(names[1], np.uint32), 8 * np.dtype(kind).itemsize)
            wide = x.astype(np.int64 if np.issubdtype(kind, np.signedinteger) else np.uint64)
            return (wide << shift.astype(wide.dtype) if parts[0] == "shl" else wide >> shift.astype(wide.dtype)).astype(kind)
        if parts[0] == "shf":  # the upper word of two, the first of them the lower, after a shift
            check(parts[1:3] == ["l", "wrap"], f"{'.'.join(parts)} is not known")
            both = self.get(names[1], kind).astype(np.uint64) << np.uint64(32) | x.astype(np.uint64)
            return (both << (self.get(names[2], np.uint32) % 32).astype(np.uint64) >> np.uint64(32)).astype(kind)
        if parts[0] == "bfe":
            return (x >> kind(int(names[1]))) & kind((1 << int(names[2])) - 1)
        y = self.get(names[1], kind)
        if parts[1] == "wide":
            wide = np.int64 if kind == np.int32 else np.uint64
            return (x.astype(wide) * y.astype(wide)).view(np.uint64)
        if parts[1] == "hi":
            return ((x.astype(np.int64) * y.astype(np.int64)) >> 32).astype(kind)
        return x * y + self.get(names[2], kind) if parts[0] == "mad" else x * y

    def do_mov(self, s: Instruction, mask: np.ndarray) -> None:
        """Registers, halves of registers, symbols."""
        target, source = s.operands
        if target.startswith("{"):
            halves = self.get(source, np.uint32)
            for i, name in enumerate(names_of(target)):
                self.set(name, ((halves >> np.uint32(16 * i)) & np.uint32(0xFFFF)).astype(np.uint16), mask)
        elif source.startswith("{"):
            low, high = (self.get(n, np.uint16).astype(np.uint32) for n in names_of(source))
            self.set(target, low | (high << np.uint32(16)), mask)
        else:
            self.set(target, self.get(source, KINDS[s.parts[1]]), mask)

    def do_cvt(self, s: Instruction, mask: np.ndarray) -> None:
        """Conversions of width, and between bf16 or f16 and f32."""
        target, *names = s.operands
        narrow = {"bf16": bf16_of_float, "f16": f16_of_float}
        widen = {"cvt.f32.bf16": float_of_bf16, "cvt.f32.f16": float_of_f16}
        if s.op in ("cvt.rn.bf16x2.f32", "cvt.rn.f16x2.f32"):
            to = narrow[s.op.split(".")[2].removesuffix("x2")]
            high, low = (to(self.get(n, np.float32)).astype(np.uint32) for n in names)
            self.set(target, (high << np.uint32(16)) | low, mask)
        elif s.op in ("cvt.rn.bf16.f32", "cvt.rn.f16.f32"):
            self.set(target, narrow[s.op.split(".")[2]](self.get(names[0], np.float32)), mask)
        elif s.op in widen:
            self.set(target, widen[s.op](self.get(names[0], np.uint16)), mask)
        elif s.op in ("cvt.rn.f32.s32", "cvt.rn.f32.u32"):
            self.set(target, self.get(names[0], KINDS[s.op[-3:]]).astype(np.float32), mask)
        elif s.op in ("cvt.rmi.f32.f32", "cvt.rpi.f32.f32"):
            to_whole = np.floor if s.op[4:7] == "rmi" else np.ceil
            self.set(target, to_whole(self.get(names[0], np.float32)), mask)
        elif s.op in ("cvt.rzi.s32.f32", "cvt.rzi.u32.f32"):
            to = KINDS[s.op[8:11]]
            number = np.nan_to_num(np.trunc(self.get(names[0], np.float32).astype(np.float64)), nan=0.0)
            self.set(target, np.clip(number, np.iinfo(to).min, np.iinfo(to).max).astype(to), mask)
        else:
            to, origin = (KINDS[p] for p in s.op.split(".")[1:])
            self.set(target, self.get(names[0], origin).astype(to), mask)

    def do_setp(self, s: Instruction, mask: np.ndarray) -> None:
        """Comparisons."""
        _, how, kind = s.op.split(".")
        compare = {"lt": np.less, "gt": np.greater, "ne": np.not_equal, "eq": np.equal, "ge": np.greater_equal, "le": np.less_equal,
                   "num": lambda x, y: True, "nan": lambda x, y: False}
        x, y = (self.get(name, KINDS[kind]) for name in s.operands[1:])
        if kind == "f32":  # comparisons of what is no number hold if they end in u, and nan
            unordered = np.isnan(x) | np.isnan(y)
            loose = how == "nan" or how not in compare
            how = how if how in compare else how[:-1]
            self.set(s.operands[0], np.where(unordered, loose, compare[how](x, y)), mask)
            return
        self.set(s.operands[0], compare[how](x, y), mask)

    def do_shfl(self, s: Instruction, mask: np.ndarray) -> None:
        """Exchange with another lane, or with none where that is outside of the segment."""
        how = s.op.split(".")[2]
        check(s.op.endswith(".b32") and s.operands[4] == "-1", f"{s.op} of {s.operands} is not known")
        value, by, limit = (spread(self.get(name, np.uint32), mask.shape).astype(np.int64) for name in s.operands[1:4])
        segment, by = limit >> 8 & 31, by & 31
        last, first = LANES & segment | limit & 31 & ~segment, LANES & segment
        other = {"up": LANES - by, "down": LANES + by, "bfly": LANES ^ by, "idx": first | by & ~segment}[how]
        inside = other >= last if how == "up" else other <= last
        target, *predicate = s.operands[0].split("|")
        self.set(target, np.take_along_axis(value, np.where(inside, other, LANES), axis=1).astype(np.uint32), mask)
        for name in predicate:
            self.set(name, inside, mask)

    def do_ld(self, s: Instruction, mask: np.ndarray) -> None:
        """Parameters, shared and global memory."""
        if ".param" in s.op:
            number = self.grid.params.index(s.operands[1].strip("[]"))
            self.set(s.operands[0], np.array((number + 1) << SPACE, np.uint64), mask)
            return
        names, kind = names_of(s.operands[0]), s.kind
        count = np.dtype(kind).itemsize * len(names)
        if ".shared" in s.op:
            data = self.read_shared(s, s.operands[1], count, mask, "shared")
        else:
            buffer, place = self.global_bytes(s, s.operands[1], count, mask)
            data = in_runs(buffer, count)[place // count]
        words = np.ascontiguousarray(data).view(kind)
        if kind in (np.int8, np.int16):
            words = words.astype(np.int32)
        for i, name in enumerate(names):
            self.set(name, words[..., i], mask)

    def do_st(self, s: Instruction, mask: np.ndarray) -> None:
        """Shared and global memory."""
        names, kind = names_of(s.operands[1]), s.kind
        values = [spread(self.get(name, kind), mask.shape) for name in names]
        data = np.ascontiguousarray(np.stack(values, axis=-1)).view(np.uint8)
        count = data.shape[-1]
        if ".shared" in s.op:
            place = self.shared_places(s, s.operands[0], count, mask, "shared")
            self.write_shared(self.touch(s, mask, place, count, writes=True), data[mask])
        else:
            buffer, place = self.global_bytes(s, s.operands[0], count, mask)
            in_runs(buffer, count)[place[mask] // count] = data[mask]

    def do_cp(self, s: Instruction, mask: np.ndarray) -> None:
        """cp.async and its groups."""
        if "commit" in s.op:
            self.groups.append(self.copies)
            self.copies = []
        elif "wait_group" in s.op:
            while len(self.groups) > int(s.operands[0]):
                for land in self.groups.pop(0):
                    land()
        else:
            self.copy(s, mask)

    def copy(self, s: Instruction, mask: np.ndarray) -> None:
        """4, 8 or 16 bytes a thread, of which the first are read and the others are zeros."""
        count = int(s.operands[2])
        check(count in ((16,) if ".cg." in s.op else (4, 8, 16)), f"{s.op} of {count} bytes is not known")
        read = self.get(s.operands[3], np.uint32) if len(s.operands) > 3 else np.uint32(count)
        read = spread(read, mask.shape).astype(np.int64)
        check((read[mask] <= count).all(), f"{s.place}: {s.op} reads more than it writes")
        there = (read > 0) & mask
        target = self.shared_places(s, s.operands[0], count, mask, "copied")
        data = np.zeros((*mask.shape, count), np.uint8)
        if there.any():
            buffer, place = self.global_bytes(s, s.operands[1], count, there, read)
            span = np.arange(count)
            needed = there[..., None] & (span < read[..., None])
            data = np.where(needed, buffer[np.where(needed, place[..., None] + span, 0)], 0)
        where = self.touch(s, mask, target, count, writes=True)

        def land() -> None:
            self.write_shared(where, data[mask])

        early = {"early": True, "late": False, "mixed": self.grid.random.random() < 0.5}[self.grid.landing]
        if early:
            land()
        else:
            in_runs(self.grid.written, count)[where] = False
            self.copies.append(land)

    # Products ----------------------------------------------------------------

    def do_ldmatrix(self, s: Instruction, mask: np.ndarray) -> None:
        """One, two or four 8x8 blocks whose rows the first lanes point to, eight lanes a block."""
        names = names_of(s.operands[0])
        everybody, mask = mask, mask & (LANES < 8 * len(names))
        rows = self.read_shared(s, s.operands[1], 16, mask, "ldmatrix").view(np.uint16)  # blocks, lane, 8
        for i, name in enumerate(names):
            block = rows[:, 8 * i : 8 * i + 8]
            if ".trans" in s.op:
                block = block.transpose(0, 2, 1)
            low, high = (block[:, ROW, PAIR + e].astype(np.uint32) for e in range(2))
            self.set(name, low | (high << np.uint32(16)), everybody)

    def halves(self, name: str, widen: Callable) -> tuple[np.ndarray, np.ndarray]:
        """Both values of 16 bits of a register."""
        bits = spread(self.get(name, np.uint32), self.everybody.shape)
        return widen(bits & np.uint32(0xFFFF)), widen(bits >> np.uint32(16))

    def do_mma(self, s: Instruction, mask: np.ndarray) -> None:
        """m16n8k16 of a warp."""
        name = "mma.sync.aligned.m16n8k16.row.col.f32.{0}.{0}.f32"
        known = {name.format("bf16"): float_of_bf16, name.format("f16"): float_of_f16}
        check(s.op in known, f"{s.op} is not known")
        widen = known[s.op]
        target, lhs, rhs, old = (names_of(operand) for operand in s.operands)
        left = np.zeros((16, 16, self.grid.blocks), np.float32)  # k, row
        right = np.zeros((16, 8, self.grid.blocks), np.float32)  # k, column
        for i, name in enumerate(lhs):
            for e, value in enumerate(self.halves(name, widen)):
                left[PAIR + e + 8 * (i // 2), ROW + 8 * (i % 2)] = value.T
        for i, name in enumerate(rhs):
            for e, value in enumerate(self.halves(name, widen)):
                right[PAIR + e + 8 * i, ROW] = value.T
        total = np.zeros((16, 8, self.grid.blocks), np.float32)
        for i, name in enumerate(old):
            value = spread(self.get(name, np.float32), mask.shape)
            total[ROW + 8 * (i // 2), PAIR + i % 2] = value.T
        left, right = left[:, :, None], right[:, None]
        total = add_in_order(left, right, total) if self.grid.sums == "in-order" else add_as(self.grid.sums, left, right, total)
        bits = np.where(np.isnan(total), np.uint32(0x7FFFFFFF), total.view(np.uint32))
        for i, name in enumerate(target):
            self.set(name, bits[ROW + 8 * (i // 2), PAIR + i % 2].T, mask)


MIXED = {"selp", "shl", "shr", "shf", "bfe", "mad", "mul"}
SIMPLE = {
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "and": lambda x, y: x & y,
    "or": lambda x, y: x | y, "xor": lambda x, y: x ^ y, "not": lambda x: ~x,
    "max": largest(np.fmax), "min": smallest(np.fmin), "div": divided, "rem": lambda x, y: x - divided(x, y) * y, "abs": np.abs, "neg": lambda x: -x,
    "fma": fused, "copysign": lambda x, y: np.copysign(y, x),
    "max.NaN": largest(np.maximum), "min.NaN": smallest(np.minimum), "sqrt": lambda x: np.sqrt(x.astype(np.float64)),
    "lg2": lambda x: np.log2(x.astype(np.float64)), "ex2": lambda x: np.exp2(x.astype(np.float64)), "rcp": lambda x: 1 / x.astype(np.float64),
    "rsqrt": lambda x: 1 / np.sqrt(x.astype(np.float64)),
}
