# ===- _library.py - What a compiled library exports --------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Reads names of an ELF file before anything of it runs."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from pathlib import Path

from ._errors import INPUT_OUTPUT, Error

_DYNSYM = 11
_INTERPRETER = 3
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
# The functions of a library that hova compiled, after its prefix.
_FUNCTIONS = ("_abi_version", "_program", "_create", "_run", "_destroy", "_message")


class _Elf:
    """A file for x86-64. struct.error, IndexError, OverflowError, ValueError: it is none, or cut off."""

    def __init__(self, data: mmap.mmap) -> None:
        if data[:6] != b"\x7fELF\x02\x01":
            raise ValueError("no ELF file")
        self.data = data
        (self._segments, self._sections) = struct.unpack_from("<QQ", data, 32)
        (self._segment_count,) = struct.unpack_from("<H", data, 56)
        (self._section_count,) = struct.unpack_from("<H", data, 60)

    def is_program(self) -> bool:
        """Whether a loader is to start it."""
        segments = (_SEGMENT.unpack_from(self.data, self._segments + i * _SEGMENT.size) for i in range(self._segment_count))
        return any(kind == _INTERPRETER for kind, *_ in segments)

    def exported(self) -> Iterator[str]:
        """The symbols that it defines for others."""
        sections = [_SECTION.unpack_from(self.data, self._sections + i * _SECTION.size) for i in range(self._section_count)]
        for _, kind, _, _, offset, size, link, *_ in sections:
            if kind != _DYNSYM:
                continue
            names = sections[link][4]
            for symbol in range(offset, offset + size - _SYMBOL.size + 1, _SYMBOL.size):
                name, _, _, section, _, _ = _SYMBOL.unpack_from(self.data, symbol)
                if section:
                    yield self.data[names + name : self.data.find(b"\0", names + name)].decode()


def _read(path: Path) -> tuple[set[str], bool]:
    """What it exports, and whether it is a program."""
    try:
        # Its weights may be large, and are not looked at.
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as data:
            elf = _Elf(data)
            return set(elf.exported()), elf.is_program()
    except OSError as error:
        raise Error(f"cannot read '{path}': {error.strerror}", status=INPUT_OUTPUT) from None
    except (struct.error, IndexError, OverflowError, ValueError):
        raise Error(f"'{path}' is no library that hova compiled") from None


def is_program(path: Path) -> bool:
    """Whether a file is an executable. Error: it is no file for x86-64."""
    return _read(path)[1]


def prefix_of(path: Path) -> str:
    """What the functions of a compiled library begin with. Error: it is none."""
    names, is_program = _read(path)
    prefixes = [name[: -len("_abi_version")] for name in names if name.endswith("_abi_version")]
    for prefix in prefixes:
        if all(prefix + function in names for function in _FUNCTIONS):
            return prefix
    if is_program:
        raise Error(f"'{path}' is a program, which another process runs; a library is what emit='lib' makes")
    raise Error(f"'{path}' is no library that hova compiled")
