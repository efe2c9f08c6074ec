# ===- test_weight_layouts.py - Layouts of packed weights, against NumPy -----=== #
# SPDX-License-Identifier: Apache-2.0
"""What each layout makes of a matrix, in the image and back, by NumPy's own moves."""

import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

PACK = Path(os.environ["HOVA_BUILD"]) / "bin/hova-pack-image"
HEADER = 4096

SHAPES = [(1, 1), (9, 40), (16, 8), (33, 70), (64, 129)]
BYTES = {"f32": 4, "bf16": 2, "f16": 2}


def matrix(shape):
    """Integers, which all types hold."""
    return (np.arange(shape[0] * shape[1], dtype=np.float32).reshape(shape) * 37) % 256 + 1


def stored(values, dtype):
    """The bits of numbers that `dtype` holds."""
    if dtype == "bf16":
        return (np.ascontiguousarray(values, np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return np.ascontiguousarray(values, {"f32": np.float32, "f16": np.float16}[dtype]).view(f"u{BYTES[dtype]}")


def padded(values, axis, multiple):
    widths = [(0, 0)] * values.ndim
    widths[axis] = (0, -values.shape[axis] % multiple)
    return np.pad(values, widths)


def panels(w, columns):
    w = padded(w, 1, columns)
    return w.reshape(w.shape[0], -1, columns).transpose(1, 0, 2)


def pairs(w, columns):
    w = panels(padded(w, 0, 2), columns)
    return w.reshape(w.shape[0], -1, 2, columns).transpose(0, 1, 3, 2)


def transposed(w, elements):
    return padded(w.T, 1, elements)


def pack(folder, weights, dtype):
    """The image of {name: (matrix, layout)}, and of each name its place and its buffer."""
    uses, stores, results = [], [], []
    for name, (values, layout) in weights.items():
        plain, stored = (f"tensor<{values.shape[0]}x{values.shape[1]}x{t}>" for t in ("f32", dtype))
        with_layout = f"{{layout = {layout}}} " if layout else ""
        uses.append(f'%{name} = hova.image_weight "{name}" {with_layout}: {stored}')
        results.append((f"%{name}", stored))
        stores.append(f'%{name} = hova.weight "{name}" : {plain}')
        if dtype != "f32":
            stores.append(f"%{name}_stored = hova.convert %{name} : {plain} -> {stored}")
        stores.append(f'hova.store_weight "{name}", %{name}{"" if dtype == "f32" else "_stored"} : {stored}')
        values.tofile(folder / name)
    types = ", ".join(stored for _, stored in results)
    text = "\n".join(
        [f"func.func @main() -> ({types}) {{", *uses]
        + [f"return {', '.join(value for value, _ in results)} : {types}", "}"]
        + ["func.func private @weights() {", *stores, "return", "}"]
    )
    (folder / "module.mlir").write_text(text)
    command = [PACK, folder / "module.mlir", folder, folder / "image"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    places = {}
    for line in done.stdout.splitlines():
        name, offset, buffer = line.split(" ", 2)
        places[name] = (int(offset), buffer)
    return (folder / "image").read_bytes(), places


def from_buffer(image, offset, buffer, element):
    """The elements of a buffer, by its shape and strides alone."""
    shape = [int(size) for size in re.findall(r"(\d+)x", buffer)]
    strides = re.search(r"strided<\[([\d, ]+)\]>", buffer)
    steps = [int(s) for s in strides[1].split(",")] if strides else list(np.cumprod([1, *shape[:0:-1]])[::-1])
    data = np.frombuffer(image, element, offset=HEADER + offset)
    return np.lib.stride_tricks.as_strided(data, shape, [s * data.itemsize for s in steps])


def check(image, place, expected):
    bits = expected.tobytes()
    begin = HEADER + place[0]
    assert place[0] % 64 == 0
    assert image[begin : begin + len(bits)] == bits


@pytest.mark.parametrize("dtype", list(BYTES))
@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: f"{s[0]}x{s[1]}")
def test_columns_become_rows_of_whole_copies(shape, dtype, tmp_path):
    """Rows of [out][in] begin at multiples of 16 bytes, with zeros after each."""
    w = matrix(shape)
    layout = "#hova.transposed<align 16>"
    image, places = pack(tmp_path, {"a": (w, layout), "b": (w + 1, layout)}, dtype)
    for name, values in (("a", w), ("b", w + 1)):
        offset, buffer = places[name]
        check(image, places[name], stored(transposed(values, 16 // BYTES[dtype]), dtype))
        read = from_buffer(image, offset, buffer, f"u{BYTES[dtype]}")
        assert read.shape == shape[::-1] and read.strides[0] % 16 == 0
        assert np.array_equal(read.T, stored(values, dtype))


@pytest.mark.parametrize("dtype", list(BYTES))
@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: f"{s[0]}x{s[1]}")
def test_panels_hold_columns(shape, dtype, tmp_path):
    w = matrix(shape)
    image, places = pack(tmp_path, {"rows": (w, ""), "a": (w, "#hova.column_strips<16>")}, dtype)
    check(image, places["rows"], stored(w, dtype))
    check(image, places["a"], stored(panels(w, 16), dtype))
    read = from_buffer(image, *places["a"], f"u{BYTES[dtype]}")
    back = read.transpose(1, 0, 2).reshape(shape[0], -1)[:, : shape[1]]
    assert np.array_equal(back, stored(w, dtype))


@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: f"{s[0]}x{s[1]}")
def test_pairs_of_rows_are_one_element(shape, tmp_path):
    w = matrix(shape)
    image, places = pack(tmp_path, {"a": (w, "#hova.column_strips<16, interleave 2>")}, "bf16")
    check(image, places["a"], stored(pairs(w, 16), "bf16"))
    assert places["a"][1].endswith("x16xi32>")
    read = from_buffer(image, *places["a"], "u4")
    both = np.stack([read & 0xFFFF, read >> 16], axis=2)
    back = both.transpose(1, 2, 0, 3).reshape(2 * read.shape[1], -1)[: shape[0], : shape[1]]
    assert np.array_equal(back, stored(w, "bf16"))


def test_images_name_the_layout_that_they_hold(tmp_path):
    """A program that reads rows of another length does not take the image."""
    w = matrix((8, 8))
    ids = set()
    for align in (16, 32, 64):
        image, _ = pack(tmp_path, {"a": (w, f"#hova.transposed<align {align}>")}, "bf16")
        ids.add(image[24:152])
    assert len(ids) == 3


def test_images_of_panels_are_known_by_their_shapes(tmp_path):
    """Images that are kept fit programs that are compiled again: the identity has not changed."""
    image, _ = pack(tmp_path, {"a": (matrix((8, 8)), "#hova.column_strips<16>")}, "f32")
    assert image[24:152].rstrip(b"\0").decode() == "7eebef7d1030592da8ebce58a54094933cab9677def3db50b74fb783c5948c04"
