# ===- test_cosine.py - Cosines, and a position bias that a network makes ------=== #
# SPDX-License-Identifier: Apache-2.0
"""What the equations of Swin Transformer V2 imply for compiled programs.

Scores are blind to the lengths of queries and keys, a factor ends at 100, nothing of the
network after a continuous position bias is left when a program runs, and every site of
SwinV2 is fused.
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
BATCH, QUERIES, KEYS, WIDTH, HEADS = 2, 5, 9, 24, 3


def describe(layers, inputs):
    shapes = {name: {"shape": shape} for name, shape in inputs.items()}
    outputs = {"y": layers[-1]["name"]}
    return {"hova": 1, "name": "cosine", "inputs": shapes, "layers": layers, "outputs": outputs}


def compiled(description, folder, *options):
    model, program = folder / "model.json", folder / "program"
    model.write_text(json.dumps(description))
    command = [HOVA, "compile", model, "--quiet", *options, "-o", program]
    subprocess.run(command, check=True)
    return program


def run(program, arrays, folder):
    command = [program]
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
        command += ["--input", f"{name}={folder}/{name}.npy"]
    subprocess.run([*command, "--output", f"y={folder}/y.npy"], check=True, capture_output=True)
    return np.load(folder / "y.npy")


def attention(init):
    inputs = {
        "q": [BATCH, QUERIES, WIDTH],
        "k": [BATCH, KEYS, WIDTH],
        "v": [BATCH, KEYS, WIDTH],
    }
    layer = {"name": "attn", "op": "attention", "query": "q", "key": "k", "value": "v"}
    layer |= {"heads": HEADS, "kind": "cosine", "init": {"logit_scale": init}}
    return describe([layer], inputs)


def values(seed):
    rng = np.random.default_rng(seed)
    shapes = {"q": QUERIES, "k": KEYS, "v": KEYS}
    return {
        name: rng.normal(size=(BATCH, rows, WIDTH)).astype(np.float32)
        for name, rows in shapes.items()
    }


def test_lengths_of_queries_and_keys_do_not_count(tmp_path):
    program = compiled(attention({"kind": "normal", "std": 1.0}), tmp_path)
    arrays = values(0)
    plain = run(program, arrays, tmp_path)
    rng = np.random.default_rng(1)
    for name in "qk":
        # A factor of its own for each head of each row.
        rows = arrays[name].reshape(BATCH, -1, HEADS, WIDTH // HEADS)
        factors = np.exp(rng.uniform(-9, 9, rows.shape[:-1])).astype(np.float32)
        arrays[name] = (rows * factors[..., None]).reshape(arrays[name].shape)
    np.testing.assert_allclose(run(program, arrays, tmp_path), plain, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("theta", (4.60517, 5.0, 80.0))
def test_a_factor_ends_at_100(tmp_path, theta):
    arrays = values(2)
    largest = run(
        compiled(attention({"kind": "constant", "value": 4.7}), tmp_path), arrays, tmp_path
    )
    program = compiled(attention({"kind": "constant", "value": theta}), tmp_path)
    np.testing.assert_allclose(run(program, arrays, tmp_path), largest, rtol=1e-4, atol=1e-5)


def test_no_factor_is_that_of_the_weights_alone(tmp_path):
    """theta = 0: plain cosines, which a program can be told to compute otherwise."""
    arrays = values(3)
    cosines = run(
        compiled(attention({"kind": "constant", "value": 0}), tmp_path), arrays, tmp_path
    )
    heads = {
        name: array.astype(np.float64).reshape(BATCH, -1, HEADS, WIDTH // HEADS)
        for name, array in arrays.items()
    }
    q, k = (heads[n] / np.linalg.norm(heads[n], axis=-1, keepdims=True) for n in "qk")
    weights = np.exp(np.einsum("bimd,bjmd->bmij", q, k))
    weights /= weights.sum(axis=-1, keepdims=True)
    expected = np.einsum("bmij,bjmd->bimd", weights, heads["v"]).reshape(cosines.shape)
    np.testing.assert_allclose(cosines, expected, rtol=1e-5, atol=1e-6)


# --- the position bias ---------------------------------------------------------------


def windows(**options):
    layer = {"name": "attn", "op": "multi_head_attention", "input": "x", "heads": HEADS}
    layer |= {"window": 4, "shift": 2, "grid_height": 8, **options}
    return describe([layer], {"x": [1, 64, WIDTH]})


def dump(description, phase, folder):
    path = folder / "model.json"
    path.write_text(json.dumps(description))
    command = [HOVA, "compile", path, "--quiet", "--emit=mlir", f"--stop-after={phase}", "-o", "-"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_the_network_of_a_bias_runs_while_compiling(tmp_path):
    text = dump(windows(kind="cosine", relative_bias="continuous"), "normalize", tmp_path)
    main, weights = text.split("func.func private @weights")
    for name in ("window_offsets", "activation", "head_factors", "window_bias"):
        assert f"hova.{name}" not in main and f"hova.{name}" in weights, name
    # Query, key and value in one, and the output.
    assert len(re.findall("= hova.linear ", main)) == 2
    assert len(re.findall("= hova.linear ", weights)) == 2


def test_a_continuous_bias_runs_as_a_table_does(tmp_path):
    """The kernels are the same ones, on the same memory."""

    table, network = (dump(windows(relative_bias=b), "tile", tmp_path) for b in (True, "continuous"))
    arena = r"hova.arena_bytes = (\d+)"
    assert re.search(arena, table)[1] == re.search(arena, network)[1]
    assert re.findall(r"hova.launch @\w+", table) == re.findall(r"hova.launch @\w+", network)


def test_weights_of_a_bias_are_not_rounded_to_the_storage_type(tmp_path):
    path = tmp_path / "model.json"
    path.write_text(json.dumps(windows(kind="cosine", relative_bias="continuous")))
    command = [HOVA, "compile", path, "--quiet", "--dtype=bf16", "--emit=mlir"]
    done = subprocess.run(
        [*command, "--stop-after=normalize", "-o", "-"], capture_output=True, text=True, check=True
    )
    weights = done.stdout.split("func.func private @weights")[1]
    for line in weights.splitlines():
        if "relative_bias" in line:
            assert "bf16" not in line, line


# --- kernels -------------------------------------------------------------------------


def test_every_site_of_swinv2_is_fused():
    """No window is copied, and lengths of heads join the projections. (With a batch of one
    the last stage has 64 rows, and threads divide the columns of its large products.)
    """
    model = SOURCE / "examples/models/swinv2_t.json"
    command = [HOVA, "explain", model, "--set", "width=48", "--set", "batch=2"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    fused, sites = re.search(r"(\d+) of (\d+) sites are fused", done.stdout).groups()
    assert fused == sites
