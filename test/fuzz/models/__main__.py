# ===- __main__.py - Random models until the time is up ----------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Draws valid descriptions, compiles and runs them, and compares with NumPy.

Every failure is shrunk and kept below build/fuzz/models. The exit status is 1 when
something failed.
"""

import itertools
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import options
from shrink import shrink
from trial import BUILD, SOURCE, Trial, Verdict

KEPT = BUILD / "fuzz/models"
REPORT_SECONDS = 30


def verdict_of(trial, folder):
    """The verdict of a run; a description that this side cannot evaluate is one, too."""
    try:
        return trial.run(folder)
    except Exception as error:
        return Verdict(f"evaluating: {type(error).__name__}", str(error))


def keep(trial, verdict, seconds):
    """Saves a failure as it was found and as small as it gets."""
    folder = KEPT / str(trial.seed)
    shutil.rmtree(folder, ignore_errors=True)
    trial.save(folder / "found", verdict)

    def fails(candidate):
        again = verdict_of(candidate, folder)
        return again is not None and again.kind == verdict.kind

    small = shrink(trial, fails, seconds)
    verdict = verdict_of(small, folder) or verdict
    small.save(folder, verdict)
    inside = folder.is_relative_to(SOURCE)
    return folder.relative_to(SOURCE) if inside else folder, verdict


class Tally:
    """How many models ran and failed, by storage type and ISA level or target, and for how
    many the target says that it has no code yet."""

    def __init__(self):
        self.ran, self.failed, self.refused = Counter(), Counter(), Counter()
        self.reported = time.monotonic()

    def add(self, trial, verdict):
        key = trial.dtype, trial.march if trial.target == "cpu" else trial.target
        self.ran[key] += 1
        self.failed[key] += verdict is not None
        self.refused[key] += bool(getattr(trial, "refused", ""))
        if time.monotonic() - self.reported > REPORT_SECONDS:
            self.reported = time.monotonic()
            print(self, file=sys.stderr, flush=True)

    def __str__(self):
        return f"{self.ran.total()} models, {self.failed.total()} failed"

    def table(self):
        return "\n".join(
            f"{dtype:5} {how:10} {count:6} models, {self.failed[dtype, how]} failed"
            + (f", {self.refused[dtype, how]} without code" if self.refused[dtype, how] else "")
            for (dtype, how), count in sorted(self.ran.items())
        )


def seeds(first, count, seconds):
    """Seeds, until there are enough or the time is up."""
    end = time.monotonic() + seconds if seconds else None
    for seed in itertools.count(first):
        if seed - first == count or (end and time.monotonic() > end):
            return
        yield seed


def fuzz(arguments):
    tally = Tally()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "trial"
        try:
            for seed in seeds(arguments.seed, arguments.count, arguments.time):
                trial = Trial.draw(seed, target=arguments.target)
                verdict = verdict_of(trial, folder)
                shutil.rmtree(folder, ignore_errors=True)
                tally.add(trial, verdict)
                if verdict:
                    where, small = keep(trial, verdict, arguments.shrink)
                    print(f"seed {seed} failed, {small}")
                    print(f"  again: ./dev fuzz models --rerun {where}", flush=True)
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
    print(f"{tally.table()}\n{tally} (seeds from {arguments.seed})")
    return 1 if tally.failed.total() else 0


def rerun(folder):
    trial = Trial.load(folder)
    with tempfile.TemporaryDirectory() as scratch:
        verdict = verdict_of(trial, Path(scratch))
    print(verdict or "all is well now")
    return 1 if verdict else 0


def main():
    parser = options.parser()
    arguments = parser.parse_args()
    if arguments.rerun:
        if not (arguments.rerun / "trial.json").is_file():
            parser.error(
                f"{arguments.rerun} has no trial.json: no failure was kept there"
            )
        return rerun(arguments.rerun)
    if arguments.time is None and arguments.count is None:
        arguments.time = 60
    return fuzz(arguments)


if __name__ == "__main__":
    sys.exit(main())
