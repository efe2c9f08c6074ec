# ===- test_against.py - Kernels of two compilers, and their times -----------=== #
# SPDX-License-Identifier: Apache-2.0
"""./dev bench --against: what counts as the same machine code, and the report's figures.

The compiler before is the one of this build, or a script that calls it with one option
more; nothing is built. No test asserts how long anything takes.
"""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]
TOOLS = SOURCE / "tools/bench"
BUILD = Path(os.environ.get("HOVA_BUILD", SOURCE / "build"))
MODEL = SOURCE / "examples/models/minilm_l6.json"
TINY = ["--set", "depth=1", "--set", "length=8", "--set", "vocab=50"]

sys.path.insert(0, str(TOOLS))
import against  # noqa: E402
import against_report  # noqa: E402
import before  # noqa: E402
from machinecode import DIFFERS, ONLY_BEFORE, ONLY_NOW, SAME  # noqa: E402
from machinecode import Kernel, Object, compare  # noqa: E402
from pairs import FASTER, SLOWER, WITHIN, Timing, in_turns  # noqa: E402


def object_of(folder, *options, model=MODEL, march="x86-64-v3"):
    file = folder / "model.o"
    command = [BUILD / "bin/hova", "compile", model, *TINY, *options]
    command += ["--emit=obj", f"--march={march}", "-o", file]
    subprocess.run(command, check=True, capture_output=True)
    return Object(file)


def states(rows):
    return {row["kernel"]: row["machine_code"] for row in rows}


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    made = object_of(tmp_path_factory.mktemp("plain"))
    assert made.kernels()
    return made


def test_kernels_are_the_same_where_other_code_and_constants_moved(plain, tmp_path):
    """Under another name of the model, after the kernels of another level."""
    description = json.loads(MODEL.read_text())
    renamed = tmp_path / "model.json"
    renamed.write_text(json.dumps({**description, "name": "renamed"}))
    both = object_of(tmp_path, model=renamed, march="x86-64-v4,x86-64-v3")
    assert both.code_bytes > plain.code_bytes
    first = {n: k for n, k in both.kernels().items() if n.endswith(".0")}
    second = {
        name.replace(".1", ".0"): kernel
        for name, kernel in both.kernels().items()
        if name.endswith(".1")
    }
    assert {*states(compare(plain.kernels(), second)).values()} == {SAME}
    # The level does make a difference.
    assert DIFFERS in states(compare(plain.kernels(), first)).values()


def test_kernels_that_differ_in_one_constant_differ(plain, tmp_path):
    """The epsilon of layer norm: four bytes outside of the code."""
    other = object_of(tmp_path, "--set", "eps=1e-3")
    rows = compare(plain.kernels(), other.kernels())
    assert all(row["bytes_before"] == row["bytes_now"] for row in rows)
    found = states(rows)
    assert found["kernel_encoder_norm1.0"] == DIFFERS
    assert found["kernel_encoder_attn_query.0"] == SAME


def test_a_kernel_that_another_level_of_code_generation_made_differs(plain, tmp_path):
    found = states(compare(plain.kernels(), object_of(tmp_path, "-O1").kernels()))
    assert DIFFERS in found.values()


def test_a_kernel_of_one_side_alone_is_named():
    kernel, other = Kernel(4, (b"abcd", ())), Kernel(4, (b"abce", ()))
    old = {"a": kernel, "b": kernel, "c": kernel}
    rows = compare(old, {"b": other, "c": kernel, "d": other})
    assert states(rows) == {"a": ONLY_BEFORE, "b": DIFFERS, "c": SAME, "d": ONLY_NOW}
    assert [row["bytes_now"] for row in rows] == [None, 4, 4, 4]


def test_each_round_begins_with_another_turn():
    order = []
    turns = {name: lambda name=name: order.append(name) for name in ("x", "y", "z")}
    in_turns(turns, 4)
    assert "".join(order) == "xyzyzxzxyxyz"


def test_a_ratio_is_that_of_medians_and_each_round_has_its_own():
    timing = Timing(before=[10, 10, 20], now=[12, 11, 22], copy=[10, 10, 20])
    assert timing.ratio == 1.2
    low, high = timing.round_ratios
    assert 1.1 <= low <= high <= 1.2


@pytest.mark.parametrize(
    "now, expected",
    [(1.0, WITHIN), (1.04, WITHIN), (0.97, WITHIN), (1.06, SLOWER), (0.94, FASTER)],
)
@pytest.mark.parametrize("copy", [1.05, 1 / 1.05])
def test_a_verdict_is_by_what_identical_programs_differ_by(now, expected, copy):
    """Which of the two is the slower one has no meaning."""
    before_ms = [100.0, 200.0, 300.0]
    timing = Timing(
        before=before_ms,
        now=[ms * now for ms in before_ms],
        copy=[ms * copy for ms in before_ms],
    )
    assert timing.identical_spread == pytest.approx(1.05)
    assert timing.verdict == expected


def event(path, symbol):
    return {"name": path, "args": {"symbol": symbol}}


def test_one_place_is_timed_for_each_pair_of_functions_that_differ():
    same, old, new = (Kernel(1, (code, ())) for code in (b"s", b"o", b"n"))
    kernels = {
        "before": {"kernel_a.0": same, "kernel_b.0": old},
        "now": {"kernel_renamed.0": same, "kernel_b.0": new},
    }
    rest = [event(f"y.{i}", "kernel_b") for i in range(3)]
    events = {
        "before": [event("x", "kernel_a"), *rest],
        "now": [event("x", "kernel_renamed"), *rest],
    }
    assert against.differing_paths(events, kernels) == ["y.1"]


def test_the_options_of_the_main_build_are_taken(tmp_path):
    lines = ["CMAKE_BUILD_TYPE:STRING=Debug", "CMAKE_CXX_FLAGS:STRING=-g -O1"]
    found = ["CMAKE_CXX_FLAGS_DEBUG:STRING=-g", "MLIR_VERSION:STRING=22"]
    (tmp_path / "CMakeCache.txt").write_text("\n".join([*lines, *found]) + "\n")
    assert before.options_of(tmp_path) == [f"-D{line}" for line in lines]


def run_against(folder, commit, *arguments):
    # The folder is the benchmark's build folder too: nothing else may lie there.
    (folder / "bin").symlink_to(BUILD / "bin")
    command = [TOOLS / "against.py", "--against", commit, *arguments, "--out", folder]
    return subprocess.run(
        [sys.executable, "-B", *map(str, command)],
        capture_output=True,
        text=True,
        env={**os.environ, "HOVA_BUILD": str(folder)},
        check=False,
    )


def test_an_unknown_commit_is_one_sentence(tmp_path):
    done = run_against(tmp_path, "nowhere", MODEL)
    assert done.returncode == 2
    assert done.stderr == "bench: git knows no commit called nowhere\n"


@pytest.fixture
def head():
    commit = before.find_commit(SOURCE, "HEAD")
    if commit is None:
        pytest.skip("the sources are not in a git repository")
    return commit


def compare_with_head(folder, commit, *more):
    """The build before of the commit is this one, called with more options."""
    seed = folder / "against" / commit.sha / "bin"
    seed.mkdir(parents=True)
    command = shlex.join([str(BUILD / "bin/hova")])
    (seed / "hova").write_text(f'#!/bin/sh\nexec {command} "$@" {shlex.join(more)}\n')
    (seed / "hova").chmod(0o755)
    settings = [*TINY, "--dtype", "f32", "--threads", 1, "--rounds", 3]
    done = run_against(folder, "HEAD", MODEL, *settings)
    assert done.returncode == 0, done.stderr
    stem = f"against-{commit.sha}-threads-1"
    assert done.stdout.strip() == (folder / f"{stem}.md").read_text().strip()
    return json.loads((folder / f"{stem}.json").read_text()), done.stdout


def test_nothing_is_timed_where_all_machine_code_is_the_same(tmp_path, head):
    results, printed = compare_with_head(tmp_path, head)
    (entry,) = results["programs"]
    assert entry["timings"] == [] and {*states(entry["kernels"]).values()} == {SAME}
    assert results["before"] == {"sha": head.sha, "subject": head.subject}
    count = len(entry["kernels"])
    assert f"of all {count} kernels of 1 programs is the same, so nothing was" in printed
    for name in ("before", "now"):
        assert entry["compile"][name]["seconds"] > 0
        assert entry["compile"][name]["peak_mib"] > 20
    assert entry["code_bytes"]["before"] == entry["code_bytes"]["now"]


def test_what_differs_is_timed_beside_two_identical_programs(tmp_path, head):
    results, printed = compare_with_head(tmp_path, head, "--set", "eps=1e-3")
    (entry,) = results["programs"]
    whole, *kernels = entry["timings"]
    assert whole["path"] is None
    assert "encoder.0.norm2" in [row["path"] for row in kernels]
    assert "encoder.0.attn.query" not in [row["path"] for row in kernels]
    for row in entry["timings"]:
        assert {len(rounds) for rounds in row["rounds_ms"].values()} == {3}
        assert row["verdict"] in (WITHIN, FASTER, SLOWER)
        assert row["verdict"] in printed
    # The programs are large, and the object files are what one looks at.
    folder = next((tmp_path / "against/programs").iterdir())
    assert {"before.o", "now.o"} <= {path.name for path in folder.iterdir()}
    assert not any(path.is_dir() for path in folder.iterdir())


def test_the_commit_compiles_its_own_description(tmp_path, head):
    """Its compiler is one that refuses today's, and its description is an older one."""
    folder = tmp_path / "against" / head.sha
    older = folder / "source" / MODEL.relative_to(SOURCE)
    older.parent.mkdir(parents=True)
    older.write_text(MODEL.read_text().replace("1e-12", "1e-3"))
    assert older.read_text() != MODEL.read_text()
    hova = folder / "bin/hova"
    hova.parent.mkdir()
    refuse = f'case " $* " in *" {MODEL} "*) echo "unknown key" >&2; exit 1;; esac'
    hova.write_text(f'#!/bin/sh\n{refuse}\nexec {shlex.quote(str(BUILD / "bin/hova"))} "$@"\n')
    hova.chmod(0o755)
    settings = [*TINY, "--dtype", "f32", "--threads", 1, "--rounds", 3]
    done = run_against(tmp_path, "HEAD", MODEL, *settings)
    assert done.returncode == 0, done.stderr
    assert "the commit has another description, its own" in done.stderr
    stem = f"against-{head.sha}-threads-1"
    (entry,) = json.loads((tmp_path / f"{stem}.json").read_text())["programs"]
    found = states(entry["kernels"])
    assert found["kernel_encoder_norm1.0"] == DIFFERS
    assert found["kernel_encoder_attn_query.0"] == SAME


def test_a_description_from_elsewhere_is_compiled_by_both(tmp_path):
    """And one that the commit does not have yet."""
    hova = tmp_path / "bin/hova"
    for description in (tmp_path / "model.json", MODEL):
        case = against.Case(description, [], tmp_path / "programs", "f32")
        assert against.case_of_commit(case, hova) is case


def test_the_summary_counts_kernels_and_shows_the_whole_program():
    row = {"kernel": "k", "bytes_before": 10, "bytes_now": 12, "machine_code": DIFFERS}
    before_ms = [10.0, 10.0, 10.0]
    timing = Timing(before=before_ms, now=[9.0] * 3, copy=before_ms).record()
    entry = {
        "label": "m, f32",
        "kernels": [row, {**row, "machine_code": SAME}],
        "code_bytes": {"before": 100, "now": 110},
        "compile": {name: {"seconds": 1.0, "peak_mib": 50.0} for name in ("before", "now")},
        "timings": [{"path": None, **timing}],
    }
    assert against_report.summary_row(entry) == (
        f"| m, f32 | 1 | 1 | 0 | 0 | 1.100 | 0.900 | {FASTER} |"
    )
    text = against_report.program_text(entry)
    assert "| k | 10 | 12 | differs |" in text
    figures = "| 10 | 9 | 0.900 | 0.900 to 0.900 | 1.000 | 1.000 |"
    assert f"| whole program {figures} {FASTER} |" in text


@pytest.mark.parametrize("word", ["2", "1001", "-3", "many", "3.5", "²"])
def test_a_number_of_rounds_that_is_none_is_refused_in_a_line(word, tmp_path):
    done = run_against(tmp_path, "HEAD", MODEL, f"--rounds={word}")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith(f"--rounds: expects a number from 3 to 1000, got '{word}'")
