# ===- test_plot.py - Plots of stored results --------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Every result that is kept in docs/bench can be drawn, by Python alone."""

import json
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

SOURCE = Path(__file__).resolve().parents[2]
STORED = sorted((SOURCE / "docs/bench").glob("*/*.json"))
SVG = "{http://www.w3.org/2000/svg}"


def draw(*arguments):
    return subprocess.run(
        [str(SOURCE / "tools/bench/plot"), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


def timed(results):
    rows = [row for entry in results["cases"] for row in entry["contestants"]]
    return [row for row in rows if row["status"] == "timed"]


@pytest.mark.parametrize("stored", STORED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_stored_result_is_drawn(stored, tmp_path):
    results = json.loads(stored.read_text())
    done = draw(stored, "-o", tmp_path / "plot.svg")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    root = ElementTree.parse(tmp_path / "plot.svg").getroot()
    assert root.tag == f"{SVG}svg"
    # A bar for every contestant that was timed, as long as its percentage is large.
    bars = [b for b in root.iter(f"{SVG}rect") if b.get("class") == "bar"]
    lengths = sorted(float(bar.get("width")) for bar in bars)
    percents = sorted(row["percent_of_peak"] for row in timed(results))
    assert lengths == pytest.approx([5 * percent for percent in percents], abs=0.1)
    width, height = float(root.get("width")), float(root.get("height"))
    for bar in bars:
        assert float(bar.get("x")) + float(bar.get("width")) < width
        assert float(bar.get("y")) + float(bar.get("height")) < height
    said = [text.text for text in root.iter(f"{SVG}text")]
    for entry in results["cases"]:
        assert entry["label"] in said
        if "best_peer" in entry:
            assert f"{entry['ratio_to_best_peer']:.2f}x" in said
    assert {row["name"] for row in timed(results)} <= set(said)


def test_there_are_stored_results_and_no_stored_plots():
    assert len(STORED) > 10
    assert list((SOURCE / "docs").rglob("*.svg")) == []


def test_a_plot_is_printed_without_a_file():
    done = draw(STORED[0])
    assert done.returncode == 0 and ElementTree.fromstring(done.stdout).tag == f"{SVG}svg"


@pytest.mark.parametrize("content", ["", "{}", '{"cases": []}', "[1]"])
def test_other_files_are_refused(content, tmp_path):
    file = tmp_path / "other.json"
    file.write_text(content)
    done = draw(file)
    assert done.returncode == 2 and "holds no results of ./dev bench" in done.stderr


def test_a_file_that_is_not_there_is_named(tmp_path):
    done = draw(tmp_path / "none.json")
    assert done.returncode == 2 and "none.json: No such file" in done.stderr
