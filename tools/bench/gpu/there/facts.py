# ===- facts.py - What a figure was measured on -------------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""The GPU, its clocks as far as somebody says them, and what it reaches in PyTorch's largest product and copy."""

import shutil
import subprocess
import sys
import time

from store import find_torch, words_of
from turns import Contestant

LARGE = 8192  # rows and columns of the product
COPIED_BYTES = 2**31
ASKED = "driver_version,clocks.sm,clocks.mem,clocks.max.sm,power.limit,power.draw"


def reached(bench, torch):
    """Rates of PyTorch."""
    x = torch.randn(LARGE, LARGE, device="cuda", dtype=torch.bfloat16)
    large = torch.empty(COPIED_BYTES, dtype=torch.uint8, device="cuda")
    copied = torch.empty_like(large)
    stream, rates = torch.cuda.Stream(), {}
    with torch.cuda.stream(stream):
        for name, work, run in [("bf16_tflops", 2 * LARGE**3, lambda: x @ x), ("copy_tb_per_s", 2 * COPIED_BYTES, lambda: copied.copy_(large))]:
            contestant = Contestant(name, run)
            contestant.turn(bench, stream.cuda_stream, bench.list["counts"])
            rates[name] = round(work / (contestant.record()["median_ms"] / 1e3) / 1e12, 3)
    return {"torch": torch.__version__, **rates}


def measure(bench, item):
    """A row of all that."""
    told = {"date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()), "python": sys.version.split()[0], "made": bench.list["made"]}
    told |= bench.device.describe()
    torch, reason = find_torch()
    try:
        told |= reached(bench, torch) if torch else {"torch": reason}
    except Exception as error:  # of whatever kind frameworks have: the machine is described all the same
        told["torch"] = words_of(error)
    if shutil.which("nvidia-smi"):
        said = subprocess.run(["nvidia-smi", f"--query-gpu={ASKED}", "--format=csv,noheader", "-i", "0"], capture_output=True, text=True, check=False)
        told |= dict(zip(ASKED.split(","), said.stdout.strip().split(", ")))
    return told
