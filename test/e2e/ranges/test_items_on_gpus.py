# ===- test_items_on_gpus.py - A program for a GPU and every number of items ------=== #
# SPDX-License-Identifier: Apache-2.0
"""A program for a GPU with a range of items gives each run what the program of that many gives, bit for bit. The judge does not
divide the inner dimension of products, which a program of few items does for speed, and one of any number never. Nothing here runs
on a GPU: kernels are emulated, with checks that none reads or writes an item that a run has not, or executed by an interpreter of
PTX behind a stand-in for the driver."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from reduced_models import MODELS, draw, settings_of

ROOT = Path(__file__).resolve().parents[3]
HOVA = Path(os.environ["HOVA_BUILD"]) / "bin/hova"
sys.path[:0] = [str(ROOT / "tools/python"), str(ROOT / "test/codegen/cuda")]
import hova  # noqa: E402
import stand_in  # noqa: E402

MOST = 3
SMALL = {"width": 48, "heads": 3, "depth": 1, "vocab": 50, "classes": 10}
# Blocks of rows that end with an item and within one, sequences along the grid, kernels that gather.
CASES = {
    "images": ("vit_b16", {"image": 48, "horizontal": True, "vertical": True}, ()),
    "windows": ("swin_t", {"width": 24, "heads": 1, "depths": [2, 2, 2, 2]}, ("--dtype=bf16",)),
    "translation": ("vanilla_hv", {"src_len": 13, "tgt_len": 11}, ("--dtype=f16",)),
    "meshed memory": ("m2", {"slots": 5, "feature_width": 40, "regions": 13, "length": 9}, ()),
    "all tokens, performer": ("omninet_mt", {"src_len": 13, "tgt_len": 11}, ()),
    "blocks of keys": ("bigbird_base", {"length": 64, "block_size": 4, "random_blocks": 1}, ()),
    "projected keys": ("lra", {"attention": "linformer", "length": 40}, ()),
}


def run(*words, **environment):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, env={**os.environ, **environment})
    assert done.returncode == 0, done.stderr
    return done.stdout


def compile_case(name, path, target, batch, *options):
    model, changed, of_case = CASES[name]
    settings = settings_of(model, {**SMALL, **changed})
    run(HOVA, "compile", MODELS / f"{model}.json", *settings, f"--set=batch={batch}", f"--target={target}", "-q", "--init=1", *of_case, *options, "-o", path)


@pytest.mark.parametrize("name", CASES)
def test_runs_have_the_bits_of_their_own_program(name, tmp_path):
    random = np.random.default_rng(5)

    def load(batch, *options):
        compile_case(name, tmp_path / f"m{batch}.so", "cuda-emulated", batch, "--emit=lib", *options)
        return hova.load(tmp_path / f"m{batch}.so")

    program = load(f"1..{MOST}")
    for items in (MOST, 1):
        fixed = load(items, "--without=hova-split-reductions")
        given = {tensor.name: draw(random, tensor) for tensor in fixed.inputs}
        found = program(given)
        for output, value in fixed(given).items():
            assert found[output].shape == value.shape and found[output].tobytes() == value.tobytes(), (items, output)


@pytest.mark.parametrize("causal", (False, True))
def test_narrow_sums_have_the_bits_of_their_own_program(causal, tmp_path):
    """Factors are rounded by the pass that divides sums: here no product is long enough to be divided, and it is in the judge."""
    layer = {"name": "y", "op": "multi_head_attention", "input": "x", "heads": 3, "kind": "performer", "causal": causal}
    model = {"hova": 1, "name": "m", "parameters": {"batch": 1}, "inputs": {"x": {"shape": ["batch", 70, 48]}}, "layers": [layer], "outputs": {"y": "y"}}
    (tmp_path / "model.json").write_text(json.dumps(model))
    x = np.random.default_rng(1).standard_normal((MOST, 70, 48), np.float32)
    found = {}
    for batch in (f"1..{MOST}", MOST):
        words = (f"--set=batch={batch}", "--target=cuda-emulated", "--dtype=bf16", "--init=1", "-q")
        assert "narrow" in run(HOVA, "compile", tmp_path / "model.json", *words, "--emit=mlir", "--stop-after=fuse", "-o", "-")
        run(HOVA, "compile", tmp_path / "model.json", *words, "--emit=lib", "-o", tmp_path / f"m{batch}.so")
        found[batch] = hova.load(tmp_path / f"m{batch}.so")
    assert found[MOST](x)["y"].tobytes() == found[f"1..{MOST}"](x)["y"].tobytes()
    assert found[f"1..{MOST}"](x[1:2])["y"].tobytes() == found[MOST](x)["y"][1:2].tobytes()


def test_a_driver_is_given_the_sizes_of_each_run(tmp_path):
    """The graph that was recorded for the largest sizes runs others."""
    compile_case("images", tmp_path / "device", "cuda", f"1..{MOST}", "--ptxas=none")
    compile_case("images", tmp_path / "emulated", "cuda-emulated", f"1..{MOST}")
    for items in (1, MOST):
        words = ("--random-inputs", 7, "--set", f"batch={items}")
        (tmp_path / "launches").mkdir(exist_ok=True)
        run(tmp_path / "device", *words, "--output", f"logits={tmp_path}/device.npy", **stand_in.environment(tmp_path / "launches"))
        run(tmp_path / "emulated", *words, "--output", f"logits={tmp_path}/emulated.npy")
        device, emulated = (np.load(tmp_path / f"{kind}.npy") for kind in ("device", "emulated"))
        assert device.shape == (items, 10)
        np.testing.assert_allclose(device, emulated, rtol=1e-5, atol=1e-6)
