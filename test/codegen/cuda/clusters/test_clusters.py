# ===- test_clusters.py - Products whose parts blocks of a cluster add ------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Each block of a cluster multiplies a part of the inner dimension, and has rows of the sum of all. Interpreted and emulated; nothing
here runs on a GPU. What a cluster must not do without is taken away, and both say so."""

import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

sys.path[:0] = [str(folder) for folder in Path(__file__).resolve().parents[:2]]
import ptx  # noqa: E402
from cluster_modules import CASES, divided  # noqa: E402
from kernels import call  # noqa: E402


@pytest.mark.parametrize("name", CASES)
def test_clusters_compute_what_numpy_does(name, tmp_path):
    case = CASES[name]()
    assert not (case.errors(case.planted()) <= case.limit).any()
    interpreted = [case.run(landing, seed) for landing, seed in (("late", 1), ("mixed", 2))]
    emulated = case.emulate(tmp_path, [("late", 1), ("mixed", 2), ("early", 0)])
    for result in (*interpreted, *emulated):
        assert case.error(result) <= case.limit
        assert case.is_same(result, interpreted[0])


def test_parts_are_added_in_order():
    """As parts are that a kernel of its own adds."""
    case = divided(64, 256, 64, (64, 64), (2, 2), 4, "wide")
    x, w, _ = case.operands
    total = np.zeros((64, 64), np.float32)
    for part in range(4):
        columns = slice(64 * part, 64 * part + 64)
        whole = replace(case, flags=[*(f for f in case.flags if "cluster" not in f and "inner" not in f), "--inner=64"], grid=(1, 1),
                        operands=[np.ascontiguousarray(x[:, columns]), np.ascontiguousarray(w[:, columns]), np.zeros((64, 64), np.float32)])
        total = total + whole.run("late", 1)
    assert np.array_equal(case.run("late", 1), total)


ARRIVE, WAIT = "barrier.cluster.arrive.aligned;", "barrier.cluster.wait.aligned;"
MEETING = re.compile(r"\s*nvvm\.cluster\.arrive[^\n]*\n\s*nvvm\.cluster\.wait[^\n]*\n")


def without(text, pattern, which):
    """The text without one of what a pattern finds."""
    found = [*re.finditer(pattern, text)][which]
    return text[: found.start()] + "\n" + text[found.end() :]


PTX_FAULTS = {
    "no meeting before the reads": (lambda text: without(without(text, re.escape(ARRIVE), 0), re.escape(WAIT), 0), "its cluster has not met since|nobody has written"),
    "no meeting behind the reads": (lambda text: without(without(text, re.escape(ARRIVE), 1), re.escape(WAIT), 1), "may end while another one"),
    "no arrival": (lambda text: without(text, re.escape(ARRIVE), 0), "have not arrived"),
    "no wait": (lambda text: without(text, re.escape(WAIT), 1), "between arriving where clusters meet and waiting|has not waited"),
    "a meeting of the block": (lambda text: without(text, re.escape(ARRIVE), 0).replace(WAIT, "bar.sync 0;", 1), "that its cluster has not met since"),
    "another block": (lambda text: re.sub(r"(mapa\S+ [^;]*), 3;", r"\1, 4;", text), "that the cluster does not have"),
    "clusters of two": (lambda text: text.replace(".reqnctapercluster 1, 1, 4", ".reqnctapercluster 1, 1, 2"), "that the cluster does not have"),
}
NVVM_FAULTS = {
    "no meeting before the reads": (lambda text: without(text, MEETING, 0), "nothing has been written|no barrier orders"),
    "no meeting behind the reads": (lambda text: without(text, MEETING, 1), "the cluster does not meet behind the read"),
    "no arrival": (lambda text: without(text, r"nvvm\.cluster\.arrive[^\n]*\n", 0), "has not arrived there"),
    "no wait": (lambda text: without(text, r"nvvm\.cluster\.wait[^\n]*\n", 0), "has not waited there|no barrier orders|nothing has been written"),
    "a meeting of the block": (lambda text: MEETING.sub("\nnvvm.barrier0\n", text, count=1), "nothing has been written|no barrier orders"),
    "clusters of two": (lambda text: text.replace("nvvm.cluster_dim = array<i32: 1, 1, 4>", "nvvm.cluster_dim = array<i32: 1, 1, 2>"), "of a cluster of 2"),
    "one block writes what others read": (lambda text: MEETING.sub("\n", text), "nothing has been written|no barrier orders"),
}


def planted():
    return divided(64, 256, 64, (64, 64), (2, 2), 4, "wide")


@pytest.mark.parametrize("name", PTX_FAULTS)
def test_the_interpreter_notices(name):
    change, message = PTX_FAULTS[name]
    case = planted()
    changed = change(case.ptx())
    assert changed != case.ptx()
    with pytest.raises(ptx.Fault, match=message):
        case.run("late", 1, changed)


@pytest.mark.parametrize("name", NVVM_FAULTS)
def test_the_emulation_notices(name, tmp_path):
    change, message = NVVM_FAULTS[name]
    case = planted()
    changed = change(case.emit("nvvm"))
    assert changed != case.emit("nvvm")
    with pytest.raises(AssertionError, match=message):
        case.emulate(tmp_path, [("late", seed) for seed in range(1, 5)], changed)


def test_levels_without_clusters_take_none():
    case = planted()
    flags = [flag.replace("sm_90a", "sm_80") for flag in case.flags]
    done = call(case.recipe, "--emit=ptx", *flags)
    assert done.returncode == 1 and "has no code for a GPU under its schedule" in done.stderr


def test_a_grid_of_no_whole_clusters_is_refused(tmp_path):
    case = replace(planted(), grid=(1, 1, 3))
    with pytest.raises(ptx.Fault, match="no whole clusters"):
        case.run("late", 1)
    with pytest.raises(AssertionError, match="which divide the grid along z"):
        case.emulate(tmp_path, [("late", 1)])
