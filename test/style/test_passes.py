# ===- test_passes.py - One thing has one name everywhere ---------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""`DecomposeCompoundPass` is in `DecomposeCompound.cpp`, its flag is `--hova-decompose-compound`, and its test is
`decompose-compound.mlir` or what begins so."""

import re

import pytest
from sources import files, text

DEFINITION = re.compile(r'^def (\w+)\s*:\s*Pass<"([^"]+)"', re.MULTILINE)
# What a pass does to IR, as its name says first. CONTRIBUTING.md has them too.
VERBS = {
    *("assign", "decompose", "form", "fuse", "lower", "normalize", "order", "propagate", "report"),
    *("split", "strip", "tile", "vectorize", "verify"),
}


def passes():
    """(folder, class, flag) of each pass."""
    return [
        pytest.param(path.parent.as_posix(), *found.groups(), id=found[2])
        for path in files(".td")
        if path.name == "Passes.td" and path.parts[0] in ("passes", "codegen", "dialect")
        for found in DEFINITION.finditer(text(path))
    ]


def flag_of(name):
    """The flag of a class: DecomposeCompoundPass to hova-decompose-compound."""
    return "hova" + re.sub("[A-Z]", lambda letter: f"-{letter[0].lower()}", name.removesuffix("Pass"))


def test_passes_are_found():
    assert len(passes()) > 40
    assert flag_of("DecomposeCompoundPass") == "hova-decompose-compound"


@pytest.mark.parametrize(("folder", "name", "flag"), passes())
def test_class_and_flag_of_a_pass_agree(folder, name, flag):
    assert name.endswith("Pass") and flag == flag_of(name)
    assert flag.split("-")[1] in VERBS


@pytest.mark.parametrize(("folder", "name", "flag"), passes())
def test_class_and_file_of_a_pass_agree(folder, name, flag):
    define = f"#define GEN_PASS_DEF_{name.upper()}\n"
    made = [path for path in files(".cpp", under=f"{folder}/") if define in text(path)]
    assert [path.stem for path in made] == [name.removesuffix("Pass")]
    assert re.search(rf"\b(struct|class) {name}\b", text(made[0]))


@pytest.mark.parametrize(("folder", "name", "flag"), passes())
def test_a_pass_has_a_test_of_its_name(folder, name, flag):
    """The rest of a test's name, or of its path, says which part it is about."""
    stem = flag.removeprefix("hova-")
    tests = [p for p in files(".mlir", ".test", under="test/") if p.stem.startswith(stem) or stem in p.parts]
    runs = re.compile(rf"RUN:.*\b{flag}\b")
    assert [path for path in tests if runs.search(text(path))], f"no test/**/{stem}*.mlir runs {flag}"



def test_the_contributor_reads_the_verbs_of_passes():
    (said,) = re.findall(r"A pass name starts with\s(.*?), and keeps that promise", text("CONTRIBUTING.md"), re.DOTALL)
    assert set(re.findall(r"\*(\w+)\*", said)) == VERBS
