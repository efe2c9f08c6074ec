# ===- test_documents.py - The documents say what the programs do ------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Examples in documents run, links lead somewhere, and quoted files exist."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from sources import SOURCE, files, text

BIN = Path(os.environ.get("HOVA_BUILD", SOURCE / "build")) / "bin"
# Fences inside a list or a joined description are indented.
FENCE = re.compile(r"^ *```(\w+)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
ANCHORED = re.compile(r"\]\(([^)#\s]*)#([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
QUOTED = re.compile(
    r"`((?:dialect|passes|codegen|frontend|runtime|tools|test|examples|docs|cmake)/[\w./-]*\w)`"
)

DOCUMENTS = files(".md")
GENERATED = "docs/generated/"


def fences(language):
    found = []
    for path in DOCUMENTS:
        for match in FENCE.finditer(text(path)):
            if match[1] == language:
                line = text(path)[: match.start()].count("\n") + 1
                found.append(pytest.param(match[2], id=f"{path}:{line}"))
    return found


@pytest.mark.parametrize("code", fences("mlir"))
def test_ir_in_documents_parses(code):
    done = subprocess.run(
        [BIN / "hova-opt"], input=code, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "code",
    [
        p
        for p in fences("json")
        if '"layers"' in p.values[0] and '"hova"' in p.values[0]
    ],
)
def test_descriptions_in_documents_are_accepted(code, tmp_path):
    (tmp_path / "model.json").write_text(code)
    done = subprocess.run(
        [BIN / "hova", "check", "model.json", "--werror"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def commands_of(path):
    """The sh fences of a document, but those that set up or test."""
    found = [code for kind, code in FENCE.findall(text(path)) if kind == "sh"]
    return [code for code in found if "./dev" not in code]


def folders_of_scripts():
    """Where the scripts that run examples put what they make."""
    return [
        re.search("^out=(build/.*)$", script.read_text(), re.MULTILINE)[1]
        for script in sorted((SOURCE / "examples").glob("*/run"))
    ]


@pytest.mark.parametrize("path", [p for p in DOCUMENTS if commands_of(p)], ids=str)
def test_commands_in_documents_run(path, tmp_path):
    """One after the other, the programs in PATH; build/ has the folders of scripts and nothing else."""
    for name in ("docs", "examples"):
        (tmp_path / name).symlink_to(SOURCE / name)
    (tmp_path / "build").mkdir()
    assert len(folders_of_scripts()) > 2
    for folder in folders_of_scripts():
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    search = os.pathsep.join([str(BIN), os.environ["PATH"]])
    for code in commands_of(path):
        done = subprocess.run(
            ["bash", "-euxo", "pipefail", "-c", code],
            cwd=tmp_path,
            env={**os.environ, "PATH": search},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr


# A report and, right after it, what a document quotes of it.
REPORT = re.compile(r"```sh\n(hova explain [^\n]*)\n```\n\n```text\n(.*?)```", re.DOTALL)


@pytest.mark.parametrize("path", [p for p in DOCUMENTS if REPORT.search(text(p))], ids=str)
def test_quoted_reports_are_what_the_command_prints(path):
    """Whole paragraphs, in their order; between them paragraphs may be left out."""
    for command, quoted in REPORT.findall(text(path)):
        search = os.pathsep.join([str(BIN), os.environ["PATH"]])
        printed = subprocess.run(
            command.split(),
            cwd=SOURCE,
            env={**os.environ, "PATH": search},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        at = 0
        for paragraph in re.findall(r"^\S.*\n(?:[ ].*\n)*", quoted, re.MULTILINE):
            found = re.compile(f"^{re.escape(paragraph)}(?! )", re.MULTILINE).search(printed, at)
            assert found, f"{command} prints no such paragraph: {paragraph}"
            at = found.end()


@pytest.mark.parametrize("path", DOCUMENTS, ids=str)
def test_links_and_quoted_paths_exist(path):
    content = text(path)
    missing = [
        link
        for link in LINK.findall(content)
        if "://" not in link and not (SOURCE / path.parent / link).exists()
    ]
    if not path.as_posix().startswith(GENERATED):
        missing += [q for q in QUOTED.findall(content) if not (SOURCE / q).exists()]
    assert missing == []


def anchor(heading):
    """How GitHub and most renderers name a heading in a link."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("path", DOCUMENTS, ids=str)
def test_links_lead_to_a_heading(path):
    missing = []
    for link, name in ANCHORED.findall(text(path)):
        page = path.parent / link if link else path
        if "://" not in link and page.suffix == ".md":
            headings = HEADING.findall((SOURCE / page).read_text())
            missing += [f"{link}#{name}"] if name not in map(anchor, headings) else []
    assert missing == []


@pytest.mark.parametrize("path", [p for p in DOCUMENTS if p.parent.name == "rationale"], ids=str)
def test_a_rationale_is_two_screens(path):
    """A page answers one question; a second question has a page of its own."""
    assert len(text(path).splitlines()) <= 125


def test_generated_pages_are_current(tmp_path):
    subprocess.run([SOURCE / "docs/generate", tmp_path], check=True)
    fresh = {path.name: path.read_text() for path in tmp_path.iterdir()}
    kept = {
        path.name: path.read_text()
        for path in (SOURCE / GENERATED).glob("*")
        if path.is_file()
    }
    assert fresh == kept, "run ./dev docs"
