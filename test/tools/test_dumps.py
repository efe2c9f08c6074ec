# ===- test_dumps.py - What the text of a dump may decide -----------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""A dump that somebody has changed describes a program, and chooses no file that is read or written."""

import os
import re
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]
BIN = Path(os.environ["HOVA_BUILD"]) / "bin"
MODEL = SOURCE / "test/golden/vectors/mha_both/model.json"
WINDOWS = SOURCE / "test/golden/vectors/window_stage/model.json"
VERBS = ["compile", "explain", "verify", "evaluate --output-dir=out"]


def run(folder, tool, *words):
    return subprocess.run([BIN / tool, *words], cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def folder(tmp_path):
    """Holds a dump, dump.mlir, and a file of the user's, precious."""
    done = run(tmp_path, "hova", "compile", MODEL, "--emit=mlir", "--stop-after=fuse", "-o", "dump.mlir")
    assert done.returncode == 0, done.stderr
    (tmp_path / "precious").write_text("mine")
    return tmp_path


def change_arguments(folder, word):
    """Adds a word to the arguments of the dump; returns the line where they stand."""
    text = (folder / "dump.mlir").read_text()
    before, after = text.split('arguments: "')
    (folder / "dump.mlir").write_text(f'{before}arguments: "{word}\\0A{after}')
    return before.count("\n") + 1


def contents(folder):
    return {path.name: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


@pytest.mark.parametrize(
    "word",
    [
        "--time-trace=precious",
        "--dump-ir=precious",
        "--explain=precious",
        "--pass-plugin=./precious",
        "--pass-pipeline=before-fuse(canonicalize)",
        "--weights=precious",
        "--checkpoint=timm",
        "--max-memory=1",
        "--emit=lib",
        "-oprecious",
        "-O0",
        "--help",
        "--",
        "precious",
        "--bogus",
        "--set",
        "--set=",
        "",
    ],
)
def test_arguments_say_what_the_program_is_and_no_more(folder, word):
    line = change_arguments(folder, word)
    before = contents(folder)
    for verb in VERBS:
        done = run(folder, "hova", *verb.split(), "dump.mlir")
        assert done.returncode == 1, (verb, done.stderr)
        assert done.stderr.startswith(f"dump.mlir:{line}:"), done.stderr
        assert done.stderr.count("error:") == 1, done.stderr
    assert contents(folder) == before


def test_a_wrong_value_is_named_with_the_dump_that_has_it(folder):
    text = (folder / "dump.mlir").read_text()
    (folder / "dump.mlir").write_text(text.replace("--march=native", "--march=z80"))
    done = run(folder, "hova", "compile", "dump.mlir", "-o", "program")
    assert done.returncode == 2
    assert "option '--march': unknown ISA level 'z80'" in done.stderr
    assert "dump.mlir was made with --march=z80" in done.stderr
    assert not (folder / "program").exists()


def test_hova_opt_may_write_the_file_that_it_reads(folder):
    before = (folder / "dump.mlir").read_text()
    # A file of this size is mapped, and gone if it is cut before it is read.
    (folder / "dump.mlir").write_text(before + "// long\n" * 10_000)
    done = run(folder, "hova-opt", "dump.mlir", "-o", "dump.mlir")
    assert done.returncode == 0, done.stderr
    after = (folder / "dump.mlir").read_text()
    assert after.count("hova.linear") == before.count("hova.linear") > 0
    assert run(folder, "hova", "explain", "dump.mlir").returncode == 0


@pytest.mark.parametrize("words", [["--start-at=fuze"], ["--no-such-option"], ["--pass-pipeline=builtin.module(no-such-pass)"]])
def test_hova_opt_that_fails_leaves_its_output_as_it_was(folder, words):
    assert run(folder, "hova-opt", "dump.mlir", *words, "-o", "precious").returncode == 1
    assert (folder / "precious").read_text() == "mine"


def test_hova_opt_says_what_it_cannot_write(folder):
    done = run(folder, "hova-opt", "dump.mlir", "-o", "no/such/folder.mlir")
    assert done.returncode == 74
    assert "hova-opt: cannot write 'no/such/folder.mlir'" in done.stderr


# What an edit may take away or change, in the dump of which phase, and what hova says of it.
EDITS = {
    "no main": ("import", r"@main", "@other", "a function 'main' with a body, and there is none"),
    "a phase that is none": ("fuse", r'hova.phase = "fuse"', 'hova.phase = "fuze"', "to be the name of a phase"),
    "a phase that is no name": ("fuse", r'hova.phase = "fuse"', "hova.phase = 3", "to be the name of a phase"),
    "another input": ("fuse", r"hova.name = \"x\"", 'hova.name = "z"', """'hova.name' as in the description, "x", got "z\""""),
    "two blocks": ("normalize", r"\n    return %", "\n    cf.br ^bb1\n  ^bb1:\n    return %", "expects one block, got 2"),
    "code before there is any": ("fuse", r"  func.func @main", "  module @code {}\n  func.func @main", "expects no module in a program"),
    "weights with results": (
        "normalize", r"@weights\(\) \{", "@weights(%no: i64) {", "a function of one block without arguments and results",
    ),
    "tables that are no function": (
        "tile", r"func.func private @weights\(\)", "func.func private @tables()\n  func.func private @weights()",
        "expects 'tables' to be a function of one block",
    ),
    "a verdict without a reason": ("fuse", r"(hova.rewrites = \{[\w\"-]+ = \{)fired = \w+, ", r"\1", "whether it fired, and why"),
    "a schedule of words": ("assign", r"lanes = \d+", 'lanes = "8"', "expected integer value"),
    "no schedule": ("assign", r"schedule = #hova_cpu.schedule<[^>]*>", "other.none", "has no complete schedule"),
    "a schedule without lanes": ("assign", r"lanes = \d+, ", "", "expects 'lanes'"),
    "a schedule with a word of its own": ("assign", r"lanes = ", "warps = 4, lanes = ", "got 'warps'"),
    "a tile without rows": ("assign", r"tile = \d+x", "tile = 0x", "expects 'tile' from 1 to 64, got 0"),
    "a tile that is too large": ("assign", r"tile = \d+x", "tile = 1000000000x", "expects 'tile' from 1 to 64, got 1000000000"),
    "the shape of a launch as a schedule": (
        "assign", r"schedule = #hova_cpu.schedule<[^>]*>", "schedule = #hova_cpu.launch<units = 1, grain = 1>", "attribute 'schedule'",
    ),
    "a launch without a shape": ("tile", r", shape = #hova_cpu.launch<[^>]*>", "", "requires attribute 'shape'"),
    "a launch of no units": ("vectorize", r"<units = \d+", "<units = 0", "expects 'units' from 1 to"),
    "a launch of chunks of nothing": ("tile", r"grain = \d+", "grain = 0", "expects 'grain' from 1 to"),
    "costs that divide nothing": ("tile", r"(<units = \d+, grain = \d+)", r"\1, costs = [1, 2, 3, 4, 5, 6, 7]", "whose number divides"),
    "no tables": (
        "assign", r"schedule = ", "hova.input_rows = array<i64: 99>, schedule = ", "the number of a row table among",
    ),
    "tables that are none": (
        "assign", r"schedule = ", "hova.result_rows = array<i64: 0>, schedule = ", "the number of a row table among",
    ),
    "a layout that no kernel reads": (
        "assign", r"#hova.column_strips<64>", "#hova.transposed<align 16>", "expects panels with an interleave factor of 1, as kernels",
    ),
    "strips of nothing": ("assign", r"#hova.column_strips<64>", "#hova.column_strips<0>", "expects strips of 1 to 2147483647 columns, got 0"),
    "a layout of another shape": ("tile", r"#hova.column_strips<64>", "#hova.column_strips<32>", "in the layout #hova.column_strips<32>, got"),
    "no arena": ("tile", r"hova.arena_bytes = \d+ : i64, ", "", "'hova.arena_bytes' to be a number of 64 bits, got none"),
    "a small arena": ("tile", r"hova.arena_bytes = \d+", "hova.arena_bytes = 64", "that lie in the arena of 64 bytes"),
    "a small image": ("vectorize", r"hova.image_bytes = \d+", "hova.image_bytes = 64", "before the image ends at 64"),
    "no image": ("target", r"hova.image_bytes = \d+ : i64, ", "", "'hova.image_bytes' to be a number of 64 bits, got none"),
    "inputs": ("vectorize", r"hova.inputs = 1", "hova.inputs = 9", "'hova.inputs' of the description, 1 : i64, got 9 : i64"),
    "types": ("target", r"hova.types = \[[^\]]*\], ", "", "'hova.types' of the description"),
    "values": ("tile", r"hova.values = \[", "hova.values = [3, ", "expects 'hova.values' to hold values"),
    "a value of no launch": ("tile", r"\{kernel = 0", "{kernel = 7", "expects 'hova.values' to hold values"),
    "a value that ends before it begins": ("tile", r"last = \d+", "last = -1", "expects 'hova.values' to hold values"),
    "a value without an end": ("tile", r"last = \d+ : i64, ", "", "expects 'hova.values' to hold values"),
    "parts that are none": ("tile", r"hova.parts = \[", "hova.parts = [3, ", "expects 'hova.parts' to hold parts"),
    "a part of no launch": (
        "vectorize", r"(hova.parts = \[\{[^}]*kernel = )\d+", r"\g<1>4000000", "expects 'hova.parts' to hold parts",
    ),
    "no values": ("tile", r", hova.values = \[.*\]\}( loc|\s*\{)", r"}\1", "expects 'hova.values' to be a list, got none"),
    "no offset": ("tile", r"(store_weight .*) \{hova.offset = \d+ : i64\}", r"\1", "expects 'hova.offset' from 0 on"),
    "offsets that go back": ("target", r"(?s)(hova.offset = 0 .*?hova.offset = )\d+", r"\g<1>0", "expects 'hova.offset' from"),
    "a weight that nobody stores": (
        "normalize", r"\n +hova.store_weight [^\n]*", "", "', which 'weights' does not store",
    ),
    "a weight of kernels that nobody stores": (
        "assign", r"\n +hova.store_weight [^\n]*", "", "', which 'weights' does not store",
    ),
    "bytes of the image that nobody stores": (
        "tile", r"\n +hova.store_weight [^\n]*", "", "reads the image at byte 0, where 'weights' stores nothing",
    ),
    "a buffer outside": (
        "vectorize", r"arena_buffer \{offset = \d+", "arena_buffer {offset = 1048576", "buffer ends after hova.arena_bytes",
    ),
    "a buffer beyond all numbers": (
        "tile", r"arena_buffer \{offset = \d+", "arena_buffer {offset = 9223372036854775744", "buffer ends after hova.arena_bytes",
    ),
    "a whole that is none": (
        "tile", r"arena_buffer \{", "arena_buffer {hova.whole = array<i64: -64, 9>, ", "expects 'hova.whole' to be where",
    ),
    "no code": ("target", r"module @code", "module @cold", "the code of the program in a module 'code'"),
    "no run": ("target", r"@hova_run_0", "@hova_ran_0", "expects a function 'hova_run_0' with a body"),
}  # fmt: skip


@pytest.fixture(scope="module")
def dumps(tmp_path_factory):
    """The text of the dump of a phase, made once."""
    folder, texts = tmp_path_factory.mktemp("dumps"), {}

    def dump(phase):
        if phase not in texts:
            done = run(folder, "hova", "compile", MODEL, "--emit=mlir", f"--stop-after={phase}", "-o", "dump.mlir")
            assert done.returncode == 0, done.stderr
            texts[phase] = (folder / "dump.mlir").read_text()
        return texts[phase]

    return dump


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_that_leaves_no_program_is_one_error_in_every_verb(dumps, tmp_path, edit):
    phase, pattern, replacement, message = EDITS[edit]
    program, resources = dumps(phase).split("\n{-#\n")
    program, count = re.subn(pattern, replacement, program, count=1)
    assert count == 1
    (tmp_path / "dump.mlir").write_text(f"{program}\n{{-#\n{resources}")
    for verb in VERBS:
        done = run(tmp_path, "hova", *verb.split(), "dump.mlir")
        assert done.returncode == 1, (verb, done.returncode, done.stderr)
        assert message in done.stderr, (verb, done.stderr)
        assert done.stderr.count("error:") == 1, (verb, done.stderr)


@pytest.mark.parametrize("phase", ["import", "normalize", "fuse", "assign", "tile", "vectorize", "target"])
def test_a_dump_that_nobody_has_edited_is_a_program(dumps, tmp_path, phase):
    (tmp_path / "dump.mlir").write_text(dumps(phase))
    done = run(tmp_path, "hova", "verify", "--cases=1", "dump.mlir")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("phase", "claimed"), [("import", "normalize"), ("normalize", "fuse"), ("fuse", "assign"), ("assign", "tile")])
def test_a_dump_is_held_to_what_the_phase_promises_that_it_names(dumps, tmp_path, phase, claimed):
    # What is imported names no phase.
    program = re.sub(rf', hova.phase = "{phase}"', "", dumps(phase), count=1)
    program, count = re.subn(r"(hova.model = \"\w+\")", rf'\1, hova.phase = "{claimed}"', program, count=1)
    assert count == 1
    (tmp_path / "dump.mlir").write_text(program)
    for verb in VERBS:
        done = run(tmp_path, "hova", *verb.split(), "dump.mlir")
        assert done.returncode == 1 and "error: " in done.stderr, (verb, done.stderr)


@pytest.mark.parametrize("phase", ["tile", "target"])
def test_tables_are_made_before_they_are_read(tmp_path, phase):
    run(tmp_path, "hova", "compile", WINDOWS, "--emit=mlir", f"--stop-after={phase}", "-o", "dump.mlir")
    text = (tmp_path / "dump.mlir").read_text()
    assert "hova.table_buffer" in text
    assert run(tmp_path, "hova", "explain", "dump.mlir").returncode == 0
    begin = text.find("@tables()")
    if begin < 0:
        assert phase == "target"  # they are constants there
        return
    place = text.index("hova.store_weight", begin)
    (tmp_path / "dump.mlir").write_text(text[:place] + text[text.index("\n", place) :])
    for verb in VERBS:
        done = run(tmp_path, "hova", *verb.split(), "dump.mlir")
        assert done.returncode == 1, (verb, done.stderr)
        assert "where 'tables' stores nothing" in done.stderr


def test_a_layout_from_before_its_phase_is_held_to_its_promise(dumps, tmp_path):
    """Passes leave it alone, and what they make of the dump is no program for a CPU."""
    layout = r"\1 {layout = #hova.transposed<align 16>}\2"
    program, count = re.subn(r"(image_weight \S+)( : tensor<\d+x\d+x)", layout, dumps("fuse"), count=1)
    assert count == 1
    (tmp_path / "dump.mlir").write_text(program)
    done = run(tmp_path, "hova", "compile", "dump.mlir", "-o", "program")
    assert done.returncode == 1 and "expects panels with an interleave factor of 1" in done.stderr, done.stderr
    assert not (tmp_path / "program").exists()
