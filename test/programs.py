# ===- programs.py - Programs that several tests run -----------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Tests of one program on other inputs compile it once. What decides what a compiler writes is what a program is known by: the compiler
itself, the description, the weights and the options."""

import os
import subprocess
import tempfile
from functools import cache
from pathlib import Path

HOVA = Path(os.environ.get("HOVA_BUILD", Path(__file__).resolve().parents[1] / "build")) / "bin/hova"
FOLDER = tempfile.TemporaryDirectory(prefix="hova-programs-")


@cache
def program_of(description: str, weights: bytes = b"", options: tuple[str, ...] = ()) -> Path:
    """The program of a description, as JSON, with the weights of a safetensors file, compiled by the first who asks. AssertionError with
    what the compiler said where it fails."""
    folder = Path(tempfile.mkdtemp(dir=FOLDER.name))
    (folder / "model.json").write_text(description)
    words = [HOVA, "compile", folder / "model.json", "-o", folder / "program", *options]
    if weights:
        (folder / "weights.safetensors").write_bytes(weights)
        words += ["--weights", folder / "weights.safetensors"]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "program"
