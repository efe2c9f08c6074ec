#===- case.py - One golden case: a description, weights, inputs, outputs --===#
#
# SPDX-License-Identifier: Apache-2.0
#
# A case is a folder: model.json, weights.safetensors, inputs/NAME.npy and
# outputs/NAME.npy (float64, or bool). The writers are here because the bytes of inputs
# and weights are committed and must not change with a library's version.
#
#===-----------------------------------------------------------------------===#

import io
import json
import pathlib

import numpy as np

from net import Net, wide

DTYPES = {"float32": "f32", "int32": "i32", "int64": "i64", "bool": "bool"}
SAFETENSORS = {"float32": "F32", "int64": "I64"}


class Case:
    """Collects the layers of a description beside the values they compute."""

    def __init__(self, name):
        self.name = name
        self.net = Net(name)
        self.parameters = {}
        self.inputs = {}
        self.ranges = {}
        self.layers = []
        self.outputs = {}

    def input(self, name, array, bound=None):
        """Declares an input and returns what the oracle computes with."""
        self.inputs[name] = array
        if bound is not None:
            self.ranges[name] = [0, bound]
        return wide(array)

    def values(self, name, *shape, scale=1.0):
        return self.input(name, self.net.draw.values(*shape, scale=scale))

    def layer(self, name, op, **keys):
        """Appends a layer of the description; keys with None are left out."""
        entry = {"name": name, "op": op}
        entry.update((k, v) for k, v in keys.items() if v is not None)
        self.layers.append(entry)
        return name

    def output(self, name, layer, value):
        value = np.asarray(value)
        kept = value.dtype == bool
        self.outputs[name] = (layer, value if kept else value.astype(np.float64))

    def description(self):
        inputs = {}
        for name, array in self.inputs.items():
            inputs[name] = {
                "shape": list(array.shape),
                "dtype": DTYPES[array.dtype.name],
            }
            if name in self.ranges:
                inputs[name]["range"] = self.ranges[name]
        parameters = {"parameters": self.parameters} if self.parameters else {}
        return {
            "hova": 1,
            "name": self.name,
            **parameters,
            "inputs": inputs,
            "layers": self.layers,
            "outputs": {name: layer for name, (layer, _) in self.outputs.items()},
        }

    def files(self):
        """The case as {relative path: bytes}."""
        text = json.dumps(self.description(), indent=1) + "\n"
        files = {"model.json": text.encode()}
        if self.net.weights:
            files["weights.safetensors"] = safetensors(self.net.weights)
        for name, array in self.inputs.items():
            files[f"inputs/{name}.npy"] = npy(array)
        for name, (_, value) in self.outputs.items():
            files[f"outputs/{name}.npy"] = npy(value)
        return files

    def write(self, folder):
        for path, data in self.files().items():
            target = pathlib.Path(folder) / self.name / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)


def npy(array):
    """A version 1 npy file: magic, padded header, data in C order."""
    header = "{'descr': '%s', 'fortran_order': False, 'shape': %r, }" % (
        array.dtype.str,
        array.shape,
    )
    header += " " * (-(len(header) + 11) % 64) + "\n"
    out = io.BytesIO()
    out.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little"))
    out.write(header.encode() + np.ascontiguousarray(array).tobytes())
    return out.getvalue()


def safetensors(tensors):
    """A safetensors file: header length, JSON header, data without holes."""
    header, data = {}, b""
    for name, array in sorted(tensors.items()):
        raw = np.ascontiguousarray(array).tobytes()
        header[name] = {
            "dtype": SAFETENSORS[array.dtype.name],
            "shape": list(array.shape),
            "data_offsets": [len(data), len(data) + len(raw)],
        }
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + data
