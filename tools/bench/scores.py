# ===- scores.py - What a written score takes --------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Times attentions with a score or a `keep` of their own beside the plain one.

`./dev bench --scores` calls it. The time is that of the attention's kernel, without the
conversion of its operands, for each multiply-add that it executes: a window leaves most
keys out, and is compared with a plain attention that executes about as many.
"""

import json
import sys
from dataclasses import dataclass
from statistics import median

import arguments
import beside
from arguments import HEAD_WIDTH, HEADS, LONG, TOKENS, WINDOW
from pairs import in_turns
from programs import latency, turn

KERNEL = ["--kernel", "attn"]


@dataclass(frozen=True)
class Score:
    """An attention: its keys of a description, its tokens, and what it is compared with."""

    name: str
    layer: dict
    tokens: int = TOKENS
    beside: str = "plain"


SCORES = [
    Score("plain", {}),
    Score("slopes", {"score": "score - slope[head] * (query - key)"}),
    Score(
        "alibi",
        {"score": "score - exp(-8 * log(2) * (head + 1) / heads) * (query - key)"},
    ),
    Score("soft cap", {"score": "20 * tanh(score / 20)"}),
    # Four queries of a window see as many keys as one of 1024 does.
    Score("plain, 1024 tokens", {}, LONG // 4),
    Score(
        "window, 4096 tokens",
        {"keep": f"key <= query and query - key < {WINDOW}"},
        LONG,
        "plain, 1024 tokens",
    ),
]


def description_of(score):
    """Queries, keys and values are inputs, so that there is no other product."""
    shape = [1, score.tokens, HEADS * HEAD_WIDTH]
    inputs = {name: {"shape": shape} for name in ("query", "key", "value")}
    if "slope" in score.layer.get("score", ""):
        inputs["slope"] = {"shape": [HEADS]}
    operands = {name: name for name in ("query", "key", "value")}
    layer = {"name": "attn", "op": "attention", **operands, "heads": HEADS}
    return {
        "hova": 1,
        "name": "scores",
        "inputs": inputs,
        "layers": [{**layer, **score.layer}],
        "outputs": {"y": "attn"},
    }


def compile_score(score, dtype, folder):
    """Its program, in a folder of its own."""
    return beside.compile_description(description_of(score), folder, f"--dtype={dtype}")


def time_scores(options, folder):
    """Of each score, by name: milliseconds of every round, and executed operations."""
    turns, operations = {}, {}
    for number, score in enumerate(SCORES):
        place = folder / str(number)
        program = compile_score(score, options.dtype, place)
        few = ["--warmup", 1, "--repetitions", 3, *KERNEL]
        once = latency(program, options.cpus, place, *few)
        measured = json.loads((place / "latency.json").read_text())
        operations[score.name] = measured["flops_executed"]
        turns[score.name] = turn(program, options.cpus, place, once, *KERNEL)
    return in_turns(turns, options.rounds), operations


def rows_of(times, operations):
    """A row for each score: its median, and the ratio to what it is compared with."""
    per_operation = {
        name: median(seconds) / operations[name] for name, seconds in times.items()
    }
    return [
        {
            "score": score.name,
            "ms": median(times[score.name]),
            "operations": operations[score.name],
            "beside": score.beside,
            "ratio": per_operation[score.name] / per_operation[score.beside],
            "rounds_ms": times[score.name],
        }
        for score in SCORES
    ]


def table_of(rows):
    lines = ["| score | ms | GFLOP | beside | ratio |", "|---|---|---|---|---|"]
    for row in rows:
        cells = [row["score"], f"{row['ms']:.2f}", f"{row['operations'] / 1e9:.2f}"]
        is_plain = row["score"].startswith("plain")
        cells += ["", ""] if is_plain else [row["beside"], f"{row['ratio']:.2f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def measure(options, folder):
    return rows_of(*time_scores(options, folder))


if __name__ == "__main__":
    sys.exit(beside.run("scores", arguments.of_scores(), measure, table_of))
