# ===- test_profile.py - Where the time of a program goes ---------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""hova profile, the profile of --benchmark-out and the trace: names, counts and sums, never how long anything took."""

import json
import os
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]
HOVA = Path(os.environ["HOVA_BUILD"]) / "bin/hova"
MODEL = SOURCE / "examples/01-digits/digits.json"


def run(*command):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)


def hova(*arguments):
    done = run(HOVA, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("program") / "digits"
    hova("compile", MODEL, "-o", path)
    return path


@pytest.fixture(scope="module")
def measured(program):
    return json.loads(hova("profile", program, "--format=json", "--", "--threads=2", "--repetitions=3"))


def test_options_of_the_program_reach_it(measured):
    assert (measured["threads"], measured["repetitions"], measured["profile"]["runs"]) == (2, 3, 3)


def test_stages_and_places_add_up_to_their_kernels(measured):
    profile = measured["profile"]
    by_kernel = defaultdict(lambda: [0, 0])
    for stage in profile["stages"]:
        by_kernel[stage["kernel"]][0] += stage["ms"]
        by_kernel[stage["kernel"]][1] += stage["flops"]
    for kernel in profile["kernels"]:
        ms, flops = by_kernel[kernel["kernel"]]
        assert flops == kernel["flops"]
        assert ms == pytest.approx(kernel["ms"], abs=2e-5)
    whole = sum(kernel["flops"] for kernel in profile["kernels"])
    assert whole == measured["flops_executed"]
    top = [place for place in profile["layers"] if "." not in place["path"]]
    assert sum(place["flops"] for place in top) == whole
    assert sum(place["ms"] for place in top) == pytest.approx(profile["ms"], abs=1e-4)


def test_every_layer_that_a_kernel_computes_is_a_place(measured):
    paths = [place["path"] for place in measured["profile"]["layers"]]
    assert len(paths) == len(set(paths))
    for top in ("early", "late", "omni", "patches", "head"):
        explained = json.loads(hova("explain", MODEL, "--path", top, "--format=json"))
        for layer in explained["layers"]:
            # Layers whose numbers are only read as they lie take no time.
            assert layer["path"] in paths or layer["became"], layer


def test_a_kernel_of_two_layers_is_divided(measured):
    profile = measured["profile"]
    places = {place["path"]: place for place in profile["layers"]}
    # early.1.attn.query holds the feed-forward layer of the layer before.
    assert places["early.0.ffn"]["divided"] and places["early.1.attn"]["divided"]
    assert not places["patches"]["divided"]
    kernel = next(k["kernel"] for k in profile["kernels"] if k["path"] == "early.1.attn.query")
    held = {path for stage in profile["stages"] if stage["kernel"] == kernel for path in stage["paths"]}
    assert {"early.0.ffn", "early.0.out", "early.1.norm1", "early.1.attn.query"} <= held
    assert places["early.0.ffn"]["flops"] == 4 * 17 * 48 * 96  # two products, twice the multiply-accumulates


def test_the_report_shows_places_kernels_and_what_is_divided(program):
    text = hova("profile", program, "--", "--threads", "1")
    assert text.startswith("digits at level ")
    lines = [line.split() for line in text.splitlines()]
    assert ["early.1", "*"] in [words[3:] for words in lines]
    assert not any("early.1.attn" in words[3:4] for words in lines[: lines.index([])])
    assert "divided by the work that was counted for each of its parts" in text
    assert "early.0.attn.horizontal" in hova("profile", program, "--depth=4")


@pytest.mark.parametrize(
    "arguments, status, message",
    [
        ([], 2, "a program is missing"),
        (["nowhere"], 74, "No such file or directory"),
        ([MODEL], 1, "cannot run"),
        (["/bin/echo"], 1, "has measured no profile"),
    ],
)
def test_what_is_no_program_is_told(arguments, status, message):
    done = run(HOVA, "profile", *arguments)
    assert (done.returncode, message in done.stderr, done.stdout) == (status, True, ""), done.stderr


def script(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("name, number, what", [("SEGV", 11, "Segmentation fault"), ("KILL", 9, "Killed")])
def test_a_program_that_a_signal_has_ended_is_told(tmp_path, name, number, what):
    dying = script(tmp_path / "my model", f"echo before; kill -{name} $$")
    done = run(HOVA, "profile", dying, "--", "--threads=2")
    assert (done.returncode, done.stdout) == (128 + number, "")
    assert f"hova: error: '{dying}' was ended by SIG{name} ({what})\n" in done.stderr
    assert f"it ran as: '{dying}' --threads=2 --random-inputs=0 --benchmark --benchmark-out=-\n" in done.stderr


def test_a_program_that_never_ends_its_output_is_ended(tmp_path):
    done = run(HOVA, "profile", script(tmp_path / "endless", "trap '' PIPE; exec cat /dev/zero"))
    assert done.returncode == 1 and "has written more than the 268435456 bytes that a benchmark has at most" in done.stderr


def test_output_that_is_nested_deep_is_no_profile(tmp_path):
    deep = script(tmp_path / "deep", "head -c 1000000 /dev/zero | tr '\\0' '['")
    done = run(HOVA, "profile", deep)
    assert done.returncode == 1 and "has measured no profile" in done.stderr


def test_the_status_of_the_program_is_passed_on(program):
    done = run(HOVA, "profile", program, "--", "--bogus")
    assert done.returncode == 2 and "unknown option '--bogus'" in done.stderr


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_a_trace_has_a_row_for_each_thread(program, tmp_path, threads):
    done = run(program, "--random-inputs=1", "--threads", threads, "--trace", tmp_path / "t.json")
    assert done.returncode == 0
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    names = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert names == {i: f"thread {i}" for i in range(threads)}
    bars = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            bars[event["tid"]].append(event)
    assert set(bars) <= set(names)
    # The first thread has a chunk of every kernel, in the order of the program; a thread does one thing at a time.
    assert [bar["args"]["kernel"] for bar in bars[0]] == list(range(len(bars[0])))
    assert {bar["name"] for bar in bars[0]} >= {"patches", "early.0.attn", "head"}
    for row in bars.values():
        assert [bar["args"]["kernel"] for bar in row] == sorted({bar["args"]["kernel"] for bar in row})
        for before, after in zip(row, row[1:]):
            assert before["ts"] + before["dur"] <= after["ts"] + 2e-3  # rounded to nanoseconds
    if threads > 1:
        assert len(bars[1]) > 0


def lines_of(value):
    """The addresses of a value in fours of bytes; rows of another may stand between its rows."""
    rows = (value["offset"] + row * value["row_stride"] for row in range(value["rows"]))
    return {address for row in rows for address in range(row, row + value["row_bytes"], 4)}


def test_the_memory_map_has_no_overlap(program):
    description = json.loads(run(program, "--describe", "--format=json").stdout)
    memory = description["memory"]
    for value in memory["arena"]:
        assert 0 <= value["offset"] and value["offset"] + value["bytes"] <= description["arena_bytes"]
        assert value["first_kernel"] <= value["last_kernel"] < description["kernels"]
    for i, one in enumerate(memory["arena"]):
        for other in memory["arena"][:i]:
            alive = max(one["first_kernel"], other["first_kernel"]) <= min(one["last_kernel"], other["last_kernel"])
            disjoint = not lines_of(one) & lines_of(other)
            # What a kernel writes may take the place of what it reads for the last time.
            handed_on = one["first_kernel"] == other["last_kernel"] and one["offset"] == other["offset"]
            assert disjoint or not alive or handed_on, (one, other)
    end = 0
    for weight in memory["weights"]:
        assert weight["offset"] >= end and weight["offset"] % 64 == 0
        end = weight["offset"] + weight["bytes"]
    assert end <= description["weight_bytes"]
    assert "early.0.attn.query.weight.concat" in {weight["name"] for weight in memory["weights"]}
    assert max(thread["scratch_bytes"] for thread in memory["threads"]) <= description["scratch_bytes"]
    assert [thread["kernel"] for thread in memory["threads"]] == list(range(description["kernels"]))
