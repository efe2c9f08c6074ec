# ===- test_versions.py - What a version promises is what the sources say ------=== #
# SPDX-License-Identifier: Apache-2.0
"""The numbers and the keys of docs/versions.md, the changelog, and the readers that SECURITY.md says are fuzzed."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from sources import SOURCE, text

HOVA = Path(os.environ.get("HOVA_BUILD", SOURCE / "build")) / "bin/hova"
PAGE = Path("docs/versions.md")
MODEL = SOURCE / "examples/models/lecture_mha.json"
PUBLISHED = SOURCE / "examples/models/vanilla_hv.json"


def find(pattern, path):
    (found,) = re.findall(pattern, text(path), re.MULTILINE)
    return found


def version():
    return find(r"^project\(hova VERSION ([\d.]+)", "CMakeLists.txt")


def rows():
    """What the page says of each number: {what it is: (number, where it stands)}."""
    cells = re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", text(PAGE), re.MULTILINE)
    return {what: (number.strip("`"), places) for what, number, places in cells if what not in ("number", "---")}


def numbers():
    """The same as the sources have it: {what it is: (number, file)}."""
    minor = ".".join(version().split(".")[:2])
    return {
        "version of hova": (version(), "CMakeLists.txt"),
        "versions of LLVM and MLIR": (find(r"^find_package\(MLIR (\d+)", "CMakeLists.txt"), "CMakeLists.txt"),
        "format of descriptions": (find(r'"this program reads version (\d+) of the format"', "frontend/description/ModelReader.cpp"), ""),
        "`HOVA_ABI_VERSION` of the C interface": (find(r"^#define HOVA_ABI_VERSION (\d+)$", "runtime/hova_runtime.h"), "runtime/hova_runtime.h"),
        "start of an image of weights": (find(r'^#define HOVA_IMAGE_MAGIC "(\w+)"$', "runtime/hova_runtime.h"), "runtime/hova_runtime.h"),
        "`SONAME` of the compiler's library": (f"libhova.so.{minor}", "tools/CMakeLists.txt"),
        "least CPython": (find(r'^requires-python = ">=([\d.]+)"', "tools/python/pyproject.toml"), "tools/python/pyproject.toml"),
        "least glibc of compiled programs": (
            ".".join(find(r"max\(versions\) <= \((\d+), (\d+)\)", "test/runtime/test_link.py")), "test/runtime/test_link.py"),
    }


def test_the_page_has_each_number_and_where_it_stands():
    said, true = rows(), numbers()
    assert set(said) == set(true)
    for what, (number, place) in true.items():
        assert said[what][0] == number, what
        assert place in said[what][1], what


def test_the_page_follows_the_version():
    minor = ".".join(version().split(".")[:2])
    assert f"hova is at version {version()}." in text(PAGE) and f"`find_package(hova {minor})`" in text(PAGE)
    assert "SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}" in text("tools/CMakeLists.txt")
    assert "COMPATIBILITY SameMinorVersion" in text("cmake/HovaInstall.cmake")


def run(*words, status=0):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    return done


@pytest.fixture(scope="module")
def objects(tmp_path_factory):
    """An object of each kind that the page names: {kind: keys at its top}."""
    folder = tmp_path_factory.mktemp("json")
    program, broken = folder / "program", folder / "broken.json"
    broken.write_text('{"hova": 1}')
    run(HOVA, "compile", MODEL, "-o", program)
    run(program, "--random-inputs=1", "--benchmark", "--repetitions=1", f"--benchmark-out={folder}/benchmark.json")
    texts = {
        "`hova check`": run(HOVA, "check", MODEL, "--format=json").stdout,
        "`hova check` rejected": run(HOVA, "check", broken, "--format=json", status=1).stdout,
        "`hova summary`": run(HOVA, "summary", MODEL, "--format=json").stdout,
        "`hova summary --paper`": run(HOVA, "summary", PUBLISHED, "--paper", "--format=json").stdout,
        "`hova explain`": run(HOVA, "explain", MODEL, "--format=json").stdout,
        "`hova explain --diff`": run(HOVA, "explain", MODEL, "--diff=--strict", "--format=json").stdout,
        "`hova verify`": run(HOVA, "verify", MODEL, "--cases=1", "--format=json").stdout,
        "`hova weights pack`": run(HOVA, "weights", "pack", MODEL, "--init=1", "-o", folder / "image", "--format=json").stdout,
        "`hova profile`": run(HOVA, "profile", program, "--format=json").stdout,
        "`--benchmark-out`": (folder / "benchmark.json").read_text(),
        "`--describe`": run(program, "--describe", "--format=json").stdout,
        "`--diagnostics=json`": run(HOVA, "compile", MODEL, "-o", program, "--diagnostics=json").stderr.splitlines()[0],
        "`--diagnostics=json` placed": run(HOVA, "check", broken, "--diagnostics=json", status=1).stderr.splitlines()[0],
    }
    return {kind: set(json.loads(text)) for kind, text in texts.items()}


def promised():
    """The page's table of keys, its rows divided as `objects` has them."""
    section = text(PAGE).split("## `--format=json`")[1].split("\n## ")[0]
    result = {}
    for kinds, keys in re.findall(r"^\| (`.*) \| (`.*) \|$", section, re.MULTILINE):
        parts = re.split("; [^`]*", keys)
        names = [set(re.findall(r"`(\w+)`", part)) for part in parts]
        for kind in re.findall(r"`[^`]+`", kinds):
            result[kind] = names[0]
            if kind == "`hova check`":
                result[f"{kind} rejected"] = names[1]
            elif kind == "`--diagnostics=json`":
                result[f"{kind} placed"] = names[0] | names[1]
    return result


def test_json_has_the_keys_that_are_promised(objects):
    said = promised()
    assert set(said) == set(objects)
    for kind, keys in said.items():
        assert keys and keys <= objects[kind], kind


def test_another_format_is_refused_by_its_number(tmp_path):
    newer = tmp_path / "newer.json"
    newer.write_text(MODEL.read_text().replace('"hova": 1', '"hova": 2', 1))
    assert f"this program reads version {rows()['format of descriptions'][0]} of the format" in run(HOVA, "check", newer, status=1).stderr


def test_the_changelog_begins_with_what_comes():
    headings = re.findall(r"^## (.*)$", text("CHANGELOG.md"), re.MULTILINE)
    assert headings[0] == "[Unreleased]"
    assert all(re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", heading) for heading in headings[1:])
    newest = text("CHANGELOG.md").split("\n## ")[1]
    assert f"`HOVA_ABI_VERSION` is {numbers()['`HOVA_ABI_VERSION` of the C interface'][0]}." in newest
    kinds = re.findall(r"^### (.*)$", text("CHANGELOG.md"), re.MULTILINE)
    assert set(kinds) <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_all_that_is_fuzzed_is_named_where_security_is_told():
    targets = find(r"^readonly FUZZ_TARGETS=\((.*)\)$", "dev").split()
    told = text("SECURITY.md")
    foreign = told.split("## What is foreign")[1].split("## ")[0]
    assert [target for target in targets if f"`{target}`" not in foreign and f"`./dev fuzz {target}`" not in foreign] == []
    (listed,) = re.findall(r"as long as you like: (.*), and `models`", told)
    assert re.findall(r"`(\w+)`", listed) == targets


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_a_reader_finds_them(page):
    for name in ("CHANGELOG.md", "SECURITY.md", "docs/versions.md"):
        assert f"]({name})" in text(page), name
