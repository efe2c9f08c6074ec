# ===- test_compositions.py - Blocks for what other libraries have -------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Every block that hova names in place of an unknown operator stands in docs/description.md, is
accepted, and computes what the operator does elsewhere, written here with NumPy."""

import json
import os
import re
import subprocess
from pathlib import Path

import numpy
import pytest
from safetensors.numpy import save_file

SOURCE = Path(__file__).resolve().parents[2]
HOVA = Path(os.environ.get("HOVA_BUILD", "build")) / "bin" / "hova"
PAGE = (SOURCE / "docs/description.md").read_text()
SECTION = PAGE[PAGE.index("### Composed operators") : PAGE.index("## 7. ")]
BLOCKS = {}
for fence in re.findall(r"```json\n(.*?)```", SECTION, re.DOTALL):
    BLOCKS.update(json.loads("{" + fence + "}"))


def conv2d(image, w):
    kernels = w["y.out.weight"].reshape(2, 3, 3, 4)
    padded = numpy.pad(image, ((0, 0), (0, 0), (1, 1), (1, 1)))
    rows = []
    for i in range(0, 7 - 2, 2):
        for j in range(0, 8 - 2, 2):
            seen = padded[:, :, i : i + 3, j : j + 3]
            rows.append(numpy.einsum("bcij,cijo->bo", seen, kernels))
    return numpy.stack(rows, axis=1) + w["y.out.bias"]


# Shapes of the inputs, arguments, and the meaning.
CASES = {
    "conv2d": ({"x": [2, 2, 5, 6]}, {"kernel": 3, "stride": 2, "padding": 1, "width": 4}, conv2d),
    "batch_norm": (
        {"x": [2, 3, 8]},
        {"width": 8},
        lambda x, w: x * w["y.gain.weight"] + w["y.bias.weight"],
    ),
}

# One word for each block, as another library spells it.
WORDS = {
    "conv2d": "Conv2d",
    "batch_norm": "BatchNorm1d",
}


def write(folder, layer, inputs):
    model = {
        "hova": 1,
        "name": "composed",
        "inputs": {name: {"shape": shape} for name, shape in inputs.items()},
        "blocks": BLOCKS,
        "layers": [{"name": "y", **layer}],
        "outputs": {"out": "y"},
    }
    path = folder / "model.json"
    path.write_text(json.dumps(model))
    return path


def run(*command):
    return subprocess.run([HOVA, *command], capture_output=True, text=True, check=False)


def test_every_block_is_named_and_tried():
    assert set(BLOCKS) == set(CASES) == set(WORDS)


@pytest.mark.parametrize("name", WORDS)
def test_unknown_operator_names_the_block(name, tmp_path):
    done = run("check", write(tmp_path, {"op": WORDS[name], "input": "x"}, {"x": [2, 3, 8]}))
    assert done.returncode == 1 and f'block "{name}" of docs/description.md' in done.stderr


@pytest.mark.parametrize("name", CASES)
def test_block_computes_it(name, tmp_path):
    inputs, arguments, meaning = CASES[name]
    names = BLOCKS[name]["inputs"]
    layer = {"block": name, "inputs": dict(zip(names, inputs)), "arguments": arguments}
    model = write(tmp_path, layer, inputs)
    checked = run("check", model)
    assert checked.returncode == 0, checked.stderr
    tensors = json.loads(run("summary", model, "--format=json").stdout)["parameters"]["tensors"]
    random = numpy.random.default_rng(7)
    weights = {}
    for tensor in tensors:
        shape = tuple(tensor["shape"])
        weights[tensor["name"]] = random.standard_normal(shape).astype(numpy.float32)
    # What a block freezes has the numbers that its initialisers say.
    command = ["evaluate", model, "--output-dir", tmp_path]
    if weights:
        save_file(weights, tmp_path / "w.safetensors")
        command += ["--weights", tmp_path / "w.safetensors"]
    values = []
    for input_name, shape in inputs.items():
        values.append(random.standard_normal(shape).astype(numpy.float32))
        numpy.save(tmp_path / f"{input_name}.npy", values[-1])
        command += ["--input", f"{input_name}={tmp_path / input_name}.npy"]
    done = run(*command)
    assert done.returncode == 0, done.stderr
    wanted = meaning(*(value.astype(numpy.float64) for value in values), weights)
    # The evaluator computes in float64 and writes float32.
    numpy.testing.assert_allclose(numpy.load(tmp_path / "out.npy"), wanted, rtol=1e-5, atol=1e-6)
