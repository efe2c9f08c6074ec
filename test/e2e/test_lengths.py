# ===- test_lengths.py - One file of weights for every length and batch --------=== #
# SPDX-License-Identifier: Apache-2.0
"""Ten lengths of BERT read one weights file, and one packed image serves all their programs.

What a program computes with the image of another length is, bit by bit, what it computes
with its own. Weights that have a length themselves are no such weights.
"""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("HOVA_BUILD", SOURCE / "build"))
HOVA = BUILD / "bin/hova"
BERT = SOURCE / "examples/models/bert_base.json"
SMALL = {"depth": 1, "width": 64, "heads": 2, "vocab": 50, "positions": 128}
LENGTHS = [1, 2, 8, 15, 16, 17, 32, 64, 100, 128]


def call(*command):
    command = [str(part) for part in command]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def hova(verb, model, *options, **settings):
    sets = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
    done = call(HOVA, verb, model, *options, *sets)
    assert done.returncode == 0, done.stderr
    return done.stdout


def draw_weights(model, path, **settings):
    """A weights file with the names of the description."""
    draw = np.random.default_rng(3)
    report = json.loads(hova("summary", model, "--format=json", **settings))
    save_file(
        {
            tensor["name"]: draw.uniform(-0.3, 0.3, tensor["shape"]).astype(np.float32)
            for tensor in report["parameters"]["tensors"]
        },
        path,
    )


def outputs(program, folder, *options):
    done = call(program, "--random-inputs=5", "--output-dir", folder, *options)
    assert done.returncode == 0, done.stderr
    return {path.stem: np.load(path) for path in folder.glob("*.npy")}


def pack(folder, image, **settings):
    sets = [f"--set={name}={value}" for name, value in {**SMALL, **settings}.items()]
    done = call(HOVA, "weights", "pack", BERT, "--weights", folder / "w.safetensors", "-q",
                "-o", image, *sets)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A folder with the weights of the small BERT and their image at 17 tokens."""
    folder = tmp_path_factory.mktemp("lengths")
    draw_weights(BERT, folder / "w.safetensors", length=100, **SMALL)
    pack(folder, folder / "image", length=17)
    return folder


@pytest.mark.parametrize("length", LENGTHS)
def test_every_length_takes_one_image(shared, tmp_path, length):
    program = tmp_path / "program"
    hova("compile", BERT, "--weights", shared / "w.safetensors", "-q", "-o", program,
         length=length, batch=1 + length % 3, **SMALL)
    (tmp_path / "alone").mkdir()
    (tmp_path / "shared").mkdir()
    alone = outputs(program, tmp_path / "alone")
    other = outputs(program, tmp_path / "shared", "--weights", shared / "image", "--check-weights")
    assert alone["hidden"].shape == (1 + length % 3, length, 64)
    for name, values in alone.items():
        assert np.array_equal(values, other[name])


def test_images_of_all_lengths_are_the_same_bytes(shared, tmp_path):
    for length in (1, 128):
        pack(shared, tmp_path / "image", length=length)
        assert (tmp_path / "image").read_bytes() == (shared / "image").read_bytes()


def test_a_table_that_has_a_length_itself_is_not_shared(tmp_path):
    """`positions` without `length`: the table has a row for each token."""
    layers = [
        {"name": "e", "op": "embedding", "input": "ids", "vocab": 9, "width": 16},
        {"name": "p", "op": "positions", "input": "e", "kind": "learned"},
    ]
    model = tmp_path / "model.json"
    model.write_text(json.dumps({
        "hova": 1, "name": "m", "parameters": {"length": 8},
        "inputs": {"ids": {"shape": [1, "length"], "dtype": "i32", "range": [0, 9]}},
        "layers": layers, "outputs": {"y": "p"},
    }))
    draw_weights(model, tmp_path / "w.safetensors")
    hova("compile", model, "--weights", tmp_path / "w.safetensors", "--weights-mode=file", "-q",
         "-o", tmp_path / "eight")
    hova("compile", model, "-q", "-o", tmp_path / "nine", length=9)
    done = call(tmp_path / "nine", "--random-inputs=1", "--weights", tmp_path / "eight.weights")
    assert done.returncode == 1
    assert "holds weights in another layout or of another variant of the model" in done.stderr
    done = call(HOVA, "check", model, "--weights", tmp_path / "w.safetensors", "--set", "length=9")
    assert done.returncode == 1 and 'weight "p.weight" is [9, 16]' in done.stderr
