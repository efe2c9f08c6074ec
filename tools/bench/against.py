# ===- against.py - The kernels of the working tree and of a commit ----------=== #
# SPDX-License-Identifier: Apache-2.0
"""Compares the machine code of kernels with that of another commit, and times what differs.

`./dev bench --against COMMIT` calls it. docs/bench/README.md says how to read the report.
"""

import dataclasses
import shutil
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from statistics import median

import arguments
from against_report import write_report
from bench import BUILD, SOURCE, description_of, say
from before import build_hova, find_commit
from contest import launch
from machine import commit as working_tree
from machine import describe_machine
from machinecode import SAME, Kernel, Object, compare
from pairs import Timing, in_turns
from programs import BenchError, latency, pinned, trace, turn
from suites import SUITES
from workload import Case

COMPILATIONS = 3  # of each compiler and program


def parse_arguments():
    parser = arguments.of_another_commit()
    parser.set_defaults(out=BUILD / "bench/results")
    options = parser.parse_intermixed_args()
    options.cpus = arguments.cpus()[: options.threads]
    options.commit = find_commit(SOURCE, options.against)
    if options.set and not options.models:
        parser.error("--set needs a model")
    return options


def cases_of(options):
    """The programs to compare, each in a folder of its own."""
    chosen = [(path, options.set) for path in options.models] or [
        (description_of(model), settings) for model, settings in SUITES["dense"]
    ]
    folder = BUILD / "against" / "programs"
    for path, settings in chosen:
        for dtype in [options.dtype] if options.dtype else ["f32", "bf16"]:
            name = "-".join([path.stem, *settings, dtype]).replace("/", "_")
            yield Case(path.resolve(), settings, folder / name, dtype)


def case_of_commit(case, hova):
    """The case as the commit's compiler gets it. A description of the repository is the
    commit's own where it has one: today's may have keys that it does not know."""
    source = Path(hova).resolve().parents[1] / "source"
    if not case.description.is_relative_to(SOURCE):
        return case
    ofCommit = source / case.description.relative_to(SOURCE)
    return dataclasses.replace(case, description=ofCommit) if ofCommit.is_file() else case


def cases_by_compiler(compilers, case):
    """One case for each compiler; a description that differs is said."""
    cases = {"before": case_of_commit(case, compilers["before"]), "now": case}
    before, now = (cases[name].description.read_bytes() for name in ("before", "now"))
    if before != now:
        say(f"{case.label}, {case.dtype}: the commit has another description, its own")
    return cases


def compilation(hova, case, options, *output):
    """A command. Weights are drawn from the same seed by both compilers."""
    command = [hova, "compile", *case.arguments, f"--dtype={case.dtype}", "--init=0"]
    command += [f"--march={options.march}"] if options.march else []
    return pinned(options.cpus, [*command, *output])


def compile_objects(compilers, cases, options):
    """The object files by compiler, and what it took to make them."""
    case = cases["now"]
    report = case.folder / "launch.json"
    objects = {name: case.folder / f"{name}.o" for name in compilers}
    turns = {
        name: partial(
            launch,
            report,
            compilation(
                hova, cases[name], options, "--emit=obj", "-o", objects[name]
            ),
        )
        for name, hova in compilers.items()
    }
    costs = {
        name: {
            "seconds": median(run["seconds"] for run in runs),
            "peak_mib": median(run["peak_mib"] for run in runs),
        }
        for name, runs in in_turns(turns, COMPILATIONS).items()
    }
    return {name: Object(path) for name, path in objects.items()}, costs


def versions(kernels: dict[str, Kernel], symbol: str) -> list[Kernel]:
    """One for each ISA level."""
    return [kernels[name] for name in sorted(kernels) if name.split(".")[0] == symbol]


def differing_paths(events, kernels) -> list[str]:
    """The places of the model that run other machine code now. Of those that run the
    same two functions it is the middle one: the first finds other data in the caches."""
    symbols_now = {event["name"]: event["args"]["symbol"] for event in events["now"]}
    paths = {}
    for event in events["before"]:
        if event["name"] in symbols_now:
            functions = event["args"]["symbol"], symbols_now[event["name"]]
            paths.setdefault(functions, []).append(event["name"])
    return [
        group[len(group) // 2]
        for (before, now), group in paths.items()
        if versions(kernels["before"], before) != versions(kernels["now"], now)
    ]


def time_in_turns(programs, options, folder, *what) -> Timing:
    """`what` is --kernel PATH, or nothing for the whole program."""
    few = ["--warmup", 1, "--repetitions", 3, *what]
    once = latency(programs["before"], options.cpus, folder, *few)
    turns = {
        name: turn(program, options.cpus, folder, once, *what)
        for name, program in programs.items()
    }
    return Timing(**in_turns(turns, options.rounds))


def time_case(compilers, cases, options, kernels):
    """Rows of the whole program and of every kernel that differs."""
    case = cases["now"]
    with tempfile.TemporaryDirectory(dir=case.folder) as folder:
        programs = {name: Path(folder) / name for name in (*compilers, "copy")}
        for name, hova in compilers.items():
            report = case.folder / "launch.json"
            made = compilation(hova, cases[name], options, "-o", programs[name])
            launch(report, made)
        shutil.copy(programs["before"], programs["copy"])
        events = {
            name: trace(programs[name], options.cpus, folder) for name in compilers
        }
        rows = [{"path": None, **time_in_turns(programs, options, folder).record()}]
        for path in differing_paths(events, kernels):
            timing = time_in_turns(programs, options, folder, "--kernel", path)
            rows.append({"path": path, **timing.record()})
    return rows


def run_case(compilers, case, options):
    """The entry of one program in the results."""
    say(f"{case.label}, {case.dtype}: compiling")
    cases = cases_by_compiler(compilers, case)
    objects, costs = compile_objects(compilers, cases, options)
    kernels = {name: made.kernels() for name, made in objects.items()}
    entry = {
        "label": f"{case.label}, {case.dtype}",
        "compile": costs,
        "code_bytes": {name: made.code_bytes for name, made in objects.items()},
        "kernels": compare(kernels["before"], kernels["now"]),
        "timings": [],
    }
    if any(row["machine_code"] != SAME for row in entry["kernels"]):
        say(f"{case.label}, {case.dtype}: timing what differs, {options.rounds} rounds")
        entry["timings"] = time_case(compilers, cases, options, kernels)
    return entry


def run_cases(compilers, options):
    """All entries. A model of the suite that the commit does not know yet is left out."""
    entries = []
    for case in cases_of(options):
        before = compilers["before"]
        check = [before, "check", *case_of_commit(case, before).arguments]
        known = subprocess.run(check, capture_output=True, check=False).returncode == 0
        if known or options.models:
            entries.append(run_case(compilers, case, options))
        else:
            say(f"{case.label}, {case.dtype}: left out, {options.commit.sha} rejects it")
    return entries


def main():
    options = parse_arguments()
    if options.commit is None:
        say(f"git knows no commit called {options.against}")
        return 2
    compilers = {
        "before": build_hova(SOURCE, BUILD, options.commit),
        "now": BUILD / "bin/hova",
    }
    results = {
        "before": options.commit._asdict(),
        "now": working_tree(SOURCE),
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "machine": describe_machine(options.cpus),
        "march": options.march or "native",
        "rounds": options.rounds,
        "programs": run_cases(compilers, options),
    }
    name = f"against-{options.commit.sha}-threads-{options.threads}"
    print(write_report(results, options.out, name))
    say(f"results are in {options.out}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BenchError as error:
        say(error)
        sys.exit(1)
