# ===- programs.py - Run compiled programs and read what they measure --------=== #
# SPDX-License-Identifier: Apache-2.0
"""Programs on random inputs: the latency of a run, of one kernel, and a trace.

Nothing but Python's own library is imported, so that tools/bench/kernels runs anywhere.
"""

import json
import subprocess
from functools import partial
from pathlib import Path

TURN_MS = 50  # a turn repeats for about so long, and once at least
MOST_REPETITIONS = 1000


class BenchError(Exception):
    """What a user reads when a benchmark cannot go on."""


def call(command):
    """Standard output of a command that must succeed."""
    command = [str(part) for part in command]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BenchError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def pinned(cpus, command):
    return ["taskset", "-c", ",".join(map(str, cpus)), *map(str, command)]


def run(program, cpus, *options):
    """Some runs on random inputs, on as many threads as `cpus`."""
    command = [Path(program).resolve(), "--threads", len(cpus), "--random-inputs", 0]
    call(pinned(cpus, [*command, "--benchmark", *options]))


def trace(program, cpus, folder, *options):
    """The kernels of one run, after two to warm up: complete events of the trace.

    A kernel takes until all threads have met after it.
    """
    file = Path(folder) / "trace.json"
    run(program, cpus, "--warmup", 2, "--repetitions", 1, "--trace", file, *options)
    events = json.loads(file.read_text())["traceEvents"]
    kernels = [event for event in events if event["ph"] == "X" and event["tid"] == 0]
    return [{**event, "dur": event["args"]["kernel_us"]} for event in kernels]


def latency(program, cpus, folder, *options):
    """The median of some runs, in milliseconds; of a kernel with --kernel PATH."""
    file = Path(folder) / "latency.json"
    run(program, cpus, "--benchmark-out", file, *options)
    return json.loads(file.read_text())["latency_ms"]["median"]


def turn(program, cpus, folder, once, *what):
    """A call for the latency of `what`, as often as fits a turn where it takes `once`."""
    count = max(1, min(MOST_REPETITIONS, round(TURN_MS / once)))
    repeated = ["--warmup", max(1, count // 5), "--repetitions", count, *what]
    return partial(latency, program, cpus, folder, *repeated)
