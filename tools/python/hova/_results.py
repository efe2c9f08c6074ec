# ===- _results.py - Arrays of the library that a caller uses ---------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Results are of the library of the inputs, which is never imported: who has arrays of it has it."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from ._errors import Error
from ._interface import CPU

# Libraries whose arrays may be written after they were made; those of others are filled before.
_MUTABLE = {"torch", "cupy"}


def _library_of_one(array: Any) -> Any:
    """The module that makes arrays of the kind of this one from what DLPack gives; None: NumPy's."""
    if isinstance(array, np.ndarray):
        return None
    if hasattr(array, "__array_namespace__"):
        return array.__array_namespace__()
    module = sys.modules.get(type(array).__module__.partition(".")[0])
    return module if hasattr(module, "from_dlpack") else None


def library_of(arrays: Sequence[Any]) -> Any:
    """The module of the library that all arrays are of, those in lists too; None: NumPy, or several."""
    found = [_library_of_one(one) for array in arrays for one in (array if isinstance(array, (list, tuple)) else [array])]
    return found[0] if found and all(one is found[0] for one in found) else None


def library_named(name: str) -> Any:
    """The module of this name; None: NumPy. TypeError, ValueError: it makes no arrays."""
    if not isinstance(name, str):
        raise TypeError(f"'like' expects the name of a library, as 'numpy', got {name!r}")
    if name == "numpy":
        return None
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        raise ValueError(f"'like' expects the name of a library, got {name!r}: {error}") from error
    if not hasattr(module, "from_dlpack"):
        raise ValueError(f"'like' expects the name of a library with from_dlpack, got {name!r}")
    return module


def new_array(library: Any, inputs: Sequence[Any], shape: tuple[int, ...], dtype: str) -> Any:
    """Memory for a result: NumPy's, which the library takes over when it is full, or where inputs are, on a GPU."""
    name = getattr(library, "__name__", "")
    if name in _MUTABLE and inputs and hasattr(inputs[0], "__dlpack_device__") and inputs[0].__dlpack_device__()[0] != CPU:
        options = {"device": inputs[0].device} if name == "torch" else {}
        return library.empty(shape, dtype=getattr(library, dtype), **options)
    if dtype == "bfloat16":
        return _new_bfloat16(library, shape)
    return np.empty(shape, dtype)


def _new_bfloat16(library: Any, shape: tuple[int, ...]) -> Any:
    """NumPy has no such type, and the package that adds it need not be there."""
    if getattr(library, "__name__", "") in _MUTABLE:
        return library.empty(shape, dtype=library.bfloat16)
    try:
        bfloat16 = importlib.import_module("ml_dtypes").bfloat16
    except ImportError:
        raise Error("results of bfloat16 are arrays of NumPy with the package ml_dtypes, which is not installed; like=\"torch\" gives tensors of PyTorch") from None
    return np.empty(shape, bfloat16)
