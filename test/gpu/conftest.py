# ===- conftest.py - Tests that need a GPU --------------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""`./dev test --gpu` runs what is here on the first GPU of the machine. Without one it is an error: nothing is emulated in
its place.

Each of these takes one GPU for a short time, so that they may run beside each other (pytest -n)."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
for folder in ("test/codegen/cuda", "test/fuzz/models", "test/e2e", "test/full", "test/tools", "examples/torch-dlpack", "examples/embed"):
    sys.path.insert(0, str(ROOT / folder))

# In a process of its own, since what has begun to use a driver must not be forked from.
LOOK = """
import ctypes, sys
driver, count = ctypes.CDLL("libcuda.so.1"), ctypes.c_int(0)
if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)) or not count.value:
    sys.exit("the driver finds none")
"""


def pytest_sessionstart(session):
    if hasattr(session.config, "workerinput"):
        return
    found = subprocess.run([sys.executable, "-c", LOOK], capture_output=True, text=True, check=False)
    if found.returncode:
        pytest.exit(f"these tests need a GPU: {found.stderr.splitlines()[-1]}", returncode=1)
