# ===- tables.py - Results of a GPU as tables --------------------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Prints what measure.py has written as tables in Markdown: python3 tables.py RESULTS/results.jsonl

Nothing is left out: what failed, what was wrong and what was not measured are rows of their own. Ratios of models are a peer's time
over hova's."""

import json
import sys
from pathlib import Path


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(str(cell) for cell in line)} |" for line in lines) if rows else "nothing"


def number(value):
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def loads(rows):
    return table(["program", "unpacked, s", "context made, s"], [[row["item"], row["unpack_s"], row["create_s"]] for row in rows])


def bits(rows):
    plain = [row for row in rows if "sums" not in row]
    equal = sum("equal" in row for row in plain)
    other = [[row["item"], row["nearest"], row["words"], row["first"]] for row in plain if "nearest" in row]
    parts = [f"{equal} of {len(plain)} launches leave the bits of the emulation."]
    if other:
        parts.append(table(["launch", "nearest way of adding", "words that differ", "the first"], other))
    for row in (row for row in rows if "sums" in row):
        parts.append(f"{row['item']}: of {row['cases']} sums " + ", ".join(f"{count} are as {way}" for way, count in row["equal"].items()) + ".")
        unlike = [case for case in row["sums"] if case[1] not in case[2:] or len(set(case[2:])) > 1]
        parts.append(table(["sum", "device", *row["ways"]], unlike))
    return "\n\n".join(parts)


def kernel_numbers(rows):
    listed = [[row["item"], number(row["error"]), number(row["limit"]), ", ".join(row.get("equal", [])) or "-"] for row in rows]
    return table(["kernel or model", "largest error", "limit", "ways of adding with these bits"], listed)


def decides(rows):
    listed = []
    for row in rows:
        for name, value in (row.get("us") or row["gb_per_s"]).items():
            listed.append([row["item"], name, number(value), "us a launch" if "us" in row else "GB/s a multiprocessor"])
    return table(["chain or copies", "of which", "", "unit"], listed)


def tiles(rows):
    listed = []
    for row in rows:
        peer, ours = row["us"].get("PyTorch"), {name: us for name, us in row["us"].items() if name != "PyTorch"}
        best = min(ours, key=ours.get, default="-")
        listed.append([row["item"], f"{peer:.2f}" if peer is not None else f"none: {row['without_peer']}", best, f"{ours[best]:.2f}" if ours else "-", " ".join(f"{n} {us:.2f}" for n, us in ours.items())])
    return table(["product or attention", "PyTorch, us", "best tile", "us", "all"], listed)


def models(rows):
    listed = []
    for row in rows:
        timed = [c for c in row["contestants"] if "median_ms" in c]
        ours = min((c["median_ms"] for c in timed if c["name"].startswith("hova")), default=None)
        for c in row["contestants"]:
            if "failed" in c:
                listed.append([row["item"], c["name"], f"failed: {c['failed']}", "", ""])
                continue
            ratio = "" if ours is None or c["name"].startswith("hova") else f"{c['median_ms'] / ours:.2f}"
            listed.append([row["item"], c["name"], f"{c['median_ms']:.3f}", ratio, number(c.get("error", "-"))])
        if "without_peers" in row:
            listed.append([row["item"], "PyTorch", f"none: {row['without_peers']}", "", ""])
    return table(["model", "who", "ms", "over hova's best", "largest error"], listed)


def spans(rows, graphs):
    parts = []
    for row in rows:
        graph = graphs.get((row["item"], f"hova {row['level']}"))
        said = f"{row['item']}: {row['launches']} launches, {row['sum_us']:.0f} us between events"
        parts.append(said + (f"; as one graph {1e3 * graph:.0f} us" if graph else "") + ".")
        longest = sorted(row["spans"], key=lambda span: -span[1])[:12]
        parts.append(table(["launch", "us"], longest))
    return "\n\n".join(parts) or "nothing"


def machine(rows):
    return table(["what", ""], [[name, json.dumps(value) if isinstance(value, dict) else value] for row in rows for name, value in row.items() if name not in ("part", "item")])


WRITERS = {"machine": machine, "load": loads, "bits": bits, "kernels": kernel_numbers, "decides": decides, "tiles": tiles, "models": models, "compiled": models}


def tables(path):
    """All parts of a file of results."""
    lines = Path(path).read_text(encoding="utf-8").split("\n")[:-1]
    # What another call has measured stands in the place of what was left out.
    rows = list({(row["part"], row["item"]): row for row in map(json.loads, lines)}.values())
    graphs = {(row["item"], c["name"]): c["median_ms"] for row in rows if row["part"] == "models" for c in row.get("contestants", []) if "median_ms" in c}
    text = ["# What the GPU said"]
    for part in dict.fromkeys(row["part"] for row in rows):
        mine = [row for row in rows if row["part"] == part]
        good = [row for row in mine if "failed" not in row and "left_out" not in row]
        text += [f"## {part}", spans(good, graphs) if part == "spans" else WRITERS[part](good)]
        bad = [[row["item"], kind, json.dumps(row[kind])] for row in mine for kind in ("failed", "wrong", "refused", "left_out") if kind in row]
        if bad:
            text.append(table(["item", "how", "why"], bad))
    return "\n\n".join(text) + "\n"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(tables(sys.argv[1]))
