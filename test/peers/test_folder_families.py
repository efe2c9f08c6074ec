# ===- test_folder_families.py - Folders of all families -------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""A folder of every class of every family: random weights with gains away from 1, padded batches, f32 within 1e-5 of
the largest value of what the library computes. Then keys of the configuration changed: right or refused."""

import pytest
from folder_families import FAMILIES
from saved_folders import build, cases, changes, check_right_or_refused, check_saved, name_of


@pytest.mark.parametrize("family, kind", cases(FAMILIES), ids=name_of)
def test_saved_folder(family, kind, scratch):
    check_saved(family, build(family, kind), scratch)


@pytest.mark.parametrize("family, changed", changes(FAMILIES), ids=name_of)
def test_changed_key_is_right_or_refused(family, changed, scratch):
    check_right_or_refused(family, changed, scratch)
