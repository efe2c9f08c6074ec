# ===- test_images.py - Unfolded images, and what is reshaped -----------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Unfolding loses no pixel, and neither it nor a reshape passes through memory.

Every pixel of an index image is found where the row, the place and the column say, and
folding the rows back gives the image. The arena holds no unfolded matrix, and what is
reshaped once.
"""

import json
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("HOVA_BUILD", SOURCE / "build"))
HOVA = BUILD / "bin/hova"


def run(*command):
    command = [str(part) for part in command]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def write(folder, inputs, layers, output):
    description = {"hova": 1, "name": "images", "inputs": inputs, "layers": layers}
    path = folder / "model.json"
    path.write_text(json.dumps({**description, "outputs": {"y": output}}))
    return path


def result(folder, layers, **inputs):
    """What a compiled program gives for the last layer."""
    shapes = {name: {"shape": list(array.shape)} for name, array in inputs.items()}
    path = write(folder, shapes, layers, layers[-1]["name"])
    run(HOVA, "compile", path, "--quiet", "-o", folder / "program")
    options = []
    for name, array in inputs.items():
        np.save(folder / f"{name}.npy", array)
        options += ["--input", f"{name}={folder / f'{name}.npy'}"]
    run(folder / "program", *options, "--output-dir", folder)
    return np.load(folder / "y.npy")


def fold(rows, image, kernel, stride, padding):
    """What every pixel of the rows is: the image, where a kernel saw it, else -1."""
    batch, channels, height, width = image
    found = np.full((batch, channels, height + 2 * padding, width + 2 * padding), -1.0)
    across = (width + 2 * padding - kernel) // stride + 1
    for place, row in enumerate(np.moveaxis(rows, 1, 0)):
        top, left = place // across * stride, place % across * stride
        pixels = row.reshape(batch, channels, kernel, kernel)
        seen = found[:, :, top : top + kernel, left : left + kernel]
        assert np.all((seen == -1) | (seen == pixels))  # where kernels overlap
        seen[:] = pixels
    return found


@pytest.mark.parametrize(
    ("image", "kernel", "stride", "padding"),
    [
        ((2, 3, 5, 7), 1, 1, 0),
        ((1, 2, 8, 12), 4, 4, 0),
        ((2, 1, 9, 6), 3, 1, 1),
        ((1, 3, 17, 16), 7, 4, 2),
        ((1, 1, 1, 1), 5, 2, 3),
    ],
)
def test_rows_fold_back_to_the_image(tmp_path, image, kernel, stride, padding):
    pixels = 1 + np.arange(np.prod(image), dtype=np.float32).reshape(image)
    keys = {"kernel": kernel, "stride": stride, "padding": padding}
    layers = [{"name": "rows", "op": "unfold", "input": "image", **keys}]
    rows = result(tmp_path, layers, image=pixels)
    rim = ((0, 0), (0, 0), (padding, padding), (padding, padding))
    found, wanted = fold(rows, image, kernel, stride, padding), np.pad(pixels, rim)
    assert np.all((found == wanted) | (found == -1))
    # A stride below the kernel sees all but what is left at the far ends.
    seen = found[:, :, : found.shape[2] // stride * stride, : found.shape[3] // stride * stride]
    assert kernel < stride or (image[2] + 2 * padding - kernel) % stride or np.all(seen != -1)


def test_tokens_are_pixels(tmp_path):
    """A grid of tokens unfolds as the image that it is, and the middle column is it."""
    image = np.arange(2 * 3 * 4 * 6, dtype=np.float32).reshape(2, 3, 4, 6)
    tokens = image.reshape(2, 3, 24).transpose(0, 2, 1)
    keys = {"kernel": 3, "padding": 1}
    layers = [{"name": "rows", "op": "unfold", "input": "x", "grid_height": 4, **keys}]
    rows = result(tmp_path, layers, x=np.ascontiguousarray(tokens))
    layers = [{"name": "rows", "op": "unfold", "input": "image", **keys}]
    assert np.array_equal(rows, result(tmp_path, layers, image=image))
    assert np.array_equal(rows.reshape(2, 24, 3, 9)[..., 4], tokens)


def test_windows_are_squares(tmp_path):
    """Cutting tokens into windows is cutting the image into squares first."""
    image = np.arange(2 * 3 * 8 * 12, dtype=np.float32).reshape(2, 3, 8, 12)
    unfold = {"op": "unfold", "input": "image", "kernel": 2, "stride": 2}
    before = result(tmp_path, [{"name": "y", **unfold, "within": 4}], image=image)
    layers = [{"name": "all", **unfold}, {"name": "y", "op": "windows", "input": "all", "window": 2}]
    assert np.array_equal(before, result(tmp_path, layers, image=image))


def dump(path, phase):
    return run(HOVA, "compile", path, "-q", "--emit=mlir", f"--stop-after={phase}", "-o", "-")


def kept(text):
    """The types of the values that the arena holds between kernels."""
    values = re.search(r"hova.values = \[(.*?)\]", text, re.DOTALL)[1]
    return re.findall(r"type = (tensor<[^>]*>)", values)


def test_an_unfolded_image_never_reaches_memory(tmp_path):
    layers = [
        {"name": "rows", "op": "unfold", "input": "image", "kernel": 7, "stride": 4, "padding": 2},
        {"name": "norm", "op": "layer_norm", "input": "rows"},
        {"name": "tokens", "op": "linear", "input": "norm", "width": 8},
        {"name": "again", "op": "unfold", "input": "tokens", "kernel": 3, "stride": 2, "padding": 1},
        {"name": "y", "op": "linear", "input": "again", "width": 5},
    ]
    path = write(tmp_path, {"image": {"shape": [1, 3, 64, 64]}}, layers, "y")
    assert kept(dump(path, "tile")) == ["tensor<1x256x8xf32>"]


def test_what_is_reshaped_is_kept_once(tmp_path):
    layers = [
        {"name": "words", "op": "linear", "input": "x", "width": 6},
        {"name": "row", "op": "reshape", "input": "words", "shape": [2, 3, 30]},
        {"name": "y", "op": "linear", "input": "row", "width": 7},
    ]
    path = write(tmp_path, {"x": {"shape": [6, 5, 4]}}, layers, "y")
    text = dump(path, "tile")
    assert kept(text) == ["tensor<6x5x6xf32>"]
    assert "memref<30x6xf32>" in text
    assert "memref<6x30xf32>" in text


def test_padding_never_reaches_memory(tmp_path):
    """The sum waits for an attention; the rows that are padded wait with it."""
    layers = [
        {"name": "words", "op": "linear", "input": "x", "width": 8},
        {"name": "rim", "op": "pad", "input": "words", "axis": 1, "before": 1},
        {"name": "attn", "op": "multi_head_attention", "input": "z", "heads": 2},
        {"name": "sum", "op": "add", "inputs": ["attn", "rim"]},
        {"name": "y", "op": "layer_norm", "input": "sum"},
    ]
    inputs = {"x": {"shape": [1, 90, 4]}, "z": {"shape": [1, 91, 8]}}
    kinds = kept(dump(write(tmp_path, inputs, layers, "y"), "tile"))
    # The words, queries with keys and values, and the heads.
    assert sorted(kinds) == ["tensor<1x90x8xf32>", "tensor<1x91x24xf32>", "tensor<1x91x8xf32>"]


# What reads, or is read by, a value of 6 x 10 numbers that is reshaped.
READERS = {
    "an_input": ({"op": "reshape", "input": "x", "shape": [4, 15]}, []),
    "an_output": (
        {"op": "activation", "kind": "tanh", "input": "x"},
        [{"op": "reshape", "input": "a", "shape": [12, 5]}],
    ),
    "columns": (
        {"op": "slice", "input": "x", "start": 3, "end": 8},
        [{"op": "reshape", "input": "a", "shape": [30]}, {"op": "scale", "input": "b", "by": 2}],
    ),
    "parts": (
        {"op": "activation", "kind": "tanh", "input": "x"},
        [
            {"op": "concat", "axis": 0, "inputs": ["a", "a"]},
            {"op": "reshape", "input": "b", "shape": [5, 24]},
            {"op": "layer_norm", "input": "c"},
        ],
    ),
    "twice": (
        {"op": "activation", "kind": "tanh", "input": "x"},
        [
            {"op": "reshape", "input": "a", "shape": [10, 6]},
            {"op": "layer_norm", "input": "b"},
            {"op": "reshape", "input": "c", "shape": [6, 10]},
            {"op": "add", "inputs": ["d", "a"]},
        ],
    ),
}


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
@pytest.mark.parametrize("case", READERS)
def test_what_reads_a_reshaped_value(tmp_path, case, dtype):
    first, others = READERS[case]
    layers = [{"name": "abcdefg"[i], **keys} for i, keys in enumerate([first, *others])]
    path = write(tmp_path, {"x": {"shape": [6, 10]}}, layers, layers[-1]["name"])
    run(HOVA, "verify", path, "--guard", f"--dtype={dtype}")
