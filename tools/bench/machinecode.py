# ===- machinecode.py - Compare the kernels of two object files --------------=== #
# SPDX-License-Identifier: Apache-2.0
"""What the kernels in an object file of x86-64 are, wherever they lie in it.

A kernel is its bytes, in which the fields that a linker fills are zero, and what every
such field refers to: a constant is told by its own bytes, code by the name of the function
and an offset. Two kernels are equal where these are equal, so neither other code in
front of a kernel nor another order of the constants makes a difference.
"""

import re
import struct
import subprocess
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

# Of the ELF format: records in a file, flags and kinds of sections, the kind of symbols
# that are functions, and relocations that count from where they stand (R_X86_64_PC32,
# PLT32 and PC64).
HEADER, SYMBOL, RELOCATION = "<IIQQQQIIQQ", "<IBBHQQ", "<QQq"
EXECUTABLE, MERGEABLE, STRINGS = 0x4, 0x10, 0x20
SYMBOL_TABLE, RELOCATIONS, NO_BITS = 2, 4, 8
FUNCTION = 2
PC_RELATIVE = (2, 4, 24)

# kernel_encoder_attn.0.minilm_l6: the function for the first level of a model.
KERNEL = re.compile(r"(kernel_\w+(?:\.\d+)?)")
INSTRUCTION = re.compile(r"^\s*([0-9a-f]+):", re.M)

SAME, DIFFERS, ONLY_BEFORE, ONLY_NOW = "same", "differs", "only before", "only now"


class Header(NamedTuple):
    """Of a section, as it stands in the file."""

    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry_size: int


class Symbol(NamedTuple):
    name: str
    kind: int
    section: int
    value: int
    size: int


class Relocation(NamedTuple):
    offset: int
    kind: int
    symbol: Symbol
    addend: int


@dataclass
class Section:
    flags: int
    entry_size: int
    data: bytes
    relocations: list[Relocation] = field(default_factory=list)

    @property
    def has_entries(self):
        """Whether it holds constants of one size, of which equal ones are merged."""
        return self.flags & MERGEABLE and not self.flags & STRINGS


class Kernel(NamedTuple):
    size: int
    content: tuple


class Object:
    """An object file of hova compile --emit=obj."""

    def __init__(self, path: Path):
        self.path, self.bytes = path, path.read_bytes()
        (table,) = struct.unpack_from("<Q", self.bytes, 0x28)
        size, count = struct.unpack_from("<HH", self.bytes, 0x3A)
        headers = [
            Header(*struct.unpack_from(HEADER, self.bytes, table + i * size))
            for i in range(count)
        ]
        self.sections = [self.read_section(header) for header in headers]
        (symbols,) = (h for h in headers if h.kind == SYMBOL_TABLE)
        self.symbols = list(self.read_symbols(symbols, headers[symbols.link].offset))
        for header in headers:
            if header.kind == RELOCATIONS:
                relocations = self.read_relocations(header)
                self.sections[header.info].relocations.extend(relocations)

    def read_section(self, header):
        end = header.offset + (0 if header.kind == NO_BITS else header.size)
        data = self.bytes[header.offset : end]
        return Section(header.flags, header.entry_size, data)

    def text(self, start):
        return self.bytes[start : self.bytes.index(b"\0", start)].decode()

    def records(self, header, layout):
        end = header.offset + header.size
        return struct.iter_unpack(layout, self.bytes[header.offset : end])

    def read_symbols(self, header, names):
        for name, info, _, section, value, size in self.records(header, SYMBOL):
            yield Symbol(self.text(names + name), info & 15, section, value, size)

    def read_relocations(self, header):
        for offset, info, addend in self.records(header, RELOCATION):
            symbol = self.symbols[info >> 32]
            yield Relocation(offset, info & 0xFFFFFFFF, symbol, addend)

    @cached_property
    def functions(self):
        return [symbol for symbol in self.symbols if symbol.kind == FUNCTION]

    @cached_property
    def instructions(self):
        """Where instructions begin, by address. hova puts all code into one section."""
        command = ["llvm-objdump-22", "-d", "--no-show-raw-insn", self.path]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return sorted(int(address, 16) for address in INSTRUCTION.findall(done.stdout))

    @cached_property
    def boundaries(self):
        """By section: where something begins that anything refers to."""
        found = [{len(section.data)} for section in self.sections]
        for section in self.sections:
            for relocation in section.relocations:
                symbol = relocation.symbol
                if symbol.section < len(found):
                    start = self.start_of_field(section, relocation)
                    found[symbol.section].add(self.address(relocation, start))
        return [sorted(starts) for starts in found]

    def start_of_field(self, section, relocation):
        """What a relative distance counts from: in code the next instruction, in data,
        where tables of jumps have such distances, the table, which is not known here."""
        if not section.flags & EXECUTABLE:
            return relocation.offset
        after = bisect_right(self.instructions, relocation.offset)
        if after < len(self.instructions):
            return self.instructions[after]
        return len(section.data)

    @staticmethod
    def address(relocation, start):
        """The address that a field stands for, in the section of its symbol."""
        address = relocation.symbol.value + relocation.addend
        if relocation.kind in PC_RELATIVE:
            address += start - relocation.offset
        return address

    def content(self, section, begin, end, table=None):
        """Bytes and what they refer to. Distances in a table of jumps count from it."""
        fields = tuple(
            (r.offset - begin, r.kind, self.referent(section, r, table))
            for r in section.relocations
            if begin <= r.offset < end
        )
        return section.data[begin:end], fields

    def referent(self, section, relocation, table):
        symbol = relocation.symbol
        if symbol.section == 0:
            return symbol.name, relocation.addend
        start = self.start_of_field(section, relocation) if table is None else table
        address = self.address(relocation, start)
        target = self.sections[symbol.section]
        if target.flags & EXECUTABLE:
            return self.place_in_code(symbol.section, address)
        return self.constant(symbol.section, address)

    def place_in_code(self, section, address):
        for function in self.functions:
            end = function.value + function.size
            if function.section == section and function.value <= address < end:
                return plain_name(function.name), address - function.value
        raise ValueError(f"{self.path}: no function at {address:#x}")

    def constant(self, number, address):
        """From its address to the next one; what aligns that is zero and left out."""
        section = self.sections[number]
        if section.has_entries:
            size = section.entry_size
            return section.data[address : (address // size + 1) * size]
        starts = self.boundaries[number]
        end = starts[bisect_right(starts, address)]
        data, fields = self.content(section, address, end, address)
        return data.rstrip(b"\0"), fields

    @property
    def code_bytes(self):
        return sum(len(s.data) for s in self.sections if s.flags & EXECUTABLE)

    def kernels(self) -> dict[str, Kernel]:
        """By name, without the name of the model."""
        return {
            plain_name(symbol.name): Kernel(
                symbol.size,
                self.content(
                    self.sections[symbol.section],
                    symbol.value,
                    symbol.value + symbol.size,
                ),
            )
            for symbol in self.functions
            if KERNEL.match(symbol.name)
        }


def plain_name(function):
    """The name without the model's, which every function of it has at its end."""
    found = KERNEL.match(function)
    return found[1] if found else function


def compare(before: dict[str, Kernel], now: dict[str, Kernel]) -> list[dict]:
    """A row for every kernel of either."""
    return [
        {
            "kernel": name,
            "bytes_before": before[name].size if name in before else None,
            "bytes_now": now[name].size if name in now else None,
            "machine_code": state(before.get(name), now.get(name)),
        }
        for name in sorted({*before, *now})
    ]


def state(before: Kernel | None, now: Kernel | None) -> str:
    if before is None or now is None:
        return ONLY_NOW if before is None else ONLY_BEFORE
    return SAME if before == now else DIFFERS
