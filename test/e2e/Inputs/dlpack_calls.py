# ===- dlpack_calls.py - A library on tensors of a device that is not there --=== #
# SPDX-License-Identifier: Apache-2.0
"""usage: dlpack_calls.py LIBRARY.so PREFIX

Calls a library of a model with one input x and one output y through examples/torch-dlpack, on the stand-in for a driver, whose
device memory the processor cannot read. Prints what came out and how often the driver copied, as JSON.
"""

import ctypes
import json
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "examples/torch-dlpack"))
from dlpack_model import Model  # noqa: E402

driver = ctypes.CDLL("libcuda.so.1")
driver.stand_in_allocate.restype = ctypes.c_void_p
driver.stand_in_allocate.argtypes = [ctypes.c_size_t]
driver.stand_in_free.argtypes = [ctypes.c_void_p]
driver.stand_in_write.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
driver.stand_in_read.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
driver.cuStreamCreate.argtypes = [ctypes.c_void_p, ctypes.c_uint]
driver.cuStreamSynchronize.argtypes = driver.cuStreamDestroy_v2.argtypes = [ctypes.c_void_p]
driver.cuDevicePrimaryCtxRetain.argtypes = [ctypes.c_void_p, ctypes.c_int]
driver.cuCtxPushCurrent_v2.argtypes = driver.cuCtxPopCurrent_v2.argtypes = [ctypes.c_void_p]
make_capsule = ctypes.pythonapi.PyCapsule_New
make_capsule.restype = ctypes.py_object
make_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Managed(ctypes.Structure):
    """DLManagedTensor, from dlpack.h."""

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
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    ]


class DeviceTensor:
    """What a framework has: float32 in memory of the device, which begins `offset` bytes after the allocation."""

    def __init__(self, array, offset=0):
        self.array, self.streams = array, []
        self.memory = driver.stand_in_allocate(array.nbytes + offset)
        shape = (ctypes.c_int64 * array.ndim)(*array.shape)
        self.managed = Managed(self.memory, 2, 0, array.ndim, 2, 32, 1, shape, None, offset, None, None)
        driver.stand_in_write(self.memory + offset, array.ctypes.data, array.nbytes)

    def __dlpack_device__(self):
        return (2, 0)

    def __dlpack__(self, stream=None):
        self.streams.append(stream)
        return make_capsule(ctypes.addressof(self.managed), b"dltensor", None)

    def read(self):
        array = np.empty_like(self.array)
        driver.stand_in_read(array.ctypes.data, self.memory + self.managed.byte_offset, array.nbytes)
        return array


def copies():
    return [driver.stand_in_calls(name) for name in (b"cuMemcpyHtoDAsync_v2", b"cuMemcpyDtoHAsync_v2")]


def call(path, prefix, x, stream, offset=0):
    model = Model(path, prefix, stream=stream)
    y_before = np.full(model.outputs["y"], 7, np.float32)
    given, made = DeviceTensor(x, offset), DeviceTensor(y_before)
    before = copies()
    model({"x": given}, {"y": made})
    report = {"target": model.target, "message": model.message, "waits": not (made.read() == 7).all()}
    if stream:
        driver.cuStreamSynchronize(stream)
    report |= {"copies": [after - first for after, first in zip(copies(), before)], "asked for": given.streams + made.streams}
    report |= {"y": made.read().ravel().tolist(), "x is kept": bool((given.read() == x).all())}
    model.close()
    driver.stand_in_free(given.memory)
    driver.stand_in_free(made.memory)
    return report


def main(path, prefix):
    host = Model(path, prefix, target="cpu")
    x = np.random.default_rng(1).standard_normal(host.inputs["x"]).astype(np.float32)
    y = np.empty(host.outputs["y"], np.float32)
    host({"x": x}, {"y": y})
    host.close()
    context, popped, stream = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    alone = call(path, prefix, x, 0, offset=64)
    driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    driver.cuCtxPushCurrent_v2(context)
    driver.cuStreamCreate(ctypes.byref(stream), 0)
    given = call(path, prefix, x, stream.value)
    driver.cuStreamDestroy_v2(stream)
    driver.cuCtxPopCurrent_v2(ctypes.byref(popped))
    driver.cuDevicePrimaryCtxRelease_v2(0)
    mixed = Model(path, prefix)
    made = DeviceTensor(y)
    before = copies()
    mixed({"x": x}, {"y": made})
    one = [after - first for after, first in zip(copies(), before)]
    mixed.close()
    driver.stand_in_free(made.memory)
    print(json.dumps({"cpu": y.ravel().tolist(), "alone": alone, "given": given, "stream": stream.value, "from the host": one}))


if __name__ == "__main__":
    main(*sys.argv[1:])
