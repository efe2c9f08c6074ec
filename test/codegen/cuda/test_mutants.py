# ===- test_mutants.py - Faults of every class in every recipe ---------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Recipes take turns: each has a quarter of the classes here, one mutant of each rule, and every class stands in a quarter of the
recipes. test/full/test_kernel_mutants.py takes all classes in all recipes, and more of each."""

import pytest
from mutants import FOR_FULL, KINDS, NONE, RECIPES, SAME_EVERYWHERE, attempts, mutants_of

MOST, TURNS = 1, 4
HERE = [recipe for recipe in RECIPES if recipe not in FOR_FULL]
CASES = [(recipe, kind) for i, recipe in enumerate(HERE) for j, kind in enumerate(KINDS) if (i + j) % TURNS == 0]


@pytest.mark.parametrize("recipe, kind", CASES)
def test_mutants_are_noticed(recipe, kind, tmp_path):
    missed, results = [], []
    for mutant, result in attempts(recipe, kind, MOST, tmp_path):
        reason = mutant.reason()
        results.append(result)
        print(f"{mutant}: {result}" + (f", equal: {reason}" if reason else ""))
        if (result == "not noticed") != bool(reason) and result != SAME_EVERYWHERE:
            missed.append(f"{mutant}: {result}")
    assert not missed
    # Of a class that a recipe can have one is noticed, unless a reason is given for each place.
    assert not results or any(result != SAME_EVERYWHERE for result in results)


def test_every_class_has_mutants_in_every_recipe():
    counts = {(recipe, kind): len([*mutants_of(recipe, kind, 10**6)]) for recipe in RECIPES for kind in KINDS}
    print("\n| recipe | " + " | ".join(KINDS) + " |\n|---|" + "---|" * len(KINDS))
    for recipe in RECIPES:
        print(f"| {recipe} | " + " | ".join(str(counts[recipe, kind] or NONE.get((recipe, kind), "none")) for kind in KINDS) + " |")
    assert {cell for cell, count in counts.items() if not count} == set(NONE)
