# ===- test_timed.py - What tests cost is written and told ---------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""The processor time of a test goes from timed.py to run.py, which names heavy tests and adds the rest up."""

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

TESTS = Path(__file__).resolve().parents[1]
TWO_TESTS = "def test_one(): pass\ndef test_other(): assert False\n"


def test_every_test_has_a_cost(tmp_path):
    (tmp_path / "test_two.py").write_text(TWO_TESTS)
    command = [sys.executable, "-B", TESTS / "timed.py", "-q", "-p", "no:cacheprovider", f"--junitxml={tmp_path}/out.xml", tmp_path]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "1 failed, 1 passed" in done.stdout
    costs = [
        float(cost.get("value"))
        for case in ElementTree.parse(tmp_path / "out.xml").getroot().iter("testcase")
        for cost in case.iterfind("properties/property[@name='processor_s']")
    ]
    assert len(costs) == 2 and min(costs) >= 0


@pytest.fixture
def run(monkeypatch, tmp_path):
    (tmp_path / "test-results").mkdir()
    monkeypatch.setenv("HOVA_BUILD", str(tmp_path))
    monkeypatch.setenv("HOVA_LLVM", os.environ.get("HOVA_LLVM", "/usr/lib/llvm-22"))
    monkeypatch.syspath_prepend(TESTS)
    monkeypatch.delitem(sys.modules, "run", raising=False)
    import run

    yield run
    del sys.modules["run"]


def test_heavy_tests_are_named_and_costs_added_up(run, tmp_path):
    case = '<testcase classname="a" name="{}"><properties><property name="processor_s" value="{}"/></properties></testcase>'
    cases = case.format("light", "0.25") + case.format("heavy", "7.50")
    xml = tmp_path / "test-results/runner.xml"
    count = run.run("runner", [sys.executable, "-c", f"open({str(xml)!r}, 'w').write({f'<testsuite>{cases}</testsuite>'!r})"])
    assert (count.passed, count.failed, count.heavy) == (2, [], [(7.5, "runner: a/heavy")])
    assert count.processor > 0
    assert run.Count(processor=1.5).add(run.Count(processor=2)).processor == 3.5


def test_a_runner_that_says_nothing_of_its_failure_fails(run):
    count = run.run("runner", [sys.executable, "-c", "raise SystemExit(3)"])
    assert count.failed == ["runner: exit status 3 without a failed test"]


def test_compilations_are_counted_and_limited(run, tmp_path, monkeypatch):
    """By the words that a process is started with, before it fails: no hova is needed."""
    hova = tmp_path / "hova"
    hova.write_text("#!/bin/sh\n")
    hova.chmod(0o755)
    (tmp_path / "test_some.py").write_text(
        "import subprocess\ndef test_one():\n"
        f"    for words in (['compile', 'x'], ['verify'], ['check'], []): subprocess.run([{str(hova)!r}, *words])\n    subprocess.run(['true', 'compile'])\n"
    )
    command = [sys.executable, "-B", TESTS / "timed.py", "-q", "-p", "no:cacheprovider", f"--junitxml={run.RESULTS}/runner.xml", tmp_path]
    assert run.run("runner", command).compilations == 2
    monkeypatch.setitem(run.COMPILATIONS, "runner", 2)
    assert run.run("runner", command).failed == []
    monkeypatch.setitem(run.COMPILATIONS, "runner", 1)
    assert run.run("runner", command).failed == ["runner: 2 compilations, where docs/rationale/time-of-tests.md says 1 at most"]
