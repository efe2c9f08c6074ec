# ===- ptx.py - PTX in NumPy ----------------------------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""An interpreter of the PTX that kernels become, after LLVM's back end; what sm_90a
adds is in ptx_products.py, and of clusters in ptx_memory.py.

All blocks of a grid run at once: a register of a warp is an array of blocks x 32 lanes.
Fragments are written from the tables of the PTX ISA, not from the compiler, and the sums of
`mma.sync` are exact products added in order of k, each addition rounded to f32, or as a device adds. Warps run in
a random order from barrier to barrier, and copies land when they are issued, as late as a
wait allows, or either by chance; a program must not notice.

Refused (`Fault`) are accesses out of bounds or misaligned; bytes that nobody has written, or that a copy is on its way to;
bytes of shared or global memory that two threads touch without meeting in between, or two blocks, one of them to write
(ptx_memory.py); registers that a thread has not written; barriers that part of a warp reaches, instructions of lanes that part
of them executes, and loops that do not end. On demand wavefronts of shared memory and sectors of global memory are
counted, and how few of each the same bytes could take.
"""

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np
from ptx_code import KINDS, Fault, Instruction, check, constant, names_of, parse
from ptx_memory import Copies, Copy, LaunchOrder, Marks, Meetings, Threads, WarpClusters, in_runs, threads_of
from ptx_products import Products, WarpProducts, check_groups
from ptx_numbers import (BOUNDS, add_as, add_in_order, approximated, bf16_of_float, divided, f16_of_float, float_of_bf16, float_of_f16, flushed, fused, largest,
                         smallest)

LANES = np.arange(32)
ROW, PAIR = LANES // 4, 2 * (LANES % 4)  # what a lane holds of an 8x8 block
ALL_LANES = 0xFFFFFFFF  # the mask of a whole warp
MOST_TURNS = 200  # of loops that a warp takes; kernels of tests take fewer by far
NOWHERE = 2**62  # after every address
SPACE = 40  # an address of global memory: number of the buffer above, byte below


def first_of_each(ordered: np.ndarray) -> np.ndarray:
    """Where a row of ordered numbers has one that it did not have before."""
    first = np.ones(ordered.shape, bool)
    np.not_equal(ordered[:, 1:], ordered[:, :-1], out=first[:, 1:])
    return first


def spread(value: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """One value for each thread."""
    return value if value.shape == shape else np.broadcast_to(value, shape)


def lanes_of(bits: np.ndarray) -> np.ndarray:
    """The lanes that masks name."""
    return bits[..., None] >> LANES.astype(np.uint32) & np.uint32(1) != 0


class Grid:
    """Memory that warps share, and the warps. The last `results` buffers hold nothing before, and the others are only read;
    without a number nothing is known of them."""

    def __init__(self, ptx: str, name: str, buffers: list[np.ndarray], grid: tuple[int, ...],
                 shared: int, landing: str = "early", seed: int = 0, sums: str = "in-order", block: tuple[int, ...] | None = None,
                 counts: bool = False, results: int | None = None, approximations: str = "nearest",
                 order: LaunchOrder | None = None, numbers: tuple[int, ...] = ()):
        self.sums, self.is_counted, self.approximations = sums, counts, approximations
        self.code = parse(ptx, name)
        entry = re.search(rf"\.entry {name}\(.*?\n\{{", ptx, re.DOTALL).group()
        needed = re.search(r"\.reqntid (\d+)(?:, (\d+), (\d+))?", entry)
        demanded = tuple(int(size or 1) for size in needed.groups()) if needed else None
        check(not (block and demanded) or tuple(block) == demanded, f"{name} is made for blocks of {demanded} threads, not {block}")
        self.shape = block or demanded
        self.threads = int(np.prod(self.shape))
        cluster = re.search(r"\.reqnctapercluster (\d+), (\d+), (\d+)", entry)
        self.cluster = int(cluster.group(3)) if cluster else 1  # blocks, along z
        check(not cluster or cluster.groups()[:2] == ("1", "1"), f"{name} has clusters along x or y")
        self.symbols = set(re.findall(r"\.shared [^;]*?(\w+)\[", ptx))
        self.params = re.findall(r"\.param \S+.*?(\w+_param_\d+)", entry)
        check(len(self.params) == len(buffers) + len(numbers), f"{len(buffers)} buffers and {len(numbers)} numbers for {self.params}")
        self.numbers = numbers
        self.landing, self.random = landing, random.Random(seed)
        self.sizes = sizes = [*grid, 1, 1][:3]
        self.blocks = int(np.prod(sizes))
        self.block = np.arange(self.blocks)[:, None]
        check(sizes[2] % self.cluster == 0, f"a grid of {sizes} has no whole clusters of {self.cluster} blocks along z")
        self.ids = (self.block % sizes[0], self.block // sizes[0] % sizes[1],
                    self.block // (sizes[0] * sizes[1]))
        self.meetings = Meetings(self.blocks, self.threads // 32)
        # Whole runs of the bytes that one thread moves, 16 at most.
        self.shared_bytes, self.held = shared, -(-shared // 16) * 16
        self.shared = np.full(self.blocks * self.held, 0xFF, np.uint8)
        self.cell = self.code.least_bytes("shared")
        self.marks = Marks(self.shared.size // self.cell, self.meetings, has_blocks=False)
        self.buffers = [buffer.reshape(-1).view(np.uint8) for buffer in buffers]
        self.first_result = None if results is None else len(buffers) - results
        self.global_cell = self.code.least_bytes("global")
        self.global_marks = self.marks_of_buffers()
        self.counts: Counter = Counter()
        self.order = order
        self.warps = [Warp(self, warp) for warp in range(self.threads // 32)]

    def marks_of_buffers(self) -> dict[int, tuple[Marks, int]]:
        """Of each buffer with bytes that the kernel may store to, whatever it calls them: their marks, and the byte that it begins
        at there. What is only read needs none."""
        begins = [buffer.__array_interface__["data"][0] for buffer in self.buffers]
        stored = self.code.stored_through()
        pieces: list[list[int]] = []  # buffers that lie in one another, by their beginnings
        end = 0
        for i in sorted(range(len(begins)), key=lambda i: begins[i]):
            if not pieces or begins[i] >= end:
                pieces.append([])
                end = begins[i]
            pieces[-1].append(i)
            end = max(end, begins[i] + self.buffers[i].size)
        marks = {}
        for piece in pieces:
            if stored.isdisjoint(self.params[i] for i in piece):
                continue
            first = begins[piece[0]]
            held = max(begins[i] + self.buffers[i].size for i in piece) - first
            piece_marks = Marks(-(-held // 16) * 16 // self.global_cell, self.meetings, has_blocks=True)
            for i in piece:
                check(len(piece) == 1 or (begins[i] - first) % 16 == 0, f"buffer {i} begins at no multiple of 16 bytes of its memory")
                marks[i] = piece_marks, begins[i] - first
        return marks

    def run(self) -> None:
        """Warps in turn, each until it waits; barriers when all have come."""
        waiting: list = []
        blocks = None  # of which threads wait
        of_cluster = False  # where their clusters meet
        ready = [warp.run() for warp in self.warps]
        while ready or waiting:
            if not ready:
                ready, waiting = waiting, []
                (self.meetings.meet_cluster if of_cluster else self.meetings.meet_block)(blocks)
            turn = ready.pop(self.random.randrange(len(ready)))
            with np.errstate(all="ignore"):
                come = next(turn, None)
            if come is None:
                check(not waiting, "a warp ends while others wait at a barrier")
                continue
            come, is_of_cluster = come
            check(not waiting or (np.array_equal(come, blocks) and is_of_cluster == of_cluster), "warps of a block wait at different barriers")
            blocks, of_cluster = come, is_of_cluster
            waiting.append(turn)
        check_groups(self.warps)
        self.marks.check_remote()

    def count(self, place: int, kind: str, used: int, least: int) -> None:
        self.counts[place, kind, "used"] += used
        self.counts[place, kind, "least"] += least

    def total(self, kind: str, which: str) -> int:
        return sum(n for (_, k, w), n in self.counts.items() if (k, w) == (kind, which))


class Warp(WarpProducts, WarpClusters):
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
        self.mask = self.everybody  # of the statement that is executed
        self.unset: dict[str, np.ndarray] = {}  # of registers that some threads have not written, these
        self.turns = 0  # of loops
        self.threads = threads_of(number, grid.blocks)
        self.copies, self.products = Copies(grid.blocks, self.land), Products()
        self.waited = np.full(shape, grid.order is None)  # for the launches before
        self.arrived = False  # where clusters meet
        self.parked = np.zeros(shape, bool)  # at a barrier of the warp
        self.awaited = np.zeros(shape, np.uint32)  # by these: the lanes

    def run(self) -> Iterator[tuple[np.ndarray, bool]]:
        """Executes the lowest statement that any thread is at; gives the blocks of those that come to a barrier, and whether it is
        one of clusters."""
        code, parked = self.grid.code.statements, self.parked
        while (here := int(np.where(parked, len(code) + 1, self.at).min())) < len(code):
            mask = (self.at == here) & ~parked
            if mask.all():
                mask = self.everybody
            # Up to a statement that threads may leave elsewhere, or where others are, these go on alone.
            end = min(self.grid.code.leaving[here], int(self.at.min(where=~mask & ~parked, initial=len(code))))
            for statement in code[here:end]:
                self.execute(statement, self.guarded(statement, mask))
            self.at[mask] = max(end, here + 1)
            if end > here:
                continue
            statement, mask = code[here], self.guarded(code[here], mask)
            if statement.op == "bar.warp.sync":
                self.park(statement, mask)
            elif statement.op.startswith("bra"):
                self.at[mask] = target = self.grid.code.labels[statement.operands[0]]
                self.turns += mask.any() and target <= here
                check(self.turns <= MOST_TURNS, f"{here}: a loop does not end")
            elif statement.op == "ret":
                check(not self.arrived, f"{here}: a thread ends that has arrived where its cluster meets, and has not waited")
                self.at[mask] = len(code)
            elif statement.op == "barrier.cluster.wait.aligned":
                check(self.arrived, f"{here}: {statement.op} by threads that have not arrived")
                check(mask.all(), f"{here}: {statement.op} of some blocks alone is not known")
                self.arrived = False
                yield mask.any(axis=1), True
            else:
                check(statement.op == "bar.sync" and statement.operands == ["0"], f"{here}: {statement.op} of {statement.operands} is not known")
                # Blocks with more turns of a loop come here without the others.
                blocks = mask.any(axis=1)
                check((mask.all(axis=1) | ~blocks).all(), f"{here}: part of a warp at a barrier")
                yield blocks, False
        check(not parked.any(), "part of a warp ends while the rest waits for it")
        check(self.copies.all_committed(), "a copy is never committed by its thread")
        self.check_products_ended()
        check(self.waited.all() or not self.grid.order.strict, "a thread ends that has not waited for the launches before")

    def park(self, s: Instruction, mask: np.ndarray) -> None:
        """Lanes wait for those that each of them names, which go on when all wait for the same."""
        self.mask = mask
        awaited = spread(self.get(s.operands[0], np.uint32), mask.shape)
        check(lanes_of(awaited)[mask][np.arange(int(mask.sum())), np.nonzero(mask)[1]].all(), f"{s.place}: {s.op} by a lane that its mask does not name")
        self.parked |= mask
        self.awaited[mask] = awaited[mask]
        if (self.awaited[self.parked] == ALL_LANES).all():
            whole = self.parked.all(axis=1)
            if whole.any():
                self.grid.meetings.meet_warp(self.number, whole)
                self.parked[whole] = False
            return
        for block, lane in zip(*np.nonzero(mask), strict=True):
            lanes = lanes_of(self.awaited[block, lane])
            if (self.parked[block][lanes] & (self.awaited[block][lanes] == self.awaited[block, lane])).all():
                self.grid.meetings.meet_lanes(self.number, block, np.nonzero(lanes)[0])
                self.parked[block, lanes] = False

    def guarded(self, s: Instruction, mask: np.ndarray) -> np.ndarray:
        """Those of the threads whose predicate lets them execute a statement."""
        self.mask = mask
        return mask & (self.get(s.guard.lstrip("!"), np.bool_) ^ s.guard.startswith("!")) if s.guard else mask

    # Operands ----------------------------------------------------------------

    def get(self, name: str, kind: type) -> np.ndarray:
        """The bits of an operand as an array of kind."""
        if name[0] == "%":
            if self.products.busy:
                self.check_idle(name)
            value = self.registers.get(name)
            check(value is not None, f"{name} is read before it is written")
            if name in self.unset:
                check(not (self.unset[name] & self.mask).any(), f"{name} is read by a thread that has not written it")
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
        self.products.written.add(name)
        if self.products.busy:
            self.check_idle(name)
        value = spread(value, mask.shape)
        if value.dtype == np.float32:
            value = np.ascontiguousarray(value).view(np.uint32)
        if mask is self.everybody or mask.all():
            self.unset.pop(name, None)
        elif name in self.registers:
            old = self.registers[name]
            value = np.where(mask, value, old if old.dtype == value.dtype else old.view(value.dtype))
            if name in self.unset:
                self.unset[name] = self.unset[name] & ~mask
        else:
            self.unset[name] = ~mask
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
                     touched: np.ndarray | int | None = None) -> tuple[int, np.ndarray]:
        """The number of a buffer, and the places of count bytes for each thread of mask, the first `touched` of which it needs."""
        check(not self.arrived, f"{s.place}: {s.op} between arriving where clusters meet and waiting")
        touched = np.broadcast_to(count if touched is None else touched, mask.shape)
        address = self.address(text)
        owners = address[mask] >> SPACE
        owner = int(owners[0])
        check((owners == owner).all() and 0 < owner <= len(self.grid.buffers), f"{s.place}: {s.op} outside of all buffers")
        buffer = self.grid.buffers[owner - 1]
        place = address & (2**SPACE - 1)
        check((place[mask] % count == 0).all(), f"{s.place}: {s.op} is misaligned")
        check((place[mask] + touched[mask] <= buffer.size).all(), f"{s.place}: {s.op} out of bounds")
        if self.grid.order:
            self.grid.order.touch(s, owner - 1, place[mask], touched[mask], self.waited[mask])
        if self.grid.is_counted:
            self.count_sectors(s, place, touched, mask)
        if mask is not self.everybody:
            place = np.where(mask, place, 0)
        self.mark_global(s, owner - 1, place, count, touched, mask)
        return owner - 1, place

    def mark_global(self, s: Instruction, number: int, place: np.ndarray, count: int, touched: np.ndarray, mask: np.ndarray) -> None:
        """Judges and notes an access to global memory, where some of it may be written."""
        grid, writes = self.grid, s.parts[0] == "st"
        is_result = grid.first_result is not None and number >= grid.first_result
        check(not writes or is_result or grid.first_result is None, f"{s.place}: {s.op} writes an input")
        if number not in grid.global_marks or grid.first_result is not None and not is_result:
            return
        marks, begin = grid.global_marks[number]
        threads, places = self.those(mask), (begin + place[mask])
        if writes:
            marks.write(s, places // count, count // grid.global_cell, threads)
            return
        read = touched[mask]
        if (read == count).all():
            marks.read(s, places // count, count // grid.global_cell, threads, is_result)
            return
        cells = places[:, None] // grid.global_cell + np.arange(count // grid.global_cell)
        needed = np.arange(count // grid.global_cell) < read[:, None] // grid.global_cell
        if needed.any():
            marks.read(s, cells[needed], 1, threads[np.nonzero(needed)[0]], is_result)

    def those(self, mask: np.ndarray) -> Threads:
        """The threads of a mask."""
        return self.threads if mask is self.everybody or mask.all() else self.threads[mask.reshape(-1)]

    def count_sectors(self, s: Instruction, place: np.ndarray, touched: np.ndarray, mask: np.ndarray) -> None:
        """What a thread touches lies in one sector, because it is aligned. What several touch counts once."""
        order = np.argsort(np.where(mask, place, NOWHERE), axis=1, kind="stable")
        ordered, there = np.take_along_axis(place, order, axis=1), np.take_along_axis(mask, order, axis=1)
        sectors = (first_of_each(ordered // 32) & there).sum(axis=1)
        bytes_of_each = np.where(first_of_each(ordered) & there, np.take_along_axis(touched, order, axis=1), 0).sum(axis=1)
        self.grid.count(s.place, s.parts[0], int(sectors.sum()), int((-(-bytes_of_each // 32)).sum()))

    def shared_places(self, s: Instruction, text: str, count: int, mask: np.ndarray, kind: str) -> np.ndarray:
        """Places of count bytes of shared memory for each thread of mask."""
        check(not self.arrived, f"{s.place}: {s.op} between arriving where clusters meet and waiting")
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

    def runs_of(self, place: np.ndarray, count: int) -> np.ndarray:
        """The runs of count bytes of all shared memory that begin at places of the blocks'."""
        return (self.grid.block * self.grid.held + place) // count

    def read_shared(self, s: Instruction, text: str, count: int, mask: np.ndarray, kind: str) -> np.ndarray:
        """Bytes of shared memory that the threads of mask may read: blocks x lanes x count, with any bytes for the others."""
        place = self.shared_places(s, text, count, mask, kind)
        rows = self.runs_of(place if mask is self.everybody else np.where(mask, place, 0), count)
        self.grid.marks.read(s, rows[mask], count // self.grid.cell, self.those(mask), needs_value=True, together=kind == "ldmatrix")
        return in_runs(self.grid.shared, count)[rows]

    # Statements ----------------------------------------------------------------

    def execute(self, s: Instruction, mask: np.ndarray) -> None:
        """One statement that neither jumps nor waits for others."""
        if mask is not self.everybody:
            self.mask = mask
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
        elif "approx" in parts:
            check(parts[0] in BOUNDS and parts[1] == "approx" and parts[-1] == "f32", f"{s.op} is not known")
            flush = flushed if "ftz" in parts else np.asarray
            value = flush(approximated(parts[0], flush(self.get(names[0], kind)), self.grid.approximations))
        else:
            check(parts[0] in SIMPLE and not {"ftz", "full", "sat"} & {*parts}, f"{s.op} is not known")
            value = SIMPLE[".".join(parts[:2]) if "NaN" in parts else parts[0]](*(self.get(name, kind) for name in names))
            value = value.astype(np.float32) if value.dtype == np.float64 else value
        self.set(target, value, mask)

    def do_fma(self, s: Instruction, mask: np.ndarray) -> None:
        """Of f32, or of two factors of 16 bits, whose product is exact, and a summand of f32."""
        widen = {"bf16": float_of_bf16, "f16": float_of_f16}.get(s.parts[-1])
        if not widen:
            return self.arithmetic(s, mask)
        check(s.parts[:-1] == ["fma", "rn", "f32"], f"{s.op} is not known")
        target, *factors, summand = s.operands
        x, y = (widen(self.get(name, np.uint16)) for name in factors)
        return self.set(target, fused(x, y, self.get(summand, np.float32)).astype(np.float32), mask)

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
            part, whole = (np.uint16, np.uint32) if s.parts[1] == "b32" else (np.uint32, np.uint64)
            bits, width = self.get(source, whole), 8 * np.dtype(part).itemsize
            for i, name in enumerate(names_of(target)):
                self.set(name, (bits >> whole(width * i) & whole(2**width - 1)).astype(part), mask)
        elif source.startswith("{"):
            part, bits = (np.uint16, np.uint32) if s.parts[1] == "b32" else (np.uint32, np.uint64)
            low, high = (self.get(n, part).astype(bits) for n in names_of(source))
            self.set(target, low | (high << bits(8 * np.dtype(part).itemsize)), mask)
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
        check(s.op.endswith(".b32"), f"{s.op} of {s.operands} is not known")
        if s.operands[4] != "-1" or mask is not self.everybody:
            self.check_members(s, spread(self.get(s.operands[4], np.uint32), mask.shape), mask)
        value, by, limit = (spread(self.get(name, np.uint32), mask.shape).astype(np.int64) for name in s.operands[1:4])
        segment, by = limit >> 8 & 31, by & 31
        last, first = LANES & segment | limit & 31 & ~segment, LANES & segment
        other = {"up": LANES - by, "down": LANES + by, "bfly": LANES ^ by, "idx": first | by & ~segment}[how]
        inside = other >= last if how == "up" else other <= last
        if mask is not self.everybody:
            there = np.take_along_axis(mask, np.where(inside, other, LANES), axis=1)
            check(there[mask].all(), f"{s.place}: {s.op} from a lane that takes no part")
        target, *predicate = s.operands[0].split("|")
        self.set(target, np.take_along_axis(value, np.where(inside, other, LANES), axis=1).astype(np.uint32), mask)
        for name in predicate:
            self.set(name, inside, mask)

    def check_members(self, s: Instruction, named: np.ndarray, mask: np.ndarray) -> None:
        """Lanes that execute an instruction are those that each of them names."""
        named, executing = lanes_of(named)[mask], np.repeat(mask, mask.sum(axis=1), axis=0)
        check((named <= executing).all(), f"{s.place}: part of a warp at {s.op}")
        check((named >= executing).all(), f"{s.place}: {s.op} by a lane that its mask, or another's, does not name")

    def do_ld(self, s: Instruction, mask: np.ndarray) -> None:
        """Parameters, shared and global memory."""
        if ".param" in s.op:
            number = self.grid.params.index(s.operands[1].strip("[]"))
            buffers = len(self.grid.buffers)
            if number >= buffers:
                self.set(s.operands[0], np.array(self.grid.numbers[number - buffers], np.uint32), mask)
                return
            self.set(s.operands[0], np.array((number + 1) << SPACE, np.uint64), mask)
            return
        names, kind = names_of(s.operands[0]), s.kind
        count = np.dtype(kind).itemsize * len(names)
        if ".shared::cluster" in s.op:
            data = self.read_cluster(s, s.operands[1], count, mask)
        elif ".shared" in s.op:
            data = self.read_shared(s, s.operands[1], count, mask, "shared")
        else:
            number, place = self.global_bytes(s, s.operands[1], count, mask)
            data = in_runs(self.grid.buffers[number], count)[place // count]
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
            rows = self.runs_of(self.shared_places(s, s.operands[0], count, mask, "shared"), count)[mask]
            self.grid.marks.write(s, rows, count // self.grid.cell, self.those(mask))
            in_runs(self.grid.shared, count)[rows] = data[mask]
        else:
            number, place = self.global_bytes(s, s.operands[0], count, mask)
            in_runs(self.grid.buffers[number], count)[place[mask] // count] = data[mask]

    def do_griddepcontrol(self, s: Instruction, mask: np.ndarray) -> None:
        """The end of the launches before, for each thread, and the leave for the next, which says nothing about memory."""
        check(s.op in ("griddepcontrol.wait", "griddepcontrol.launch_dependents"), f"{s.op} is not known")
        if s.parts[1] == "wait":
            self.waited |= mask

    def do_cp(self, s: Instruction, mask: np.ndarray) -> None:
        """cp.async and its groups."""
        if s.op == "cp.async.commit_group":
            self.copies.commit(mask)
        elif s.op == "cp.async.wait_group":
            self.copies.wait(mask, int(s.operands[0]))
        else:
            check(s.op in ("cp.async.ca.shared.global", "cp.async.cg.shared.global"), f"{s.op} is not known")
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
            number, place = self.global_bytes(s, s.operands[1], count, there, read)
            span = np.arange(count)
            needed = there[..., None] & (span < read[..., None])
            data = np.where(needed, self.grid.buffers[number][np.where(needed, place[..., None] + span, 0)], 0)
        rows, threads = self.runs_of(target, count)[mask], self.those(mask)
        self.grid.marks.write(s, rows, count // self.grid.cell, threads, is_copy=True)
        early = {"early": True, "late": False, "mixed": self.grid.random.random() < 0.5}[self.grid.landing]
        if early:
            in_runs(self.grid.shared, count)[rows] = data[mask]
        self.copies.issue(rows, data[mask], threads, early)

    def land(self, copy: Copy) -> None:
        """The threads of a copy have waited for it."""
        count = copy.data.shape[1]
        if not copy.is_there:
            in_runs(self.grid.shared, count)[copy.rows] = copy.data
        self.grid.marks.land(copy.rows, count // self.grid.cell, copy.threads)

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
    "rcp": lambda x: 1 / x.astype(np.float64),
}
