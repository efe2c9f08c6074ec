# ===- classify.py - A compiled model inside a Python program ---------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Classifies the held-out digits with a shared library made by `hova compile --emit=lib`.

usage: classify.py LIBRARY.so PREFIX IMAGES.npy LABELS.npy

Needs NumPy; the library is called through ctypes. `Model` works for any compiled model of
fixed sizes: it reads names, types and shapes from the library.
"""

import ctypes
import sys

import numpy as np

# enum hova_dtype. NumPy has no bf16; its bits are passed as they are.
DTYPES = [np.float32, np.float64, np.uint16, np.float16, np.int32, np.int64, np.bool_]
# (code, bits) of DLPack for each of them.
DLPACK = [(2, 32), (2, 64), (4, 16), (2, 16), (0, 32), (0, 64), (6, 8)]
CPU = 1


class TensorInfo(ctypes.Structure):
    """hova_tensor_info: what the program says about an input or output."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("dtype", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("dims", ctypes.POINTER(ctypes.c_int64)),
        ("lower", ctypes.c_int64),
        ("upper", ctypes.c_int64),
        ("extent", ctypes.c_int32),
    ]


class Program(ctypes.Structure):
    """The start of hova_program."""

    _fields_ = [
        ("abi", ctypes.c_uint32),
        ("num_levels", ctypes.c_uint32),
        ("name", ctypes.c_char_p),
        ("levels", ctypes.c_void_p),
        ("num_inputs", ctypes.c_uint32),
        ("num_outputs", ctypes.c_uint32),
        ("inputs", ctypes.POINTER(TensorInfo)),
        ("outputs", ctypes.POINTER(TensorInfo)),
    ]


class Tensor(ctypes.Structure):
    """hova_tensor: a view of memory, the fields of DLPack and a name."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
        ("name", ctypes.c_char_p),
    ]


class Options(ctypes.Structure):
    """hova_options: zero everywhere is the default."""

    _fields_ = [
        ("threads", ctypes.c_int32),
        ("check_weights", ctypes.c_int32),
        ("weights", ctypes.c_char_p),
        ("image", ctypes.c_void_p),
        ("image_bytes", ctypes.c_uint64),
        ("message", ctypes.c_char_p),
        ("message_bytes", ctypes.c_uint64),
        ("device", ctypes.c_int32),
        ("stream", ctypes.c_void_p),
        ("target", ctypes.c_char_p),
    ]


def view(array, name):
    """A hova_tensor of a NumPy array, which must outlive it."""
    code, bits = DLPACK[[np.dtype(dtype) for dtype in DTYPES].index(array.dtype)]
    shape = (ctypes.c_int64 * array.ndim)(*array.shape)
    strides = (ctypes.c_int64 * array.ndim)(*(step // array.itemsize for step in array.strides))
    return Tensor(array.ctypes.data, CPU, 0, array.ndim, code, bits, 1, shape, strides, 0, name)


class Model:
    """A context of a compiled model; calls take and return NumPy arrays by name."""

    ABI = 15  # HOVA_ABI_VERSION of hova_runtime.h

    def __init__(self, path, prefix, threads=0):
        library = ctypes.CDLL(path)
        self._function = lambda name: getattr(library, f"{prefix}_{name}")
        if self._function("abi_version")() != self.ABI:
            raise ValueError(f"{path} was compiled by another version of hova")
        self._function("program").restype = ctypes.POINTER(Program)
        self._function("message").restype = ctypes.c_char_p
        program = self._function("program")().contents
        self.inputs = program.inputs[: program.num_inputs]
        self.outputs = program.outputs[: program.num_outputs]
        self._context = ctypes.c_void_p()
        message = ctypes.create_string_buffer(512)
        options = Options(threads=threads, message_bytes=len(message))
        options.message = ctypes.cast(message, ctypes.c_char_p)
        if self._function("create")(ctypes.byref(options), ctypes.byref(self._context)):
            raise ValueError(message.value.decode())

    def __call__(self, **arrays):
        given = [np.ascontiguousarray(arrays[info.name.decode()]) for info in self.inputs]
        made = [np.empty(info.dims[: info.rank], DTYPES[info.dtype]) for info in self.outputs]
        inputs = (Tensor * len(given))(*map(view, given, (info.name for info in self.inputs)))
        outputs = (Tensor * len(made))(*map(view, made, (info.name for info in self.outputs)))
        # ctypes releases the interpreter's lock while the model runs.
        if self._function("run")(self._context, inputs, outputs):
            raise ValueError(self._function("message")(self._context).decode())
        return {info.name.decode(): array for info, array in zip(self.outputs, made)}

    def close(self):
        self._function("destroy")(self._context)
        self._context = ctypes.c_void_p()


def main(path, prefix, images, labels):
    model = Model(path, prefix)
    images, labels = np.load(images), np.load(labels)
    predictions = np.array([model(image=image[None])["logits"].argmax() for image in images])
    model.close()
    right = int((predictions == labels).sum())
    print(f"{right} of {len(labels)} digits are right")


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
