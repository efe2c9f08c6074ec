# ===- test_embed.py - The embedding examples -------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""examples/embed: the C and the Python program get the numbers of the framework."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

SOURCE = Path(__file__).resolve().parents[2]
HOVA = Path(os.environ["HOVA_BUILD"]) / "bin/hova"
DIGITS = SOURCE / "examples/01-digits"


def test_a_library_is_used_from_c_and_from_python():
    command = [SOURCE / "examples/embed/run", HOVA, sys.executable]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    right = (np.load(DIGITS / "logits.npy").argmax(1) == np.load(DIGITS / "labels.npy")).sum()
    assert result.stdout.splitlines() == [
        "the picture shows a 7",
        f"{right} of 400 digits are right",
    ]
