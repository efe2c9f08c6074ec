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
        return self.op.startswith(("mma", "ldmatrix", "shfl"))


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


@cache
def parse(text: str, name: str) -> tuple[list[Instruction], dict[str, int], list[int]]:
    """The statements of an entry, the places of its labels, and for each statement the place of the first from there on that jumps,
    ends or waits."""
    text = re.sub(r"//[^\n]*", "", text)
    body = re.search(rf"\.entry {name}\(.*?\n\{{(.*?)\n\}}", text, re.DOTALL).group(1)
    body = re.sub(r"\.(reg|pragma)[^;]*;", "", body)
    code: list[Instruction] = []
    labels: dict[str, int] = {}
    for statement in re.split(r";|(?<=:)\s*\n", body):
        statement = " ".join(statement.split())
        if statement.endswith(":"):
            labels[statement[:-1]] = len(code)
        elif statement:
            guard, op, rest = re.match(r"(@!?%p\d+ )?(\S+) ?(.*)", statement).groups()
            code.append(Instruction((guard or "").strip(" @"), op, split_operands(rest), len(code)))
    leaving = (s.place if s.op.startswith(("bra", "bar.", "ret")) else len(code) for s in reversed(code))
    return code, labels, [*accumulate(leaving, min)][::-1]
