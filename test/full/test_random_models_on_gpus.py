# ===- test_random_models_on_gpus.py - A thousand random models as GPU programs ---=== #
# SPDX-License-Identifier: Apache-2.0
"""Random descriptions as programs for a GPU that the processor emulates with all checks, against NumPy: other seeds than those
of test/fuzz/models."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "fuzz/models"))

from trial import Trial  # noqa: E402

FIRST, GROUP, GROUPS = 10_000, 50, 20


@pytest.mark.parametrize("group", range(GROUPS))
def test_random_models_equal_numpy(group, tmp_path):
    trials = [Trial.draw(FIRST + GROUP * group + i, target="cuda-emulated") for i in range(GROUP)]
    verdicts = {trial.seed: trial.run(tmp_path) for trial in trials}
    assert not [(seed, str(verdict)) for seed, verdict in verdicts.items() if verdict]
    # Others are too large for a GPU, and say so.
    assert sum(bool(trial.refused) for trial in trials) <= 3
