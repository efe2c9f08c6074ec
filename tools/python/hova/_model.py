# ===- _model.py - Compiled models on arrays -----------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Loads what `hova.compile` has made and runs it in this process."""

from __future__ import annotations

import difflib
import operator
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from queue import Empty, LifoQueue
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np

from ._errors import Error
from ._interface import TYPES
from ._library import prefix_of
from ._results import library_named, library_of, new_array
from ._runtime import Context, Library
from ._sequences import Sizes, items_of, pack, sizes_of


class Tensor(NamedTuple):
    """An input or output. `range` has the valid integers x: range[0] <= x < range[1]; None: all are."""

    name: str
    dtype: str  # as NumPy calls it: "float32", "int32", "int64", "bool"
    shape: tuple[int, ...]  # of a model with ranges the largest
    range: tuple[int, int] | None
    axes: tuple[str, ...] = ()  # what each axis is: "items", "tokens" or "other_tokens" of a range, or "" where its size is fixed


# The path of a library, and what `load` was given with it.
_Source = tuple[str, dict[str, Any]]


class Model:
    """A compiled model, for any number of threads at once.

    It has `contexts` of its own, each with the memory and the threads of one run. A call takes a context that is free
    and waits for one where none is; weights are shared. Results do not depend on the threads.
    """

    def __init__(self, library: Library, contexts: Iterable[Context], keep: object = None, source: _Source | None = None) -> None:
        self.name = library.model
        self.compiler = library.compiler
        self.dtype = library.dtype
        self.flops = library.flops
        self.arena_bytes = library.arena_bytes
        self.weight_bytes = library.weight_bytes
        self.inputs = tuple(Tensor(*one) for one in library.inputs)
        self.outputs = tuple(Tensor(*one) for one in library.outputs)
        self.ranges = library.ranges
        self._free: LifoQueue[Context | None] = LifoQueue()
        for context in contexts:
            self._free.put(context)
        self._keep = keep
        self._source = source
        self._is_closed = False

    def __call__(self, /, *inputs: Any, out: Mapping[str, Any] | None = None, like: str | None = None, **named: Any) -> dict[str, Any]:
        """Runs the model: `model(array)`, `model(first, second)` in the order of `inputs`, `model(name=array)`, or
        `model({"name": array})`, which also takes names that are no words of Python.

        Inputs are NumPy arrays or other objects with `__dlpack__`, of the type and shape in `inputs`, row by row
        (`numpy.ascontiguousarray`) and aligned to their elements. They are read where they are. Results are new arrays by
        name, or the arrays in `out`, which are written where they are. New ones are of the library of the inputs, or
        of `like`, the name of a module with `from_dlpack` ("numpy", "torch"). Error: an array does not fit; then nothing
        was written.

        A model with `ranges` takes any number of items and tokens in them: arrays [items, tokens], or lists that have
        an array [tokens] for each item, which need not be of one length. Then results of tokens are such lists, too.
        Where items have tokens of two ranges, inputs of both are arrays, or of both lists.
        """
        given = self._in_order(inputs, named)
        library = library_of(given) if like is None else library_named(like)
        if self.ranges:
            given = [items_of(tensor, value) for tensor, value in zip(self.inputs, given)]
        sizes = sizes_of(self.inputs, given) if self.ranges else None
        if sizes:
            given = [pack(tensor, sizes, value) for tensor, value in zip(self.inputs, given)]
        for tensor, array in zip(self.inputs, given):
            _check_array("input", tensor, array, sizes)
        results = self._results(out, library, given, sizes)
        context = self._free.get()
        try:
            if context is None:
                raise Error(f"the model '{self.name}' is closed")
            context.run(given, list(results.values()), *(sizes.packed() if sizes else ()))
        finally:
            self._free.put(context)
            if self._is_closed:
                self._drop_free()
        if library is not None:
            for name in results.keys() - (out or {}).keys():
                if isinstance(results[name], np.ndarray):
                    results[name] = library.from_dlpack(results[name])
        if sizes and sizes.lengths is not None:
            results = {tensor.name: sizes.split(tensor, results[tensor.name]) for tensor in self.outputs}
        return results

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process loads the file, which has to be there and the same model."""
        if self._is_closed or self._source is None:
            raise TypeError(f"the model '{self.name}' is closed and cannot be sent" if self._is_closed else "the model has no file")
        return _load_again, (*self._source, self.inputs, self.outputs)

    def _in_order(self, inputs: tuple[Any, ...], named: Mapping[str, Any]) -> list[Any]:
        if inputs and len(inputs) == len(self.inputs) and not named and not isinstance(inputs[0], Mapping):
            return list(inputs)
        names = [tensor.name for tensor in self.inputs]
        if len(inputs) == 1 and isinstance(inputs[0], Mapping):
            given = dict(inputs[0])
        elif len(inputs) > len(names):
            raise Error(f"the model has inputs {', '.join(names)}; got {len(inputs)} arrays")
        else:
            given = dict(zip(names, inputs))
        for name in named:
            if name in given:
                raise Error(f"the model has inputs {', '.join(names)}; '{name}' is given twice")
        given |= named
        _check_names("input", given, names, complete=True)
        return [given[name] for name in names]

    def _results(self, out: Mapping[str, Any] | None, library: Any, given: list[Any], sizes: Sizes | None) -> dict[str, Any]:
        def made(tensor: Tensor) -> Any:
            return new_array(library, given, sizes.shape(tensor) if sizes else tensor.shape, tensor.dtype)

        if out is None:
            return {tensor.name: made(tensor) for tensor in self.outputs}
        names = [tensor.name for tensor in self.outputs]
        if not isinstance(out, Mapping):
            raise Error(f"'out' expects a dict of arrays by name, as {{'{names[0]}': array}}, got {type(out).__name__}")
        _check_names("output", out, names, complete=False)
        for tensor in self.outputs:
            if tensor.name in out:
                _check_array("output", tensor, out[tensor.name], sizes)
        return {tensor.name: out[tensor.name] if tensor.name in out else made(tensor) for tensor in self.outputs}

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

    def _size(self, size: int, axis: str) -> str:
        least = self.ranges[axis][0] if axis in self.ranges else size
        return str(size) if least == size else f"{least} to {size}"

    def __repr__(self) -> str:
        def signature(tensors: tuple[Tensor, ...]) -> str:
            return ", ".join(f"{one.name}: {one.dtype}[{', '.join(map(self._size, one.shape, one.axes or [''] * len(one.shape)))}]" for one in tensors)

        return f"<hova.Model {self.name}({signature(self.inputs)}) -> {signature(self.outputs)}>"


# Those that NumPy has. It takes it longer to name one than to run a small model.
_DTYPES = {name: np.dtype(name) for name in TYPES if name != "bfloat16"}


def _check_array(role: str, tensor: Tensor, array: Any, sizes: Sizes | None) -> None:
    """What NumPy knows of an array and has a function for; the rest, and arrays of others, the model checks itself."""
    shape = sizes.shape(tensor) if sizes else tensor.shape
    if isinstance(array, np.ndarray) and array.dtype == _DTYPES.get(tensor.dtype) and array.flags.carray and array.shape == shape:
        return
    place = f"{role} '{tensor.name}' expects"
    makes = f'numpy.empty({list(shape)}, "{tensor.dtype}") makes it'
    if not isinstance(array, np.ndarray):
        if hasattr(array, "__dlpack__"):
            return
        # What an array can be made of.
        is_list = role == "input" and isinstance(array, (list, tuple, float, int, np.generic))
        hint = f'; numpy.array(..., "{tensor.dtype}") makes one of it' if is_list else ""
        raise Error(f"{place} a NumPy array or another object with __dlpack__, got {type(array).__name__}{hint}")
    if role == "output" and not array.flags.writeable:
        raise Error(f"output '{tensor.name}' is read-only")
    if array.dtype.name != tensor.dtype or not array.dtype.isnative:
        found = array.dtype.name if array.dtype.name != tensor.dtype else f"{array.dtype.str}, which has its bytes in another order"
        raise Error(f"{place} {tensor.dtype}, got {found}; " + (f'array.astype("{tensor.dtype}") converts it' if role == "input" else makes))
    if array.shape == shape and not array.flags.c_contiguous:
        hint = "numpy.ascontiguousarray(array) copies it so" if role == "input" else makes
        raise Error(f"{place} elements row by row and without gaps; {hint}")


def _suggestion(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, 1)
    return f"; did you mean '{near[0]}'?" if near else ""


def _check_names(role: str, given: Mapping[str, Any], known: list[str], *, complete: bool) -> None:
    unknown = [f"there is no '{name}'{_suggestion(name, known)}" for name in given if name not in known]
    missing = [f"'{name}' is missing" for name in known if name not in given] if complete else []
    if wrong := unknown + missing:
        raise Error(f"the model has {role}s {', '.join(known)}; {wrong[0]}")


def _whole(name: str, value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"'{name}' expects a whole number, got {value!r}") from None


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
    weights        an image of `hova.pack_weights` in the place of the weights that the library came with
    check_weights  read all weights now and compare their checksum
    device         of programs for a GPU, as CUDA counts

    Error: the file is no such library, or of another version of hova, or does not run on this machine.
    """
    threads, contexts, device = (_whole(name, value) for name, value in (("threads", threads), ("contexts", contexts), ("device", device)))
    if contexts < 1:
        raise ValueError(f"contexts expects a number from 1, got {contexts}")
    path = Path(os.fspath(program)).resolve()
    prefix = prefix_of(path)
    library = Library(os.fspath(path.parent), path.name, prefix)
    image = None if weights is None else os.path.abspath(os.fspath(weights))
    made = [Context(library, threads, image, check_weights, device) for _ in range(contexts)]
    source = (os.fspath(path), {"threads": threads, "contexts": contexts, "weights": image, "check_weights": check_weights, "device": device})
    return Model(library, made, keep=program, source=source)


def _load_again(path: str, options: dict[str, Any], inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...]) -> Model:
    """A model of another process. Error: its file is gone, or of another model now."""
    model = load(path, **options)
    if (model.inputs, model.outputs) != (inputs, outputs):
        model.close()
        raise Error(f"'{path}' is another model than the one that was sent")
    return model
