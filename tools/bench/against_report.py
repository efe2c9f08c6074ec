# ===- against_report.py - What differs from another commit ------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Writes a comparison with another commit for people and for programs."""

import json
from collections import Counter

from machinecode import DIFFERS, ONLY_BEFORE, ONLY_NOW, SAME

HOW_TO_READ = (
    "`now / before` is the ratio of the medians over all rounds, and `rounds` that of "
    "single rounds, without the tenth at either end. `identical` and `within` compare two "
    "files with the same bytes, those of the program before, which take turns with the "
    "others: the ratio of their medians, and the factor that nine of ten rounds keep to."
)

CODE_HEADINGS = "| kernel | bytes before | bytes now | machine code |\n|---|---|---|---|"
COST_HEADINGS = "| | before | now | now / before |\n|---|---|---|---|"
TIME_HEADINGS = (
    "| what | before ms | now ms | now / before | rounds | identical | within "
    "| verdict |\n|---|---|---|---|---|---|---|---|"
)
SUMMARY_HEADINGS = (
    "| program | same | differ | only before | only now | code size | time | verdict |\n"
    "|---|---|---|---|---|---|---|---|"
)


def line(*cells):
    return f"| {' | '.join(map(str, cells))} |"


def factor(pair):
    return pair["now"] / pair["before"]


def code_table(entry):
    rows = [CODE_HEADINGS]
    for row in entry["kernels"]:
        sizes = [row["bytes_before"], row["bytes_now"]]
        shown = ["-" if size is None else size for size in sizes]
        rows.append(line(row["kernel"], *shown, row["machine_code"]))
    return "\n".join(rows)


def cost_table(entry):
    rows = [COST_HEADINGS]
    for what, key, digits in (
        ("compiling, s", "seconds", 2),
        ("compiling, MiB", "peak_mib", 0),
    ):
        pair = {name: cost[key] for name, cost in entry["compile"].items()}
        shown = [f"{pair[name]:.{digits}f}" for name in ("before", "now")]
        rows.append(line(what, *shown, f"{factor(pair):.3f}"))
    size = entry["code_bytes"]
    rows.append(line("code, bytes", size["before"], size["now"], f"{factor(size):.3f}"))
    return "\n".join(rows)


def time_table(entry):
    rows = [TIME_HEADINGS]
    for row in entry["timings"]:
        low, high = row["round_ratios"]
        rows.append(
            line(
                f"kernel {row['path']}" if row["path"] else "whole program",
                f"{row['before_ms']:.4g}",
                f"{row['now_ms']:.4g}",
                f"{row['ratio']:.3f}",
                f"{low:.3f} to {high:.3f}",
                f"{row['identical_ratio']:.3f}",
                f"{row['identical_spread']:.3f}",
                row["verdict"],
            )
        )
    return "\n".join(rows)


def program_text(entry):
    parts = [f"## {entry['label']}", code_table(entry), cost_table(entry)]
    if entry["timings"]:
        parts.append(time_table(entry))
    return "\n\n".join(parts)


def summary_row(entry):
    """One program; its time is that of the whole program."""
    states = Counter(row["machine_code"] for row in entry["kernels"])
    counts = [states[state] for state in (SAME, DIFFERS, ONLY_BEFORE, ONLY_NOW)]
    size = f"{factor(entry['code_bytes']):.3f}"
    if not entry["timings"]:
        return line(entry["label"], *counts, size, "-", "not timed")
    whole = entry["timings"][0]
    return line(entry["label"], *counts, size, f"{whole['ratio']:.3f}", whole["verdict"])


def conclusion(programs):
    kernels = sum(len(entry["kernels"]) for entry in programs)
    changed = sum(bool(entry["timings"]) for entry in programs)
    if not changed:
        return (
            f"The machine code of all {kernels} kernels of {len(programs)} programs is "
            "the same, so nothing was timed."
        )
    return (
        "Programs with kernels whose machine code is not the same: "
        f"{changed} of {len(programs)}. {HOW_TO_READ}"
    )


def table(results):
    machine, before = results["machine"], results["before"]
    head = (
        f"# Working tree against {before['sha']}, {results['date']}\n\n"
        f"Before: commit {before['sha']}, \"{before['subject']}\". Now: the working tree "
        f"({results['now']}), with the changes that are not committed.\n\n"
        f"{machine['processor']} ({', '.join(machine['features'])}), cores "
        f"{machine['cores_used']} of {machine['processors']}, load "
        f"{machine['load_at_start']:.1f} at the start; level {results['march']}, "
        f"{results['rounds']} rounds."
    )
    programs = results["programs"]
    summary = "\n".join([SUMMARY_HEADINGS, *map(summary_row, programs)])
    parts = [head, conclusion(programs), summary, *map(program_text, programs)]
    return "\n\n".join(parts) + "\n"


def write_report(results, folder, stem):
    """Writes STEM.json and STEM.md; returns the table."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(results, indent=1, allow_nan=False)
    (folder / f"{stem}.json").write_text(text + "\n")
    said = table(results)
    (folder / f"{stem}.md").write_text(said)
    return said
