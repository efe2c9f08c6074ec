# ===- test_targets.py - What ./dev demo and ./dev build make ------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""The build's own graph: a demonstration needs the compiler alone, and what people install needs no test."""

import os
import re
import subprocess
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("HOVA_BUILD", SOURCE / "build"))


def commands(target):
    """All that ninja would run for the target in an empty folder."""
    command = ["ninja", "-C", BUILD, "--quiet", "-t", "commands", target]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def of_tests(text):
    return [line for line in text.splitlines() if f"{SOURCE}/test/" in line or f"{SOURCE}/tools/bench/" in line]


def test_a_demonstration_needs_the_compiler_alone():
    needed = commands("bin/hova")
    assert "lib/hova/exe.o" in needed and "hova-driver.dir/Main.cpp.o" in needed
    assert of_tests(needed) == []
    assert "hova-opt.dir" not in needed and "help --man" not in needed
    assert len(of_tests(commands("all"))) > 50


def test_the_programs_are_all_that_an_installation_has():
    made = commands("hova_programs")
    assert of_tests(made) == []
    script = (BUILD / "cmake_install.cmake").read_text()
    installed = {os.path.relpath(file, BUILD) for file in re.findall(rf'"({re.escape(str(BUILD))}/[^"]+)"', script)}
    # What CMake itself writes needs no target; nor do folders, of which a command makes what lies in them.
    written = re.compile(r"\$.*|CMakeFiles/.*|cmake/.*|install_.*|.*cmake_install\.cmake|lib/hova/?|share/.*")
    programs = {name for name in installed if not written.fullmatch(name)}
    assert {"bin/hova", "bin/hova-opt", "bin/hova-tblgen"} <= programs
    # A library has a name for each part of its version.
    assert [name for name in programs if re.sub(r"\.so.*", ".so", name) not in made] == []
    assert "help --man" in made and "lib/hova/lib-cpu-cuda.o" in made
