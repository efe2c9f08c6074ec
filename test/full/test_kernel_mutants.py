# ===- test_kernel_mutants.py - Faults of every class, at several places ------------=== #
# SPDX-License-Identifier: Apache-2.0
"""The mutants of test/codegen/cuda/mutants.py, three of each rule and recipe: the first place, the last and one between."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "codegen/cuda"))

from mutants import KINDS, RECIPES, attempts, mutants_by, outcome, spread  # noqa: E402

MOST, PLACES = 3, 12


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("recipe", RECIPES)
def test_mutants_are_noticed(recipe, kind, tmp_path):
    missed, unnoticed, noticed = [], {}, set()
    for mutant, result in attempts(recipe, kind, MOST, tmp_path):
        print(f"{mutant}: {result}")
        if result != "not noticed":
            noticed.add(mutant.rule)
        elif not mutant.possible_reason():
            missed.append(f"{mutant}: {result}")
        elif not mutant.reason():
            unnoticed[mutant.rule] = mutant
    # Where some places may change nothing, another one does not.
    for rule, mutant in unnoticed.items():
        if rule in noticed or mutant.is_never_noticed():
            continue
        mutants = mutants_by(rule, recipe)
        others = (mutants[i] for i in spread(len(mutants), PLACES))
        if all(outcome(other, tmp_path) == "not noticed" for other in others):
            missed.append(f"{mutant.recipe}: {rule.level}: {rule.name}: not noticed at {PLACES} places")
    assert not missed
