# ===- _interface.py - The C interface of compiled models ----------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""runtime/hova_runtime.h, as far as Python reads it, as ctypes declares it. test/python compares the two."""

from __future__ import annotations

import ctypes
from typing import Any

ABI_VERSION = 15

# hova_status, and the exit statuses of programs that fail so.
OK = 0
BUSY = 2
EXIT_STATUS = {3: 71, 4: 74, 5: 3}

# Names of hova_dtype, as NumPy has them.
TYPES = ("float32", "float64", "bfloat16", "float16", "int32", "int64", "bool")

CPU = 1  # the type of its device


class Tensor(ctypes.Structure):
    """hova_tensor: a view of memory. The fields before `name` are DLPack's DLTensor."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
        ("name", ctypes.c_char_p),
    ]


class TensorInfo(ctypes.Structure):
    """hova_tensor_info: an input or output."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("dtype", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("dims", ctypes.POINTER(ctypes.c_int64)),
        ("lower", ctypes.c_int64),
        ("upper", ctypes.c_int64),
        ("extent", ctypes.c_int32),
    ]


# The axes that are ranges, by hova_extent.
EXTENTS = ((), ("items",), ("items", "tokens"), ("items", "other_tokens"))


class Ranges(ctypes.Structure):
    """hova_ranges: the sizes that a program may be run with."""

    _fields_ = [
        ("least_items", ctypes.c_int64),
        ("most_items", ctypes.c_int64),
        ("least_tokens", ctypes.c_int64),
        ("most_tokens", ctypes.c_int64),
        ("least_other_tokens", ctypes.c_int64),
        ("most_other_tokens", ctypes.c_int64),
        ("layers", ctypes.c_int64),
        ("items", ctypes.c_char_p),
        ("tokens", ctypes.c_char_p),
        ("other_tokens", ctypes.c_char_p),
    ]


class Program(ctypes.Structure):
    """hova_program."""

    _fields_ = [
        ("abi", ctypes.c_uint32),
        ("num_levels", ctypes.c_uint32),
        ("name", ctypes.c_char_p),
        ("levels", ctypes.c_void_p),
        ("num_inputs", ctypes.c_uint32),
        ("num_outputs", ctypes.c_uint32),
        ("inputs", ctypes.POINTER(TensorInfo)),
        ("outputs", ctypes.POINTER(TensorInfo)),
        ("arena_bytes", ctypes.c_uint64),
        ("weight_bytes", ctypes.c_uint64),
        ("weight_id", ctypes.c_char_p),
        ("pack_arguments", ctypes.c_char_p),
        ("flops", ctypes.c_uint64),
        ("flops_executed", ctypes.c_uint64),
        ("num_kernels", ctypes.c_uint32),
        ("num_values", ctypes.c_uint32),
        ("kernels", ctypes.c_void_p),
        ("values", ctypes.c_void_p),
        ("compiler", ctypes.c_char_p),
        ("dtype", ctypes.c_char_p),
        ("num_parts", ctypes.c_uint32),
        ("num_weights", ctypes.c_uint32),
        ("parts", ctypes.c_void_p),
        ("weights", ctypes.c_void_p),
        ("alternative", ctypes.c_void_p),
        ("bill", ctypes.c_char_p),
        ("ranges", ctypes.POINTER(Ranges)),
    ]


class Options(ctypes.Structure):
    """hova_options: zero everywhere is the default."""

    _fields_ = [
        ("threads", ctypes.c_int32),
        ("check_weights", ctypes.c_int32),
        ("weights", ctypes.c_char_p),
        ("image", ctypes.c_void_p),
        ("image_bytes", ctypes.c_uint64),
        ("message", ctypes.c_void_p),
        ("message_bytes", ctypes.c_uint64),
        ("device", ctypes.c_int32),
        ("stream", ctypes.c_void_p),
        ("target", ctypes.c_char_p),
    ]


# The functions of a library after its prefix: arguments and result.
FUNCTIONS: dict[str, tuple[tuple[Any, ...], Any]] = {
    "abi_version": ((), ctypes.c_uint32),
    "program": ((), ctypes.POINTER(Program)),
    "create": ((ctypes.c_void_p, ctypes.c_void_p), ctypes.c_int),
    "run": ((ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p), ctypes.c_int),
    "run_packed": ((ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p), ctypes.c_int),
    "destroy": ((ctypes.c_void_p,), None),
    "message": ((ctypes.c_void_p,), ctypes.c_char_p),
}
