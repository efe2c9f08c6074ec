# ===- test_modelled_times.py - The model of times beside an H100 --------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""`hova explain` models how long launches take. Here are times that an H100 was measured to take
(docs/performance-on-gpus.md), and how far from them the model may be. Nothing runs on a GPU."""

import json
import os
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[4]
HOVA = Path(os.environ["HOVA_BUILD"]) / "bin" / "hova"
# Microseconds of a launch: rows, columns and depth of a product with a bias...
PRODUCTS = {(197, 2304, 768): 8.5, (197, 3072, 768): 8.1, (197, 1536, 384): 3.8, (1576, 2304, 768): 19.0,
            (1576, 768, 3072): 35.2, (6304, 2304, 768): 59.7, (6304, 768, 3072): 98.5, (3136, 288, 96): 3.7}
# ...and items, tokens and heads of 64 columns of an attention.
ATTENTIONS = {(1, 197, 12): 4.2, (8, 197, 12): 8.4, (32, 197, 12): 23.9, (1, 1024, 12): 16.5, (4, 1024, 12): 41.6}
# Microseconds of a run, when norms had launches of their own, by model and batch.
MODELS = {("vit_b16", 8): 1474, ("bert_base", 8): 1213, ("lm", 8): 648, ("swin_t", 1): 555}
# The most that a run for 9.0 may take by the model, without what it does not explain.
GROUPED = {("vit_b16", 8): 690, ("vit_b16", 1): 270, ("bert_base", 8): 570, ("lm", 8): 335}


def explain(model, *words):
    done = subprocess.run([HOVA, "explain", model, "--target=cuda", "--dtype=bf16", "--format=json", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)["device"]
    if "assembler" not in report:
        pytest.skip("without ptxas nobody knows how many blocks a multiprocessor holds")
    return report


def time_of(tmp_path, inputs, layer, *words):
    """Of the launch that multiplies, with its start."""
    model = {"hova": 1, "name": "timed", "inputs": {name: {"shape": shape} for name, shape in inputs.items()},
             "layers": [{"name": "y", **layer}], "outputs": {"y": "y"}}
    (tmp_path / "timed.json").write_text(json.dumps(model), encoding="utf-8")
    (kernel,) = [kernel for kernel in explain(tmp_path / "timed.json", "--gpu-arch=sm_80", *words)["kernels"] if kernel["flops"]]
    return 2.0 + kernel["modelled_us"]


@pytest.mark.parametrize("rows, columns, depth", PRODUCTS)
def test_products_are_modelled(rows, columns, depth, tmp_path):
    time = time_of(tmp_path, {"x": [1, rows, depth]}, {"op": "linear", "input": "x", "width": columns}, "--without=hova-split-reductions")
    assert 0.85 < time / PRODUCTS[rows, columns, depth] < 1.18


@pytest.mark.parametrize("items, tokens, heads", ATTENTIONS)
def test_attentions_are_modelled(items, tokens, heads, tmp_path):
    inputs = dict.fromkeys(("q", "k", "v"), [items, tokens, 64 * heads])
    time = time_of(tmp_path, inputs, {"op": "attention", "query": "q", "key": "k", "value": "v", "heads": heads})
    assert 0.85 < time / ATTENTIONS[items, tokens, heads] < 1.15


@pytest.mark.parametrize("name, batch", MODELS)
def test_models_are_modelled(name, batch):
    report = explain(SOURCE / f"examples/models/{name}.json", f"--set=batch={batch}", "--gpu-arch=sm_80", "--without=hova-normalize-norms")
    assert all("modelled_us" in kernel for kernel in report["kernels"])
    time = report["modelled_starts_us"] + report["modelled_kernels_us"] + report["unexplained_us"]
    assert 0.78 < time / MODELS[name, batch] < 1.2


@pytest.mark.parametrize("name, batch", GROUPED)
def test_tiles_of_groups_of_warps_are_those_that_the_model_prefers(name, batch):
    """With tiles by figures of a table, and residuals loaded behind the loop, ViT-B/16 takes 857 and 315 us."""
    report = explain(SOURCE / f"examples/models/{name}.json", f"--set=batch={batch}", "--gpu-arch=sm_90a")
    assert report["modelled_starts_us"] + report["modelled_kernels_us"] < GROUPED[name, batch]


def test_a_causal_attention_takes_less_than_one_of_all_keys(tmp_path):
    """Its turns follow from the place of a block in the grid."""
    inputs = dict.fromkeys(("q", "k", "v"), [8, 1024, 768])
    layer = {"op": "attention", "query": "q", "key": "k", "value": "v", "heads": 12}
    of_all, causal = (time_of(tmp_path, inputs, layer | more) - 2.0 for more in ({}, {"causal": True}))
    assert 0.45 * of_all < causal < 0.75 * of_all


def test_levels_that_nothing_was_compared_with_have_no_times(tmp_path):
    model = {"hova": 1, "name": "p", "inputs": {"x": {"shape": [1, 64, 64]}}, "layers": [{"name": "y", "op": "linear", "input": "x", "width": 64}], "outputs": {"y": "y"}}
    (tmp_path / "p.json").write_text(json.dumps(model), encoding="utf-8")
    for level, is_modelled in (("sm_80", True), ("sm_90a", True), ("sm_86", False), ("sm_120", False)):
        report = explain(tmp_path / "p.json", f"--gpu-arch={level}")
        assert [("modelled_us" in kernel) for kernel in report["kernels"]] == [is_modelled] * len(report["kernels"])
        assert ("modelled_kernels_us" in report) == is_modelled


def test_what_a_run_decides_has_no_time(tmp_path):
    """The lengths of items are in a table, so that nobody knows how many keys there are."""
    model = {"hova": 1, "name": "a", "parameters": {"items": {"min": 1, "max": 4}, "length": {"min": 1, "max": 300}},
             "inputs": {"x": {"shape": ["items", "length", 64]}}, "layers": [{"name": "y", "op": "multi_head_attention", "input": "x", "heads": 1}], "outputs": {"y": "y"}}
    (tmp_path / "a.json").write_text(json.dumps(model), encoding="utf-8")
    report = explain(tmp_path / "a.json", "--gpu-arch=sm_80")
    assert [kernel["name"] for kernel in report["kernels"] if "modelled_us" not in kernel] == ["kernel_y"]
    done = subprocess.run([HOVA, "explain", tmp_path / "a.json", "--target=cuda", "--gpu-arch=sm_80"], capture_output=True, text=True, check=True)
    assert "H100, but for 1 whose turns a run decides\n" in done.stdout
