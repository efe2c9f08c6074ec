# ===- test_gpu_operators.py - Every operator as a kernel for a GPU -----------------=== #
# SPDX-License-Identifier: Apache-2.0
"""`hova verify` of some models of test/golden for a GPU, which the processor emulates with all checks: every operator in three
types of storage. The evaluator of descriptions, and not the processor's code, is what numbers are compared with. All models of
test/golden are taken by test/full/test_whole_models_on_gpus.py."""

import json
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

VECTORS = Path(__file__).parents[1] / "golden/vectors"
MODELS = sorted(folder.name for folder in VECTORS.iterdir())
HOVA = Path(os.environ["HOVA_BUILD"]) / "bin" / "hova"


def objects_of(part):
    """All objects of a JSON value, the value itself among them."""
    if isinstance(part, dict):
        yield part
    for inside in part.values() if isinstance(part, dict) else part if isinstance(part, list) else []:
        yield from objects_of(inside)


def operators_of(layers) -> set[tuple[str, str | None]]:
    """Operators of layers and of those inside of them, each with its kind."""
    return {(layer["op"], layer.get("kind")) for layer in objects_of(layers) if "op" in layer}


USED = {name: operators_of(json.loads((VECTORS / name / "model.json").read_text(encoding="utf-8"))["layers"]) for name in MODELS}


def covering() -> list[str]:
    """A few models that have all operators of the others."""
    left, names = set().union(*USED.values()), []
    while left:
        names.append(max(MODELS, key=lambda name: (len(USED[name] & left), -len(USED[name]))))
        left -= USED[names[-1]]
    return names


def known_operators() -> set[str]:
    """Those that a description may have."""
    schema = json.loads(subprocess.run([HOVA, "schema"], capture_output=True, text=True, check=True).stdout)
    return {layer["properties"]["op"]["const"] for layer in schema["definitions"]["layer"]["oneOf"] if "op" in layer["properties"]}


def test_models_have_every_operator():
    assert {operator for used in USED.values() for operator, _ in used} == known_operators()


@pytest.mark.parametrize("dtype", ["bf16", "f16", "f32"])
@pytest.mark.parametrize("name", covering())
def test_operators_are_what_the_evaluator_computes(name, dtype):
    command = [HOVA, "verify", VECTORS / name / "model.json", f"--dtype={dtype}", "--target=cuda-emulated", "--cases=2"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "within the numeric policy" in done.stdout


@pytest.mark.parametrize("dtype", ["bf16", "f32"])
def test_rows_of_windows_are_read_where_they_stand(dtype):
    """No kernel copies them into another order first."""
    model, words = Path(__file__).parent / "Inputs/windows-in-place.json", [f"--dtype={dtype}", "--target=cuda-emulated"]
    dump = subprocess.run([HOVA, "compile", model, *words, "--emit=mlir", "--stop-after=fuse", "-o", "-"], capture_output=True, text=True, check=True).stdout
    assert "hova.rearrange" not in dump
    read = {op for kernel in dump.split("hova.kernel")[1:] if "input_placements" in kernel for op in re.findall(r"= hova\.(\w+)", kernel)}
    # In bf16 what is rounded for a product is read so, and then stands in the order of the windows.
    assert dtype == "bf16" or {"softmax", "concat", "scale_heads", "head_logits", "normalize_heads", "linear"} <= read
    done = subprocess.run([HOVA, "verify", model, *words, "--cases=2"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_values_have_up_to_eight_axes(tmp_path):
    layers, shape = [], [2] * 7 + [6]
    for op, words in (("scale", {"by": 2}), ("layer_norm", {}), ("linear", {"width": 5}), ("activation", {"kind": "relu"}), ("softmax", {})):
        layers.append({"name": op, "op": op, "input": layers[-1]["name"] if layers else "x"} | words)
    model = {"hova": 1, "name": "axes", "inputs": {"x": {"shape": shape}}, "layers": layers, "outputs": {"y": "softmax", "z": "layer_norm"}}
    (tmp_path / "axes.json").write_text(json.dumps(model), encoding="utf-8")
    done = subprocess.run([HOVA, "verify", tmp_path / "axes.json", "--target=cuda-emulated", "--cases=2"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("dtype, kernels", [("bf16", ["x", "attn.query", "attn", "ffn.gate", "ffn.output"]), ("f32", ["attn.query", "attn", "ffn.gate", "ffn.output"])])
def test_rotations_and_gates_join_their_products(dtype, kernels, tmp_path):
    """Whatever results are stored in; bf16 rounds x by itself."""
    layers = [{"name": name, "op": "constant", "shape": [40, 8], "value": f"{name}(row * 10000.0 ** (-column / 8))"} for name in ("cos", "sin")]
    layers += [{"name": "attn", "op": "multi_head_attention", "input": "x", "heads": 3, "head_width": 16, "cosines": "cos", "sines": "sin", "key_value_heads": 1},
               {"name": "ffn", "op": "feed_forward", "input": "attn", "hidden": 72, "gate": True, "activation": "silu"}]
    model = {"hova": 1, "name": "gated", "inputs": {"x": {"shape": [2, 40, 48]}}, "layers": layers, "outputs": {"y": "ffn"}}
    (tmp_path / "gated.json").write_text(json.dumps(model), encoding="utf-8")
    words = [tmp_path / "gated.json", f"--dtype={dtype}", "--target=cuda-emulated"]
    dump = subprocess.run([HOVA, "compile", *words, "--emit=mlir", "--stop-after=fuse", "-o", "-"], capture_output=True, text=True, check=True).stdout
    assert re.findall(r'hova\.kernel "([\w.]+)"', dump) == kernels
    done = subprocess.run([HOVA, "verify", *words, "--cases=2"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("dtype", ["bf16", "f16", "f32"])
@pytest.mark.parametrize("hidden_of_a_head", [1, 6])
def test_an_infinite_head_leaves_others_their_shares(hidden_of_a_head, dtype, tmp_path):
    """Below zero, ReLU makes its logit 0, as all others are. A tile has more columns than a head has hidden channels."""
    width, x = hidden_of_a_head, np.arange(1, 25, dtype=np.float32).reshape(1, 2, 12) / 32
    x[0, 1, 0] = np.inf
    layers = [{"name": "y", "op": "head_reweight", "input": "x", "heads_input": "x", "heads": 12 // width}]
    model = {"hova": 1, "name": "infinite", "inputs": {"x": {"shape": [1, 2, 12]}}, "layers": layers, "outputs": {"y": "y"}}
    (tmp_path / "model.json").write_text(json.dumps(model), encoding="utf-8")
    shapes = {"head": (width, width), "input": (12, width), "score": (width,), "score_bias": (1,)}
    save_file({f"y.horizontal.{name}": np.full(shape, -1, np.float32) for name, shape in shapes.items()}, tmp_path / "weights.safetensors")
    np.save(tmp_path / "x.npy", x)
    for command in (
        [HOVA, "compile", tmp_path / "model.json", "--weights", tmp_path / "weights.safetensors", "--target=cuda-emulated", f"--dtype={dtype}", "-o", tmp_path / "program"],
        [tmp_path / "program", "--input", f"x={tmp_path}/x.npy", "--output-dir", tmp_path],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), x / (12 // width), rtol=1e-6)
