# ===- test_faults.py - System calls that fail ------------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""A few faults of system calls; test/full/test_faults.py tries them all."""

import os
import shutil
import signal
from pathlib import Path

import faults
import pytest

BUILD = Path(os.environ["HOVA_BUILD"])
MODEL = Path(__file__).resolve().parents[3] / "examples/models/lecture_mha.json"
COMPILE = [BUILD / "bin/hova", "compile", "m.json", "-o", "x"]
RUN = [BUILD / "test/runtime/fixture", "--random-inputs=1", "--output=y=x"]

pytestmark = pytest.mark.skipif(not faults.can_trace(), reason="strace is missing or may not trace")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    shutil.copy(MODEL, tmp_path / "m.json")
    (tmp_path / "x").write_text("old")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("command", "fault", "status", "message"),
    [
        (COMPILE, "fsync:error=ENOSPC", 74, "cannot write 'x': No space left on device"),
        (COMPILE, "rename:error=EBUSY", 74, "cannot write 'x': Device or resource busy"),
        (COMPILE, "flock:error=ENOLCK", 0, ""),
        (COMPILE, "memfd_create:error=EMFILE", 74, "cannot keep a file in memory: Too many open files"),
        (COMPILE, "memfd_create:error=ENOMEM", 71, "cannot keep a file in memory: Cannot allocate memory"),
        (COMPILE, "clone3:error=EAGAIN", 71, "cannot start a thread: Resource temporarily unavailable"),
        (COMPILE, "pipe2:error=EMFILE", 74, "cannot run the linker"),
        # The first execve is that of hova itself; the linker's is the first of its process.
        (COMPILE, "execve:error=ENOENT:when=1", 74, "No such file or directory; install the package lld-22"),
        (COMPILE, "execve:error=EACCES:when=1", 74, "cannot run the linker"),
        (COMPILE, "execve:error=ENOEXEC:when=1", 70, "cannot run the linker"),
        (COMPILE, "execve:error=ENOMEM:when=1", 71, "cannot run the linker"),
        # The linker's standard files are set by its own process.
        (COMPILE, "dup2:signal=KILL", 70, "failed: it was ended by a signal: Killed"),
        (RUN, "fsync:error=EIO", 74, "cannot write 'x': Input/output error"),
        (RUN, "rename:error=EPERM", 74, "cannot write 'x': Operation not permitted"),
    ],
)
def test_a_fault_has_a_status_a_message_and_no_trace(folder, command, fault, status, message):
    before = sorted(os.listdir())
    result = faults.trace(command, f"--inject={fault}")
    assert (result.returncode, message in result.stderr) == (status, True), result.stderr
    assert (folder / "x").read_bytes() == b"old" or status == 0
    assert sorted(os.listdir()) == sorted([*before, "log"])


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_the_middle_of_a_file_leaves_the_old_one(folder, number):
    before = sorted(os.listdir())
    name = number.name.removeprefix("SIG")
    assert faults.trace(COMPILE, f"--inject=fsync:signal={name}").returncode in (-number, 128 + number)
    assert (folder / "x").read_bytes() == b"old"
    assert sorted(os.listdir()) == sorted([*before, "log"])


@pytest.mark.parametrize("command", [COMPILE, RUN])
def test_the_next_output_removes_what_a_killed_process_left(folder, command):
    assert faults.trace(command, "--inject=fsync:signal=KILL").returncode in (-9, 137)
    assert faults.leftovers() and (folder / "x").read_bytes() == b"old"
    assert faults.trace(command).returncode == 0
    assert not faults.leftovers() and (folder / "x").read_bytes() != b"old"
