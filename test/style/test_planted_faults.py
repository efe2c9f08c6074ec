# ===- test_planted_faults.py - The faults of the long suite can be planted ---=== #
# SPDX-License-Identifier: Apache-2.0
"""The lines of test/full/nets/faults.toml stand in the sources: `./dev test --full` plants them all."""

import sys

from sources import SOURCE

sys.path.insert(0, str(SOURCE / "test/full/nets"))

from plant import read_faults  # noqa: E402


def test_the_line_of_each_fault_is_there_once():
    # It ends with a sentence at the first that is not.
    assert len(read_faults()) == 62
