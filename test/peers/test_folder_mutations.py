# ===- test_folder_mutations.py - Configurations with one key changed -----------=== #
# SPDX-License-Identifier: Apache-2.0
"""A tenth of the 2,000 changed configurations that folder_mutations.py tells of: right, or refused."""

import folder_mutations
import pytest

COUNT, PARTS = 200, 8


@pytest.mark.parametrize("part", range(PARTS))
def test_changed_configuration_is_right_or_refused(part, scratch):
    mutations = folder_mutations.Mutations(scratch)
    found = []
    for case in folder_mutations.cases(seed=1)[part:COUNT:PARTS]:
        outcome, said = mutations.run(*case)
        if outcome not in ("right", "refused", "illegal"):
            found.append(f"{outcome}: {folder_mutations.describe(case)}: {said}")
    assert not found, "\n".join(found)
    assert mutations.compiled > 0
