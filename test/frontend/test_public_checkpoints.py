# ===- test_public_checkpoints.py - Names and shapes of public libraries -------=== #
# SPDX-License-Identifier: Apache-2.0
"""Every source that a description of examples/models knows takes what its library saves.

Inputs/public-checkpoints.json has the names and shapes, so that no framework is needed;
`./dev test --peers` compares that file with the libraries, and the values.
"""

import json
import os
import re
import struct
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]
HOVA = Path(os.environ.get("HOVA_BUILD", SOURCE / "build")) / "bin/hova"
MODELS = SOURCE / "examples/models"
LISTED = json.loads((Path(__file__).parent / "Inputs/public-checkpoints.json").read_text())
CASES = [(model, source) for model in LISTED for source in LISTED[model]]


def tensors(model, source):
    """Names and shapes, one by one: "blocks.{12}.x" stands for blocks.0.x to blocks.11.x."""
    shapes = {}
    for name, shape in LISTED[model][source].items():
        count = re.search(r"\{(\d+)\}", name)
        for i in range(int(count[1])) if count else [0]:
            shapes[re.sub(r"\{\d+\}", str(i), name)] = shape
    return shapes


def save_zeros(shapes, path):
    """A safetensors file whose data is a hole, which takes no room."""
    header, offset = {}, 0
    for name, shape in shapes.items():
        size = 4
        for extent in shape:
            size *= extent
        header[name] = {
            "dtype": "F32",
            "shape": shape,
            "data_offsets": [offset, offset + size],
        }
        offset += size
    text = json.dumps(header).encode()
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + offset)


def check(model, path, *options):
    return subprocess.run(
        [HOVA, "check", MODELS / f"{model}.json", "--weights", path, *options],
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_source_is_listed():
    described = {
        path.stem: set(json.loads(path.read_text()).get("checkpoints", {}))
        for path in MODELS.glob("*.json")
    }
    listed = {model: set(sources) for model, sources in LISTED.items()}
    assert {model: kept for model, kept in described.items() if kept} == listed


@pytest.mark.parametrize("model, source", CASES)
def test_library_is_recognised(model, source, tmp_path):
    """By itself, as this source and as no other one."""
    save_zeros(tensors(model, source), tmp_path / "model.safetensors")
    done = check(model, tmp_path / "model.safetensors")
    assert done.returncode == 0, done.stderr
    for other in LISTED[model]:
        done = check(model, tmp_path / "model.safetensors", f"--checkpoint={other}")
        assert (done.returncode == 0) == (other == source), done.stderr


@pytest.mark.parametrize("model, source", CASES)
def test_missing_tensor_is_named(model, source, tmp_path):
    shapes = tensors(model, source)
    # The last one in the file: a head, a norm or a pooler.
    missing = list(shapes)[-1]
    del shapes[missing]
    save_zeros(shapes, tmp_path / "model.safetensors")
    done = check(model, tmp_path / "model.safetensors")
    assert done.returncode == 1 and missing in done.stderr
