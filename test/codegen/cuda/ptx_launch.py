# ===- ptx_launch.py - One launch of a program, interpreted ----------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Executes what the stand-in for a driver (test/runtime/cuda/StandInKernels.c) was asked to launch: its folder has the PTX of a
module, the memory of the device, and a line of name, grid, block, bytes of shared memory and where in memory each argument begins
and where its allocation ends, or of a number itself and -1."""

from pathlib import Path

import numpy as np
import ptx


def interpret(folder: Path, sums: str) -> tuple[int, str]:
    """The status, and a message of a fault, whose status is 1. `sums` is how `mma.sync` adds: in-order, a100 or h100
    (docs/gpu-arithmetic.md). The memory is written back."""
    name, *numbers = (folder / "launch").read_text(encoding="utf-8").split()
    x, y, z, *block, shared = map(int, numbers[:7])
    places = list(zip(map(int, numbers[7::2]), map(int, numbers[8::2]), strict=True))
    memory = np.fromfile(folder / "memory", np.uint8)
    arguments = [memory[begin:end] for begin, end in places if end >= 0]
    sizes = tuple(begin for begin, end in places if end < 0)
    launch = ptx.Grid((folder / "ptx").read_text(encoding="utf-8"), name, arguments, (x, y, z), shared, landing="mixed", seed=1,
                      sums=sums, block=tuple(block), numbers=sizes)
    try:
        launch.run()
    except ptx.Fault as fault:
        return 1, f"{name}: {fault}\n"
    memory.tofile(folder / "memory")
    return 0, ""
