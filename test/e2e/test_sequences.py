# ===- test_sequences.py - Short sequences in the lanes of vectors ------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Blocks on many sequences of 16 tokens, as the inner block of TNT, are one kernel.

Whatever the number of sequences, of heads and of channels is, and whatever stands beside
the block, its numbers are those of the evaluator and the same for any number of threads.
"""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]
HOVA = Path(os.environ.get("HOVA_BUILD", SOURCE / "build")) / "bin/hova"


def layer(name, op, source, **keys):
    return {"name": name, "op": op, "input" if isinstance(source, str) else "inputs": source, **keys}


def block(prefix, x, heads, hidden, **options):
    """Pre-LN attention and feed-forward layer with their residuals."""
    norm1, attn, mid, norm2, ffn, out = (
        prefix + name for name in ("norm1", "attn", "mid", "norm2", "ffn", "out")
    )
    return [
        layer(norm1, "layer_norm", x),
        layer(attn, "multi_head_attention", norm1, heads=heads, **options),
        layer(mid, "add", [x, attn]),
        layer(norm2, "layer_norm", mid),
        layer(ffn, "feed_forward", norm2, hidden=hidden, activation="gelu_erf"),
        layer(out, "add", [mid, ffn]),
    ]


def description(shape, layers, outputs):
    inputs = {"x": {"shape": shape}}
    return {"hova": 1, "name": "words", "inputs": inputs, "layers": layers, "outputs": outputs}


def inner(sequences=12, width=24, heads=4, hidden=96, **options):
    layers = block("", "x", heads, hidden, **options)
    return description([sequences, 16, width], layers, {"y": "out"})


def save(model, folder):
    path = folder / "model.json"
    path.write_text(json.dumps(model))
    return path


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def kernels(path, *options):
    """The units of the kernels of a program."""
    text = run(HOVA, "compile", path, "--quiet", "--emit=mlir", "--stop-after=fuse", "-o", "-", *options)
    return re.findall(r"= hova\.kernel .*? units<(.*?)>", text)


SHAPES = {
    "tnt": {},
    "one_sequence": {"sequences": 1},
    "one_sequence_a_unit": {"sequences": 9},
    "two_sequences_a_unit": {"sequences": 10, "bias": False},
    "one_head": {"heads": 1, "width": 17, "hidden": 31},
    "heads_of_one_channel": {"heads": 5, "width": 5, "hidden": 7},
    "wide_heads": {"heads": 2, "width": 42, "hidden": 128},
    "negative_scale": {"scale": -2.5},
    "heads_of_two_widths": {"head_width": 3, "value_head_width": 9},
}


@pytest.mark.parametrize("level", ["native", "x86-64-v3"])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_block_is_one_kernel(tmp_path, shape, level):
    path = save(inner(**SHAPES[shape]), tmp_path)
    units = kernels(path)
    assert len(units) == 1 and units[0].startswith("sequence_group "), units
    said = run(HOVA, "verify", path, f"--march={level}", "--guard")
    assert "within the numeric policy" in said


def test_every_pass_keeps_the_meaning(tmp_path):
    """The interpreted kernel function computes what its kernel does."""
    path, out = save(inner(), tmp_path), tmp_path / "import.mlir"
    run(HOVA, "compile", path, "--quiet", "--emit=mlir", "--stop-after=import", "-o", out)
    options = ["--check-meaning", "--stop-after=vectorize", "-o", tmp_path / "vectorize.mlir"]
    run(HOVA.with_name("hova-opt"), out, *options)


OTHERS = {
    "other_numbers_of_tokens": description([12, 15, 24], block("", "x", 4, 96), {"y": "out"}),
    "wide_values": inner(hidden=136),
    "no_attention": description([12, 16, 24], [layer("y", "layer_norm", "x")], {"y": "y"}),
    "causal": inner(causal=True),
}


@pytest.mark.parametrize("other", OTHERS)
def test_other_blocks_have_rows(tmp_path, other):
    path = save(OTHERS[other], tmp_path)
    units = kernels(path)
    assert any(not unit.startswith("sequence_group ") for unit in units), units
    # Where the feed-forward layer alone is too wide, the attention has its form.
    formed = any(unit.startswith("sequence_group ") for unit in units)
    assert formed == (other == "wide_values"), units
    run(HOVA, "verify", path)


def test_what_stands_beside_the_block(tmp_path):
    """Values inside of it are outputs, and other kernels read them before its end."""
    layers = block("", "x", 4, 96) + block("more_", "out", 2, 48)
    layers += [
        layer("pooled", "pool", "mid", kind="mean"),
        layer("wide", "linear", "norm2", width=200),
        layer("back", "linear", "wide", width=24),
        layer("all", "add", ["back", "more_out"]),
    ]
    outputs = {"y": "all", "pooled": "pooled", "mid": "mid"}
    path = save(description([12, 16, 24], layers, outputs), tmp_path)
    assert sum(unit.startswith("sequence_group ") for unit in kernels(path)) == 1
    assert "within the numeric policy" in run(HOVA, "verify", path, "--guard")


def test_the_pass_may_be_left_out(tmp_path):
    path = save(inner(), tmp_path)
    without = "--without=hova-form-sequence-kernels"
    assert not any(unit.startswith("sequence_group ") for unit in kernels(path, without))
    assert len(kernels(path)) == 1


def test_threads_do_not_change_a_bit(tmp_path):
    path = save(inner(sequences=392), tmp_path)
    program = tmp_path / "program"
    run(HOVA, "compile", path, "--quiet", "-o", program)
    results = set()
    for threads in (1, 2, 3, 7, 16, 64):
        out = tmp_path / f"threads{threads}"
        run(program, "--random-inputs", 1, "--threads", threads, "--output-dir", out)
        results.add((out / "y.npy").read_bytes())
    assert len(results) == 1
