# ===- ptx_launch.py - One launch of a program, interpreted ----------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Executes what the stand-in for a driver (test/runtime/cuda/StandInKernels.c) was asked to launch: its folder has the PTX of a
module, the memory of the device, which of its bytes launches have written that may still run, and a line of name, grid, block,
bytes of shared memory, whether the launch may begin while those run, and where in memory each argument begins and where its
allocation ends, or a number itself and -1."""

from pathlib import Path

import numpy as np
import ptx
from ptx_memory import LaunchOrder


def interpret(folder: Path, sums: str) -> tuple[int, str]:
    """The status, and a message of a fault, whose status is 1. `sums` is how `mma.sync` adds: in-order, a100 or h100
    (docs/gpu-arithmetic.md). The memory is written back."""
    name, *numbers = (folder / "launch").read_text(encoding="utf-8").split()
    x, y, z, *block, shared, overlaps = map(int, numbers[:8])
    given = list(zip(map(int, numbers[8::2]), map(int, numbers[9::2]), strict=True))
    places = [slice(begin, end) for begin, end in given if end >= 0]
    sizes = tuple(begin for begin, end in given if end < 0)
    memory, theirs = np.fromfile(folder / "memory", np.uint8), np.fromfile(folder / "under-way", bool)
    arguments, written = [memory[place] for place in places], theirs.copy()
    order = LaunchOrder([theirs[place] for place in places], [written[place] for place in places], bool(overlaps))
    launch = ptx.Grid((folder / "ptx").read_text(encoding="utf-8"), name, arguments, (x, y, z), shared, landing="mixed", seed=1,
                      sums=sums, block=tuple(block), order=order, numbers=sizes)
    try:
        launch.run()
    except ptx.Fault as fault:
        return 1, f"{name}: {fault}\n"
    memory.tofile(folder / "memory")
    written.tofile(folder / "under-way")
    return 0, ""
