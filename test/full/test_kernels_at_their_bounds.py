# ===- test_kernels_at_their_bounds.py - Kernels as far off as PTX allows ----------=== #
# SPDX-License-Identifier: Apache-2.0
"""Every kernel with instructions that PTX only approximates, but for those that the quick test takes: results of these lie at
either end of their bounds."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "codegen/cuda"))
import test_approximations as quick  # noqa: E402


@pytest.mark.parametrize("way", quick.WAYS)
@pytest.mark.parametrize("name", [name for name in quick.CASES if name in quick.APPROXIMATED and name not in quick.CHOSEN])
def test_kernels_are_right_wherever_results_lie(name, way, tmp_path):
    quick.test_kernels_are_right_wherever_results_lie(name, way, tmp_path)
