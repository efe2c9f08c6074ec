# ===- test_sizes_of_executables.py - Executables of programs with ranges -------=== #
# SPDX-License-Identifier: Apache-2.0
"""An executable with ranges takes its sizes from files or from `--set`, and says what is wrong with them."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
HOVA = Path(os.environ.get("HOVA_BUILD", ROOT / "build")) / "bin/hova"
WIDTH = 16
MODEL = {
    "hova": 1,
    "name": "ranged",
    "parameters": {"length": {"min": 2, "max": 9}, "items": {"min": 1, "max": 4}},
    "inputs": {"x": {"shape": ["items", "length", WIDTH]}, "mask": {"shape": ["items", "length"], "dtype": "bool"}},
    "layers": [{"name": "y", "op": "multi_head_attention", "input": "x", "heads": 2, "key_valid": "mask"}],
    "outputs": {"y": "y"},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sizes")
    (folder / "m.json").write_text(json.dumps(MODEL))
    for name, options in {"ranged": (), "tokens": ("--set=items=3",), "fixed": ("--set=items=3", "--set=length=5")}.items():
        done = run(HOVA, "compile", folder / "m.json", *options, "--init=1", "-o", folder / name)
        assert done.returncode == 0, done.stderr
    np.save(folder / "x.npy", np.random.default_rng(1).standard_normal((3, 5, WIDTH), np.float32))
    np.save(folder / "mask.npy", np.array([[True] * 5, [True, False, True, True, False], [False] * 4 + [True]]))
    return folder


def run(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)


def given(folder, *names):
    return [f"--input={name}={folder / name}.npy" for name in names]


def test_sizes_come_from_files_or_options(folder, tmp_path):
    expected = None
    for program, words in (
        ("fixed", given(folder, "x", "mask")),
        ("ranged", given(folder, "x", "mask")),
        ("ranged", [*given(folder, "x", "mask"), "--set=length=5", "--set=items=3"]),
        ("tokens", given(folder, "x", "mask")),
    ):
        done = run(folder / program, *words, "--output", f"y={tmp_path / 'y.npy'}")
        assert done.returncode == 0, done.stderr
        y = np.load(tmp_path / "y.npy")
        expected = y if expected is None else expected
        assert y.shape == (3, 5, WIDTH)
        np.testing.assert_allclose(y, expected, atol=1e-6)
    done = run(folder / "ranged", "--random-inputs", "1", "--set=items=2", "--set=length=7", "--output", f"y={tmp_path / 'y.npy'}")
    assert done.returncode == 0, done.stderr
    assert np.load(tmp_path / "y.npy").shape == (2, 7, WIDTH)


def test_describes_its_ranges(folder):
    assert json.loads(run(folder / "ranged", "--describe", "--format=json").stdout)["ranges"] == {"items": [1, 4], "length": [2, 9]}
    assert json.loads(run(folder / "tokens", "--describe", "--format=json").stdout)["ranges"] == {"length": [2, 9]}
    assert "ranges" not in json.loads(run(folder / "fixed", "--describe", "--format=json").stdout)


RANDOM = ["--random-inputs", "1"]


@pytest.mark.parametrize(
    ("status", "program", "words", "message"),
    [
        (2, "ranged", [*RANDOM, "--set=items=2"], "the size 'length' is not given: use --set length=VALUE, or --input NAME=FILE.npy"),
        (2, "ranged", [*RANDOM, "--set=length=2"], "the size 'items' is not given: use --set items=VALUE, or --input NAME=FILE.npy"),
        (1, "ranged", [*RANDOM, "--set=items=2", "--set=length=1"], "expects 2 to 9 tokens in an item ('length'), got 1"),
        (1, "ranged", [*RANDOM, "--set=items=2", "--set=length=10"], "expects 2 to 9 tokens in an item ('length'), got 10"),
        (1, "ranged", [*RANDOM, "--set=items=5", "--set=length=9"], "expects 1 to 4 items ('items'), got 5"),
        (2, "ranged", [*RANDOM, "--set=items=2", "--set=items=2"], "is given twice for 'items'"),
        (2, "ranged", [*RANDOM, "--set=items=two"], "expects a number from 1 to 2147483647, got 'two'"),
        (2, "ranged", [*RANDOM, "--set=items=99999999999999999999"], "expects a number from 1 to 2147483647, got '99999999999999999999'"),
        (2, "ranged", [*RANDOM, "--set=width=2"], "expects NAME=VALUE with NAME one of: items, length, got 'width=2'"),
        (2, "ranged", [*RANDOM, "--set=item"], "expects NAME=VALUE with NAME one of: items, length, got 'item'"),
        (2, "tokens", [*RANDOM, "--set=items=2"], "expects NAME=VALUE with NAME one of: length, got 'items=2'"),
        (2, "fixed", [*RANDOM, "--set=items=3"], "the sizes of this program are fixed"),
        (1, "ranged", ["x", "mask", "--set=length=6"], "--set length=6, but an input has 5"),
        (1, "ranged", ["x", "mask", "--set=items=2"], "--set items=2, but an input has 3"),
    ],
)
def test_says_what_is_wrong(status, program, words, message, folder):
    words = [word for part in words for word in (given(folder, part) if part in ("x", "mask") else [part])]
    done = run(folder / program, *words)
    assert done.returncode == status and message in done.stderr, (done.returncode, done.stderr)
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr


def test_inputs_have_the_same_sizes(folder, tmp_path):
    np.save(tmp_path / "mask.npy", np.ones((3, 6), bool))
    done = run(folder / "ranged", *given(folder, "x"), f"--input=mask={tmp_path / 'mask.npy'}")
    assert done.returncode == 1 and "input 'mask' expects bool[3, 5], got bool[3, 6]" in done.stderr, (done.returncode, done.stderr)
    np.save(tmp_path / "x.npy", np.ones((5, WIDTH), np.float32))
    done = run(folder / "ranged", f"--input=x={tmp_path / 'x.npy'}", *given(folder, "mask"))
    assert done.returncode == 1 and "input 'x' expects the shape [1 to 4, 2 to 9, 16], " in done.stderr and "has 2 axes" in done.stderr
