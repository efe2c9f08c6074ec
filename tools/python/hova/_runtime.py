# ===- _runtime.py - Compiled models over their C interface ---------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""A library that hova compiled, and contexts of it. ctypes releases the interpreter's lock while a model runs."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Sequence
from typing import Any

from ._arrays import Views
from ._errors import INPUT_OUTPUT, REJECTED, Error
from ._interface import ABI_VERSION, BUSY, EXIT_STATUS, EXTENTS, FUNCTIONS, OK, TYPES, Options, Program, TensorInfo

_MESSAGE_BYTES = 4096
# More inputs, and more axes, than any model has: beyond them a library tells nothing that could be meant.
_MOST_TENSORS = 1 << 16
_MOST_AXES = 32

_dlclose = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(("dlclose", ctypes.CDLL(None)))


def _failure(status: int, message: str) -> Error:
    return Error(message, status=EXIT_STATUS.get(status, REJECTED))


def _text(given: bytes | None) -> str:
    return (given or b"").decode(errors="replace")


# ===------------------------------------------------------------------------=== #
# Files
# ===------------------------------------------------------------------------=== #


class _File:
    """A file that is mapped, once.

    The loader takes a path that it knows for the library that it has, also where another file is there now. So it is
    told a path through a descriptor of the folder, which is nobody else's as long as the library is open. And it has
    one library for a file, which keeps its first path: so there is one object for a file.
    """

    _known: dict[tuple[int, int], _File] = {}
    # One that is closed may be collected where another is opened.
    _lock = threading.RLock()

    def __init__(self, directory: int, name: str, folder: str, key: tuple[int, int]) -> None:
        self._directory = directory
        self._key = key
        self._alias = f"/proc/self/fd/{directory}/"
        self._folder = folder
        self._users = 1
        try:
            self.loaded = ctypes.CDLL(self._alias + name)
        except OSError as error:
            raise Error(f"cannot load '{name}': {self.readable(str(error))}") from None

    @classmethod
    def open(cls, folder: str, name: str) -> _File:
        with cls._lock:
            try:
                directory = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
            except OSError:
                raise Error(f"cannot open the folder '{folder}'", status=INPUT_OUTPUT) from None
            is_kept = False
            try:
                try:
                    found = os.stat(name, dir_fd=directory)
                except OSError:
                    raise Error(f"cannot find '{folder}/{name}'", status=INPUT_OUTPUT) from None
                key = (found.st_dev, found.st_ino)
                if known := cls._known.get(key):
                    return known.use()
                cls._known[key] = made = cls(directory, name, folder, key)
                is_kept = True
                return made
            finally:
                if not is_kept:
                    os.close(directory)

    def use(self) -> _File:
        """Begins one more use of it."""
        with self._lock:
            self._users += 1
            return self

    def close(self) -> None:
        """Ends a use of it, and with the last one it."""
        with self._lock:
            self._users -= 1
            if self._users == 0:
                del self._known[self._key]
                _dlclose(self.loaded._handle)
                os.close(self._directory)

    def readable(self, message: str) -> str:
        """A message in which the folder is called as the caller knows it."""
        return message.replace(self._alias, f"{self._folder}/")


# ===------------------------------------------------------------------------=== #
# Libraries
# ===------------------------------------------------------------------------=== #

# Name, type, shape, the range of valid integers if not all are, and what each axis is.
_Described = tuple[str, str, tuple[int, ...], tuple[int, int] | None, tuple[str, ...]]


def _describe(role: str, infos: Any, count: int) -> list[_Described]:
    """Error: what a library says of its tensors cannot be so."""
    if count > _MOST_TENSORS or (count and not infos):
        raise Error(f"the library tells of {count} {role}s, which could not be")
    return [_describe_one(role, i, infos[i]) for i in range(count)]


def _describe_one(role: str, i: int, info: TensorInfo) -> _Described:
    if not info.name or not 0 <= info.dtype < len(TYPES) or not 0 <= info.rank <= _MOST_AXES or (info.rank and not info.dims):
        raise Error(f"the library tells of {role} {i} no name, type and shape that could be")
    shape = tuple(info.dims[: info.rank])
    if any(size < 0 for size in shape):
        raise Error(f"the library tells of {role} '{_text(info.name)}' the shape {list(shape)}")
    limits = None if info.lower == info.upper else (info.lower, info.upper)
    if not 0 <= info.extent < len(EXTENTS) or len(EXTENTS[info.extent]) > info.rank:
        raise Error(f"the library tells of {role} '{_text(info.name)}' axes that it does not have")
    ranged = EXTENTS[info.extent]
    return _text(info.name), TYPES[info.dtype], shape, limits, ranged + ("",) * (info.rank - len(ranged)) if ranged else ()


class Library:
    """A compiled model, mapped as long as this or a context of it lives."""

    _file: _File | None = None

    def __init__(self, folder: str, name: str, prefix: str) -> None:
        self._file = _File.open(folder, name)
        version = self._find(prefix, "abi_version")()
        if version != ABI_VERSION:
            raise Error(
                f"the model was compiled by another version of hova (interface {version}, expected {ABI_VERSION}): compile it again"
            )
        names = ("create", "run", "run_packed", "destroy", "message")
        self.create, self.run, self.run_packed, self.destroy, self.message = (self._find(prefix, name) for name in names)
        told = self._find(prefix, "program")()
        if not told:
            raise Error("the library tells of no model")
        program: Program = told.contents
        self.model = _text(program.name)
        self.compiler = _text(program.compiler)
        self.dtype = _text(program.dtype)
        self.flops: int = program.flops
        self.arena_bytes: int = program.arena_bytes
        self.weight_bytes: int = program.weight_bytes
        self.inputs = _describe("input", program.inputs, program.num_inputs)
        self.outputs = _describe("output", program.outputs, program.num_outputs)
        self.ranges: dict[str, tuple[int, int]] = {}
        if program.ranges:
            ranges = program.ranges.contents
            self.ranges = {"items": (ranges.least_items, ranges.most_items), "tokens": (ranges.least_tokens, ranges.most_tokens)}
            if ranges.most_other_tokens:
                self.ranges["other_tokens"] = (ranges.least_other_tokens, ranges.most_other_tokens)

    def _find(self, prefix: str, name: str) -> Any:
        try:
            function = self.file.loaded[f"{prefix}_{name}"]
        except AttributeError:
            raise Error(f"the library has no function {prefix}_{name}") from None
        function.argtypes, function.restype = FUNCTIONS[name]
        return function

    @property
    def file(self) -> _File:
        assert self._file, "it is collected"
        return self._file

    def __del__(self) -> None:
        file, self._file = self._file, None
        if file:
            file.close()


# ===------------------------------------------------------------------------=== #
# Contexts
# ===------------------------------------------------------------------------=== #


def _int32(name: str, value: int) -> int:
    if not -(1 << 31) <= value < 1 << 31:
        raise ValueError(f"{name} expects a number of 32 bits, got {value}")
    return value


def _file_name(path: str | None) -> bytes | None:
    name = None if path is None else os.fsencode(path)
    if name and b"\0" in name:
        raise ValueError("weights expects a path, got one with a null character")
    return name


class Context:
    """Memory and threads for one run at a time."""

    _file: _File | None = None

    def __init__(self, library: Library, threads: int, weights: str | None, check_weights: bool, device: int) -> None:
        self._library = library
        self._context = ctypes.c_void_p()
        # Where both are collected together, the library may be the first.
        self._file = library.file.use()
        self._inputs = [name for name, *_ in library.inputs]
        self._outputs = [name for name, *_ in library.outputs]
        message = ctypes.create_string_buffer(_MESSAGE_BYTES)
        options = Options(
            threads=_int32("threads", threads),
            check_weights=bool(check_weights),
            weights=_file_name(weights),
            message=ctypes.addressof(message),
            message_bytes=len(message),
            device=_int32("device", device),
        )
        status = library.create(ctypes.byref(options), ctypes.byref(self._context))
        if status != OK:
            raise _failure(status, self._file.readable(_text(message.value)))

    def run(self, inputs: Sequence[Any], outputs: Sequence[Any], lengths: Any = None, items: int = 0) -> None:
        """Runs once; arrays stand in the order of the model. `lengths`: of `items` side by side, an array of ctypes."""
        read = Views("input", self._inputs, inputs)
        try:
            written = Views("output", self._outputs, outputs)
            try:
                if lengths is None:
                    status = self._library.run(self._context, read.tensors, written.tensors)
                else:
                    status = self._library.run_packed(self._context, lengths, items, read.tensors, written.tensors)
            finally:
                written.release()
        finally:
            read.release()
        if status == BUSY:
            raise _failure(status, "the context runs in another thread")
        if status != OK:
            raise _failure(status, _text(self._library.message(self._context)))

    def __del__(self) -> None:
        file, self._file = self._file, None
        if file:
            self._library.destroy(self._context)
            file.close()
