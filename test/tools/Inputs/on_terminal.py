# ===- on_terminal.py - What a command says to a person -----------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Runs a command whose standard error is a terminal, and prints what it writes there."""

import os
import subprocess
import sys

leader, terminal = os.openpty()
process = subprocess.Popen(sys.argv[1:], stderr=terminal)
os.close(terminal)
try:
    while text := os.read(leader, 4096):
        sys.stdout.buffer.write(text)
except OSError:
    pass  # the last writer has gone
sys.exit(process.wait())
