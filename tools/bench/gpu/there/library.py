# ===- library.py - A compiled model on memory of a GPU -------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Calls a library of `hova compile --target=cuda --emit=lib` with memory of the device, and draws its inputs.

The declarations are those of runtime/hova_runtime.h; unlike examples/embed/classify.py this needs no NumPy, which a machine
with a GPU may lack."""

import array
import ctypes
import math
import random

ABI = 15  # HOVA_ABI_VERSION
CUDA = 2  # DLPack's device type
# enum hova_dtype: the name, DLPack's (code, bits), and the letter of Python's arrays.
DTYPES = [("f32", 2, 32, "f"), ("f64", 2, 64, "d"), ("bf16", 4, 16, "H"), ("f16", 2, 16, "H"), ("i32", 0, 32, "i"), ("i64", 0, 64, "q"), ("bool", 6, 8, "B")]


class TensorInfo(ctypes.Structure):
    """hova_tensor_info."""

    _fields_ = [("name", ctypes.c_char_p), ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32), ("dims", ctypes.POINTER(ctypes.c_int64)),
                ("lower", ctypes.c_int64), ("upper", ctypes.c_int64), ("extent", ctypes.c_int32)]


class Program(ctypes.Structure):
    """The start of hova_program."""

    _fields_ = [("abi", ctypes.c_uint32), ("num_levels", ctypes.c_uint32), ("name", ctypes.c_char_p), ("levels", ctypes.c_void_p),
                ("num_inputs", ctypes.c_uint32), ("num_outputs", ctypes.c_uint32), ("inputs", ctypes.POINTER(TensorInfo)),
                ("outputs", ctypes.POINTER(TensorInfo))]


class TensorView(ctypes.Structure):
    """hova_tensor."""

    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.c_void_p), ("byte_offset", ctypes.c_uint64), ("name", ctypes.c_char_p)]


class Options(ctypes.Structure):
    """hova_options."""

    _fields_ = [("threads", ctypes.c_int32), ("check_weights", ctypes.c_int32), ("weights", ctypes.c_char_p), ("image", ctypes.c_void_p),
                ("image_bytes", ctypes.c_uint64), ("message", ctypes.c_char_p), ("message_bytes", ctypes.c_uint64), ("device", ctypes.c_int32),
                ("stream", ctypes.c_void_p), ("target", ctypes.c_char_p)]


class Tensor:
    """An input or output: name, type, shape, and which integers x are valid, lower <= x < upper (all of them if both are equal)."""

    def __init__(self, info):
        self.name, self.dtype, self.shape = info.name.decode(), DTYPES[info.dtype][0], list(info.dims[: info.rank])
        self.number, self.lower, self.upper = info.dtype, info.lower, info.upper
        self.bytes = math.prod(self.shape) * DTYPES[info.dtype][2] // 8

    def drawn(self, seed):
        """Bytes of random contents. Booleans are true; of integers 0 is left out, which mostly is padding."""
        generator, count = random.Random(f"{seed} {self.name}"), math.prod(self.shape)
        if self.dtype == "bool":
            values = [1] * count
        elif self.dtype in ("i32", "i64"):
            least = max(self.lower, 1) if self.upper > max(self.lower, 1) else self.lower
            values = [generator.randrange(least, max(self.upper, least + 1)) for _ in range(count)]
        else:
            values = [generator.gauss(0, 1) for _ in range(count)]
        return array.array(DTYPES[self.number][3], values).tobytes()

    def view(self, address):
        _, code, bits, _ = DTYPES[self.number]
        self.dims = (ctypes.c_int64 * len(self.shape))(*self.shape)
        return TensorView(address, CUDA, 0, len(self.shape), code, bits, 1, self.dims, None, 0, self.name.encode())


class Library:
    """A context of a model on the first GPU. With a stream a run returns when it is in the queue. What fails is a ValueError in
    the words of the library."""

    def __init__(self, path, prefix, weights=None, stream=None):
        library = ctypes.CDLL(str(path))
        self.call = lambda name: getattr(library, f"{prefix}_{name}")
        if self.call("abi_version")() != ABI:
            raise ValueError(f"{path} was compiled by another version of hova")
        self.call("program").restype = ctypes.POINTER(Program)
        self.call("message").restype = ctypes.c_char_p
        program = self.call("program")().contents
        self.inputs = [Tensor(info) for info in program.inputs[: program.num_inputs]]
        self.outputs = [Tensor(info) for info in program.outputs[: program.num_outputs]]
        self.context, message = ctypes.c_void_p(), ctypes.create_string_buffer(1280)
        options = Options(message_bytes=len(message), stream=stream, target=b"cuda", weights=str(weights).encode() if weights else None)
        options.message = ctypes.cast(message, ctypes.c_char_p)
        if self.call("create")(ctypes.byref(options), ctypes.byref(self.context)):
            raise ValueError(message.value.decode())

    def bind(self, inputs, outputs):
        """Runs on these addresses, in the order of the program, from now on."""
        self.given = (TensorView * len(inputs))(*(tensor.view(address) for tensor, address in zip(self.inputs, inputs)))
        self.made = (TensorView * len(outputs))(*(tensor.view(address) for tensor, address in zip(self.outputs, outputs)))

    def run(self):
        if self.call("run")(self.context, self.given, self.made):
            raise ValueError(self.call("message")(self.context).decode())

    def close(self):
        self.call("destroy")(self.context)
