# ===- test_sources.py - Licence lines, sizes and live CHECK lines -----------=== #
# SPDX-License-Identifier: Apache-2.0
"""What every source file must have, and how long it may be."""

import re
from collections import Counter
from pathlib import Path

from sources import files, text, tracked

CODE = (".cpp", ".h", ".c", ".td", ".py", ".cmake", ".js", ".css")
LICENCE = "SPDX-License-Identifier: Apache-2.0"

# Executables, libraries and embedders share one header, so it may be long.
ONE_PUBLIC_HEADER = "runtime/hova_runtime.h"

CHECK = re.compile(
    r"^\s*(?://|#|;)\s*([A-Z][A-Z0-9_-]*?)(?:-(?:LABEL|NEXT|SAME|NOT|DAG|COUNT-\d+|EMPTY))?:",
    re.M,
)
PREFIXES = re.compile(r"--?check-prefix(?:es)?[= ]([\w,-]+)")


def test_every_source_names_the_licence():
    missing = [p for p in files(*CODE) if LICENCE not in text(p)[:400]]
    assert [p.as_posix() for p in missing] == []


def longer_than(limit, paths):
    return [
        f"{path}: {lines} lines, at most {limit}"
        for path in paths
        if (lines := text(path).count("\n")) > limit
    ]


def test_no_file_is_too_long():
    passes = [p for p in files(".cpp", under="passes/") if p.parent.name != "passes"]
    headers = [p for p in files(".h") if p.as_posix() != ONE_PUBLIC_HEADER]
    assert longer_than(400, passes) == []
    assert longer_than(300, [*headers, *files(".js")]) == []
    assert longer_than(600, files(".cpp", ".c", ".td")) == []
    assert longer_than(400, files(".mlir", under="test/")) == []


MOST_FILES_OF_A_FOLDER = 40
# What tests and tools read as it is: descriptions, tensors, records. Of it a folder may have as much as there is.
DATA = (".csv", ".json", ".jsonl", ".npy", ".png", ".safetensors", ".svg", ".txt")


def crowded(paths):
    """Folders with too many files that somebody has to find his way among."""
    sizes = Counter(path.parent.as_posix() for path in paths if path.suffix not in DATA)
    return {folder: size for folder, size in sizes.items() if size > MOST_FILES_OF_A_FOLDER}


def test_no_folder_is_crowded():
    assert crowded(tracked()) == {}


def test_what_a_crowded_folder_is():
    def folder(name, suffix, count):
        return [Path(name) / f"{number}{suffix}" for number in range(count)]

    assert crowded(folder("a", ".cpp", 40) + folder("a", ".npy", 9) + folder("a/b", ".td", 9)) == {}
    assert crowded(folder("a", ".cpp", 40) + folder("a", ".h", 1) + folder("b", ".json", 99)) == {"a": 41}


def test_readme_is_short():
    assert (
        longer_than(199, [p for p in files(".md") if p.as_posix() == "README.md"]) == []
    )


def test_every_check_line_is_read_by_filecheck():
    """A CHECK line that no RUN line's FileCheck reads passes for ever."""
    dead = []
    for path in files(".mlir", ".json", ".test", ".c", under="test/"):
        content = text(path)
        runs = "\n".join(re.findall(r"RUN:(.*)", content))
        if "RUN:" not in content:
            continue
        read = set(",".join(PREFIXES.findall(runs)).split(",")) - {""}
        if re.search(r"FileCheck(?![^|]*check-prefix)", runs):
            read.add("CHECK")
        written = {
            name
            for name in CHECK.findall(content)
            if name.startswith("CHECK") or name in read
        }
        dead += [f"{path}: {name}" for name in sorted(written - read)]
    assert dead == []


def test_passes_are_one_per_file():
    wrong = [
        p.as_posix()
        for p in files(".cpp", under="passes/")
        if text(p).count("#define GEN_PASS_DEF_") > 1
    ]
    assert wrong == []


# ===------------------------------------------------------------------------=== #
# Functions
# ===------------------------------------------------------------------------=== #

MOST_LINES_OF_A_FUNCTION = 80
# What is no code: comments, strings and characters; their lines stay.
NO_CODE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\'',
    re.S,
)
# What has braces and is no function; also those of preprocessor lines.
NO_FUNCTION = re.compile(r"\b(?:namespace|struct|class|union|enum|extern)\b|=\s*$|^\s*#|\bconstexpr\b.*=|\breturn\b")


def functions(code):
    """(first line, lines of the body) of every function that is in no function.

    A function that is one table, `return {..};`, has none.
    """
    code = NO_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), code)
    header, open_at, depth = 0, None, 0
    for place, character in enumerate(code):
        if open_at is not None:
            depth += {"{": 1, "}": -1}.get(character, 0)
            if depth == 0:
                body = code[open_at + 1 : place]
                if not re.match(r"\s*return\s*\{[^;]*;\s*$", body):
                    yield code.count("\n", 0, header) + 1, body.count("\n")
                open_at, header = None, place + 1
        elif character == "{":
            said = code[header:place]
            if "(" in said and not NO_FUNCTION.search(said):
                open_at, depth = place, 1
                header += len(said) - len(said.lstrip())
            else:
                header = place + 1
        elif character in ";}":
            header = place + 1


def test_functions_are_found():
    code = "namespace a {\nstruct B {\n  int c() const {\n    if (x) {\n    }\n  }\n};\nint d(int e) { return '{'; }\n}\n"
    assert list(functions(code)) == [(3, 3), (8, 0)]


def test_no_function_is_too_long():
    sources = [p for p in files(".cpp", ".h", ".c") if not p.as_posix().startswith("test/")]
    found = [(path, line, lines) for path in sources for line, lines in functions(text(path))]
    assert len(found) > 3000
    assert [f"{path}:{line}: {lines} lines" for path, line, lines in found if lines > MOST_LINES_OF_A_FUNCTION] == []
