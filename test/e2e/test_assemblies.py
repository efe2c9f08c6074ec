# ===- test_assemblies.py - Interleaved states cost no copy --------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""The states that an omnidirectional layer reads are written where it reads them.

The arena holds the interleaved states once, as the states themselves; where the caller
asks for one of them, they are copied, and the values are the same.
"""

import json
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("HOVA_BUILD", SOURCE / "build"))
HOVA = BUILD / "bin/hova"
TOKENS, WIDTH, STATES = 96, 64, 3
SORTED = f"tensor<2x{TOKENS * STATES}x{WIDTH}xf32>"


def model(outputs):
    """Three layers, whose states an omnidirectional layer reads."""
    layers = []
    previous = "x"
    for number in range(STATES):
        hidden = {"hidden": 2 * WIDTH, "activation": "gelu_erf"}
        layers.append({"name": f"ffn{number}", "op": "feed_forward", "input": previous, **hidden})
        layers.append({"name": f"s{number}", "op": "add", "inputs": [previous, f"ffn{number}"]})
        previous = f"s{number}"
    states = [f"s{number}" for number in range(STATES)]
    omni = {"heads": 2, "hidden": 2 * WIDTH, "causal": "flattened"}
    layers.append({"name": "omni", "op": "omni_attention", "inputs": states, **omni})
    layers.append({"name": "y", "op": "add", "inputs": [previous, "omni"]})
    inputs = {"x": {"shape": [2, TOKENS, WIDTH]}}
    return {"hova": 1, "name": "omni", "inputs": inputs, "layers": layers, "outputs": outputs}


def run(*command):
    command = [str(part) for part in command]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def write(folder, outputs):
    path = folder / f"{len(outputs)}.json"
    path.write_text(json.dumps(model(outputs)))
    return path


def kept(text):
    """The types of the values that the arena holds between kernels."""
    values = re.search(r"hova.values = \[(.*?)\]", text, re.DOTALL)[1]
    return re.findall(r"type = (tensor<[^>]*>)", values)


def dump(path, phase):
    return run(HOVA, "compile", path, "-q", "--emit=mlir", f"--stop-after={phase}", "-o", "-")


def test_the_arena_holds_no_sorted_copy(tmp_path):
    path = write(tmp_path, {"y": "y"})
    text = dump(path, "tile")
    # What attention and the block give has as many rows; the states in order are no value.
    assert kept(text).count(SORTED) == 2
    assert text.count("hova.whole") == STATES
    copied = dump(write(tmp_path, {"y": "y", "s": "s1"}), "tile")
    assert kept(copied).count(SORTED) == 3
    assert "hova.whole" not in copied
    size = re.compile(r"hova.arena_bytes = (\d+)")
    assert int(size.search(text)[1]) < int(size.search(copied)[1])


@pytest.mark.parametrize("options", [[], ["--dtype=bf16"], ["--march=x86-64-v3"]])
def test_the_values_are_those_of_the_evaluator(options, tmp_path):
    run(HOVA, "verify", write(tmp_path, {"y": "y"}), *options)
    run(HOVA, "verify", write(tmp_path, {"y": "y", "s": "s1"}), *options)


def test_parts_stay_inside_of_the_whole(tmp_path):
    run(HOVA, "verify", write(tmp_path, {"y": "y"}), "--guard")


def test_a_copy_changes_no_bit(tmp_path):
    results = []
    for outputs in ({"y": "y"}, {"y": "y", "s": "s1"}):
        program = tmp_path / f"program{len(outputs)}"
        run(HOVA, "compile", write(tmp_path, outputs), "-q", "-o", program)
        folder = tmp_path / f"out{len(outputs)}"
        folder.mkdir()
        run(program, "--random-inputs", "1", "--output-dir", folder)
        results.append(np.load(folder / "y.npy"))
    assert np.array_equal(results[0], results[1])
