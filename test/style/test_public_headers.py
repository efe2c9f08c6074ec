# ===- test_public_headers.py - What is installed is what can be included ------=== #
# SPDX-License-Identifier: Apache-2.0
"""cmake/PublicHeaders.cmake against the include lines of the headers that it lists."""

import re

from sources import SOURCE as ROOT

BUILD_FOLDERS = ("dialect", "passes", "codegen", "frontend")
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
