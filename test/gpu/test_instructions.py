# ===- test_instructions.py - Instructions and kernels on a GPU ----------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Every instruction that kernels are made of, and a kernel of every recipe, beside the emulation (DriverDevice.h)."""

import os
import re

import numpy as np
import pytest
from kernels import BIN
from test_gpu import run
from test_kernels import CASES

# Kernels with faults are not for devices. Each with how many there are at least.
TABLE = {"Table/Instructions*": 80, "Mma*": 4, "LdMatrix*": 2}


@pytest.mark.parametrize("tests, least", TABLE.items())
def test_every_instruction_leaves_the_bits_of_the_emulation(tests, least):
    said = run(BIN / "codegen-cuda-test", f"--gtest_filter={tests}", HOVA_TEST_DRIVER=1)
    assert int(re.search(r"\[  PASSED  \] (\d+) tests?", said)[1]) >= least


@pytest.fixture
def driver(monkeypatch):
    monkeypatch.setitem(os.environ, "HOVA_TEST_DRIVER", "1")


@pytest.mark.usefixtures("driver")
@pytest.mark.parametrize("name", CASES)
def test_kernels_compute_what_numpy_does(name, tmp_path):
    """And the bits of the emulation, which cuda-kernel itself compares where no instruction is approximate."""
    case = CASES[name]()
    emulated = case.emulate(tmp_path, [("late", 1), ("late", 1), ("late", 1)])
    results = np.fromfile(tmp_path / "device", emulated[0].dtype).reshape(3, *emulated[0].shape)
    assert case.error(results[0]) <= case.limit
    assert all(np.array_equal(result.view(np.uint8), results[0].view(np.uint8)) for result in results)
