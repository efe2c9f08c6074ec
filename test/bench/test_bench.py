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
import contest  # noqa: E402
import report  # noqa: E402
from workload import draw  # noqa: E402


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


def test_a_batch_selects_cases_of_the_suite(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["bench", "--batch", "8"])
    labels = [case.label for case in bench.cases_of(bench.parse_arguments())]
    assert len(labels) == len(bench.SUITE) // 2
    assert all("batch=8" in label for label in labels)


def test_a_batch_and_a_model_are_an_error(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["bench", "--batch", "1", "model.json"])
    with pytest.raises(SystemExit):
        bench.parse_arguments()
    assert "--batch selects from the suite" in capsys.readouterr().err


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
        assert float(ratio) == pytest.approx(float(beside) / float(random), rel=0.1)


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
    # The first kernel of the table does most of the work, and memory is far away.
    _, inside, warm, cold, rate, _ = rows[0]
    assert 0 < float(warm) < float(cold)
    assert float(inside) > 0 and float(rate) > 0
