# ===- test_kernels_as_devices_add.py - Kernels as an A100 and an H100 add ---------=== #
# SPDX-License-Identifier: Apache-2.0
"""Every kernel that multiplies matrices, as the device adds that the quick test does not take for it."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "codegen/cuda"))
import test_kernels as quick  # noqa: E402


@pytest.mark.parametrize("name, device", [(name, quick.DEVICES[1 - i % 2]) for i, name in enumerate(quick.MULTIPLYING)])
def test_kernels_are_right_as_the_other_device_adds(name, device, tmp_path):
    quick.test_kernels_are_right_as_devices_add(name, device, tmp_path)
