# ===- measure.py - What a GPU says, in a fixed time ------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Runs what tools/bench/gpu/make.py has made on the first GPU of this machine, and writes results line by line.

    python3 measure.py --out RESULTS

Nothing is compiled but by the driver, and nothing is fetched. Each part runs in a process of its own, which is begun again behind an
item that ended it, so that a kernel that fails or never ends costs that item alone. Every line of RESULTS/results.jsonl is whole as
soon as it is there: what was measured before a machine went away is kept, and another call goes on behind it. After each part, and
whenever it is asked for by `python3 tables.py RESULTS/results.jsonl`, the lines become tables.

Needs Python 3.10 with its own library, and Linux. Numbers of kernels need NumPy, and peers PyTorch: without them the lines say so."""

import argparse
import ctypes
import importlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

if sys.version_info < (3, 10):
    sys.exit(f"error: needs Python 3.10 or later, this is {sys.version.split()[0]}")

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "checks")]
from tables import tables  # noqa: E402
from store import NO_TIME, Bench, Skipped  # noqa: E402

STDERR_BYTES = 600  # of a process that ended
DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG


@dataclass
class Part:
    """What a part asks, the module that measures its items, its share of the time in seconds, and how long an item may be silent."""

    asks: str
    module: str
    share: float
    silence: float


PARTS = {
    "machine": Part("what is measured on?", "facts", 15, 60),
    "load": Part("do programs load?", "loads", 60, 60),
    "bits": Part("does every instruction compute the bits of the emulation, and how does it add?", "bits", 30, 20),
    "kernels": Part("does a kernel of every recipe compute what NumPy does, and small models what the processor does?", "kernel_numbers", 110, 30),
    "decides": Part("what does a launch cost, and how fast do bytes come?", "decides", 60, 30),
    "tiles": Part("which tile of a product is fastest, beside cuBLAS?", "tiles", 100, 60),
    "models": Part("how long do models take, beside PyTorch?", "models", 240, 120),
    "spans": Part("how long does each launch of a model take?", "spans", 50, 60),
    "compiled": Part("and beside torch.compile?", "models", 60, 120),
}
TOTAL = 700.0  # with what the end of the last takes, less than 12 minutes


class Results:
    """The lines of a file, each written whole."""

    def __init__(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "results.jsonl"
        lines = self.path.read_text(encoding="utf-8").split("\n") if self.path.exists() else []
        self.done = {(row["part"], row["item"]) for row in map(json.loads, lines[:-1]) if row.get("left_out") != NO_TIME}
        if lines and lines[-1]:  # cut off where a machine went away
            self.path.write_text("\n".join([*lines[:-1], ""]), encoding="utf-8")
        self.file = self.path.open("a", encoding="utf-8")

    def write_tables(self):
        """Writes the tables of all lines beside them."""
        (self.path.parent / "tables.md").write_text(tables(self.path), encoding="utf-8")

    def add(self, part, row):
        """Writes a row. What was not measured for want of time is measured by another call."""
        self.file.write(json.dumps({"part": part, **row}) + "\n")
        self.file.flush()
        os.fsync(self.file.fileno())
        said = {name: value for name, value in row.items() if name in ("failed", "wrong", "refused", "left_out")}
        print(f"{part}: {row['item']}{': ' + json.dumps(said)[:300] if said else ''}", flush=True)


# ===------------------------------------------------------------------------=== #
# The process of a part
# ===------------------------------------------------------------------------=== #


def work(part, wanted, deadline, folder, parent):
    """Measures the items with these numbers, and prints a line when one begins and when it is done. Ends with its parent."""
    ctypes.CDLL(None).prctl(DIE_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit("the process that began this one has ended")
    bench = Bench(HERE, folder)
    measure = importlib.import_module(PARTS[part].module).measure
    items = bench.list["parts"][part]
    for number in wanted:
        item = items[number]
        print(json.dumps({"begin": number}), flush=True)
        row, begin = {"item": item["name"]}, time.monotonic()
        if begin > deadline:
            row["left_out"] = NO_TIME
        else:
            try:
                row |= measure(bench, item)
            except Skipped as reason:
                row["left_out"] = str(reason)
            row["seconds"] = round(time.monotonic() - begin, 3)
        print(json.dumps({"row": row}), flush=True)


class Worker:
    """That process, as its parent sees it."""

    def __init__(self, part, wanted, deadline, folder):
        self.log = tempfile.TemporaryFile("w+", errors="replace")
        words = [sys.executable, __file__, "--work", json.dumps([part, wanted, deadline, str(folder), os.getpid()])]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=self.log, start_new_session=True)
        self.held = b""

    def line(self, silence):
        """The next line; None at the end. One that does not come within so many seconds is a TimeoutError."""
        end = time.monotonic() + silence
        while b"\n" not in self.held:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                raise TimeoutError(f"no answer in {silence:.0f} s")
            more = os.read(self.process.stdout.fileno(), 1 << 16)
            if not more:
                return None
            self.held += more
        line, _, self.held = self.held.partition(b"\n")
        return json.loads(line)

    def end(self):
        """Ends it and all that it began; says how, where that was not well."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        status = self.process.wait()
        self.log.seek(0)
        said = [line for line in self.log.read().splitlines() if line.strip()]
        return f"status {status}: {' | '.join(said[-3:])[-STDERR_BYTES:]}" if status else ""


@dataclass
class Run:
    """Where results go, where files are unpacked, and when all is to be at an end."""

    results: Results
    folder: str
    end: float

    def part(self, part, wanted, deadline, items):
        """Measures the items with these numbers, in as many processes as they end. None begins behind the deadline."""
        while wanted and time.monotonic() < deadline:
            worker = Worker(part, wanted, deadline, self.folder)
            try:
                wanted = self.follow(worker, part, wanted, items)
            finally:
                worker.end()
        for number in wanted:
            self.results.add(part, {"item": items[number]["name"], "left_out": NO_TIME})

    def follow(self, worker, part, wanted, items):
        """Takes the rows of a process until it ends; what is left to measure. The item that ended it is a row too."""
        under_way, reason = None, ""
        try:
            while line := worker.line(max(0.0, min(PARTS[part].silence, self.end - time.monotonic()))):
                if "begin" in line:
                    under_way = line["begin"]
                else:
                    self.results.add(part, line["row"])
                    wanted, under_way = wanted[1:], None
            worker.process.wait(10)
        except (TimeoutError, subprocess.TimeoutExpired) as error:
            reason = str(error)
        reason = reason or worker.end()
        if not wanted or time.monotonic() >= self.end:
            return wanted
        # The one under way ended the process; where none has begun, none will.
        failed = wanted if under_way is None else wanted[:1]
        for number in failed:
            self.results.add(part, {"item": items[number]["name"], "failed": reason or "the process ended"})
        return wanted[len(failed) :]


# ===------------------------------------------------------------------------=== #
# All parts
# ===------------------------------------------------------------------------=== #


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("results"), help="the folder of results.jsonl and tables.md (default: results)")
    parser.add_argument("--seconds", type=float, default=TOTAL, help=f"for all parts together (default: {TOTAL:.0f})")
    parser.add_argument("--parts", default=",".join(PARTS), help=f"of {', '.join(PARTS)} (default: all)")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        work(*json.loads(arguments.work))
        return 0
    chosen = arguments.parts.split(",")
    if unknown := [name for name in chosen if name not in PARTS]:
        parser.error(f"there is no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    if not (HERE / "list.json").exists():
        parser.error(f"{HERE} has no list.json: make.py did not finish this folder")
    listed = json.loads((HERE / "list.json").read_text(encoding="utf-8"))
    # What ends this process ends that of the part too, and leaves tables.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))
    results = Results(arguments.out)
    begin, spent, shares = time.monotonic(), 0.0, sum(PARTS[name].share for name in chosen)
    with tempfile.TemporaryDirectory(prefix="hova-gpu-") as folder:
        run = Run(results, folder, begin + arguments.seconds)
        for part in (name for name in PARTS if name in chosen):
            # What a part leaves of its share the later ones have.
            spent += PARTS[part].share
            items = listed["parts"].get(part, [])
            wanted = [i for i, item in enumerate(items) if (part, item["name"]) not in results.done]
            try:
                run.part(part, wanted, begin + arguments.seconds * spent / shares, items)
            finally:
                results.write_tables()
    print((arguments.out / "tables.md").read_text(encoding="utf-8"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
