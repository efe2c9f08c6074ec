# ===- test_linear_attention.py - What linear attention promises --------------=== #
# SPDX-License-Identifier: Apache-2.0
"""No token sees the future, no value has as many elements as pairs of tokens, dividing
the sums changes nothing, and the memory of a program grows with its tokens.

That bits do not depend on threads is in test_threads.py, numbers are in test_golden.py.
"""

import json
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("HOVA_BUILD", SOURCE / "build"))
HOVA = BUILD / "bin/hova"
MODEL = Path(__file__).parent / "Inputs/performer.json"
LRA = SOURCE / "examples/models/lra.json"
KERNELS = ("softmax", "relu", "exp")


def hova(verb, *arguments, model=MODEL, **settings):
    options = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
    command = [HOVA, verb, model, *arguments, *options]
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def run(program, folder, **inputs):
    folder.mkdir()
    options = []
    for name, value in inputs.items():
        np.save(folder / f"{name}.npy", value)
        options += ["--input", f"{name}={folder / name}.npy"]
    subprocess.run([program, *options, "--output", f"y={folder}/y.npy"], check=True)
    return np.load(folder / "y.npy")


@pytest.mark.parametrize("kernel", KERNELS)
def test_no_token_sees_the_future(kernel, tmp_path):
    program = tmp_path / "program"
    hova("compile", "-o", program, kernel=kernel, causal="true")
    draw = np.random.default_rng(5)
    before = draw.standard_normal((1, 300, 24)).astype(np.float32)
    plain = run(program, tmp_path / "plain", x=before)
    # Inside of a block of 98 keys, at its first and last token, and the first of all.
    for token in (1, 57, 97, 98, 99, 195, 299):
        after = before.copy()
        after[:, token:] = 3 * draw.standard_normal(after[:, token:].shape)
        changed = run(program, tmp_path / str(token), x=after)
        assert changed[:, :token].tobytes() == plain[:, :token].tobytes(), token
        assert (changed[:, token:] != plain[:, token:]).any(axis=-1).all(), token


@pytest.mark.parametrize("causal", ["false", "true"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_a_divided_sum_is_the_whole_one(kernel, causal, tmp_path):
    np.save(tmp_path / "x.npy", np.random.default_rng(7).standard_normal((1, 300, 24), np.float32))
    results = []
    for phase in ("normalize", "fuse"):
        dump = tmp_path / f"{phase}.mlir"
        dump.write_text(
            hova("compile", "--emit=mlir", f"--stop-after={phase}", "-o", "-",
                 kernel=kernel, causal=causal)
        )
        assert ("hova.key_summary" in dump.read_text()) == (phase == "fuse")
        hova("evaluate", "--input", tmp_path / "x.npy", "--output-dir", tmp_path / phase, model=dump)
        results.append(np.load(tmp_path / phase / "y.npy"))
    np.testing.assert_allclose(results[1], results[0], rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("causal", ["false", "true"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_narrow_factors_mean_nothing_in_float64(kernel, causal, tmp_path):
    """Not even a division more, which far numbers would show."""
    np.save(tmp_path / "x.npy", np.random.default_rng(7).standard_normal((1, 300, 24), np.float32))
    narrow = hova("compile", "--target=cuda", "--dtype=bf16", "--emit=mlir", "--stop-after=fuse", "-o", "-", kernel=kernel, causal=causal)
    wide = narrow.replace(", narrow", "")
    assert wide != narrow
    results = []
    for name, text in (("narrow", narrow), ("wide", wide)):
        dump = tmp_path / f"{name}.mlir"
        dump.write_text(text)
        hova("evaluate", "--input", tmp_path / "x.npy", "--output-dir", tmp_path / name, model=dump)
        results.append(np.load(tmp_path / name / "y.npy").tobytes())
    assert results[0] == results[1]


@pytest.mark.parametrize("causal", ["false", "true"])
def test_pairs_of_tokens_never_exist(causal, tmp_path):
    arena, scratch = [], []
    for tokens in (1000, 2000, 4000):
        folder = tmp_path / str(tokens)
        hova("compile", "-o", tmp_path / "program", f"--dump-ir={folder}",
             tokens=tokens, causal=causal)
        for dump in folder.glob("*.mlir"):
            for shape in re.findall(r"(?:tensor|memref|vector)<([0-9x]+)x", dump.read_text()):
                sizes = [int(size) for size in shape.split("x")]
                assert sizes.count(tokens) <= 1, (dump.name, shape)
        text = subprocess.run(
            [tmp_path / "program", "--describe"], capture_output=True, text=True, check=True
        ).stdout
        arena.append(int(re.search(r"arena +(\d+)", text)[1]))
        scratch.append(int(re.search(r"scratch +(\d+)", text)[1]))
    # Twice the tokens, twice the memory; that of a thread is of one block, of 91 to 98 tokens.
    assert arena[1] < 2.1 * arena[0] and arena[2] < 2.1 * arena[1]
    assert scratch[2] < 1.25 * scratch[0]


def test_work_that_is_done_again_is_counted(tmp_path):
    counts = {}
    for causal in ("false", "true"):
        hova("compile", "-o", tmp_path / "program", tokens=300, heads=1, causal=causal)
        report = tmp_path / f"{causal}.json"
        subprocess.run(
            [tmp_path / "program", "--random-inputs", "1", "--benchmark", "--repetitions", "1",
             "--benchmark-out", report],
            check=True, capture_output=True,
        )
        counts[causal] = json.loads(report.read_text())
    # Causal blocks of 98 keys, and of 6: features again, and scores of all pairs of a block.
    again = 2 * (300 * 20 * 24 + (3 * 98**2 + 6**2) * (20 + 24))
    plain, causal = counts["false"], counts["true"]
    assert plain["flops"] == causal["flops"] == plain["flops_executed"]
    assert causal["flops_executed"] == plain["flops_executed"] + again


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
@pytest.mark.parametrize("causal", ["false", "true"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_every_level_verifies(kernel, causal, dtype):
    out = hova("verify", f"--dtype={dtype}", "--march=x86-64-v3,x86-64-v4", "--cases=2",
               kernel=kernel, causal=causal, tokens=213)
    assert "verified" in out


def test_linformer_of_all_tokens_is_attention(tmp_path):
    """As many sums as tokens, of which each is one token: E = I."""
    tokens, width = 19, 24
    description = {
        "hova": 1,
        "name": "linformer",
        "parameters": {"kind": {"default": "softmax", "values": ["softmax", "linformer"]}},
        "inputs": {"x": {"shape": [2, tokens, width]}},
        "layers": [
            {
                "name": "attn", "op": "multi_head_attention", "input": "x", "heads": 3, "kind": "kind",
                "projected_tokens": f"if(kind == 'linformer', {tokens}, 0)",
            }
        ],
        "outputs": {"y": "attn"},
    }  # fmt: skip
    model = tmp_path / "model.json"
    model.write_text(json.dumps(description))
    draw = np.random.default_rng(7)
    weights = {"attn.token_projection": np.eye(tokens, dtype=np.float32)}
    for part in ("query", "key", "value", "output"):
        weights[f"attn.{part}.weight"] = draw.standard_normal((width, width)).astype(np.float32)
        weights[f"attn.{part}.bias"] = draw.standard_normal(width).astype(np.float32)
    x = draw.standard_normal((2, tokens, width)).astype(np.float32)
    results = []
    for kind in ("softmax", "linformer"):
        file, program = tmp_path / f"{kind}.safetensors", tmp_path / kind
        save_file({k: v for k, v in weights.items() if kind == "linformer" or "projection" not in k}, file)
        hova("compile", "-o", program, "--weights", file, model=model, kind=kind)
        results.append(run(program, tmp_path / f"{kind}_run", x=x))
    np.testing.assert_allclose(results[1], results[0], rtol=1e-3, atol=1e-3)


def test_linformer_makes_no_keys_of_all_tokens():
    """Of the 90 tokens of a layer only queries are projected one by one."""
    text = hova(
        "compile", "--emit=mlir", "--stop-after=fuse", "-o", "-", model=LRA,
        attention="linformer", length=89, depth=2,
    )  # fmt: skip
    products = re.findall(r"= hova.linear [^\n]*-> tensor<1x(\d+)x(\d+)xf32>", text)
    assert ("90", "256") in products and ("16", "512") in products, products
    assert not any(rows == "90" and int(columns) in (512, 768) for rows, columns in products)


def test_linformer_grows_with_its_tokens(tmp_path):
    """The arena of twice the tokens is twice as large."""
    arena = []
    for length in (999, 1999, 3999):
        hova("compile", "-o", tmp_path / "program", model=LRA, attention="linformer", length=length)
        text = subprocess.run(
            [tmp_path / "program", "--describe"], capture_output=True, text=True, check=True
        ).stdout
        arena.append(int(re.search(r"arena +(\d+)", text)[1]))
    assert arena[1] < 2.1 * arena[0] and arena[2] < 2.1 * arena[1], arena
