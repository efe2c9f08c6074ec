# ===- workload.py - One model, its weights and its inputs ------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""What every contestant of a comparison gets: the same weights and the same inputs."""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from drawing import draw_blocks, soften_exponents
from programs import call

DTYPES = {"f32": np.float32, "i32": np.int32, "i64": np.int64, "bool": np.bool_}

# Layers whose `weight` is rows to look up, not a matrix.
TABLE_KINDS = ("embedding", "positions", "class_token")

INPUT_LINE = re.compile(r"input\s+(\w+) (\w+)\[([\d, ]*)\](?: from (-?\d+) to (-?\d+))?")


@dataclass
class Case:
    """A description with its settings ("batch=8"), the folder it is measured in and the
    type of what enters its matrix products."""

    description: Path
    settings: list
    folder: Path
    dtype: str
    summary: dict = field(init=False)

    def __post_init__(self):
        self.folder.mkdir(parents=True, exist_ok=True)

    @property
    def label(self):
        return " ".join([self.description.stem, *self.settings])

    @property
    def arguments(self):
        """The description and its settings on a command line of hova.

        Of two values for one parameter, a suite's and the user's, the last holds.
        """
        values = dict(setting.split("=", 1) for setting in self.settings)
        sets = [part for value in values.items() for part in ("--set", "=".join(value))]
        return [self.description, *sets]

    @property
    def weights(self):
        return self.folder / "weights.safetensors"

    def input_file(self, name):
        return self.folder / f"in-{name}.npy"

    def parameters(self):
        """Numbers, booleans and names to choose from; expressions are left out."""
        document = json.loads(self.description.read_text())
        values, choices = {}, set()
        for name, value in document.get("parameters", {}).items():
            values[name] = value["default"] if isinstance(value, dict) else value
            if isinstance(value, dict) and "values" in value:
                choices.add(name)
        for setting in self.settings:
            name, _, value = setting.partition("=")
            values[name] = json.loads(value) if is_json(value) else value
        return {k: v for k, v in values.items() if k in choices or not isinstance(v, str)}

    def write_weights(self, hova):
        """Draws a value for every weight that `hova summary` names."""
        text = call([hova, "summary", *self.arguments, "--format=json"])
        self.summary = json.loads(text)
        tables = {
            f"{layer['path']}.weight"
            for layer in self.summary["layers"]
            if layer["kind"] in TABLE_KINDS
        }
        generator = np.random.default_rng(0)
        tensors = {
            tensor["name"]: draw(generator, tensor, tensor["name"] in tables)
            for tensor in self.summary["parameters"]["tensors"]
        }
        soften_exponents(tensors)
        save_file(tensors, self.weights)

    def write_inputs(self, program):
        """Draws every input of the compiled program."""
        described = INPUT_LINE.findall(call([program, "--describe"]))
        assert len(described) == len(self.summary["inputs"])
        self.draw_inputs(
            (name, dtype, [int(dim) for dim in dims.split(",") if dim.strip()], low, high)
            for name, dtype, dims, low, high in described
        )

    def draw_inputs(self, described):
        """Draws inputs of which name, type, shape, least and largest value are given;
        booleans are true.

        Zero is left out of the ranges of ids: it is the usual padding, and all of a
        sequence is to be work.
        """
        generator = np.random.default_rng(1)
        for name, dtype, shape, low, high in described:
            if dtype == "bool":
                array = np.ones(shape, np.bool_)
            elif dtype == "f32":
                array = generator.standard_normal(shape, np.float32)
            else:
                first, end = int(low or 0), int(high or 1) + 1
                first += first == 0 and end > 2
                array = generator.integers(first, end, shape, DTYPES[dtype])
            np.save(self.input_file(name), array)


def is_json(text):
    return bool(re.fullmatch(r"true|false|-?\d+(\.\d+)?([eE][+-]?\d+)?", text))


def draw(generator, tensor, table):
    """Values that keep activations of order one, and no gain or bias without effect."""
    shape = tensor["shape"]
    if tensor["name"].endswith(".random_table"):
        return draw_blocks(generator, shape)
    noise = generator.standard_normal(shape, np.float32)
    if table:
        return noise * np.float32(0.2)
    if len(shape) > 1:
        return noise * np.float32((shape[-2]) ** -0.5)
    return noise * np.float32(0.1) + np.float32(tensor["name"].endswith("gain"))
