# ===- emulate.py - PTX in NumPy -----------------------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""An interpreter of the PTX that the prototype emits, in NumPy.

All blocks of a grid run at once: a register of a warp is an array of blocks x 32
lanes. Fragments, swizzles and descriptors are written from the tables of the PTX
ISA, not from the compiler. Warps run in a random order from barrier to barrier.
Copies, and wgmma, take place when they are issued or as late as a wait allows,
as the caller likes: a program must not notice. Refused besides what is out of
bounds: barriers that part of a warp reaches, sums of wgmma that are touched on
their way, operands of wgmma written after the last fence.
"""

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

LANES = np.arange(32)
ROW, PAIR = LANES // 4, 2 * (LANES % 4)  # what a lane holds of an 8x8 block


def float_of_bf16(bits: np.ndarray) -> np.ndarray:
    """Values of 16-bit patterns."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def bf16_of_float(value: np.ndarray) -> np.ndarray:
    """Patterns nearest to finite f32, ties to even."""
    bits = np.ascontiguousarray(value, np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


@dataclass
class TensorMap:
    """A TMA map of a matrix of 16-bit elements, boxes of rows x 64, 128-byte swizzle."""

    matrix: np.ndarray
    rows: int

    def box(self, column: int, row: int) -> np.ndarray:
        """Bytes of the box as rows x 128, zeros outside the matrix."""
        out = np.zeros((self.rows, 64), np.uint16)
        part = self.matrix[max(row, 0):row + self.rows, column:column + 64]
        out[: part.shape[0], : part.shape[1]] = part
        return out.view(np.uint8)


@dataclass
class Instruction:
    """One statement: predicate, opcode and operands as text."""

    guard: str
    op: str
    operands: list[str]


def split_operands(text: str) -> list[str]:
    """Operands between commas outside of brackets."""
    parts, depth, word = [], 0, ""
    for char in text:
        depth += (char in "{[") - (char in "}]")
        if char == "," and depth == 0:
            parts.append(word.strip())
            word = ""
        else:
            word += char
    return [*parts, word.strip()] if word.strip() else parts


def parse(text: str, name: str) -> tuple[list[Instruction], dict[str, int]]:
    """The statements of an entry and the places of its labels."""
    text = re.sub(r"//[^\n]*", "", text)
    body = re.search(rf"\.entry {name}\(.*?\n\{{(.*?)\n\}}", text, re.S).group(1)
    code: list[Instruction] = []
    labels: dict[str, int] = {}
    body = re.sub(r"\.reg[^;]*;", "", body)
    for statement in re.split(r";|(?<=:)\s*\n", body):
        statement = " ".join(statement.split())
        if statement.endswith(":"):
            labels[statement[:-1]] = len(code)
        elif statement:
            guard, op, rest = re.match(r"(@!?%p\d+ )?(\S+) ?(.*)", statement).groups()
            code.append(Instruction((guard or "").strip(" @"), op, split_operands(rest)))
    return code, labels


@dataclass
class Barrier:
    """An mbarrier; all blocks do the same with it."""

    count: int
    pending: int
    bytes: int = 0
    phase: int = 0
    copies: list[Callable[[], int]] = field(default_factory=list)
    patience: int = 8  # polls in vain before late copies take place

    def advance(self) -> None:
        """Completes the phase if nobody is missing and nothing on its way."""
        if self.pending == 0 and self.copies:
            self.patience -= 1
        if self.pending == 0 and self.patience == 0:
            self.patience = 8
            for copy in self.copies:
                self.bytes -= copy()
            self.copies = []
        if self.pending == 0 and self.bytes == 0:
            self.phase, self.pending = self.phase + 1, self.count


class Grid:
    """Memory that warps share, and the warps."""

    def __init__(self, code, labels, params, grid, threads, shared, late, seed):
        self.code, self.labels, self.late = code, labels, late
        self.blocks = grid[0] * grid[1]
        self.block = np.arange(self.blocks)[:, None]
        self.ids = (self.block % grid[0], self.block // grid[0])
        # Nothing is in shared memory before something is copied there: NaN.
        self.shared = np.full((self.blocks, shared), 0xFF, np.uint8)
        self.params = params
        self.barriers: dict[int, Barrier] = {}
        self.random = random.Random(seed)
        self.warps = [Warp(self, w) for w in range(threads // 32)]

    def run(self) -> None:
        """Warps in turn, each until it waits; barriers when all have come."""
        waiting: list = []
        ready = [warp.run() for warp in self.warps]
        idle = 0
        while ready or waiting:
            if not ready:
                ready, waiting = waiting, []
            turn = ready.pop(self.random.randrange(len(ready)))
            event = next(turn, "end")
            idle = idle + 1 if event == "poll" else 0
            if idle > 1000:
                raise RuntimeError("nobody will complete this barrier")
            if event == "barrier":
                waiting.append(turn)
            elif event == "poll":
                ready.append(turn)
            elif waiting and event == "end":
                raise RuntimeError("a warp ends while others wait")

    def gather(self, address: np.ndarray, count: int) -> np.ndarray:
        """count bytes of shared memory behind each address of (blocks, ...)."""
        shape = (self.blocks,) + (1,) * address.ndim
        block = np.arange(self.blocks).reshape(shape)
        return self.shared[block, address[..., None].astype(np.int64) + np.arange(count)]


class Warp:
    """Registers and position of 32 threads of each block."""

    def __init__(self, grid: Grid, number: int):
        self.grid, self.number = grid, number
        self.registers: dict[str, np.ndarray] = {
            "%tid.x": np.uint32(32 * number) + np.tile(LANES, (grid.blocks, 1)).astype(np.uint32)}
        for name, values in zip(("%ctaid.x", "%ctaid.y"), grid.ids):
            self.registers[name] = np.broadcast_to(values, (grid.blocks, 32)).astype(np.uint32)
        self.at = np.zeros((grid.blocks, 32), np.int64)
        self.groups: list[list[Callable[[], None]]] = []  # cp.async, committed
        self.copies: list[Callable[[], None]] = []
        self.flying: set[str] = set()  # sums of wgmma under way
        self.products: list[Callable[[], None]] = []
        self.written: set[str] = set()  # since the last fence

    def run(self) -> Iterator[str]:
        """Executes the lowest statement that any thread is at."""
        code = self.grid.code
        parked = np.zeros(self.at.shape, bool)  # at a barrier of the warp
        while (here := int(np.where(parked, len(code) + 1, self.at).min())) < len(code):
            mask = self.at == here
            statement = code[here]
            if statement.guard:
                taken = self.get(statement.guard.lstrip("!"), np.bool_)
                mask = mask & (taken ^ statement.guard.startswith("!"))
            self.at[self.at == here] += 1
            if statement.op == "bar.warp.sync":
                parked = (parked | mask) & ~mask.all()
                self.at[mask] -= not mask.all()
            elif statement.op.startswith("bra"):
                self.at[mask] = self.grid.labels[statement.operands[0]]
            elif statement.op == "ret":
                self.at[mask] = len(code)
            elif statement.op.startswith("bar."):
                if not mask.all():
                    raise RuntimeError("part of a warp at a barrier")
                yield "barrier"
            elif "try_wait" in statement.op:
                barrier = self.barrier(statement.operands[1])
                barrier.advance()
                done = barrier.phase > self.get(statement.operands[2], np.uint64)
                self.set(statement.operands[0], done, mask)
                if not done.all():
                    yield "poll"
            elif statement.op.startswith("wgmma") and not mask.all():
                raise RuntimeError("part of a warp at wgmma")
            else:
                self.execute(statement, mask)

    # Operands ----------------------------------------------------------------

    def get(self, name: str, kind: type) -> np.ndarray:
        """The bits of an operand as an array of kind."""
        if name in self.flying:
            raise RuntimeError(f"{name} is read while wgmma writes it")
        if name.startswith("%"):
            value = self.registers[name]
            return value if value.dtype == kind else value.view(kind)
        if name.startswith("0f"):
            return np.array(int(name[2:], 16), np.uint32).view(np.float32)
        if name.endswith("_memory"):
            return np.array(0, kind)
        return np.array(int(name, 0) & (2 ** (8 * np.dtype(kind).itemsize) - 1)).astype(kind)

    def set(self, name: str, value: np.ndarray, mask: np.ndarray) -> None:
        """Writes a register where mask says so."""
        if name in self.flying:
            raise RuntimeError(f"{name} is written while wgmma writes it")
        value = np.broadcast_to(value, mask.shape)
        if value.dtype == np.float32:
            value = np.ascontiguousarray(value).view(np.uint32)
        if not mask.all() and name in self.registers:
            value = np.where(mask, value, self.registers[name].view(value.dtype))
        self.registers[name] = np.ascontiguousarray(value)
        self.written.add(name)

    def address(self, text: str) -> np.ndarray:
        """`[base+offset]` for every thread."""
        base, _, offset = text.strip("[]").partition("+")
        width = np.uint32 if re.fullmatch(r"%r\d+", base) else np.uint64
        value = self.get(base, width).astype(np.int64) + int(offset or 0)
        return np.broadcast_to(value, (self.grid.blocks, 32))

    def barrier(self, text: str) -> Barrier:
        """The mbarrier at an address, which all threads agree on."""
        place = np.unique(self.address(text))
        assert place.size == 1, "barriers differ"
        return self.grid.barriers[int(place[0])]

    def global_bytes(self, text: str, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The buffer that an address points to, and places in it."""
        address = self.address(text)
        owner = np.unique(address[mask] >> 40)
        assert owner.size == 1, "one buffer at a time"
        return self.grid.params[int(owner[0]) - 1], address & (2**40 - 1)

    # Statements ----------------------------------------------------------------

    def execute(self, s: Instruction, mask: np.ndarray) -> None:
        """One statement that neither jumps nor waits for others."""
        family = s.op.split(".")[0]
        getattr(self, f"do_{family}", self.arithmetic)(s, mask)

    def arithmetic(self, s: Instruction, mask: np.ndarray) -> None:
        """Statements that compute a register from others."""
        kinds = {"f32": np.float32, "s32": np.int32, "u32": np.uint32, "b32": np.uint32,
                 "s64": np.int64, "u64": np.uint64, "b64": np.uint64, "pred": np.bool_,
                 "b16": np.uint16, "u16": np.uint16}
        parts = s.op.split(".")
        kind = kinds[parts[-1]]
        target, *names = s.operands
        with np.errstate(all="ignore"):
            if parts[0] in ("shl", "shr", "selp", "bfe", "mul", "mad"):
                value = self.mixed(parts, kind, names)
            else:
                value = SIMPLE[parts[0]](*(self.get(name, kind) for name in names))
        self.set(target, value, mask)

    def mixed(self, parts: list[str], kind: type, names: list[str]) -> np.ndarray:
        """Operations whose operands differ in type, or whose result does."""
        if parts[0] == "selp":
            return np.where(self.get(names[2], np.bool_), self.get(names[0], kind),
                            self.get(names[1], kind))
        x = self.get(names[0], kind)
        if parts[0] in ("shl", "shr"):
            shift = self.get(names[1], np.uint32).astype(kind)
            return x << shift if parts[0] == "shl" else x >> shift
        if parts[0] == "bfe":
            return (x >> kind(int(names[1]))) & kind((1 << int(names[2])) - 1)
        y = self.get(names[1], kind)
        if parts[1] == "wide":
            wide = np.int64 if kind == np.int32 else np.uint64
            return (x.astype(wide) * y.astype(wide)).view(np.uint64)
        if parts[1] == "hi":
            return ((x.astype(np.uint64) * y.astype(np.uint64)) >> np.uint64(32)).astype(kind)
        return x * y + self.get(names[2], kind) if parts[0] == "mad" else x * y

    def do_mov(self, s: Instruction, mask: np.ndarray) -> None:
        """Registers, halves of registers, symbols."""
        target, source = s.operands
        if target.startswith("{"):
            halves = self.get(source, np.uint32)
            for i, name in enumerate(split_operands(target[1:-1])):
                if name != "_":
                    self.set(name, ((halves >> np.uint32(16 * i)) & np.uint32(0xFFFF)).astype(np.uint16), mask)
        elif source.startswith("{"):
            low, high = (self.get(n, np.uint16).astype(np.uint32) for n in split_operands(source[1:-1]))
            self.set(target, low | (high << np.uint32(16)), mask)
        else:
            kind = {"%rs": np.uint16, "%rd": np.uint64}.get(target[:3], np.uint32)
            self.set(target, self.get(source, kind), mask)

    def do_cvt(self, s: Instruction, mask: np.ndarray) -> None:
        """Conversions of width and to bf16."""
        target, *names = s.operands
        if "bf16x2" in s.op:
            high, low = (bf16_of_float(self.get(n, np.float32)).astype(np.uint32) for n in names)
            self.set(target, (high << np.uint32(16)) | low, mask)
        elif "bf16" in s.op:
            self.set(target, bf16_of_float(self.get(names[0], np.float32)), mask)
        else:
            to, origin = ({"u64": np.uint64, "s64": np.int64, "u32": np.uint32, "s32": np.int32}[p]
                          for p in s.op.split(".")[1:])
            self.set(target, self.get(names[0], origin).astype(to), mask)

    def do_cvta(self, s: Instruction, mask: np.ndarray) -> None:
        """Addresses of shared memory are the same in every space."""
        self.set(s.operands[0], self.get(s.operands[1], np.uint64), mask)

    def do_setp(self, s: Instruction, mask: np.ndarray) -> None:
        """Comparisons of integers."""
        _, how, kind = s.op.split(".")
        kind = {"s32": np.int32, "u32": np.uint32, "b32": np.uint32, "s64": np.int64}[kind]
        compare = {"lt": np.less, "gt": np.greater, "ne": np.not_equal, "eq": np.equal, "ge": np.greater_equal}
        self.set(s.operands[0], compare[how](self.get(s.operands[1], kind), self.get(s.operands[2], kind)), mask)

    def do_shfl(self, s: Instruction, mask: np.ndarray) -> None:
        """Exchange with the lane whose number differs in the given bits."""
        target = s.operands[0].split("|")[0]
        self.set(target, self.get(s.operands[1], np.uint32)[:, LANES ^ int(s.operands[2])], mask)

    def do_ld(self, s: Instruction, mask: np.ndarray) -> None:
        """Parameters and global memory."""
        if ".param" in s.op:
            number = int(s.operands[1].strip("[]").rsplit("_", 1)[1])
            self.set(s.operands[0], np.array((number + 1) << 40, np.uint64), mask)
            return
        buffer, place = self.global_bytes(s.operands[1], mask)
        kind = np.uint16 if s.op.endswith("16") else np.uint32
        words = buffer.reshape(-1).view(kind)
        assert (place[mask] % kind().itemsize == 0).all()
        for i, name in enumerate(split_operands(s.operands[0].strip("{}"))):
            self.set(name, words[np.where(mask, place // kind().itemsize + i, 0)], mask)

    def do_st(self, s: Instruction, mask: np.ndarray) -> None:
        """Global memory."""
        if not mask.any():
            return
        buffer, place = self.global_bytes(s.operands[0], mask)
        kind = np.uint16 if s.op.endswith("16") else np.uint32
        words = buffer.reshape(-1).view(kind)
        for i, name in enumerate(split_operands(s.operands[1].strip("{}"))):
            value = np.broadcast_to(self.get(name, kind), mask.shape)
            words[place[mask] // kind().itemsize + i] = value[mask]

    def do_cp(self, s: Instruction, mask: np.ndarray) -> None:
        """cp.async and its groups; TMA."""
        if "bulk" in s.op:
            self.bulk_copy(s, mask)
        elif "commit" in s.op:
            self.groups.append(self.copies)
            self.copies = []
        elif "wait_group" in s.op:
            while len(self.groups) > int(s.operands[0]):
                for copy in self.groups.pop(0):
                    copy()
        else:
            target = self.address(s.operands[0])
            buffer, place = self.global_bytes(s.operands[1], mask)
            size = np.broadcast_to(self.get(s.operands[3], np.uint32), mask.shape)
            index = np.where((size > 0)[..., None], place[..., None] + np.arange(16), 0)
            data = np.where((size > 0)[..., None], buffer.reshape(-1).view(np.uint8)[index], 0)

            def copy() -> None:
                self.grid.shared[self.grid.block[..., None], target[..., None] + np.arange(16)] = data

            self.copies.append(copy) if self.grid.late else copy()

    def bulk_copy(self, s: Instruction, mask: np.ndarray) -> None:
        """A box that one thread of each block asks for."""
        assert (mask.sum(1) == 1).all(), "one thread issues a box"
        source, places = re.fullmatch(r"\[(\S+), \{(.*)\}\]", s.operands[1]).groups()
        target = self.address(s.operands[0])[mask]
        tensor, _ = self.global_bytes(source, mask)
        column, row = (np.broadcast_to(self.get(n, np.int32), mask.shape)[mask] for n in split_operands(places))
        offsets = np.arange(tensor.rows * 128)

        def copy() -> int:
            for block in range(self.grid.blocks):
                where = swizzle(target[block] + offsets)
                self.grid.shared[block, where] = tensor.box(column[block], row[block]).reshape(-1)
            return offsets.size

        barrier = self.barrier(s.operands[2])
        if self.grid.late:
            barrier.copies.append(copy)
        else:
            barrier.bytes -= copy()

    def do_mbarrier(self, s: Instruction, mask: np.ndarray) -> None:
        """init, expect_tx and arrive."""
        if ".init" in s.op:
            count = int(np.unique(self.get(s.operands[1], np.uint32))[0])
            self.grid.barriers[int(self.address(s.operands[0])[0, 0])] = Barrier(count, count)
        elif ".expect_tx" in s.op:
            self.barrier(s.operands[0]).bytes += int(np.unique(self.get(s.operands[1], np.uint32))[0])
        else:
            barrier = self.barrier(s.operands[1])
            self.set(s.operands[0], np.array(barrier.phase, np.uint64), mask)
            barrier.pending -= int(mask[0].sum())
            if not self.grid.late:
                barrier.advance()

    def do_fence(self, s: Instruction, mask: np.ndarray) -> None:
        """Memory is ordered here anyway."""

    # Products ----------------------------------------------------------------

    def do_ldmatrix(self, s: Instruction, mask: np.ndarray) -> None:
        """Four 8x8 blocks whose rows the lanes point to, eight lanes a block."""
        rows = self.grid.gather(self.address(s.operands[1]), 16).view(np.uint16)  # blocks, lane, 8
        for i, name in enumerate(split_operands(s.operands[0].strip("{}"))):
            block = rows[:, 8 * i:8 * i + 8]
            if ".trans" in s.op:
                block = block.transpose(0, 2, 1)
            low, high = (block[:, ROW, PAIR + e].astype(np.uint32) for e in range(2))
            self.set(name, low | (high << np.uint32(16)), mask)

    def halves(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Both bf16 values of a register."""
        bits = np.broadcast_to(self.get(name, np.uint32), (self.grid.blocks, 32))
        return (float_of_bf16((bits & np.uint32(0xFFFF)).astype(np.uint16)),
                float_of_bf16((bits >> np.uint32(16)).astype(np.uint16)))

    def left(self, names: list[str]) -> np.ndarray:
        """The 16x16 left operand in four registers."""
        out = np.zeros((self.grid.blocks, 16, 16), np.float32)
        for i, name in enumerate(names):
            for e, value in enumerate(self.halves(name)):
                out[:, ROW + 8 * (i % 2), PAIR + e + 8 * (i // 2)] = value
        return out

    def do_mma(self, s: Instruction, mask: np.ndarray) -> None:
        """m16n8k16 of a warp."""
        target, lhs, rhs, old = (split_operands(o.strip("{}")) for o in s.operands)
        right = np.zeros((self.grid.blocks, 16, 8), np.float32)
        for i, name in enumerate(rhs):
            for e, value in enumerate(self.halves(name)):
                right[:, PAIR + e + 8 * i, ROW] = value
        result = self.left(lhs) @ right
        for i, (name, start) in enumerate(zip(target, old)):
            self.set(name, self.get(start, np.float32) + result[:, ROW + 8 * (i // 2), PAIR + i % 2], mask)

    def do_wgmma(self, s: Instruction, mask: np.ndarray) -> None:
        """A warp's 16 rows of m64nNk16, its fence and its wait."""
        if ".fence" in s.op:
            self.written = set()
        elif ".wait_group" in s.op:
            assert s.operands[0] == "0"
            self.flying = set()
            for product in self.products:
                product()
            self.products = []
        elif ".mma_async" in s.op:
            self.multiply(s, mask)

    def multiply(self, s: Instruction, mask: np.ndarray) -> None:
        """sums += lhs * rhs, now or at the wait."""
        sums = split_operands(s.operands[0].strip("{}"))
        registers = s.operands[1].startswith("{")
        sources = split_operands(s.operands[1].strip("{}")) if registers else []
        late = sorted(self.written.intersection([*sums, *sources]))
        if late and not self.flying.issuperset(sums):
            raise RuntimeError(f"no fence between writing {late[0]} and wgmma")
        held = self.left(sources) if registers else None
        descriptor = None if registers else self.descriptor(s.operands[1])
        right = self.descriptor(s.operands[2])
        width, along = 2 * len(sums), s.operands[-1] == "1"

        def product() -> None:
            lhs = held if registers else self.stored(descriptor, 16 * (self.number % 4), 16, False)
            result = lhs @ self.stored(right, 0, width, along).transpose(0, 2, 1)
            for i, name in enumerate(sums):
                value = self.registers[name].view(np.float32)
                place = result[:, ROW + 8 * (i % 4 // 2), 8 * (i // 4) + PAIR + i % 2]
                self.registers[name] = np.ascontiguousarray(value + place).view(np.uint32)

        if self.grid.late:
            self.products.append(product)
            self.flying.update(sums)
        else:
            product()

    def descriptor(self, name: str) -> np.ndarray:
        """A descriptor for each block; all threads have the same."""
        value = np.broadcast_to(self.get(name, np.uint64), (self.grid.blocks, 32))
        assert (value == value[:, :1]).all() and (value >> np.uint64(62) == 1).all()
        return value[:, 0].astype(np.int64)

    def stored(self, descriptor: np.ndarray, first: int, count: int, along: bool) -> np.ndarray:
        """Rows first to first + count and 16 k of an operand in memory. `along`: rows
        lie beside each other, else k does. 128-byte swizzle, strides in bytes."""
        start, leading, stride = (((descriptor >> shift) & 0x3FFF) << 4 for shift in (0, 16, 32))
        n, k = np.arange(first, first + count)[:, None], np.arange(16)[None, :]
        if along:
            parts = (n % 64 * 2 + k % 8 * 128, n // 64, k // 8)
        else:
            parts = (n % 8 * 128 + k * 2, 0 * n, n // 8)
        expand = [value[:, None, None] for value in (start, leading, stride)]
        place = expand[0] + parts[0] + parts[1] * expand[1] + parts[2] * expand[2]
        return float_of_bf16(self.grid.gather(swizzle(place), 2).view(np.uint16)[..., 0])


def swizzle(address: np.ndarray) -> np.ndarray:
    """Bits 4 to 6 of an address, exchanged by bits 7 to 9."""
    return address ^ ((address >> 7) & 7) << 4


SIMPLE = {
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "and": lambda x, y: x & y,
    "or": lambda x, y: x | y, "xor": lambda x, y: x ^ y, "not": lambda x: ~x,
    "max": np.maximum, "div": lambda x, y: x / y, "abs": np.abs, "neg": lambda x: -x,
    "fma": lambda x, y, z: (x.astype(np.float64) * y + z).astype(np.float32),
    "copysign": lambda x, y: np.copysign(y, x),
    "ex2": np.exp2, "rcp": lambda x: np.float32(1) / x,
    "rsqrt": lambda x: np.float32(1) / np.sqrt(x),
}


def run(ptx: str, name: str, params: list, grid: tuple[int, int], shared: int,
        late: bool, seed: int) -> None:
    """Runs an entry; params are arrays and TensorMaps, arrays are written."""
    code, labels = parse(ptx, name)
    threads = int(re.search(rf"\.entry {name}\(.*?\.reqntid (\d+)", ptx, re.S).group(1))
    Grid(code, labels, params, grid, threads, shared, late, seed).run()
