# ===- machine.py - Where a figure was measured -------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""The commit and the machine, for the record."""

import os
import platform
import re
import subprocess
import time
from pathlib import Path

# What decides which kernels frameworks choose.
FEATURES = ("avx2", "fma", "avx512f", "avx512_vnni", "avx512_bf16", "amx_tile")


def commit(source):
    """Short hash of the sources, marked if they were changed since."""
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--exclude=*"],
        cwd=source,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() or "unknown"


def describe_machine(cpus):
    info = Path("/proc/cpuinfo").read_text()
    flags = re.search(r"^flags\s*: (.*)$", info, re.M).group(1).split()
    model = re.search(r"^model name\s*: (.*)$", info, re.M).group(1)
    memory = re.search(r"MemTotal:\s+(\d+)", Path("/proc/meminfo").read_text())
    return {
        "processor": model,
        "features": [name for name in FEATURES if name in flags],
        "processors": os.cpu_count(),
        "cores_used": cpus,
        "memory_gib": round(int(memory.group(1)) / 2**20, 1),
        "kernel": platform.release(),
        "load_at_start": os.getloadavg()[0],
    }


def describe_run(source, cpus):
    """What the results of a run begin with: of which sources, when and where."""
    return {
        "commit": commit(source),
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "machine": describe_machine(cpus),
    }
