# ===- arguments.py - The options of ./dev bench -------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""What the command lines of bench.py, against.py, scores.py, layers.py and lengths.py may say.

Run as a program, it prints the help of what follows, with nothing but Python: `./dev bench --help` answers
before anything is built or installed.
"""

import argparse
import os
import sys
from pathlib import Path

from suites import BATCHES, SUITES

PEERS = ("openvino", "onnxruntime", "inductor", "zentorch", "torch", "jax")
DTYPES = ("f32", "bf16", "f16")

# The attentions of scores.py, and the layers of layers.py.
HEADS, HEAD_WIDTH = 12, 64
TOKENS, LONG = 512, 4096
WINDOW = 256
LAYER_TOKENS = (128, 512)
# The items and tokens of lengths.py, and the largest that its program is for.
SIZES = [(1, 1), (1, 7), (1, 16), (1, 64), (1, 100), (1, 128), (1, 256), (1, 512), (8, 7), (8, 64), (8, 128)]
MOST_SIZES = (32, 512)


def cpus():
    return sorted(os.sched_getaffinity(0))


def count_between(least, most):
    """What reads such a number from the command line."""

    def read(word):
        if not word.isdecimal() or not least <= int(word) <= most:
            raise argparse.ArgumentTypeError(f"expects a number from {least} to {most}, got '{word}'")
        return int(word)

    return read


def names_of(known):
    """A reader of names, separated by commas, that are all known."""

    def read(text):
        names = text.split(",")
        for name in names:
            if name not in known:
                raise argparse.ArgumentTypeError(
                    f"'{name}' is none of {', '.join(sorted(known))}"
                )
        return names

    return read


def _add_set(parser, what):
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help=f"override a parameter of the {what}; repeatable",
    )


def _add_threads(parser):
    processors = len(cpus())
    parser.add_argument(
        "--threads",
        type=count_between(1, processors),
        default=processors,
        metavar="N",
        help="threads, each on a core of its own (default: all, here %(default)s)",
    )


def of_peers():
    """The command as such: hova beside its peers."""
    parser = argparse.ArgumentParser(
        prog="./dev bench",
        description="Time hova's program and its peers on the same weights and inputs.",
        epilog="With --against COMMIT, the kernels of the working tree are compared with "
        "those of that commit instead: ./dev bench --against COMMIT --help. With --scores, "
        "attentions with scores of their own are timed, with --layers rotations and norms, "
        "and with --lengths one program for every length: ./dev bench --lengths --help.",
    )
    parser.add_argument(
        "model", nargs="?", type=Path, help="a description; default: the suite dense"
    )
    parser.add_argument(
        "--suite",
        type=names_of(SUITES),
        default=[],
        metavar="NAMES",
        help=f"comma separated, of {', '.join(SUITES)} (docs/bench/README.md)",
    )
    known = {model for suite in SUITES.values() for model, _ in suite}
    parser.add_argument(
        "--models",
        type=names_of(known),
        default=[],
        metavar="NAMES",
        help="comma separated: only their cases, of all suites but growth unless --suite "
        "says of which",
    )
    _add_set(parser, "description")
    _add_threads(parser)
    parser.add_argument(
        "--dtype",
        choices=DTYPES,
        default="f32",
        help="inputs of matrix products (default: %(default)s)",
    )
    parser.add_argument(
        "--peers",
        default=",".join(PEERS),
        help="comma separated, or none (default: %(default)s)",
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=1.5,
        help="measured seconds for each contestant and model (default: %(default)s)",
    )
    parser.add_argument(
        "--quick", action="store_true", help="two small models, half a second each"
    )
    parser.add_argument(
        "--odd", action="store_true", help="an encoder of odd shapes instead"
    )
    parser.add_argument(
        "--batch", type=int, choices=BATCHES, help="only this batch of the suites"
    )
    parser.add_argument(
        "--out", type=Path, help="folder of the results (default: printed)"
    )
    return parser


def of_another_commit():
    """With --against: hova beside itself."""
    parser = argparse.ArgumentParser(
        prog="./dev bench",
        description="Compare the machine code of every kernel with that of another "
        "commit's compiler, and time the programs and kernels that differ.",
    )
    parser.add_argument(
        "--against", required=True, metavar="COMMIT", help="what to compare with"
    )
    parser.add_argument(
        "models",
        nargs="*",
        type=Path,
        metavar="MODEL.json",
        help="descriptions; default: the suite of ./dev bench",
    )
    _add_set(parser, "descriptions")
    parser.add_argument(
        "--dtype",
        choices=DTYPES,
        help="inputs of matrix products (default: f32, then bf16)",
    )
    parser.add_argument(
        "--march", metavar="LEVEL,...", help="ISA levels, as hova compile has them"
    )
    _add_threads(parser)
    parser.add_argument(
        "--rounds",
        type=count_between(3, 1000),
        default=15,
        metavar="N",
        help="turns of a program or kernel that differs (default: %(default)s)",
    )
    parser.add_argument(
        "--out",
        type=Path,
        help="folder of the report (default: build/bench/results)",
    )
    return parser


def _of_programs(flag, description):
    """Programs of hova beside each other, without peers."""
    parser = argparse.ArgumentParser(prog="./dev bench", description=description)
    parser.add_argument(flag, action="store_true", help="what this is")
    parser.add_argument(
        "--dtype", choices=DTYPES, default="f32", help="default: %(default)s"
    )
    parser.add_argument(
        "--threads",
        type=count_between(1, len(cpus())),
        default=1,
        metavar="N",
        help="threads, each on a core of its own (default: %(default)s)",
    )
    parser.add_argument(
        "--rounds",
        type=count_between(1, 1000),
        default=9,
        metavar="N",
        help="turns of each program (default: %(default)s)",
    )
    parser.add_argument("--out", type=Path, help="folder of the JSON (default: none)")
    return parser


def of_scores():
    """With --scores: attentions beside each other."""
    return _of_programs(
        "--scores",
        "Time attentions with scores of their own beside the plain one: "
        f"{TOKENS} keys, {HEADS} heads of {HEAD_WIDTH}, and a window of {WINDOW} "
        f"over {LONG}.",
    )


def of_layers():
    """With --layers: layers beside each other."""
    tokens = " and ".join(map(str, LAYER_TOKENS))
    return _of_programs(
        "--layers",
        "Time an attention layer with rotary positions beside one without, and a "
        "feed-forward layer behind an RMS norm beside one behind a layer norm: "
        f"{tokens} tokens, {HEADS} heads of {HEAD_WIDTH}.",
    )


def of_lengths():
    """With --lengths: one program for every length beside those of one."""
    items, length = MOST_SIZES
    return _of_programs(
        "--lengths",
        f"Time MiniLM for 1 to {items} items of 1 to {length} tokens beside the programs "
        "of one size each.",
    )


OF_PROGRAMS = {"--scores": of_scores, "--layers": of_layers, "--lengths": of_lengths}


def main(words):
    chosen = of_peers
    for word in words:
        if word.split("=")[0] == "--against":
            chosen = of_another_commit
        chosen = OF_PROGRAMS.get(word, chosen)
    chosen().print_help()


if __name__ == "__main__":
    main(sys.argv[1:])
