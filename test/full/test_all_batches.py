# ===- test_all_batches.py - Items of every small model in batches ---------------=== #
# SPDX-License-Identifier: Apache-2.0
"""What test/e2e/test_batches.py does with a few models, with all golden vectors."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))
from test_batches import CHOSEN, MIXED, VECTORS, check_model

NAMES = {path.name for path in VECTORS.iterdir()}


def test_those_that_are_left_out_exist():
    assert NAMES > {*CHOSEN, *MIXED}


@pytest.mark.parametrize("name", sorted(NAMES - MIXED - set(CHOSEN)))
def test_items_of_a_small_model(name, tmp_path):
    check_model(name, tmp_path)
