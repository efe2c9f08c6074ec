# ===- test_tensor_types.py - Inputs and outputs of 16 bits ------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Numbers may be bf16 or f16 beside a program, whatever it stores. The judge is the program of f32 tensors, which is given numbers
of the type, and NumPy, which rounds what it gives."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
HOVA = Path(os.environ["HOVA_BUILD"]) / "bin/hova"
sys.path.insert(0, str(ROOT / "tools/python"))
import hova  # noqa: E402

TYPES, TARGETS = ("bf16", "f16"), ("cpu", "cuda-emulated")
SHAPE = (2, 21, 48)


def model(dtype, batch=2):
    """An input that products, a norm and a sum read, and that leaves the program; a picture that is cut into patches."""
    return {
        "hova": 1,
        "name": "tensors",
        "parameters": {"batch": batch},
        "inputs": {"x": {"shape": ["batch", *SHAPE[1:]], "dtype": dtype}, "image": {"shape": ["batch", 3, 8, 12], "dtype": dtype}},
        "layers": [
            {"name": "patches", "op": "patch_embedding", "input": "image", "patch": 4, "width": 48},
            {"name": "attn", "op": "multi_head_attention", "input": "x", "heads": 3},
            {"name": "sum", "op": "add", "inputs": ["x", "attn"]},
            {"name": "norm", "op": "layer_norm", "input": "sum"},
            {"name": "ffn", "op": "feed_forward", "input": "norm", "hidden": 70, "activation": "relu"},
            {"name": "row", "op": "pool", "input": "patches", "kind": "mean"},
        ],
        "outputs": {
            "y": {"value": "ffn", "dtype": dtype}, "n": {"value": "norm", "dtype": dtype}, "s": "sum",
            "same": {"value": "x", "dtype": dtype}, "wide": "x", "row": {"value": "row", "dtype": dtype},
        },
    }


def run(*words, status=0):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    return done.stdout + done.stderr


def write(folder, description):
    path = folder / "model.json"
    path.write_text(json.dumps(description))
    return path


def rounded(array, dtype):
    """To nearest, ties to even."""
    if dtype == "f16":
        return array.astype(np.float16).astype(np.float32)
    bits = array.astype(np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1) >> 16 << 16).astype(np.uint32)).view(np.float32)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("storage", ("f32", "bf16", "f16"))
@pytest.mark.parametrize("dtype", TYPES)
def test_is_verified(dtype, storage, target, tmp_path):
    run(HOVA, "verify", write(tmp_path, model(dtype)), f"--dtype={storage}", f"--target={target}")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", TYPES)
def test_numbers_are_those_of_f32_rounded(dtype, target, tmp_path):
    random = np.random.default_rng(1)
    found = {}
    for kind in (dtype, "f32"):
        # Batches may be a range as well.
        description = model(kind, {"min": 1, "max": 3})
        run(HOVA, "compile", write(tmp_path, description), "-q", "--init=1", f"--target={target}", "-o", tmp_path / kind)
    given = {"x": random.standard_normal(SHAPE, np.float32), "image": random.standard_normal((2, 3, 8, 12), np.float32)}
    for name, array in given.items():
        # A file of NumPy has no bf16: the program rounds what it reads.
        np.save(tmp_path / f"{dtype}-{name}.npy", array.astype(np.float16) if dtype == "f16" else array)
        np.save(tmp_path / f"f32-{name}.npy", rounded(array, dtype))
    for kind in (dtype, "f32"):
        (tmp_path / f"{kind}-out").mkdir()
        inputs = (word for name in given for word in ("--input", f"{name}={tmp_path}/{kind}-{name}.npy"))
        run(tmp_path / kind, *inputs, "--output-dir", tmp_path / f"{kind}-out")
        found[kind] = {path.stem: np.load(path) for path in (tmp_path / f"{kind}-out").iterdir()}
    for name, array in found["f32"].items():
        expected = array if name in ("s", "wide") else rounded(array, dtype)
        np.testing.assert_array_equal(found[dtype][name].astype(np.float32), expected, name)
    np.testing.assert_array_equal(found[dtype]["same"].astype(np.float32), rounded(given["x"], dtype))


def test_a_product_reads_an_input_as_it_is(tmp_path):
    """What is wide for others only is no rounding, nor a copy."""
    text = run(HOVA, "compile", write(tmp_path, model("bf16")), "-q", "--dtype=bf16", "--emit=mlir", "--stop-after=normalize", "-o", "-")
    assert "hova.linear %x," in text.replace(" bias", ","), text
    assert not [line for line in text.splitlines() if "hova.convert" in line and "xf32> -> tensor<2x21x48xbf16>" in line and "%x" in line]


def untyped(description):
    """The same, which says no type of its numbers."""
    return description | {
        "inputs": {name: {"shape": said["shape"]} for name, said in description["inputs"].items()},
        "outputs": {name: said["value"] if isinstance(said, dict) else said for name, said in description["outputs"].items() if name not in ("s", "wide")},
    }


@pytest.mark.parametrize("dtype", TYPES)
def test_an_option_says_it_for_those_of_which_nothing_is_said(dtype, tmp_path):
    """The program is that of the description which says it itself, to the byte but for the text that it carries."""
    said = model(dtype)
    for name in ("s", "wide"):
        del said["outputs"][name]
    texts = [run(HOVA, "compile", write(tmp_path, text), "-q", *words, "--emit=mlir", "--stop-after=target", "-o", "-").split("{-#")[0]
             for text, words in ((said, ()), (untyped(said), (f"--tensors={dtype}",)))]
    # Places in the text differ.
    assert len({re.sub(r"loc\(.*?\d+:\d+.*?\)|#loc.*", "", text) for text in texts}) == 1
    run(HOVA, "verify", write(tmp_path, untyped(said)), f"--tensors={dtype}")


def test_what_a_description_says_is_not_changed(tmp_path):
    description = model("f16")
    description["inputs"]["x"] = {"shape": ["batch", *SHAPE[1:]], "dtype": "f32"}
    description["inputs"]["ids"] = {"shape": [2, 9], "dtype": "i32", "range": [0, 9]}
    description["layers"].append({"name": "rows", "op": "embedding", "input": "ids", "vocab": 9, "width": 4})
    description["outputs"] = {"y": {"value": "ffn", "dtype": "f16"}, "s": "sum", "rows": "rows", "row": "row"}
    run(HOVA, "compile", write(tmp_path, description), "-q", "--tensors=bf16", "-o", tmp_path / "program")
    said = json.loads(run(tmp_path / "program", "--describe", "--format=json"))
    assert {one["name"]: one["dtype"] for one in said["inputs"]} == {"x": "f32", "image": "f16", "ids": "i32"}
    assert {one["name"]: one["dtype"] for one in said["outputs"]} == {"y": "f16", "s": "bf16", "rows": "bf16", "row": "bf16"}


def test_dumps_and_programs_carry_the_option(tmp_path):
    path, words = write(tmp_path, untyped(model("f16"))), ("-q", "--march=x86-64-v3")
    run(HOVA, "compile", path, *words, "--tensors=f16", "-o", tmp_path / "program")
    run(HOVA, "compile", path, *words, "--tensors=f16", "--emit=mlir", "--stop-after=import", "-o", tmp_path / "dump.mlir")
    run(HOVA, "compile", tmp_path / "dump.mlir", *words, "-o", tmp_path / "second")
    for program in ("program", "second"):
        said = json.loads(run(tmp_path / program, "--describe", "--format=json"))
        assert {one["dtype"] for one in said["inputs"] + said["outputs"]} == {"f16"}
    run(HOVA, "compile", f"--reproduce={tmp_path / 'program'}", "-q", "-o", tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "program").read_bytes()


def test_python_gives_and_takes_them(tmp_path):
    for dtype in TYPES:
        run(HOVA, "compile", write(tmp_path, model(dtype)), "-q", "--init=1", "--emit=lib", "-o", tmp_path / dtype)
    x, image = np.ones(SHAPE, np.float16), np.ones((2, 3, 8, 12), np.float16)
    half, brain = hova.load(tmp_path / "f16.so"), hova.load(tmp_path / "bf16.so")
    assert half(x, image)["y"].dtype == np.float16 and half(x, image)["s"].dtype == np.float32
    assert [tensor.dtype for tensor in brain.inputs] == ["bfloat16", "bfloat16"]
    with pytest.raises(hova.Error, match='input \'x\' expects bfloat16, got float16; array.astype\\("bfloat16"\\) converts it'):
        brain(x, image)


MISTAKES = {
    "unknown": ("i32", 'unknown word "i32"; expected f32, bf16, f16'),
    "no number": ("f16", "this value is i32 [2, 9]: only numbers of f32 can be an output of f16"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_other_types_are_mistakes(name, tmp_path):
    dtype, why = MISTAKES[name]
    description = {
        "hova": 1, "name": "m", "inputs": {"t": {"shape": [2, 9], "dtype": "i32", "range": [0, 9]}},
        "layers": [{"name": "valid", "op": "padding_mask", "input": "t"}, {"name": "ids", "op": "position_ids", "valid": "valid"}],
        "outputs": {"z": {"value": "ids", "dtype": dtype}},
    }
    assert why in run(HOVA, "check", write(tmp_path, description), status=1)
