# ===- lengths.py - One program for every length beside fixed ones -------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Times MiniLM for a range of items and tokens beside the programs of one size each.

`./dev bench --lengths` calls it.
"""

import sys
from statistics import median

import arguments
import beside
from arguments import MOST_SIZES, SIZES
from bench import BUILD, SOURCE
from pairs import in_turns
from programs import call, latency, turn

MODEL = SOURCE / "examples/models/minilm_l6.json"


def compile_model(options, program, items, length):
    sizes = [f"--set=batch={items}", f"--set=length={length}"]
    words = [f"--dtype={options.dtype}", "--init=0", *sizes]
    call([BUILD / "bin/hova", "compile", MODEL, *words, "-o", program])
    return program


def time_sizes(options, folder):
    """Of each size, and of the program of ranges and of that size alone: milliseconds of every
    round."""
    items, length = MOST_SIZES
    ranged = compile_model(options, folder / "ranged", f"1..{items}", f"1..{length}")
    times = {}
    for items, length in SIZES:
        place = folder / f"{items}x{length}"
        place.mkdir()
        fixed = compile_model(options, place / "fixed", items, length)
        given = ["--set", f"batch={items}", "--set", f"length={length}"]
        once = latency(fixed, options.cpus, place, "--warmup", 1, "--repetitions", 3)
        turns = {
            "ranged": turn(ranged, options.cpus, place, once, *given),
            "fixed": turn(fixed, options.cpus, place, once),
        }
        times[items, length] = in_turns(turns, options.rounds)
    return times


def rows_of(times):
    """A row for each size: the medians, and their ratio."""
    rows = []
    for (items, length), rounds in times.items():
        ranged, fixed = median(rounds["ranged"]), median(rounds["fixed"])
        size = {"items": items, "tokens": length}
        rows.append({**size, "ms": ranged, "fixed_ms": fixed, "ratio": ranged / fixed, "rounds_ms": rounds})
    return rows


def table_of(rows):
    lines = ["| items | tokens | ms | ms of its own program | ratio |", "|---|---|---|---|---|"]
    for row in rows:
        sizes = f"| {row['items']} | {row['tokens']} |"
        lines.append(f"{sizes} {row['ms']:.3f} | {row['fixed_ms']:.3f} | {row['ratio']:.3f} |")
    return "\n".join(lines)


def measure(options, folder):
    return rows_of(time_sizes(options, folder))


if __name__ == "__main__":
    sys.exit(beside.run("lengths", arguments.of_lengths(), measure, table_of))
