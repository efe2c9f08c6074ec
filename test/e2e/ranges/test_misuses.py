# ===- test_misuses.py - Calls with wrong sizes, lengths and tensors ----------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Two thousand wrong calls of `hova_run` and `hova_run_packed`: each is refused with a message and writes nothing, and a good call
after them gives what it gave before them."""

import ctypes
import sys

import numpy as np
import pytest
from test_ranges import ITEMS, LENGTH, MASK, MODELS, ROOT, VOCAB, compiled
from test_two_ranges import translator

sys.path.insert(0, str(ROOT / "tools/python"))
from hova._interface import FUNCTIONS, OK, Options, Tensor  # noqa: E402

REJECTED, MISUSES = 1, 1000  # misuses of each model
CODES = {"float32": (2, 32), "int32": (0, 32), "bool": (6, 8)}
SENTINEL = 7.0


class Library:
    def __init__(self, path, prefix):
        self.file = ctypes.CDLL(str(path))
        for name, (arguments, result) in FUNCTIONS.items():
            function = getattr(self.file, f"{prefix}_{name}")
            function.argtypes, function.restype = arguments, result
            setattr(self, name, function)
        self.context = ctypes.c_void_p()
        assert self.create(ctypes.byref(Options(threads=2)), ctypes.byref(self.context)) == OK
        program = self.program().contents
        told = [*(program.inputs[i] for i in range(program.num_inputs)), *(program.outputs[i] for i in range(program.num_outputs))]
        self.inputs = program.num_inputs
        # Type, largest shape, extent.
        self.tensors = [(("float32", "", "", "", "int32", "", "bool")[one.dtype], [one.dims[i] for i in range(one.rank)], one.extent) for one in told]


class Call:
    """A good call of one of the two functions; what is wrong with it is done to it then."""

    def __init__(self, random, library, lengths, is_packed):
        self.random, self.library = random, library
        self.items, self.lengths = len(lengths), np.array(lengths, np.int32).T.reshape(-1)
        self.is_packed, self.arrays = is_packed, []
        for number, (dtype, dims, extent) in enumerate(library.tensors):
            counts = [one[1 if extent == 3 else 0] for one in lengths]
            of_run = {1: [self.items], 2: [self.items, counts[0]], 3: [self.items, counts[0]]}[extent]
            shape = ([sum(counts)] if is_packed and extent > 1 else of_run) + dims[1 if extent == 1 else 2 :]
            self.arrays.append(self.draw(number, dtype, shape))
        self.shapes = [(ctypes.c_int64 * 8)(*one.shape) for one in self.arrays]
        self.strides = [None] * len(self.arrays)
        self.given = (Tensor * len(self.arrays))()
        for number, (dtype, _, _) in enumerate(library.tensors):
            one, (code, bits) = self.given[number], CODES[dtype]
            one.data, one.shape = self.arrays[number].ctypes.data, ctypes.addressof(self.shapes[number])
            one.device_type, one.ndim, one.code, one.bits, one.lanes = 1, self.arrays[number].ndim, code, bits, 1

    def draw(self, number, dtype, shape):
        if number >= self.library.inputs:
            return np.full(shape, SENTINEL, dtype)
        if dtype == "float32":
            return self.random.standard_normal(shape, np.float32)
        drawn = self.random.integers(0, VOCAB if dtype == "int32" else 2, shape).astype(dtype)
        drawn[..., 0] = True if dtype == "bool" else drawn[..., 0]
        return drawn

    def run(self):
        at = ctypes.addressof(self.given)
        outputs = at + self.library.inputs * ctypes.sizeof(Tensor)
        if not self.is_packed:
            return self.library.run(self.library.context, at, outputs)
        return self.library.run_packed(self.library.context, self.lengths.ctypes.data, self.items, at, outputs)

    def outputs(self):
        return self.arrays[self.library.inputs :]

    # What a caller may get wrong, of a tensor or of the lengths. Each returns a word for it, or nothing where the call stays good.

    def wrong_axis(self, number):
        one, axis = self.shapes[number], int(self.random.integers(self.arrays[number].ndim))
        before = one[axis]
        one[axis] = int(self.random.choice([0, -1, before - 1, before + 1, 2 * before, -(1 << 63), (1 << 63) - 1, 1 << 32, (1 << 32) + before]))
        # Whichever axis it is, the program or other tensors say how long it is.
        return f"axis {axis} is {one[axis]}" if one[axis] != before else ""

    def wrong_rank(self, number):
        self.given[number].ndim = int(self.random.choice([n for n in (-1, 0, 1, 2, 3, 4, 1 << 30) if n != self.given[number].ndim]))
        return f"{self.given[number].ndim} axes"

    def wrong_type(self, number):
        one = self.given[number]
        field = str(self.random.choice(["code", "bits", "lanes"]))
        before = getattr(one, field)
        setattr(one, field, int(self.random.choice([n for n in (0, 1, 2, 4, 16, 64, 255) if n != before])))
        return f"{field} is {getattr(one, field)}"

    def no_data(self, number):
        self.given[number].data = None
        return "no data"

    def no_shape(self, number):
        self.given[number].shape = None
        return "no shape"

    def wrong_device(self, number):
        self.given[number].device_type = int(self.random.choice([0, 2, 3, -1, 1 << 20]))
        return "a device"

    def wrong_name(self, number):
        self.given[number].name = b"nobody"
        return "a name"

    def wrong_strides(self, number):
        array = self.arrays[number]
        steps = [stride // array.itemsize for stride in array.strides]
        axis = int(self.random.integers(array.ndim))
        steps[axis] += 1
        self.strides[number] = (ctypes.c_int64 * 8)(*steps)
        self.given[number].strides = ctypes.addressof(self.strides[number])
        return "strides" if array.shape[axis] > 1 else ""

    def no_alignment(self, number):
        self.given[number].byte_offset = 1
        return "an offset" if self.arrays[number].itemsize > 1 else ""

    def overlaps(self, number):
        other = int(self.random.integers(self.library.inputs, len(self.arrays)))
        self.given[other].data = self.given[number].data
        return "one memory" if other != number else ""

    def wrong_value(self, number):
        array = self.arrays[number]
        if number >= self.library.inputs or array.dtype != np.int32:
            return ""
        array.flat[self.random.integers(array.size)] = self.random.choice([-1, VOCAB, 1 << 30, -(1 << 31)])
        return "an integer"

    def wrong_length(self, _):
        if not self.is_packed:
            return ""
        at = int(self.random.integers(len(self.lengths)))
        before = self.lengths[at]
        self.lengths[at] = self.random.choice([0, -1, before + 1, before - 1, LENGTH + 1, (1 << 31) - 1, -(1 << 31)])
        return f"length {at} is {self.lengths[at]}"

    def wrong_items(self, _):
        if not self.is_packed:
            return ""
        self.items = int(self.random.choice([0, -1, ITEMS + 1, 1 << 32, (1 << 63) - 1, -(1 << 63)]))
        return f"{self.items} items"

    def other_function(self, _):
        self.is_packed = not self.is_packed
        return "the other function"


WRONG = [value for name, value in vars(Call).items() if name.startswith(("wrong_", "no_", "overlaps", "other_"))]


def lengths_of(random, most):
    return [tuple(int(random.integers(1, one + 1)) for one in most) for _ in range(random.integers(1, ITEMS))]


@pytest.mark.parametrize("model, most", [("one length", (LENGTH,)), ("two lengths", (40, 27))])
def test_wrong_calls_are_refused_before_they_write(model, most, tmp_path):
    described = MODELS["key_valid, first token"] if len(most) == 1 else translator(*most)
    assert set(MASK) < set(MODELS["key_valid, first token"]["inputs"])
    library = Library(compiled(tmp_path, described, "any", "--init=1"), described["name"])
    random = np.random.default_rng(9)
    good = [lengths_of(random, most), [most] * 2]
    calls = [Call(np.random.default_rng(1), library, lengths, is_packed) for lengths, is_packed in ((good[0], True), (good[1], False))]
    expected = []
    for call in calls:
        assert call.run() == OK, library.message(library.context)
        expected.append([one.copy() for one in call.outputs()])
        assert not any((one == SENTINEL).any() for one in call.outputs())
    refused = {}
    while sum(refused.values()) < MISUSES:
        is_packed = bool(random.random() < 0.5)
        call = Call(random, library, lengths_of(random, most) if is_packed else lengths_of(random, most)[:1] * int(random.integers(1, ITEMS)), is_packed)
        chosen = [WRONG[n] for n in random.choice(len(WRONG), int(random.integers(1, 3)), replace=False)]
        what = [what for what in (wrong(call, int(random.integers(len(call.arrays)))) for wrong in chosen) if what]
        if not what:
            continue
        assert call.run() == REJECTED, (what, is_packed)
        assert library.message(library.context), what
        assert all((one == SENTINEL).all() for one in call.outputs()), (what, is_packed)
        refused.update({wrong.__name__: refused.get(wrong.__name__, 0) + 1 for wrong in chosen[:1]})
    assert len(refused) == len(WRONG), refused
    for call, outputs in zip(calls, expected):
        assert call.run() == OK
        assert all(one.tobytes() == before.tobytes() for one, before in zip(call.outputs(), outputs))
    library.destroy(library.context)
