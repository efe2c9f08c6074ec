# ===- test_hardening.py - How hova and its programs are guarded ----------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Reads from the files that stacks, buffers and relocations are guarded, and where libraries come from."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from installation import SOURCE, install

BUILD = Path(os.environ["HOVA_BUILD"])
READELF = Path(os.environ["HOVA_LLVM"]) / "bin/llvm-readelf"
PROGRAMS = ["fixture", "library.so", "device", "device.so", "device-emulated", "device-emulated.so"]
FILES = ["bin/hova", "bin/hova-opt", "lib/libhova.so", *(f"test/runtime/{name}" for name in PROGRAMS)]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    return install(tmp_path_factory)


def read(path, *options):
    return subprocess.run([READELF, "-W", *options, BUILD / path], check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("path", FILES)
def test_nothing_is_written_after_relocation(path):
    assert "GNU_RELRO" in read(path, "--program-headers")
    assert "BIND_NOW" in read(path, "--dynamic-table")


@pytest.mark.parametrize("path", FILES)
def test_the_file_can_be_loaded_anywhere_and_no_stack_is_executed(path):
    assert "DYN" in read(path, "--file-header")
    stack = [line for line in read(path, "--program-headers").splitlines() if "GNU_STACK" in line]
    assert len(stack) == 1 and " RW " in stack[0]


@pytest.mark.parametrize("path", FILES)
def test_stacks_are_guarded(path):
    assert "__stack_chk_fail" in read(path, "--dyn-syms")


@pytest.mark.parametrize("path", [path for path in FILES if path != "bin/hova-opt"])
def test_functions_of_the_c_library_know_their_buffers(path):
    assert "__snprintf_chk" in read(path, "--dyn-syms")


def test_every_source_of_the_tools_is_compiled_with_guards():
    # A file without a buffer has no symbol that would show it, as all of hova-opt.
    commands = json.loads((BUILD / "compile_commands.json").read_text())
    rooms = {"dialect", "passes", "codegen", "frontend", "runtime", "tools"}
    # What the tests compile of them for themselves no user has.
    ours = [c for c in commands if Path(c["file"]).relative_to(SOURCE).parts[0] in rooms and " -o test/" not in c["command"]]
    assert len(ours) > 200
    for option in ("-D_FORTIFY_SOURCE=2", "-fstack-protector-strong"):
        assert [c["file"] for c in ours if option not in c["command"]] == []


def searched(path):
    """The folders in which the loader looks for the libraries of an ELF file."""
    lines = [line for line in read(path, "--dynamic-table").splitlines() if "PATH)" in line]
    return [entry for line in lines for entry in line[line.index("[") + 1 : line.rindex("]")].split(":")]


def is_elf(path):
    if not path.is_file() or path.is_symlink():
        return False
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def elf_files(*folders):
    files = [path for folder in folders for path in folder.rglob("*")]
    return [path for path in files if path.suffix not in {".o", ".a"} and is_elf(path)]


def test_libraries_come_from_folders_with_a_whole_path(installed):
    built = elf_files(BUILD / "bin", BUILD / "lib", BUILD / "test")
    found = elf_files(installed)
    # Shared libraries are files with their version, as libhova.so.0.1.0.
    assert {re.sub(r"\.so\.[\d.]+$", ".so", path.name) for path in found} >= {"hova", "hova-opt", "hova-reduce", "hova-lsp-server", "hova-tblgen", "libhova.so"}
    assert {re.sub(r"\.so\.[\d.]+$", ".so", path.name) for path in built} >= {"hova", "libhova.so", "hova-test-plugin.so", "fixture"}
    # An empty entry is the working directory.
    wrong = [
        (path, entry)
        for path in built + found
        for entry in searched(path)
        if not entry.startswith(("/", "$ORIGIN/"))
    ]
    assert wrong == []
    assert all("$ORIGIN/../lib" in searched(path) for path in found if path.parent.name == "bin")


@pytest.mark.parametrize("place", ["built", "installed"])
def test_a_library_in_the_working_directory_is_not_loaded(place, installed, tmp_path):
    prefix = BUILD if place == "built" else installed
    tools = [prefix / "bin" / name for name in ("hova", "hova-opt", "hova-reduce", "hova-lsp-server", "hova-tblgen")]
    # No library at all: whoever opens one of these ends with an error.
    needed = {
        line[line.index("[") + 1 : line.rindex("]")]
        for path in [*tools, prefix / "lib/libhova.so"]
        for line in read(path, "--dynamic-table").splitlines()
        if "(NEEDED)" in line
    }
    assert "libm.so.6" in needed
    for name in needed:
        (tmp_path / name).write_text("not a library")
    for tool in tools:
        done = subprocess.run([tool, "--version"], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
