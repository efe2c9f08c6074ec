# ===- ptx_code.py - Statements of PTX --------------------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Reads the text of a kernel, for the interpreter (ptx.py)."""

import re
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import accumulate

import numpy as np

KINDS = {
    "f32": np.float32, "s32": np.int32, "u32": np.uint32, "b32": np.uint32, "s64": np.int64,
    "u64": np.uint64, "b64": np.uint64, "pred": np.bool_, "b16": np.uint16, "u16": np.uint16,
    "s16": np.int16, "s8": np.int8, "u8": np.uint8, "b8": np.uint8,
}


class Fault(Exception):
    """What a program must not do."""


def check(holds: bool, what: str) -> None:
    if not holds:
        raise Fault(what)


@dataclass
class Instruction:
    """One statement: predicate, opcode and operands as text."""

    guard: str
    op: str
    operands: list[str]
    place: int

    @cached_property
    def parts(self) -> list[str]:
        return self.op.split(".")

    @cached_property
    def kind(self) -> type:
        """The type that the opcode ends in."""
        return KINDS[self.parts[-1]]

    @cached_property
    def is_of_warp(self) -> bool:
        return self.op.startswith(("mma", "ldmatrix", "wgmma"))

    def bytes_of(self, space: str) -> list[int]:
        """How many bytes it may access at once there; a copy may read any number of elements of 16 bits."""
        if self.op.startswith("ldmatrix"):
            return [16] if space == "shared" else []
        if self.op.startswith("cp.async.c") and len(self.operands) > 2:
            return [2] if space == "global" and len(self.operands) > 3 else [int(self.operands[2])]
        if not self.op.startswith((f"ld.{space}", f"st.{space}")):
            return []
        return [np.dtype(self.kind).itemsize * len(names_of(self.operands[self.op.startswith("st")]))]


@cache
def constant(name: str, kind: type) -> np.ndarray:
    """An operand that is a number."""
    if name.startswith("0f"):
        return np.array(int(name[2:], 16), np.uint32).view(np.float32)
    check(name.lstrip("-")[:1].isdigit(), f"there is no {name}")
    return np.array(int(name, 0) & (2 ** (8 * np.dtype(kind).itemsize) - 1)).astype(kind)


@cache
def split_operands(text: str) -> list[str]:
    """Operands between commas outside of brackets."""
    return [part.strip() for part in re.findall(r"(?:\{[^}]*\}|\[[^\]]*\]|[^,{\[])+", text)]


@cache
def names_of(operand: str) -> list[str]:
    return [name.strip() for name in operand.strip("{}").split(",")]


def names_in(operand: str) -> list[str]:
    """Registers that an operand names, in whatever way."""
    return re.findall(r"%[\w.]+", operand)


@dataclass(frozen=True)
class Code:
    """The statements of an entry, the places of its labels, and for each statement the place of the first from there on that jumps,
    ends or waits."""

    statements: list[Instruction]
    labels: dict[str, int]
    leaving: list[int]

    def least_bytes(self, space: str) -> int:
        """Of all accesses to shared or global memory: whatever is accessed is a multiple of it."""
        return min((size for s in self.statements for size in s.bytes_of(space)), default=16)

    def stored_through(self) -> set[str]:
        """Parameters that an address which is stored to may come from. Numbers that were loaded are none."""
        sources: dict[str, set[str]] = {}
        wanted = set()
        for s in self.statements:
            if s.op.startswith("st.global"):
                wanted.update(names_in(s.operands[0]))
            elif s.op.startswith("ld.param"):
                sources.setdefault(s.operands[0], set()).add(s.operands[1].strip("[]"))
            elif not s.op.startswith(("ld.", "st.", "cp.")) and s.operands:
                for name in names_in(s.operands[0]):
                    sources.setdefault(name, set()).update(other for operand in s.operands[1:] for other in names_in(operand))
        found: set[str] = set()
        while wanted:
            name = wanted.pop()
            if name not in found:
                found.add(name)
                wanted |= sources.get(name, set())
        return {name for name in found if not name.startswith("%")}


@cache
def parse(text: str, name: str) -> Code:
    """An entry."""
    text = re.sub(r"//[^\n]*", "", text)
    body = re.search(rf"\.entry {name}\(.*?\n\{{(.*?)\n\}}", text, re.DOTALL).group(1)
    body = re.sub(r"\.(reg|pragma)[^;]*;", "", body)
    code: list[Instruction] = []
    labels: dict[str, int] = {}
    for statement in re.split(r";|(?<=:)\s*\n", body):
        statement = " ".join(statement.split()).lstrip("{} ")  # a piece with registers of its own stands in braces
        if statement.endswith(":"):
            labels[statement[:-1]] = len(code)
        elif statement:
            guard, op, rest = re.match(r"(@!?%p\d+ )?(\S+) ?(.*)", statement).groups()
            code.append(Instruction((guard or "").strip(" @"), op, split_operands(rest), len(code)))
    leaving = (s.place if s.op.startswith(("bra", "bar.", "barrier.cluster.wait", "ret")) else len(code) for s in reversed(code))
    return Code(code, labels, [*accumulate(leaving, min)][::-1])
