# ===- layers.py - What rotations and norms take ------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Times layers with rotary positions, and with norms of squares, beside the same without.

`./dev bench --layers` calls it. The time is that of the whole program: projections,
attention and residual, or norm and feed-forward layer.
"""

import sys
from dataclasses import dataclass, field
from statistics import median

import arguments
import beside
from arguments import HEAD_WIDTH, HEADS, LAYER_TOKENS
from pairs import in_turns
from programs import latency, turn

WIDTH = HEADS * HEAD_WIDTH
ANGLE = f"row * 10000 ** (-2 * column / {HEAD_WIDTH})"


@dataclass(frozen=True)
class Layer:
    """A layer behind a norm and before a residual: the keys that it has beside those of a
    plain one, and the name of that one, which is empty for itself."""

    name: str
    tokens: int
    layer: dict
    norm: dict = field(default_factory=dict)
    beside: str = ""
    rotates: bool = False


def attentions(tokens):
    plain = {"op": "multi_head_attention", "heads": HEADS}
    name = f"attention, {tokens} tokens"
    tables = {"cosines": "cosines", "sines": "sines"}
    return [
        Layer(name, tokens, plain),
        Layer(f"rotated, {tokens} tokens", tokens, plain | tables, {}, name, True),
    ]


def feed_forwards(tokens):
    plain = {"op": "feed_forward", "hidden": 4 * WIDTH}
    name = f"layer norm, {tokens} tokens"
    squares = {"center": False, "bias": False}
    return [
        Layer(name, tokens, plain),
        Layer(f"RMS norm, {tokens} tokens", tokens, plain, squares, name),
    ]


LAYERS = [
    layer
    for tokens in LAYER_TOKENS
    for layer in (*attentions(tokens), *feed_forwards(tokens))
]


def constant(name, function, tokens):
    return {
        "name": name,
        "op": "constant",
        "shape": [tokens, HEAD_WIDTH // 2],
        "value": f"{function}({ANGLE})",
    }


def description_of(layer):
    tables = [("cosines", "cos"), ("sines", "sin")] if layer.rotates else []
    return {
        "hova": 1,
        "name": "layers",
        "inputs": {"x": {"shape": [1, layer.tokens, WIDTH]}},
        "layers": [
            *(constant(*table, layer.tokens) for table in tables),
            {"name": "norm", "op": "layer_norm", "input": "x", **layer.norm},
            {"name": "layer", "input": "norm", **layer.layer},
            {"name": "sum", "op": "add", "inputs": ["x", "layer"]},
        ],
        "outputs": {"y": "sum"},
    }


def time_layers(options, folder):
    """Of each layer, by name: milliseconds of every round."""
    turns = {}
    for number, layer in enumerate(LAYERS):
        place = folder / str(number)
        words = [f"--dtype={options.dtype}", "--init=0"]
        program = beside.compile_description(description_of(layer), place, *words)
        once = latency(program, options.cpus, place, "--warmup", 1, "--repetitions", 3)
        turns[layer.name] = turn(program, options.cpus, place, once)
    return in_turns(turns, options.rounds)


def rows_of(times):
    """A row for each layer: its median, and the ratio to that of what it is beside."""
    medians = {name: median(rounds) for name, rounds in times.items()}
    return [
        {
            "layer": layer.name,
            "ms": medians[layer.name],
            "beside": layer.beside,
            "ratio": medians[layer.name] / medians[layer.beside or layer.name],
            "rounds_ms": times[layer.name],
        }
        for layer in LAYERS
    ]


def table_of(rows):
    lines = ["| layer | ms | beside | ratio |", "|---|---|---|---|"]
    for row in rows:
        ratio = f"{row['ratio']:.3f}" if row["beside"] else ""
        lines.append(f"| {row['layer']} | {row['ms']:.3f} | {row['beside']} | {ratio} |")
    return "\n".join(lines)


def measure(options, folder):
    return rows_of(time_layers(options, folder))


if __name__ == "__main__":
    sys.exit(beside.run("layers", arguments.of_layers(), measure, table_of))
