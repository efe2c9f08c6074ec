# ===- test_declines.py - Every reason to decline has a test -----------------=== #
# SPDX-License-Identifier: Apache-2.0
"""A pass that declines says why in its verdict (`Verdict::decline`), an operation that is asked for some of its
rows, or to be divided, tells the pass that asks (`Decline`), and what keeps operations apart is told by the grouping
(`refuse`, `whyNoRows`). Each such text stands in a check of the pass's tests."""

import re

import pytest
from sources import files, text

DECLINE = re.compile(r'(?:Verdict::decline\(|Decline\{)\s*(?:llvm::Twine\()?"((?:[^"\\]|"\s*")*)"')
LITERAL = re.compile(r'"((?:[^"\\]|\\.|"\s*")*)"')
CHECK = re.compile(r"^\s*//\s*[A-Z][A-Z0-9-]*:(.*)$", re.MULTILINE)


def joined(literal):
    """A literal that is written in several pieces."""
    return re.sub(r'"\s*"', "", literal)


def declines():
    return sorted(
        {
            (path.stem, joined(match))
            for room in ("dialect/", "passes/", "codegen/")
            for path in files(".cpp", under=room)
            for match in DECLINE.findall(text(path))
        }
    )


def checks():
    paths = files(".mlir", under="test/passes/") + files(".mlir", under="test/codegen/")
    return "\n".join(line for path in paths for line in CHECK.findall(text(path)))


def test_the_declines_are_found():
    assert len(declines()) >= 14


@pytest.mark.parametrize("owner, reason", declines(), ids=lambda value: str(value)[:40])
def test_every_decline_has_a_test(owner, reason):
    assert reason.strip() in checks()


def test_every_reason_to_stand_apart_has_a_test():
    code = text("passes/fuse/Grouping.cpp")
    begin, end = code.index("bool Grouping::canHold("), code.index("void Grouping::placeFormed(")
    spoken = re.sub(r"llvm_unreachable\([^)]*\)", "", code[begin:end])
    pieces = [joined(piece).strip() for piece in LITERAL.findall(spoken)]
    said = [piece for piece in pieces if len(piece) > 12]
    assert len(said) >= 6
    assert [piece for piece in said if piece not in checks()] == []
