# ===- report.py - Table and JSON --------------------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Writes the results of a benchmark for people and for programs."""

import json

from comparisons import compare

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


def write_report(results, folder, stem):
    """Writes STEM.json and STEM.md; returns the table. `plot` draws the JSON."""
    folder.mkdir(parents=True, exist_ok=True)
    said = table(results)
    text = json.dumps(results, indent=1, allow_nan=False)
    (folder / f"{stem}.json").write_text(text + "\n")
    (folder / f"{stem}.md").write_text(said)
    return said
