# ===- test_debug_lines.py - Stages and paths in debug information ------------=== #
# SPDX-License-Identifier: Apache-2.0
"""hova compile --debug-lines: the line table leads from each instruction to its stage and path, and changes no code."""

import os
import re
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]
HOVA = Path(os.environ["HOVA_BUILD"]) / "bin/hova"
LLVM = Path(os.environ.get("HOVA_LLVM", "/usr/lib/llvm-22")) / "bin"
MODEL = SOURCE / "examples/01-digits/digits.json"


def run(*command, status=0):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The same program without and with lines, for two levels."""
    path = tmp_path_factory.mktemp("lines")
    march = "--march=x86-64-v3,x86-64-v4"
    run(HOVA, "compile", MODEL, march, "-o", path / "plain")
    run(HOVA, "compile", MODEL, march, f"--debug-lines={path}/lines.txt", "-o", path / "lined")
    return path


def code_of(program):
    code = program.with_suffix(".code")
    run(LLVM / "llvm-objcopy", "-O", "binary", "--only-section=.text", program, code)
    return code.read_bytes()


def test_the_code_stays_the_same(folder):
    code = code_of(folder / "plain")
    assert len(code) > 10000 and code == code_of(folder / "lined")


def test_every_line_is_of_the_function_that_the_instruction_is_in(folder):
    texts = (folder / "lines.txt").read_text().splitlines()
    symbols = []
    for line in run(LLVM / "llvm-nm", "--numeric-sort", folder / "lined").splitlines():
        words = line.split()
        if len(words) == 3 and words[1] in "tT":
            symbols.append((int(words[0], 16), words[2]))
    table = run(LLVM / "llvm-dwarfdump", "--debug-line", folder / "lined")
    assert set(re.findall(r'name: "(.*)"', table)) == {"lines.txt"}
    assert set(re.findall(r'include_directories\[ *1\] = "(.*)"', table)) == {str(folder)}
    rows = re.findall(r"^(0x[0-9a-f]{16}) +(\d+) +\d+ +\d+ (?!.*end_sequence)", table, re.MULTILINE)
    seen = set()
    for address, line in ((int(a, 16), int(b)) for a, b in rows):
        if line == 0:
            continue  # of no line, as LLVM says where it has moved code
        name = [symbol for start, symbol in symbols if start <= address][-1]
        text = texts[line - 1]
        # kernel_patches.1.digits is the second level's.
        function, level = re.fullmatch(r"(\w+)\.(\d)\.digits", name).groups()
        head = next(texts[i] for i in range(line - 1, -1, -1) if not texts[i].startswith(" "))
        # The best level comes first.
        assert head.endswith(f" at level {('x86-64-v4', 'x86-64-v3')[int(level)]}")
        if function.startswith("kernel_"):
            assert head.split(" ")[0] == function
        seen.add((function, text.strip()))
    assert any(f == "kernel_early_attn" and re.match(r"stage 0: early\.0\.attn \(digits\.json:\d+:\d+\)", t) for f, t in seen)
    stages = {t.split(":")[0] for f, t in seen if f == "kernel_early_attn_query" and t.startswith("stage")}
    assert {"stage 0", "stage 1", "stage 2"} <= stages


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--emit=asm"], "option '--debug-lines' has no effect with '--emit=asm'"),
        (["--emit=mlir"], "option '--debug-lines' has no effect with '--emit=mlir'"),
        (["-o", "lines.txt"], "(--debug-lines): it is the same file as 'lines.txt' (-o)"),
    ],
)
def test_mistakes_are_told(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    said = run(HOVA, "compile", MODEL, "--debug-lines=lines.txt", *arguments, status=2)
    assert message in said and not (tmp_path / "lines.txt").exists()
