# ===- test_plugin.py - A project of its own against an installed hova ---------=== #
# SPDX-License-Identifier: Apache-2.0
"""`cmake --install` and `find_package(hova)`: the plugin of examples/plugin, from outside."""

import os
import re

import pytest
from installation import BUILD, SOURCE, build_plugin, install, run

EXAMPLE = SOURCE / "examples/plugin"


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """hova, installed and then moved, and the plugin built against it."""
    prefix = install(tmp_path_factory)
    return prefix / "bin/hova", build_plugin(tmp_path_factory, prefix, EXAMPLE) / "scales.so"


def test_installed_hova_compiles_and_runs(installed, tmp_path):
    hova, _ = installed
    program = tmp_path / "digits"
    run(hova, "compile", SOURCE / "examples/01-digits/digits.json", "-o", program)
    run(program, "--random-inputs", "1", "--output-dir", tmp_path)
    assert (tmp_path / "logits.npy").exists()


def test_plugin_pass_runs_and_is_verified(installed, tmp_path):
    hova, plugin = installed
    model, load = EXAMPLE / "scaled.json", f"--pass-plugin={plugin}"
    dump = tmp_path / "dump.mlir"
    options = ("--emit=mlir", "--stop-after=normalize", "-o", dump)
    run(hova, "compile", model, load, *options)
    assert dump.read_text().count("hova.scale") == 1
    assert "factor = 1.250000e-01" in dump.read_text()
    assert "verified" in run(hova, "verify", model, load)


def test_what_guides_name_is_installed(installed):
    hova, _ = installed
    folder = hova.parent.parent / "share/doc/hova"
    pages = [folder / "README.md", *(folder / "docs").glob("*.md")]
    assert len(pages) > 10
    shown = {page.parent / place for page in pages for place in re.findall(r"!\[[^]]*\]\(([^):]+)\)", page.read_text())}
    assert shown and all(place.exists() for place in shown), shown
    tools = {tool for page in pages for tool in re.findall(r"`(tools/new-[a-z]+)", page.read_text())}
    assert {"tools/new-recipe", "tools/new-pass"} <= tools
    for tool in tools:
        assert os.access(folder / tool, os.X_OK), tool


def test_a_pass_is_started_as_a_plugin(installed, tmp_path_factory):
    """What the installed new-pass writes is built, declines everywhere and can be left out."""
    hova, _ = installed
    folder = tmp_path_factory.mktemp("pass") / "linears"
    said = run(hova.parent.parent / "share/doc/hova/tools/new-pass", "normalize", "NormalizeLinears", folder)
    assert f"--pass-plugin={folder}/build/normalize-linears.so" in said
    load = f"--pass-plugin={build_plugin(tmp_path_factory, hova.parent.parent, folder) / 'normalize-linears.so'}"
    model = SOURCE / "examples/models/lecture_mha.json"
    assert "normalize-linears: fired at 0 of" in run(hova, "explain", model, load)
    assert "normalize-linears" not in run(hova, "explain", model, load, "--without=normalize-linears")
    for words, why in [(["MakeLinears", "x"], "starts with one of Normalize"), (["NormalizeLinears", folder], "exists")]:
        assert why in run(hova.parent.parent / "share/doc/hova/tools/new-pass", "normalize", *words, status=2)
    assert "give a FOLDER" in run(hova.parent.parent / "share/doc/hova/tools/new-pass", "normalize", "NormalizeLinears", status=2)


def test_without_it_both_scales_stay(tmp_path):
    dump = tmp_path / "dump.mlir"
    options = ("--emit=mlir", "--stop-after=normalize", "-o", dump)
    run(BUILD / "bin/hova", "compile", EXAMPLE / "scaled.json", *options)
    assert dump.read_text().count("hova.scale") == 2
