# ===- test_arrays.py - Memory of arrays, without copies --------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Views of NumPy's arrays and of DLPack's capsules, who frees what, and what the C interface says of both."""

import ctypes
import gc
import subprocess

import hova
import numpy as np
import pytest
from conftest import SOURCE
from hova import _arrays, _interface
from hova._arrays import Views, array_of, bytes_of

pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
name_of = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(("PyCapsule_New", ctypes.pythonapi))


class Given:
    """An object with `__dlpack__` that counts what is freed."""

    def __init__(self, array, *, version=(1, 0), flags=0, device=1):
        self.freed = 0
        self.asked = []
        self.version = version
        self.kept = array, (ctypes.c_int64 * array.ndim)(*array.shape)
        tensor = _interface.Tensor(array.ctypes.data, device, 0, array.ndim, 2, 8 * array.itemsize, 1)
        tensor.shape = ctypes.addressof(self.kept[1])
        if not array.flags.c_contiguous:
            steps = (ctypes.c_int64 * array.ndim)(*(step // array.itemsize for step in array.strides))
            self.kept += (steps,)
            tensor.strides = ctypes.addressof(steps)
        self.managed = _arrays._Versioned(*version) if version else _arrays._Unversioned()
        if version:
            self.managed.flags = flags
        ctypes.memmove(self.managed.tensor, ctypes.addressof(tensor), len(self.managed.tensor))
        self.managed.deleter = _arrays._Deleter(self.free)

    def free(self, address):
        assert address == ctypes.addressof(self.managed)
        self.freed += 1

    def __dlpack__(self, **options):
        self.asked.append(options)
        if options and not self.version:
            raise TypeError("unexpected keyword argument")
        self.capsule = new_capsule(ctypes.addressof(self.managed), b"dltensor_versioned" if self.version else b"dltensor", None)
        return self.capsule


def fields(tensor):
    shape = (ctypes.c_int64 * tensor.ndim).from_address(tensor.shape)
    strides = (ctypes.c_int64 * tensor.ndim).from_address(tensor.strides) if tensor.strides else None
    return tensor.data, tensor.device_type, (tensor.code, tensor.bits, tensor.lanes), list(shape), strides and list(strides), tensor.byte_offset


NAMES = {"Tensor": "hova_tensor", "TensorInfo": "hova_tensor_info", "Program": "hova_program", "Options": "hova_options", "Ranges": "hova_ranges"}


def declared(module, abi):
    """What the C compiler has to hold true of the structures of a module that speaks the C interface of version `abi`."""
    spelled = {"device_type": "device.device_type", "device_id": "device.device_id"}
    spelled |= {name: f"dtype.{name}" for name in ("code", "bits", "lanes")}
    lines = ['#include "runtime/hova_runtime.h"', f"_Static_assert(HOVA_ABI_VERSION == {abi}, \"\");"]
    for python, name in NAMES.items():
        structure = getattr(module, python, None)
        for field, *_ in structure._fields_ if structure else ():
            place = getattr(structure, field)
            there = spelled.get(field, field) if python == "Tensor" else field
            lines.append(f'_Static_assert(offsetof({name}, {there}) == {place.offset}, "");')
            lines.append(f'_Static_assert(sizeof((({name} *)0)->{there}) == {place.size}, "");')
        if structure and python != "Program":
            lines.append(f'_Static_assert(sizeof({name}) == {ctypes.sizeof(structure)}, "");')
    return lines


def compare(lines, tmp_path):
    source = tmp_path / "compare.c"
    source.write_text("\n".join(lines) + "\n")
    done = subprocess.run(["clang-22", "-fsyntax-only", "-I", SOURCE, source], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_declarations_are_those_of_the_header(tmp_path):
    """Sizes and places of fields, and numbers, as the C compiler has them."""
    lines = declared(_interface, _interface.ABI_VERSION)
    for i, name in enumerate(("F32", "F64", "BF16", "F16", "I32", "I64", "BOOL")):
        lines.append(f'_Static_assert(HOVA_{name} == {i}, "");')
    statuses = {"OUT_OF_MEMORY": 71, "IO_ERROR": 74, "FAULT": 3}
    for name, exit_status in statuses.items():
        (number,) = (key for key, value in _interface.EXIT_STATUS.items() if value == exit_status)
        lines.append(f'_Static_assert(HOVA_{name} == {number}, "");')
    lines.append(f'_Static_assert(HOVA_OK == {_interface.OK} && HOVA_BUSY == {_interface.BUSY}, "");')
    compare(lines, tmp_path)


def test_the_declarations_of_the_example_are_those_of_the_header(tmp_path, monkeypatch):
    """The same of the class that examples/embed shows for copying."""
    monkeypatch.syspath_prepend(SOURCE / "examples/embed")
    import classify  # noqa: PLC0415 (not a module of the package)

    compare(declared(classify, classify.Model.ABI), tmp_path)


@pytest.mark.parametrize("dtype, code", [("f4", (2, 32, 1)), ("f8", (2, 64, 1)), ("f2", (2, 16, 1)), ("i4", (0, 32, 1)), ("i8", (0, 64, 1)), ("?", (6, 8, 1)), ("u2", (1, 16, 1)), (">f4", (3, 32, 1)), ("O", (3, 64, 1))])
def test_a_view_of_an_array_is_its_memory(dtype, code):
    array = np.zeros((2, 3), dtype)
    views = Views("input", ["x"], [array])
    assert fields(views.tensors[0]) == (array.ctypes.data, 1, code, [2, 3], None, 0)
    views.release()


def test_a_view_has_the_strides_of_its_array():
    array = np.zeros((4, 6), np.float32)[::2, ::3]
    views = Views("input", ["x"], [array])
    assert fields(views.tensors[0])[3:5] == ([2, 2], [12, 3])
    between = np.zeros(40, np.uint8)[:36].view(np.dtype({"names": ["a"], "formats": ["f4"], "itemsize": 6}))["a"]
    with pytest.raises(hova.Error, match="input 'x' expects elements at multiples of their size"):
        Views("input", ["x"], [between])


def test_arrays_live_as_long_as_their_views():
    array = np.zeros(3, np.float32)
    released = []

    class Watched(np.ndarray):
        def __del__(self):
            released.append(1)

    watched = array.view(Watched)
    views = Views("input", ["x"], [watched])
    del watched
    gc.collect()
    assert not released
    views.release()
    gc.collect()
    assert released


@pytest.mark.parametrize("version", [(1, 0), (1, 7), None])
def test_a_capsule_is_taken_over_and_freed_once(version):
    given = Given(np.ones((2, 3), np.float32), version=version)
    views = Views("input", ["x"], [given])
    assert fields(views.tensors[0]) == (given.kept[0].ctypes.data, 1, (2, 32, 1), [2, 3], None, 0)
    assert name_of(given.capsule) == (b"used_dltensor_versioned" if version else b"used_dltensor")
    assert given.asked == [{"max_version": (1, 0), "copy": False}] + ([] if version else [{}])
    assert given.freed == 0
    views.release()
    views.release()
    del views
    gc.collect()
    assert given.freed == 1


def test_what_is_refused_is_freed():
    later = Given(np.ones(3, np.float32), version=(2, 0))
    first = Given(np.ones(3, np.float32))
    with pytest.raises(hova.Error, match="input 'b' is not given by its library: it is of version 2 of DLPack, and 1 is understood") as caught:
        Views("input", ["a", "b"], [first, later])
    # Also where the error is kept, and with it all that its frames hold.
    assert first.freed == 1
    del caught
    gc.collect()
    assert (first.freed, later.freed) == (1, 1)


@pytest.mark.parametrize(("flags", "why"), [(1, "output 'y' is read-only"), (2, "output 'y' is a copy that its library made")])
def test_an_output_is_memory_of_its_own(flags, why):
    given = Given(np.ones(3, np.float32), flags=flags)
    with pytest.raises(hova.Error, match=why):
        Views("output", ["y"], [given])
    assert given.freed == 1
    Views("input", ["y"], [given]).release()
    assert given.freed == 2


def test_an_array_that_is_read_only_is_no_output():
    array = np.broadcast_to(np.float32(0), (2, 3))
    Views("input", ["y"], [array]).release()
    with pytest.raises(hova.Error, match="output 'y' is read-only"):
        Views("output", ["y"], [array])


def test_an_unused_capsule_is_expected():
    class Other:
        def __dlpack__(self, **options):
            return made

    for made in (3, new_capsule(ctypes.addressof(ctypes.c_int()), b"used_dltensor", None)):
        with pytest.raises(hova.Error, match="input 'x' is not given by its library: __dlpack__ returns no capsule that is unused"):
            Views("input", ["x"], [Other()])


@pytest.mark.parametrize("values", [np.arange(6.0), np.arange(12, dtype=">f4").reshape(3, 4), np.arange(12, dtype="i8").reshape(3, 4).T, np.zeros((0, 2), "f2"), np.float32(3)[None][0:1].reshape(())])
def test_bytes_are_those_of_the_elements(values):
    code, bits, shape, data = bytes_of(values)
    assert (code, bits, shape) == (0 if values.dtype.kind == "i" else 2, 8 * values.itemsize, values.shape)
    assert bytes(data) == np.ascontiguousarray(values).astype(values.dtype.newbyteorder("=")).tobytes()


def test_bytes_of_a_capsule_live_as_long_as_it():
    rows = np.arange(12, dtype=np.float32).reshape(3, 4)
    for array in (rows, rows.T):
        given = Given(array)
        data = bytes_of(given)[3]
        # One without gaps is no copy.
        assert given.freed == (0 if array is rows else 1) and bytes(data) == array.tobytes()
        del data
        gc.collect()
        assert given.freed == 1
    array = array_of(given := Given(rows.T))[1]
    assert array.dtype == rows.dtype and np.array_equal(array, rows.T) and np.shares_memory(array, rows) and given.freed == 0
    del array
    gc.collect()
    assert given.freed == 1
    nothing = Given(np.empty((0, 3), np.float32))
    ctypes.memset(nothing.managed.tensor, 0, 8)  # no address
    assert array_of(nothing)[1].shape == (0, 3) and bytes_of(nothing)[2:] == ((0, 3), b"")
    with pytest.raises(TypeError, match="expects an array in CPU memory, got one of device 2"):
        bytes_of(Given(rows, device=2))
    with pytest.raises(TypeError, match="expects an array, got int"):
        bytes_of(3)
