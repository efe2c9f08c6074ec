# ===- _compile.py - Descriptions to programs and reports ----------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""The verbs of hova as functions."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Unpack

from ._description import Description
from ._driver import Done, Phase, run
from ._errors import DIFFERS, Diagnostic
from ._model import Model, load
from ._options import CompileOptions, DescriptionOptions, ExplainOptions, VerifyOptions, output_words, words_of
from ._weights import write_weights

Emit = Literal["exe", "lib", "obj", "asm", "llvm", "ptx", "cubin", "mlir"]

_EXTENSIONS = {"exe": "", "lib": ".so", "obj": ".o", "asm": ".s", "llvm": ".ll", "ptx": ".ptx", "cubin": ".cubin", "mlir": ".mlir"}


class Program:
    """A file that hova has compiled.

    One that was given no name lives in a folder of its own, as long as the object and the models loaded from it.
    """

    def __init__(self, path: Path, diagnostics: Sequence[Diagnostic], folder: object = None) -> None:
        self.path = path
        self.diagnostics = tuple(diagnostics)
        self._folder = folder

    def load(self, *, threads: int = 0, contexts: int = 1) -> Model:
        """The same as `hova.load`."""
        return load(self, threads=threads, contexts=contexts)

    def __fspath__(self) -> str:
        return os.fspath(self.path)

    def __repr__(self) -> str:
        return f"<hova.Program {self.path}>"


def _run(verb: str, description: Description, options: Mapping[str, Any], words: Sequence[str] = (), **how: Any) -> Done:
    weights = options.get("weights")
    if not isinstance(weights, Mapping):
        return run([verb], description, [*words_of(verb, options), *words], **how)
    with tempfile.NamedTemporaryFile(suffix=".safetensors") as file:
        write_weights(weights, file)
        file.flush()
        given = words_of(verb, {**options, "weights": file.name})
        return run([verb], description, [*given, *words], names={file.name: "<weights>"}, **how)


def _name_of(description: Description) -> str:
    if isinstance(description, (str, os.PathLike)):
        return Path(description).stem or "model"
    return "model"


def compile(  # noqa: A001 -- the verb's name
    description: Description,
    *,
    output: str | os.PathLike[str] | None = None,
    emit: Emit = "lib",
    progress: Callable[[Phase], object] | None = None,
    **options: Unpack[CompileOptions],
) -> Program:
    """Compiles a description: a file, or what it holds as a dict.

    output    the file to write, whole or not at all; a library's ends in .so, and its header lies beside it.
              None: a temporary one
    emit      "lib", which `hova.load` takes, "exe" for an executable, or what `hova compile --emit` has besides
    progress  is called with every phase that begins; what it raises ends the compilation
    options   those of the command line (docs/python.md)

    Error: what hova refused, with its places; DescriptionWarning: what is probably a mistake.
    """
    if emit not in _EXTENSIONS:
        raise ValueError(f"emit expects {', '.join(_EXTENSIONS)}, got {emit!r}")
    folder = None
    extension = _EXTENSIONS[emit]
    if output is None:
        folder = tempfile.TemporaryDirectory(prefix="hova-")
        path = Path(folder.name) / (_name_of(description) + extension)
    else:
        path = Path(output)
        if emit == "lib" and path.suffix != extension:
            path = path.with_name(path.name + extension)
    words = [f"--emit={emit}", "--progress=json", *output_words(path)]
    try:
        done = _run("compile", description, options, words, progress=progress)
    except BaseException:
        # Who holds the error would hold the folder.
        if folder:
            folder.cleanup()
        raise
    return Program(path, done.diagnostics, folder)


def verify(description: Description, **options: Unpack[VerifyOptions]) -> dict[str, Any]:
    """Compares the compiled program with the reference evaluator: `hova verify --format=json`.

    `["verified"]` says whether all numbers agree. Error: there was nothing to compare.
    """
    done = _run("verify", description, options, ["--format=json"], accepts=(0, DIFFERS))
    return _object(done)


def explain(description: Description, **options: Unpack[ExplainOptions]) -> dict[str, Any]:
    """What became of every attention, and why: `hova explain --format=json`."""
    return _object(_run("explain", description, options, ["--format=json"]))


def summary(description: Description, **options: Unpack[DescriptionOptions]) -> dict[str, Any]:
    """Layers, parameters and work: `hova summary --format=json`."""
    return _object(_run("summary", description, options, ["--format=json"]))


def check(description: Description, **options: Unpack[DescriptionOptions]) -> tuple[Diagnostic, ...]:
    """Reads a description, and weights where they are given. Error: it has mistakes, all of which are in `diagnostics`."""
    return _run("check", description, options).diagnostics


def _object(done: Done) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(done.output)
    return result
