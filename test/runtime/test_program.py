# ===- test_program.py - Command line of compiled programs -----------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Runs the fixture (Fixture.c) as a linked program: y = reverse(x) * 2 + ids by row, kept = sum(mask)."""

import io
import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

FIXTURES = Path(os.environ["HOVA_BUILD"]) / "test/runtime"
X = np.arange(32, dtype=np.float32).reshape(4, 8)
IDS = np.array([0, 1, 2, 9])
MASK = np.array([True, False, True, True])
Y = X.ravel()[::-1].reshape(4, 8) * 2 + IDS[:, None].astype(np.float32)


@pytest.fixture
def files(tmp_path):
    """The options that give every input, as files in a private folder."""
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "ids.npy", IDS)
    np.save(tmp_path / "mask.npy", MASK)
    np.save(tmp_path / "y.npy", Y)
    return [f"--input={name}={tmp_path}/{name}.npy" for name in ("x", "ids", "mask")]


def run(*arguments, program="fixture", **options):
    command = [FIXTURES / program, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def fails(status, message, *arguments, **options):
    result = run(*arguments, **options)
    assert (result.returncode, message in result.stderr) == (status, True), result.stderr
    assert result.stderr.startswith("error: ") and result.stderr.count("\n") == 1
    return result


# Inputs and outputs.


def test_writes_outputs(files, tmp_path):
    result = run(*files, f"--output=y={tmp_path}/o.npy", "--output", f"kept={tmp_path}/k.npy")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    np.testing.assert_array_equal(np.load(tmp_path / "o.npy"), Y)
    kept = np.load(tmp_path / "k.npy")
    assert kept.shape == () and kept.dtype == np.int32 and kept == 3


def test_output_dir_is_made_and_holds_every_output(files, tmp_path):
    assert run(*files, "--output-dir", tmp_path / "out").returncode == 0
    assert sorted(os.listdir(tmp_path / "out")) == ["kept.npy", "y.npy"]
    np.testing.assert_array_equal(np.load(tmp_path / "out/y.npy"), Y)


def test_prints_a_summary_when_no_output_is_asked_for(files):
    lines = run(*files).stdout.splitlines()
    assert lines[:3] == [
        "y f32[4, 8]",
        "  values: 62 60 58 56 54 52 50 48 ...",
        "  argmax: 0 0 0 0",
    ]
    assert lines[3:] == ["kept i32[]", "  values: 3"]


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_random_inputs_depend_on_the_seed_alone(tmp_path, threads):
    def output(seed, threads):
        path = tmp_path / "y.npy"
        run("--random-inputs", seed, "--threads", threads, f"--output=y={path}")
        return np.load(path)

    np.testing.assert_array_equal(output(5, threads), output(5, 1))
    assert not np.array_equal(output(5, 1), output(6, 1))
    assert np.abs(output(5, 1)).max() < 2 + 10


def test_random_inputs_leave_given_ones_alone(files, tmp_path):
    run(*files, "--random-inputs", "1", f"--output=y={tmp_path}/o.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "o.npy"), Y)


def test_names_may_be_left_out_where_there_is_one(tmp_path):
    np.save(tmp_path / "a=b.npy", X)
    arguments = ["--input", tmp_path / "a=b.npy", "--output", tmp_path / "o.npy"]
    assert run(*arguments, program="scale").returncode == 0
    np.testing.assert_array_equal(np.load(tmp_path / "o.npy"), 2 * X)
    assert run(arguments[0], arguments[1], "--expected", tmp_path / "o.npy", program="scale").returncode == 0


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("x", X.astype(np.float64), "input 'x' expects f32[4, 8], got f64[4, 8]"),
        ("x", X.astype(np.float64), "/x.npy'; save it with array.astype('float32')\n"),
        ("x", X[:3], "/x.npy'; --set batch=3 compiles the model for as many\n"),
        ("x", X[:, :7], "input 'x' expects f32[4, 8], got f32[4, 7]"),
        ("x", X.T.copy(), "/x.npy'\n"),
        ("x", X[:0], "/x.npy'\n"),
        ("x", X.T.copy(), "got f32[8, 4]"),
        ("x", np.asfortranarray(X), "column-major"),
        ("x", X.astype(">f4"), "not a little-endian number or bool"),
        ("ids", IDS.astype(np.int32), "input 'ids' expects i64[4], got i32[4]"),
        ("ids", IDS.astype(np.int32), "save it with array.astype('int64')"),
        ("ids", IDS + 1, "expects values from 0 to 9, got 10 at element 3"),
        ("ids", IDS - 1, "expects values from 0 to 9, got -1 at element 0"),
        ("mask", MASK.astype(np.uint8), "input 'mask' expects bool[4], got u8[4]"),
        ("mask", MASK.astype(np.uint8), "save it with array.astype('bool')"),
    ],
)
def test_wrong_inputs_are_rejected(files, tmp_path, name, array, message):
    np.save(tmp_path / f"{name}.npy", array)
    fails(1, message, *files, f"--output=y={tmp_path}/o.npy")
    assert not (tmp_path / "o.npy").exists()


def test_files_that_cannot_be_read(files, tmp_path):
    fails(74, "cannot open", "--random-inputs=1", f"--input=x={tmp_path}/none.npy")
    (tmp_path / "x.npy").write_bytes(b"text")
    fails(1, "is not a readable .npy file: it does not start as one", *files)
    fails(1, "is not a regular file", "--random-inputs=1", "--input=x=/dev/zero")


def test_output_that_cannot_be_written(files, tmp_path):
    (tmp_path / "old.npy").write_bytes(b"old")
    before = sorted(os.listdir(tmp_path))
    fails(74, "cannot write", *files, f"--output=y={tmp_path}/none/o.npy")
    fails(74, "cannot write", *files, f"--output=y={tmp_path}")
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.parametrize("size", [1, 100])
def test_a_full_disk_leaves_the_old_file(files, tmp_path, size):
    (tmp_path / "old.npy").write_bytes(b"old")
    before = sorted(os.listdir(tmp_path))
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    fails(74, "cannot write", *files, f"--output=y={tmp_path}/old.npy", preexec_fn=limit)
    assert sorted(os.listdir(tmp_path)) == before
    assert (tmp_path / "old.npy").read_bytes() == b"old"


def test_standard_output_that_is_full_is_an_error():
    with open("/dev/full", "w", encoding="ascii") as full:
        command = [FIXTURES / "fixture", "--random-inputs=1"]
        assert subprocess.run(command, stdout=full, stderr=subprocess.DEVNULL, check=False).returncode == 74


# Comparison.


def test_expected_outputs_that_agree(files, tmp_path):
    result = run(*files, f"--expected=y={tmp_path}/y.npy")
    assert result.returncode == 0
    assert result.stdout.startswith("y: 0 of 32 elements differ (rtol 0.001, atol 0.0001;")


def test_a_difference_is_told_by_what_is_allowed(files, tmp_path):
    """Of an expected 0 every difference is infinitely large, and yet the absolute tolerance allows some."""
    want = Y.copy()
    x = X.copy()
    x[3, 7] = -1e-5 / 2
    want[0, 0] = 0
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", want)
    result = run(*files, f"--expected=y={tmp_path}/y.npy")
    assert result.returncode == 0
    assert "largest difference 1e-05, at most 0.1 times the atol + rtol * |want| that is allowed)" in result.stdout


def test_expected_outputs_may_be_f64(files, tmp_path):
    np.save(tmp_path / "y.npy", Y.astype(np.float64))
    assert run(*files, f"--expected=y={tmp_path}/y.npy", "--rtol=0", "--atol=0").returncode == 0


def test_the_five_worst_elements_are_shown(files, tmp_path):
    want = Y.copy()
    want.ravel()[:7] += np.float32([1, 2, 3, 40, 5, 6, 7])
    np.save(tmp_path / "y.npy", want)
    result = run(*files, f"--expected=y={tmp_path}/y.npy")
    assert result.returncode == 3
    lines = result.stdout.splitlines()
    assert lines[0].startswith("y: 7 of 32 elements differ")
    assert len(lines) == 1 + 5
    assert lines[1] == "  y[0, 3] got 56 want 96 abs 40 rel 0.417"
    assert [line.split(" got ")[0] for line in lines[2:]] == [
        "  y[0, 6]",
        "  y[0, 5]",
        "  y[0, 4]",
        "  y[0, 2]",
    ]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_non_finite_values_must_be_where_they_are_expected(files, tmp_path, value):
    want = Y.copy()
    want[1, 2] = value
    np.save(tmp_path / "y.npy", want)
    result = run(*files, f"--expected=y={tmp_path}/y.npy", "--rtol=1e30")
    assert result.returncode == 3 and "1 of 32 elements differ" in result.stdout
    # The same value on both sides agrees: x[2, 5] is read by y[1, 2].
    x = X.copy()
    x[2, 5] = value
    np.save(tmp_path / "x.npy", x)
    assert run(*files, f"--expected=y={tmp_path}/y.npy").returncode == 0


def test_tolerances_decide(files, tmp_path):
    np.save(tmp_path / "y.npy", Y + np.float32(0.5))
    expected = f"--expected=y={tmp_path}/y.npy"
    assert run(*files, expected, "--atol=0.4", "--rtol=0").returncode == 3
    assert run(*files, expected, "--atol=0.5", "--rtol=0").returncode == 0


def test_integers_have_no_tolerance(files, tmp_path):
    """The mask has three true values, and no option makes four of them."""
    for want, status in [(3, 0), (4, 3)]:
        np.save(tmp_path / "kept.npy", np.int32(want))
        result = run(*files, f"--expected=kept={tmp_path}/kept.npy", "--atol=5", "--rtol=5")
        assert result.returncode == status
        assert result.stdout.startswith(f"kept: {int(status == 3)} of 1 elements differ (rtol 0, atol 0;")


def test_expected_of_another_shape_or_kind(files, tmp_path):
    np.save(tmp_path / "y.npy", Y[:3])
    fails(1, "output 'y' is f32[4, 8], but", *files, f"--expected=y={tmp_path}/y.npy")
    np.save(tmp_path / "y.npy", Y.astype(np.int32))
    fails(1, "holds i32[4, 8]", *files, f"--expected=y={tmp_path}/y.npy")


# Measurement.


def test_benchmark_writes_what_the_contract_says(tmp_path):
    path = tmp_path / "b.json"
    result = run("--random-inputs=1", "--benchmark-out", path, "--threads=2", "--warmup=0", "--repetitions=7")
    assert result.returncode == 0 and "latency ms: min " in result.stdout
    data = json.loads(path.read_text())
    latency, samples = data.pop("latency_ms"), data.pop("samples_ms")
    assert data.pop("profile")["runs"] == 7
    assert data == {
        "model": "fixture",
        "target": "cpu",
        "level": "x86-64",
        "threads": 2,
        "repetitions": 7,
        "flops": 128,
        "flops_executed": 64,
        "arena_bytes": 128,
        "scratch_bytes": 0,
        "weight_bytes": 64,
    }
    assert 0 < latency["min"] <= latency["median"] <= latency["p90"] <= latency["max"]
    assert len(samples) == 7 and samples == sorted(samples)
    assert latency["median"] == samples[3] and latency["max"] == samples[6]


def test_a_profile_divides_kernels_by_counted_work(tmp_path):
    """The second kernel of the fixture has counted three quarters for one layer and one for another."""
    path = tmp_path / "b.json"
    assert run("--random-inputs=1", "--benchmark", "--benchmark-out", path, "--repetitions=40").returncode == 0
    profile = json.loads(path.read_text())["profile"]
    kernels, stages = profile["kernels"], profile["stages"]
    assert profile["runs"] == 10
    assert [(k["kernel"], k["path"], k["symbol"], k["flops"]) for k in kernels] == [
        (0, "layer.copy", "copy", 0),
        (1, 'layer."sum"', "sum", 64),
    ]
    copy, add = (kernel["ms"] for kernel in kernels)
    near = lambda ms: pytest.approx(ms, abs=2e-6)  # what is written is rounded to nanoseconds
    assert profile["ms"] == near(copy + add)
    assert [(s["kernel"], s["stage"], s["divided"], s["paths"], s["flops"]) for s in stages] == [
        (0, 0, False, ["layer.copy"], 0),
        (1, 0, True, ['layer."sum"'], 32),
        (1, 1, True, ["other.scale"], 32),
    ]
    assert [s["ms"] for s in stages] == [near(copy), near(add * 3 / 4), near(add / 4)]
    assert [(p["path"], p["divided"], p["flops"]) for p in profile["layers"]] == [
        ("layer", True, 32),
        ("layer.copy", False, 0),
        ('layer."sum"', True, 32),
        ("other", True, 32),
        ("other.scale", True, 32),
    ]
    assert [p["ms"] for p in profile["layers"]] == [
        near(copy + add * 3 / 4),
        near(copy),
        near(add * 3 / 4),
        near(add / 4),
        near(add / 4),
    ]


def test_a_kernel_is_measured_with_its_own_work(tmp_path):
    path = tmp_path / "k.json"
    result = run("--random-inputs=1", "--kernel=layer.copy", "--benchmark-out", path, "--repetitions=3")
    assert result.returncode == 0 and result.stdout.startswith("fixture, kernel layer.copy at level")
    trace = tmp_path / "t.json"
    assert run("--random-inputs=1", "--trace", trace).returncode == 0
    kernel = next(e for e in json.loads(trace.read_text())["traceEvents"] if e["name"] == "layer.copy")
    data = json.loads(path.read_text())
    assert data["kernel"] == "layer.copy" and "profile" not in data
    assert data["flops"] == data["flops_executed"] == kernel["args"]["flops"]


def test_trace_has_every_kernel(tmp_path):
    path = tmp_path / "t.json"
    assert run("--random-inputs=1", "--trace", path).returncode == 0
    events = json.loads(path.read_text())["traceEvents"]
    kernels = [event for event in events if event["ph"] == "X"]
    assert [event["name"] for event in kernels] == ["layer.copy", 'layer."sum"']
    assert kernels[0]["ts"] == 0 and kernels[1]["ts"] >= kernels[0]["dur"]
    assert kernels[1]["args"]["flops"] == 64


def test_describe_needs_no_input():
    text = run("--describe").stdout
    assert "dtype      f32\nlevels     future (not on this machine), x86-64 (chosen here)" in text
    assert "input      ids i64[4] from 0 to 9" in text
    assert "weights    64 bytes, embedded\n\narena\n" in text
    assert "           0         128  0-1      layer.copy\n" in text
    assert text.endswith("           0          64  layer.w\n\nmade from nothing\n")
    assert json.loads(run("--describe", "--format=json").stdout)["bill"] == {"options": []}
    assert run("--describe", program="future").returncode == 0


# Weights and machine.


def test_a_machine_below_the_level_is_told(files):
    fails(1, "needs a processor of level future; this machine lacks", *files, program="future")


def test_an_image_beside_the_program_is_found(files, tmp_path):
    assert run(*files, f"--expected=y={tmp_path}/y.npy", program="beside").returncode == 0


def test_an_image_is_found_from_anywhere(files, tmp_path):
    for name in ("beside", "beside.weights"):
        (tmp_path / name).write_bytes((FIXTURES / name).read_bytes())
    (tmp_path / "beside").chmod(0o755)
    (tmp_path / "link").symlink_to(tmp_path / "beside")
    command = [tmp_path / "link", *files, f"--expected=y={tmp_path}/y.npy"]
    assert subprocess.run(command, cwd="/", check=False).returncode == 0


def test_another_image_is_used(files, tmp_path):
    image = bytearray((FIXTURES / "beside.weights").read_bytes())
    image[4096:4100] = np.float32(4).tobytes()
    (tmp_path / "w").write_bytes(image)
    np.save(tmp_path / "y.npy", X.ravel()[::-1].reshape(4, 8) * 4 + IDS[:, None])
    assert run(*files, f"--weights={tmp_path}/w", f"--expected=y={tmp_path}/y.npy").returncode == 0


def test_wrong_images_name_the_command_that_makes_the_right_one(files, tmp_path):
    command = "hova weights pack fixture.json --march=x86-64 -o IMAGE"
    (tmp_path / "w").write_bytes((0).to_bytes(8, "little"))
    fails(1, command, *files, f"--weights={tmp_path}/w")
    (tmp_path / "w").write_bytes((2).to_bytes(8, "little") + b"{}")
    fails(1, "is a safetensors file, not one of packed weights", *files, f"--weights={tmp_path}/w")
    image = (FIXTURES / "beside.weights").read_bytes()
    (tmp_path / "w").write_bytes(image[:-1])
    fails(1, "has another size", *files, f"--weights={tmp_path}/w")
    fails(74, "cannot open", *files, "--weights=/nonexistent")


def test_a_missing_image_is_an_error(files, tmp_path):
    (tmp_path / "alone").write_bytes((FIXTURES / "beside").read_bytes())
    (tmp_path / "alone").chmod(0o755)
    result = subprocess.run([tmp_path / "alone", *files], capture_output=True, text=True, check=False)
    assert result.returncode == 74 and f"cannot open '{tmp_path}/alone.weights'" in result.stderr


# Command line.


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "input 'x' is not given: use --input x=FILE.npy or --random-inputs SEED"),
        (["--nonsense"], "unknown option '--nonsense'; --help lists the options"),
        (["--ouput=y=o.npy"], "unknown option '--ouput=y=o.npy'; did you mean '--output'?"),
        (["--benchmarks"], "did you mean '--benchmark'?"),
        (["file.npy"], "unexpected 'file.npy'; a file is given with an option"),
        (["--random-inputs=1", "--format=json"], "--format needs --describe"),
        (["--describe", "--format=yaml"], "--format expects text or json, got 'yaml'"),
        (["--input=x=-", "--input=ids=-"], "standard input can be one input alone"),
        (["--random-inputs=1", "--output=y=-", "--output=kept=-"], "standard output can be one file alone"),
        (["--random-inputs=1", "--output=y=-", "--benchmark"], "standard output can be one file alone"),
        (["--input"], "--input expects a value: NAME=FILE.npy"),
        (["--input="], "--input expects a value"),
        (["--input=z=f.npy"], "--input: unknown name 'z'; there is x, ids, mask (a file that is called so is ./z=f.npy)"),
        (["--input=f.npy"], "NAME one of: x, ids, mask"),
        (["--input=x="], "NAME one of: x, ids, mask"),
        (["--input=x=a", "--input=x=b"], "--input is given twice for 'x'"),
        (["--output=x=a"], "--output: unknown name 'x'; there is y, kept"),
        (["--output=kpet=a"], "--output: unknown name 'kpet'; did you mean 'kept'?"),
        (["--random-inputs=1", "--repetitions=3"], "--repetitions needs --benchmark"),
        (["--random-inputs=1", "--warmup=3"], "--warmup needs --benchmark"),
        (["--random-inputs=1", "--rtol=1"], "--rtol needs --expected"),
        (["--random-inputs=1", "--atol=1"], "--atol needs --expected"),
        (["--describe", "--output=y=a.npy"], "--describe runs nothing: leave out --output"),
        (["--threads=2", "--describe"], "--describe runs nothing: leave out --threads"),
        (["--seed=1"], "unknown option"),
        (["--random-inputs=-1"], "--random-inputs expects an integer from 0"),
        (["--random-inputs=1x"], "got '1x'"),
        (["--random-inputs=99999999999999999999"], "expects an integer"),
        (["--threads=0"], "--threads expects an integer from 1 to 1024, got '0'"),
        (["--threads= 1"], "--threads expects an integer"),
        (["--threads=2", "--threads=2"], "--threads is given twice"),
        (["--repetitions=0"], "--repetitions expects an integer from 1"),
        (["--rtol=-1"], "--rtol expects a number that is not negative, got '-1'"),
        (["--rtol=nan"], "--rtol expects a number"),
        (["--atol=1e-3x"], "--atol expects a number"),
        (["--benchmark=1"], "--benchmark takes no value"),
        (["--random-inputs=1", "--cold"], "--cold needs --kernel PATH"),
        (["--random-inputs=1", "--kernel=layer"], "--kernel expects the path of a kernel, as --trace lists them, got 'layer'"),
        (["--random-inputs=1", "--kernel=layer.copy", "--trace=t.json"], "--kernel measures one kernel: there are no outputs"),
    ],
)
def test_wrong_command_lines(arguments, message):
    fails(2, message, *arguments)


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_names_every_option_and_tensor(option):
    result = run(option)
    assert result.returncode == 0 and len(result.stdout.splitlines()) <= 60
    for word in ("--input", "--expected", "--random-inputs", "--benchmark-out", "--trace", "--describe", "--version"):
        assert word in result.stdout
    assert result.stdout.startswith(f"usage: {FIXTURES}/fixture [options]\n")
    assert "  x                    f32[4, 8]\n  ids                  i64[4] from 0 to 9\n" in result.stdout
    assert "outputs:\n  y                    f32[4, 8]\n  kept                 i32[]\n" in result.stdout
    assert "exit status: 0 ok, 1 " in result.stdout


def test_examples_of_the_help_work_as_printed(tmp_path):
    """In the order of the page; the interpreter is the one that has NumPy."""
    lines = run("--help").stdout.splitlines()
    first = lines.index("examples:") + 1
    examples = lines[first : lines.index("", first)]
    assert len(examples) == 5
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    for line in examples:
        done = subprocess.run(line, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), line
    assert np.load(tmp_path / "x.npy").shape == X.shape


def test_version_says_which_program_this_is():
    lines = run("--version").stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["model", "compiler", "dtype", "levels", "hash"]


def test_the_description_as_json():
    description = json.loads(run("--describe", "--format=json").stdout)
    assert description["memory"] == {
        "arena": [
            {
                "path": "layer.copy",
                "offset": 0,
                "bytes": 128,
                "rows": 4,
                "row_bytes": 32,
                "row_stride": 32,
                "first_kernel": 0,
                "last_kernel": 1,
            }
        ],
        "threads": [],
        "weights": [{"name": "layer.w", "offset": 0, "bytes": 64}],
    }
    assert description["inputs"][0] == {"name": "x", "dtype": "f32", "shape": [4, 8]}
    assert description["inputs"][1] == {"name": "ids", "dtype": "i64", "shape": [4], "lower": 0, "upper": 10}
    assert [output["name"] for output in description["outputs"]] == ["y", "kept"]
    assert any(level["runs_here"] for level in description["levels"])
    assert description["weights_embedded"] is True and description["weight_bytes"] > 0


def test_standard_streams_are_files(files, tmp_path):
    data = (tmp_path / "x.npy").read_bytes()
    command = [FIXTURES / "fixture", "--input=x=-", *files[1:], "--output=y=-"]
    done = subprocess.run(command, input=data, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    np.testing.assert_array_equal(np.load(io.BytesIO(done.stdout)), Y)
    endless = subprocess.run([*command], stdin=open("/dev/zero", "rb"), capture_output=True, check=False)
    assert endless.returncode == 1 and b"standard input holds more than" in endless.stderr
    assert json.loads(run("--random-inputs=1", "--benchmark-out=-", "--repetitions=2").stdout)["repetitions"] == 2


def test_tensors_are_not_written_to_a_terminal(files):
    leader, terminal = os.openpty()
    command = [FIXTURES / "fixture", *files, "--output=y=-"]
    done = subprocess.run(command, stdout=terminal, stderr=subprocess.PIPE, text=True, check=False)
    os.close(leader)
    os.close(terminal)
    assert done.returncode == 2 and "standard output is a terminal" in done.stderr


def test_a_file_cut_off_while_mapped_is_an_io_error(files, tmp_path):
    """The image shrinks while a long measurement reads it."""
    size = 4096 + 64 + 16  # with the checksums
    image = tmp_path / "w"
    image.write_bytes((FIXTURES / "beside.weights").read_bytes())
    assert image.stat().st_size == size
    command = [FIXTURES / "fixture", *files, f"--weights={image}", "--benchmark", "--repetitions=9999999"]
    with subprocess.Popen([*command, "--threads=1"], stderr=subprocess.PIPE, text=True) as process:
        while str(image) not in Path(f"/proc/{process.pid}/maps").read_text():
            assert process.poll() is None
        os.truncate(image, 0)
        assert f"error: cannot read '{image}': it was cut off" in process.communicate()[1]
        assert process.returncode == 74


def test_messages_are_safe_for_a_terminal(files, tmp_path):
    hostile = "\033[31m\u202e\u009b\udcff"
    commands = [
        [f"--{hostile}"],
        [*files, f"--output=y={hostile}/y.npy"],
        [*files, f"--output={hostile}=y.npy"],
        [*files, f"--expected=y={tmp_path}/{hostile}"],
        [*files, f"--weights={hostile}"],
        [f"--input=x={hostile}", *files[1:]],
        ["--random-inputs=1", f"--kernel={hostile}"],
    ]
    for command in commands:
        text = run(*command).stderr
        assert text.startswith("error: ") and text.endswith("\n")
        assert all(" " <= c <= "~" for c in text[:-1]), text
