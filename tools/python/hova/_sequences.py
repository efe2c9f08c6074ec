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

# The axes of tokens: of one sequence of an item, and of a second one.
TOKENS = ("tokens", "other_tokens")


def _tokens_of(tensor: Any) -> str:
    """Which tokens an input or output has; empty: none."""
    return next((axis for axis in tensor.axes if axis in TOKENS), "")


class Sizes:
    """The items of a call, and how many tokens each has, by the axis of them. `lengths` is None where all have `tokens`."""

    def __init__(self, items: int) -> None:
        self.items = items
        self.tokens: dict[str, int] = {}
        self.lengths: dict[str, list[int]] | None = None

    def packed(self) -> tuple[Any, int]:
        """The lengths as the model takes them, those of one axis after the other, and the number of items."""
        if self.lengths is None:
            return None, self.items
        numbers = [length for axis in TOKENS for length in self.lengths.get(axis, ())]
        return (ctypes.c_int32 * len(numbers))(*numbers), self.items

    def shape(self, tensor: Any) -> tuple[int, ...]:
        """The shape of an input or output in the call."""
        if not tensor.axes:
            return tuple(tensor.shape)
        fixed = tuple(size for size, axis in zip(tensor.shape, tensor.axes) if not axis)
        tokens = _tokens_of(tensor)
        if not tokens:
            return (self.items, *fixed)
        return (self.items, self.tokens[tokens], *fixed) if self.lengths is None else (sum(self.lengths[tokens]), *fixed)

    def split(self, tensor: Any, result: Any) -> Any:
        """A result as the inputs are: of packed items a list, each a view."""
        tokens = _tokens_of(tensor)
        if self.lengths is None or not tokens:
            return result
        lengths = self.lengths[tokens]
        return [result[end - length : end] for end, length in zip(accumulate(lengths), lengths)]


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
    """The sizes that the first input says, and the first with tokens of a second sequence; None: there is no input."""
    sizes = None
    for tensor, value in zip(tensors, given):
        tokens = _tokens_of(tensor)
        if not tensor.axes or (sizes and (not tokens or tokens in sizes.tokens)):
            continue
        items, length, lengths = _sizes_in(tensor, value, tokens)
        sizes = sizes or Sizes(items)
        if not tokens:
            continue
        if sizes.tokens and (lengths is None) != (sizes.lengths is None):
            raise Error(f"input '{tensor.name}' is {_kind(lengths)}, and an input before it is {_kind(sizes.lengths)}")
        if items != sizes.items:
            raise Error(f"input '{tensor.name}' expects {sizes.items} items, as the first input has, got {items}")
        sizes.tokens[tokens] = length
        if lengths is not None:
            sizes.lengths = {**(sizes.lengths or {}), tokens: lengths}
    return sizes


def _kind(lengths: object) -> str:
    return "one array of items" if lengths is None else "a list of items"


def _sizes_in(tensor: Any, value: Any, tokens: str) -> tuple[int, int, list[int] | None]:
    """Items and tokens that an input has, and of a list those of each."""
    if isinstance(value, (list, tuple)):
        lengths = _lengths_of(tensor, value) if tokens else None
        return len(value), max(lengths or (), default=0), lengths
    shape = tuple(getattr(value, "shape", ()))
    if len(shape) != len(tensor.shape):
        rest = ["..."] if len(tensor.shape) > 2 else []
        expected = ", ".join(["items", "tokens", *rest] if tokens else ["items", *map(str, tensor.shape[1:])])
        raise Error(f"input '{tensor.name}' expects an array [{expected}], or a list with an array for each item, got shape {list(shape)}")
    return int(shape[0]), int(shape[1]) if tokens else 1, None


def _lengths_of(tensor: Any, arrays: Sequence[Any]) -> list[int]:
    rank = len(tensor.shape) - 1
    for number, array in enumerate(arrays):
        if not isinstance(array, np.ndarray) or array.ndim != rank:
            found = f"an array of {array.ndim} axes" if isinstance(array, np.ndarray) else type(array).__name__
            raise Error(f"input '{tensor.name}' expects a list of arrays of {rank} axes, NumPy's or others with __dlpack__, got {found} as item {number}")
    return [len(array) for array in arrays]


def pack(tensor: Any, sizes: Sizes, value: Any) -> Any:
    """The array that a list of items is, those of tokens side by side."""
    if not isinstance(value, (list, tuple)):
        return value
    tokens = _tokens_of(tensor)
    if tokens and sizes.lengths is None:
        raise Error(f"input '{tensor.name}' is a list of items, and the first input is one array of them")
    arrays = [np.asarray(array) for array in value]
    lengths = [len(array) if array.ndim else -1 for array in arrays]
    if tokens and sizes.lengths is not None and lengths != sizes.lengths[tokens]:
        raise Error(f"input '{tensor.name}' expects items of {sizes.lengths[tokens]} tokens, as the first input has, got {lengths}")
    fixed = tensor.shape[2 if tokens else 1 :]
    for number, array in enumerate(arrays):
        if (array.shape[1:] if tokens else array.shape) != fixed:
            expected = ", ".join(["tokens"] * bool(tokens) + [str(size) for size in fixed])
            raise Error(f"input '{tensor.name}' expects items of shape [{expected}], got {list(array.shape)} as item {number}")
    if not arrays:
        return np.empty(sizes.shape(tensor), tensor.dtype)
    return np.concatenate(arrays) if tokens else np.stack(arrays)
