# ===- test_tidy.py - clang-tidy runs on what has changed ----------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""tools/tidy beside a clang-tidy and a ninja that only say what they were asked."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]

# Says the last argument, a source, and finds something in one that says so.
TIDY = """#!/bin/sh
for last; do true; done
basename "$last" >> "$TIDY_LOG"
! grep -q mistake "$last" || { echo "$last: error: a mistake"; exit 1; }
"""
NINJA = """#!/bin/sh
printf 'a.o: #deps 2, deps mtime 1 (VALID)\\n    ../a.cpp\\n    ../common.h\\n\\n'
printf 'b.o: #deps 1, deps mtime 1 (VALID)\\n    ../b.cpp\\n\\n'
"""


@pytest.fixture
def project(tmp_path):
    """Two sources, the first of which includes a header."""
    (tmp_path / "tools").mkdir()
    shutil.copy(SOURCE / "tools/tidy", tmp_path / "tools/tidy")
    for name in ("a.cpp", "b.cpp", "common.h", ".clang-tidy"):
        (tmp_path / name).write_text(f"// {name}\n")
    build = tmp_path / "build"
    build.mkdir()
    entries = [
        {"file": str(tmp_path / f"{name}.cpp"), "command": f"cc -o {name}.o -c"}
        for name in "ab"
    ]
    entries.append({"file": str(build / "made.cpp"), "command": "cc -o made.o -c"})
    (build / "compile_commands.json").write_text(json.dumps(entries))
    for name, text in (("clang-tidy-22", TIDY), ("ninja", NINJA)):
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(0o755)
    return tmp_path


def tidy(project):
    """The exit status, what was said, and the sources that clang-tidy saw."""
    log = project / "log"
    log.write_text("")
    path = f"{project / 'bin'}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "TIDY_LOG": str(log)}
    command = ["/usr/bin/python3", project / "tools/tidy", project / "build"]
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    return ran.returncode, ran.stdout + ran.stderr, sorted(log.read_text().split())


def test_clean_sources_are_remembered(project):
    assert tidy(project)[::2] == (0, ["a.cpp", "b.cpp"])
    assert tidy(project) == (0, "", [])


@pytest.mark.parametrize(
    ("changed", "seen"),
    [
        ("b.cpp", ["b.cpp"]),
        ("common.h", ["a.cpp"]),
        (".clang-tidy", ["a.cpp", "b.cpp"]),
    ],
)
def test_a_change_is_seen_by_what_depends_on_it(project, changed, seen):
    tidy(project)
    (project / changed).write_text("// changed\n")
    assert tidy(project)[::2] == (0, seen)


def test_findings_are_printed_and_not_remembered(project):
    (project / "b.cpp").write_text("// mistake\n")
    for expected in (["a.cpp", "b.cpp"], ["b.cpp"]):
        status, said, seen = tidy(project)
        assert (status, seen) == (1, expected)
        assert "b.cpp: error: a mistake" in said
        assert f"1 of {len(expected)} sources have findings" in said
