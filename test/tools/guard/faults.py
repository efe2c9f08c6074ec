# ===- faults.py - Programs whose system calls fail -----------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Runs a command under strace, which makes chosen system calls fail, and judges how it ended."""

import os
import re
import signal
import subprocess
from pathlib import Path

# Ended by an error, and said so. 141 is SIGPIPE.
STATUSES = (0, 1, 2, 3, 70, 71, 74)


def can_trace():
    """Whether strace is here and may do its work, which containers can forbid."""
    try:
        return subprocess.run(["strace", "-qq", "-o", "/dev/null", "true"], check=False, capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


def heed_signals():
    """Those that a shell has its background ignore would be ignored here too."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def trace(command, *options):
    """Runs a command under strace; "log" in the current folder lists its system calls."""
    words = ["strace", "-f", "-qq", "-o", "log", *options, *map(str, command)]
    with subprocess.Popen(
        words, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, preexec_fn=heed_signals  # noqa: PLW1509
    ) as process:
        try:
            out, err = process.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            # With strace alone gone, what it watches would wait on.
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(words, process.returncode, out, err)


def calls_after(marker):
    """How often the first process made each system call, and how often before the log first shows `marker`."""
    lines = Path("log").read_text(errors="replace").splitlines()
    first = lines[0].split()[0]
    counts, before = {}, {}
    for line in lines:
        pid, text = line.split(None, 1)
        if marker in text and not before:
            before = dict(counts)
        call = re.match(r"(\w+)\(", text)
        if pid == first and call:
            counts[call[1]] = counts.get(call[1], 0) + 1
    return counts, before


def leftovers():
    return [name for name in os.listdir(".") if name.endswith(".hova-tmp")]


def judge(result, output, old, new):
    """What is wrong with a run that should have replaced `old` by `new`; empty: nothing."""
    problems = []
    if result.returncode not in STATUSES:
        problems.append(f"status {result.returncode}")
    if result.returncode != 0 and "error: " not in result.stderr:
        problems.append("no message")
    if "Stack dump" in result.stderr or "Assertion" in result.stderr:
        problems.append("a crash")
    now = Path(output).read_bytes() if Path(output).exists() else b""
    if now not in (old, new) or (result.returncode == 0 and now != new):
        problems.append(f"{len(now)} bytes that are neither old nor new")
    if leftovers():
        problems.append(f"left {leftovers()}")
    return problems
