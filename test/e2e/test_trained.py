# ===- test_trained.py - The trained examples against two others ----------------=== #
# SPDX-License-Identifier: Apache-2.0
"""The trained examples: the compiled model, the framework and the NumPy oracle agree.

The framework's logits were stored when a model was trained. The oracle computes them
again in float64 from the papers' equations and the committed weights.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("HOVA_BUILD", SOURCE / "build"))

sys.path.insert(0, str(SOURCE / "test/golden"))
import oracle  # noqa: E402
from net import Net  # noqa: E402


def digits_layer(net, path, x):
    normed = net.layer_norm(f"{path}.norm1", x, 1e-6)
    vertical = {"width": x.shape[-1] // 4}
    x = x + net.multi_head_attention(
        f"{path}.attn", normed, 4, horizontal=True, vertical=vertical
    )
    normed = net.layer_norm(f"{path}.norm2", x, 1e-6)
    return x + net.feed_forward(f"{path}.ffn", normed, 96, "gelu_tanh")


def digits(net, images):
    x = net.linear("patches", oracle.patches(images, 2), 48)
    first = np.broadcast_to(net.weight("tokens.weight", 48), (len(x), 1, 48))
    x = np.concatenate([first, x], axis=1) + net.weight("placed.weight", 17, 48)
    first = digits_layer(net, "early.0", x)
    second = digits_layer(net, "early.1", first)
    omni = net.omni_attention("omni", [first, second], 4, 96, activation="gelu_tanh", eps=1e-6)
    x = digits_layer(net, "late", second + omni)
    return net.linear("head", net.layer_norm("norm", x, 1e-6)[:, 0], 10)


def outlines_stage(net, path, x, side, heads):
    width = x.shape[-1]
    for index in range(2):
        block = f"{path}.{index}"
        window, shift = oracle.clamped((side, side), 4, index % 2 * 2)
        normed = net.layer_norm(f"{block}.norm1", x, 1e-5)
        x = x + net.window_attention(
            f"{block}.attn", normed, heads, (side, side), window, shift, relative_bias=True
        )
        normed = net.layer_norm(f"{block}.norm2", x, 1e-5)
        x = x + net.feed_forward(f"{block}.ffn", normed, 4 * width, "gelu_erf")
    return x


def outlines(net, pictures):
    x = net.linear("patches", oracle.patches(pictures, 3), 24)
    x = outlines_stage(net, "fine", net.layer_norm("patch_norm", x, 1e-5), 8, 3)
    x = net.layer_norm("merge_norm", oracle.merge_patches(x, (8, 8)), 1e-5)
    x = outlines_stage(net, "coarse", net.linear("reduced", x, 48, bias=False), 4, 6)
    return net.linear("head", net.layer_norm("norm", x, 1e-5).mean(axis=1), 6)


def brackets(net, tokens):
    x = net.weight("embed.weight", 8, 32)[tokens] + net.weight("placed.weight", 48, 32)
    states = []
    for index in range(2):
        path = f"encoder.{index}.plain"
        normed = net.layer_norm(f"{path}.norm1", x, 1e-6)
        x = x + net.multi_head_attention(
            f"{path}.attn", normed, 4, bias=False, kind="performer", features=16, causal=True
        )
        normed = net.layer_norm(f"{path}.norm2", x, 1e-6)
        x = x + net.feed_forward(f"{path}.ffn", normed, 64, "relu")
        states.append(x)
    x = x + net.omni_attention(
        "encoder.2.over", states, 4, 64, eps=1e-6, bias=False, kind="performer"
    )
    return net.linear("logits", net.layer_norm("norm", x, 1e-6).mean(axis=1), 6)


# The equations, the inputs' file, and how many samples the oracle computes: a causal
# performer goes query by query there.
EXAMPLES = {
    "01-digits": (digits, "images", 400),
    "03-outlines": (outlines, "pictures", 200),
    "04-brackets": (brackets, "tokens", 60),
}
# Where an example's `run` leaves its logits, and the least accuracy that is worth showing.
RESULTS = {"01-digits": "demo", "03-outlines": "demo/outlines", "04-brackets": "demo/brackets"}
ACCURACY = {"01-digits": 0.97, "03-outlines": 0.9, "04-brackets": 0.97}


@pytest.fixture(scope="module", params=EXAMPLES)
def example(request):
    """Its folder, its stored arrays by file, and the oracle's logits of the first samples."""
    equations, inputs, count = EXAMPLES[request.param]
    folder = SOURCE / "examples" / request.param
    stored = {path.stem: np.load(path) for path in folder.glob("*.npy")}
    net = Net(folder.name)
    net.weights = weights = load_file(folder / "weights.safetensors")
    names = set(weights)
    first = stored[inputs][:count]
    exact = equations(net, first if first.dtype == np.int32 else first.astype(np.float64))
    assert set(net.weights) == names  # every weight was used, and no other
    return folder, stored, exact


def errors(logits, exact):
    """Largest and root-mean-square error."""
    difference = np.abs(logits.astype(np.float64) - exact)
    return difference.max(), np.sqrt(np.mean(difference**2))


def test_framework_agrees_with_the_equations(example):
    folder, stored, exact = example
    assert errors(stored["logits"][: len(exact)], exact)[0] < 2e-5
    right = stored["logits"].argmax(1) == stored["labels"]
    assert right.mean() >= ACCURACY[folder.name]


def test_compiled_model_agrees_with_both(example):
    folder, stored, exact = example
    done = subprocess.run(
        [folder / "run", BUILD / "bin/hova"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    theirs = stored["logits"]
    right = (theirs.argmax(1) == stored["labels"]).sum()
    assert f"{right} of {len(theirs)} held-out" in done.stdout

    ours = np.load(SOURCE / "build" / RESULTS[folder.name] / "logits.npy")
    assert (ours.argmax(1) == theirs.argmax(1)).all()
    # Tier T3 of the numeric policy: twice the framework's own error and 4 ULP.
    slack = 4 * np.spacing(np.abs(exact).max().astype(np.float32))
    first = slice(len(exact))
    bounds = errors(theirs[first], exact)
    for mine, framework in zip(errors(ours[first], exact), bounds):
        assert mine <= 2 * framework + slack


def test_page_tells_the_accuracy_and_files_are_small(example):
    folder, stored, _ = example
    right = (stored["logits"].argmax(1) == stored["labels"]).sum()
    page = (folder / "README.md").read_text()
    assert re.findall(r"(\d+) of (\d+) held-out", page) == [(str(right), str(len(stored["labels"])))]
    assert (folder / "weights.safetensors").stat().st_size < 1_000_000
    files = [*folder.glob("*.npy"), *folder.glob("*.safetensors")]
    assert sum(path.stat().st_size for path in files) < 1_500_000
    for path in files:
        assert f"`{path.name}`" in page
