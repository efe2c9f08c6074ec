# ===- test_new_recipe.py - The skeleton of an operation with loops -----------=== #
# SPDX-License-Identifier: Apache-2.0
"""What tools/new-recipe writes is built and right before anybody changes it."""

import json
import shutil
import subprocess

import numpy as np
import pytest
from installation import SOURCE, build_plugin, run

SCRIPT = SOURCE / "tools/new-recipe"


@pytest.fixture(scope="module")
def made(hova, tmp_path_factory):
    """The folder of the skeleton, and its library."""
    folder = tmp_path_factory.mktemp("recipe") / "root-norm"
    said = run(SCRIPT, "root_norm", folder)
    assert f"verify {folder}/model.json --pass-plugin={folder}/build/rootnorm.so --guard" in said
    return folder, build_plugin(tmp_path_factory, hova.prefix, folder) / "rootnorm.so"


@pytest.mark.parametrize("options", [[], ["--dtype=bf16"], ["--march=x86-64-v3", "--set", "width=16"], ["--set", "width=3"]])
def test_skeleton_is_verified(hova, made, options):
    folder, library = made
    said = hova.plain("verify", folder / "model.json", f"--pass-plugin={library}", "--guard", *options)
    assert "within the numeric policy" in said


def test_skeleton_chains_with_its_neighbours(hova, made):
    folder, library = made
    sites = json.loads(hova.plain("explain", folder / "model.json", f"--pass-plugin={library}", "--format=json"))["sites"]
    (found,) = [site for site in sites if site["path"] == "own"]
    assert found["fused"] and found["joined"] == ["before", "after"]


def test_numbers_are_those_of_numpy(hova, made, tmp_path):
    folder, library = made
    model = json.loads((folder / "model.json").read_text())
    model["layers"] = [{"name": "own", "op": "root_norm", "input": "x", "eps": 0.25}]
    model["outputs"] = {"y": "own"}
    path = tmp_path / "model.json"
    path.write_text(json.dumps(model))
    x = np.random.default_rng(3).normal(size=(2, 23, 42)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    given = ["--input", f"x={tmp_path}/x.npy"]
    want = x / np.sqrt((x.astype(np.float64) ** 2).mean(-1, keepdims=True) + 0.25)
    hova.plain("evaluate", path, f"--pass-plugin={library}", *given, "--output-dir", tmp_path / "float64")
    np.testing.assert_allclose(np.load(tmp_path / "float64/y.npy"), want, rtol=1e-6)
    hova.plain("compile", path, f"--pass-plugin={library}", "-o", tmp_path / "program")
    run(tmp_path / "program", *given, "--output-dir", tmp_path / "compiled")
    np.testing.assert_allclose(np.load(tmp_path / "compiled/y.npy"), want, rtol=1e-5)


def test_guide_shows_its_meaning(made):
    guide = (SOURCE / "docs/write-an-operator.md").read_text()
    code = (made[0] / "Operation.cpp").read_text()
    begin = code.index("LogicalResult ApplyOp::evaluate")
    assert code[begin : code.index("\n}\n", begin) + 3] in guide


def test_constraint_is_verified(hova, made):
    code = "func.func @f(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {\n  %y = rootnorm.apply %x {eps = -1.0 : f64} : tensor<2x4xf32>\n  return %y : tensor<2x4xf32>\n}\n"
    command = [hova.prefix / "bin/hova-opt", f"--load-dialect-plugin={made[1]}"]
    done = subprocess.run([str(part) for part in command], input=code, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "expects eps of at least 0, got -1" in done.stderr


def test_sources_are_formatted(made):
    """As ./dev format would leave them."""
    if not shutil.which("clang-format-22"):
        pytest.skip("no clang-format-22 here")
    for path in [*made[0].glob("*.cpp"), *made[0].glob("*.h")]:
        style = f"--style=file:{SOURCE}/.clang-format"
        done = subprocess.run(["clang-format-22", style, path], capture_output=True, text=True, check=True)
        # Where a line breaks depends on the length of the name, which this one has room for.
        assert done.stdout == path.read_text(), path.name


@pytest.mark.parametrize("words", [["Root", "x"], ["root-norm", "x"], ["root_norm"], ["2nd", "x"]])
def test_what_is_no_name_is_refused(tmp_path, words):
    done = subprocess.run([SCRIPT, *words], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 2 and done.stderr.startswith("new-recipe: ")
    assert list(tmp_path.iterdir()) == []


def test_no_folder_is_overwritten(tmp_path):
    (tmp_path / "mine").mkdir()
    said = run(SCRIPT, "root_norm", tmp_path / "mine", status=2)
    assert "mine exists" in said and list((tmp_path / "mine").iterdir()) == []
