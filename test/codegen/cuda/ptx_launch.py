# ===- ptx_launch.py - One launch of a program, interpreted ----------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Executes what the stand-in for a driver (test/runtime/cuda/StandInKernels.c) was asked to launch: its folder has the PTX of a
module, the memory of the device, which of its bytes launches have written that may still run, and a line of name, grid, block,
bytes of shared memory, whether the launch may begin while those run, and where in memory each argument begins and where its
allocation ends, or a number itself and -1."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import ptx
from ptx_memory import LaunchOrder


@dataclass
class Launch:
    """A kernel of PTX and its grid. Argument i is the memory from begins[i] to ends[i], and after these come `numbers`. Launches
    that may still run have written the bytes of `under_way`; it `overlaps` them, or has waited."""

    text: str
    name: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int
    begins: list[int]
    ends: list[int]
    numbers: tuple[int, ...]
    memory: np.ndarray
    under_way: np.ndarray
    overlaps: bool

    def run(self, sums: str) -> tuple[np.ndarray, np.ndarray]:
        """The memory after it, and what is under way then. `sums` is how `mma.sync` adds: in-order, a100 or h100
        (docs/gpu-arithmetic.md)."""
        memory, written = self.memory.copy(), self.under_way.copy()
        places = [slice(begin, end) for begin, end in zip(self.begins, self.ends, strict=True)]
        order = LaunchOrder([self.under_way[place] for place in places], [written[place] for place in places], self.overlaps)
        ptx.Grid(self.text, self.name, [memory[place] for place in places], self.grid, self.shared, landing="mixed", seed=1, sums=sums,
                 block=self.block, order=order, numbers=self.numbers).run()
        return memory, written


def read(folder: Path) -> Launch:
    """The launch that a folder holds."""
    name, *numbers = (folder / "launch").read_text(encoding="utf-8").split()
    x, y, z, *block, shared, overlaps = map(int, numbers[:8])
    given = list(zip(map(int, numbers[8::2]), map(int, numbers[9::2]), strict=True))
    addresses = [pair for pair in given if pair[1] >= 0]
    return Launch((folder / "ptx").read_text(encoding="utf-8"), name, (x, y, z), tuple(block), shared, [begin for begin, _ in addresses],
                  [end for _, end in addresses], tuple(number for number, end in given if end < 0),
                  np.fromfile(folder / "memory", np.uint8), np.fromfile(folder / "under-way", bool), bool(overlaps))


def interpret(folder: Path, sums: str) -> tuple[int, str]:
    """The status, and a message of a fault, whose status is 1. The memory is written back."""
    launch = read(folder)
    try:
        memory, written = launch.run(sums)
    except ptx.Fault as fault:
        return 1, f"{launch.name}: {fault}\n"
    memory.tofile(folder / "memory")
    written.tofile(folder / "under-way")
    return 0, ""
