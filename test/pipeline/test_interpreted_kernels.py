# ===- test_interpreted_kernels.py - Kernel functions after every pass ---------=== #
# SPDX-License-Identifier: Apache-2.0
"""Every kernel function of every example computes what its kernel does.

hova-opt --check-meaning interprets the functions after each pass of the phases tile and
vectorize. No processor is involved, so every level is tested on every machine.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from examples import SOURCE, examples

sys.path.insert(0, str(SOURCE / "test"))
from campaigns import share  # noqa: E402

BUILD = Path(os.environ.get("HOVA_BUILD", SOURCE / "build"))
# Interpreting takes a thousand times as long as running: models keep the width of their heads
# and have few of them. test/full has them whole.
NARROW = {
    "bert_base": ["width=192", "heads=3"],
    "bigbird_base": ["width=96", "heads=3", "length=37", "block_size=3"],
    "lm": ["width=96", "heads=3", "length=70"],
    "lra": ["width=48", "heads=1", "length=30"],
    "m2": ["width=48", "heads=1", "regions=9", "length=5", "feature_width=40"],
    "minilm_l6": ["width=96", "heads=3"],
    "omninet_b16": ["width=96", "heads=2", "image=64"],
    "omninet_b32": ["width=96", "heads=2", "image=64"],
    "omninet_lm": ["width=96", "heads=3", "length=30"],
    "omninet_mt": ["width=96", "heads=3", "src_len=13", "tgt_len=11"],
    "swin_t": ["width=8", "heads=1", "window=4", "image=128", "batch=1"],
    "swinv2_t": ["width=8", "heads=1", "window=4", "image=128", "batch=1"],
    "t2t_vit_14": ["width=96", "heads=2", "token_width=24", "image=64"],
    "tnt_s": ["width=96", "heads=2", "image=48"],
    "transformer_base": ["width=128", "heads=2"],
    "vanilla_hv": ["width=128", "heads=2"],
    "vit_b16": ["width=192", "heads=3", "image=96"],
    "vit_b32": ["width=192", "heads=3", "image=160"],
}
RUNS = [("f32", "x86-64-v4"), ("bf16", "x86-64-v3"), ("bf16", "sapphirerapids")]


def run(program, *arguments):
    command = [str(part) for part in (BUILD / "bin" / program, *arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def narrow_examples():
    """Parameters (name, settings, dtype, level): the first settings of an example in f32 and
    in one of the runs in bf16, others that make another model in one of the runs, in turn.
    """
    seen, runs = {}, []
    for name, case in (example.values for example in examples()):
        values = dict(part.split("=") for part in [*case, *NARROW.get(Path(name).name, [])])
        known = seen.setdefault(name, [])
        if values in known:
            continue
        stored = RUNS[1 + len(seen) % 2]
        chosen = [RUNS[len(known) % len(RUNS)]] if known else [RUNS[0], stored]
        known.append(values)
        settings = [f"{key}={value}" for key, value in values.items()]
        identifier = "-".join([Path(name).name, *settings])
        runs += [
            pytest.param(name, settings, *run, id="-".join([identifier, *run])) for run in chosen
        ]
    return runs


@pytest.mark.parametrize(("name", "settings", "dtype", "level"), share(narrow_examples(), of=2))
def test_kernels_of_an_example(name, settings, dtype, level, tmp_path):
    model = SOURCE / "examples" / f"{name}.json"
    options = [part for setting in settings for part in ("--set", setting)]
    options += [f"--dtype={dtype}", f"--march={level}"]
    out = ["--emit=mlir", "--stop-after=import", "-o", tmp_path / "import.mlir"]
    done = run("hova", "compile", model, *options, *out)
    assert done.returncode == 0, done.stderr
    out = [f"--march={level}", "--stop-after=vectorize", "-o", tmp_path / "vectorize.mlir"]
    done = run("hova-opt", tmp_path / "import.mlir", "--check-meaning", *out)
    assert done.returncode == 0, done.stderr
    assert "did not interpret" not in done.stderr
    interpreted = int(re.search(r"interpreted (\d+) kernel functions", done.stderr)[1])
    # Once after tile and once after vectorize, at the least.
    functions = (tmp_path / "vectorize.mlir").read_text().count("func.func private @kernel_")
    assert interpreted >= 2 * functions > 0
