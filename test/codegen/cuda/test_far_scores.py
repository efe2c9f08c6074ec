# ===- test_far_scores.py - Softmax of large scores on a GPU ----------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Attention to keys in several turns whose scores are large and near each other: weights of all turns are relative to one
maximum. docs/rationale/large-scores.md says how. The truth is a softmax in float64."""

import pytest
from attention_modules import far_scores, greatest_scores


# Of f32 all sizes on the way; of other types those around which another factor is taken.
EXPONENTS = {"f32": (10, 18, 21, 22, 23, 24, 26, 28, 29, 30), "bf16": (18, 23, 24, 29, 30), "f16": (18, 23, 24, 28, 29)}


@pytest.mark.parametrize(("halves", "exponent"), [(halves, exponent) for halves, exponents in EXPONENTS.items() for exponent in exponents])
def test_turns_agree_about_their_maximum(halves, exponent, tmp_path):
    case = far_scores(halves, exponent)
    # Few keys have all the weight, so the rounding of weights counts beside that of results.
    for result in (case.run("late", 1), *case.emulate(tmp_path, [("late", 1)])):
        assert case.error(result) <= 1.25 * case.limit


@pytest.mark.parametrize(("halves", "scale"), [("f32", 0.171875), ("f32", 1.9), ("f32", 1e10), ("f32", 1e38), ("f32", 3e38), ("bf16", 1.0), ("bf16", 3e38),
                                                ("f16", 1e30), ("f16", 3e38)])
def test_the_greatest_numbers_are_scores(halves, scale, tmp_path):
    case = greatest_scores(halves, scale)
    for result in (case.run("late", 1), *case.emulate(tmp_path, [("late", 1)])):
        assert case.error(result) <= case.limit
