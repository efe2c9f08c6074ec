# ===- _arrays.py - The memory of arrays ---------------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Views of arrays for the C interface: NumPy's, and those of whatever library knows DLPack. No element is copied."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ._errors import Error
from ._interface import CPU, Tensor

# ===------------------------------------------------------------------------=== #
# DLPack
# ===------------------------------------------------------------------------=== #

# DLTensor: hova_tensor without its name.
_TENSOR_BYTES = Tensor.name.offset
_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

# Flags of a managed tensor.
_READ_ONLY = 1
_IS_COPIED = 2


class _Unversioned(ctypes.Structure):
    """DLManagedTensor."""

    _fields_ = [("tensor", ctypes.c_byte * _TENSOR_BYTES), ("manager", ctypes.c_void_p), ("deleter", _Deleter)]
    major = 1
    flags = 0


class _Versioned(ctypes.Structure):
    """DLManagedTensorVersioned. All before `flags` is the same in every version."""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager", ctypes.c_void_p),
        ("deleter", _Deleter),
        ("flags", ctypes.c_uint64),
        ("tensor", ctypes.c_byte * _TENSOR_BYTES),
    ]


def _python(name: str, result: Any, *arguments: Any) -> Any:
    """A function of Python's stable interface, declared for this module alone."""
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


_is_valid = _python("PyCapsule_IsValid", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)
_pointer_of = _python("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
_set_name = _python("PyCapsule_SetName", ctypes.c_int, ctypes.py_object, ctypes.c_void_p)


def _immortal(text: bytes) -> int:
    """The address of a text that is never freed: a capsule keeps the address of its name, and may outlive this module."""
    buffer = ctypes.create_string_buffer(text)
    _python("Py_IncRef", None, ctypes.py_object)(buffer)
    return ctypes.addressof(buffer)


_KINDS = [
    (b"dltensor_versioned", _immortal(b"used_dltensor_versioned"), _Versioned),
    (b"dltensor", _immortal(b"used_dltensor"), _Unversioned),
]


class _Owned:
    """A tensor that was taken over from its library, until `release`."""

    def __init__(self, managed: Any) -> None:
        self._managed = managed
        self.flags = managed.flags

    def copy_to(self, tensor: Tensor) -> None:
        """Fills all fields but the name, which point into memory of the library."""
        ctypes.memmove(ctypes.addressof(tensor), self._managed.tensor, _TENSOR_BYTES)

    def release(self) -> None:
        managed, self._managed = self._managed, None
        if managed is not None and managed.deleter:
            managed.deleter(ctypes.addressof(managed))

    __del__ = release


def _take(array: Any) -> _Owned:
    """Takes over the tensor of an object with `__dlpack__`. Exception: what its library says against it."""
    try:
        capsule = array.__dlpack__(max_version=(1, 0), copy=False)
    except TypeError:
        # A library that is older than these arguments.
        capsule = array.__dlpack__()
    for name, used, kind in _KINDS:
        if not _is_valid(capsule, name):
            continue
        managed = kind.from_address(_pointer_of(capsule, name))
        _set_name(capsule, used)
        owned = _Owned(managed)
        if managed.major != 1:
            raise BufferError(f"it is of version {managed.major} of DLPack, and 1 is understood")
        return owned
    raise BufferError("__dlpack__ returns no capsule that is unused")


# ===------------------------------------------------------------------------=== #
# Views
# ===------------------------------------------------------------------------=== #

# Kinds of NumPy's types, and the codes of DLPack. What has none is no type of an input or output.
_CODES = {b"i": 0, b"u": 1, b"f": 2, b"c": 5, b"b": 6}
_NO_CODE = 3
_BFLOAT = 4

# Flags of an array.
_C_CONTIGUOUS = 0x1
_NOT_SWAPPED = 0x200
_WRITEABLE = 0x400


# What `__array_struct__` points to, NumPy's protocol for C: 2, axes, kind, bytes of an element, flags, shape as DLPack
# has it, strides in bytes, data.
_ARRAY = struct.Struct("@iiciiPPP")
# hova_tensor from its data to its strides. ctypes sets one field in the time that this takes for all.
_DENSE = struct.Struct("@PiiiBBHPP")


class Views:
    """Views of the arrays of one call. What they are of lives until `release`.

    `role` is "input" or "output". Error: one is no array, or not to be written where it is an output. Whether it fits
    the model, that checks itself.
    """

    def __init__(self, role: str, names: Sequence[str], arrays: Sequence[Any]) -> None:
        self._role = role
        self._owned: list[_Owned] = []
        self._kept: list[object] = []
        if len(arrays) != len(names):
            raise Error(f"the model takes {len(names)} {role}s, got {len(arrays)}")
        self.tensors = (Tensor * len(names))()
        try:
            for tensor, name, array in zip(self.tensors, names, arrays):
                if isinstance(array, np.ndarray):
                    self._add_numpy(tensor, name, array)
                elif hasattr(array, "__dlpack__"):
                    self._add_foreign(tensor, name, array)
                else:
                    kind = type(array).__name__
                    raise Error(f"{role} '{name}' expects a NumPy array or another object with __dlpack__, got {kind}")
        except BaseException:
            self.release()
            raise

    def release(self) -> None:
        for owned in self._owned:
            owned.release()
        self._kept.clear()

    def _add_numpy(self, tensor: Tensor, name: str, array: np.ndarray[Any, Any]) -> None:
        capsule = array.__array_struct__
        self._kept.append(capsule)
        _, axes, kind, itemsize, flags, shape, steps, data = _ARRAY.unpack(ctypes.string_at(_pointer_of(capsule, None), _ARRAY.size))
        if not flags & _WRITEABLE and self._role == "output":
            raise Error(f"output '{name}' is read-only")
        code = _CODES.get(kind, _NO_CODE) if flags & _NOT_SWAPPED else _NO_CODE
        if code == _NO_CODE and array.dtype.name == "bfloat16":
            code = _BFLOAT  # of a package that adds it to NumPy
        strides = 0 if flags & _C_CONTIGUOUS else self._strides(name, (ctypes.c_int64 * axes).from_address(steps), itemsize)
        _DENSE.pack_into(tensor, 0, data or 0, CPU, 0, axes, code, min(8 * itemsize, 255), 1, shape or 0, strides)

    def _strides(self, name: str, steps: Iterable[int], itemsize: int) -> int:
        """The address of strides in elements."""
        if any(step % itemsize for step in steps):
            raise Error(f"{self._role} '{name}' expects elements at multiples of their size")
        strides = [step // itemsize for step in steps]
        kept = (ctypes.c_int64 * len(strides))(*strides)
        self._kept.append(kept)
        return ctypes.addressof(kept)

    def _add_foreign(self, tensor: Tensor, name: str, array: Any) -> None:
        what = f"{self._role} '{name}'"
        try:
            owned = _take(array)
        except Exception as error:
            raise Error(f"{what} is not given by its library: {error}") from error
        self._owned.append(owned)
        if self._role == "output" and owned.flags & _READ_ONLY:
            raise Error(f"{what} is read-only")
        if self._role == "output" and owned.flags & _IS_COPIED:
            raise Error(f"{what} is a copy that its library made, which nobody would read")
        owned.copy_to(tensor)


# ===------------------------------------------------------------------------=== #
# Elements
# ===------------------------------------------------------------------------=== #


# NumPy's kinds by DLPack's codes. What has none is bytes, such as bfloat16.
_KINDS_OF_CODES = {code: kind.decode() for kind, code in _CODES.items()}


class _Memory:
    """What NumPy makes an array of that lives as long as the tensor that was taken over."""

    def __init__(self, owned: _Owned, tensor: Tensor) -> None:
        self._owned = owned
        item = tensor.bits // 8
        kind = _KINDS_OF_CODES.get(tensor.code, "V")
        shape = _numbers(tensor.shape, tensor.ndim) or ()
        strides = _numbers(tensor.strides, tensor.ndim)
        self.__array_interface__: dict[str, Any] = {
            "version": 3,
            "data": ((tensor.data or 0) + tensor.byte_offset, True),
            "shape": shape,
            "strides": None if strides is None else tuple(item * step for step in strides),
            "typestr": f"<{kind}{item}",
        }


def _numbers(address: int | None, count: int) -> tuple[int, ...] | None:
    return tuple((ctypes.c_int64 * count).from_address(address)) if address else () if count == 0 else None


def array_of(array: Any) -> tuple[Tensor, np.ndarray[Any, Any]]:
    """The memory of an object with `__dlpack__`, and as an array of NumPy, as long as that lives.

    TypeError: it is not in CPU memory. Exception: what its library says against it.
    """
    tensor = Tensor()
    owned = _take(array)
    owned.copy_to(tensor)
    if tensor.device_type != CPU or tensor.bits % 8 or tensor.lanes != 1:
        raise TypeError(f"expects an array in CPU memory, got one of device {tensor.device_type}")
    memory = _Memory(owned, tensor)
    told = memory.__array_interface__
    # Where there is no element, there may be no address, which NumPy refuses.
    return tensor, np.empty(told["shape"], told["typestr"]) if 0 in told["shape"] else np.asarray(memory)


def bytes_of(array: Any) -> tuple[int, int, tuple[int, ...], memoryview]:
    """Kind and bits of DLPack, shape, and the elements row by row; only an array with gaps is copied.

    TypeError: it is no array in CPU memory.
    """
    if isinstance(array, np.ndarray):
        # NumPy has no such type; what libraries add by this name is it.
        code = _BFLOAT if array.dtype.name == "bfloat16" else _CODES.get(array.dtype.kind.encode(), _NO_CODE)
        bits, shape = 8 * array.dtype.itemsize, array.shape
        elements = np.ascontiguousarray(array, array.dtype.newbyteorder("="))
        return code, bits, shape, elements.reshape(-1).view(np.uint8).data
    if not hasattr(array, "__dlpack__"):
        raise TypeError(f"expects an array, got {type(array).__name__}")
    tensor, elements = array_of(array)
    return tensor.code, tensor.bits, elements.shape, np.ascontiguousarray(elements).reshape(-1).view(np.uint8).data
