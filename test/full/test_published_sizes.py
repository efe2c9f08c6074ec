# ===- test_published_sizes.py - Every model and variant, verified --------------=== #
# SPDX-License-Identifier: Apache-2.0
"""`hova verify` on every description of examples/models and every variant, as large as published:
the programs in each type of storage, and for each ISA level that this machine runs, beside the evaluator.
BigBird is as long as published in f32 alone.

Inputs are random; test/e2e verifies edge values and zeros too, at reduced sizes.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "test" / "tools"))

from variants import variants  # noqa: E402

HOVA = Path(os.environ["HOVA_BUILD"]) / "bin" / "hova"
# Type of storage, ISA level. A variant runs as the first two, the description itself as all.
RUNS = [
    ("f32", "native"),
    ("bf16", "native"),
    ("f32", "x86-64-v3"),
    ("bf16", "x86-64-v3"),
    ("f16", "native"),
    ("f32", "x86-64-v4"),
    ("bf16", "x86-64-v4"),
]
# The evaluator takes two minutes for 4096 tokens: enough for each variant once.
SHORTER = {"bigbird_base": ["length=1024"]}


def cases():
    for path in sorted((SOURCE / "examples/models").glob("*.json")):
        parameters = json.loads(path.read_text()).get("parameters", {})
        for variant in [None, *variants(parameters)]:
            settings = ["=".join(variant)] if variant else []
            for run in RUNS if variant is None else RUNS[:2]:
                shorter = SHORTER.get(path.stem, []) if run != RUNS[0] else []
                # Of two values for one parameter the last holds.
                chosen = [*map("=".join, dict(part.split("=") for part in [*settings, *shorter]).items())]
                yield pytest.param(path, chosen, *run, id="-".join([path.stem, *chosen, *run]))


@pytest.mark.parametrize("model, settings, dtype, level", cases())
def test_model_of_published_size(model, settings, dtype, level):
    if level == "x86-64-v4" and "avx512bw" not in Path("/proc/cpuinfo").read_text():
        pytest.skip(f"this processor has no AVX-512, which {level} needs")
    sets = [part for setting in settings for part in ("--set", setting)]
    done = subprocess.run(
        [HOVA, "verify", model, "--cases=1", f"--dtype={dtype}", f"--march={level}", *sets],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "within the numeric policy" in done.stdout
