# ===- peak.py - The measured limit of the machine ---------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Builds peak.c and runs it in between the measurements that it is the limit of."""

import json
import shutil
import subprocess
from pathlib import Path
from statistics import median

TOOLS = Path(__file__).resolve().parent


class Peak:
    """GFLOP/s of `cpus` together: {"fma", "fma_sustained", "bf16_dot" or None}."""

    def __init__(self, build, cpus):
        self.program = Path(build) / "bench/peak"
        self.cpus = cpus
        self.measured = []
        self.program.parent.mkdir(parents=True, exist_ok=True)
        compiler = shutil.which("clang-22") or "cc"
        source = TOOLS / "peak.c"
        command = [compiler, "-O2", "-pthread", str(source), "-o", str(self.program)]
        subprocess.run(command, check=True)

    def measure(self):
        cpus = ",".join(map(str, self.cpus))
        command = ["taskset", "-c", cpus, str(self.program), str(len(self.cpus))]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        self.measured.append(json.loads(done.stdout))

    def take(self):
        """The median since the last call."""
        measured, self.measured = self.measured, []
        rates = {
            name: median(m[name] for m in measured)
            for name in ("fma", "fma_sustained")
        }
        dots = [m["bf16_dot"] for m in measured]
        rates["bf16_dot"] = None if None in dots else median(dots)
        return rates
