# ===- test_gpu_programs.py - Compiled programs for a GPU --------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Runs the fixture for a GPU (DeviceFixture.c) as linked programs: emulated, and on a stand-in for the driver."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

BUILD = Path(os.environ["HOVA_BUILD"])
FIXTURES = BUILD / "test/runtime"
CLANG = Path(os.environ["HOVA_LLVM"]) / "bin/clang"
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


def run(*arguments, program="device-emulated", driver=FIXTURES / "driver", **stand_in):
    """`driver` is the folder of libcuda.so.1; without a stand-in none of the machine is to be found instead."""
    command = [FIXTURES / program, *map(str, arguments)]
    environment = {f"STAND_IN_{name}": value for name, value in stand_in.items()}
    environment |= {**os.environ, "LD_LIBRARY_PATH": str(driver)}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def bars_of(trace):
    """One for each launch, on one row."""
    events = json.loads(trace.read_text())["traceEvents"]
    assert [event["args"]["name"] for event in events if event["ph"] == "M"] == ["device", "launches"]
    return [event for event in events if event["ph"] == "X"]


BOTH = pytest.mark.parametrize("program", ["device", "device-emulated"])


@BOTH
def test_runs(files, tmp_path, program):
    result = run(*files, f"--output-dir={tmp_path}/out", program=program)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    np.testing.assert_array_equal(np.load(tmp_path / "out/y.npy"), Y)
    np.testing.assert_array_equal(np.load(tmp_path / "out/first.npy"), SUMS[0])
    assert run(*files, f"--expected=y={tmp_path}/y.npy", "--rtol=0", "--atol=0", program=program).returncode == 0


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


@BOTH
@pytest.mark.parametrize("option", [["--threads=1"], ["--cold"], ["--kernel=layer.add", "--cold"]])
def test_options_of_a_processor_are_refused(program, option):
    result = run("--random-inputs=1", *option, program=program)
    flag = option[-1].split("=")[0]
    assert (result.returncode, result.stderr) == (
        2,
        f"error: {flag} is for programs whose kernels run on a processor, and those of this one are for a GPU: leave it out\n",
    )
    assert flag not in run("--help", program=program).stdout
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


def test_a_program_for_a_device_says_what_it_is_without_one(tmp_path):
    text = run("--describe", program="device", driver=tmp_path).stdout
    assert "target     cuda\nlevels     sm_80\n" in text and "\nlaunches\n" in text
    description = json.loads(run("--describe", "--format=json", program="device", driver=tmp_path).stdout)
    assert (description["target"], description["arch"], len(description["launches"])) == ("cuda", "sm_80", 3)


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
    bars = bars_of(tmp_path / "t.json")
    assert [bar["name"] for bar in bars] == KERNELS
    assert all(bar["dur"] > 0 for bar in bars)


def test_hova_profiles_it():
    command = [BUILD / "bin/hova", "profile", FIXTURES / "device-emulated", "--", "--repetitions=2"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("device at level sm_80, cuda-emulated: ")
    assert all(kernel in result.stdout for kernel in KERNELS)
    assert result.stdout.endswith("\nThese are times of the emulation, which say nothing of those on a GPU.\n")


def test_one_kernel_is_measured_alone(files):
    result = run(*files, "--kernel=layer.add", "--repetitions=2", "--warmup=0")
    assert result.returncode == 0 and result.stdout.startswith("device, kernel layer.add emulating sm_80, 2 repetitions\n")


# On a stand-in for the driver.


def test_measures_a_device_by_its_own_clock(files, tmp_path):
    options = ["--benchmark", "--repetitions=2", f"--benchmark-out={tmp_path}/b.json", f"--trace={tmp_path}/t.json"]
    result = run(*files, *options, program="device")
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("device on a GPU with sm_80, 2 repetitions\n") and "GFLOP" in result.stdout
    measured = json.loads((tmp_path / "b.json").read_text())
    assert measured["target"] == "cuda"
    # The stand-in says that each kernel takes half a millisecond.
    assert [kernel["ms"] for kernel in measured["profile"]["kernels"]] == [0.5] * 3
    bars = bars_of(tmp_path / "t.json")
    assert [(bar["ts"], bar["dur"]) for bar in bars] == [(0, 500.0), (500.0, 500.0), (1000.0, 500.0)]


@BOTH
def test_a_trace_says_of_each_launch_what_it_asks_for(files, tmp_path, program):
    """Of one run alone too, which is the first."""
    assert run(*files, f"--trace={tmp_path}/t.json", program=program).returncode == 0
    said = [[bar["args"][key] for key in ("symbol", "kernel", "grid", "block", "shared_bytes")] for bar in bars_of(tmp_path / "t.json")]
    assert said == [
        ["spread", 0, [2, 1, 1], [32, 1, 1], 0],
        ["add", 1, [6, 1, 1], [32, 1, 1], 0],
        ["gather", 2, [1, 3, 2], [64, 1, 1], 51200],
    ]
    assert run("--random-inputs=1", f"--trace={tmp_path}/t.json", program="fixture").returncode == 0
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert not any("grid" in event["args"] for event in events)


@pytest.mark.parametrize(
    ("stand_in", "message"),
    [
        ({"CAPABILITY": "75"}, "program 'device' needs a GPU of compute capability 8.0; Stand-in GPU has 7.5"),
        (
            {"MEMORY": "1000"},
            "Stand-in GPU has too little memory: the program takes 1792 bytes, and 1000 of 1000 are free",
        ),
        ({"DEVICES": "0"}, "found no NVIDIA GPU, which kernels for a GPU need"),
        (
            {"FAIL": "cuModuleLoadDataEx:1:218"},
            "cannot load the kernels on Stand-in GPU: a test wants it so (CUDA_ERROR_TEST)",
        ),
    ],
)
def test_what_a_machine_lacks_is_said_before_any_work(files, tmp_path, stand_in, message):
    result = run(*files, f"--output-dir={tmp_path}/out", program="device", **stand_in)
    assert (result.returncode, result.stdout, result.stderr) == (1, "", f"error: {message}\n")
    assert not (tmp_path / "out").exists()


def test_a_fault_of_a_device_is_told(files, tmp_path):
    # The first wait is for the weights, the second for the tables.
    result = run(*files, f"--output=y={tmp_path}/out.npy", program="device", FAIL="cuStreamSynchronize:3:700")
    message = "cannot run the model on Stand-in GPU: an illegal memory access was encountered"
    assert (result.returncode, result.stderr) == (3, f"error: {message} (CUDA_ERROR_ILLEGAL_ADDRESS)\n")
    assert not (tmp_path / "out.npy").exists()


def test_without_a_driver(tmp_path):
    """What is found first is no library, another library, or an old driver."""
    library = tmp_path / "libcuda.so.1"

    def error():
        result = run("--random-inputs=1", program="device", driver=tmp_path)
        assert (result.returncode, result.stdout) == (1, "") and result.stderr.count("\n") == 1
        return result.stderr

    library.write_bytes(b"no library")
    assert error().startswith("error: found no driver of an NVIDIA GPU, which kernels for a GPU need: ")
    shutil.copy(FIXTURES / "library.so", library)
    assert error() == "error: libcuda.so.1 is not the driver of an NVIDIA GPU: it has no 'cuInit'\n"
    source = tmp_path / "old.c"
    source.write_text("int cuInit(unsigned f) { return 0; } int cuDriverGetVersion(int *v) { return *v = 11040, 0; }\n")
    subprocess.run([CLANG, "-shared", "-fPIC", "-o", library, source], check=True)
    expected = "expects a driver of an NVIDIA GPU for CUDA 12.0 or later, got one for CUDA 11.4, which has no "
    assert error() == f"error: {expected}'cuGetErrorName'\n"


@pytest.mark.parametrize("call", ["cuMemAlloc_v2", "cuGraphLaunch", "cuGraphAddKernelNode_v2"])
def test_a_program_that_fails_gives_all_back(call):
    """The stand-in ends a process that leaves anything with status 99."""
    result = run("--random-inputs=1", program="device", FAIL=f"{call}:1:719")
    assert result.returncode in (1, 3) and result.stderr.startswith("error: cannot ")


# For a GPU or, where there is none, a processor.


@pytest.mark.parametrize(
    ("options", "stand_in", "note"),
    [
        ([], {}, "note: runs on Stand-in GPU\n"),
        ([], {"DEVICES": "0"}, "note: runs on the processor: found no NVIDIA GPU, which kernels for a GPU need\n"),
        (["--device=cuda"], {}, ""),
        (["--device=cuda:1"], {"DEVICES": "2"}, ""),
        (["--device=cpu"], {}, ""),
        (["--device=cpu", "--threads=2"], {}, ""),
        (["--threads=2"], {}, "note: runs on Stand-in GPU\n"),
    ],
)
def test_a_program_for_both_takes_what_is_there(files, tmp_path, options, stand_in, note):
    result = run(*files, *options, f"--expected=y={tmp_path}/y.npy", "--rtol=0", "--atol=0", program="both", **stand_in)
    assert (result.returncode, result.stderr) == (0, note)


def test_without_a_driver_it_takes_the_processor(files, tmp_path):
    result = run(*files, f"--expected=y={tmp_path}/y.npy", program="both", driver=tmp_path)
    assert result.returncode == 0
    assert result.stderr.startswith("note: runs on the processor: found no driver of an NVIDIA GPU, which kernels for a GPU need: ")


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        (["--device=gpu"], 2, "--device expects cuda or cpu, got 'gpu'"),
        (["--device=cpu:0"], 2, "--device expects cuda or cpu, got 'cpu:0'"),
        (["--device=cuda:-1"], 2, "--device expects an integer from 0 to 2147483647, got '-1'"),
        (["--device=cuda", "--threads=2"], 2, "--threads is for kernels that run on a processor: it needs --device=cpu"),
        (["--kernel=layer.all", "--cold"], 2, "--cold is for kernels that run on a processor: it needs --device=cpu"),
        (["--kernel=layer.all"], 1, "target cuda, on which the model runs here, has no kernel 'layer.all'"),
        (["--kernel=layer.none"], 2, "--kernel expects the path of a kernel, as --trace lists them, got 'layer.none'"),
        (["--device=cuda:1"], 1, "expects a device from 0 to 0, got 1"),
    ],
)
def test_a_program_for_both_says_what_is_wrong(options, status, message):
    result = run("--random-inputs=1", *options, program="both")
    assert (result.returncode, result.stdout) == (status, "")
    assert result.stderr.endswith(f"error: {message}\n")
    for program, targets in (("fixture", "cpu"), ("device", "cuda"), ("device-emulated", "cuda-emulated")):
        result = run("--random-inputs=1", "--device=other", program=program)
        assert (result.returncode, result.stderr) == (2, f"error: --device expects {targets}, got 'other'\n")


def test_kernels_of_either_are_measured(files):
    for options, said in (
        (["--kernel=layer.add"], "device, kernel layer.add on a GPU with sm_80"),
        (["--device=cpu", "--kernel=layer.all", "--cold"], "device, kernel layer.all at level x86-64"),
    ):
        result = run(*files, *options, "--repetitions=2", "--warmup=0", program="both")
        assert result.returncode == 0 and result.stdout.startswith(said)


def test_describes_both_programs():
    text = run("--describe", program="both").stdout
    assert "targets    cuda, or where there is none cpu\ninput      x f32[6, 5]\n" in text
    first, gpu, processor = text.split("\n--device=")
    assert "levels" not in first
    assert gpu.startswith("cuda\ntarget     cuda\nlevels     sm_80\nkernels    3\n") and "\nlaunches\n" in gpu
    assert processor.startswith("cpu\nlevels     x86-64 (chosen here)\nkernels    1\n") and "launches" not in processor
    description = json.loads(run("--describe", "--format=json", program="both").stdout)
    assert (description["target"], description["kernels"], len(description["launches"])) == ("cuda", 3, 3)
    (other,) = description["alternatives"]
    assert (other["target"], other["kernels"], other["levels"]) == ("cpu", 1, [{"name": "x86-64", "runs_here": True}])
    assert other["inputs"] == description["inputs"]
    assert [line.split()[0] for line in run("--version", program="both").stdout.splitlines()] == [
        *("model", "compiler", "dtype", "targets", "target", "levels", "hash", "levels", "hash")
    ]
    assert "alternatives" not in json.loads(run("--describe", "--format=json", program="device").stdout)


def test_the_measurement_says_what_ran(files, tmp_path):
    for device, target in ((["--device=cpu"], "cpu"), ([], "cuda")):
        path = tmp_path / "b.json"
        assert run(*files, *device, f"--benchmark-out={path}", "--repetitions=2", program="both").returncode == 0
        assert json.loads(path.read_text())["target"] == target
