# ===- test_digits.py - The demo against two others ---------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""examples/01-digits: the compiled model, the framework and the NumPy oracle agree.

The framework's logits were stored when the model was trained. The oracle computes
them again in float64 from the papers' equations and the committed weights.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("HOVA_BUILD", SOURCE / "build"))
EXAMPLE = SOURCE / "examples/01-digits"
HEADS, HIDDEN, EPS = 4, 96, 1e-6

sys.path.insert(0, str(SOURCE / "test/golden"))
import oracle  # noqa: E402
from net import Net  # noqa: E402


def layer(net, path, x):
    normed = net.layer_norm(f"{path}.norm1", x, EPS)
    vertical = {"width": x.shape[-1] // 4}
    x = x + net.multi_head_attention(
        f"{path}.attn", normed, HEADS, horizontal=True, vertical=vertical
    )
    normed = net.layer_norm(f"{path}.norm2", x, EPS)
    return x + net.feed_forward(f"{path}.ffn", normed, HIDDEN, "gelu_tanh")


def oracle_logits(images, weights):
    """digits.json in float64; every weight must be used."""
    net = Net("digits")
    net.weights = dict(weights)
    x = net.linear("patches", oracle.patches(images.astype(np.float64), 2), 48)
    first = np.broadcast_to(net.weight("tokens.weight", 48), (len(x), 1, 48))
    x = np.concatenate([first, x], axis=1) + net.weight("placed.weight", 17, 48)
    first = layer(net, "early.0", x)
    second = layer(net, "early.1", first)
    omni = net.omni_attention("omni", [first, second], HEADS, HIDDEN, activation="gelu_tanh", eps=EPS)
    x = layer(net, "late", second + omni)
    logits = net.linear("head", net.layer_norm("norm", x, EPS)[:, 0], 10)
    assert net.weights.keys() == weights.keys()
    return logits


@pytest.fixture(scope="module")
def files():
    stored = {p.stem: np.load(p) for p in EXAMPLE.glob("*.npy")}
    weights = load_file(EXAMPLE / "weights.safetensors")
    stored["oracle"] = oracle_logits(stored["images"], weights)
    return stored


def errors(logits, exact):
    """Largest and root-mean-square error."""
    difference = np.abs(logits.astype(np.float64) - exact)
    return difference.max(), np.sqrt(np.mean(difference**2))


def test_framework_agrees_with_the_equations(files):
    assert errors(files["logits"], files["oracle"])[0] < 1e-5
    assert (files["oracle"].argmax(1) == files["labels"]).mean() >= 0.97


def test_compiled_model_agrees_with_both(files):
    done = subprocess.run(
        [EXAMPLE / "run", BUILD / "bin/hova"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    right = (files["logits"].argmax(1) == files["labels"]).sum()
    assert f"{right} of 400 held-out images" in done.stdout

    ours = np.load(SOURCE / "build/demo/logits.npy")
    assert (ours.argmax(1) == files["logits"].argmax(1)).all()
    # Tier T3 of the numeric policy: twice the framework's own error and 4 ULP.
    slack = 4 * np.spacing(np.abs(files["oracle"]).max().astype(np.float32))
    bounds = errors(files["logits"], files["oracle"])
    for mine, framework in zip(errors(ours, files["oracle"]), bounds):
        assert mine <= 2 * framework + slack
