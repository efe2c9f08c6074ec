# ===- __main__.py - Random models until the time is up ----------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Draws valid descriptions, compiles and runs them, and compares with NumPy.

Every failure is shrunk and kept below build/fuzz/models. The exit status is 1 when
something failed.
"""

import argparse
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from shrink import shrink
from trial import BUILD, SOURCE, Trial, Verdict

KEPT = BUILD / "fuzz/models"
SHRINK_SECONDS = 120
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
    return folder.relative_to(SOURCE) if folder.is_relative_to(
        SOURCE
    ) else folder, verdict


def fuzz(arguments):
    end = time.monotonic() + arguments.time if arguments.time else None
    counts, failures = Counter(), Counter()
    seed, reported = arguments.seed, time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        while (end is None or time.monotonic() < end) and sum(
            counts.values()
        ) != arguments.count:
            trial = Trial.draw(seed)
            which = trial.dtype, trial.march
            counts[which] += 1
            folder = Path(scratch) / "trial"
            verdict = verdict_of(trial, folder)
            shutil.rmtree(folder, ignore_errors=True)
            if verdict:
                failures[which] += 1
                where, verdict = keep(trial, verdict, arguments.shrink)
                print(f"seed {seed} failed, {verdict}")
                print(f"  again: ./dev fuzz models --rerun {where}", flush=True)
            seed += 1
            if time.monotonic() - reported > REPORT_SECONDS:
                reported = time.monotonic()
                print(
                    f"{sum(counts.values())} models, {sum(failures.values())} failed",
                    file=sys.stderr,
                    flush=True,
                )
    for dtype, march in sorted(counts):
        of = counts[dtype, march]
        print(f"{dtype:5} {march:10} {of:6} models, {failures[dtype, march]} failed")
    print(
        f"{sum(counts.values())} models from seed {arguments.seed}, "
        f"{sum(failures.values())} failed"
    )
    return 1 if failures else 0


def rerun(folder):
    trial = Trial.load(folder)
    with tempfile.TemporaryDirectory() as scratch:
        verdict = verdict_of(trial, Path(scratch))
    print(verdict or "all is well now")
    return 1 if verdict else 0


def main():
    parser = argparse.ArgumentParser(
        prog="./dev fuzz models", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--time", type=float, metavar="S", help="seconds (default: 60)")
    parser.add_argument(
        "--count", type=int, metavar="N", help="models, however long they take"
    )
    parser.add_argument(
        "--seed",
        type=int,
        metavar="N",
        default=int(time.time()) * 1000,
        help="of the first model (default: another one each time)",
    )
    parser.add_argument(
        "--shrink",
        type=float,
        metavar="S",
        default=SHRINK_SECONDS,
        help="seconds for making a failure small (default: %(default)s)",
    )
    parser.add_argument(
        "--rerun", type=Path, metavar="FOLDER", help="a failure that was kept"
    )
    arguments = parser.parse_args()
    if arguments.rerun:
        return rerun(arguments.rerun)
    if arguments.time is None and arguments.count is None:
        arguments.time = 60
    return fuzz(arguments)


if __name__ == "__main__":
    sys.exit(main())
