# ===- test_mutants.py - Faults of every class in every recipe ---------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""One mutant of each rule and recipe; test/full/test_kernel_mutants.py takes more of each."""

import pytest
from mutants import KINDS, NONE, RECIPES, mutants_of, outcome

MOST = 1
AT_LEAST = 80


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("recipe", RECIPES)
def test_mutants_are_noticed(recipe, kind, tmp_path):
    missed = []
    for mutant in mutants_of(recipe, kind, MOST):
        result = outcome(mutant, tmp_path)
        reason = mutant.reason()
        print(f"{mutant}: {result}" + (f", equal: {reason}" if reason else ""))
        if (result == "not noticed") != bool(reason):
            missed.append(f"{mutant}: {result}")
    assert not missed


def test_every_class_has_mutants_in_every_recipe():
    counts = {(recipe, kind): len(list(mutants_of(recipe, kind, MOST))) for recipe in RECIPES for kind in KINDS}
    print("\n| class | " + " | ".join(RECIPES) + " |\n|---|" + "---|" * len(RECIPES))
    for kind in KINDS:
        print(f"| {kind} | " + " | ".join(str(counts[recipe, kind] or NONE.get((recipe, kind), "none")) for recipe in RECIPES) + " |")
    assert {cell for cell, count in counts.items() if not count} == set(NONE)
    assert sum(counts.values()) >= AT_LEAST
