# ===- test_gpu_bench.py - What is made here for a GPU, on a stand-in ----------------=== #
# SPDX-License-Identifier: Apache-2.0
"""tools/bench/gpu makes a folder here and times it on a machine with a GPU. Here its small list runs on the stand-in for a driver,
whose device is the interpreter of PTX: times mean nothing, and numbers and lines do."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
BENCH = ROOT / "tools/bench/gpu"
sys.path[:0] = [str(ROOT / "test/codegen/cuda"), str(ROOT / "tools/bench"), str(BENCH / "there")]
import decides  # noqa: E402
import sass  # noqa: E402
import stand_in  # noqa: E402
from bits import differing  # noqa: E402
from repeating import PERIOD, weights  # noqa: E402
from tables import tables  # noqa: E402


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("made") / "bench"
    done = subprocess.run([sys.executable, BENCH / "make.py", "--small", "--ptxas=none", "-o", made], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return made


def measure(folder, out, *options):
    environment = {**os.environ, **stand_in.environment(out.parent / "launches", "h100"), "STAND_IN_CAPABILITY": "90"}
    done = subprocess.run([sys.executable, "-B", folder / "measure.py", "--out", out, *options], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return [json.loads(line) for line in (out / "results.jsonl").read_text(encoding="utf-8").splitlines()]


def test_every_part_runs(folder, tmp_path):
    rows = measure(folder, tmp_path / "results")
    listed = json.loads((folder / "list.json").read_text(encoding="utf-8"))["parts"]
    assert [(row["part"], row["item"]) for row in rows] == [(part, item["name"]) for part in listed for item in listed[part]]
    assert not [row for row in rows if {"failed", "wrong", "left_out"} & row.keys()]
    by_part = {part: [row for row in rows if row["part"] == part] for part in listed}
    # The device is an interpreter that adds as an H100 does, and says so.
    assert all("h100" in row["equal"] or row["equal"] == ["in-order"] for row in by_part["bits"] if "sums" not in row)
    assert all(row["equal"]["h100"] == row["cases"] > max(row["equal"]["a100"], row["equal"]["in-order"]) for row in by_part["bits"] if row["item"].startswith("how wgmma"))
    assert all(0 < row["error"] <= row["limit"] for row in by_part["kernels"])
    assert all(len(row["us"]) == len(item["tiles"]) for row, item in zip(by_part["tiles"], listed["tiles"], strict=True))
    assert [c["name"] for c in by_part["models"][0]["contestants"]] == ["hova sm_90a", "hova sm_80"]
    # What is there already is not measured again, and a line that was cut off is.
    path = tmp_path / "results/results.jsonl"
    path.write_bytes(path.read_bytes()[:-9])
    assert [(row["part"], row["item"]) for row in measure(folder, tmp_path / "results")] == [(row["part"], row["item"]) for row in rows]
    assert "## spans" in tables(path)


def test_what_there_is_no_time_for_is_said(folder, tmp_path):
    rows = measure(folder, tmp_path / "results", "--seconds=0", "--parts=load,kernels")
    assert rows and all(row["left_out"] == "no time was left" for row in rows)


def test_a_wrong_number_and_a_process_that_ends_are_lines(folder, tmp_path):
    """Other bits are expected, and a kernel is no kernel: the items behind them are measured all the same."""
    other = tmp_path / "other"
    shutil.copytree(folder, other)
    listed = json.loads((other / "list.json").read_text(encoding="utf-8"))
    first, second = listed["parts"]["kernels"][:2]
    first["limit"], second["entry"] = 0.0, "nobody"
    (other / "list.json").write_text(json.dumps(listed), encoding="utf-8")
    rows = measure(other, tmp_path / "results", "--parts=kernels")
    assert rows[0]["wrong"] > 0 and "cuModuleGetFunction" in rows[1]["failed"]
    assert not any("failed" in row or "wrong" in row for row in rows[2:]) and len(rows) == len(listed["parts"]["kernels"])


def test_bits_that_differ_have_places():
    """Numbers that are none are alike, whatever their bits."""
    ours, theirs = (np.array(words, np.uint32).tobytes() for words in ([1, 2, 0x7FC00000, 4], [1, 3, 0xFFC00001, 4]))
    assert differing(ours, theirs) == [(1, 2, 3)]


def test_ptxas_takes_the_kernels_that_are_written_there(tmp_path):
    """The interpreter takes more than an assembler does."""
    texts = {"ring": ("sm_80", decides.ring(128, 16384, 3, 512, 1 << 17)), "straight": ("sm_80", decides.HEAD.format(target="sm_80") + decides.straight("code0", 64, 128)),
             "early": ("sm_90", decides.HEAD.format(target="sm_90") + decides.entry("early", decides.EARLY, 128))}
    if not (sass.TOOLS / "ptxas").exists():
        pytest.skip("without ptxas: test/requirements.txt")
    for name, (arch, text) in texts.items():
        (tmp_path / f"{name}.ptx").write_text(text, encoding="utf-8")
        done = subprocess.run([sass.TOOLS / "ptxas", f"-arch={arch}", tmp_path / f"{name}.ptx", "-o", tmp_path / name], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_weights_repeat_and_are_no_two_alike():
    made = weights([["a.weight", [768, 3072], False], ["b.weight", [768, 3072], False], ["c.gain", [768], False]])
    a, b = made["a.weight"], made["b.weight"]
    assert np.array_equal(a[:PERIOD, :PERIOD], a[PERIOD : 2 * PERIOD, -PERIOD:]) and not np.array_equal(a, b)
    assert len(np.unique(a[:PERIOD, :PERIOD], axis=0)) == PERIOD and 0.5 < made["c.gain"].mean() < 1.5
