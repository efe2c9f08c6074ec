# ===- test_plugin.py - A project of its own against an installed hova ---------=== #
# SPDX-License-Identifier: Apache-2.0
"""`cmake --install` and `find_package(hova)`: the plugin of examples/plugin, from outside."""

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


def test_without_it_both_scales_stay(tmp_path):
    dump = tmp_path / "dump.mlir"
    options = ("--emit=mlir", "--stop-after=normalize", "-o", dump)
    run(BUILD / "bin/hova", "compile", EXAMPLE / "scaled.json", *options)
    assert dump.read_text().count("hova.scale") == 2
