# ===- test_score_jumps.py - Scores that leap from one number to the next -------=== #
# SPDX-License-Identifier: Apache-2.0
"""What `floor`, `ceil` and comparisons are computed from is f32, operation by operation, as NumPy
has it: a unit in the last place would decide which key is seen. Compared bit by bit, on each target.

The weights of an attention whose values are an identity matrix are its result.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

SOURCE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "test"))
from campaigns import share  # noqa: E402

BUILD = Path(os.environ.get("HOVA_BUILD", SOURCE / "build"))
HOVA = BUILD / "bin/hova"
QUERIES, KEYS = 45, 164

f32 = np.float32
query = np.arange(QUERIES, dtype=f32)[:, None]
key = np.arange(KEYS, dtype=f32)[None, :]
DIVISORS = [3, 7, 11, 41, 49, 55, 107, 0.1, -0.3]
# Those that every target divides by: a reciprocal of 7 is wrong in a comparison, of 41 in a floor; the others are rounded themselves.
FEW = share(DIVISORS, of=9, first=3, always=[7, 0.1, -0.3])

# Whether a query sees a key, in hova's words and in NumPy's.
def kept_with(divisors):
    return {
        **{f"floor(query / {d}) == floor(key / {d})": np.floor(query / f32(d)) == np.floor(key / f32(d))
           for d in divisors},
        **{f"key / {d} <= 3": key / f32(d) <= 3 for d in divisors},
        **{f"{d} * query - {d} * key >= 0": f32(d) * query - f32(d) * key >= 0 for d in divisors},
        "key / 10 * 10 == key": key / f32(10) * f32(10) == key,
        "key / 49 + query / 49 < 1": key / f32(49) + query / f32(49) < 1,
        "0.1 * key + 0.2 * query != 0.3 * key": f32(0.1) * key + f32(0.2) * query != f32(0.3) * key,
        "1 / (key + 1) * (query + 1) == 1": f32(1) / (key + 1) * (query + 1) == 1,
        "sqrt(key * key / 7) <= key / sqrt(7)": np.sqrt(key * key / f32(7)) <= key / f32(np.sqrt(7)),
        "(key / 3) ** 5 > 243": (key / 3) ** 2 * (key / 3) ** 2 * (key / 3) > 243,
    }


# Scores, which are weights too.
def scores_with(divisors):
    return {
        **{f"floor(key / {d})": np.floor(key / f32(d)) for d in divisors},
        **{f"ceil((key - query) / {d})": np.ceil((key - query) / f32(d)) for d in divisors},
        "floor((key + 1) / 41 * 41)": np.floor((key + 1) / f32(41) * f32(41)),
        "floor(key / 4) * 0.5": np.floor(key / 4) * f32(0.5),
        "if(key / 7 == 3, 1, 0) + if(0.7 * key > 7, 2, 0)":
            (key / f32(7) == 3) * f32(1) + (f32(0.7) * key > 7) * f32(2),
        "floor(log2(key + 1))": np.floor(np.log2(key + 1)),
    }


KEPT, SCORES = kept_with(DIVISORS), scores_with(DIVISORS)
KEPT_OF_FEW, SCORES_OF_FEW = kept_with(FEW), scores_with(FEW)
# The first has all divisors.
NATIVE = ["--march=native"]
TARGETS = [NATIVE, ["--march=x86-64-v3"], ["--strict"], ["-O0"], ["--target=cuda-emulated"]]


def described(folder, keeps=(), scores=()):
    """A description whose output NUMBER is the weights of the expression of that number."""
    attention = {"op": "attention", "query": "q", "key": "k", "value": "v", "heads": 1, "normalize": "none"}
    layers = [attention | {"name": f"y{i}", "score": "1", "keep": text} for i, text in enumerate(keeps)]
    layers += [attention | {"name": f"y{i}", "score": text} for i, text in enumerate(scores)]
    model = folder / "model.json"
    inputs = {"q": {"shape": [1, QUERIES, 8]}, "k": {"shape": [1, KEYS, 8]}, "v": {"shape": [1, KEYS, KEYS]}}
    model.write_text(json.dumps({"hova": 1, "name": "jumps", "inputs": inputs, "layers": layers,
                                 "outputs": {layer["name"]: layer["name"] for layer in layers}}))
    return model


def results(folder, model, options):
    draw = np.random.default_rng(1)
    command = [HOVA, "compile", model, "-o", folder / "program", *options]
    subprocess.run(command, check=True, capture_output=True)
    for name, values in {"q": draw.standard_normal((1, QUERIES, 8)), "k": draw.standard_normal((1, KEYS, 8)),
                         "v": np.eye(KEYS)[None]}.items():
        np.save(folder / f"{name}.npy", values.astype(f32))
    inputs = [f"--input={name}={folder / name}.npy" for name in "qkv"]
    subprocess.run([folder / "program", *inputs, "--output-dir", folder], check=True)
    outputs = sorted(folder.glob("y*.npy"), key=lambda path: int(path.stem[1:]))
    return [np.load(path)[0] for path in outputs]


def compare(texts, found):
    assert len(texts) == len(found)
    for (text, wanted), got in zip(texts.items(), found, strict=True):
        np.testing.assert_array_equal(got, np.broadcast_to(wanted, got.shape).astype(f32), err_msg=text)


@pytest.mark.parametrize("options", TARGETS, ids=" ".join)
def test_the_keys_that_are_seen_are_those_of_f32(options, tmp_path):
    kept = KEPT if options == NATIVE else KEPT_OF_FEW
    compare(kept, results(tmp_path, described(tmp_path, keeps=kept), options))


@pytest.mark.parametrize("options", TARGETS, ids=" ".join)
def test_scores_that_leap_are_those_of_f32(options, tmp_path):
    scores = SCORES if options == NATIVE else SCORES_OF_FEW
    compare(scores, results(tmp_path, described(tmp_path, scores=scores), options))


@pytest.mark.parametrize("target", [[], ["--target=cuda-emulated"]], ids=["cpu", "emulated"])
@pytest.mark.parametrize("dtype", ["bf16", "f16"])
def test_the_type_of_storage_decides_nothing(dtype, target, tmp_path):
    found = results(tmp_path, described(tmp_path, keeps=KEPT_OF_FEW), [f"--dtype={dtype}", *target])
    compare(KEPT_OF_FEW, found)


def test_every_divisor_to_512(tmp_path):
    """Of these, 74 have a wrong floor where a product with the reciprocal stands for the quotient.

    Sums of integers below 2**24 are exact, and each floor has another weight in them.
    """
    texts = {}
    for first in range(2, 513, 32):
        weighed = list(enumerate(range(first, min(first + 32, 513)), start=1))
        text = " + ".join(f"{weight} * floor(key * 7 / {by})" for weight, by in weighed)
        texts[text] = sum(weight * np.floor(key * f32(7) / f32(by)) for weight, by in weighed)
    compare(texts, results(tmp_path, described(tmp_path, scores=texts), []))


def test_the_evaluator_says_the_same(tmp_path):
    """Float64 would have other floors."""
    model = described(tmp_path, keeps=KEPT)
    for name, shape in {"q": (1, QUERIES, 8), "k": (1, KEYS, 8)}.items():
        np.save(tmp_path / f"{name}.npy", np.ones(shape, f32))
    np.save(tmp_path / "v.npy", np.eye(KEYS, dtype=f32)[None])
    inputs = [f"--input={name}={tmp_path / name}.npy" for name in "qkv"]
    subprocess.run([HOVA, "evaluate", model, *inputs, "--output-dir", tmp_path], check=True)
    compare(KEPT, [np.load(tmp_path / f"y{i}.npy")[0] for i in range(len(KEPT))])


def test_verify_finds_no_difference(tmp_path):
    for texts in ({"keeps": KEPT_OF_FEW}, {"scores": SCORES_OF_FEW}):
        subprocess.run([HOVA, "verify", described(tmp_path, **texts)], check=True, capture_output=True)
