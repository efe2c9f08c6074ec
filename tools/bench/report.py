# ===- report.py - Table, JSON and plot --------------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Writes the results of a benchmark for people and for programs."""

import json

from comparisons import compare

COLOURS = {
    "hova": "#1b3a6b",
    "openvino": "#5b9bd5",
    "onnxruntime": "#8fbf8f",
    "inductor": "#e0a458",
    "torch": "#c98b8b",
    "jax": "#a89bc8",
}

HEADINGS = (
    "| contestant | median ms | p90 ms | time / hova | % of peak | error "
    "| prepare s | first result s | prepare MiB | run MiB |\n"
    "|---|---|---|---|---|---|---|---|---|---|"
)


def number(value, digits=1):
    return "-" if value is None else f"{value:.{digits}f}"


def row_text(row, hova_ms):
    facts = [number(row.get("prepare_s"), 2), number(row.get("first_result_s"), 3)]
    facts += [number(row.get("prepare_mib"), 0), number(row.get("run_mib"), 0)]
    if row["status"] == "failed":
        cells = [row["reason"].replace("|", "/"), "-", "-", "-", "-"]
    else:
        cells = [
            number(row["median_ms"], 3),
            number(row["p90_ms"], 3),
            number(row["median_ms"] / hova_ms, 3),
            number(row["percent_of_peak"]),
            f"{row['max_abs_error']:.1e}" if row["max_abs_error"] else "-",
        ]
    name = f"{row['name']} {row['version']}".strip()
    return f"| {' | '.join([name, *cells, *facts])} |"


def case_text(entry):
    hova = entry["contestants"][0]
    executed, dense = entry["flops_executed"] * 1e-9, entry["flops"] * 1e-9
    sizes = hova["program_bytes"], hova["program_bytes_without_weights"]
    limit = entry["limit"]
    names = {"fma": "FMA peak", "bf16_dot": "peak of the bf16 dot product"}
    lines = [
        f"## {entry['label']}, {entry['dtype']}, {entry['threads']} threads",
        "",
        f"{dense:.3f} GFLOP of the description, {executed:.3f} executed by hova at level "
        f"{hova['level']}; {names[limit]} {entry['peak_gflops'][limit]:.1f} GFLOP/s, FMA "
        f"{entry['peak_gflops']['fma_sustained']:.1f} sustained over 50 ms; program "
        f"{sizes[0] / 1e6:.2f} MB, {sizes[1] / 1e3:.0f} kB without its weights.",
    ]
    if "best_peer" in entry:
        lines[-1] += (
            f" The best peer, {entry['best_peer']}, takes "
            f"{entry['ratio_to_best_peer']:.3f} times as long as hova."
        )
    lines += ["", HEADINGS]
    lines += [row_text(row, hova["median_ms"]) for row in entry["contestants"]]
    return "\n".join(lines)


def table(results):
    """The report; what is compared joins the results too."""
    machine = results["machine"]
    head = [
        f"# Benchmark of {results['commit']}, {results['date']}",
        "",
        f"{machine['processor']} ({', '.join(machine['features'])}), cores "
        f"{machine['cores_used']} of {machine['processors']}, {machine['memory_gib']} GiB, "
        f"Linux {machine['kernel']}, load {machine['load_at_start']:.1f} at the start. "
        f"{results['rounds']} interleaved rounds, about {results['seconds']} s for each "
        "contestant and case.",
        "",
        "`prepare` is the time from the weights' file to the first result (hova: the time "
        "to compile a program), `first result` the time from the start of the process.",
    ]
    parts = ["\n".join(head), *map(case_text, results["cases"]), *compare(results)]
    return "\n\n".join(parts) + "\n"


def plot(results, stem):
    """Percent of the peak by case; returns without a file if there is no peer."""
    cases = [entry for entry in results["cases"] if "best_peer" in entry]
    if not cases:
        return
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "hova"
    from matplotlib import pyplot

    names = [name for name in COLOURS if any(name in timed(e) for e in cases)]
    size = (2 + 1.5 * len(cases), 5)
    figure, axes = pyplot.subplots(figsize=size, layout="constrained")
    width = 0.85 / len(names)
    for index, name in enumerate(names):
        places = [i + (index - (len(names) - 1) / 2) * width for i in range(len(cases))]
        heights = [timed(entry).get(name, 0) for entry in cases]
        axes.bar(places, heights, width, label=name, color=COLOURS[name])
    for place, entry in enumerate(cases):
        ratio = entry["ratio_to_best_peer"]
        axes.annotate(f"{ratio:.2f}x", (place, 101), ha="center", fontsize=9)
    axes.axhline(100, color="black", linewidth=0.8)
    labels = [entry["label"].replace(" ", "\n") for entry in cases]
    axes.set_xticks(range(len(cases)), labels, fontsize=8)
    # A processor may have faster ways than the instruction that is the limit.
    axes.set_ylim(0, max(110, *(max(timed(entry).values()) * 1.05 for entry in cases)))
    instruction = {"fma": "FMA", "bf16_dot": "bf16 dot product"}[cases[0]["limit"]]
    axes.set_ylabel(f"percent of the measured {instruction} peak")
    axes.set_title(
        f"hova {results['commit']}: {cases[0]['dtype']}, {cases[0]['threads']} threads, "
        f"{results['machine']['processor']}\n"
        "above: time of the best peer / time of hova",
        fontsize=10,
    )
    figure.legend(ncols=len(names), fontsize=8, loc="outside lower center")
    figure.savefig(f"{stem}.svg", metadata={"Date": None})


def timed(entry):
    rows = entry["contestants"]
    return {r["name"]: r["percent_of_peak"] for r in rows if r["status"] == "timed"}


def write_report(results, folder, stem):
    """Writes STEM.json, STEM.md and, with peers, the plot; returns the table."""
    folder.mkdir(parents=True, exist_ok=True)
    said = table(results)
    text = json.dumps(results, indent=1, allow_nan=False)
    (folder / f"{stem}.json").write_text(text + "\n")
    (folder / f"{stem}.md").write_text(said)
    plot(results, folder / stem)
    return said
