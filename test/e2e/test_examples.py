# ===- test_examples.py - Every example, compiled and verified -----------------=== #
# SPDX-License-Identifier: Apache-2.0
"""`hova verify` on every description in examples/, and the runs that they promise.

The big models are made shallow or narrow here, by parameters that keep every kind of
layer; the checkpoint tests run them in full size against their frameworks.
"""

import os
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("HOVA_BUILD", SOURCE / "build"))
HOVA = BUILD / "bin/hova"

BERT = ["depth=2", "length=19", "vocab=500", "batch=2"]
VIT = ["depth=2", "batch=2", "classes=37"]
TRANSLATION = ["depth=2", "vocab=300", "src_len=13", "tgt_len=11", "batch=2"]
BOTH = ["horizontal=true", "vertical=true"]

# The settings under which a description is verified, by its path in examples/.
CASES = {
    "01-digits/digits": [[], ["batch=3"]],
    "02-crossed-towers/crossed_towers": [[]],
    "models/bert_base": [BERT],
    "models/lecture_mha": [[], ["kind=additive"]],
    "models/minilm_l6": [BERT],
    "models/transformer_base": [TRANSLATION],
    "models/vanilla_hv": [TRANSLATION, TRANSLATION + BOTH],
    "models/vit_b16": [VIT, VIT + BOTH],
    "models/vit_b32": [VIT],
}


def run(*command):
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_no_example_is_forgotten():
    names = {
        path.relative_to(SOURCE / "examples").with_suffix("").as_posix()
        for path in (SOURCE / "examples").rglob("*.json")
    }
    assert names == set(CASES)


@pytest.mark.parametrize(
    "name, settings",
    [
        pytest.param(name, case, id="-".join([Path(name).name, *case]))
        for name, cases in CASES.items()
        for case in cases
    ],
)
def test_example_is_verified(name, settings):
    options = [part for setting in settings for part in ("--set", setting)]
    weights = SOURCE / "examples" / Path(name).parent / "weights.safetensors"
    if weights.exists():
        options += ["--weights", weights]
    said = run(HOVA, "verify", SOURCE / f"examples/{name}.json", *options)
    assert "within the numeric policy" in said
