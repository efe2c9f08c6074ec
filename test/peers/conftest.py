# SPDX-License-Identifier: Apache-2.0
"""Fixtures, and what `--record` writes: the table of docs/checked-against.md, and the
names and shapes of public checkpoints.

A test gets `compare`, which is harness.compare for a scratch folder that goes away (a
checkpoint is 350 MB). It adds a row with the name of the test to the table.
"""

import os
import tempfile
from functools import partial
from pathlib import Path

import harness
import peers_names
import pytest
from peers_table import Row, replace_table

ROWS = []
NAMES = {}


def pytest_addoption(parser):
    parser.addoption(
        "--record", action="store_true", help="write the table and the names of checkpoints"
    )


@pytest.fixture
def scratch():
    parent = os.environ.get("HOVA_BUILD")
    with tempfile.TemporaryDirectory(prefix="peers-", dir=parent) as folder:
        yield Path(folder)


@pytest.fixture
def compare(scratch, request):
    def add(model, variant, against, error, bound):
        test = f"{request.path.name}::{request.node.name}"
        ROWS.append(Row(model, variant, against, f"{error:.1e}", f"{bound:.1e}", test))

    def names(model, source, state):
        found = peers_names.listed(state)
        NAMES.setdefault(model, {})[source] = found
        if not request.config.getoption("--record"):
            kept = peers_names.read()[model][source]
            assert found == kept, "the library has other names: ./dev test --peers --record"

    return partial(harness.compare, folder=scratch, record=add, record_names=names)


def pytest_sessionfinish(session, exitstatus):
    if session.config.getoption("--record") and exitstatus == 0:
        replace_table(ROWS)
        peers_names.write(NAMES)
