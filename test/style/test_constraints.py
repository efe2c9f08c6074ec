# ===- test_constraints.py - Constraints of operations and their tests --------=== #
# SPDX-License-Identifier: Apache-2.0
"""Every numbered constraint in the description of an operation has a test that breaks it.

A description lists `- C1: ...`; the function that breaks it is called `linear_c1_...`.
Operations that share a class share its constraints, and one test will do.
"""

import re

from sources import files, text

START = re.compile(r"^(class|def) (Hova_\w+)(.*)$", re.MULTILINE)
CONSTRAINT = re.compile(r"^\s+- C(\d+): ", re.MULTILINE)
TEST = re.compile(r"@([a-z0-9_]+?)_c(\d+)_")


def constraints():
    """Sets of the names (operation, number) that stand for one constraint."""
    found, classes = [], {}
    for path in files(".td", under="dialect/"):
        content = text(path)
        starts = list(START.finditer(content))
        ends = [start.start() for start in starts[1:]] + [len(content)] * bool(starts)
        for start, end in zip(starts, ends, strict=True):
            kind, name, rest = start.groups()
            body = rest + content[start.end() : end]
            mnemonic = re.search(r'<\s*"(\w+)"', body)
            parent = re.match(r"\s*:\s*(Hova_\w+)<", body)
            numbers = CONSTRAINT.findall(body)
            if kind == "class":
                classes[name] = [set() for _ in numbers]
                found += [(number, names) for number, names in zip(numbers, classes[name])]
                continue
            if not mnemonic:
                continue
            for names in classes.get(parent and parent[1], []):
                names.add(mnemonic[1])
            found += [(number, {mnemonic[1]}) for number in numbers]
    return [{(name, number) for name in names} for number, names in found]


def broken_constraints():
    return {
        name
        for path in files(".mlir", under="test/dialect/")
        for name in TEST.findall(text(path))
    }


def test_every_constraint_has_a_test():
    missing = [sorted(names) for names in constraints() if not names & broken_constraints()]
    assert missing == []


def test_tests_name_constraints_that_are_there():
    known = set().union(*constraints())
    assert sorted(broken_constraints() - known) == []
