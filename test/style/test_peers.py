# ===- test_peers.py - The table of whole models is about tests that exist ----=== #
# SPDX-License-Identifier: Apache-2.0
"""`./dev test --peers --record` writes the table of docs/checked-against.md; these hold it
to the tests of test/peers and to the example models, without any framework."""

import re
import sys

from sources import SOURCE, files, text

sys.path.append(str(SOURCE / "test/peers"))
from peers_table import split_page  # noqa: E402

_, ROWS, _ = split_page()


def functions():
    """test_x.py::test_y of every test of a whole model in test/peers: they take `compare`."""
    return {
        f"{path.name}::{name}"
        for path in files(".py", under="test/peers/")
        for name in re.findall(r"^def (test_\w+)\([^)]*\bcompare\b", text(path), re.MULTILINE)
    }


def test_rows_and_tests_are_the_same():
    assert {row.test.split("[")[0] for row in ROWS} == functions()


def test_no_row_is_there_twice():
    tests = [row.test for row in ROWS]
    assert len(tests) == len(set(tests))


def test_errors_are_within_their_bounds():
    assert [row for row in ROWS if not 0 < float(row.error) <= float(row.bound)] == []


def test_every_example_model_has_a_row():
    models = {path.stem for path in files(".json", under="examples/models/")}
    assert {row.model for row in ROWS} == models
