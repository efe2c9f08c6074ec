# ===- test_plot.py - Plots and rows of results ------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""A result of ./dev bench becomes a plot and rows of docs/bench/results.md, by Python alone."""

import json
import re
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

SOURCE = Path(__file__).resolve().parents[2]
PAGE = SOURCE / "docs/bench/results.md"
SVG = "{http://www.w3.org/2000/svg}"


def run(tool, *arguments):
    return subprocess.run(
        [str(SOURCE / "tools/bench" / tool), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


def draw(*arguments):
    return run("plot", *arguments)


def timed(results):
    rows = [row for entry in results["cases"] for row in entry["contestants"]]
    return [row for row in rows if row["status"] == "timed"]


def entry(label, hova, peers=(), **failed):
    """A case of a result: milliseconds and percentages of the peak by contestant, and why others failed."""
    rows = [{"name": name, "status": "timed", "median_ms": ms, "percent_of_peak": percent}
            for name, ms, percent in (("hova", *hova), *peers)]
    rows += [{"name": name, "status": "failed", "reason": reason} for name, reason in failed.items()]
    found = {"label": label, "dtype": "bf16", "threads": 2, "limit": "bf16_dot", "contestants": rows}
    if peers:
        best, ms, _ = min(peers, key=lambda peer: peer[1])
        found |= {"best_peer": best, "ratio_to_best_peer": ms / hova[0]}
    return found


RESULTS = {
    "commit": "0123abc",
    "date": "2026-11-23 12:37 UTC",
    "machine": {"processor": "AMD EPYC"},
    "cases": [
        # Instructions that are no limit are faster than it.
        entry("swin_t batch=1", (20.0, 80.5), [("torch", 50.0, 30.0), ("openvino", 12.5, 131.0)], jax="has no bf16"),
        entry("lm attention=performer length=4096 batch=1", (40.0, 75.25)),
    ],
}


@pytest.fixture
def stored(tmp_path):
    file = tmp_path / "results.json"
    file.write_text(json.dumps(RESULTS))
    return file


def test_a_result_is_drawn(stored, tmp_path):
    results = RESULTS
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


def test_neither_results_nor_plots_are_kept():
    kept = [path for path in (SOURCE / "docs").rglob("*") if path.suffix in (".svg", ".json")]
    assert [path.name for path in kept] == ["description.schema.json"]


def test_a_plot_is_printed_without_a_file(stored):
    done = draw(stored)
    assert done.returncode == 0 and ElementTree.fromstring(done.stdout).tag == f"{SVG}svg"


TOOLS = [("plot",), ("rows", "zen5")]


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("content", ["", "{}", '{"cases": []}', '{"cases": [{}]}', "[1]"])
def test_other_files_are_refused(tool, content, tmp_path):
    file = tmp_path / "other.json"
    file.write_text(content)
    done = run(*tool, file)
    assert done.returncode == 2 and "holds no results of ./dev bench" in done.stderr


@pytest.mark.parametrize("tool", TOOLS)
def test_a_file_that_is_not_there_is_named(tool, tmp_path):
    done = run(*tool, tmp_path / "none.json")
    assert done.returncode == 2 and "none.json: No such file" in done.stderr


def test_a_result_becomes_rows(stored):
    done = run("rows", "zen5", stored)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "| zen5 | 2026-11-23 | 0123abc | swin_t batch=1 | bf16 | 2 | 20.000 | 80.5 | openvino 0.6250, torch 2.5000 |",
        "| zen5 | 2026-11-23 | 0123abc | lm attention=performer length=4096 batch=1 | bf16 | 2 | 40.000 | 75.2 | - |",
    ]


def test_the_page_of_results_has_such_rows():
    heading = re.search('^HEAD = "(.*)"$', (SOURCE / "tools/bench/rows").read_text(), re.MULTILINE)[1]
    kept = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    assert kept[0] == heading
    peer = r"\w+ \d+\.\d{4}"
    form = rf"\| \w+ \| [\d-]{{10}} \| \w{{7}}(-dirty)? \| \w+( \w+=\w+)+ \| (f32|bf16) \| \d \| [\d.]+ \| [\d.]+ \| ({peer}(, {peer})*|-) \|"
    assert len(kept) > 100 and [line for line in kept[1:] if not re.fullmatch(form, line)] == []
