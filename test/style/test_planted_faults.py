# ===- test_planted_faults.py - The faults of the long suite can be planted ---=== #
# SPDX-License-Identifier: Apache-2.0
"""The lines of test/full/nets/faults.toml stand in the sources: `./dev test --full` plants them all."""

import re
import subprocess
import sys

from sources import SOURCE

sys.path[:0] = [str(SOURCE / "test/full/nets"), str(SOURCE / "test")]

from plant import read_faults  # noqa: E402
from run import smoke_of  # noqa: E402


def test_the_line_of_each_fault_is_there_once():
    # It ends with a sentence at the first that is not.
    assert len(read_faults()) == 176


# What stands for an expression is one: planted, it is between parentheses.
BRACKETS = {")": "(", "]": "[", "}": "{"}
ENDS = re.compile(r"^(\.|->|\?|:|,)|(\.|->|\?|:|,)$")


def is_whole(expression):
    opened = []
    for sign in re.sub(r'"[^"]*"', "", expression):
        if sign in "([{":
            opened.append(sign)
        elif sign in BRACKETS and (not opened or opened.pop() != BRACKETS[sign]):
            return False
    return not opened and not ENDS.search(expression.strip()) and expression.count("?") <= expression.count(":")


def test_what_is_planted_is_an_expression_or_a_statement():
    expressions = [fault for fault in read_faults() if not fault.statement]
    wrong = [fault for fault in expressions for one in (fault.right or fault.text, fault.wrong) if not is_whole(one)]
    assert len(expressions) > 100 and [f"{fault.file}: {fault.right}" for fault in wrong] == []
    members = [fault for fault in expressions if re.search(rf"(\.|->){re.escape(fault.right or fault.text)}", fault.text)]
    assert [f"{fault.file}: {fault.text}" for fault in members] == []


def test_the_test_that_is_tried_first_is_of_the_room():
    near = [(fault, fault.near) for fault in read_faults() if fault.near]
    assert [f"{fault.file}: {test}" for fault, test in near if not re.match(rf"({fault.room}|e2e)\b", test)] == []
    files = [test.split("::")[0] for _, test in near if test.split("::")[0].endswith((".mlir", ".test", ".py"))]
    assert files and [name for name in files if not (SOURCE / "test" / name).exists()] == []


def test_the_test_that_is_tried_first_runs_with_the_room():
    """Of tests of whole models, a room runs those alone that run.py names for it."""
    of_models = sorted({(fault.room, fault.near) for fault in read_faults() if fault.near.startswith("e2e/")})
    assert len(of_models) > 5
    for room, test in of_models:
        words = [sys.executable, "-B", "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider", SOURCE / "test" / test, "-k", smoke_of(room)]
        found = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
        assert found.returncode == 0, (room, test, found.stdout[-500:])
