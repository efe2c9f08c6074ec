# ===- test_names.py - Names say what a thing is -----------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""`own` says whose something is and leaves open what it is: it is a word of sentences and no name."""

import re

import pytest
from sources import files, text

# What is no code: texts, and comments.
RAW = re.compile(r'R"(\w*)\(.*?\)\1"', re.DOTALL)
NO_CODE = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
NO_PYTHON = re.compile(r'""".*?"""|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|#[^\n]*', re.DOTALL)
NAME = re.compile(r"[A-Za-z_]\w*")
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
# Tests are called by sentences.
SENTENCE = re.compile(r"(?:^|_)(?:its|their|ones|of)_own(?:_|$)")
# What a text in a string computes with.
COMPUTED = re.compile(r"\{[^{}]*\}")
FORMATTED = re.compile(r"\b[fF][rR]?$|\b[rR][fF]$")
# Values of IR, and what a test captures of it, also in strings.
VALUE = re.compile(r"%([A-Za-z_]\w*)|\[\[#?([A-Za-z_]\w*)")


def names_of_python(source):
    found, end = set(), 0
    for literal in [*NO_PYTHON.finditer(source), None]:
        code = source[end : literal.start() if literal else None]
        found.update(NAME.findall(code))
        if literal and FORMATTED.search(code):
            found.update(name for computed in COMPUTED.findall(literal[0]) for name in NAME.findall(NO_PYTHON.sub("", computed)))
        end = literal.end() if literal else end
    return found


def names(path):
    source = text(path)
    if path.suffix == ".py":
        return {path.stem} | names_of_python(source)
    return set(NAME.findall(NO_CODE.sub("", RAW.sub("", source))))


def values(path):
    return {name for pair in VALUE.findall(text(path)) for name in pair if name}


def is_possessive(name):
    return not SENTENCE.search(name) and "own" in {word.lower() for word in WORD.findall(name)}


TYPE = re.compile(r"^(?:struct|class) (\w+)(?: final)?(?: :[^;{]*)? \{", re.MULTILINE)


def test_types_of_one_name_are_one():
    """Two of one namespace share what the compiler makes of each, such as destructors, and whichever is linked first is of both."""
    headers = {}
    for path in files(".h"):
        namespace = re.search(r"^namespace ([\w:]+) \{", text(path), re.MULTILINE)
        if namespace and not path.as_posix().startswith("test/"):
            for name in TYPE.findall(text(path)):
                headers.setdefault((namespace[1], name), []).append(str(path))
    assert len(headers) > 100
    assert {name: paths for name, paths in headers.items() if len(paths) > 1} == {}


def test_no_name_is_a_possessive():
    found = {path.as_posix(): sorted(filter(is_possessive, names(path))) for path in files(".c", ".cpp", ".h", ".js", ".py")}
    assert len(found) > 500
    assert {path: wrong for path, wrong in found.items() if wrong} == {}


def test_no_value_of_a_test_is_a_possessive():
    found = {path.as_posix(): sorted(filter(is_possessive, values(path))) for path in files(".mlir", ".test", ".cpp", ".h", ".py", under="test/")}
    assert len(found) > 500
    assert {path: wrong for path, wrong in found.items() if wrong} == {}


def test_names_in_formatted_strings_are_seen():
    assert names_of_python('x = f"{own[1]} of {y}" + "{of}"  # why\n') == {"x", "f", "own", "y"}


def test_no_source_has_a_possessive_for_a_name():
    assert [path.as_posix() for path in files(".c", ".cpp", ".h", ".js", ".py", ".td") if is_possessive(path.stem)] == []


@pytest.mark.parametrize(
    ("name", "is_wrong"),
    [
        *(("own", True), ("ownRows", True), ("OwnFile", True), ("own_scores", True), ("LOAD_OWN", True), ("isOwn", True)),
        *(("owner", False), ("known", False), ("OwningOpRef", False), ("shownDown", False)),
        *(("test_callers_have_contexts_of_their_own", False), ("is_escaped_by_its_own_rules", False)),
    ],
)
def test_what_a_possessive_is(name, is_wrong):
    assert is_possessive(name) == is_wrong
