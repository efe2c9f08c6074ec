# ===- test_public_headers.py - What is installed is what can be included ------=== #
# SPDX-License-Identifier: Apache-2.0
"""cmake/PublicHeaders.cmake against the include lines of the headers that it lists."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from sources import SOURCE as ROOT

BUILD_FOLDERS = ("dialect", "passes", "codegen", "frontend")
BUILD = Path(os.environ.get("HOVA_BUILD", ROOT / "build"))
LISTS = ("HOVA_PUBLIC_HEADERS", "HOVA_INCLUDED_HEADERS", "HOVA_GENERATED_HEADERS")


def listed():
    text = (ROOT / "cmake/PublicHeaders.cmake").read_text()
    return [re.search(rf"set\({name}\s(.*?)\)", text, re.DOTALL)[1].split() for name in LISTS]


def included(header):
    """The headers of hova that a header names, those that TableGen writes too."""
    lines = re.findall(r'^#?\s*include "([^"]+)"', (ROOT / header).read_text(), re.MULTILINE)
    return {line for line in lines if line.split("/")[0] in BUILD_FOLDERS}


def test_included_headers_are_those_that_public_ones_include():
    public, parts, generated = listed()
    needed, waiting = set(), list(public)
    while waiting:
        for header in included(waiting.pop()) - needed:
            needed.add(header)
            if not header.endswith(".inc"):
                waiting.append(header)
    assert {h for h in needed if not h.endswith(".inc")} - set(public) == set(parts)
    assert {h for h in needed if h.endswith(".inc")} == set(generated)
    assert len(parts) > 10 and len(generated) > 10, "nothing was found"


def test_page_names_every_public_header():
    page = (ROOT / "docs/write-an-operator.md").read_text()
    missing = [header for header in listed()[0] if f"`{header}`" not in page]
    assert not missing


@pytest.mark.parametrize("which", range(len(LISTS)))
def test_stamp_changes_with_every_list(which, tmp_path):
    """One more character in the last header of a list is another hash."""
    names = listed()
    for name in names[0] + names[1] + ["cmake/PublicHeaders.cmake"]:
        copy(ROOT / name, tmp_path / "source" / name)
    for name in names[2]:
        copy(BUILD / name, tmp_path / "build" / name)
    before = stamp(tmp_path)
    changed = tmp_path / ("build" if which == 2 else "source") / names[which][-1]
    changed.write_text(changed.read_text() + "\n")
    after = stamp(tmp_path)
    assert before != after and len(before) == len(after) == 16


def copy(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(source.read_bytes())


def stamp(folder):
    header = folder / "HeadersHash.h"
    options = {"VERSION": "1", "SOURCE": folder / "source", "BINARY": folder / "build", "OUTPUT": header}
    words = [f"-D{name}={value}" for name, value in options.items()]
    subprocess.run(["cmake", *words, "-P", ROOT / "cmake/StampHeaders.cmake"], check=True)
    return re.search(r'HASH "(\w+)"', header.read_text())[1]
