# ===- spans.py - Each launch of a model, beside its graph -------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""How long each launch takes between events of the device, as a program's own trace says it, beside a run as one graph. What the graph
takes besides is no kernel's."""

import json
import subprocess
from statistics import median


def traced(words, file, warmup):
    """The launches of one run, in order: the path in the description, and microseconds."""
    subprocess.run([*words, "--benchmark", "--warmup", str(warmup), "--repetitions", "1", "--trace", str(file)], check=True, capture_output=True)
    events = json.loads(file.read_text(encoding="utf-8"))["traceEvents"]
    return [(event["name"], event["dur"]) for event in events if event["ph"] == "X" and event["tid"] == 0]


def measure(bench, item):
    """Medians of each launch; the sum; and a benchmark of whole runs, with their copies from and to the host."""
    words = [str(bench.file(item["program"])), "--weights", str(bench.file(item["image"])), "--random-inputs", "0"]
    file = bench.folder / "trace.json"
    counts = bench.list["counts"]
    runs = [traced(words, file, counts["warmup"]) for _ in range(counts["traces"])]
    names = [name for name, _ in runs[0]]
    spans = [median(run[i][1] for run in runs) for i in range(len(names))]
    described = json.loads(subprocess.run([*words[:1], "--describe", "--format=json"], check=True, capture_output=True, text=True).stdout)
    return {"launches": len(names), "sum_us": sum(spans), "spans": [[name, round(us, 2)] for name, us in zip(names, spans)],
            "level": item["level"], "arch": described.get("arch")}
