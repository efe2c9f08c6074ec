# ===- test_score_rules.py - Rules of masks stand in one place ---------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Which key counts for which query is data of a region (dialect/score/ScoreRegion.h).

The frontend writes it once (frontend/elaborate/ScoreBuilder.h), what is built in as what a
description says; the evaluator runs it, and one file a target expands it. A recipe that named padding, a causal limit, a mask or a bias
would be a second place.
"""

import re

from sources import files, text

COMMENT = re.compile(r"//.*")
# What an operation could say of masks, as ODS would call the accessor; the score bias of
# horizontal attention is one of heads.
RULES = re.compile(r"\bget(KeyValid|Mask|Causal|BiasIndex|Temperature|Window)\b")

# Linear attention has no scores, and so no region: these read its own two attributes.
LINEAR_ATTENTION = {
    "codegen/cpu/recipes/KeySummaryRecipe.cpp",
    "codegen/cpu/recipes/SummaryAttentionRecipe.cpp",
    "codegen/cuda/recipes/linear_attention/FeatureWriter.h",
}

# Reads of captured tensors, which no rule of masks does without.
READ = re.compile(r"\bElementOp\b")
EXPANDS = {"codegen/cpu/recipes/ScoreLanes.cpp", "codegen/cuda/recipes/ScoreTiles.cpp"}
# It asks which captured tensor may be overwritten, and computes nothing.
ASKS = {"codegen/cpu/recipes/AttentionRecipe.cpp"}


def code(path):
    return COMMENT.sub("", text(path))


def test_no_recipe_has_a_rule_of_masks():
    recipes = files(".cpp", ".h", under="codegen/cpu/recipes/") + files(".cpp", ".h", under="codegen/cuda/recipes/")
    assert len(recipes) > 40
    assert {path.as_posix() for path in recipes if RULES.search(code(path))} == LINEAR_ATTENTION


# What layers call the masks that are built in: the importer knows none of them.
MASKS = re.compile(r'"(?:score_bias|bias_index|key_valid|mask|causal|temperature|scale)"')


def test_the_importer_writes_scores_without_knowing_masks():
    importers = [path for path in files(".cpp", ".h", under="frontend/") if path.parent.as_posix() == "frontend"]
    users = {path.name for path in importers if MASKS.search(code(path))}
    # The name of an operator of its own.
    assert users == {"BuiltInOperators.cpp"}


def test_one_file_a_target_expands_the_region():
    readers = {
        path.as_posix()
        for under in ("codegen/", "passes/")
        for path in files(".cpp", under=under)
        if READ.search(code(path))
    }
    assert readers == EXPANDS | ASKS


def test_operations_of_attention_have_no_rule_of_masks():
    """In ODS, too: what a paper adds is a line of a region, not an operand."""
    definition = text(next(iter(p for p in files(".td", under="dialect/") if p.stem == "AttentionOps")))
    arguments = re.findall(r"let arguments = \(ins(.*?)\);", definition, re.DOTALL)
    assert arguments
    names = {word for block in arguments for word in re.findall(r":\$(\w+)", block)}
    assert not names & {"mask", "key_valid", "causal", "bias_index", "temperature", "scale", "window"}
