# ===- test_targets.py - What ./dev demo and ./dev build make ------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""The build's own graph: a demonstration needs the compiler alone, and what people install needs no test."""

import os
import re
import subprocess
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("HOVA_BUILD", SOURCE / "build"))


def inputs(target):
    """What the target is made of, sources and all between, relative to the build."""
    command = ["ninja", "-C", BUILD, "--quiet", "-t", "inputs", target]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {os.path.relpath(BUILD / line, BUILD) for line in listed.splitlines()}


def of_tests(names):
    return [name for name in names if re.search(r"(^|/)test/|gtest|bench-", name)]


def test_a_demonstration_needs_the_compiler_alone():
    needed = inputs("bin/hova")
    assert {"lib/hova/exe.o", "tools/hova/CMakeFiles/hova-driver.dir/Main.cpp.o"} <= needed
    assert of_tests(needed) == []
    assert [name for name in needed if "tools/hova-opt/" in name or "share/" in name] == []


def test_the_programs_are_all_that_an_installation_has():
    made = inputs("hova_programs")
    assert of_tests(made) == []
    script = (BUILD / "cmake_install.cmake").read_text()
    installed = {os.path.relpath(file, BUILD) for file in re.findall(rf'"({re.escape(str(BUILD))}/[^"]+)"', script)}
    # What CMake itself writes needs no target, and neither does what the folder of the runtime's objects holds.
    written = re.compile(r"(CMakeFiles|cmake|install)|.*/cmake_install\.cmake|lib/hova(/.*)?|share/\w+.*")
    programs = {name for name in installed if not written.match(name)}
    assert {"bin/hova", "bin/hova-opt", "bin/hova-tblgen"} <= programs
    # A library has a name for each part of its version.
    assert {name for name in programs if re.sub(r"\.so.*", ".so", name) not in {re.sub(r"\.so.*", ".so", other) for other in made}} == set()
    assert "share/pages" in made and "lib/hova/lib-cpu-cuda.o" in made
