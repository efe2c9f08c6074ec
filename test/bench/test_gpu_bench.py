# ===- test_gpu_bench.py - What is made here for a GPU, on a stand-in ----------------=== #
# SPDX-License-Identifier: Apache-2.0
"""tools/bench/gpu makes a folder here and times it on a machine with a GPU. Here its small list runs on the stand-in for a driver,
whose device is the interpreter of PTX: times mean nothing, and numbers and lines do."""

import json
import os
import select
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
BENCH = ROOT / "tools/bench/gpu"
sys.path[:0] = [str(ROOT / "test/codegen/cuda"), str(ROOT / "tools/bench"), str(BENCH / "there"), str(BENCH)]
import stand_in  # noqa: E402
from bits import differing  # noqa: E402
from repeating import PERIOD, weights  # noqa: E402

# PyTorch as it is where nobody has installed it for a GPU.
TORCH = "class cuda:\n    is_available = staticmethod(lambda: False)\n"
WITHOUT_PEERS = "PyTorch finds no GPU"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("made") / "bench"
    done = subprocess.run([sys.executable, BENCH / "make.py", "--small", "--ptxas=none", "-o", made], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return made


def start(folder, out, *options, **variables):
    """The process that measures: it knows nothing of a build of hova, and Python has a PyTorch without a GPU."""
    out.parent.joinpath("torch.py").write_text(TORCH, encoding="utf-8")
    environment = {"PATH": os.environ["PATH"], "TMPDIR": str(out.parent), "PYTHONPATH": str(out.parent), "STAND_IN_CAPABILITY": "90", "STAND_IN_ANY_CARVEOUT": "1",
                   **stand_in.environment(out.parent / "launches", "h100"), **variables}
    words = [sys.executable, "-B", folder / "measure.py", "--out", out, *options]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, cwd=out.parent)


def lines_of(out):
    return [json.loads(line) for line in (out / "results.jsonl").read_text(encoding="utf-8").splitlines()]


def measure(folder, out, *options, **variables):
    process = start(folder, out, *options, **variables)
    said = process.communicate()
    assert process.returncode == 0, said
    return lines_of(out)


def listed_in(folder):
    return json.loads((folder / "list.json").read_text(encoding="utf-8"))["parts"]


def named(rows):
    return [(row["part"], row["item"]) for row in rows]


def test_every_part_runs(folder, tmp_path):
    rows, listed = measure(folder, tmp_path / "results"), listed_in(folder)
    assert named(rows) == [(part, item["name"]) for part in listed for item in listed[part]]
    parts = {part: [row for row in rows if row["part"] == part] for part in listed}
    # torch.compile alone has nothing to do here, and says so.
    assert [row["left_out"] for row in rows if {"failed", "wrong", "refused", "left_out"} & row.keys()] == [WITHOUT_PEERS] * len(parts["compiled"]) == [WITHOUT_PEERS]
    # The device is an interpreter that adds as an H100 does, and says so.
    assert all("h100" in row["equal"] or row["equal"] == ["in-order"] for row in parts["bits"] if "sums" not in row)
    assert all(row["equal"]["h100"] == row["cases"] > max(row["equal"]["a100"], row["equal"]["in-order"]) for row in parts["bits"] if row["item"].startswith("how wgmma"))
    assert all(0 < row["error"] <= row["limit"] for row in parts["kernels"])
    assert {row["item"].rsplit(", ")[-1] for row in parts["kernels"] if row["item"].startswith("model: ")} == {"sm_90a", "sm_80"}
    assert all(len(row["us"]) == len(item["tiles"]) and row["without_peer"] == WITHOUT_PEERS for row, item in zip(parts["tiles"], listed["tiles"], strict=True))
    (model,), (spans,) = parts["models"], parts["spans"]
    assert [c["name"] for c in model["contestants"]] == ["hova sm_90a", "hova sm_80"] and model["without_peers"] == WITHOUT_PEERS
    assert spans["launches"] == len(spans["spans"]) > 5
    told = (tmp_path / "results/tables.md").read_text(encoding="utf-8")
    assert [line.removeprefix("## ") for line in told.splitlines() if line.startswith("## ")] == list(listed)
    assert f"{spans['launches']} launches" in told and "as one graph" in told
    # What is there already is not measured again, and a line that was cut off is.
    path = tmp_path / "results/results.jsonl"
    path.write_bytes(path.read_bytes()[:-9])
    assert named(measure(folder, tmp_path / "results")) == named(rows)


def test_every_chain_of_launches_is_timed(folder, tmp_path):
    """Those with programmatic edges too, and with each share of shared memory."""
    rows = measure(folder, tmp_path / "results", "--parts=decides")
    empty, code, *copies = (row.get("us") or row.get("gb_per_s") for row in rows)
    assert list(empty) == ["largest share", "sizes by turns, largest share", "smallest share", "shares by turns", "programmatic",
                           "programmatic, leave behind the wait", "the same kernels, ordinary edges", "programmatic, shares by turns"]
    assert len(code) == 2 and len(copies) == 2
    assert all(isinstance(value, float) for row in (empty, code, *copies) for value in row.values())


def test_what_there_is_no_time_for_is_said_and_measured_by_the_next_call(folder, tmp_path):
    rows = measure(folder, tmp_path / "results", "--seconds=0", "--parts=load,bits")
    assert rows and all(row["left_out"] == "no time was left" for row in rows)
    again = measure(folder, tmp_path / "results", "--parts=load")
    assert named(again[len(rows) :]) == named(rows)[: len(listed_in(folder)["load"])]
    assert all("create_s" in row for row in again[len(rows) :])
    told = (tmp_path / "results/tables.md").read_text(encoding="utf-8")
    assert "no time was left" not in told.partition("## bits")[0]


def test_a_machine_without_a_gpu_is_described_in_lines(folder, tmp_path):
    rows = measure(folder, tmp_path / "results", "--parts=bits,decides", STAND_IN_DEVICES="0")
    assert rows and all(row["left_out"].startswith("there is no GPU: cuInit: ") for row in rows)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_is_lost_where_it_is_killed(how, folder, tmp_path):
    """What was measured stays, the process of the part ends too, and another call goes on."""
    out = tmp_path / "results"
    process = start(folder, out, "--parts=machine,bits")
    assert process.stdout.readline() == "machine: machine\n"
    assert process.stdout.readline().startswith("bits: ")
    (child,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="utf-8").split()
    handle = os.pidfd_open(int(child))
    process.send_signal(how)
    process.communicate()
    assert process.returncode != 0
    select.select([handle], [], [])
    os.close(handle)
    kept = lines_of(out)
    # Tables are of the parts that were done, and where it could still write, of all that was measured.
    told = (out / "tables.md").read_text(encoding="utf-8")
    assert len(kept) >= 2 and "## machine" in told and ("## bits" in told) == (how == signal.SIGTERM)
    rows, listed = measure(folder, out, "--parts=machine,bits"), listed_in(folder)
    assert rows[: len(kept)] == kept and named(rows) == [(part, item["name"]) for part in ("machine", "bits") for item in listed[part]]


def test_the_process_of_a_part_ends_with_its_parent(folder, tmp_path):
    """Even where its kernel never ends."""
    begun, never = tmp_path / "begun", tmp_path / "never"
    for path in (begun, never):
        os.mkfifo(path)
    held = os.open(never, os.O_RDWR)
    process = start(folder, tmp_path / "results", "--parts=bits", STAND_IN_INTERPRETER=f"echo begun >'{begun}'; cat '{never}' #")
    assert begun.read_text(encoding="utf-8") == "begun\n"
    (child,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="utf-8").split()
    handle = os.pidfd_open(int(child))
    process.kill()
    ended, _, _ = select.select([handle], [], [], 60)
    os.close(held)  # what stands for the kernel ends
    os.close(handle)
    process.communicate()
    assert ended


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


def test_weights_repeat_and_are_no_two_alike():
    made = weights([["a.weight", [768, 3072], False], ["b.weight", [768, 3072], False], ["c.gain", [768], False]])
    a, b = made["a.weight"], made["b.weight"]
    assert np.array_equal(a[:PERIOD, :PERIOD], a[PERIOD : 2 * PERIOD, -PERIOD:]) and not np.array_equal(a, b)
    assert len(np.unique(a[:PERIOD, :PERIOD], axis=0)) == PERIOD and 0.5 < made["c.gain"].mean() < 1.5
