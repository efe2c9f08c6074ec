# ===- test_large_values.py - Attention of values as large as f32 has -----------=== #
# SPDX-License-Identifier: Apache-2.0
"""A weighted mean is no larger than what it is the mean of, so attention overflows for no values.

Attention is linear in its values: values times a power of two give results times it, digit for
digit. Each model runs with values of about 1 and with some close to the largest float, whose sum
over a few keys is far beyond it. What the small values give is compared with NumPy elsewhere.
"""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

SOURCE = Path(__file__).resolve().parents[2]
HOVA = Path(os.environ.get("HOVA_BUILD", SOURCE / "build")) / "bin/hova"
LEVELS = ["native", "x86-64-v3"]
GPU = ("--target=cuda-emulated", "--dtype=bf16")
WIDTH, HEADS = 12, 2
# Less than a vector, a vector, and more than a block of keys.
LENGTHS = (7, 16, 49, 150)
KINDS = {
    "plain": {},
    "causal and padded": {"causal": True, "key_valid": "valid"},
    "uniform": {"key_valid": "valid", "empty_row": "uniform"},
    "additive": {"kind": "additive", "hidden": 3},
    "cosine": {"kind": "cosine"},
    "a written score": {"score": "3 * tanh(score / 3)", "keep": "query - key < 40"},
    "blocks": {"kind": "bigbird", "block_size": 4, "random_blocks": 2},
    "causal blocks": {"kind": "bigbird", "block_size": 4, "random_blocks": 2, "causal": True},
}


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def results(program, folder, inputs):
    words = []
    for name, value in inputs.items():
        np.save(folder / f"{name}.npy", value)
        words += ["--input", f"{name}={folder}/{name}.npy"]
    run(program, *words, "--output-dir", folder / "results")
    return {path.stem: np.load(path) for path in (folder / "results").iterdir()}


def compiled(folder, model, *options):
    (folder / "model.json").write_text(json.dumps(model))
    run(HOVA, "compile", folder / "model.json", *options, "--quiet", "-o", folder / "program")
    return folder / "program"


def bf16(values):
    """Those with the digits of bf16."""
    return (values.view(np.uint32) & 0xFFFF0000).view(np.float32)


def values_of(shape, random):
    """From 1 to 2, with a sign for each channel: no two of a channel cancel."""
    signs = np.where(np.arange(shape[-1]) % 2, -1, 1)
    return bf16(random.uniform(1, 2, shape).astype(np.float32)) * signs.astype(np.float32)


def attentions(lengths, kinds):
    """An attention of each kind and length, and inputs of each length."""
    inputs, layers = {}, []
    for n in lengths:
        inputs |= {f"{name}{n}": {"shape": [2, n, WIDTH]} for name in "qkv"}
        inputs[f"valid{n}"] = {"shape": [2, n], "dtype": "bool"}
        for i, kind in enumerate(kinds):
            layer = {"name": f"y{n}_{i}", "op": "attention", "query": f"q{n}", "key": f"k{n}", "value": f"v{n}"}
            layer |= {"heads": HEADS, **KINDS[kind]}
            layers.append(layer | ({"key_valid": f"valid{n}"} if "key_valid" in layer else {}))
    outputs = {layer["name"]: layer["name"] for layer in layers}
    used = {name for layer in layers for name in layer.values() if isinstance(name, str)}
    inputs = {name: shape for name, shape in inputs.items() if name in used}
    return {"hova": 1, "name": "m", "inputs": inputs, "layers": layers, "outputs": outputs}


def draw(name, shape, random):
    if name.startswith("valid"):
        return random.random(shape) < 0.7
    return values_of(shape, random) if name.startswith("v") else random.standard_normal(shape).astype(np.float32)


def check(folder, model, *options):
    random = np.random.default_rng(5)
    program = compiled(folder, model, *options)
    inputs = {name: draw(name, entry["shape"], random) for name, entry in model["inputs"].items()}
    factor = np.float32(2.0**126)
    larger = {name: x * factor if name.startswith("v") and x.dtype == np.float32 else x for name, x in inputs.items()}
    want, got = results(program, folder, inputs), results(program, folder, larger)
    assert len(want) == len(model["layers"])
    for name, small in want.items():
        assert np.abs(small).max() > 0.9, name
        np.testing.assert_array_equal(got[name], small * factor, err_msg=name)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_a_mean_of_large_values_is_one_of_small_ones(dtype, level, tmp_path):
    check(tmp_path, attentions(LENGTHS, KINDS), f"--march={level}", f"--dtype={dtype}")


def test_so_it_is_on_a_gpu(tmp_path):
    """Emulated. Weights and values are bf16 there, and weights are rounded to it for both alike."""
    check(tmp_path, attentions([70], ["plain", "causal and padded", "a written score"]), *GPU)


@pytest.mark.parametrize("level", LEVELS)
def test_so_it_is_for_tokens_in_lanes(level, tmp_path):
    """Sequences of 16 tokens, in blocks whose projections make values large and results small again."""
    layers = [
        {"name": "n", "op": "layer_norm", "input": "x"},
        {"name": "a", "op": "multi_head_attention", "input": "n", "heads": HEADS, "bias": False},
        {"name": "y", "op": "add", "inputs": ["x", "a"]},
    ]
    model = {"hova": 1, "name": "m", "inputs": {"x": {"shape": [12, 16, WIDTH]}}, "layers": layers, "outputs": {"y": "y"}}
    random = np.random.default_rng(6)
    identity = np.eye(WIDTH, dtype=np.float32)
    weights = {f"a.{name}.weight": random.standard_normal((WIDTH, WIDTH)).astype(np.float32) for name in ("query", "key")}
    weights |= {"n.gain": np.ones(WIDTH, np.float32), "n.bias": np.zeros(WIDTH, np.float32)}
    # After the norm about 1 or -1 by channel, with some noise: 16 of them add up to 16.
    x = values_of([12, 16, WIDTH], random)
    got = []
    for exponent in (0, 126):
        factor = np.float32(2.0**exponent)
        weights |= {"a.value.weight": identity * factor, "a.output.weight": identity / factor}
        save_file(weights, tmp_path / "weights.safetensors")
        program = compiled(tmp_path, model, f"--march={level}", "--weights", tmp_path / "weights.safetensors")
        got.append(results(program, tmp_path, {"x": x})["y"])
    assert np.isfinite(got[0]).all()
    np.testing.assert_array_equal(got[1], got[0])
