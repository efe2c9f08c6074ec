# ===- test_dumps.py - What the text of a dump may decide -----------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""A dump that somebody has changed describes a program, and chooses no file that is read or written."""

import os
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]
BIN = Path(os.environ["HOVA_BUILD"]) / "bin"
MODEL = SOURCE / "test/golden/vectors/mha_both/model.json"
VERBS = ["compile", "explain", "verify", "evaluate --output-dir=out"]


def run(folder, tool, *words):
    return subprocess.run([BIN / tool, *words], cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def folder(tmp_path):
    """Holds a dump, dump.mlir, and a file of the user's, precious."""
    done = run(tmp_path, "hova", "compile", MODEL, "--emit=mlir", "--stop-after=fuse", "-o", "dump.mlir")
    assert done.returncode == 0, done.stderr
    (tmp_path / "precious").write_text("mine")
    return tmp_path


def change_arguments(folder, word):
    """Adds a word to the arguments of the dump; returns the line where they stand."""
    text = (folder / "dump.mlir").read_text()
    before, after = text.split('arguments: "')
    (folder / "dump.mlir").write_text(f'{before}arguments: "{word}\\0A{after}')
    return before.count("\n") + 1


def contents(folder):
    return {path.name: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


@pytest.mark.parametrize(
    "word",
    [
        "--time-trace=precious",
        "--dump-ir=precious",
        "--explain=precious",
        "--pass-plugin=./precious",
        "--pass-pipeline=before-fuse(canonicalize)",
        "--weights=precious",
        "--checkpoint=timm",
        "--max-memory=1",
        "--emit=lib",
        "-oprecious",
        "-O0",
        "--target=cpu",
        "--help",
        "--",
        "precious",
        "--bogus",
        "--set",
        "--set=",
        "",
    ],
)
def test_arguments_say_what_the_program_is_and_no_more(folder, word):
    line = change_arguments(folder, word)
    before = contents(folder)
    for verb in VERBS:
        done = run(folder, "hova", *verb.split(), "dump.mlir")
        assert done.returncode == 1, (verb, done.stderr)
        assert done.stderr.startswith(f"dump.mlir:{line}:"), done.stderr
        assert done.stderr.count("error:") == 1, done.stderr
    assert contents(folder) == before


def test_a_wrong_value_is_named_with_the_dump_that_has_it(folder):
    text = (folder / "dump.mlir").read_text()
    (folder / "dump.mlir").write_text(text.replace("--march=native", "--march=z80"))
    done = run(folder, "hova", "compile", "dump.mlir", "-o", "program")
    assert done.returncode == 2
    assert "option '--march': unknown ISA level 'z80'" in done.stderr
    assert "dump.mlir was made with --march=z80" in done.stderr
    assert not (folder / "program").exists()


def test_hova_opt_may_write_the_file_that_it_reads(folder):
    before = (folder / "dump.mlir").read_text()
    # A file of this size is mapped, and gone if it is cut before it is read.
    (folder / "dump.mlir").write_text(before + "// long\n" * 10_000)
    done = run(folder, "hova-opt", "dump.mlir", "-o", "dump.mlir")
    assert done.returncode == 0, done.stderr
    after = (folder / "dump.mlir").read_text()
    assert after.count("hova.linear") == before.count("hova.linear") > 0
    assert run(folder, "hova", "explain", "dump.mlir").returncode == 0


@pytest.mark.parametrize("words", [["--start-at=fuze"], ["--no-such-option"], ["--pass-pipeline=builtin.module(no-such-pass)"]])
def test_hova_opt_that_fails_leaves_its_output_as_it_was(folder, words):
    assert run(folder, "hova-opt", "dump.mlir", *words, "-o", "precious").returncode == 1
    assert (folder / "precious").read_text() == "mine"


def test_hova_opt_says_what_it_cannot_write(folder):
    done = run(folder, "hova-opt", "dump.mlir", "-o", "no/such/folder.mlir")
    assert done.returncode == 74
    assert "hova-opt: cannot write 'no/such/folder.mlir'" in done.stderr
