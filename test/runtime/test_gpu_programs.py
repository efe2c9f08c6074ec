# ===- test_gpu_programs.py - Compiled programs for a GPU --------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Runs the fixture for a GPU (DeviceFixture.c) as linked programs, whose kernels are emulated."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

FIXTURES = Path(os.environ["HOVA_BUILD"]) / "test/runtime"
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples/embed"))
from classify import Model  # noqa: E402

X = np.arange(30, dtype=np.float32).reshape(6, 5)
IDS = np.array([0, 1, 2, 9, 4, 7])
SUMS = X * 2 + IDS[:, None].astype(np.float32)
Y = SUMS[[3, 0, 5, 1, 4, 2]]
KERNELS = ["layer.scale", "layer.add", "layer.gather"]
FAULT = (
    "error: 'layer.scale': kernel 'spread', block (0, 0, 0), thread (0, 0, 0): 'llvm.store' at \"fixture\":2:1 writes "
    "4 bytes from byte 20 of 'layer.scale' on, whose rows have 20 bytes every 32: what lies between them is not its own\n"
)


@pytest.fixture
def files(tmp_path):
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "ids.npy", IDS)
    np.save(tmp_path / "y.npy", Y)
    return [f"--input={name}={tmp_path}/{name}.npy" for name in ("x", "ids")]


def run(*arguments, program="device-emulated"):
    command = [FIXTURES / program, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_runs(files, tmp_path):
    result = run(*files, f"--output-dir={tmp_path}/out")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    np.testing.assert_array_equal(np.load(tmp_path / "out/y.npy"), Y)
    np.testing.assert_array_equal(np.load(tmp_path / "out/first.npy"), SUMS[0])
    assert run(*files, f"--expected=y={tmp_path}/y.npy", "--rtol=0", "--atol=0").returncode == 0


def test_a_library_runs():
    model = Model(str(FIXTURES / "device-emulated.so"), "device")
    outputs = model(x=X, ids=IDS)
    np.testing.assert_array_equal(outputs["y"], Y)
    np.testing.assert_array_equal(outputs["first"], SUMS[0])
    model.close()
    with pytest.raises(ValueError, match="expects 0 or 1 threads, got 2: the kernels of this program are for a GPU"):
        Model(str(FIXTURES / "device-emulated.so"), "device", threads=2)


def test_a_fault_is_told_whole_and_leaves_no_file(files, tmp_path):
    result = run(*files, f"--output=y={tmp_path}/out.npy", program="gap")
    assert (result.returncode, result.stdout, result.stderr) == (3, "", FAULT)
    assert not (tmp_path / "out.npy").exists()


@pytest.mark.parametrize("option", [["--threads=1"], ["--kernel=layer.add", "--cold"]])
def test_options_of_a_processor_are_refused(option):
    result = run("--random-inputs=1", *option)
    flag = option[-1].split("=")[0]
    assert (result.returncode, result.stderr) == (
        2,
        f"error: {flag} is for programs whose kernels run on a processor, and those of this one are for a GPU: leave it out\n",
    )
    assert flag not in run("--help").stdout
    assert flag in run("--help", program="fixture").stdout


def test_describes_its_launches():
    text = run("--describe").stdout
    assert "target     cuda-emulated: its kernels run on the processor, with checks\nlevels     sm_80\n" in text
    assert "scratch" not in text and "thread inside of a kernel" not in text
    assert text.endswith(
        "\nlaunches\n     threads  shared bytes  blocks            kernel\n"
        "          32             0  2 x 1 x 1         0 layer.scale, spread\n"
        "          32             0  6 x 1 x 1         1 layer.add, add\n"
        "          64         51200  1 x 3 x 2         2 layer.gather, gather\n"
    )
    description = json.loads(run("--describe", "--format=json").stdout)
    assert (description["target"], description["arch"]) == ("cuda-emulated", "sm_80")
    assert description["levels"] == [{"name": "sm_80"}] and description["scratch_bytes"] == 0
    assert [launch["path"] for launch in description["launches"]] == KERNELS
    assert description["launches"][2] == {
        "path": "layer.gather",
        "kernel": "gather",
        "grid": [1, 3, 2],
        "block": [64, 1, 1],
        "shared_bytes": 51200,
    }


def test_a_processor_has_no_launches():
    description = json.loads(run("--describe", "--format=json", program="fixture").stdout)
    assert description["target"] == "cpu" and "arch" not in description and "launches" not in description
    assert "launches" not in run("--describe", program="fixture").stdout


def test_version_says_the_target():
    lines = run("--version").stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["model", "compiler", "dtype", "target", "levels", "hash"]


def test_measures_the_emulation_and_says_so(files, tmp_path):
    result = run(*files, "--benchmark", "--repetitions=2", f"--benchmark-out={tmp_path}/b.json", f"--trace={tmp_path}/t.json")
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("device emulating sm_80, 2 repetitions\n")
    assert result.stdout.endswith("This is the time of the emulation, which says nothing of the time on a GPU.\n")
    assert "GFLOP" not in result.stdout
    measured = json.loads((tmp_path / "b.json").read_text())
    assert (measured["target"], measured["level"], measured["scratch_bytes"]) == ("cuda-emulated", "sm_80", 0)
    assert [kernel["path"] for kernel in measured["profile"]["kernels"]] == KERNELS
    assert all(kernel["ms"] > 0 for kernel in measured["profile"]["kernels"])
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert [event["name"] for event in events if event["ph"] == "X"] == KERNELS
    assert "launches" in [event["args"]["name"] for event in events if event["ph"] == "M"]


def test_one_kernel_is_measured_alone(files):
    result = run(*files, "--kernel=layer.add", "--repetitions=2", "--warmup=0")
    assert result.returncode == 0 and result.stdout.startswith("device, kernel layer.add emulating sm_80, 2 repetitions\n")
