# ===- _compile.py - Descriptions to programs and reports ----------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""The verbs of hova as functions."""

from __future__ import annotations

import json
import operator
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal, Unpack

import numpy as np

from ._description import Description
from ._driver import Done, Phase, ask, file_word, run
from ._errors import DIFFERS, Diagnostic, Error
from ._library import is_program
from ._model import Model, load
from ._options import (
    CompileOptions,
    DescriptionOptions,
    ExplainOptions,
    PackOptions,
    VerifyOptions,
    ViewOptions,
    documented,
    output_words,
    words_of,
)
from ._page import Page
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

    def load(
        self,
        *,
        threads: int = 0,
        contexts: int = 1,
        weights: str | os.PathLike[str] | None = None,
        check_weights: bool = False,
        device: int = 0,
    ) -> Model:
        """The same as `hova.load`, which says what each argument is."""
        return load(self, threads=threads, contexts=contexts, weights=weights, check_weights=check_weights, device=device)

    def save(self, path: str | os.PathLike[str]) -> Program:
        """Copies it to a place of its own: the file, a library's header, and weights that lie beside it. Each is there
        whole or not at all; a library's name ends in .so. Returns the program there. OSError: it cannot be written."""
        target = _with_suffix(Path(path), self.path.suffix if self.path.suffix == ".so" else "")
        beside = [(_weights_of(self.path), _weights_of(target))]
        if self.path.suffix == ".so":
            beside.append((self.path.with_suffix(".h"), target.with_suffix(".h")))
        for source, file in [*((a, b) for a, b in beside if a.exists()), (self.path, target)]:
            try:
                with tempfile.TemporaryDirectory(dir=target.parent, prefix=".hova-") as folder:
                    os.replace(shutil.copy(source, folder), file)
            except OSError as error:
                # Nobody knows the name of the folder.
                named = source if error.filename == os.fspath(source) else target
                raise OSError(error.errno, error.strerror, os.fspath(named)) from None
        return Program(target, self.diagnostics)

    def __reduce__(self) -> tuple[Any, ...]:
        # The other process finds it as long as its file is there.
        return Program, (self.path, self.diagnostics)

    def __fspath__(self) -> str:
        return os.fspath(self.path)

    def __repr__(self) -> str:
        return f"<hova.Program {self.path}>"


def _with_suffix(path: Path, suffix: str) -> Path:
    return path if path.suffix == suffix or not suffix else path.with_name(path.name + suffix)


def _weights_of(path: Path) -> Path:
    """Where the weights of a program are that are not in it."""
    return path.with_name(path.name + ".weights")


def _run(
    verb: str,
    description: Description,
    options: Mapping[str, Any],
    words: Sequence[str] = (),
    *,
    names: Mapping[str, str] | None = None,
    **how: Any,
) -> Done:
    function = "_".join(reversed(verb.split()))
    weights = options.get("weights")
    if not isinstance(weights, Mapping):
        return run(verb.split(), description, [*words_of(function, options), *words], names=names, **how)
    with tempfile.NamedTemporaryFile(suffix=".safetensors") as file:
        write_weights(weights, file)
        file.flush()
        given = words_of(function, {**options, "weights": file.name})
        return run(verb.split(), description, [*given, *words], names={file.name: "<weights>", **(names or {})}, **how)


def _name_of(description: Description) -> str:
    if isinstance(description, (str, os.PathLike)):
        return Path(description).stem or "model"
    return "model"


@documented(CompileOptions)
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
        path = _with_suffix(Path(output), extension if emit == "lib" else "")
    words = [f"--emit={emit}", "--progress=json", *output_words(path)]
    try:
        done = _run("compile", description, options, words, progress=progress)
    except BaseException:
        # Who holds the error would hold the folder.
        if folder:
            folder.cleanup()
        raise
    return Program(path, done.diagnostics, folder)


@documented(VerifyOptions)
def verify(description: Description, **options: Unpack[VerifyOptions]) -> dict[str, Any]:
    """Compares the compiled program with the reference evaluator: `hova verify --format=json`.

    `["verified"]` says whether all numbers agree. Error: there was nothing to compare.
    """
    done = _run("verify", description, options, ["--format=json"], accepts=(0, DIFFERS))
    return _object(done)


@documented(ExplainOptions)
def explain(description: Description, **options: Unpack[ExplainOptions]) -> dict[str, Any]:
    """What became of every attention, and why: `hova explain --format=json`."""
    return _object(_run("explain", description, options, ["--format=json"]))


@documented(DescriptionOptions)
def summary(description: Description, **options: Unpack[DescriptionOptions]) -> dict[str, Any]:
    """Layers, parameters and work: `hova summary --format=json`."""
    return _object(_run("summary", description, options, ["--format=json"]))


@documented(DescriptionOptions)
def check(description: Description, **options: Unpack[DescriptionOptions]) -> tuple[Diagnostic, ...]:
    """Reads a description, and weights where they are given. Error: it has mistakes, all of which are in `diagnostics`."""
    return _run("check", description, options).diagnostics


@documented(ViewOptions)
def view(description: Description, **options: Unpack[ViewOptions]) -> Page:
    """A page that shows what became of every layer, from JSON to assembly; a notebook shows it, and `save` keeps it."""
    inputs = options.pop("inputs", {})
    if not isinstance(inputs, Mapping):
        raise TypeError(f"'inputs' expects a dict of arrays by name, got {type(inputs).__name__}")
    with ExitStack() as files:
        words: list[str] = []
        names: dict[str, str] = {}
        for name, array in inputs.items():
            file = array
            if not isinstance(array, (str, os.PathLike)):
                made = files.enter_context(tempfile.NamedTemporaryFile(suffix=".npy"))
                np.save(made, np.asarray(array))
                made.flush()
                file = made.name
                names[file] = f"<{name}>"
            words.append(f"--input={name}={os.fspath(file)}")
        return Page(_run("view", description, options, [*words, "-o", "-"], names=names).output.decode())


@documented(PackOptions)
def pack_weights(description: Description, output: str | os.PathLike[str], **options: Unpack[PackOptions]) -> Path:
    """Writes an image of weights for a program of the same description and options, which `hova.load` takes as `weights`."""
    if options.get("weights") is None and options.get("init") is None:
        # A name that is unknown may have been meant for one of them.
        words_of("pack_weights", options)
        raise TypeError("hova.pack_weights() expects 'weights', a file or arrays by name, or 'init', the seed of random ones")
    path = Path(output)
    _run("weights pack", description, options, output_words(path))
    return path


def profile(program: str | os.PathLike[str], *, depth: int = 2, arguments: Sequence[str] = ()) -> dict[str, Any]:
    """Runs an executable (emit="exe") and tells where its time goes: `hova profile --format=json`.

    depth      of the paths of layers that are told of, so 2 for encoder.3
    arguments  of the program, as ["--threads", "1"]

    Error: it is no such program, or fails.
    """
    path = Path(os.fspath(program))
    if not is_program(path):
        raise Error(f"'{path}' is no executable, which emit='exe' makes")
    words = [file_word(os.fspath(path)), "--format=json", f"--depth={operator.index(depth)}", "--", *arguments]
    return _object_of(ask(["profile", *words]))


def schema() -> dict[str, Any]:
    """The JSON Schema of descriptions, for editors and for what writes descriptions."""
    return _object_of(ask(["schema"]))


def _object(done: Done) -> dict[str, Any]:
    return _object_of(done.output)


def _object_of(text: bytes) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(text)
    return result
