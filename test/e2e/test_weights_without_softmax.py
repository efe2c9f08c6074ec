# ===- test_weights_without_softmax.py - Scores that are weights ----------------=== #
# SPDX-License-Identifier: Apache-2.0
"""`normalize` of an attention: scores as weights, or over their sum, next to NumPy.

Hidden keys have weight 0 whatever their score is, NaN and infinite ones too; a NaN of a key that
counts is never lost. Golden vectors have the forms that papers know (test/golden/score_cases.py).
"""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

SOURCE = Path(__file__).resolve().parents[2]
HOVA = Path(os.environ.get("HOVA_BUILD", SOURCE / "build")) / "bin/hova"
TARGETS = {
    "native": (["--march=native"], 1e-5),
    "x86-64-v3": (["--march=x86-64-v3"], 1e-5),
    "bf16": (["--dtype=bf16"], 2e-2),
    "gpu": (["--target=cuda-emulated", "--dtype=bf16"], 2e-2),
    "gpu-f16": (["--target=cuda-emulated", "--dtype=f16"], 3e-3),
    "gpu-f32": (["--target=cuda-emulated", "--dtype=f32"], 1e-5),
}
BATCH, QUERIES, WIDTH, HEADS = 2, 19, 12, 2
# Less than a vector, and more than a block of keys.
LENGTHS = (9, 150)
FORMS = {
    "none": ("max(score, 0)", lambda s: np.maximum(s, 0)),
    "sum": ("abs(score) + 0.25", lambda s: np.abs(s) + 0.25),
}


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def describe(keys, normalize, score):
    inputs = {name: {"shape": [BATCH, rows, WIDTH]} for name, rows in (("q", QUERIES), ("k", keys), ("v", keys))}
    inputs |= {"valid": {"shape": [BATCH, keys], "dtype": "bool"}, "bias": {"shape": [keys]}}
    layer = {"name": "y", "op": "attention", "query": "q", "key": "k", "value": "v", "heads": HEADS, "key_valid": "valid",
             "keep": "key < query + 4", "score": f"{score} + bias[key]", "normalize": normalize}
    return {"hova": 1, "name": "weights", "inputs": inputs, "layers": [layer], "outputs": {"y": "y"}}


def attend(x, normalize, function):
    heads = {name: x[name].astype(np.float64).reshape(BATCH, -1, HEADS, WIDTH // HEADS).transpose(0, 2, 1, 3) for name in "qkv"}
    keys = x["k"].shape[1]
    kept = (np.arange(keys) < np.arange(QUERIES)[:, None] + 4) & x["valid"][:, None, None, :]
    with np.errstate(invalid="ignore"):
        scores = function(heads["q"] @ heads["k"].swapaxes(2, 3) / np.sqrt(WIDTH // HEADS)) + x["bias"].astype(np.float64)
        weights = np.where(kept & ~np.isneginf(scores), scores, 0)
        if normalize == "sum":
            total = weights.sum(-1, keepdims=True)
            weights = np.where(total == 0, 0, weights / np.where(total == 0, 1, total))
        return (weights @ heads["v"]).transpose(0, 2, 1, 3).reshape(BATCH, QUERIES, WIDTH)


def numbers(keys, seed):
    """Of the digits of bf16. Nobody counts in the second entry; a bias is -inf."""
    random = np.random.default_rng(seed)
    def draw(*shape):
        return (random.normal(size=shape).astype(np.float32).view(np.uint32) & 0xFFFF0000).view(np.float32)

    x = {"q": draw(BATCH, QUERIES, WIDTH), "k": draw(BATCH, keys, WIDTH), "v": draw(BATCH, keys, WIDTH)}
    x["valid"] = random.random((BATCH, keys)) < 0.8
    x["valid"][0, :2] = True
    x["valid"][1] = False
    x["bias"] = np.abs(draw(keys))
    x["bias"][1] = -np.inf
    return x


def results(program, folder, x):
    words = []
    for name, value in x.items():
        np.save(folder / f"{name}.npy", value)
        words += ["--input", f"{name}={folder}/{name}.npy"]
    run(program, *words, "--output-dir", folder / "out")
    return np.load(folder / "out/y.npy")


@pytest.mark.parametrize("normalize", FORMS)
@pytest.mark.parametrize("target", TARGETS)
def test_weights_are_those_of_numpy(target, normalize, tmp_path):
    score, function = FORMS[normalize]
    options, limit = TARGETS[target]
    for keys in LENGTHS:
        (tmp_path / "model.json").write_text(json.dumps(describe(keys, normalize, score)))
        run(HOVA, "compile", tmp_path / "model.json", *options, "--quiet", "-o", tmp_path / "program")
        x = numbers(keys, 3)
        want = attend(x, normalize, function)
        got = results(tmp_path / "program", tmp_path, x)
        np.testing.assert_allclose(got, want, rtol=limit, atol=limit * np.abs(want).max())
        assert not got[1].any()  # no key counts
        # What hidden keys hold changes no bit.
        hidden = {name: value.copy() for name, value in x.items()}
        hidden["k"][~x["valid"]] = np.nan
        assert results(tmp_path / "program", tmp_path, hidden).tobytes() == got.tobytes()
        # A NaN of a key that counts reaches the queries that see it, and no others.
        hidden["k"][0, 5], hidden["valid"][0, 5] = np.nan, True
        got = results(tmp_path / "program", tmp_path, hidden)
        assert np.isnan(got[0]).all(-1).tolist() == [5 < query + 4 for query in range(QUERIES)]


@pytest.mark.parametrize("target", TARGETS)
def test_scores_too_large_for_their_type_have_a_mean(target, tmp_path):
    """Weights over their sum are at most 1, also where scores are beyond what f16 has."""
    options, limit = TARGETS[target]
    (tmp_path / "model.json").write_text(json.dumps(describe(150, "sum", "abs(score) * 2**20 + 2**18")))
    run(HOVA, "compile", tmp_path / "model.json", *options, "--quiet", "-o", tmp_path / "program")
    x = numbers(150, 4)
    want = attend(x, "sum", lambda s: np.abs(s) * 2**20 + 2**18)
    got = results(tmp_path / "program", tmp_path, x)
    np.testing.assert_allclose(got, want, rtol=limit, atol=limit * np.abs(want).max())


@pytest.mark.parametrize("power", [-122, 122])
@pytest.mark.parametrize("target", TARGETS)
def test_sums_of_any_size_divide(target, power, tmp_path):
    """Also those whose reciprocal is no normal number."""
    options, limit = TARGETS[target]
    (tmp_path / "model.json").write_text(json.dumps(describe(150, "sum", f"(abs(score) + 0.25) * {2.0**power}")))
    run(HOVA, "compile", tmp_path / "model.json", *options, "--quiet", "-o", tmp_path / "program")
    x = numbers(150, 5)
    x["bias"][:] = 0
    sums = attend({**x, "v": np.ones_like(x["v"])}, "none", lambda s: np.ldexp(np.abs(s) + 0.25, power))[0]
    assert (sums.max() < 2.0**-116 if power < 0 else 2.0**126 < sums.max() < np.finfo(np.float32).max)
    want = attend(x, "sum", lambda s: np.abs(s) + 0.25)
    np.testing.assert_allclose(results(tmp_path / "program", tmp_path, x), want, rtol=limit, atol=limit * np.abs(want).max())


@pytest.mark.parametrize("target", TARGETS)
def test_reciprocals_of_any_size(target, tmp_path):
    """1 / x where it is a number of f32 and no normal one, and where x is none."""
    options, limit = TARGETS[target]
    for power in (126, -127):
        score = f"1 / ((2 + tanh(score)) * {2.0**power}) * {2.0**power}"
        (tmp_path / "model.json").write_text(json.dumps(describe(9, "sum", score)))
        run(HOVA, "compile", tmp_path / "model.json", *options, "--quiet", "-o", tmp_path / "program")
        x = numbers(9, 6)
        x["bias"][:] = 0
        want = attend(x, "sum", lambda s: 1 / (2 + np.tanh(s)))
        np.testing.assert_allclose(results(tmp_path / "program", tmp_path, x), want, rtol=limit, atol=limit * np.abs(want).max())
