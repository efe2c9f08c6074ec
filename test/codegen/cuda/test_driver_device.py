# ===- test_driver_device.py - Instructions on a driver's device ------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""With HOVA_TEST_DRIVER=1 the tests of instructions run each kernel on the device of `libcuda.so.1` too, and compare its bits
with the emulation's. Here that is the stand-in of test/runtime, whose device is the interpreter of PTX; on a machine with a
GPU the same command compares with the hardware (docs/gpu-checks.md)."""

import os
import re
import subprocess
from pathlib import Path

import stand_in

BUILD = Path(os.environ["HOVA_BUILD"])
# Kernels with faults are not for devices.
TESTS = "--gtest_filter=Table/Instructions*:Mma*:LdMatrix*"


def run(environment, tests=TESTS):
    return subprocess.run([BUILD / "bin/codegen-cuda-test", tests], capture_output=True, text=True, check=False,
                          env={**os.environ, "HOVA_TEST_DRIVER": "1", **environment})


def test_every_instruction_has_the_same_bits_in_the_interpreter(tmp_path):
    # The stand-in says that it is an A100, and so it has to add.
    done = run(stand_in.environment(tmp_path, "a100"))
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert int(re.search(r"\[  PASSED  \] (\d+) tests", done.stdout)[1]) > 90


def test_another_bit_of_the_device_is_noticed(tmp_path):
    """A device that does nothing leaves what was there."""
    done = run({**stand_in.environment(tmp_path), "STAND_IN_INTERPRETER": "true"}, "--gtest_filter=Mma.multiplies_f16")
    assert done.returncode == 1
    assert "byte 0 of 'r': the device has 0xabababab, the emulation" in done.stdout
