# ===- test_demands.py - "require": "fused" fails for a reason ----------------=== #
# SPDX-License-Identifier: Apache-2.0
"""A demanded fusion that does not take place ends compiling with status 1, at the place of its layer
and with the first reason; one description for each reason, and beside it one that is fused."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]
HOVA = Path(os.environ.get("HOVA_BUILD", SOURCE / "build")) / "bin/hova"


def hova(*arguments):
    return subprocess.run([HOVA, *map(str, arguments)], capture_output=True, text=True, check=False)


def layer(op, name="y", **keys):
    return {"name": name, "op": op, "input": "x", **keys}


def model(tmp_path, tokens, *layers, width=64):
    """The last layer is the output; each stands on a line of its own, from line 2 on."""
    lines = ",\n".join(json.dumps(entry) for entry in layers)
    rest = {"hova": 1, "name": "m", "inputs": {"x": {"shape": [1, tokens, width]}}}
    rest["outputs"] = {"o": layers[-1]["name"]}
    path = tmp_path / "m.json"
    path.write_text(f'{json.dumps(rest)[:-1]}, "layers": [\n{lines}]}}')
    return path


DEMAND = {"require": "fused"}
FFN = layer("feed_forward", hidden=1024, **DEMAND)
REWEIGHTED = layer("multi_head_attention", heads=4, width=512, horizontal=True, **DEMAND)
GATED = layer("multi_head_attention", heads=4, width=512, vertical={"width": 256}, **DEMAND)
OMNI = {"name": "y", "op": "omni_attention", "inputs": ["x", "x"], "heads": 2, "hidden": 64, **DEMAND}
JOINED = {"name": "c", "op": "concat", "inputs": ["x", "x"], "axis": 1, **DEMAND}
WIDER = {"name": "c", "op": "concat", "inputs": ["x", "x"], "axis": 2, **DEMAND}
POOLED = {"name": "y", "op": "pool", "input": "c", "kind": "mean"}
ATTENTION = {"name": "a", "op": "multi_head_attention", "input": "x", "heads": 2, "width": 128, "bias": False}
SUM = {"name": "y", "op": "add", "inputs": ["c", "a"]}
SCALED = {"name": "y", "op": "scale", "input": "c", "by": 2}

FEW_ROWS = r"dividing rows does not pay for 'hova\.linear': 64 rows against 96, and \d+ multiply-accumulates against \d+"

FAILS = {
    "few_rows_in_a_feed_forward": (64, [FFN], [], 2, rf"feed-forward .* \d+ bytes that 'hova\.activation' computes .*{FEW_ROWS}"),
    "few_rows_after_scaled_heads": (64, [REWEIGHTED], [], 2, rf"reweight .* 'hova\.scale_heads' computes .*{FEW_ROWS}"),
    "few_rows_in_a_gate": (64, [GATED], [], 2, rf"gate .*{FEW_ROWS}"),
    "heads_inside_of_an_omni_layer": (64, [OMNI], [], 2, r"omni .* 'hova\.attention' divides 1 batch x 2 head among threads, not rows"),
    "rows_of_others": (200, [JOINED, POOLED], [], 2, r"rearrangement .* 'hova\.pool' reads other rows of 'hova\.concat' than it computes"),
    "an_operand_that_comes_later": (200, [WIDER, ATTENTION, SUM], [], 2, r"rearrangement .* 'hova\.add' also reads 'hova\.\w+', which is computed in a later kernel"),
    "kernels_kept_apart": (200, [FFN], ["--without=hova-fuse-kernels"], 2, r"feed-forward .* every operation is to be a kernel of its own"),
}  # fmt: skip


@pytest.mark.parametrize("tokens, layers, options, line, reason", FAILS.values(), ids=FAILS)
def test_a_demand_fails_with_the_first_reason(tmp_path, tokens, layers, options, line, reason):
    path = model(tmp_path, tokens, *layers)
    done = hova("compile", path, "-o", tmp_path / "program", *options)
    assert done.returncode == 1, done.stderr
    expected = rf"m\.json:{line}:\d+: error: .*is required to be fused, but .*"
    message = next(text for text in done.stderr.splitlines() if "required" in text)
    assert re.search(expected, message), message
    assert re.search(reason.replace(" .* ", " is required to be fused, but .*", 1), message), message
    assert not (tmp_path / "program").exists()
    # Nobody demands it: the same program compiles.
    free = [{key: value for key, value in entry.items() if key != "require"} for entry in layers]
    done = hova("explain", model(tmp_path, tokens, *free), *options)
    assert done.returncode == 0, done.stderr
    assert "not fused" in done.stdout


FUSED = {
    "many_rows_in_a_feed_forward": (96, [FFN]),
    "many_rows_after_scaled_heads": (96, [REWEIGHTED]),
    "many_rows_in_a_gate": (96, [GATED]),
    "attention": (64, [{**ATTENTION, "name": "y", **DEMAND}]),
    "rows_of_their_own": (200, [WIDER, SCALED]),
    "one_operation": (1, [layer("linear", width=1024, **DEMAND)]),
    "a_norm": (1, [layer("layer_norm", **DEMAND)]),
}


@pytest.mark.parametrize("tokens, layers", FUSED.values(), ids=FUSED)
def test_a_demand_is_met(tmp_path, tokens, layers):
    done = hova("explain", model(tmp_path, tokens, *layers), "--format=json")
    assert done.returncode == 0, done.stderr
    demanded = layers[0]["name"]
    sites = [s for s in json.loads(done.stdout)["sites"] if s["path"].split(".")[0] == demanded]
    assert sites and all(site["fused"] for site in sites if site["kind"] != "rearrangement" or demanded == "c")


def test_a_site_that_misses_its_demand_is_explained_too(tmp_path):
    done = hova("explain", model(tmp_path, 64, FFN), "--format=json")
    assert done.returncode == 1
    site = json.loads(done.stdout)["sites"][0]
    assert site["kind"] == "feed-forward" and not site["fused"]
    assert site["why"] in done.stderr
