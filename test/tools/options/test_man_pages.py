# ===- test_man_pages.py - The manual pages of hova -------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""hova help --man=DIR: a page for each verb, with what --help shows, and nothing that man does not understand."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[3]
HOVA = Path(os.environ.get("HOVA_BUILD", SOURCE / "build")) / "bin/hova"


def run(*words, status=0):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("man")
    run(HOVA, "help", f"--man={folder}")
    return folder


def plain(page):
    """The page without fonts and escapes."""
    return re.sub(r"\\f[BIR]", "", page.read_text()).replace("\\-", "-").replace("\\&", "").replace("\\e", "\\")


TOPICS = ("expressions", "weights", "checkpoints")


def verbs():
    return re.findall(r"^  ([a-z]+(?: [a-z]+)?) {2,}[A-Z]", run(HOVA, "help"), re.M)


@pytest.mark.parametrize("topic", TOPICS)
def test_a_topic_is_one_screen_and_a_page(pages, topic):
    told = run(HOVA, "help", topic)
    lines = told.splitlines()
    assert len(lines) < 60 and max(map(len, lines)) <= 83
    assert told.split("\n'hova help")[0].strip() in plain(pages / f"hova-{topic}.7")
    assert f"hova-{topic}(7)" in plain(pages / "hova.1") and f"  {topic} " in run(HOVA, "help")


def test_the_topic_of_expressions_names_every_function(tmp_path):
    """What the parser itself lists where a function is unknown."""
    model = tmp_path / "m.json"
    model.write_text(
        '{"hova": 1, "name": "m", "parameters": {"a": "nothing(1)"}, "inputs": {"x": {"shape": [1, 4, 8]}}, "layers": ['
        '{"name": "y", "op": "multi_head_attention", "input": "x", "heads": 2, "score": "nothing(1)"}], "outputs": {"y": "y"}}'
    )
    listed = " ".join(re.findall(r'unknown function "nothing"; there are (.*)', run(HOVA, "check", model, status=1)))
    functions = set(re.findall(r"[a-z]+[0-9]?", listed)) - {"and"}
    assert {"if", "log2", "sigmoid"} <= functions
    told = run(HOVA, "help", "expressions")
    assert [name for name in functions if not re.search(rf"\b{name}\b", told)] == []


def test_every_verb_has_a_page_that_the_main_page_names(pages):
    names = ["hova-" + verb.replace(" ", "-") for verb in verbs()]
    names += ["hova-opt", "hova-reduce", "hova-lsp-server", "hova-tblgen"]
    assert sorted(path.name for path in pages.iterdir()) == sorted(
        [*(f"{name}.1" for name in ["hova", *names]), *(f"hova-{name}.7" for name in TOPICS)]
    )
    assert all(f"{name}(1)" in plain(pages / "hova.1") for name in names)


@pytest.mark.parametrize("verb", ["compile", "weights pack", "verify", "completion"])
def test_a_page_says_what_the_help_says(pages, verb):
    text = plain(pages / f"hova-{verb.replace(' ', '-')}.1")
    told = run(HOVA, "help", *verb.split())
    options = re.findall(r"^  (-[-A-Za-z]+(?:=|(?<=^  -o) )?\S*)\s+(?:\n\s+)?(.*)$", told, re.M)
    assert "--help" in dict(options)
    for option, meaning in options:
        assert option in text and meaning in text
    examples = told.split("EXAMPLES:\n")[1].split("\n\n")[0]
    assert all(line.strip() in text for line in examples.splitlines())
    for status in ("0", "70", "128 + n"):
        assert f".TP\n{status}\n" in text


@pytest.mark.skipif(not shutil.which("groff"), reason="groff is not installed")
def test_man_understands_every_page(pages):
    for page in sorted(pages.iterdir()):
        assert run("groff", "-man", "-ww", "-z", page) == ""
        shown = run("groff", "-man", "-Tutf8", page)
        assert "SEE ALSO" in re.sub(".\b", "", shown)


def test_pages_are_the_same_each_time(pages, tmp_path):
    run(HOVA, "help", f"--man={tmp_path}")
    assert [p.read_bytes() for p in sorted(tmp_path.iterdir())] == [p.read_bytes() for p in sorted(pages.iterdir())]


def test_a_folder_that_is_not_there(tmp_path):
    message = run(HOVA, "help", f"--man={tmp_path}/none", status=74)
    assert f"cannot write '{tmp_path}/none/hova.1'" in message
