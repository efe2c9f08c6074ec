# ===- test_denominators.py - Sums that results are divided by -------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Linear attention divides by a sum of products of features. Its result is an ordinary number
where the sum is as large as f32 allows, and where it is far below f32.

What is right is NumPy's float64, by the formulas of docs/description.md. One query lies
between keys; all features are tiny, or as large as they may be, and differ among keys.
"""

import itertools
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from programs import program_of  # noqa: E402

# Tokens: one, more than a vector, and more than a block of keys.
TOKENS = (1, 19, 213)
WIDTH = 7  # of a value


def features(kind, x, weight):
    """phi(x), without the eps that these tests set to 0."""
    if kind == "relu":
        return np.maximum(x @ weight.T, 0)
    products = x @ weight.T
    half = (x**2).sum(-1, keepdims=True) / 2
    shift = 0 if kind == "exp" else products.max(-1 if kind == "query" else None, keepdims=True)
    return np.exp(products - half - shift) / np.sqrt(len(weight))


def attend(kernel, q, k, v, weight, causal, denominator_eps):
    """Row by row: what the operator computes on the keys that the row sees."""
    rows = []
    for i in range(len(q)):
        seen = slice(0, i + 1 if causal else len(k))
        roles = ("query", "key") if kernel == "softmax" else (kernel, kernel)
        scores = features(roles[0], q[i : i + 1], weight) @ features(roles[1], k[seen], weight).T
        denominator = scores.sum() + denominator_eps
        rows.append((scores @ v[seen] / denominator if denominator else np.zeros((1, v.shape[1])))[0])
    return np.array(rows)


def check(folder, kernel, q, k, v, weight, causal=False, denominator_eps=0.0, options=()):
    tokens, width = k.shape
    layer = {"name": "a", "op": "attention", "query": "q", "key": "k", "value": "v", "heads": 1, "kind": "performer",
             "kernel": kernel, "features": len(weight), "scale": 1, "causal": causal, "denominator_eps": denominator_eps}
    if kernel != "exp":
        layer |= {"eps": 0, "stabilizer": 0}
    inputs = {"q": q, "k": k, "v": v}
    shapes = {name: {"shape": [1, *value.shape]} for name, value in inputs.items()}
    description = json.dumps({"hova": 1, "name": "m", "inputs": shapes, "layers": [layer], "outputs": {"y": "a"}})
    program = program_of(description, save({"a.features": weight.astype(np.float32)}), tuple(options))
    command = [program, "--output", folder / "y.npy"]
    for name, value in inputs.items():
        np.save(folder / f"{name}.npy", value[None].astype(np.float32))
        command += ["--input", f"{name}={folder / name}.npy"]
    subprocess.run([str(part) for part in command], check=True)
    q, k, v, weight = (a.astype(np.float32).astype(np.float64) for a in (q, k, v, weight))
    want = attend(kernel, q, k, v, weight, causal, denominator_eps)
    assert np.isfinite(want).all()
    assert np.abs(want).max() > 0.01  # ordinary numbers, however small the sums
    # An exponent of 100 is off by 4e-6, which its exponential shows.
    np.testing.assert_allclose(np.load(folder / "y.npy")[0], want, rtol=0, atol=2e-4)


def drawn(tokens, width, seed=1):
    draw = np.random.default_rng(seed)
    return draw.uniform(-1, 1, (tokens, width)), draw.uniform(-1, 1, (tokens, width)), draw.uniform(-1, 1, (tokens, WIDTH))


def around(exponent, tokens, count):
    """Queries, keys and features whose products are e^exponent, a few times more or less."""
    q, k, v = drawn(tokens, 2)
    length = np.sqrt(abs(exponent))
    far = np.array([length, 0])
    spread = np.array([0.0, 0.7])
    weight = np.random.default_rng(2).uniform(-0.5, 0.5, (count, 2)) * [0, 1]
    if exponent > 0:
        weight[:, 0] = length  # w x - x^2 / 2 = x^2 / 2
    return far + spread * q, far + spread * k, v, weight


# e^88.7 is the largest float, e^-87.3 the least normal one and e^-103 the least of all.
@pytest.mark.parametrize("exponent", [-150, -103, -90, -88, -45, 0, 45, 80, 84])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("tokens", TOKENS)
def test_exponentials_of_any_size(exponent, causal, tokens, tmp_path):
    if exponent == 84 and tokens == TOKENS[-1]:
        exponent = 82  # so many terms of e^84 leave f32
    check(tmp_path, "exp", *around(exponent, tokens, 256), causal=causal)


@pytest.mark.parametrize("march", ["x86-64-v3", "native"])
@pytest.mark.parametrize("exponent, causal", itertools.product([-140, -90, 84], [False, True]))
def test_exponentials_of_any_size_on_both_levels(march, exponent, causal, tmp_path):
    check(tmp_path, "exp", *around(exponent, 19, 20), causal=causal, options=[f"--march={march}"])


@pytest.mark.parametrize("size", [1e-30, 1e-24, 1e-20, 1e-16, 1, 1e10])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("tokens", TOKENS)
def test_rectified_features_of_any_size(size, causal, tokens, tmp_path):
    q, k, v = drawn(tokens, 8)
    weight = np.random.default_rng(3).uniform(-1, 1, (20, 8))
    check(tmp_path, "relu", size * q, size * k, v, weight, causal=causal)


@pytest.mark.parametrize("far", [0, 5, 9, 12])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("tokens", TOKENS)
def test_features_below_their_maximum(far, causal, tokens, tmp_path):
    """|x|^2 / 2 is not part of the maximum: features are all small where x is far from 0."""
    q, k, v, weight = around(-far * far if far else -1e-9, tokens, 20)
    check(tmp_path, "softmax", q, k, v, weight, causal=causal)


@pytest.mark.parametrize("eps", [2**-140, 1e-39, 1e-30, 1e-20])
@pytest.mark.parametrize("causal", [False, True])
def test_what_is_added_to_a_sum_of_its_size(eps, causal, tmp_path):
    q, k, v, weight = around(np.log(eps), 19, 20)
    check(tmp_path, "exp", q, k, v, weight, causal=causal, denominator_eps=eps)


@pytest.mark.parametrize("causal", [False, True])
def test_large_queries_of_keys_that_are_nothing(causal, tmp_path):
    """Queries are enlarged as their sum is small; what meets no key does not become infinite."""
    q, k, v = drawn(5, 2)
    q, k = np.abs(q) + 0.1, np.abs(k) + 0.1
    q, k = q * [1e-25, 1e30], k * [1e-5, -1]  # feature 1 of keys is 0
    check(tmp_path, "relu", q, k, v, np.eye(2), causal=causal)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("queries, keys", [(1e15, 1e-37), (1e-37, 1e15), (1e20, 1e-37)])
def test_features_of_different_sizes(queries, keys, causal, tmp_path):
    q, k, v = drawn(19, 4)
    check(tmp_path, "relu", (np.abs(q) + 0.1) * queries, (np.abs(k) + 0.1) * keys, v, np.eye(4), causal=causal)
