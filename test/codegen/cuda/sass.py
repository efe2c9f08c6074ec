# ===- sass.py - What ptxas makes of a kernel ------------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Assembles PTX, for sm_80 unless another one is named, and counts the machine code of its main loop.

The unit is T: a sub-core takes 8 cycles for the HMMA of one m16n8k16, and shared memory
moves 128 bytes a cycle for the four sub-cores. `reads` and `copied` are cycles of shared
memory for four warps, over T of one: LDSM.x4 reads 512 bytes, a 16-byte LDGSTS writes as many.
For the products of warp groups, T is N/2 cycles for each HGMMA of 64xNx16, and `group_others` are
all other instructions of a warp, of which a sub-core begins one a cycle.
"""

import re
import subprocess
import sysconfig
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

TOOLS = Path(sysconfig.get_path("purelib")) / "nvidia/cu13/bin"
HMMA_CYCLES = 8
MEMORY_CYCLES = 4  # of 512 bytes
MULTIPLYING = ("HMMA", "HGMMA")


def missing() -> str:
    """Which tool is not there, or nothing."""
    return ", ".join(name for name in ("ptxas", "nvdisasm") if not (TOOLS / name).exists())


def call(*command: object) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@dataclass
class Turn:
    """Instructions by opcode, without its modifiers."""

    counts: Counter
    group_cycles: int = 0  # T of warp groups

    @property
    def group_others(self) -> float:
        return (self.counts.total() - self.counts["HGMMA"]) / self.group_cycles

    @property
    def products(self) -> int:
        return self.counts["HMMA"]

    def over_t(self, count: int) -> float:
        """Cycles of shared memory that `count` instructions of 512 bytes take for four warps."""
        return 4 * MEMORY_CYCLES * count / (HMMA_CYCLES * self.products)

    @property
    def reads(self) -> float:
        return self.over_t(self.counts["LDSM"])

    @property
    def reads_and_copies(self) -> float:
        return self.over_t(self.counts["LDSM"] + self.counts["LDGSTS"])

    @property
    def others(self) -> float:
        return (self.counts.total() - self.products) / self.products


@dataclass
class Kernel:
    """The report of ptxas, and the code: each instruction, with its predicate cut off."""

    registers: int
    spilled: int
    stack: int
    code: list[str]
    loop: tuple[int, int] | None
    loops: list[tuple[int, int]] = field(default_factory=list)  # all that hold products
    repairs: list[str] = field(default_factory=list)  # what ptxas did to make wgmma right, of which it only tells

    def turn(self, first: int, last: int) -> Turn:
        part = self.code[first:last]
        cycles = sum(int(shape[1]) // 2 for op in part if (shape := re.match(r"HGMMA\.64x(\d+)x16\.", op)))
        return Turn(Counter(op.split(".")[0] for op in part if op != "NOP"), cycles)

    def main_loop(self) -> Turn:
        assert self.loop, "no loop has a product"
        return self.turn(*self.loop)

    def after_loop(self) -> Turn:
        """From the end of the main loop to the last product after it."""
        last = max(i for i, op in enumerate(self.code) if op.startswith("HMMA"))
        return self.turn(self.loop[1], last + 1)

    def local(self) -> int:
        return sum(op.startswith(("LDL", "STL")) for op in self.code)


def opcodes(text: str) -> tuple[list[str], dict[str, int], list[tuple[int, str]]]:
    """Opcodes, the places of labels, and branches."""
    code: list[str] = []
    labels: dict[str, int] = {}
    branches: list[tuple[int, str]] = []
    for line in text.splitlines():
        if label := re.match(r"\s*(\.L_x_\d+):", line):
            labels[label[1]] = len(code)
        found = re.search(r"/\*[0-9a-f]{4,}\*/\s+(?:(@!?U?P\w+)\s+)?([A-Z][\w.]*)([^;]*);", line)
        if not found:
            continue
        if target := re.search(r"`\((\.L_x_\d+)\)", found[3]):
            branches.append((len(code), target[1]))
        # What is never executed pads loads of shared memory.
        code.append("NOP" if found[1] == "@!PT" else found[2])
    return code, labels, branches


def read_kernel(said: str, text: str) -> Kernel:
    """What ptxas said of a kernel, and its disassembly."""
    code, labels, branches = opcodes(text)
    loops = [(labels[target], place + 1) for place, target in branches if labels.get(target, place + 1) <= place]
    loops = [loop for loop in loops if any(op.startswith(MULTIPLYING) for op in code[slice(*loop)])]
    # The innermost of those that hold products: one that copies, if there is one. Turns without copies are the last few.
    loops.sort(key=lambda loop: (not any(op.startswith("LDGSTS") for op in code[slice(*loop)]), loop[1] - loop[0]))

    def number(pattern: str) -> int:
        return int(re.search(pattern, said)[1])

    spilled = number(r"(\d+) bytes spill stores") + number(r"(\d+) bytes spill loads")
    return Kernel(number(r"Used (\d+) registers"), spilled, number(r"(\d+) bytes stack frame"), code, loops[0] if loops else None, loops)


def assemble_all(ptx: str, folder: Path, arch: str = "sm_80") -> dict[str, Kernel]:
    """The kernels of a text by name."""
    source, cubin = folder / "kernel.ptx", folder / "kernel.cubin"
    source.write_text(ptx, encoding="utf-8")
    said = call(TOOLS / "ptxas", "-v", f"-arch={arch}", source, "-o", cubin)
    reports = re.split(r"Compiling entry function '(\w+)'", said)[1:]
    sections = re.split(r"\.section\s+\.text\.(\w+)", call(TOOLS / "nvdisasm", "-c", cubin))[1:]
    texts = dict(zip(sections[::2], sections[1::2], strict=True))
    kernels = {name: read_kernel(report, texts[name]) for name, report in zip(reports[::2], reports[1::2], strict=True)}
    for line in said.splitlines():
        if repaired := re.search(r"\(C75\d+\).* in function '(\w+)'", line):
            kernels[repaired[1]].repairs.append(line)
    return kernels


def assemble(ptx: str, folder: Path, arch: str = "sm_80") -> Kernel:
    """The only kernel of a text."""
    (kernel,) = assemble_all(ptx, folder, arch).values()
    return kernel


def assemble_in_registers(ptx: str, folder: Path, arch: str = "sm_80") -> Kernel:
    """The same of a kernel that keeps everything in registers."""
    made = assemble(ptx, folder, arch)
    assert (made.spilled, made.stack, made.local()) == (0, 0, 0)
    return made


def check_registers(ptx: str, folder: Path):
    """ptxas takes the kernel, where there is one, and keeps its values in registers."""
    if not missing():
        assemble_in_registers(ptx, folder)
