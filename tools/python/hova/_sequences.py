# ===- _sequences.py - Items of any number and length ----------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""What a call of a model with ranges is of: arrays [items, tokens, ...], or lists of arrays [tokens, ...], one of each item."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from ._arrays import array_of
from ._errors import Error

TOKENS = "tokens"


class Sizes:
    """The items of a call, and how many tokens each has. `lengths` is None where all have `tokens`."""

    def __init__(self, items: int, tokens: int, lengths: Sequence[int] | None = None) -> None:
        self.items, self.tokens = items, tokens
        self.lengths = None if lengths is None else (ctypes.c_int32 * items)(*lengths)

    def shape(self, tensor: Any) -> tuple[int, ...]:
        """The shape of an input or output in the call."""
        if not tensor.axes:
            return tuple(tensor.shape)
        fixed = tuple(size for size, axis in zip(tensor.shape, tensor.axes) if not axis)
        if TOKENS not in tensor.axes:
            return (self.items, *fixed)
        return (self.items, self.tokens, *fixed) if self.lengths is None else (sum(self.lengths), *fixed)

    def split(self, tensor: Any, result: Any) -> Any:
        """A result as the inputs are: of packed items a list, each a view."""
        if self.lengths is None or TOKENS not in tensor.axes:
            return result
        return [result[end - length : end] for end, length in zip(accumulate(self.lengths), self.lengths)]


def items_of(tensor: Any, value: Any) -> Any:
    """A list with what is of another library as NumPy's arrays of the same memory; all else as it is."""
    if not isinstance(value, (list, tuple)):
        return value
    return [_item(tensor, number, one) for number, one in enumerate(value)]


def _item(tensor: Any, number: int, value: Any) -> Any:
    if isinstance(value, np.ndarray) or not hasattr(value, "__dlpack__"):
        return value
    try:
        return array_of(value)[1]
    except Exception as error:
        raise Error(f"item {number} of input '{tensor.name}' is not given by its library: {error}") from error


def sizes_of(tensors: Sequence[Any], given: Sequence[Any]) -> Sizes | None:
    """The sizes that the first input says; None: there is no input."""
    for tensor, value in zip(tensors, given):
        if not tensor.axes:
            continue
        are_tokens = TOKENS in tensor.axes
        if isinstance(value, (list, tuple)):
            return _packed_sizes(tensor, value) if are_tokens else Sizes(len(value), 1)
        shape = tuple(getattr(value, "shape", ()))
        if len(shape) != len(tensor.shape):
            rest = ["..."] if len(tensor.shape) > 2 else []
            expected = ", ".join(["items", TOKENS, *rest] if are_tokens else ["items", *map(str, tensor.shape[1:])])
            raise Error(f"input '{tensor.name}' expects an array [{expected}], or a list with an array for each item, got shape {list(shape)}")
        return Sizes(int(shape[0]), int(shape[1]) if are_tokens else 1)
    return None


def _packed_sizes(tensor: Any, arrays: Sequence[Any]) -> Sizes:
    rank = len(tensor.shape) - 1
    for number, array in enumerate(arrays):
        if not isinstance(array, np.ndarray) or array.ndim != rank:
            found = f"an array of {array.ndim} axes" if isinstance(array, np.ndarray) else type(array).__name__
            raise Error(f"input '{tensor.name}' expects a list of arrays of {rank} axes, NumPy's or others with __dlpack__, got {found} as item {number}")
    lengths = [len(array) for array in arrays]
    return Sizes(len(lengths), max(lengths, default=0), lengths)


def pack(tensor: Any, sizes: Sizes, value: Any) -> Any:
    """The array that a list of items is, those of tokens side by side."""
    if not isinstance(value, (list, tuple)):
        return value
    are_tokens = TOKENS in tensor.axes
    if are_tokens and sizes.lengths is None:
        raise Error(f"input '{tensor.name}' is a list of items, and the first input is one array of them")
    arrays = [np.asarray(array) for array in value]
    lengths = [len(array) if array.ndim else -1 for array in arrays]
    if are_tokens and lengths != list(sizes.lengths or ()):
        raise Error(f"input '{tensor.name}' expects items of {list(sizes.lengths)} tokens, as the first input has, got {lengths}")
    fixed = tensor.shape[2 if are_tokens else 1 :]
    for number, array in enumerate(arrays):
        if (array.shape[1:] if are_tokens else array.shape) != fixed:
            expected = ", ".join([TOKENS] * are_tokens + [str(size) for size in fixed])
            raise Error(f"input '{tensor.name}' expects items of shape [{expected}], got {list(array.shape)} as item {number}")
    if not arrays:
        return np.empty(sizes.shape(tensor), tensor.dtype)
    return np.concatenate(arrays) if are_tokens else np.stack(arrays)
