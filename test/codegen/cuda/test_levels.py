# ===- test_levels.py - Kernels for the levels of GPUs ---------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Kernels of every recipe, as they are for GPUs that give a block 99 KiB of shared memory, where that is other code than for 8.0:
interpreted and emulated, with the limits that they have everywhere."""

import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from kernels import attention, emit, product
from modules import MODULES

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from campaigns import share  # noqa: E402

LEVEL = "sm_86"
SCHEDULE = ("--block-", "--row-warps", "--column-warps", "--queries", "--warps", "--keys", "--step", "--stages")
CASES = {
    "product": lambda: product(128, 128, 128),
    "product of many parts": lambda: product(70, 400, 264),
    "attention of long sequences": lambda: attention(1, 200, 2),
    **MODULES,
}


def of_level(case, level):
    """With the schedule that is chosen for it."""
    flags = [*(flag for flag in case.flags if not flag.startswith(SCHEDULE)), f"--gpu={level}"]
    return replace(case, flags=flags, grid=tuple(int(blocks) for blocks in emit("launch", case.recipe, *flags, source=case.source).split()[1:]))


def code_of(case):
    """But for the name of the level."""
    return re.sub(r"\.target sm_\w+", "", case.ptx())


@pytest.mark.parametrize("name", share(CASES, of=3, first=2, always=["product of many parts"]))
def test_kernels_of_99_kib_compute_what_numpy_does(name, tmp_path):
    case = of_level(CASES[name](), LEVEL)
    assert case.shared() <= 99 << 10
    if code_of(case) == code_of(of_level(CASES[name](), "sm_80")):
        return  # test_kernels.py has it
    (emulated,) = case.emulate(tmp_path, [("late", 1)])
    assert case.error(case.run("late", 1)) <= case.limit
    assert case.error(emulated) <= case.limit


def test_some_code_differs():
    case = CASES["product of many parts"]()
    assert code_of(of_level(case, LEVEL)) != code_of(of_level(case, "sm_80"))
