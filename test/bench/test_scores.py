# ===- test_scores.py - Written scores beside the plain one --------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""./dev bench --scores: what its ratios are made of. No test asserts how long anything takes."""

import json
import os
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("HOVA_BUILD", SOURCE / "build"))

sys.path.insert(0, str(SOURCE / "tools/bench"))
import scores  # noqa: E402
from programs import call, latency  # noqa: E402


def test_ratios_are_of_times_for_each_operation():
    """A window takes half as long as what it is beside, for four times the operations."""
    times = {score.name: [3.0, 1.0, 2.0] for score in scores.SCORES}
    operations = {score.name: 100 for score in scores.SCORES}
    times["window, 4096 tokens"] = [4.0, 4.0, 9.0]
    operations["window, 4096 tokens"] = 400
    times["plain, 1024 tokens"] = [8.0, 8.0, 1.0]
    times["soft cap"] = [5.0, 3.0, 3.0]
    rows = {row["score"]: row for row in scores.rows_of(times, operations)}
    assert rows["plain"]["ratio"] == 1
    assert rows["window, 4096 tokens"]["ratio"] == 0.125
    assert rows["soft cap"]["ratio"] == 1.5
    table = scores.table_of(list(rows.values()))
    assert "| window, 4096 tokens | 4.00 | 0.00 | plain, 1024 tokens | 0.12 |" in table
    assert "| plain | 2.00 | 0.00 |  |  |" in table


@pytest.mark.parametrize("score", scores.SCORES, ids=lambda score: score.name)
def test_every_score_is_one_kernel(score, tmp_path):
    description = scores.description_of(score)
    file = tmp_path / "scores.json"
    file.write_text(json.dumps(description))
    explained = json.loads(call([BUILD / "bin/hova", "explain", file, "--format=json", "--quiet"]))
    assert [site["fused"] for site in explained["sites"]] == [True]


def test_a_window_executes_what_it_visits(tmp_path):
    """Of 4096 keys for each query few more than 256."""
    window = next(score for score in scores.SCORES if score.name.startswith("window"))
    program = scores.compile_score(window, "f32", tmp_path / "window")
    latency(program, [min(os.sched_getaffinity(0))], tmp_path, "--warmup", 0, "--repetitions", 1, "--kernel", "attn")
    executed = json.loads((tmp_path / "latency.json").read_text())["flops_executed"]
    of_a_key = 2 * 2 * scores.HEADS * scores.HEAD_WIDTH * scores.LONG
    assert 240 < executed / of_a_key < 256 + 64
