# ===- test_library.py - Compiled shared libraries ---------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Calls the fixture (Fixture.c) as a library through the class of the Python example."""

import ctypes
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["HOVA_BUILD"])
FIXTURES = BUILD / "test/runtime"
sys.path.insert(0, str(SOURCE / "examples/embed"))
from classify import Model  # noqa: E402

X = np.arange(32, dtype=np.float32).reshape(4, 8)
IDS = np.array([0, 1, 2, 9])
MASK = np.array([True, False, True, True])
INPUTS = {"x": X, "ids": IDS, "mask": MASK}
Y = X.ravel()[::-1].reshape(4, 8) * 2 + IDS[:, None].astype(np.float32)


@pytest.fixture
def model():
    model = Model(str(FIXTURES / "library.so"), "fixture", threads=2)
    yield model
    model.close()


def test_runs(model):
    outputs = model(**INPUTS)
    np.testing.assert_array_equal(outputs["y"], Y)
    assert outputs["kept"] == 3


def test_describes_itself(model):
    assert [info.name for info in model.inputs] == [b"x", b"ids", b"mask"]
    assert model.outputs[0].dims[:2] == [4, 8]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": X[:3]}, r"input 'x' expects shape \[4, 8\], got \[3, 8\]; --set batch=3 compiles the model for as many"),
        ({"x": X.astype(np.float64)}, "input 'x' expects f32, got f64$"),
        ({"ids": IDS.astype(bool)}, "input 'ids' expects i64, got bool$"),
        ({"ids": IDS + 1}, "expects values from 0 to 9, got 10 at element 3"),
    ],
)
def test_says_what_is_wrong_and_runs_again(model, change, message):
    with pytest.raises(ValueError, match=message):
        model(**{**INPUTS, **change})
    np.testing.assert_array_equal(model(**INPUTS)["y"], Y)


def test_contexts_of_one_library_run_in_parallel():
    failures = []

    def work():
        model = Model(str(FIXTURES / "library.so"), "fixture", threads=2)
        failures.extend(i for i in range(200) if not np.array_equal(model(**INPUTS)["y"], Y))
        model.close()

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not failures


def test_weights_beside_the_library_are_found(tmp_path):
    link = [BUILD / "bin/hova-link-fixture", FIXTURES / "fixture.o", tmp_path / "beside", "fixture", "lib", "64"]
    subprocess.run([*link, tmp_path / "beside.so.weights"], check=True)
    model = Model(str(tmp_path / "beside.so"), "fixture")
    np.testing.assert_array_equal(model(**INPUTS)["y"], Y)
    model.close()
    (tmp_path / "beside.so.weights").unlink()
    with pytest.raises(ValueError, match="cannot open '.*beside.so.weights'"):
        Model(str(tmp_path / "beside.so"), "fixture")


def test_two_libraries_in_one_process_do_not_meet(tmp_path, model):
    shutil.copy(FIXTURES / "library.so", tmp_path / "other.so")
    other = Model(str(tmp_path / "other.so"), "fixture")
    first, second = (
        ctypes.cast(m._function("program")(), ctypes.c_void_p).value for m in (model, other)
    )
    assert first != second
    np.testing.assert_array_equal(other(**INPUTS)["y"], model(**INPUTS)["y"])
    other.close()
