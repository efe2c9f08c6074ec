# ===- test_norms_behind_products.py - Norms without a launch ---------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Norms that are applied behind the products that read them, in programs for GPUs, which the processor emulates: numbers, launches,
and where they stay. Nothing here runs on a GPU."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HOVA = Path(os.environ["HOVA_BUILD"]) / "bin" / "hova"
EMULATED = ["--target=cuda-emulated"]
SETS = {"vit_b16": ["depth=2", "width=96", "heads=3", "image=64", "batch=2"],
        "lm": ["depth=2", "width=96", "heads=3", "vocab=300", "length=70"]}


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def launches(model, *options):
    text = run(HOVA, "explain", model, "--target=cuda", "--ptxas=none", *options)
    (count,) = re.findall(r"starts of (\d+) launches", text)
    return int(count)


def of_example(name):
    return ROOT / f"examples/models/{name}.json", *(f"--set={size}" for size in SETS[name])


def stream(folder, mean, kind):
    """A residual to which a product is added, and a norm of both before another product; the bias of the first gives the rows a mean."""
    norm = {"name": "norm", "op": "layer_norm", "input": "sum"} | ({"center": False} if kind == "rms" else {})
    layers = [{"name": "hidden", "op": "linear", "input": "x", "width": 160}, {"name": "active", "op": "activation", "input": "hidden", "kind": "relu"},
              {"name": "product", "op": "linear", "input": "active", "width": 96, "init": {"bias": {"kind": "constant", "value": mean}}},
              {"name": "sum", "op": "add", "inputs": ["x", "product"]}, norm,
              {"name": "last", "op": "linear", "input": "norm", "width": 72}]
    path = folder / "stream.json"
    path.write_text(json.dumps({"hova": 1, "name": "stream", "inputs": {"x": {"shape": [2, 19, 96]}}, "layers": layers,
                                "outputs": {"y": "last"}}))
    return path


@pytest.mark.parametrize("name, saved", [("vit_b16", 4), ("lm", 4)])
def test_norms_have_no_launches(name, saved):
    """Of two layers with two norms each the first is that of what begins, and the last norm is another."""
    model = of_example(name)
    assert launches(*model, "--dtype=bf16", "--without=hova-normalize-norms") - launches(*model, "--dtype=bf16") == saved
    assert "verified: 3 cases" in run(HOVA, "verify", *model, "--dtype=bf16", *EMULATED)


@pytest.mark.parametrize("options", [["--dtype=bf16", "--strict"], ["--dtype=f32"], ["--dtype=f16"], ["--dtype=bf16", "--without=hova-normalize-norms"]])
def test_norms_stay(options):
    text = run(HOVA, "compile", *of_example("vit_b16"), *options, "--target=cuda", "--emit=mlir", "--stop-after=normalize", "-o", "-", "--quiet")
    assert "hova.divide_by_rms" not in text and "hova.center" not in text and text.count("hova.layer_norm") == 5


@pytest.mark.parametrize("mean", [0, 40])
@pytest.mark.parametrize("kind", ["standard", "rms"])
def test_a_mean_takes_no_digits(mean, kind, tmp_path):
    """Rows of bf16 whose mean is twenty deviations would be wrong in the first digit, were it subtracted behind the product."""
    model = stream(tmp_path, mean, kind)
    assert "verified: 3 cases" in run(HOVA, "verify", model, "--init=0", "--dtype=bf16", *EMULATED)
    text = run(HOVA, "compile", model, "--dtype=bf16", "--target=cuda", "--emit=mlir", "--stop-after=normalize", "-o", "-", "--quiet")
    assert text.count("hova.divide_by_rms") == 1 and ("hova.center" in text) == (kind == "standard")


@pytest.mark.parametrize("without", ["hova-fuse-kernels", "hova-split-reductions", "hova-fuse-kernels,hova-split-reductions"])
def test_each_operation_has_a_kernel(without):
    """As when programs are bisected."""
    assert "verified: 1 case" in run(HOVA, "verify", *of_example("vit_b16"), "--dtype=bf16", "--cases=1", f"--without={without}", *EMULATED)


def test_levels_share_an_image(tmp_path):
    """What norms become is decided before weights are folded, alike for all levels."""
    images = []
    for level in ("sm_80", "sm_90a"):
        image = tmp_path / level
        run(HOVA, "weights", "pack", *of_example("vit_b16"), "--init=0", "--dtype=bf16", "--target=cuda", f"--gpu-arch={level}", "-o", image)
        images.append(image.read_bytes())
    assert images[0] == images[1]
