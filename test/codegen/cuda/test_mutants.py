# ===- test_mutants.py - Faults of every class in every recipe ---------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Each recipe has about an eighth of the classes here, which their names choose, and of each rule as many places as it takes until one is
noticed. test/full/test_kernel_mutants.py takes all classes in all recipes, and more of each."""

import zlib
from dataclasses import replace

import pytest
from mutants import (FOR_FULL, KINDS, NONE, NOT_NOTICED, RARE, RECIPES, RULES, is_noticed, missed, mutants_by, mutants_of, objection, outcome, spread,
                     text_of)

PLACES, SHARE = 4, 8
HERE = [recipe for recipe in RECIPES if recipe not in FOR_FULL]
# The recipes that most others stand before, in which a rule changes nothing: what they notice they are asked first, and the others then.
ASKED_FIRST = {
    "no meeting of the warp": "product",
    "an unsigned comparison": "attention, means of values",
    "a number without its sign": "raw scores alone",
    "the other of a number and none": "norm of heads within a tile, by length",
}


def turn(*names: str) -> int:
    return zlib.crc32(": ".join(names).encode())


@pytest.mark.parametrize("recipe, kind", [(recipe, kind) for recipe in HERE for kind in KINDS if turn(recipe, kind) % SHARE == 0])
def test_mutants_are_noticed(recipe, kind, tmp_path):
    assert not missed(recipe, kind, PLACES, tmp_path)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.level}, {rule.name}")
def test_every_rule_is_noticed_in_a_recipe(rule, tmp_path):
    """One that changes nothing anywhere would be a fault that nobody can plant, or that an executor cannot see."""
    for recipe in sorted(HERE, key=lambda recipe: (recipe != ASKED_FIRST.get(rule.name), turn(recipe, rule.name))):
        mutants = mutants_by(rule, recipe)
        if any(is_noticed(outcome(mutants[i], tmp_path)) for i in spread(len(mutants), 1)):
            return
    raise AssertionError(f"{rule.level}: {rule.name} is noticed in no recipe")


@pytest.mark.parametrize("name", ["a value of another lane", "an exchange less", "blocks alike"])
def test_a_fault_that_is_not_noticed_is_no_equal_mutant(name, tmp_path):
    """As if executors saw nothing: the text is the right one."""
    for rule in (rule for rule in RULES if rule.name == name):
        blind = replace(mutants_by(rule, "norm")[0], text=text_of("norm", rule.level), probe=None)
        assert outcome(blind, tmp_path) == NOT_NOTICED and objection(blind, tmp_path)


def test_every_class_has_mutants_in_every_recipe():
    kinds = [kind for kind in KINDS if kind not in RARE]
    counts = {(recipe, kind): sum(map(len, mutants_of(recipe, kind, 10**6))) for recipe in RECIPES for kind in kinds}
    print("\n| recipe | " + " | ".join(kinds) + " |\n|---|" + "---|" * len(kinds))
    for recipe in RECIPES:
        print(f"| {recipe} | " + " | ".join(str(counts[recipe, kind] or NONE.get((recipe, kind), "none")) for kind in kinds) + " |")
    assert {cell for cell, count in counts.items() if not count} == set(NONE)
