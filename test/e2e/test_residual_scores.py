# ===- test_residual_scores.py - What residual attention scores promise ---------=== #
# SPDX-License-Identifier: Apache-2.0
"""RealFormer: one layer is multi-head attention, no token sees the future, scores that nobody
reads are not stored, and those of all layers take the memory of one layer's.

Numbers are in test_golden.py.
"""

import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("HOVA_BUILD", SOURCE / "build"))
HOVA = BUILD / "bin/hova"
LM = SOURCE / "examples/models/lm.json"
SMALL = {"width": 16, "heads": 2, "vocab": 37, "length": 45, "depth": 4}


def hova(verb, *arguments, **settings):
    options = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
    command = [str(part) for part in (HOVA, verb, LM, *arguments, *options)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def dump(phase, **settings):
    text = hova("compile", "--emit=mlir", f"--stop-after={phase}", "-o", "-", **settings)
    return text.split("@weights")[0]


def test_one_layer_is_multi_head_attention():
    settings = SMALL | {"depth": 1}
    operations = [
        re.findall(r" = hova\.[^{]*", dump("import", attention=kind, **settings))
        for kind in ("softmax", "realformer")
    ]
    assert operations[0] == operations[1]


def test_scores_are_stored_once_and_read_once():
    main = dump("fuse", attention="realformer", **SMALL)
    attentions = re.findall(r"hova\.attention .*", main)
    assert len(attentions) == 4
    assert sum("tensor<1x2x45x45xf32>)" in line.split("->")[1] for line in attentions) == 3
    assert sum("captured(" in line for line in attentions) == 3
    # Attentions alone make and read them.
    shape = r"tensor<1x2x45x45xf32>"
    computing = re.compile(r" = hova\.(?!attention|element)")
    others = [line for line in main.splitlines() if computing.search(line)]
    assert not any(re.search(shape, line) for line in others if "hova.kernel" not in line)


def arena(folder, **settings):
    program = folder / "program"
    hova("compile", "-o", program, **settings)
    text = subprocess.run(
        [program, "--describe"], capture_output=True, text=True, check=True
    ).stdout
    return int(re.search(r"arena +(\d+)", text)[1])


def test_all_layers_have_the_memory_of_one(tmp_path):
    sizes = SMALL | {"length": 128}
    scores = 4 * 2 * 128 * (128 + 16)  # f32, rows padded to cache lines that do not alias
    plain = arena(tmp_path, **sizes)
    for depth in (2, 3, 6):
        more = arena(tmp_path, attention="realformer", **sizes | {"depth": depth})
        assert more <= plain + scores + 4096, depth


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_no_token_sees_the_future(threads, tmp_path):
    program = tmp_path / "program"
    hova("compile", "-o", program, attention="realformer", **SMALL)
    draw = np.random.default_rng(3)

    def run(tokens):
        np.save(tmp_path / "x.npy", tokens.astype(np.int32))
        subprocess.run([program, "--input", tmp_path / "x.npy", "--output", tmp_path / "y.npy",
                        "--threads", str(threads)], check=True)
        return np.load(tmp_path / "y.npy")

    before = draw.integers(0, 37, (1, 45))
    plain = run(before)
    for token in (1, 17, 44):
        after = before.copy()
        after[:, token:] = (after[:, token:] + 1) % 37
        changed = run(after)
        assert changed[:, :token].tobytes() == plain[:, :token].tobytes(), token
        assert (changed[:, token:] != plain[:, token:]).any(axis=-1).all(), token
