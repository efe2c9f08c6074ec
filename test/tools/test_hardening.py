# ===- test_hardening.py - How hova and its programs are guarded ----------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Reads from the files that stacks, buffers and relocations are guarded."""

import os
import subprocess
from pathlib import Path

import pytest

BUILD = Path(os.environ["HOVA_BUILD"])
READELF = Path(os.environ["HOVA_LLVM"]) / "bin/llvm-readelf"
FILES = ["bin/hova", "bin/hova-opt", "lib/libhova.so", "test/runtime/fixture", "test/runtime/library.so"]


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
