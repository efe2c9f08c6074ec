# ===- comparisons.py - Cases beside each other ------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""What horizontal and vertical attention cost, and how time grows with the length.

Both compare two cases of one run whose settings differ in nothing else.
"""


def without(settings, names):
    return tuple(s for s in settings if s.partition("=")[0] not in names)


def setting(entry, name):
    for text in entry["settings"]:
        if text.startswith(f"{name}="):
            return text.partition("=")[2]
    return None


def pairs(cases, names, first):
    """(case, other): the case that `first` accepts, and each that differs in `names`."""
    for case in filter(first, cases):
        for other in cases:
            same = all(case[key] == other[key] for key in ("model", "dtype", "threads"))
            if other is case or not same:
                continue
            if without(case["settings"], names) == without(other["settings"], names):
                yield case, other


def timed(entry):
    return {r["name"]: r for r in entry["contestants"] if r["status"] == "timed"}


def both_timed(case, other):
    """(name, row of the case, row of the other) of those that ran both."""
    rows = timed(other)
    return [(name, row, rows[name]) for name, row in timed(case).items() if name in rows]


def variants(cases):
    """Rows of what the two extensions cost, in time and in operations."""
    names = ("horizontal", "vertical")
    found = []

    def is_plain(case):
        return not any(setting(case, name) for name in names)

    for plain, variant in pairs(cases, names, is_plain):
        flops = variant["flops"] / plain["flops"]
        for name, before, after in both_timed(plain, variant):
            time = after["median_ms"] / before["median_ms"]
            found.append(
                {"label": variant["label"], "contestant": name, "time": time}
                | {"flops": flops, "time_over_flops": time / flops}
            )
    return found


def memory_of(row):
    """What a run holds: hova's buffers, and all that is resident of a peer's process."""
    return row.get("arena_bytes", row["run_mib"] * 2**20)


def growth(cases):
    """Rows of how time and memory grow from a length to each longer one."""
    found = []
    for short, long in pairs(cases, ("length",), lambda c: setting(c, "length")):
        lengths = int(setting(short, "length")), int(setting(long, "length") or 0)
        if lengths[0] >= lengths[1]:
            continue
        for name, before, after in both_timed(short, long):
            found.append(
                {
                    "label": short["label"],
                    "contestant": name,
                    "lengths": lengths,
                    "tokens": lengths[1] / lengths[0],
                    "time": after["median_ms"] / before["median_ms"],
                    "memory": memory_of(after) / memory_of(before),
                }
            )
    return found


def variants_text(rows):
    lines = [
        "## Horizontal and vertical attention",
        "",
        "Each variant beside the same model without it, in this run.",
        "",
        "| variant | contestant | time / plain | operations / plain | quotient |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        figures = (row["time"], row["flops"], row["time_over_flops"])
        cells = [row["label"], row["contestant"], *(f"{x:.3f}" for x in figures)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def growth_text(rows):
    lines = [
        "## Growth with the length",
        "",
        "Memory is the buffers of hova's program, without its weights, and the largest "
        "resident memory of a peer's process.",
        "",
        "| case | contestant | tokens | times tokens | times time | times memory |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        first, second = row["lengths"]
        figures = (row["tokens"], row["time"], row["memory"])
        cells = [row["label"], row["contestant"], f"{first} to {second}"]
        lines.append(f"| {' | '.join([*cells, *(f'{x:.2f}' for x in figures)])} |")
    return "\n".join(lines)


def compare(results):
    """Adds the comparisons that the cases allow to the results; returns their text."""
    texts = []
    for name, find, say in (
        ("variants", variants, variants_text),
        ("growth", growth, growth_text),
    ):
        rows = find(results["cases"])
        if rows:
            results[name] = rows
            texts.append(say(rows))
    return texts
