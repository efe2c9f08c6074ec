# ===- ptx_launch.py - One launch of a program, interpreted ----------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""usage: ptx_launch.py [SUMS] FOLDER

Executes what the stand-in for a driver (test/runtime/StandInKernels.c) was asked to launch: its folder has the PTX of a
module, the memory of the device, and a line of name, grid, block, bytes of shared memory and where in memory each argument begins
and where its allocation ends. SUMS is how `mma.sync` adds: in-order, a100 or h100 (docs/gpu-arithmetic.md).
The memory is written back. A fault ends with status 1."""

import sys
from pathlib import Path

import numpy as np
import ptx


def main() -> int:
    *sums, folder = sys.argv[1:]
    folder = Path(folder)
    name, *numbers = (folder / "launch").read_text(encoding="utf-8").split()
    x, y, z, *block, shared = map(int, numbers[:7])
    begins, ends = map(int, numbers[7::2]), map(int, numbers[8::2])
    memory = np.fromfile(folder / "memory", np.uint8)
    arguments = [memory[begin:end] for begin, end in zip(begins, ends)]
    launch = ptx.Grid((folder / "ptx").read_text(encoding="utf-8"), name, arguments, (x, y, z), shared, landing="mixed", seed=1,
                      sums=sums[0] if sums else "in-order", block=tuple(block))
    try:
        launch.run()
    except ptx.Fault as fault:
        print(f"{name}: {fault}", file=sys.stderr)
        return 1
    memory.tofile(folder / "memory")
    return 0


if __name__ == "__main__":
    sys.exit(main())
