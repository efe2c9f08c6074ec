# ===- test_gpu.py - Whole models as programs for a GPU -------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Models from JSON to programs for a GPU, which a processor emulates with all checks, or whose
driver is a stand-in. Nothing here runs on a GPU."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "test/codegen/cuda"))
import stand_in  # noqa: E402

BUILD = Path(os.environ["HOVA_BUILD"])
HOVA = BUILD / "bin" / "hova"
OBJCOPY = Path(os.environ["HOVA_LLVM"]) / "bin/llvm-objcopy"
DIGITS = ROOT / "examples" / "01-digits"
MODELS = ROOT / "examples" / "models"
BF16 = ["--dtype=bf16"]
# Machine code is for devices: the stand-in executes PTX.
GPU = ["--target=cuda", "--ptxas=none"]


def run(*words, status=0, **environment):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False,
                          env={**os.environ, **{name: str(value) for name, value in environment.items()}})
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def compile_to(program, model, *options, dtype="bf16"):
    run(HOVA, "compile", model, f"--dtype={dtype}", *options, "-o", program)
    return program


def test_digits_are_read_in_the_emulation(tmp_path):
    """A hundred held-out images at once, against what PyTorch computed in float32."""
    images, truth, labels = (np.load(DIGITS / f"{name}.npy")[:100] for name in ("images", "logits", "labels"))
    program = compile_to(tmp_path / "digits", DIGITS / "digits.json", "--target=cuda-emulated", "--set=batch=100",
                         f"--weights={DIGITS / 'weights.safetensors'}")
    for name, value in {"images": images, "expected": truth}.items():
        np.save(tmp_path / f"{name}.npy", value)
    run(program, "--input", f"image={tmp_path / 'images.npy'}", "--output-dir", tmp_path, "--expected", f"logits={tmp_path / 'expected.npy'}")
    logits = np.load(tmp_path / "logits.npy")
    assert (logits.argmax(1) == truth.argmax(1)).all()
    assert (logits.argmax(1) == labels).mean() >= 0.99


def test_an_item_of_a_batch_has_the_bits_that_it_has_alone(tmp_path):
    options = ("--target=cuda-emulated", f"--weights={DIGITS / 'weights.safetensors'}")
    images = np.load(DIGITS / "images.npy")[:3]
    results = []
    for batch in (1, 3):
        program = compile_to(tmp_path / f"digits{batch}", DIGITS / "digits.json", *options, f"--set=batch={batch}")
        np.save(tmp_path / "image.npy", images[-batch:])
        run(program, "--input", f"image={tmp_path / 'image.npy'}", "--output-dir", tmp_path)
        results.append(np.load(tmp_path / "logits.npy")[-1])
    assert (results[0].view(np.uint32) == results[1].view(np.uint32)).all()


# Widths that fill no tile, heads of 6, several images at once.
VARIANTS = {
    "digits": (DIGITS / "digits.json", ""),
    "digits, three at once": (DIGITS / "digits.json", "batch=3"),
    "digits, heads of 6": (DIGITS / "digits.json", "width=24"),
    "digits, heads of 32": (DIGITS / "digits.json", "width=128"),
    "digits, 11 classes": (DIGITS / "digits.json", "classes=11"),
    "digits, 257 tokens": (DIGITS / "digits.json", "image=32"),
    "vit, reduced": (MODELS / "vit_b16.json", "depth=1 image=48 width=128 heads=2 hidden=256 classes=7 batch=2"),
    "vit, horizontal and vertical": (MODELS / "vit_b16.json",
                                     "depth=1 image=32 width=64 heads=2 hidden=96 classes=5 horizontal=true vertical=true"),
    "vit, heads of 160": (MODELS / "vit_b16.json", "depth=1 image=48 width=320 heads=2 hidden=64 classes=7"),
    "minilm": (MODELS / "minilm_l6.json", "depth=1 length=9 vocab=100 width=96 heads=3"),
    "language model": (MODELS / "lm.json", "depth=1 length=33 vocab=300 width=64 heads=2"),
    "language model, causal performer": (MODELS / "lm.json", "attention=performer depth=1 length=70 vocab=60 width=64 heads=2"),
    "language model, scores of layers before": (MODELS / "lm.json", "attention=realformer depth=3 length=70 vocab=60 width=64 heads=2"),
    "retrieval": (MODELS / "lra.json", "depth=2 partition=2 length=23 width=32 heads=2 task=retrieval"),
    "omninet": (MODELS / "omninet_lm.json", "depth=3 length=13 vocab=60 batch=2 width=32 heads=2 partition=3 causal=block"),
    "translation": (MODELS / "transformer_base.json", "depth=1 vocab=60 src_len=9 tgt_len=7 batch=2 width=64 heads=2"),
    "translation, horizontal and vertical": (MODELS / "vanilla_hv.json", "depth=1 vocab=60 src_len=9 tgt_len=7 batch=2 width=64 heads=2"
                                             " horizontal=true vertical=true"),
    "captions": (MODELS / "m2.json", "depth=1 vocab=1100 width=64 heads=2 batch=2 slots=70"),
    "transformer in transformer": (MODELS / "tnt_s.json", "depth=1 width=48 heads=2 image=32 classes=7"),
    "shifted windows": (MODELS / "swin_t.json", "depth=1 width=12 heads=1 image=64 window=4 classes=7"),
    "tokens to tokens": (MODELS / "t2t_vit_14.json", "depth=1 width=48 heads=2 token_width=32 image=80 classes=7"),
    "blocks of keys": (MODELS / "bigbird_base.json", "depth=1 length=83 block_size=12 random_blocks=2 vocab=60 positions=90 width=48 heads=2"),
    "omninet of images": (MODELS / "omninet_b16.json", "depth=2 partition=2 width=48 heads=2 hidden=64 image=48 classes=7"),
}


def test_biases_as_large_as_numbers_are_no_nan(tmp_path):
    """All of a row, as masks of padding are where nothing is left of a sequence."""
    description = {
        "hova": 1,
        "name": "biased",
        "inputs": {"x": {"shape": [1, 8, 16]}, "bias": {"shape": [1, 1, 8, 8]}},
        "layers": [{"name": "y", "op": "multi_head_attention", "input": "x", "score_bias": "bias", "heads": 2}],
        "outputs": {"o": "y"},
    }
    (tmp_path / "model.json").write_text(json.dumps(description), encoding="utf-8")
    bias = np.zeros((1, 1, 8, 8), np.float32)
    for row, size in enumerate([-2.5e38, np.finfo(np.float32).min, -np.inf, -1e9]):
        bias[0, 0, row] = size
    np.save(tmp_path / "bias.npy", bias)
    np.save(tmp_path / "x.npy", np.random.default_rng(0).standard_normal((1, 8, 16)).astype(np.float32))
    results = []
    for target in ("cpu", "cuda-emulated"):
        program = compile_to(tmp_path / target, tmp_path / "model.json", "--init=5", f"--target={target}")
        run(program, "--input", f"x={tmp_path / 'x.npy'}", "--input", f"bias={tmp_path / 'bias.npy'}", "--output-dir", tmp_path)
        results.append(np.load(tmp_path / "o.npy"))
    np.testing.assert_allclose(results[1], results[0], rtol=0, atol=0.02)


@pytest.mark.parametrize("batch, start, end, kernels", [(1, 2, 6, 3), (1, 3, 4, 3), (3, 6, 7, 3), (3, 2, 5, 4)])
def test_rows_are_read_where_they_lie(batch, start, end, kernels, tmp_path):
    """Rows at even distances are no copy: those of one sequence, or one row of each. The class token is one as well."""
    layers = [
        {"name": "all", "op": "activation", "kind": "relu", "input": "x"},
        {"name": "some", "op": "slice", "input": "all", "axis": 1, "start": start, "end": end},
        {"name": "y", "op": "linear", "input": "some", "width": 5, "bias": False},
        {"name": "first", "op": "pool", "kind": "first", "input": "all"},
        {"name": "z", "op": "linear", "input": "first", "width": 5, "bias": False},
    ]
    x = np.random.default_rng(4).standard_normal((batch, 7, 12)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    weights = {f"{name}.weight": np.random.default_rng(5).standard_normal((12, 5)).astype(np.float32) for name in "yz"}
    save_file(weights, tmp_path / "weights.safetensors")
    description = {"hova": 1, "name": "m", "inputs": {"x": {"shape": list(x.shape)}}, "layers": layers, "outputs": {"y": "y", "z": "z"}}
    (tmp_path / "model.json").write_text(json.dumps(description))
    program = compile_to(tmp_path / "program", tmp_path / "model.json", "--target=cuda-emulated",
                         f"--weights={tmp_path / 'weights.safetensors'}", dtype="f32")
    assert len(json.loads(run(program, "--describe", "--format=json"))["launches"]) == kernels
    run(program, "--input", f"x={tmp_path / 'x.npy'}", "--output-dir", tmp_path)
    for name, rows in {"y": np.maximum(x, 0)[:, start:end], "z": np.maximum(x, 0)[:, 0]}.items():
        np.testing.assert_allclose(np.load(tmp_path / f"{name}.npy"), rows @ weights[f"{name}.weight"], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("width", [24, 64, 200, 2048, 2056, 3072])
def test_a_norm_joins_the_rows_that_it_reads(width, tmp_path):
    """Whole rows, as far as a block has them; longer ones are read part after part. After the last column there is sigmoid(0) until the norm."""
    layers = [{"name": "gate", "op": "activation", "kind": "sigmoid", "input": "x"}, {"name": "normed", "op": "layer_norm", "input": "gate", "eps": 1e-6},
              {"name": "y", "op": "activation", "kind": "relu", "input": "normed"}]
    description = {"hova": 1, "name": "m", "inputs": {"x": {"shape": [3, 7, width]}}, "layers": layers, "outputs": {"y": "y", "gate": "gate"}}
    (tmp_path / "model.json").write_text(json.dumps(description))
    x, gain, bias = (np.random.default_rng(seed).standard_normal(shape).astype(np.float32) for seed, shape in enumerate([(3, 7, width), width, width]))
    np.save(tmp_path / "x.npy", x)
    save_file({"normed.gain": gain, "normed.bias": bias}, tmp_path / "weights.safetensors")
    options = ["--target=cuda-emulated", f"--weights={tmp_path / 'weights.safetensors'}"]
    program = compile_to(tmp_path / "program", tmp_path / "model.json", *options, dtype="f32")
    assert len(json.loads(run(program, "--describe", "--format=json"))["launches"]) == 1 + (width > 2048)
    run(program, "--input", f"x={tmp_path / 'x.npy'}", "--output-dir", tmp_path)
    gate = 1 / (1 + np.exp(-x.astype(np.float64)))
    normed = (gate - gate.mean(-1, keepdims=True)) / np.sqrt(gate.var(-1, keepdims=True) + 1e-6) * gain + bias
    np.testing.assert_allclose(np.load(tmp_path / "gate.npy"), gate, rtol=0, atol=1e-5)
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), np.maximum(normed, 0), rtol=0, atol=1e-4)


@pytest.mark.parametrize("dtype", ["bf16", "f32"])
def test_a_long_sum_of_few_tiles_is_divided(dtype, tmp_path):
    """The norm's kernel adds the parts, the bias and the residual. Numbers that are exact in any order; --strict keeps one sum."""
    layers = [{"name": "y", "op": "linear", "input": "x", "width": 70}, {"name": "s", "op": "add", "inputs": ["y", "r"]},
              {"name": "n", "op": "layer_norm", "input": "s", "eps": 1e-6}]
    description = {"hova": 1, "name": "m", "inputs": {"x": {"shape": [2, 9, 1024]}, "r": {"shape": [2, 9, 70]}}, "layers": layers,
                   "outputs": {"s": "s", "n": "n"}}
    (tmp_path / "model.json").write_text(json.dumps(description))
    random = np.random.default_rng(6)
    x, r, w, b = (random.integers(-8, 9, shape).astype(np.float32) for shape in [(2, 9, 1024), (2, 9, 70), (1024, 70), 70])
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "r.npy", r)
    save_file({"y.weight": w, "y.bias": b, "n.gain": np.ones(70, np.float32), "n.bias": np.zeros(70, np.float32)}, tmp_path / "weights.safetensors")
    options = ["--target=cuda-emulated", f"--weights={tmp_path / 'weights.safetensors'}"]
    launches = []
    for strict in ([], ["--strict"]):
        program = compile_to(tmp_path / "program", tmp_path / "model.json", *options, *strict, dtype=dtype)
        launches.append(json.loads(run(program, "--describe", "--format=json"))["launches"])
        run(program, "--input", f"x={tmp_path / 'x.npy'}", "--input", f"r={tmp_path / 'r.npy'}", "--output-dir", tmp_path)
        s = x @ w + b + r
        np.testing.assert_array_equal(np.load(tmp_path / "s.npy"), s)
        truth = (s - s.mean(-1, keepdims=True)) / np.sqrt(s.var(-1, keepdims=True) + 1e-6)
        np.testing.assert_allclose(np.load(tmp_path / "n.npy"), truth, rtol=0, atol=1e-5)
    # bf16 rounds x in a launch before.
    divided, whole = ([launch["grid"] for launch in launched if launch["path"] == "y"] for launched in launches)
    assert [grid[2] for grid in divided] == [8, 1] and [grid[2] for grid in whole] == [1]


@pytest.mark.parametrize("dtype, query_power, key_power", [("bf16", power, power) for power in (13, 23, 40, 56)]
                         + [("f16", 12, power) for power in (4, 8, 10, 12)])
def test_scores_of_any_size_choose_a_key(dtype, query_power, key_power, tmp_path):
    """Scores up to 1e34, so far apart that the largest has all the weight. Of those of 2^30 and more a product is off by more
    than exponents can bear, and from 2^27 on by more than weights of f16 do."""
    rows = {name: {"shape": [1, 70, 8]} for name in "qkv"}
    layer = {"name": "y", "op": "attention", "query": "q", "key": "k", "value": "v", "heads": 1}
    (tmp_path / "model.json").write_text(json.dumps({"hova": 1, "name": "m", "inputs": rows, "layers": [layer], "outputs": {"y": "y"}}))
    random = np.random.default_rng(3)
    # Numbers of 16 bits, and sums of their products exact in f32.
    q, k, v = (random.integers(-8, 9, (1, 70, 8)).astype(np.float32) for _ in "qkv")
    program = compile_to(tmp_path / "program", tmp_path / "model.json", "--target=cuda-emulated", dtype=dtype)
    words = []
    for name, value in {"q": np.ldexp(q, query_power), "k": np.ldexp(k, key_power), "v": v}.items():
        np.save(tmp_path / f"{name}.npy", value)
        words += ["--input", f"{name}={tmp_path}/{name}.npy"]
    run(program, *words, "--output-dir", tmp_path)
    scores = q[0] @ k[0].T
    largest = scores == scores.max(1, keepdims=True)
    truth = largest @ v[0] / largest.sum(1, keepdims=True)
    np.testing.assert_allclose(np.load(tmp_path / "y.npy")[0], truth, rtol=0, atol=0.05)


def performer(folder, kernel, **attributes):
    """300 keys are two blocks of sums, which are merged; an item may have any of them, or none."""
    shapes = {"q": [2, 70, 32], "k": [2, 300, 32], "v": [2, 300, 20], "key_valid": [2, 300]}
    inputs = {name: {"shape": shape, "dtype": "bool" if name == "key_valid" else "f32"} for name, shape in shapes.items()}
    layer = {"name": "y", "op": "attention", "kind": "performer", "query": "q", "key": "k", "value": "v", "key_valid": "key_valid",
             "heads": 2, "kernel": kernel, "features": 40, **attributes}
    text = json.dumps({"hova": 1, "name": "m", "inputs": inputs, "layers": [layer], "outputs": {"y": "y"}})
    (folder / "model.json").write_text(text, encoding="utf-8")
    return folder / "model.json"


@pytest.mark.parametrize("kernel, dtype", [("softmax", "f32"), ("softmax", "bf16"), ("relu", "bf16"), ("relu", "f16"), ("exp", "f32"), ("exp", "f16")])
def test_sums_of_blocks_are_merged(kernel, dtype, tmp_path):
    said = run(HOVA, "verify", performer(tmp_path, kernel), "--target=cuda-emulated", f"--dtype={dtype}", "--cases=2")
    assert "within the numeric policy" in said


@pytest.mark.parametrize("kernel, size", [("softmax", 30), ("softmax", 1e-3), ("exp", 2.5), ("exp", 1e-3), ("relu", 30)])
def test_features_are_as_large_as_they_are(kernel, size, tmp_path):
    """Exponents far from 0, whose sums may be denormal numbers: the quotient is what a processor finds, and no NaN."""
    eps = {} if kernel == "exp" else {"eps": 0.0}
    model = performer(tmp_path, kernel, denominator_eps=0.0, stabilizer=0.0, **eps)
    random = np.random.default_rng(5)
    words = []
    for name, columns, rows in (("q", 32, 70), ("k", 32, 300), ("v", 20, 300)):
        factor = 1 if name == "v" else size
        np.save(tmp_path / f"{name}.npy", factor * random.standard_normal((2, rows, columns)).astype(np.float32))
        words += ["--input", f"{name}={tmp_path}/{name}.npy"]
    valid = np.ones((2, 300), bool)
    valid[0, :260] = False
    np.save(tmp_path / "valid.npy", valid)
    results = []
    for target in ("cpu", "cuda-emulated"):
        program = compile_to(tmp_path / target, model, "--init=5", f"--target={target}", dtype="f32")
        run(program, *words, "--input", f"key_valid={tmp_path}/valid.npy", "--output-dir", tmp_path)
        results.append(np.load(tmp_path / "y.npy"))
    assert np.isfinite(results[0]).all()
    np.testing.assert_allclose(results[1], results[0], rtol=0, atol=2e-3)


# What takes longest: longer loops of kernels that others have too. test/full/test_whole_models_on_gpus.py has it.
FOR_FULL = {"digits, 257 tokens", "scores of layers before, heads of 136"}


@pytest.mark.parametrize("name", [name for name in VARIANTS if name not in FOR_FULL])
def test_programs_are_what_the_reference_computes(name):
    """Every value between kernels too, and equal bits in other orders of blocks, warps and copies."""
    model, parameters = VARIANTS[name]
    sets = [f"--set={parameter}" for parameter in parameters.split()]
    assert "within the numeric policy" in run(HOVA, "verify", model, *BF16, "--target=cuda-emulated", *sets)


@pytest.mark.parametrize("width", [72, 73])
@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_small_heads_in_rows_of_an_input(dtype, width, tmp_path):
    """Columns of the caller's rows, which have no gap after them: of an odd number of columns a warp cannot copy whole rows."""
    parts = [{"name": name, "op": "slice", "input": "x", "start": start, "end": start + 24} for name, start in (("q", 0), ("k", 24), ("v", 48))]
    attention = {"name": "a", "op": "attention", "query": "q", "key": "k", "value": "v", "heads": 4}
    model = tmp_path / "heads.json"
    model.write_text(json.dumps({"hova": 1, "name": "heads", "inputs": {"x": {"shape": [3, 16, width], "dtype": "f32"}},
                                 "layers": [*parts, attention], "outputs": {"y": "a"}}))
    assert "within the numeric policy" in run(HOVA, "verify", model, "--target=cuda-emulated", f"--dtype={dtype}")


# Products of f32 are other code: of each kind of matrix and of loop one.
IN_F32 = {
    "digits, 101 tokens": (DIGITS / "digits.json", "image=20"),
    "vit, odd heads, horizontal and vertical": (MODELS / "vit_b16.json",
                                                "depth=1 image=32 width=60 heads=4 hidden=96 classes=5 horizontal=true vertical=true"),
    "captions": VARIANTS["captions"],
    "scores of layers before, heads of 136": (MODELS / "lm.json", "attention=realformer depth=2 length=40 vocab=30 width=272 heads=2"),
}


@pytest.mark.parametrize("name", [name for name in IN_F32 if name not in FOR_FULL])
def test_programs_in_f32_are_what_the_reference_computes(name):
    model, parameters = IN_F32[name]
    sets = [f"--set={parameter}" for parameter in parameters.split()]
    assert "within the numeric policy" in run(HOVA, "verify", model, "--target=cuda-emulated", *sets)


@pytest.mark.parametrize("name", ["windows_relative_bias", "merged_patches", "all_masks", "keep_empty_rows", "memory_masks", "mha_both", "score_late_gap"])
def test_scores_in_f32_are_what_the_reference_computes(name):
    model = ROOT / "test/golden/vectors" / name / "model.json"
    assert "within the numeric policy" in run(HOVA, "verify", model, "--target=cuda-emulated", "--cases=2")


def test_programs_in_f16_are_what_the_reference_computes():
    assert "within the numeric policy" in run(HOVA, "verify", DIGITS / "digits.json", "--dtype=f16", "--target=cuda-emulated")


def test_programs_are_right_however_a_device_adds():
    """And the choice reaches the kernels: other sums, other errors of a product that is not rounded to 16 bits."""
    errors = set()
    for sums in ("in-order", "a100", "h100"):
        said = subprocess.run([HOVA, "verify", DIGITS / "digits.json", *BF16, "--target=cuda-emulated", f"--mma-sums={sums}",
                               "--case=0", "--format=json"], capture_output=True, text=True, check=False)
        assert said.returncode == 0, said.stdout + said.stderr
        values = json.loads(said.stdout)["cases"][0]["values"]
        errors.add(next(value["rms_error"] for value in values if value["value"] == "patches" and value["rms_error"]))
    assert len(errors) == 3


def test_programs_are_right_wherever_approximations_lie():
    """And the choice reaches the kernels of norms and softmax: other errors in f32."""
    errors = set()
    for way in ("nearest", "above", "below", "either"):
        said = subprocess.run([HOVA, "verify", DIGITS / "digits.json", "--target=cuda-emulated", f"--approximations={way}", "--case=0",
                               "--format=json"], capture_output=True, text=True, check=False)
        assert said.returncode == 0, said.stdout + said.stderr
        errors.add(tuple(value["rms_error"] for value in json.loads(said.stdout)["cases"][0]["values"]))
    assert len(errors) == 4


def test_a_program_needs_a_driver(tmp_path):
    program = compile_to(tmp_path / "digits", DIGITS / "digits.json", *GPU)
    message = run(program, "--random-inputs", "1", status=1)
    assert message.startswith("error: found no driver of an NVIDIA GPU") and message.count("\n") == 1
    assert "target     cuda" in run(program, "--describe")


def run_on_stand_in(program, folder, *words, **environment):
    """On a driver that executes the PTX of the program by the interpreter of test/codegen/cuda."""
    return run(program, *words, **stand_in.environment(folder / "launches"), **environment)


def test_digits_are_read_by_the_driver_side(tmp_path):
    """Weights, PTX, launches, graph and memory of a program for a GPU, up to what PyTorch computed."""
    program = compile_to(tmp_path / "digits", DIGITS / "digits.json", *GPU, f"--weights={DIGITS / 'weights.safetensors'}")
    for name in ("images", "logits"):
        np.save(tmp_path / f"{name}.npy", np.load(DIGITS / f"{name}.npy")[:1])
    said = run_on_stand_in(program, tmp_path, "--input", f"image={tmp_path / 'images.npy'}", "--expected", f"logits={tmp_path / 'logits.npy'}")
    assert "0 of 10 elements differ" in said


def test_verify_takes_a_gpu_or_says_that_it_emulates_one(tmp_path):
    words = ("verify", ROOT / "test/golden/vectors/elementwise/model.json", *BF16, *GPU, "--case=0")
    said = run(HOVA, *words)
    assert "note: kernels are emulated, as by --target=cuda-emulated, since no GPU can run them: found no driver of an NVIDIA GPU" in said
    assert "verified: 1 case is within the numeric policy, on a GPU that the processor emulates\n" in said
    assert json.loads(run(HOVA, *words, "--format=json", "--quiet"))["target"] == "cuda-emulated"
    said = run_on_stand_in(HOVA, tmp_path, *words)
    assert "emulated" not in said and "verified: 1 case is within the numeric policy, on a GPU\n" in said


def test_verify_starts_a_gpu_once(tmp_path):
    """A real one takes a third of a second. All runs of both cases are of one context."""
    words = ("verify", ROOT / "test/golden/vectors/elementwise/model.json", *BF16, *GPU, "--cases=2")
    said = run_on_stand_in(HOVA, tmp_path, *words, STAND_IN_FAIL="cuModuleLoadDataEx:2:999")
    assert "verified: 2 cases are within the numeric policy, on a GPU\n" in said


def test_verify_compares_what_lies_between_the_kernels_of_a_gpu(tmp_path):
    """Its memory is read after each kernel; the values are those that the emulation compares."""
    words = ("verify", ROOT / "test/golden/vectors/mha_both/model.json", *BF16, "--case=0", "--format=json", "--quiet")
    on_gpu = json.loads(run_on_stand_in(HOVA, tmp_path, *words, *GPU))
    emulated = json.loads(run(HOVA, *words, "--target=cuda-emulated"))
    for told in (on_gpu, emulated):
        assert told["verified"]
    names = [[value["value"] for value in told["cases"][0]["values"]] for told in (on_gpu, emulated)]
    assert len(names[0]) > 5 and names[0] == names[1][:len(names[0])]


# Both gates, and ids of tokens that are no padding, which the model finds itself.
DRIVEN = {
    "vit": (MODELS / "vit_b16.json", "depth=1 image=32 width=64 heads=2 hidden=96 classes=6 batch=2 horizontal=true vertical=true"),
    "translation": (MODELS / "transformer_base.json", "depth=1 vocab=60 src_len=9 tgt_len=7 batch=2 width=64 heads=2"),
    # The classes of windows are a table of the program, which the device has a copy of.
    "shifted windows": (ROOT / "test/golden/vectors/windows_shifted/model.json", ""),
}


@pytest.mark.parametrize("name", DRIVEN)
def test_the_driver_side_computes_what_the_emulation_does(name, tmp_path):
    """The interpreter shares no code with the emulation, and rounds functions otherwise that PTX approximates."""
    model, parameters = DRIVEN[name]
    sets = [f"--set={size}" for size in parameters.split()]
    results = []
    for options, runs in ((GPU, run_on_stand_in), (["--target=cuda-emulated"], lambda program, _, *words: run(program, *words))):
        program = compile_to(tmp_path / "model", model, *sets, *options)
        runs(program, tmp_path, "--random-inputs", "1", "--output-dir", tmp_path / "out")
        results.append({path.stem: np.load(path) for path in (tmp_path / "out").iterdir()})
    assert results[0].keys() == results[1].keys() and results[0]
    for output, value in results[1].items():
        assert np.abs(results[0][output] - value).max() <= 2**-8 * np.abs(value).max(), output


def test_a_device_with_too_little_memory_is_refused_before_any_work(tmp_path):
    program = compile_to(tmp_path / "digits", DIGITS / "digits.json", *GPU)
    message = run_on_stand_in(program, tmp_path, "--random-inputs", "1", status=1, STAND_IN_MEMORY="10000")
    assert "has too little memory: the program takes" in message and message.count("\n") == 1
    assert not list((tmp_path / "launches").iterdir())


SMALL = ROOT / "test/golden/vectors/mha_both/model.json"
BOTH = ("--target=cpu,cuda", "--ptxas=none", "--march=x86-64-v3")


def test_one_file_takes_the_gpu_or_the_processor(tmp_path):
    """And has the bits of the programs for either alone, with the weights of both inside."""
    both = compile_to(tmp_path / "both", SMALL, *BOTH)
    results = {}
    alone = {"cuda": (GPU, run_on_stand_in), "cpu": (["--march=x86-64-v3"], lambda program, _, *words: run(program, *words))}
    for target, (options, runs) in alone.items():
        program = compile_to(tmp_path / target, SMALL, *options)
        for name, words in ((program, []), (both, [])):
            said = runs(name, tmp_path, "--random-inputs", "1", "--output-dir", tmp_path / "out", *words)
            results[target, name] = np.load(tmp_path / "out" / "y.npy").view(np.uint32)
        assert said.startswith("note: runs on " + ("Stand-in GPU\n" if target == "cuda" else "the processor: found no driver"))
        assert (results[target, program] == results[target, both]).all()
    assert (results["cuda", both] != results["cpu", both]).any()
    assert both.read_bytes() == compile_to(tmp_path / "again", SMALL, "--target=cuda,cpu", *BOTH[1:]).read_bytes()


def test_weights_of_both_are_packed_in_one_file(tmp_path):
    both = compile_to(tmp_path / "both", SMALL, *BOTH, "--init=1", "--weights-mode=file")
    message = run(both, "--random-inputs=1", "--weights", both, status=1)
    pack = re.search(r"make one for this program with: hova (weights pack .*) --weights FILE -o IMAGE", message)[1]
    assert "--target=cpu,cuda --march=x86-64-v3" in pack
    words = [word.replace("model.json", str(SMALL)) for word in pack.split()]
    packed = tmp_path / "packed"
    run(HOVA, *words, "--init=1", "-o", packed)
    assert packed.read_bytes() == (tmp_path / "both.weights").read_bytes()
    run(HOVA, *words, "--init=2", "-o", packed)
    for runs in (run_on_stand_in, lambda program, _, *words: run(program, *words)):
        outputs = []
        for weights in (both.with_suffix(".weights"), packed):
            runs(both, tmp_path, "--random-inputs=1", "--check-weights", "--weights", weights, "--output-dir", tmp_path / "out")
            outputs.append(np.load(tmp_path / "out" / "y.npy"))
        assert np.isfinite(outputs).all() and (outputs[0] != outputs[1]).any()
    # The image of one program is enough where the other one is not taken.
    one = tmp_path / "one"
    run(HOVA, *[word.replace("cpu,cuda", "cpu") for word in words], "--init=1", "-o", one)
    run(both, "--random-inputs=1", "--device=cpu", "--weights", one)
    assert "holds weights in another layout" in run_on_stand_in(both, tmp_path, "--random-inputs=1", "--weights", one, status=1)


def test_weights_in_one_layout_are_stored_once(tmp_path):
    """A model without a product has no panels: its vector is the same for both."""
    layer = {"name": "y", "op": "layer_norm", "input": "x"}
    model = {"hova": 1, "name": "m", "inputs": {"x": {"shape": [1, 6, 64]}}, "layers": [layer], "outputs": {"y": "y"}}
    (tmp_path / "model.json").write_text(json.dumps(model), encoding="utf-8")
    sizes = []
    for target in ("cpu", "cpu,cuda"):
        run(HOVA, "weights", "pack", tmp_path / "model.json", f"--target={target}", "--init=1", "-o", tmp_path / "image")
        sizes.append((tmp_path / "image").stat().st_size)
    assert sizes[0] == sizes[1]


JOINED_WRONG = {
    "--target=cpu,gpu": "'gpu' is unknown; targets are cpu, cuda, cuda-emulated",
    "--target=cpu,cpu": "'cpu' is given twice",
    "--target=cpu,cuda-emulated": "a program for 'cuda-emulated' has no other target",
    "--target=cpu,cuda --emit=obj": "--emit=obj expects one target, got --target=cpu,cuda",
    "--target=cpu,cuda --emit=asm": "--emit=asm expects one target, got --target=cpu,cuda",
    "--target=cpu,cuda --emit=mlir": "--emit=mlir expects one target, got --target=cpu,cuda",
    "--target=cpu,cuda --emit=ptx": "--emit=ptx is for --target=cuda, got --target=cpu,cuda",
    "--target=cpu,cuda --explain": "option '--explain' expects one target, got --target=cpu,cuda",
    "--target=cpu,cuda --dump-ir=dumps": "option '--dump-ir' expects one target, got --target=cpu,cuda",
    "--target=cpu,cuda --debug-lines=lines": "option '--debug-lines' expects one target, got --target=cpu,cuda",
}


@pytest.mark.parametrize("options", JOINED_WRONG)
def test_what_makes_no_sense_for_several_targets_is_refused(options, tmp_path):
    said = run(HOVA, "compile", DIGITS / "digits.json", *options.split(), "-o", tmp_path / "x", status=2)
    assert JOINED_WRONG[options] in said and not list(tmp_path.iterdir())


@pytest.mark.parametrize("verb", ["verify", "explain"])
def test_verbs_that_look_at_code_look_at_one_target(verb):
    assert f"'hova {verb}' expects one target, got --target=cpu,cuda" in run(HOVA, verb, DIGITS / "digits.json", "--target=cpu,cuda", status=2)


REFUSED = {
    "wide heads": ("vit_b16", "for heads of up to 256 columns, got 384; a CPU runs it (--target=cpu)", [*BF16, "--set=heads=2"]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_code_is_refused_in_a_sentence(name, tmp_path):
    model, message, options = REFUSED[name]
    said = run(HOVA, "compile", MODELS / f"{model}.json", *options, "--target=cuda", "-o", tmp_path / "x", status=1)
    assert said.count("error:") == 1 and message in said
    assert not (tmp_path / "x").exists()


WRONG = {
    "--target=gpu": "targets are cpu, cuda, cuda-emulated",
    "--target=cuda --march=native": "option '--march' does not apply to --target=cuda",
    "--gpu-arch=sm_80": "option '--gpu-arch' does not apply to --target=cpu",
    "--target=cuda --mma-sums=a100": "'hova compile' takes no option '--mma-sums'",
    "--target=cuda --approximations=above": "'hova compile' takes no option '--approximations'",
    "--target=cuda --debug-lines=x.txt": "option '--debug-lines' does not apply to --target=cuda",
}


@pytest.mark.parametrize("options", WRONG)
def test_options_of_another_target_are_refused(options, tmp_path):
    said = run(HOVA, "compile", DIGITS / "digits.json", *options.split(), "-o", tmp_path / "x", status=2)
    assert WRONG[options] in said


def contents(obj):
    """Code and data of an object file, without its bill, which says whether there was a dump."""
    parts = obj.with_suffix(".parts")
    run(OBJCOPY, "-O", "binary", "--wildcard", *(f"--only-section=.{name}*" for name in ("text", "rodata", "data")), obj, parts)
    assert parts.stat().st_size
    return parts.read_bytes()


def test_a_dump_without_the_tables_that_launches_read_is_an_error(tmp_path):
    model = ROOT / "test/golden/vectors/windows_shifted/model.json"
    compile_to(tmp_path / "first.o", model, "--target=cuda-emulated", "--emit=obj", f"--dump-ir={tmp_path}")
    dump = tmp_path / "07-target.mlir"
    text = dump.read_text(encoding="utf-8")
    run(HOVA, "compile", dump, "--emit=obj", "-o", tmp_path / "again.o")
    assert contents(tmp_path / "again.o") == contents(tmp_path / "first.o")
    tables = re.search(r"hova.tables = array<i64: [^>]*>", text)[0]
    first = tables.partition(",")[0] + ">"  # half of a table of four numbers of 32 bits
    for shorter, left in (("hova.tables = array<i64>", 0), ("other.tables = 1 : i64", 0), (first, 1)):
        dump.write_text(text.replace(tables, shorter), encoding="utf-8")
        said = run(HOVA, "compile", dump, "-o", tmp_path / "other", status=1)
        assert f"expects 'hova.tables' of the code to reach there, got {left} numbers" in said


def test_a_dump_is_compiled_for_the_target_that_it_was_made_for(tmp_path):
    weights = ("--emit=obj", f"--weights={DIGITS / 'weights.safetensors'}")
    compile_to(tmp_path / "first.o", DIGITS / "digits.json", "--target=cuda-emulated", *weights, f"--dump-ir={tmp_path}")
    for phase in ("03-fuse", "04-assign", "05-tile", "07-target"):
        again = tmp_path / f"{phase}.o"
        run(HOVA, "compile", tmp_path / f"{phase}.mlir", *weights, "-o", again)
        assert contents(again) == contents(tmp_path / "first.o"), phase


EMPTY = {
    "padded": {"key_valid": "valid"},
    "causal": {"key_valid": "valid", "causal": True},
    "kept": {"keep": "key <= query and key >= 70 and valid[batch, key]"},
    "biased": {"key_valid": "valid", "causal": True, "score_bias": "bias"},
    "mean": {"key_valid": "valid", "causal": True, "empty_row": "uniform"},
    "mean_of_biased": {"key_valid": "valid", "score_bias": "bias", "empty_row": "uniform"},
}


@pytest.mark.parametrize("dtype", ["bf16", "f32"])
def test_rows_of_infinite_scores_are_not_empty(dtype, tmp_path):
    """Of 150 keys, three boxes: all scores of every other query are -inf, which is NaN, but where none of its keys is kept. Of the
    second item no key is."""
    shapes = {"q": [2, 150, 32], "k": [2, 150, 32], "v": [2, 150, 32], "bias": [1, 2, 150, 150], "valid": [2, 150]}
    layer = {"op": "attention", "query": "q", "key": "k", "value": "v", "heads": 2}
    model = {
        "hova": 1, "name": "infinite",
        "inputs": {name: {"shape": shape} | ({"dtype": "bool"} if name == "valid" else {}) for name, shape in shapes.items()},
        "layers": [layer | options | {"name": name} for name, options in EMPTY.items()],
        "outputs": {name: name for name in EMPTY},
    }
    (tmp_path / "model.json").write_text(json.dumps(model))
    values = {name: np.ones(shape, np.float32) for name, shape in shapes.items()}
    values["q"][:, ::2] = 2.0**70
    values["k"] *= -(2.0**70)
    values["v"] *= np.arange(150, dtype=np.float32)[:, None] % 8
    values["valid"] = np.zeros(shapes["valid"], bool)
    values["valid"][0, [90, 149]] = True
    inputs = []
    for name, value in values.items():
        np.save(tmp_path / f"{name}.npy", value)
        inputs += ["--input", f"{name}={tmp_path / name}.npy"]
    program = compile_to(tmp_path / "program", tmp_path / "model.json", "--target=cuda-emulated", dtype=dtype)
    run(program, *inputs, "--output-dir", tmp_path / "got")
    i, j = np.ogrid[:150, :150]
    for name, options in EMPTY.items():
        kept = values["valid"][:, None, :] & ((j <= i) | ("keep" not in options and "causal" not in options)) & ((j >= 70) | ("keep" not in options))
        # All kept keys of a query have one score: weights are even, or nothing minus itself.
        even = kept / np.maximum(kept.sum(2, keepdims=True), 1)
        want = even @ values["v"]
        want[:, ::2][kept[:, ::2].any(2)] = np.nan
        want[~kept.any(2)] = values["v"][0].mean(0) if "empty_row" in options else 0
        got = np.load(tmp_path / "got" / f"{name}.npy")
        assert np.isnan(want[0]).any() and not np.isnan(want[1]).any()
        np.testing.assert_allclose(got, want, rtol=2**-7, err_msg=name)
