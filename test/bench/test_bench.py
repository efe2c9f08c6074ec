# ===- test_bench.py - The benchmark's own figures ---------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""./dev bench without peers on a tiny model, and what its figures are made of."""

import importlib.machinery
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

SOURCE = Path(__file__).resolve().parents[2]
TOOLS = SOURCE / "tools/bench"
BUILD = Path(os.environ.get("HOVA_BUILD", SOURCE / "build"))

sys.path.insert(0, str(TOOLS))
import bench  # noqa: E402
import comparisons  # noqa: E402
import contest  # noqa: E402
import report  # noqa: E402
import suites  # noqa: E402
from nets import FAMILIES  # noqa: E402
from workload import Case, draw, soften_exponents  # noqa: E402


def load_kernels():
    loader = importlib.machinery.SourceFileLoader("kernels", str(TOOLS / "kernels"))
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader("kernels", loader)
    )
    loader.exec_module(module)
    return module


def run_bench(folder, *arguments):
    # The folder is the benchmark's build folder too: nothing else may lie there.
    (folder / "bin").symlink_to(BUILD / "bin")
    return subprocess.run(
        [sys.executable, "-B", str(TOOLS / "bench.py"), *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, "HOVA_BUILD": str(folder)},
        check=False,
    )


def measure(folder, *arguments):
    """hova alone on a tiny model."""
    model = SOURCE / "examples/models/minilm_l6.json"
    small = ["--set", "depth=1", "--set", "length=8", "--set", "vocab=50"]
    out = ["--peers", "none", "--seconds", "0.05", "--threads", 1, "--out", folder]
    done = run_bench(folder, model, *small, *out, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bench")
    printed = measure(folder)
    return folder, json.loads((folder / "threads-1.json").read_text()), printed


def test_results_hold_every_measure(results):
    folder, written, printed = results
    (entry,) = written["cases"]
    (hova,) = entry["contestants"]
    assert printed.strip() == (folder / "threads-1.md").read_text().strip()
    assert entry["settings"] == ["depth=1", "length=8", "vocab=50"]
    assert len(hova["rounds_ms"]) == written["rounds"]
    assert 0 < hova["median_ms"] <= hova["p90_ms"]
    assert min(hova["rounds_ms"]) <= hova["median_ms"] <= max(hova["rounds_ms"])
    executed = entry["flops_executed"] / hova["median_ms"] * 1e-6
    percent = executed / entry["peak_gflops"]["fma"] * 100
    assert hova["percent_of_peak"] == pytest.approx(percent)
    assert hova["prepare_s"] > 0 and hova["prepare_mib"] > 20
    assert 0 < hova["program_bytes_without_weights"] < hova["program_bytes"]
    assert "best_peer" not in entry


def test_a_program_of_16_bits_has_results_of_its_own(tmp_path):
    printed = measure(tmp_path, "--dtype", "bf16")
    written = json.loads((tmp_path / "threads-1-bf16.json").read_text())
    (entry,) = written["cases"]
    assert entry["dtype"] == "bf16" and "bf16, 1 threads" in printed
    dot = entry["peak_gflops"]["bf16_dot"]
    assert entry["limit"] == ("bf16_dot" if dot else "fma")


def test_an_unknown_peer_is_an_error(tmp_path):
    done = run_bench(tmp_path, "--peers", "nobody")
    assert done.returncode == 2 and "no peer is called nobody" in done.stderr


def row(name, median_ms, **more):
    return {"name": name, "status": "timed", "median_ms": median_ms, **more}


@pytest.fixture
def ask(monkeypatch, tmp_path):
    """The options that arguments give; cases lie in a folder of the test."""
    monkeypatch.setattr(bench, "BUILD", tmp_path)

    def parse(*arguments):
        monkeypatch.setattr(sys, "argv", ["bench", *arguments])
        return bench.parse_arguments()

    return parse


def labels_of(options):
    return [case.label for case in bench.cases_of(options)]


def test_a_batch_selects_cases_of_the_suite(ask):
    labels = labels_of(ask("--batch", "8"))
    assert len(labels) == len(suites.DENSE)
    assert all("batch=8" in label for label in labels)


def test_models_are_selected_from_all_suites_but_growth(ask):
    options = ask("--models", "tnt_s,swin_t,lm", "--batch", "1")
    labels = labels_of(options)
    both = "horizontal=true vertical=true"
    assert labels[:2] == ["swin_t batch=1", f"swin_t {both} batch=1"]
    assert labels[2] == "tnt_s batch=1"
    assert labels[3:] == [
        "lm attention=softmax batch=1",
        "lm attention=performer batch=1",
        "lm attention=realformer batch=1",
        "lm attention=bigbird length=1024 batch=1",
    ]
    assert bench.results_name(options).startswith("tnt_s-swin_t-lm-batch-1-threads-")


def test_suites_follow_each_other(ask):
    options = ask("--suite", "growth,images", "--threads", "1", "--dtype", "bf16")
    labels = labels_of(options)
    assert len(labels) == len(suites.GROWTH) + 2 * len(suites.IMAGES)
    assert "length=4096" in labels[0]
    assert bench.results_name(options) == "growth-images-threads-1-bf16"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--batch", "1", "model.json"], "--batch selects from suites"),
        (["--suite", "images", "--odd"], "leave the other out"),
        (["--models", "tnt_s", "model.json"], "leave the other out"),
        (["--suite", "pictures"], "'pictures' is none of"),
        (["--models", "tnt"], "'tnt' is none of"),
    ],
)
def test_arguments_that_exclude_each_other_are_an_error(ask, capsys, arguments, message):
    with pytest.raises(SystemExit):
        ask(*arguments)
    assert message in capsys.readouterr().err


def test_peers_know_every_model_of_the_suites():
    for cases in suites.SUITES.values():
        assert {model for model, _ in cases} <= set(FAMILIES)


def test_names_to_choose_from_are_parameters_of_a_network(tmp_path):
    model = SOURCE / "examples/models/lra.json"
    case = Case(model, ["attention=performer", "batch=2"], tmp_path, "f32")
    parameters = case.parameters()
    assert parameters["task"] == "text" and parameters["attention"] == "performer"
    assert parameters["batch"] == 2 and parameters["eps"] == 1e-6
    # Its default is an expression, which a network has from the shapes of its weights.
    assert "width" not in parameters


def test_ratio_is_to_the_fastest_peer_that_was_timed():
    failed = {"name": "openvino", "status": "failed", "reason": "no package"}
    entry = {
        "dtype": "f32",
        "peak_gflops": {"fma": 100.0, "bf16_dot": 200.0},
        "flops": 1e9,
        "flops_executed": 0.9e9,
        "contestants": [row("hova", 10.0), failed, row("torch", 30.0), row("jax", 15.0)],
    }
    bench.add_ratios(entry)
    assert entry["best_peer"] == "jax" and entry["ratio_to_best_peer"] == 1.5
    # 0.9 GFLOP in 10 ms are 90 GFLOP/s; peers are charged with all of the description.
    assert entry["contestants"][0]["percent_of_peak"] == pytest.approx(90)
    assert entry["contestants"][2]["percent_of_peak"] == pytest.approx(100 / 3)
    assert "percent_of_peak" not in failed


def test_bf16_is_measured_by_its_own_instruction():
    entry = {
        "dtype": "bf16",
        "peak_gflops": {"fma": 100.0, "bf16_dot": 200.0},
        "flops": 1e9,
        "flops_executed": 1e9,
        "contestants": [row("hova", 10.0)],
    }
    bench.add_ratios(entry)
    assert entry["contestants"][0]["percent_of_peak"] == pytest.approx(50)
    entry["peak_gflops"]["bf16_dot"] = None
    bench.add_ratios(entry)
    assert entry["contestants"][0]["percent_of_peak"] == pytest.approx(100)


def test_a_failed_peer_keeps_its_reason_in_the_table():
    failed = {"name": "jax", "version": "", "status": "failed", "reason": "a | b"}
    assert report.row_text(failed, 1.0).startswith("| jax | a / b | - |")


@pytest.mark.parametrize("change", [0.0, 0.5])
def test_difference_is_relative_to_the_largest_value(tmp_path, change):
    for name in ("ours", "theirs"):
        (tmp_path / name).mkdir()
    values = np.array([1.0, -50.0, 2.0], np.float32)
    np.save(tmp_path / "ours/y.npy", values)
    np.save(tmp_path / "theirs/y.npy", values + np.float32(change))
    found = contest.difference(tmp_path / "ours", tmp_path / "theirs", ["y"])
    assert found == pytest.approx((change, change / 50))


def test_outputs_of_other_shapes_never_agree(tmp_path):
    for name, count in (("ours", 3), ("theirs", 4)):
        (tmp_path / name).mkdir()
        np.save(tmp_path / name / "y.npy", np.ones(count, np.float32))
    _, relative = contest.difference(tmp_path / "ours", tmp_path / "theirs", ["y"])
    assert not relative <= contest.TOLERANCES["f32"]


def test_no_drawn_weight_is_without_effect():
    generator = np.random.default_rng(0)
    gain = draw(generator, {"name": "norm.gain", "shape": [1000]}, False)
    bias = draw(generator, {"name": "norm.bias", "shape": [1000]}, False)
    matrix = draw(generator, {"name": "a.weight", "shape": [400, 100]}, False)
    assert abs(gain.mean() - 1) < 0.02 and gain.std() > 0.05
    assert abs(bias.mean()) < 0.02 and bias.std() > 0.05
    assert matrix.std() == pytest.approx(1 / 20, rel=0.05)


def test_features_without_a_maximum_get_smaller_queries_and_keys():
    names = ("a.query.weight", "a.key.weight", "a.value.weight", "b.attn.query.weight")
    tensors = {name: np.ones((4, 4), np.float32) for name in names}
    soften_exponents({**tensors, "b.attn.features": np.ones((2, 4))})
    assert all(tensor.all() for tensor in tensors.values())
    soften_exponents({**tensors, "a.attn.features": np.ones((2, 4))})
    assert [tensors[name][0, 0] for name in names] == [0.5, 0.5, 1, 1]


def compared(settings, median_ms, flops=1e9, arena=100):
    rows = [
        row("hova", median_ms, arena_bytes=arena, run_mib=50.0),
        row("torch", 2 * median_ms, run_mib=1.0),
    ]
    fields = {"model": "m", "dtype": "f32", "threads": 2, "flops": flops}
    label = " ".join(["m", *settings])
    return {**fields, "label": label, "settings": settings, "contestants": rows}


def test_a_variant_stands_beside_its_plain_model():
    both = ["horizontal=true", "vertical=true"]
    cases = [
        compared(["batch=1"], 10.0),
        compared([*both, "batch=1"], 12.0, flops=1.1e9),
        compared([*both, "batch=8"], 99.0),
    ]
    rows = comparisons.variants(cases)
    assert [r["contestant"] for r in rows] == ["hova", "torch"]
    assert rows[0]["label"] == "m horizontal=true vertical=true batch=1"
    assert rows[0]["time"] == pytest.approx(1.2) and rows[0]["flops"] == pytest.approx(1.1)
    assert rows[0]["time_over_flops"] == pytest.approx(1.2 / 1.1)
    assert not comparisons.growth(cases)


def test_growth_is_that_of_the_longer_case():
    cases = [
        compared(["kind=a", "length=4096"], 10.0),
        compared(["kind=a", "length=16384"], 42.0, arena=400),
        compared(["kind=b", "length=16384"], 1.0),
    ]
    rows = comparisons.growth(cases)
    assert [r["contestant"] for r in rows] == ["hova", "torch"]
    assert rows[0]["lengths"] == (4096, 16384) and rows[0]["tokens"] == 4
    assert rows[0]["time"] == pytest.approx(4.2) and rows[0]["memory"] == pytest.approx(4)
    assert rows[1]["memory"] == 1
    assert not comparisons.variants(cases)


def test_the_report_ends_with_what_is_compared():
    results = {"cases": [compared(["length=1"], 1.0), compared(["length=2"], 3.0)]}
    (text,) = comparisons.compare(results)
    assert "| m length=1 | hova | 1 to 2 | 2.00 | 3.00 | 1.00 |" in text
    assert len(results["growth"]) == 2 and "variants" not in results


def test_a_peer_that_ends_between_runs_is_a_row_with_its_reason(tmp_path):
    class Ending(contest.Peer):
        def __init__(self):
            contest.Contestant.__init__(self, "torch")
            self.log = tmp_path / "log"
            self.log.write_text("Killed")
            command = [sys.executable, "-c", "exit(9)"]
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
            self.process = subprocess.Popen(command, text=True, **pipes)
            self.process.wait()

    peer = Ending()
    peer.turn(0.1)
    peer.turn(0.1)
    found = peer.record()
    assert found["status"] == "failed"
    assert found["reason"] == "ended between runs: Killed (exit status 9)"


def test_a_reason_is_the_exception_and_not_the_advice_after_it():
    log = "frame\nlib.CompilerFailed: it raised:\nValueError: no axis 5\n\nSet VERBOSE=1 for more\n"
    assert contest.last_exception(log) == "ValueError: no axis 5"
    assert contest.last_exception("terminate called\n\n") == "terminate called"
    assert contest.last_exception("") == "no message"
    summary = "Error: at the end\n## Exception summary\n\n<class 'AssertionError'>: only 4D\n<class 'E'>: x\n"
    assert bench.cause(summary) == "<class 'AssertionError'>: only 4D"
    assert bench.cause(log) == "ValueError: no axis 5"


def test_a_peer_whose_environment_is_missing_says_so(tmp_path):
    missing = tmp_path / "venv/bin/python"
    peer = contest.Peer("zentorch", None, [0], {}, missing)
    peer.turn(0.1)
    found = peer.record()
    assert found["status"] == "failed"
    assert found["reason"] == f"not installed: there is no {missing}"


def event(name, symbol, start, duration):
    arguments = {"symbol": symbol, "flops": 4000, "bytes": 2000}
    return {"name": name, "ts": start, "dur": duration, "args": arguments}


def test_kernels_are_joined_by_symbol():
    kernels = load_kernels()
    runs = [
        [event("a.0", "k", 0, 1 + i), event("a.1", "k", 2 + i, 3), event("b", "m", 5 + i, 8)]
        for i in range(3)
    ]
    rows = kernels.merge(runs)
    assert [r["us"] for r in rows] == [2, 3, 8]
    text = kernels.table(rows, "symbol", 10.0)
    # 8000 FLOP in 5 us are 1.6 GFLOP/s; the slowest symbol comes first.
    assert text.splitlines()[2].startswith("| m | 1 | 0.008 | 61.5 |")
    assert "| k | 2 | 0.005 | 38.5 | 0.000 | 1.6 | 16.0 |" in text


def test_kernels_reads_a_real_program(results):
    folder, written, _ = results
    program = next(folder.glob("bench/minilm_l6-*/program"))
    done = subprocess.run(
        [str(TOOLS / "kernels"), str(program), "--runs", "2", "--threads", "1"],
        capture_output=True,
        text=True,
        env={**os.environ, "HOVA_BUILD": str(folder)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    total = done.stdout.splitlines()[-1].split("|")
    executed = written["cases"][0]["flops_executed"]
    assert float(total[5]) == pytest.approx(executed * 1e-9, abs=1e-3)


def test_kernels_stand_beside_runs_on_a_given_input(results, tmp_path):
    folder, _, _ = results
    program = next(folder.glob("bench/minilm_l6-*/program"))
    np.save(tmp_path / "tokens.npy", np.ones((1, 8), np.int32))
    given = f"tokens={tmp_path / 'tokens.npy'}"
    done = subprocess.run(
        [str(TOOLS / "kernels"), str(program), "--runs", "3", "--threads", "1"]
        + ["--beside", given],
        capture_output=True,
        text=True,
        env={**os.environ, "HOVA_BUILD": str(folder)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    table = done.stdout.strip().split("\n\n")[-1].splitlines()
    assert given in table[0]
    kernels = json.loads(
        subprocess.run(
            [program, "--describe", "--format=json"], capture_output=True, check=True
        ).stdout
    )["kernels"]
    assert len(table) - 2 == kernels
    for line in table[2:]:
        _, random, beside, ratio = line.split("|")[1:-1]
        assert float(random) >= 0 and float(beside) >= 0
        assert ratio == " - " or float(ratio) >= 0


def test_the_ratio_of_kernels_is_that_of_their_times():
    """Of the times themselves: printed ones of short kernels have few digits."""
    rows = [{"path": "a", "us": 0.25}, {"path": "b", "us": 80}]
    others = [{"path": "a", "us": 0.3}, {"path": "b", "us": 20}]
    table = load_kernels().table_beside(rows, others, "x=zeros.npy").splitlines()
    assert table[0] == "| kernel | random us | x=zeros.npy us | ratio |"
    assert table[2:] == ["| a | 0.2 | 0.3 | 1.200 |", "| b | 80.0 | 20.0 | 0.250 |"]


def test_a_kernel_of_no_time_has_no_ratio():
    """A clock need not tick within a kernel."""
    rows, others = [{"path": "a", "us": 0}], [{"path": "a", "us": 1}]
    table = load_kernels().table_beside(rows, others, "x=x.npy").splitlines()
    assert table[2] == "| a | 0.0 | 1.0 | - |"


def test_kernels_alone_are_timed_warm_and_cold(results):
    folder, _, _ = results
    program = next(folder.glob("bench/minilm_l6-*/program"))
    done = subprocess.run(
        [str(TOOLS / "kernels"), str(program), "--runs", "9", "--threads", "1", "--alone"],
        capture_output=True,
        text=True,
        env={**os.environ, "HOVA_BUILD": str(folder)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.strip().split("\n\n")[-2:]
    symbols = len(first.splitlines()) - 3
    rows = [line.split("|")[1:-1] for line in second.splitlines()[2:]]
    assert len(rows) == symbols
    for _, *numbers in rows:
        assert len(numbers) == 5 and all(float(number) >= 0 for number in numbers)


def test_warm_and_cold_times_stand_where_they_belong():
    row = {"path": "a", "us": 3, "warm": 2, "cold": 5, "flops": 4000}
    table = load_kernels().table_alone([row], 8.0).splitlines()
    assert table[2] == "| a | 3.0 | 2.0 | 5.0 | 2.0 | 25.0 |"
