# ===- test_changed.py - A change runs the tests that it can reach -------------=== #
# SPDX-License-Identifier: Apache-2.0
"""What test/changed.py says of a small tree, of this one, and of what git calls changed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("HOVA_BUILD", SOURCE / "build"))
sys.path.insert(0, str(SOURCE / "test"))
from changed import Needs, Tree, changed_files, read_tree, all_tests, reached_tests  # noqa: E402

TEXTS = {
    "dialect/Rows.h": "",
    "dialect/Rows.cpp": '#include "dialect/Rows.h"\n',
    "dialect/Ops.td": "",
    "dialect/Ops.h": '#include "dialect/Ops.h.inc"\n',
    "passes/Fuse.cpp": '#include "passes/Fuse.h"\n#include "dialect/Rows.h"\n',
    "passes/Fuse.h": '#include "dialect/Ops.h"\n',
    "codegen/Registry.h": "",
    "codegen/Registry.cpp": '#include "codegen/Registry.h"\n#include "passes/Fuse.h"\n#include "codegen/cuda/Target.h"\n',
    "codegen/cuda/Target.h": "",
    "codegen/cuda/Target.cpp": '#include "codegen/cuda/Target.h"\n',
    "codegen/Forgotten.cpp": "",
    "frontend/Import.h": "",
    "frontend/Import.cpp": '#include "frontend/Import.h"\n',
    "tools/hova/Verbs.h": "",
    "tools/hova/Verbs.cpp": '#include "tools/hova/Verbs.h"\n',
    "tools/hova/Main.cpp": '#include "tools/hova/Verbs.h"\n#include "codegen/Registry.h"\n#include "frontend/Import.h"\nint main() {}\n',
    "tools/hova/View.cpp": '#include "tools/hova/Verbs.h"\n#include "tools/page/Page.h"\nint runView(Arguments &a) {}\n',
    "tools/hova/Check.cpp": '#include "tools/hova/Verbs.h"\nint runCheck(Arguments &a) {}\n',
    "tools/page/Page.h": "",
    "tools/page/Page.cpp": '#include "tools/page/Page.h"\n#embed "page.js"\n',
    "tools/page/page.js": "",
    "tools/hova-opt/Main.cpp": '#include "codegen/Registry.h"\nint main() {}\n',
    "test/run.py": "",
    "test/dialect/RowsTest.cpp": '#include "dialect/Rows.h"\nTEST(Rows, areRead) {}\n',
    "test/dialect/ops.mlir": "// RUN: hova-opt %s | FileCheck %s\n",
    "test/codegen/kernels.mlir": "// RUN: hova-opt %s --target=cuda\n",
    "test/frontend/check.test": "RUN: hova check %S/Inputs/a.json\n",
    "test/frontend/Inputs/a.json": "{}",
    "test/tools/test_view.py": "from browser import click\nrun('hova', 'view', SOURCE / 'examples' / 'models')\n".replace("'", '"'),
    "test/tools/browser.py": "",
    "test/tools/conftest.py": "",
    "test/tools/test_plot.py": 'TOOL = SOURCE / "tools/bench/plot"\nPEAK = SOURCE / "tools" / "bench"\n',
    "test/style/test_words.py": "from sources import files\n",
    "test/style/sources.py": "",
    "test/full/test_long.py": 'run("hova")\n',
    "tools/bench/plot": "",
    "tools/bench/peak.c": "",
    "examples/models/vit.json": "{}",
    "docs/words.md": "",
}
PROGRAMS = {
    "hova": {"tools/hova/Main.cpp", "tools/hova/View.cpp", "tools/hova/Check.cpp"},
    "hova-opt": {"tools/hova-opt/Main.cpp"},
    "dialect-test": {"test/dialect/RowsTest.cpp"},
}
LINKS = {
    "passes/Fuse.cpp": {"dialect/Rows.cpp"},
    "codegen/Registry.cpp": {"passes/Fuse.cpp", "codegen/cuda/Target.cpp"},
    "tools/hova/Main.cpp": {"codegen/Registry.cpp", "frontend/Import.cpp", "tools/hova/Verbs.cpp"},
    "tools/hova/Verbs.cpp": {"tools/hova/View.cpp", "tools/hova/Check.cpp"},
    "tools/hova/View.cpp": {"tools/page/Page.cpp", "tools/hova/Verbs.cpp"},
    "tools/hova/Check.cpp": {"tools/hova/Verbs.cpp"},
    "tools/hova-opt/Main.cpp": {"codegen/Registry.cpp"},
    "test/dialect/RowsTest.cpp": {"dialect/Rows.cpp"},
}
WORDS = "test/style/test_words.py"
ROWS, OPS, KERNELS = "test/dialect/RowsTest.cpp", "test/dialect/ops.mlir", "test/codegen/kernels.mlir"
CHECK, VIEW, PLOT = "test/frontend/check.test", "test/tools/test_view.py", "test/tools/test_plot.py"
PROGRAM_TESTS = {OPS, KERNELS, CHECK, VIEW}
ALL = {WORDS, ROWS, PLOT, *PROGRAM_TESTS}


@pytest.fixture(scope="module")
def small():
    return Tree(TEXTS, PROGRAMS, LINKS)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        # Sources: what includes them, what takes something from them, and who runs the programs of both.
        ("dialect/Rows.h", {ROWS, *PROGRAM_TESTS}),
        ("dialect/Rows.cpp", {ROWS, *PROGRAM_TESTS}),
        ("dialect/Ops.td", PROGRAM_TESTS),
        ("passes/Fuse.cpp", PROGRAM_TESTS),
        ("frontend/Import.cpp", {CHECK, VIEW}),
        # No include line leads to it, so that it may register itself in whatever has all rooms.
        ("codegen/Forgotten.cpp", PROGRAM_TESTS),
        ("tools/hova-opt/Main.cpp", {OPS, KERNELS}),
        # A target that a test does not name, and verbs.
        ("codegen/cuda/Target.cpp", {KERNELS}),
        ("tools/hova/View.cpp", {VIEW}),
        ("tools/page/Page.cpp", {VIEW}),
        ("tools/page/page.js", {VIEW}),
        ("tools/hova/Check.cpp", {CHECK}),
        ("tools/hova/Main.cpp", {CHECK, VIEW}),
        # Imports, names, and what lies beside a test.
        ("test/tools/browser.py", {VIEW}),
        ("test/tools/conftest.py", {VIEW, PLOT}),
        ("tools/bench/plot", {PLOT}),
        ("tools/bench/peak.c", {PLOT, *PROGRAM_TESTS}),
        ("examples/models/vit.json", {VIEW}),
        ("test/frontend/Inputs/a.json", {CHECK}),
        (PLOT, {PLOT}),
        ("docs/words.md", set()),
        ("test/full/test_long.py", set()),
        # A file that is gone: who named it has changed too.
        ("test/tools/test_gone.py", set()),
    ],
)
def test_a_change_reaches(small, changed, expected):
    found, reason = reached_tests({changed}, small)
    assert (found, reason) == ({WORDS, *expected}, "")


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ("test/run.py", "test/run.py decides how everything is built or run"),
        ("codegen/CMakeLists.txt", "codegen/CMakeLists.txt decides how everything is built or run"),
        ("tools/unknown/strange", "nothing is known of tools/unknown/strange"),
    ],
)
def test_what_cannot_be_told_runs(changed, reason):
    tree = Tree({**TEXTS, changed: ""}, PROGRAMS, LINKS)
    assert reached_tests({changed, "docs/words.md"}, tree) == (ALL, reason)


def test_changes_are_joined(small):
    assert reached_tests({PLOT, "tools/hova/View.cpp"}, small)[0] == {WORDS, PLOT, VIEW}


# ===------------------------------------------------------------------------=== #
# This repository
# ===------------------------------------------------------------------------=== #


@pytest.fixture(scope="module")
def tree():
    return read_tree(SOURCE, BUILD, Path(os.environ.get("HOVA_LLVM", "/usr/lib/llvm-22")))


def of(tests, *folders):
    return {test for test in tests if test.startswith(folders)}


def test_a_reader_of_descriptions_reaches_no_pass(tree):
    found, reason = reached_tests({"frontend/reader/Json.cpp"}, tree)
    assert reason == "" and "test/frontend/reader/JsonTest.cpp" in found and "test/e2e/test_golden.py" in found
    assert not of(found, "test/passes/normalize/decompose", "test/dialect/", "test/runtime/TeamTest.cpp")


def test_a_pass_reaches_its_test_and_no_reader(tree):
    found, _ = reached_tests({"passes/normalize/DecomposeCompound.cpp"}, tree)
    assert {"test/passes/normalize/decompose-compound.mlir", "test/e2e/test_golden.py"} <= found
    assert not of(found, "test/frontend/reader/JsonTest.cpp", "test/runtime/NpyTest.cpp")


def test_kernels_of_a_gpu_reach_no_program_for_a_processor(tree):
    found, _ = reached_tests({"codegen/cuda/recipes/ProductTiles.cpp"}, tree)
    assert {"test/codegen/cuda/test_kernels.py", "test/e2e/test_gpu.py"} <= found
    assert not of(found, "test/codegen/cpu/recipes/tile-cpu-kernels", "test/e2e/test_windows.py", "test/frontend/reader/JsonTest.cpp")
    # Those of the kernels themselves are many.
    kernels = ("test/codegen/cuda/", "test/runtime/cuda/")
    assert len(found - of(found, *kernels)) < len(all_tests(tree) - of(all_tests(tree), *kernels)) / 3


def test_a_script_of_the_page_reaches_the_page(tree):
    found, _ = reached_tests({"tools/page/kernels.js"}, tree)
    assert of(found, "test/tools/page/test_view") and len(found) < len(all_tests(tree)) / 3


def test_every_source_reaches_a_test_besides_those_of_the_tree(tree):
    """Of sources in the rooms: a file of which nothing is known would run everything."""
    needs = [Needs(tree, test) for test in sorted(all_tests(tree))]
    reached = set().union(*(need.code for need in needs if not need.reads_the_tree))
    sources = {path for path in tree.code if path.startswith(("dialect/", "passes/", "codegen/", "frontend/", "runtime/", "tools/"))}
    assert len(sources) > 500
    # The first measure, and the second is for the wheel alone.
    assert {path for path in sources - reached if not path.startswith(("tools/bench/", "tools/python/"))} == set()


def test_what_git_calls_changed(tmp_path):
    def git(*arguments):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments], cwd=tmp_path, check=True, capture_output=True)

    git("init")
    for name in ("kept", "edited", "gone"):
        (tmp_path / name).write_text(name)
    (tmp_path / ".gitignore").write_text("ignored\n")
    git("add", ".")
    git("commit", "-m", "first")
    (tmp_path / "edited").write_text("otherwise")
    (tmp_path / "gone").unlink()
    for name in ("new", "ignored"):
        (tmp_path / name).write_text(name)
    assert changed_files(tmp_path, "HEAD") == {"edited", "gone", "new"}
    with pytest.raises(ValueError, match="git diff says: .*nonsense"):
        changed_files(tmp_path, "nonsense")
