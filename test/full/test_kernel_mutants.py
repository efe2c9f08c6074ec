# ===- test_kernel_mutants.py - Faults of every class, at several places ------------=== #
# SPDX-License-Identifier: Apache-2.0
"""The mutants of test/codegen/cuda/mutants.py, three of each rule and recipe: the first place, the last and one between."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "codegen/cuda"))

from mutants import KINDS, RECIPES, SAME_EVERYWHERE, attempts  # noqa: E402

MOST = 3


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("recipe", RECIPES)
def test_mutants_are_noticed(recipe, kind, tmp_path):
    missed = []
    for mutant, result in attempts(recipe, kind, MOST, tmp_path):
        print(f"{mutant}: {result}")
        if (result == "not noticed") != bool(mutant.reason()) and result != SAME_EVERYWHERE:
            missed.append(f"{mutant}: {result}")
    assert not missed
