# ===- _driver.py - hova as a process -----------------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Runs the program that comes with the package.

The compiler is a process of its own: what goes wrong in it ends no interpreter, its memory is given
back when it is done, and nothing of LLVM is in a process that may hold another LLVM.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ._description import NAME, Description, path_of, text_of
from ._errors import INPUT_OUTPUT, Diagnostic, DescriptionWarning, Error

DRIVER = Path(__file__).parent / "bin" / "hova"


class Phase(NamedTuple):
    """The phase of a compilation that begins: number `k` of `n`."""

    k: int
    n: int
    name: str


@dataclass(frozen=True)
class Done:
    """What a verb has left when it is done."""

    status: int
    output: bytes
    diagnostics: tuple[Diagnostic, ...]


def file_word(text: str) -> str:
    """A path as a word of the command line, where it is no option and not standard input."""
    return os.path.join(".", text) if text.startswith("-") else text


def _read_line(line: bytes, progress: Callable[[Phase], object] | None) -> Diagnostic | None:
    """The message of a line of standard error; None: it said which phase begins."""
    if line.startswith(b'{"event":"phase"'):
        event = json.loads(line)
        if progress:
            progress(Phase(event["k"], event["n"], event["name"]))
        return None
    try:
        return Diagnostic.from_json(line)
    except ValueError:
        # A stack, or the words of a library that knows nothing of the format.
        return Diagnostic("note", line.decode(errors="replace").rstrip("\n"))


def ask(words: Sequence[str]) -> bytes:
    """What a verb without a description prints. Error: it fails; its text is what it says."""
    try:
        done = subprocess.run([os.fspath(DRIVER), *words], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    except OSError as error:
        raise Error(f"cannot run {DRIVER}: {error.strerror}", status=INPUT_OUTPUT) from error
    status = 128 - done.returncode if done.returncode < 0 else done.returncode
    if status != 0:
        raise Error(done.stderr.decode(errors="replace").rstrip("\n"), status=status)
    return done.stdout


def run(
    verb: Sequence[str],
    description: Description,
    words: Sequence[str] = (),
    *,
    progress: Callable[[Phase], object] | None = None,
    accepts: Sequence[int] = (0,),
    names: Mapping[str, str] | None = None,
) -> Done:
    """Runs a verb of hova on a description. `names` are what messages call files that the caller has not named.

    Warnings become DescriptionWarning. Error: the status is none of those accepted. What `progress` raises, and an
    interrupt, ends the process and leaves no file.
    """
    if isinstance(description, Mapping):
        model, text = "-", text_of(description)
    else:
        model, text = file_word(path_of(description)), ""
    names = {"/dev/stdin": NAME, **(names or {})}
    command = [os.fspath(DRIVER), *verb, model, *words, "--diagnostics=json"]
    # Files, so that one pipe alone has to be read while hova runs.
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as printed:
        given.write(text.encode())
        given.seek(0)
        diagnostics = []
        try:
            process = subprocess.Popen(command, stdin=given, stdout=printed, stderr=subprocess.PIPE)
        except OSError as error:
            raise Error(f"cannot run {DRIVER}: {error.strerror}", status=INPUT_OUTPUT) from error
        with process:
            assert process.stderr is not None
            try:
                for line in process.stderr:
                    for path, name in names.items():
                        line = line.replace(path.encode(), name.encode())
                    if said := _read_line(line, progress):
                        diagnostics.append(said)
                status = process.wait()
            except BaseException:
                # It removes what it has begun to write.
                process.terminate()
                raise
        printed.seek(0)
        output = printed.read()
    # Popen has the negative number of a signal, and a shell 128 more.
    status = 128 - status if status < 0 else status
    if status not in accepts:
        raise _error(status, diagnostics)
    for one in diagnostics:
        if one.severity == "warning":
            warnings.warn(str(one), DescriptionWarning, stacklevel=4)
    return Done(status, output, tuple(diagnostics))


def _error(status: int, diagnostics: Sequence[Diagnostic]) -> Error:
    said = [str(one) for one in diagnostics if one.severity == "error"]
    if not said and status > 128:
        said = [f"hova was ended by {signal.Signals(status - 128).name}"]
    if not said:
        said = [str(one) for one in diagnostics] or [f"hova ended with status {status}"]
    return Error("\n".join(said), status=status, diagnostics=diagnostics)
