# ===- _model.py - Compiled models on arrays -----------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Loads what `hova.compile` has made and runs it in this process."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from queue import Empty, LifoQueue
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np

from . import _native
from ._errors import Error
from ._library import prefix_of


class Tensor(NamedTuple):
    """An input or output. `range` has the valid integers x: range[0] <= x < range[1]; None: all are."""

    name: str
    dtype: str  # as NumPy calls it: "float32", "int32", "int64", "bool"
    shape: tuple[int, ...]
    range: tuple[int, int] | None


class Model:
    """A compiled model, for any number of threads at once.

    It has `contexts` of its own, each with the memory and the threads of one run. A call takes a context that is free
    and waits for one where none is; weights are shared. Results do not depend on the threads.
    """

    def __init__(self, library: _native.Library, contexts: Iterable[_native.Context], keep: object = None) -> None:
        self.name = library.model
        self.compiler = library.compiler
        self.dtype = library.dtype
        self.flops = library.flops
        self.arena_bytes = library.arena_bytes
        self.weight_bytes = library.weight_bytes
        self.inputs = tuple(Tensor(*one) for one in library.inputs)
        self.outputs = tuple(Tensor(*one) for one in library.outputs)
        self._free: LifoQueue[_native.Context | None] = LifoQueue()
        for context in contexts:
            self._free.put(context)
        self._keep = keep
        self._is_closed = False

    def __call__(self, *inputs: Any, out: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Runs the model: `model(array)`, `model(first, second)` in the order of `inputs`, or `model({"name": array})`.

        Inputs are NumPy arrays or other objects with `__dlpack__`, of the type and shape in `inputs`, row by row
        (`numpy.ascontiguousarray`) and aligned to their elements. They are read where they are. Results are new NumPy
        arrays by name, or the arrays in `out`, which are written where they are. Error: an array does not fit; then
        nothing was written.
        """
        given = self._in_order(inputs)
        results = self._results(out)
        context = self._free.get()
        try:
            if context is None:
                raise Error(f"the model '{self.name}' is closed")
            context.run(given, list(results.values()))
        finally:
            self._free.put(context)
            if self._is_closed:
                self._drop_free()
        return results

    def _in_order(self, inputs: tuple[Any, ...]) -> list[Any]:
        names = [tensor.name for tensor in self.inputs]
        if len(inputs) != 1 or not isinstance(inputs[0], Mapping):
            if len(inputs) != len(names):
                raise Error(f"the model has inputs {', '.join(names)}; got {len(inputs)} arrays")
            return list(inputs)
        named = inputs[0]
        _check_names("input", named, names, complete=True)
        return [named[name] for name in names]

    def _results(self, out: Mapping[str, Any] | None) -> dict[str, Any]:
        out = out or {}
        _check_names("output", out, [tensor.name for tensor in self.outputs], complete=False)
        return {
            tensor.name: out[tensor.name] if tensor.name in out else np.empty(tensor.shape, tensor.dtype)
            for tensor in self.outputs
        }

    def close(self) -> None:
        """Gives threads and memory back when the runs of now have ended; later calls are an Error."""
        self._is_closed = True
        self._drop_free()

    def _drop_free(self) -> None:
        with suppress(Empty):
            while True:
                self._free.get_nowait()
        # Who waits hears of it.
        self._free.put(None)

    def __enter__(self) -> Model:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        def signature(tensors: tuple[Tensor, ...]) -> str:
            return ", ".join(f"{one.name}: {one.dtype}{list(one.shape)}" for one in tensors)

        return f"<hova.Model {self.name}({signature(self.inputs)}) -> {signature(self.outputs)}>"


def _check_names(role: str, given: Mapping[str, Any], known: list[str], *, complete: bool) -> None:
    unknown = [f"there is no '{name}'" for name in given if name not in known]
    missing = [f"'{name}' is missing" for name in known if name not in given] if complete else []
    if wrong := unknown + missing:
        raise Error(f"the model has {role}s {', '.join(known)}; {wrong[0]}")


def load(
    program: str | os.PathLike[str],
    *,
    threads: int = 0,
    contexts: int = 1,
    weights: str | os.PathLike[str] | None = None,
    check_weights: bool = False,
    device: int = 0,
) -> Model:
    """Loads a library that hova compiled (emit="lib"): a `Program`, or the path of one.

    threads        of each context, 0: one for every processor that the process may use
    contexts       how many callers run at the same time; each takes `arena_bytes` and threads of its own
    weights        an image of `hova weights pack` in the place of the weights that the library came with
    check_weights  read all weights now and compare their checksum
    device         of programs for a GPU, as CUDA counts

    Error: the file is no such library, or of another version of hova, or does not run on this machine.
    """
    if contexts < 1:
        raise ValueError(f"contexts expects a number from 1, got {contexts}")
    path = Path(os.fspath(program)).resolve()
    prefix = prefix_of(path)
    library = _native.Library.open(os.fspath(path.parent), path.name, prefix)
    image = None if weights is None else os.fspath(weights)
    made = [_native.Context(library, threads, image, check_weights, device) for _ in range(contexts)]
    return Model(library, made, keep=program)
