# ===- test_crashes.py - What a crash of a pass leaves behind --------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Passes on functions crash in several threads at once: one report, one status, and the program before the pass."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[3]
BUILD = Path(os.environ["HOVA_BUILD"])
MODEL = SOURCE / "test/golden/vectors/mha_both/model.json"
PLUGIN = BUILD / "lib/hova-test-plugin.so"
# The order in which threads crash is chance.
RUNS = 5


def run(folder, *words):
    done = subprocess.run([BUILD / "bin/hova", *words], cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def paste(folder, line):
    """What a shell makes of a line that was printed."""
    path = f"{BUILD}/bin:{os.environ['PATH']}"
    command = ["bash", "-c", line]
    return subprocess.run(
        command, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False
    )


def options(how, point="before-fuse"):
    return f"--pass-plugin={PLUGIN}", f"--pass-pipeline={point}(test-crash-functions{{how={how}}})"


@pytest.mark.parametrize("how", ["null", "abort", "recurse", "heap"])
def test_a_crash_in_all_functions_is_reported_once_with_the_program_before_it(tmp_path, how):
    for _ in range(RUNS):
        shutil.rmtree(tmp_path / "a dump", ignore_errors=True)
        status, text = run(tmp_path, "compile", MODEL, "-o", "x", "--dump-ir=a dump", *options(how))
        assert status == 70, text
        assert text.count("error:") == 1, text
        assert "in pass 'test-crash-functions'; the program before it is in 'a dump/03-fuse-failed.mlir'" in text
        names = ["01-import.mlir", "02-normalize.mlir", "03-fuse-failed.mlir"]
        assert sorted(path.name for path in (tmp_path / "a dump").iterdir()) == names
        assert sorted(path.name for path in tmp_path.iterdir()) == ["a dump"]
    kept = (tmp_path / "a dump/03-fuse-failed.mlir").read_text()
    assert "'test-crash-functions', which crashed" in kept
    before = (tmp_path / "a dump/02-normalize.mlir").read_text()
    assert kept.count("hova.linear") == before.count("hova.linear") > 0


def test_the_lines_that_repeat_a_crash_can_be_pasted(tmp_path):
    _, text = run(tmp_path, "compile", MODEL, "-o", "x", "--dump-ir=it's a dump", *options("null"))
    again = paste(tmp_path, re.search(r"the same again: (.*)", text)[1])
    assert again.returncode == 70 and "in pass 'test-crash-functions'" in again.stderr, again.stderr
    line = (tmp_path / "it's a dump/03-fuse-failed.mlir").read_text().split("\n")[1]
    # In a tool without hova's report a crash is a signal.
    again = paste(tmp_path, line.removeprefix("// "))
    assert again.returncode >= 128 or again.returncode < 0, again.stderr


def test_the_line_that_repeats_a_failure_can_be_pasted(tmp_path):
    shutil.copy(PLUGIN, tmp_path / "mine.so")
    words = "--pass-plugin=mine.so", "--pass-pipeline=before-hova-fuse-kernels(test-fail)", "--dump-ir=dump"
    status, text = run(tmp_path, "compile", MODEL, "-o", "x", *words)
    assert status == 1 and "the test wants it so" in text
    line = (tmp_path / "dump/03-fuse-failed.mlir").read_text().split("\n")[1]
    again = paste(tmp_path, line.removeprefix("// "))
    assert again.returncode == 1 and "the test wants it so" in again.stderr, again.stderr


@pytest.mark.parametrize("verb", ["explain", "verify"])
def test_every_verb_that_runs_passes_reports_a_crash(tmp_path, verb):
    for _ in range(RUNS):
        status, text = run(tmp_path, verb, MODEL, *options("null", "after-normalize"))
        assert status == 70, text
        assert "in pass 'test-crash-functions'; --dump-ir=DIR keeps the program before it" in text


def test_a_crash_is_one_object_of_json(tmp_path):
    status, text = run(tmp_path, "explain", MODEL, "--diagnostics=json", *options("null"))
    assert status == 70
    assert text.count('"severity":"error"') + text.count('"severity": "error"') == 1, text


@pytest.mark.parametrize("verb", ["verify --cases=1", "evaluate --input=x=x.npy --output-dir=out"])
def test_a_crash_of_an_edited_program_is_its_own(tmp_path, verb):
    status, text = run(tmp_path, "compile", MODEL, "--emit=mlir", "--stop-after=tile", "-o", "dump.mlir")
    assert status == 0, text
    text = (tmp_path / "dump.mlir").read_text()
    # The first kernel's loop goes on after every buffer.
    edited, count = re.subn(r"units = 15,", "units = 1000000000,", text, count=1)
    assert count == 1
    (tmp_path / "dump.mlir").write_text(edited)
    shutil.copy(MODEL.parent / "inputs/x.npy", tmp_path / "x.npy")
    status, text = run(tmp_path, *verb.split(), "dump.mlir")
    assert status == 1, text
    assert "error: the program in dump.mlir crashed" in text
    assert "what is edited in it may leave its buffers" in text
    assert "internal error, please report it" not in text
