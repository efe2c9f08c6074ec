# ===- test_random_models_on_gpus.py - A thousand random models as GPU programs ---=== #
# SPDX-License-Identifier: Apache-2.0
"""Random descriptions as programs for a GPU that the processor emulates with all checks, against NumPy: other seeds than those
of test/fuzz/models."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "fuzz/models"))

from trial import run_all  # noqa: E402

FIRST, GROUP, GROUPS = 10_000, 50, 20


@pytest.mark.parametrize("group", range(GROUPS))
def test_random_models_equal_numpy(group, tmp_path):
    first = FIRST + GROUP * group
    failed, refused = run_all(range(first, first + GROUP), tmp_path, target="cuda-emulated")
    assert not failed
    # Others are too large for a GPU, and say so.
    assert len(refused) <= 3
