# ===- test_driver_device.py - Instructions on a driver's device ------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""With HOVA_TEST_DRIVER=1 the tests of instructions run each kernel on the device of `libcuda.so.1` too, and compare its bits
with the emulation's. Here that is the stand-in of test/runtime, whose device is the interpreter of PTX; on a machine with a
GPU the same command compares with the hardware (docs/gpu-checks.md)."""

import os
import re
import subprocess
import sys
from pathlib import Path

BUILD = Path(os.environ["HOVA_BUILD"])
LAUNCH = Path(__file__).with_name("ptx_launch.py")
# Kernels with faults are not for devices.
TESTS = "--gtest_filter=Table/Instructions*:Mma*:LdMatrix*"


def run(folder, interpreter, tests=TESTS):
    environment = {"HOVA_TEST_DRIVER": "1", "LD_LIBRARY_PATH": str(BUILD / "test/runtime/driver"),
                   "STAND_IN_LAUNCHES": str(folder), "STAND_IN_INTERPRETER": interpreter}
    return subprocess.run([BUILD / "bin/codegen-cuda-test", tests], capture_output=True, text=True, check=False,
                          env={**os.environ, **environment})


def test_every_instruction_has_the_same_bits_in_the_interpreter(tmp_path):
    # The stand-in says that it is an A100, and so it has to add.
    done = run(tmp_path, f"'{sys.executable}' -B '{LAUNCH}' a100")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert int(re.search(r"\[  PASSED  \] (\d+) tests", done.stdout)[1]) > 90


def test_another_bit_of_the_device_is_noticed(tmp_path):
    """A device that does nothing leaves what was there."""
    done = run(tmp_path, "true", "--gtest_filter=Mma.multiplies_f16")
    assert done.returncode == 1
    assert "byte 0 of 'r': the device has 0xabababab, the emulation" in done.stdout
