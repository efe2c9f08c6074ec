# ===- test_commits.py - Every commit has a room, a verb and its files --------=== #
# SPDX-License-Identifier: Apache-2.0
"""The commits since a base: what their subjects say, and that each names no file that it lacks.

A commit that names a file of a later one cannot be built, and a bisection that meets it stops.
"""

import re
from pathlib import PurePosixPath

import pytest
from history import NoHistory, commits_since, contents, tree
from sources import tracked

# Commits up to this one are judged by nobody.
BASE = "89d72e77fa7f46123142aeb1bf35befa8eb1e46f"

SUBJECT = re.compile(r"\[([a-z0-9-]+(?:, [a-z0-9-]+)*)\] ([A-Z]\w*)\b.*[^.]")
MOST_LETTERS = 72
# What is no folder, and a room of commits all the same: the files of CMake, and the script.
OTHER_ROOMS = {"build", "dev"}

# How subjects begin. A verb that is missing here joins the list.
VERBS = set(
    """
    accept add adopt align allow answer apply ask assign attend avoid begin bind bound break bring build bump call carry change
    charge check choose clean clear close collect colour combine compare compile complete compose compute convert copy correct
    count cover cut decide decline define delete demand derive describe detect divide do document drain draw drop edit emit
    emulate end evaluate exclude execute expect explain export expose extend fail feed fetch fill find finish fit fix fold follow
    forget format free fuse gather generate get give go group grow guard handle have hide hold ignore import improve include
    infer inline insert install instantiate interpret introduce join judge keep kill know label lay lead learn leave let level
    lift limit line link list load lock log look lower make map mark mask match measure meet mend merge mirror move multiply name
    note normalise normalize obey offer omit open order own pack pad parse pass pay pin place plant point prefer prefetch prepare
    print promise propagate protect prove provide publish pull put quote raise reach read rebuild record reduce refer refuse
    regenerate register reject release rely remember remove rename reorder repair repeat replace report require reserve reset
    resolve restore restrict return reuse revert rewrite round run save say scale schedule search see select send separate serve
    set settle shape share shift shorten show shrink simplify skip sort speed spell split square stage stand start state stay
    stop store stream strip substitute suggest sum support swap take teach tell test tidy tile time tolerate trace track train
    translate treat trim try turn type understand undo unify unroll update use validate vectorize verify visit wait walk warn
    weigh widen work wrap write
    """.split()
)


def fault_of(subject, rooms):
    """What is wrong with the subject of a commit; nothing if it is as it should be."""
    parts = SUBJECT.fullmatch(subject)
    if not parts:
        return "is not [room] Imperative subject"
    if unknown := [room for room in parts[1].split(", ") if room not in rooms]:
        return f"names no room: {', '.join(unknown)}"
    if parts[2].lower() not in VERBS:
        return f"does not begin with a verb of test/style/test_commits.py: {parts[2]}"
    if len(subject) > MOST_LETTERS:
        return f"has {len(subject)} letters, at most {MOST_LETTERS}"
    return None


# What a line of CMake calls a source: no path with a variable but those of the folders of sources.
CMAKE_FILE = re.compile(
    r"(?<![\w$}>./-])(?:\$\{(PROJECT_SOURCE_DIR|CMAKE_CURRENT_SOURCE_DIR|CMAKE_CURRENT_LIST_DIR)\}/)?([\w./-]+\.(?:c|cpp|h|td|h\.in|cmake|in))(?![\w.])"
)
CMAKE_FOLDER = re.compile(r"add_subdirectory\(([\w/.-]+)\)")
# Headers that one of the rooms has; what CMake and TableGen make ends otherwise, but for one.
INCLUDE = re.compile(
    r'^\s*#?\s*include\s*"((?:cmake|codegen|dialect|frontend|passes|runtime|test|tools)/[^"]+\.(?:h|td|c|cpp))"', re.MULTILINE
)
MADE = {"tools/plugins/HeadersHash.h"}
CODE = (".c", ".cpp", ".h", ".td")


def named_files(path, text):
    """(as it is written, where it may be) of each file of this repository that a file needs to be built."""
    folder = PurePosixPath(path).parent
    if path.endswith(CODE):
        return [(header, {header}) for header in INCLUDE.findall(text)]
    lines = re.sub(r"#.*", "", text)
    found = [(name, {name, str(folder / name)}) for variable, name in CMAKE_FILE.findall(lines)]
    return found + [(f"{name}/CMakeLists.txt", {str(folder / name / "CMakeLists.txt")}) for name in CMAKE_FOLDER.findall(lines)]


def missing(files, needs):
    """What files of a commit name and the commit does not have; `needs` are the named files of each path and blob."""
    return [
        f"{path} names {name}"
        for path, blob in files.items()
        for name, places in needs.get((path, blob), ())
        if name not in MADE and not places & files.keys()
    ]


def is_built(path):
    return path.endswith((*CODE, "CMakeLists.txt")) and not path.startswith(("examples/", "test/tools/Inputs/"))


@pytest.fixture(scope="module")
def commits():
    try:
        return commits_since(BASE)
    except NoHistory as reason:
        pytest.skip(str(reason))


def test_subjects_of_commits(commits):
    rooms = OTHER_ROOMS | {part for path in tracked() for part in path.parent.parts}
    wrong = [f"{name} {fault}: {subject}" for name, subject in commits if (fault := fault_of(subject, rooms))]
    assert wrong == []


def test_no_commit_names_a_file_that_it_lacks(commits):
    needs, wrong = {}, []
    for name, subject in commits:
        files = tree(name)
        new = [file for file in files.items() if is_built(file[0]) and file not in needs]
        for (path, blob), text in zip(new, contents([blob for _, blob in new]), strict=True):
            needs[path, blob] = named_files(path, text)
        wrong += [f"{name} {subject}: {fault}" for fault in missing(files, needs)]
    assert wrong == []


@pytest.mark.parametrize(
    ("subject", "fault"),
    [
        ("[cuda] Read rows of a table in order", None),
        ("[test, docs] Say what a commit is", None),
        ("Read rows of a table in order", "is not [room]"),
        ("[cuda] read rows", "is not [room]"),
        ("[cuda] Read rows.", "is not [room]"),
        ("[kitchen] Read rows", "names no room: kitchen"),
        ("[cuda] Rows are read", "does not begin with a verb"),
        ("[cuda] Reads rows", "does not begin with a verb"),
        ("[cuda] Read " + "rows " * 20 + "now", "has 115 letters"),
    ],
)
def test_what_a_subject_is(subject, fault):
    found = fault_of(subject, {"cuda", "test", "docs"})
    assert found is fault is None or fault in found


def test_what_a_commit_names():
    cmake = "add_library(a B.cpp\n  c/D.cpp # E.cpp\n  ${x}/F.cpp $<TARGET_FILE:g>/H.cpp ${PROJECT_SOURCE_DIR}/i/J.h)\nadd_subdirectory(k)\n"
    needs = {
        ("a/CMakeLists.txt", "1"): named_files("a/CMakeLists.txt", cmake),
        ("a/B.cpp", "2"): named_files("a/B.cpp", '#include "dialect/A.h"\n#include "dialect/A.h.inc"\n#include <b.h>\n'),
    }
    files = {"a/CMakeLists.txt": "1", "a/B.cpp": "2", "a/c/D.cpp": "3", "i/J.h": "4", "a/k/CMakeLists.txt": "5", "dialect/A.h": "6"}
    assert missing(files, needs) == []
    for gone, said in [("a/c/D.cpp", "c/D.cpp"), ("i/J.h", "i/J.h"), ("a/k/CMakeLists.txt", "k/CMakeLists.txt"), ("dialect/A.h", "dialect/A.h")]:
        (fault,) = missing({path: blob for path, blob in files.items() if path != gone}, needs)
        assert fault.endswith(f"names {said}")


def test_a_history_that_does_not_reach_the_base_is_told():
    with pytest.raises(NoHistory, match="the commits are not read: "):
        commits_since("0" * 40)
