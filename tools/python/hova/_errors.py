# ===- _errors.py - What hova says, as data -----------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Messages of hova with their places, and the exception that carries them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

# Exit statuses of hova's programs, which `Error.status` is one of.
REJECTED = 1
USAGE = 2
DIFFERS = 3
INTERNAL = 70
OUT_OF_MEMORY = 71
INPUT_OUTPUT = 74


@dataclass(frozen=True)
class Fixit:
    """A replacement of the bytes [begin, end) of the description."""

    begin: int
    end: int
    replacement: str


@dataclass(frozen=True)
class Diagnostic:
    """One message.

    Lines and columns count from 1, columns in code points; they are None where a message is
    about no place in a description. `pointer` is the JSON pointer of the value.
    """

    severity: str  # "error", "warning" or "note"
    message: str
    file: str = "hova"
    line: int | None = None
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None
    pointer: str | None = None
    notes: tuple[str, ...] = ()
    fixits: tuple[Fixit, ...] = ()

    @property
    def place(self) -> str:
        """FILE:LINE:COLUMN, as far as it is known."""
        parts = (self.file, self.line, self.column)
        return ":".join(str(part) for part in parts if part is not None)

    def __str__(self) -> str:
        lines = [f"{self.place}: {self.severity}: {self.message}"]
        if self.pointer:
            lines.append(f"  at {self.pointer}")
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])

    @classmethod
    def from_json(cls, line: str | bytes) -> Diagnostic:
        """Reads a line of --diagnostics=json. ValueError: it is no such line."""
        try:
            said: dict[str, Any] = json.loads(line)
            places = {key: said.get(key) for key in ("line", "column", "end_line", "end_column", "pointer")}
            return cls(
                said["severity"],
                said["message"],
                said["file"],
                notes=tuple(note["message"] for note in said.get("notes", ())),
                fixits=tuple(Fixit(**fixit) for fixit in said.get("fixits", ())),
                **places,
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"expects a message of hova, got {line!r}") from error


class Error(Exception):
    """What hova, or a model that it compiled, refused or failed at.

    `status` is the exit status of hova: 1 rejected, 2 usage, 3 a kernel failed, 70 internal error, 71 out of memory,
    74 input or output, 128 + n ended by signal n. `diagnostics` are all messages; `message`, `file`, `line`, `column`,
    `pointer` and `place` are those of the first error.
    """

    def __init__(self, message: str, *, status: int = REJECTED, diagnostics: Sequence[Diagnostic] = ()) -> None:
        super().__init__(message)
        self.status = status
        self.diagnostics = tuple(diagnostics)
        errors = [one for one in self.diagnostics if one.severity == "error"]
        first = errors[0] if errors else Diagnostic("error", message)
        self.message = first.message
        self.file = first.file
        self.line = first.line
        self.column = first.column
        self.pointer = first.pointer
        self.place = first.place

    def __reduce__(self) -> tuple[Any, ...]:
        # Workers of other processes send their errors.
        return _rebuild, (str(self), self.status, self.diagnostics)


def _rebuild(message: str, status: int, diagnostics: tuple[Diagnostic, ...]) -> Error:
    return Error(message, status=status, diagnostics=diagnostics)


class DescriptionWarning(UserWarning):
    """What is probably a mistake in a description: `hova compile` accepts it."""
