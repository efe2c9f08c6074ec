# ===- dlpack_model.py - A compiled model on tensors of any framework --------=== #
# SPDX-License-Identifier: Apache-2.0
"""Calls a library made by `hova compile --emit=lib` with tensors that stay where they are.

Whatever has `__dlpack__` is a tensor here: those of PyTorch, CuPy and JAX on a GPU or in host memory, and NumPy's arrays.
A DLPack capsule holds a DLTensor, whose fields are the first ones of hova_tensor: nothing is converted, and no element
is copied. The declarations of the library's interface are those of ../embed/classify.py. Needs no framework.

The package for Python runs models on such tensors too (docs/python.md), in two lines, but every call of it returns when its
run is done. Here runs are put on a stream of the caller, between the kernels of the framework, and no call waits.
"""

import ctypes
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "embed"))
import classify  # noqa: E402

CPU, CUDA = 1, 2  # DLPack's device types
LEGACY_STREAM = 1  # CUDA's name of the default stream in DLPack

_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype = ctypes.c_void_p
_pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]


def view(tensor, name, stream):
    """The hova_tensor of a tensor's memory, and the capsule that has to live as long. On a GPU, what writes the tensor comes
    before what is put on `stream` (0: the default stream) next: its framework sees to that."""
    on_gpu = tensor.__dlpack_device__()[0] == CUDA
    capsule = tensor.__dlpack__(stream=stream or LEGACY_STREAM) if on_gpu else tensor.__dlpack__()
    made = classify.Tensor()
    ctypes.memmove(ctypes.byref(made), _pointer_of(capsule, b"dltensor"), classify.Tensor.name.offset)
    made.name = name.encode()
    return made, capsule


class Model:
    """A context of a compiled model.

    `stream` is a CUDA stream as a number (`torch.cuda.Stream.cuda_stream`), on which runs are put: a call with tensors of
    the GPU alone then returns when its run is in the queue. With 0 a call returns when its run is done. `target` ("cpu",
    "cuda") is for libraries of both: None takes the GPU where there is one, and `self.target` says which it was.
    """

    def __init__(self, path, prefix, device=0, stream=0, target=None):
        library = ctypes.CDLL(str(path))
        self._function = lambda name: getattr(library, f"{prefix}_{name}")
        if self._function("abi_version")() != classify.Model.ABI:
            raise ValueError(f"{path} was compiled by another version of hova")
        self._function("program").restype = ctypes.POINTER(classify.Program)
        for name in ("message", "target"):
            self._function(name).restype = ctypes.c_char_p
        program = self._function("program")().contents
        self.inputs = self._shapes(program.inputs[: program.num_inputs])
        self.outputs = self._shapes(program.outputs[: program.num_outputs])
        self._stream = stream
        self._context = ctypes.c_void_p()
        message = ctypes.create_string_buffer(1280)
        options = classify.Options(device=device, stream=stream, message_bytes=len(message))
        options.message = ctypes.cast(message, ctypes.c_char_p)
        options.target = target.encode() if target else None
        if self._function("create")(ctypes.byref(options), ctypes.byref(self._context)):
            raise ValueError(message.value.decode())
        self.target = self._function("target")(self._context).decode()
        self.message = message.value.decode()  # which machine was taken, and why

    @staticmethod
    def _shapes(infos):
        return {info.name.decode(): tuple(info.dims[: info.rank]) for info in infos}

    def __call__(self, inputs, outputs):
        """Runs once; both are dictionaries of tensors by name, and those of `outputs` are written."""
        capsules = []

        def collect(names, tensors):
            if names.keys() != tensors.keys():
                raise ValueError(f"expects tensors {', '.join(names)}, got {', '.join(tensors)}")
            views = (classify.Tensor * len(names))()
            for place, name in enumerate(names):
                views[place], capsule = view(tensors[name], name, self._stream)
                capsules.append(capsule)
            return views

        if self._function("run")(self._context, collect(self.inputs, inputs), collect(self.outputs, outputs)):
            raise ValueError(self._function("message")(self._context).decode())

    def close(self):
        self._function("destroy")(self._context)
        self._context = ctypes.c_void_p()
