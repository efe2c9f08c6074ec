# ===- test_explain_diff.py - What two compilations decided differently ----------=== #
# SPDX-License-Identifier: Apache-2.0
"""hova explain --diff, and the sites that a description writes out by hand."""

import json
import os
import subprocess
from pathlib import Path

import pytest

HOVA = Path(os.environ["HOVA_BUILD"]) / "bin/hova"
EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
DIGITS = EXAMPLES / "01-digits/digits.json"
VIT = EXAMPLES / "models/vit_b32.json"


def hova(*words, status=0):
    done = subprocess.run([HOVA, *words], capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    return done.stdout if status == 0 else done.stderr


def differences(*words):
    return json.loads(hova("explain", *words, "--format=json"))


def test_same_compilation_differs_in_nothing(tmp_path):
    report = tmp_path / "report.json"
    report.write_text(hova("explain", DIGITS, "--format=json"))
    dump = tmp_path / "dump.mlir"
    hova("compile", DIGITS, "--emit=mlir", "--stop-after=assign", "-o", dump)
    sites = len(json.loads(report.read_text())["sites"])
    for other in (DIGITS, report, dump):
        found = differences(DIGITS, f"--diff={other}")
        assert found == {"model": "digits", "other_model": "digits", "unchanged": sites, "sites": [], "only_here": [],
                         "only_there": [], "rewrites": [], "schedules": []}
        assert hova("explain", DIGITS, f"--diff={other}") == f"0 sites changed kernels, {sites} did not\n"


def test_options_change_kernels_for_a_reason():
    found = differences(DIGITS, "--diff=--without=hova-normalize-projections")
    site = next(site for site in found["sites"] if site["path"] == "early.0.attn.horizontal")
    assert (site["here"]["fused"], site["there"]["fused"]) == (True, False)
    assert "which is computed in a later kernel; it joins if" in site["there"]["why"]
    left = {entry["path"]: entry.get("why") for entry in site["left"]}
    assert set(left) >= {"tokens", "early.0.attn.query"} and "later kernel" in left["early.0.attn.query"]
    assert {"kind": "linear", "path": "early.0.attn.key"} in found["only_there"]
    rewrite = next(entry for entry in found["rewrites"] if entry["path"] == "early.0.attn.query")
    assert rewrite["pass"] == "hova-normalize-projections" and rewrite["here"]["fired"] and rewrite["there"] is None
    text = hova("explain", DIGITS, "--diff=--without=hova-normalize-projections")
    assert "reweight early.0.attn.horizontal: fused in kernel early.1.attn.query; there not fused, in kernels early.0.attn.query, early.0.ffn.hidden\n  there 816 bytes" in text
    assert "\n  no longer with tokens, placed, early.0.norm1, early.0.attn.key, early.0.attn.value\n" in text
    assert "\n  there did not look\n" in text
    assert text.endswith(f"{len(found['sites'])} sites changed kernels, {found['unchanged']} did not\n")


def test_options_hold_for_both_unless_other_says_so():
    options = "--without=hova-normalize-projections"
    both = differences(DIGITS, options, f"--diff={DIGITS}")
    assert both["sites"] == both["rewrites"] == []


def test_level_changes_schedules_and_no_kernel():
    found = differences(DIGITS, "--march=x86-64-v4", "--diff=--march=x86-64-v3")
    assert found["sites"] == found["only_here"] == found["rewrites"] == []
    assert found["schedules"] and all(entry["here"] != entry["there"] for entry in found["schedules"])


def test_models_are_compared_where_both_have_a_site():
    found = differences(VIT, "--set=depth=2", "--diff=--set=horizontal=true")
    assert [site["kind"] for site in found["only_there"]] == ["reweight", "reweight"]
    # A layer that one of them lacks is no change of the kernels around it.
    assert found["sites"] == []
    both = differences(DIGITS, f"--diff={VIT} --set=depth=2 --quiet")
    assert both["other_model"] == "vit_b32" and both["only_here"] and both["only_there"]


def test_layers_that_repeat_are_told_once():
    text = hova("explain", VIT, "--march=x86-64-v4", "--diff=--march=x86-64-v3")
    assert "schedule of kernel encoder.0.attn and 10 more\n" in text or "schedule of kernel encoder.0.attn and 11 more\n" in text


@pytest.mark.parametrize("other, status, expected", [
    ("missing.json", 74, "missing.json: error: cannot read"),
    ("--strictt", 2, "unknown option '--strictt'; did you mean '--strict'?"),
    ("--dump-ir=x", 2, "option '--dump-ir' cannot stand in '--diff'"),
    ("--set=wdth=3", 1, "did you mean \"width\"?"),
    ("--diff=x", 2, "option '--diff' cannot stand in '--diff'"),
    ("a.json b.json", 2, "one description at a time"),
])
def test_mistakes_in_other(other, status, expected):
    assert expected in hova("explain", DIGITS, f"--diff={other}", status=status)


# ===------------------------------------------------------------------------=== #
# Sites that a description writes out
# ===------------------------------------------------------------------------=== #


def network(*layers, inputs=None):
    return {"hova": 1, "name": "net", "inputs": inputs or {"x": {"shape": [1, 96, 32]}}, "layers": list(layers), "outputs": {"y": layers[-1]["name"]}}


def linear(name, source="x", width=64):
    return {"name": name, "op": "linear", "input": source, "width": width}


def gated(width=64):
    return [linear("gate", "x", width), {"name": "share", "op": "activation", "input": "gate", "kind": "sigmoid"}, linear("up", "x", width),
            {"name": "gated", "op": "multiply", "inputs": ["share", "up"]}, linear("down", "gated", 32)]


def written(tmp_path, description, *options):
    path = tmp_path / "net.json"
    path.write_text(json.dumps(description))
    return json.loads(hova("explain", path, *options, "--format=json"))["written_out"], hova("explain", path, *options)


def test_gated_feed_forward_by_hand_is_named(tmp_path):
    sites, text = written(tmp_path, network(*gated()))
    assert [(site["kind"], site["path"], site["parts"]) for site in sites] == [("gated feed-forward", "down", ["gate", "share", "up", "gated", "down"])]
    assert "gated feed-forward down, written out as gate, share, up, gated, down: " in text


def test_why_its_parts_are_apart_is_told(tmp_path):
    # The columns of the gate become a product with those that it multiplies, and stay with that.
    sites, text = written(tmp_path, network(*gated(128), inputs={"x": {"shape": [1, 32, 64]}}))
    site = sites[0]
    assert not site["fused"] and len(site["kernels"]) > 1 and site["apart"]
    assert f"not fused, in kernels {', '.join(site['kernels'])}\n" in text
    for apart in site["apart"]:
        assert f"  {apart['path']} not with {apart['neighbour']}: {apart['why']}\n" in text


def test_block_is_named_by_its_path_and_with_those_alike(tmp_path):
    block = {"inputs": ["x"], "layers": gated(), "output": "down"}
    description = {**network({"name": "ffn", "block": "swiglu", "repeat": 3, "input": "x"}), "blocks": {"swiglu": block}}
    sites, text = written(tmp_path, description)
    assert [site["path"] for site in sites] == ["ffn.0", "ffn.1", "ffn.2"]
    assert "gated feed-forward ffn." in text
    sites, _ = written(tmp_path, description, "--path=ffn.1")
    assert [site["path"] for site in sites] == ["ffn.1"]


def test_feed_forward_by_hand_is_named(tmp_path):
    layers = [linear("hidden"), {"name": "active", "op": "activation", "input": "hidden", "kind": "gelu_tanh"}, linear("out", "active", 32)]
    sites, _ = written(tmp_path, network(*layers))
    assert [(site["kind"], site["parts"]) for site in sites] == [("feed-forward", ["hidden", "active", "out"])]


@pytest.mark.parametrize("layers", [
    # An operator is a site itself; linears in a row and gates of two inputs are no such network.
    [{"name": "ffn", "op": "feed_forward", "input": "x", "hidden": 64}],
    [linear("a"), linear("b", "a", 32)],
    [linear("gate"), linear("other", "x", 32), linear("up", "other"), {"name": "gated", "op": "multiply", "inputs": ["gate", "up"]}, linear("down", "gated", 32)],
    # What somebody else reads cannot stay inside.
    [linear("hidden"), {"name": "active", "op": "activation", "input": "hidden", "kind": "relu"}, linear("out", "active", 64), {"name": "sum", "op": "add", "inputs": ["out", "active"]}],
    # A norm is no element-wise operation.
    [linear("hidden"), {"name": "norm", "op": "layer_norm", "input": "hidden"}, {"name": "active", "op": "activation", "input": "norm", "kind": "relu"}, linear("out", "active", 32)],
], ids=["operator", "linears", "two inputs", "read outside", "norm"])
def test_what_is_none_is_not_named(tmp_path, layers):
    assert written(tmp_path, network(*layers))[0] == []


def test_what_nests_too_deep_is_no_report(tmp_path):
    (tmp_path / "report.json").write_text("[" * 100000)
    assert f"{tmp_path}/report.json:1:" in hova("explain", DIGITS, f"--diff={tmp_path}/report.json", status=1)
