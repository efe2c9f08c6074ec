# ===- test_faults.py - Every system call fails once --------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Fails each system call of a compilation and of a program, one run each, after what the loader does.

Whatever fails, the output is the old one or the new one, nothing else stays, and a status other than
0 comes with a message. After a kill, the next run removes what was left.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "tools/guard"))

import faults  # noqa: E402

BUILD = Path(os.environ["HOVA_BUILD"])
MODEL = TESTS.parent / "examples/models/lecture_mha.json"

# Command, and what its first process does when the loader is done.
COMMANDS = {
    "compile": ([BUILD / "bin/hova", "compile", "m.json", "-o", "x"], '"m.json"'),
    "compile-beside": ([BUILD / "bin/hova", "compile", "m.json", "--weights-mode=file", "-o", "x"], '"m.json"'),
    "program": ([BUILD / "test/runtime/fixture", "--random-inputs=1", "--output=y=x"], '"/proc/self/exe"'),
}
# Not close: a call that is made to fail is not made, and a pipe would stay open. Not brk: a real
# one that fails returns the old break, and the C library takes an error number for a new one.
ERRORS = {
    "write": ("ENOSPC", "EIO", "EINTR", "signal=KILL"),
    "fsync": ("ENOSPC", "EIO", "EDQUOT", "signal=KILL"),
    "rename": ("ENOSPC", "EPERM", "EBUSY", "signal=KILL"),
    "renameat2": ("EINVAL", "ENOSYS", "EIO", "signal=KILL"),
    "openat": ("EMFILE", "EACCES", "signal=KILL"),
    "read": ("EIO", "EINTR"),
    "newfstatat": ("EIO", "ENOMEM"),
    "mmap": ("ENOMEM",),
    "flock": ("ENOLCK", "EINTR"),
    "fchmod": ("EPERM",),
    "memfd_create": ("EMFILE", "ENOMEM"),
    "pipe2": ("EMFILE",),
    "clone3": ("EAGAIN",),
    "wait4": ("EINTR",),
    "unlink": ("signal=KILL",),
    "madvise": ("EINVAL",),
    "statx": ("ENOSYS",),
    "faccessat2": ("EACCES",),
    "sched_getaffinity": ("EINVAL",),
}

pytestmark = pytest.mark.skipif(not faults.can_trace(), reason="strace is missing or may not trace")


def sweep(command, call, action, first, last, new):
    """Every problem of a run with the call number `first`, `first` + 1, ... failing."""
    problems = []
    kill = action.startswith("signal")
    for number in range(first, last + 1):
        Path("x").write_bytes(b"old")
        for beside in Path(".").glob("x.*"):
            beside.unlink()
        fault = f"{call}:{action if kill else 'error=' + action}:when={number}"
        result = faults.trace(command, f"--inject={fault}")
        if kill and result.returncode in (-9, 137):
            result = subprocess.run([str(word) for word in command], text=True, capture_output=True, check=False)
        problems += [f"{fault}: {problem}: {result.stderr[-200:]}" for problem in faults.judge(result, "x", b"old", new)]
    return problems


@pytest.mark.parametrize("name", list(COMMANDS))
@pytest.mark.parametrize("call", list(ERRORS))
def test_a_fault_leaves_the_old_file_or_the_new_one(tmp_path, monkeypatch, name, call):
    monkeypatch.chdir(tmp_path)
    shutil.copy(MODEL, "m.json")
    command, marker = COMMANDS[name]
    assert faults.trace(command).returncode == 0
    new = Path("x").read_bytes()
    assert faults.trace(command).returncode == 0
    counts, before = faults.calls_after(marker)
    first, last = before.get(call, 0) + 1, counts.get(call, 0)
    problems = [problem for action in ERRORS[call] for problem in sweep(command, call, action, first, last, new)]
    assert problems == []
