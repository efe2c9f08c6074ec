# ===- test_signals.py - Signals that hova is to ignore ---------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""`nohup` and a shell's background have signals ignored, and so does hova for what they start."""

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

HOVA = Path(os.environ["HOVA_BUILD"]) / "bin/hova"
MODEL = Path(__file__).resolve().parents[3] / "examples/models/lecture_mha.json"
IGNORABLE = [signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM]


def start(ignored):
    def ignore():
        for number in IGNORABLE:
            signal.signal(number, signal.SIG_IGN if number == ignored else signal.SIG_DFL)

    return subprocess.Popen([HOVA, "check", "-"], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=ignore)  # noqa: PLW1509


def wait_for_handlers(process):
    """SIGPIPE is the last that gets one; then the description is waited for."""
    caught = 0
    while not caught >> (signal.SIGPIPE - 1) & 1:
        status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
        caught = int(re.search(r"^SigCgt:\s*(\w+)$", status, re.M)[1], 16)


@pytest.mark.parametrize("number", IGNORABLE)
def test_a_signal_that_was_ignored_stays_so(number):
    process = start(number)
    wait_for_handlers(process)
    process.send_signal(number)
    _, errors = process.communicate(MODEL.read_text(encoding="utf-8"))
    assert (process.returncode, errors) == (0, "")


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
def test_any_other_ends_hova(number):
    process = start(None)
    wait_for_handlers(process)
    process.send_signal(number)
    process.wait()
    assert process.returncode == -number
