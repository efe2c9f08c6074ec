# ===- campaigns.py - Cases of which a share runs each time ----------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""A campaign asks one question of many models, sizes or types. `./dev test` asks it of a share of them, which is always the same, and
`./dev test --full` of all: run.py finds the files that import this one and runs them with HOVA_CAMPAIGNS=all. What a share finds of
planted faults is in docs/rationale/time-of-tests.md."""

import os
from collections.abc import Iterable, Sequence
from typing import TypeVar

Case = TypeVar("Case")
# At least so much of a campaign runs each time.
LEAST = 10


def share(cases: Iterable[Case], of: int, first: int = 0, always: Sequence[Case] = ()) -> list[Case]:
    """Each `of`-th case from the one of number `first` on, and those that run always; all where HOVA_CAMPAIGNS says so."""
    every = list(cases)
    assert 1 < of <= LEAST and 0 <= first < of and all(case in every for case in always)
    if os.environ.get("HOVA_CAMPAIGNS") == "all":
        return every
    return [case for number, case in enumerate(every) if number % of == first or case in always]


def some_of(every: Sequence[Case], some: Sequence[Case]) -> list[Case]:
    """Those that a file names, where no rule says which they are; all where HOVA_CAMPAIGNS says so."""
    assert all(case in every for case in some) and LEAST * len(some) >= len(every) > len(some)
    return list(every if os.environ.get("HOVA_CAMPAIGNS") == "all" else some)
