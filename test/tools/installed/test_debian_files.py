# ===- test_debian_files.py - What Debian wants under names of its own -----------=== #
# SPDX-License-Identifier: Apache-2.0
"""What is listed in an installation is in it; test/full/test_package.py asks Debian's own programs."""

import re
from pathlib import Path

import pytest
from installation import install


@pytest.fixture(scope="module")
def share(tmp_path_factory):
    return install(tmp_path_factory) / "share"


def test_documents_that_are_listed_are_installed(share):
    (listed,) = re.findall(r"^Files: (.*)$", (share / "doc-base/hova").read_text(), re.MULTILINE)
    patterns = [pattern.removeprefix("/usr/share/") for pattern in listed.split()]
    found = {pattern: {path.name for path in share.glob(pattern)} for pattern in patterns}
    assert [pattern for pattern, names in found.items() if not names] == []
    assert {"README.md", "CHANGELOG.md", "SECURITY.md", "versions.md", "python.md", "passes.md", "proof.md"} <= set().union(*found.values())
    # None is left out.
    assert {path.name for path in share.glob("doc/hova/**/*.md") if "examples" not in path.parts} <= set().union(*found.values())


@pytest.mark.parametrize("package", ["hova", "libhova-dev"])
def test_a_package_has_its_terms_and_what_lintian_need_not_say(share, package):
    assert "License: Apache-2.0" in (share / "doc" / package / "copyright").read_text()
    lines = (share / "lintian/overrides" / package).read_text().splitlines()
    assert lines and all(line.startswith(("# ", f"{package}: ")) for line in lines)
    # Each has its reason above it.
    assert all(before.startswith("# ") for before, line in zip(["", *lines], lines) if not line.startswith("# "))


def test_each_verb_has_its_manual_page(share):
    pages = {Path(path.stem).stem for path in (share / "man/man1").iterdir()}
    assert {"hova", "hova-compile", "hova-weights-pack", "hova-schema", "hova-opt", "hova-tblgen"} <= pages
