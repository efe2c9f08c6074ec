# ===- contest.py - The program and its peers, in turns ----------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Contestants of one case. Each runs in its own process, bound to the same cores.

A contestant is prepared once, then takes turns: some warm-up, some repetitions. Between
its turns it is stopped by a signal, so that threads which spin while they wait for work
do not slow down the others.
"""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from statistics import median

import numpy as np

from programs import BenchError, pinned

TOOLS = Path(__file__).resolve().parent

MOST_REPETITIONS = 1000  # of hova's program in a turn

# A contestant that takes longer than this to prepare is given up, in seconds.
PREPARE_LIMIT = 240

# How far outputs of two right programs may be apart, relative to the largest magnitude.
# With f32 that is the order of summation. Of the types of 16 bits programs round more or
# less, each by what one operation may err in that type.
TOLERANCES = {"f32": 1e-3, "bf16": 4e-2, "f16": 6e-3}


class Contestant:
    """What all have: a name, samples by round, or the reason why there are none."""

    def __init__(self, name, version=""):
        self.name, self.version = name, version
        self.reason = None
        self.rounds = []  # milliseconds
        self.error = None  # largest difference from hova's outputs
        self.facts = {}

    def turn(self, seconds):
        """Warms up, runs for about so long and remembers the samples.

        Who has failed takes no further turns.
        """
        if self.reason:
            return
        samples = self.run_turn(seconds)
        if samples:
            self.rounds.append(samples)

    def record(self):
        """The row of this contestant in the results."""
        row = {"name": self.name, "version": self.version, **self.facts}
        if self.reason:
            return {**row, "status": "failed", "reason": self.reason}
        samples = np.concatenate(self.rounds)
        return {
            **row,
            "status": "timed",
            "max_abs_error": self.error,
            "median_ms": float(np.median(samples)),
            "p90_ms": float(np.percentile(samples, 90)),
            "rounds_ms": [median(samples) for samples in self.rounds],
            "samples": len(samples),
        }


def launch(report, command):
    """Runs a command from a small process; returns its time and memory."""
    done = subprocess.run(
        [sys.executable, "-S", "-E", str(TOOLS / "launch.py"), str(report)]
        + [str(part) for part in command],
        capture_output=True,
        text=True,
        check=False,
    )
    measured = json.loads(report.read_text()) if done.returncode == 0 else None
    if measured is None or measured["status"] != 0:
        raise BenchError(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
    return measured


class Program(Contestant):
    """hova's program; each turn is a process."""

    def __init__(self, hova, case, cpus):
        version = subprocess.run(
            [hova, "--version"], capture_output=True, text=True, check=True
        ).stdout.splitlines()[0]
        super().__init__("hova", version.removeprefix("hova").strip())
        self.case, self.cpus = case, cpus
        self.program = case.folder / "program"
        self.hova = hova

    def prepare(self):
        """Compiles, runs once and keeps the outputs as out-hova/NAME.npy."""
        case, report = self.case, self.case.folder / "launch.json"
        command = [self.hova, "compile", *case.arguments, "--weights", case.weights]
        command.append(f"--dtype={case.dtype}")
        compiled = launch(report, pinned(self.cpus, [*command, "-o", self.program]))
        case.write_inputs(self.program)
        self.outputs = case.folder / "out-hova"
        self.outputs.mkdir(exist_ok=True)
        ran = launch(report, self.command("--output-dir", self.outputs))
        self.error = 0.0
        self.facts = {
            "prepare_s": compiled["seconds"],
            "prepare_mib": compiled["peak_mib"],
            "first_result_s": ran["seconds"],
            "run_mib": ran["peak_mib"],
            "program_bytes": self.program.stat().st_size,
        }
        self.benchmark(1, 1)

    def command(self, *arguments):
        command = [self.program, "--threads", len(self.cpus)]
        for value in self.case.summary["inputs"]:
            name = value["name"]
            command += ["--input", f"{name}={self.case.input_file(name)}"]
        return pinned(self.cpus, [*command, *arguments])

    def run_turn(self, seconds):
        run_ms = self.measured["latency_ms"]["median"]
        count = max(1, min(MOST_REPETITIONS, round(seconds * 1e3 / run_ms)))
        return self.benchmark(max(1, count // 5), count)

    def benchmark(self, warmup, repetitions):
        out = self.case.folder / "benchmark.json"
        options = ["--warmup", warmup, "--repetitions", repetitions]
        launch(
            self.case.folder / "launch.json",
            self.command("--benchmark", *options, "--benchmark-out", out),
        )
        self.measured = json.loads(out.read_text())
        return self.measured["samples_ms"]

    def record(self):
        row = super().record()
        row["program_bytes_without_weights"] = (
            row["program_bytes"] - self.measured["weight_bytes"]
        )
        row["arena_bytes"] = self.measured["arena_bytes"]
        row["scratch_bytes"] = self.measured["scratch_bytes"]
        row["level"] = self.measured["level"]
        return row

    def end(self):
        pass


class Peer(Contestant):
    """A framework in peer.py, stopped between its turns. `python` is the interpreter of the
    environment that it is installed in."""

    def __init__(self, name, case, cpus, job, python=sys.executable):
        super().__init__(name)
        self.case, self.cpus, self.job, self.python = case, cpus, job, python
        self.process = None
        if not Path(python).exists():
            self.reason = f"not installed: there is no {python}"

    def start(self):
        folder = self.case.folder / f"out-{self.name}"
        folder.mkdir(exist_ok=True)
        file = self.case.folder / f"{self.name}.json"
        file.write_text(json.dumps({**self.job, "folder": str(folder)}))
        self.log = self.case.folder / f"{self.name}.log"
        command = pinned(self.cpus, [self.python, TOOLS / "peer.py", file])
        threads = str(len(self.cpus))
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env={**os.environ, "OMP_NUM_THREADS": threads},
            )
        return folder

    def prepare(self, reference):
        """Starts and checks the outputs against hova's.

        Sets the reason where the framework fails or disagrees.
        """
        folder = self.start()
        signal.alarm(PREPARE_LIMIT)
        try:
            ready = self.answer()
        except TimeoutError:
            self.fail(f"not ready after {PREPARE_LIMIT} s")
            return
        finally:
            signal.alarm(0)
        if ready is None:
            self.fail(self.last_words())
            return
        self.version = ready.pop("version")
        self.facts = ready
        self.error, worst = difference(reference, folder, self.job["outputs"])
        if not worst <= TOLERANCES[self.case.dtype]:
            self.fail(
                f"its outputs differ from hova's by {self.error:.2g}, "
                f"{worst:.2g} of the largest value"
            )
            return
        self.process.send_signal(signal.SIGSTOP)

    def answer(self):
        line = self.process.stdout.readline()
        return json.loads(line) if line else None

    def run_turn(self, seconds):
        """Samples, or none if the process has ended, as for want of memory."""
        self.process.send_signal(signal.SIGCONT)
        try:
            self.process.stdin.write(f"{seconds}\n")
            self.process.stdin.flush()
            turn = self.answer()
        except BrokenPipeError:
            turn = None
        if turn is None:
            self.fail(f"ended between runs: {self.last_words()}")
            return []
        self.process.send_signal(signal.SIGSTOP)
        self.facts["run_mib"] = turn["run_mib"]
        return turn["samples_ms"]

    def last_words(self):
        """What the process ended with."""
        self.process.wait()
        said = last_exception(self.log.read_text())
        return f"{said[:300]} (exit status {self.process.returncode})"

    def fail(self, reason):
        self.reason = reason
        self.end()

    def end(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def last_exception(log):
    """The line of the last exception, after which frameworks put advice; else the last."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    raised = [line for line in lines if re.match(r"[\w.]*(Error|Exception|Failed)\b.*:", line)]
    return (raised or lines or ["no message"])[-1]


def difference(reference, folder, names):
    """Largest absolute difference over all outputs, and relative to the largest value."""
    absolute, relative = 0.0, 0.0
    for name in names:
        ours = np.load(reference / f"{name}.npy").astype(np.float64)
        theirs = np.load(folder / f"{name}.npy").astype(np.float64)
        if ours.shape != theirs.shape:
            return float("inf"), float("inf")
        error = np.abs(ours - theirs).max()
        absolute = max(absolute, float(error))
        relative = max(relative, float(error / np.abs(ours).max()))
    return absolute, relative
