# ===- test_rewrites.py - Documented rewrites are what passes do -------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Runs every before and after of the catalogue of fusions and of the passes' descriptions.

A rewrite is two fences of IR, and a pass between them. The pass runs on the first, and
the second must be its result: the same text once both have gone through canonicalization
and CSE, which renames values and puts constants in one place. A program on tensors is
also evaluated on random inputs before and after (`hova-opt --check-meaning`).
"""

import os
import re
import subprocess
from pathlib import Path

import pytest
from sources import SOURCE, files, text

BIN = Path(os.environ.get("HOVA_BUILD", SOURCE / "build")) / "bin"
FUSIONS = Path("docs/fusions.md")
PASSES = Path("docs/generated/passes.md")

CATALOGUE = re.compile(
    r"^```mlir\n(.*?)^```\n\n`hova-opt (--[\w-]+(?:=\S+)?)` makes of it\n\n```mlir\n(.*?)^```",
    re.MULTILINE | re.DOTALL,
)
SECTION = re.compile(r"^### `-(hova-[\w-]+)`$(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
DESCRIPTION = re.compile(
    r"^```mlir\n(.*?)^```\nbecomes(?:, with `([^`]+)`,)?\n```mlir\n(.*?)^```",
    re.MULTILINE | re.DOTALL,
)
PLAIN = ["--canonicalize", "--cse", "--mlir-use-nameloc-as-prefix=false"]

# What a pass that changes numbers on purpose may change them by: matrix products of two
# operands rounded to bf16 (relative error 2^-9 each), of eight terms below 4.
ROUNDS = {"hova-normalize-storage": 8 * 4 * 2**-8}


def sections():
    return dict(SECTION.findall(text(PASSES)))


def of_passes():
    return [
        pytest.param(before, f"--{name}" + (f"={options}" if options else ""), after, id=name)
        for name, description in sections().items()
        for before, options, after in DESCRIPTION.findall(description)
    ]


def of_catalogue():
    return [
        pytest.param(*rewrite, id=rewrite[1])
        for rewrite in CATALOGUE.findall(text(FUSIONS))
    ]


def run(code, *options):
    return subprocess.run(
        [BIN / "hova-opt", *options],
        input=code,
        capture_output=True,
        text=True,
        check=False,
    )


def printed(code, *options):
    done = run(code, *options)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("before, option, after", of_catalogue())
def test_rewrites_of_the_catalogue_are_what_passes_do(before, option, after):
    assert printed(before, option) == printed(after)


@pytest.mark.parametrize("before, option, after", of_passes())
def test_rewrites_of_descriptions_are_what_passes_do(before, option, after):
    made = printed(before, option, *PLAIN)
    assert made == printed(after, *PLAIN)
    assert made != printed(before, *PLAIN), "the pass does nothing here"


@pytest.mark.parametrize(
    "before, option, after",
    [rewrite for rewrite in of_passes() if "tensor<" in rewrite.values[0] and "hova-tile-cuda" not in rewrite.values[1]],
)
def test_rewrites_of_descriptions_keep_the_meaning(before, option, after):
    # Kernels of a GPU are emulated as they are lowered, after all passes: test/e2e.
    done = run(before, option, "--check-meaning", "-o", os.devnull)
    assert re.search(r"compared [1-9]\d* results", done.stderr), done.stderr
    if done.returncode == 0:
        return
    # Only a pass that rounds may differ, and only by its rounding.
    difference = re.search(r"by up to ([\d.e+-]+);", done.stderr)
    name = option.removeprefix("--")
    assert name in ROUNDS and difference, done.stderr
    assert float(difference[1]) < ROUNDS[name], done.stderr


def test_every_pass_shows_a_rewrite():
    names = {
        name
        for path in files(".td")
        for name in re.findall(r': Pass<"([\w-]+)"', text(path))
    }
    described = sections()
    assert names == set(described)
    without = {
        name
        for name, description in described.items()
        if not name.startswith(("hova-verify-", "hova-report-"))
        and not DESCRIPTION.search(description)
    }
    assert without == set(), "give the description IR before and after the pass"


def test_the_catalogue_has_every_optional_pass():
    done = subprocess.run(
        [BIN / "hova", "explain", "m.json", "--without=none"],
        capture_output=True,
        text=True,
        check=False,
    )
    optional = re.findall(r"hova-[a-z-]+", done.stderr.split("those that can are")[1])
    shown = {option.partition("=")[0] for _, option, _ in CATALOGUE.findall(text(FUSIONS))}
    assert {f"--{name}" for name in optional} <= shown
