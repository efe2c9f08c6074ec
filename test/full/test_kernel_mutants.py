# ===- test_kernel_mutants.py - Faults of every class, at several places ------------=== #
# SPDX-License-Identifier: Apache-2.0
"""The mutants of test/codegen/cuda/mutants.py in all recipes: of each rule three places, and up to twelve until one is noticed."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "codegen/cuda"))

from mutants import KINDS, RECIPES, missed  # noqa: E402


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("recipe", RECIPES)
def test_mutants_are_noticed(recipe, kind, tmp_path):
    assert not missed(recipe, kind, 12, tmp_path, least=3)
