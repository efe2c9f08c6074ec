# ===- test_plugin.py - A project of its own against an installed hova ---------=== #
# SPDX-License-Identifier: Apache-2.0
"""`cmake --install` and `find_package(hova)`: the plugin of examples/plugin, from outside."""

import os
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("HOVA_BUILD", SOURCE / "build"))
EXAMPLE = SOURCE / "examples/plugin"
POINT = "--pass-pipeline=after-normalize(normalize-scales)"


def run(*command):
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """hova, installed and then moved, and the plugin built against it."""
    first = tmp_path_factory.mktemp("first") / "hova"
    run("cmake", "--install", BUILD, "--prefix", first)
    prefix = tmp_path_factory.mktemp("second") / "hova"
    first.rename(prefix)
    plugin = tmp_path_factory.mktemp("plugin")
    run(
        "cmake",
        *("-G", "Ninja", "-S", EXAMPLE, "-B", plugin),
        f"-DCMAKE_PREFIX_PATH={prefix}",
        "-DCMAKE_CXX_COMPILER=clang++-22",
        "-DCMAKE_C_COMPILER=clang-22",
    )
    run("cmake", "--build", plugin)
    return prefix / "bin/hova", plugin / "scales.so"


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
    run(hova, "compile", model, load, POINT, *options)
    assert dump.read_text().count("hova.scale") == 1
    assert "factor = 1.250000e-01" in dump.read_text()
    assert "verified" in run(hova, "verify", model, load, POINT)


def test_without_it_both_scales_stay(tmp_path):
    dump = tmp_path / "dump.mlir"
    options = ("--emit=mlir", "--stop-after=normalize", "-o", dump)
    run(BUILD / "bin/hova", "compile", EXAMPLE / "scaled.json", *options)
    assert dump.read_text().count("hova.scale") == 2
