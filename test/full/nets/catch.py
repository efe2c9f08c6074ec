# ===- catch.py - Which tests catch the planted faults -------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Switches each fault of faults.toml on and looks who notices: `./dev test --full` runs it.

The near nets are what `./dev test --only ROOM` runs, for the room of the fault: its lit
tests, its GoogleTest programs, its pytest files and the smoke tests. The far net is `hova
verify` of the reduced example models with drawn weights, where a fault counts that changes
one of their programs. Both stop at the first test that fails. Tests that fail without a
fault, or a figure below its goal, make the script fail.

  catch.py [--fault N ...] [--near | --far]     what it measures, for some faults
"""

import argparse
import hashlib
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import plant

NEAR_GOAL, FAR_GOAL = 0.95, 0.80
LLVM = Path(os.environ["HOVA_LLVM"])
# Only ends what hangs; a test that takes this long is not one of the quick ones.
LIMIT_SECONDS = 1200
HANGS = 124


def call(command, copy, target, fault, **more):
    """(exit status, what it said) of a command with a fault on; 0 is none."""
    environment = {
        **os.environ,
        **more,
        "HOVA_BUILD": str(target),
        "HOVA_FAULT": str(fault),
        "LLVM_PROFILE_FILE": "/dev/null",
    }
    try:
        done = subprocess.run(
            [str(part) for part in command],
            cwd=copy,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=LIMIT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return HANGS, "it hangs"
    return done.returncode, done.stdout.decode(errors="replace")


# ===------------------------------------------------------------------------=== #
# The tests of a room
# ===------------------------------------------------------------------------=== #


class Rooms:
    """What `./dev test --only ROOM` runs, a runner after the other, up to the first failure."""

    def __init__(self, copy, target):
        self.copy, self.target = copy, target
        sys.path.insert(0, str(copy / "test"))
        import run as suite

        self.smoke_of, self.nothing = suite.smoke_of, suite.PYTEST_NOTHING_COLLECTED

    def lit(self, path):
        return [LLVM / "bin/lit", "-v", "-j1", "--max-failures=1", "--order=smart", self.target / "test" / path]

    def ctest(self, pattern):
        return ["ctest", "--test-dir", self.target, "--stop-on-failure", "--output-on-failure", "--no-tests=ignore", "-R", pattern]

    def pytest(self, path, *options):
        python = [self.target / "venv-test/bin/python", "-B", "-m", "pytest", "-q", "-x", "--tb=line"]
        return [*python, "-p", "no:cacheprovider", *options, self.copy / "test" / path]

    def one(self, test, room):
        """The command of one test, which has to be of the room or a smoke test."""
        if test.startswith("e2e/"):
            return self.pytest(test, "-k", self.smoke_of(room))
        if not re.match(rf"{room}\b", test):
            raise SystemExit(f"catch: '{test}' is no test of {room}")
        if test.endswith((".mlir", ".test")):
            return self.lit(test)
        return self.pytest(test) if ".py" in test else self.ctest(f"^{re.escape(test)}")

    def all(self, room):
        folder = self.copy / "test" / room
        if any(path.suffix in (".mlir", ".test") for path in folder.rglob("*")):
            yield self.lit(room)
        yield self.ctest(f"^{room}")
        if any(folder.rglob("test_*.py")):
            yield self.pytest(room)
        yield self.pytest("e2e", "-k", self.smoke_of(room))

    def failure(self, commands, fault):
        """The first failed test of the first command that fails, or None."""
        for command in commands:
            status, said = call(command, self.copy, self.target, fault)
            if status not in (0, self.nothing) or "No tests were found" in said:
                return name_of_failure(said) or f"{Path(command[0]).name}: {said[-200:]}"
        return None


def name_of_failure(said):
    """The name of the first failed test, as lit, CTest or pytest writes it."""
    for pattern in (r"^FAIL: hova :: (\S+)", r"\d+ - (\S+).* \((?:Failed|Subprocess|SEGFAULT|Timeout)", r"^FAILED (\S+)", r"^ERROR (\S+)"):
        found = re.search(pattern, said, re.MULTILINE)
        if found:
            return found[1]
    return "it hangs" if said == "it hangs" else None


# ===------------------------------------------------------------------------=== #
# hova verify
# ===------------------------------------------------------------------------=== #


class Models:
    """The reduced models of test_examples.py, each with its types and levels."""

    def __init__(self, copy, target):
        self.copy, self.target = copy, target
        os.environ["HOVA_BUILD"] = str(target)
        sys.path.insert(0, str(copy / "test/e2e"))
        import test_examples

        flags = Path("/proc/cpuinfo").read_text()
        self.every = [
            (name, tuple(case), *run)
            for name, cases in test_examples.CASES.items()
            for case in cases
            for run in test_examples.runs_of(name, case)
        ]
        # What this processor can run of them.
        self.runs = [run for run in self.every if run[3] != "x86-64-v4" or "avx512bw" in flags]
        self.stored = test_examples.STORED
        # What each run compiles to without a fault, and the faults whose lines that reaches.
        self.programs, self.reached = {}, {}

    def options(self, run):
        name, settings, dtype, level = run
        options = [part for setting in settings for part in ("--set", setting)]
        weights = self.copy / "examples" / Path(name).parent / "weights.safetensors"
        options += ["--weights", weights] if weights.exists() else []
        return [self.copy / f"examples/{name}.json", *options, f"--dtype={dtype}", f"--march={level}"]

    def verify(self, run, fault):
        guard = ["--guard"] if Path(run[0]).name in self.stored else []
        status, _ = call([self.target / "bin/hova", "verify", *self.options(run), *guard], self.copy, self.target, fault)
        return status == 0

    def compile(self, run, fault):
        """What stands for the program, its hash or the status of its compilation, and the faults that were reached."""
        with tempfile.TemporaryDirectory() as folder:
            out, reached = Path(folder, "program"), Path(folder, "reached")
            reached.mkdir()
            command = [self.target / "bin/hova", "compile", *self.options(run), "--quiet", "-o", out]
            status, _ = call(command, self.copy, self.target, fault, HOVA_FAULTS_REACHED=str(reached))
            program = hashlib.sha256(out.read_bytes()).hexdigest() if out.exists() else status
            return program, {int(path.name) for path in reached.iterdir()}

    def compile_all(self, pool):
        for run, (program, reached) in zip(self.runs, pool.map(lambda run: self.compile(run, 0), self.runs)):
            self.programs[run], self.reached[run] = program, reached

    def changes(self, run, fault):
        return fault in self.reached[run] and self.compile(run, fault)[0] != self.programs[run]

    def failure(self, fault):
        """The first run that fails; None where none does, and False where no program changes."""
        ordered = sorted(self.runs, key=lambda run: not fault.far or not text_of(run).startswith(fault.far))
        # A program holds both sides of a fault of the runtime.
        changes = everywhere = fault.room == "runtime"
        for run in ordered:
            if everywhere or self.changes(run, fault.number):
                changes = True
                if not self.verify(run, fault.number):
                    return text_of(run)
        return None if changes else False


def text_of(run):
    name, settings, dtype, level = run
    return " ".join([Path(name).name, *settings, dtype, level])


# ===------------------------------------------------------------------------=== #
# The two figures
# ===------------------------------------------------------------------------=== #


def catch_near(rooms, fault):
    first = [rooms.one(fault.near, fault.room)] if fault.near else []
    return rooms.failure(first, fault.number) or rooms.failure(rooms.all(fault.room), fault.number)


def say(fault, net, caught):
    what = {None: "NOT CAUGHT", False: "changes no program"}.get(caught, caught)
    print(f"{fault.number:2} {net:6} {fault.file}: {fault.breaks}: {what}", flush=True)
    return caught


def figure(name, results, goal):
    """Prints a figure; whether it reaches its goal."""
    counted = [caught for caught in results if caught is not False]
    share = sum(caught is not None for caught in counted) / max(len(counted), 1)
    print(f"{name} catches {sum(caught is not None for caught in counted)} of {len(counted)} faults, {share:.0%}; goal {goal:.0%}")
    return share >= goal


def measure_near(copy, target, faults, pool):
    rooms = Rooms(copy, target)
    used = sorted({fault.room for fault in faults})
    broken = {room: failed for room, failed in zip(used, pool.map(lambda room: rooms.failure(rooms.all(room), 0), used)) if failed}
    if broken:
        raise SystemExit(f"catch: tests fail without a fault: {broken}")
    results = list(pool.map(lambda fault: say(fault, "room", catch_near(rooms, fault)), faults))
    return figure("./dev test --only ROOM", results, NEAR_GOAL)


def measure_far(copy, target, faults, pool):
    models = Models(copy, target)
    broken = [text_of(run) for run, passed in zip(models.runs, pool.map(lambda run: models.verify(run, 0), models.runs)) if not passed]
    if broken:
        raise SystemExit(f"catch: models fail without a fault: {broken}")
    models.compile_all(pool)
    results = list(pool.map(lambda fault: say(fault, "verify", models.failure(fault)), faults))
    return figure("hova verify, of what changes a program,", results, FAR_GOAL)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fault", type=int, action="append", help="only this one; may be repeated")
    parser.add_argument("--near", action="store_true", help="the tests of rooms alone")
    parser.add_argument("--far", action="store_true", help="hova verify alone")
    arguments = parser.parse_args()
    every = plant.read_faults()
    copy, target = plant.build(Path(os.environ["HOVA_BUILD"]), every)
    faults = [fault for fault in every if not arguments.fault or fault.number in arguments.fault]
    reached = True
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        if not arguments.far:
            reached &= measure_near(copy, target, faults, pool)
        if not arguments.near:
            reached &= measure_far(copy, target, faults, pool)
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
