# ===- test_families.py - Every family of the library of descriptions ------------=== #
# SPDX-License-Identifier: Apache-2.0
"""A folder of every class of every family compiles to the numbers that the library has computed of it, f32 within
1e-5 of the largest one."""

import numpy as np
import pytest
from folders import SOURCE, hova, run, write_folder
from recorded import BATCH, FILES, LENGTH, cases, inputs_of, some_of, weights_of


@pytest.mark.parametrize("family, kind, case", [pytest.param(*case, id=case[1]) for case in cases()])
def test_class(family, kind, case, tmp_path):
    folder = write_folder(tmp_path / "folder", case["config"], weights_of(case))
    given = inputs_of(case)
    sizes = [f"--set=batch={BATCH}"] + ([f"--set=length={LENGTH}"] if "tokens" in given else [])
    done = hova("compile", folder, "-o", tmp_path / "program", "--march=x86-64-v3", *sizes)
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr
    got = run(tmp_path / "program", given, tmp_path / "out")
    assert got.keys() == case["results"].keys()
    for name, want in case["results"].items():
        assert list(got[name].shape) == want["shape"]
        error = np.abs(some_of(got[name], case) - np.array(want["numbers"])).max()
        assert error <= 1e-5 * want["largest"], name


def test_every_family_is_here():
    described = {path.stem for path in (SOURCE / "frontend/models").glob("*.json")}
    assert {path.stem for path in FILES} == described
