# ===- run.py - Run every test and count ------------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Runs lit, CTest and pytest and ends with one line: "N passed, N failed, N skipped".

`./dev test` and the target check-hova call it; `./dev test --peers` lets it run test/peers
alone, `./dev test --gpu` test/gpu, `./dev test FILE ...` files or folders, whichever runner they are for, and
`./dev test --changed` what a change can reach. As many runners run at a time as there are processors, because a
test seldom uses more than one; pytest runs once per folder of test/.
What a runner says is printed when it ends. The counts come from the JUnit files that the
runners write. A runner that fails without naming a failed test counts as one failure. The
exit status is 1 when something failed or when nothing ran.

Environment: HOVA_BUILD, the build folder; HOVA_LLVM, where LLVM is installed.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

from changed import GTEST, changed_files, read_tree, all_tests, reached_tests
from whole.links import ROOMS, whole_build

SOURCE = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ["HOVA_BUILD"])
LLVM = Path(os.environ["HOVA_LLVM"])
TESTS = SOURCE / "test"
PEERS = TESTS / "peers"
FULL = TESTS / "full"
GPU = TESTS / "gpu"
WHEEL = FULL / "python"
CURRENT_PEERS = sorted(PEERS.glob("test_*folder*.py"))
RESULTS = BUILD / "test-results"

# What `--only ROOM` adds to the room's own tests: small whole models against numbers
# that were not computed by hova, an attention whose widths all differ, and causal rows
# that see no key, as pytest's -k selects them.
SMOKE = "tiny or digits or lecture_mha or cross_causal_empty_rows"

# Golden vectors, which share no code with hova, whose programs need what recipes ask of
# scores and of divided reductions: reversed loads, quotients of negatives, keys after a gap,
# blocks that are seen, the eps of a sum, jumps. Then what else recipes and passes write:
# rotations, norms of rows and heads, kernels with holes, tokens that are counted or picked.
ASKED = (
    "score_backwards", "score_rounded_down", "score_uneven", "score_negative", "score_late_gap",
    "score_sinks", "score_jumps", "score_bigbird_sinks", "grouped_heads_score",
    "grouped_attention_performer",
    "rotary_halves", "rotary_neighbours", "rotary_odd_heads", "rotate_part_halves",
    "layer_norm_heads", "layer_norm_bias_alone", "unit_length",
    "unfold_holes", "unfold_within", "positions_counted", "pools",
)
PROGRAMS = f"(program_equals_the_oracle and ({' or '.join(ASKED)}))"

# Programs for any length: of each planted fault in extents and tables (test/full/nets) a test that finds it.
RANGED = " or ".join(
    f"({file}.py and {cases})"
    for file, cases in {
        "test_ranges": "alone and slots and (without or (memory and bf16))",
        "test_ranges_on_gpus": "alone and (first or (mean and valid) or boxes or (maximum and not valid) or (slots and memory))",
        "test_two_ranges": "alone and lengths and native",
        "test_two_ranges_on_gpus": "((alone and lengths and f32) or given_both_lengths)",
        "test_linear_attention_of_ranges": "alone and softmax and native and not (masked or causal or shared)",
        "test_linear_attention_of_ranges_on_gpus": "alone and softmax-False-f32",
    }.items()
)

# What a room adds to it: golden vectors. What an operation means and what a description says
# shows without a program, in a tenth of a second each.
ROOM_SMOKE = {
    "dialect": f"evaluator_equals_the_oracle or {PROGRAMS} or {RANGED}",
    "passes": PROGRAMS,
    "codegen": f"{PROGRAMS} or {RANGED}",
    "frontend": "evaluator_equals_the_oracle",
    "runtime": RANGED,
}

# The tests of test/full that provoke races and faults: nothing else runs beside them.
ALONE = ("test_faults.py", "test_races.py")

# The scripts of test/full/nets, which share one build.
NETS = ("branches", "catch")

PYTEST_NOTHING_COLLECTED = 5

# How CTest asks a program of GoogleTest for one test.
FILTER = "--gtest_filter="

# How often the tests of a room may start a compiler: `hova compile` and `hova verify` are two thirds of the time of all tests.
COMPILATIONS = {"pytest-e2e": 2820, "pytest-frontend": 330, "pytest-pipeline": 70}

# Seconds of processors from which a test of pytest is said to be heavy.
HEAVY = 5

# The folders whose tests take longest, longest first: they begin first, so that no
# processor waits for one of them at the end.
LONG = ("e2e", "codegen", "pipeline", "tools", "style", "fuzz")


@dataclass
class Count:
    passed: int = 0
    failed: list = field(default_factory=list)
    skipped: list = field(default_factory=list)
    processor: float = 0
    heavy: list = field(default_factory=list)
    compilations: int = 0

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.processor += other.processor
        self.heavy += other.heavy
        self.compilations += other.compilations
        return self


def read_junit(path, runner):
    """The counts of one JUnit file, whichever of the three dialects it is in."""
    count = Count()
    if not path.exists():
        return count
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name = "/".join(p for p in (case.get("classname"), case.get("name")) if p)
        name = f"{runner}: {name}"
        for cost in case.iterfind("properties/property[@name='processor_s']"):
            if float(cost.get("value")) > HEAVY:
                count.heavy.append((float(cost.get("value")), name))
        for cost in case.iterfind("properties/property[@name='compilations']"):
            count.compilations += int(cost.get("value"))
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            count.failed.append(name)
        elif skipped is not None or case.get("status") in ("notrun", "disabled"):
            reason = "" if skipped is None else skipped.get("message", "")
            count.skipped.append(f"{name} ({reason})" if reason else name)
        else:
            count.passed += 1
    return count


def run(runner, command, *, empty_status=None, quiet=False, folder=SOURCE, **environment):
    """Runs one runner, which writes RESULTS/runner.xml, and returns its counts.

    A quiet one shows what it says only if it fails: GoogleTest has lines per test.
    """
    start = time.monotonic()
    process = subprocess.Popen(
        [str(part) for part in command],
        cwd=folder,
        env={**os.environ, **{name: str(value) for name, value in environment.items()}},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with process.stdout as output:
        printed = output.read()
    _, ended, used = os.wait4(process.pid, 0)
    status = process.returncode = os.waitstatus_to_exitcode(ended)
    processor = used.ru_utime + used.ru_stime
    said = printed if status or not quiet else ""
    print(f"{said}-- {runner}: {time.monotonic() - start:.0f} s, {processor:.0f} s of processors\n", end="", flush=True)
    count = read_junit(RESULTS / f"{runner}.xml", runner)
    count.processor = processor
    if count.compilations > COMPILATIONS.get(runner, count.compilations):
        count.failed.append(f"{runner}: {count.compilations} compilations, where docs/rationale/time-of-tests.md says {COMPILATIONS[runner]} at most")
    if status not in (0, empty_status) and not count.failed:
        count.failed.append(f"{runner}: exit status {status} without a failed test")
    return count


def programs_of(room):
    """The folder where tests of a room find programs (test/whole/links.py)."""
    return whole_build(BUILD) if room in ROOMS else BUILD


LIT = (".mlir", ".test")


def run_lit(*paths):
    """Files or folders below test/; folders without a test are left out."""
    found = [path for path in paths if (TESTS / path).is_file() or any(p.suffix in LIT for p in (TESTS / path).rglob("*"))]
    if not found:
        return Count()
    # A folder of the build stands for the folder of the same name below test/.
    command = [
        LLVM / "bin/lit",
        "-sv",
        "--no-progress-bar",
        "--xunit-xml-output",
        RESULTS / "lit.xml",
    ]
    return run("lit", [*command, *(BUILD / "test" / path for path in found)], HOVA_WHOLE=whole_build(BUILD))


def gtest_commands(pattern):
    """(name, program and options, folder) of the programs of GoogleTest that have a test whose name in CTest matches."""
    listed = subprocess.run(["ctest", "--test-dir", BUILD, "--show-only=json-v1"], capture_output=True, text=True, check=True).stdout
    wanted, every = {}, {}
    for test in json.loads(listed)["tests"]:
        program, *options = test["command"]
        tests = [option.removeprefix(FILTER) for option in options if option.startswith(FILTER)]
        folder = next((one["value"] for one in test["properties"] if one["name"] == "WORKING_DIRECTORY"), BUILD)
        every.setdefault((program, folder), []).extend(tests)
        if re.search(pattern, test["name"]):
            wanted.setdefault((program, folder), []).extend(tests)
    for (program, folder), tests in wanted.items():
        some = [] if tests == every[program, folder] else [FILTER + ":".join(tests)]
        yield Path(program).name, [program, "--gtest_brief=1", *some], folder


def run_ctest(pattern=""):
    """Each program of GoogleTest is one process: loading the libraries takes longer than most tests."""
    total = Count()
    for name, command, folder in gtest_commands(pattern):
        total.add(run(name, [*command, f"--gtest_output=xml:{RESULTS / name}.xml"], quiet=True, folder=folder))
    return total


def run_pytest(runner, venv, *tests, select="", options=(), **environment):
    """Runs pytest on folders or files; skips them where their environment is missing."""
    python = BUILD / venv / "bin/python"
    if not python.exists():
        problem = f"no {python.parent.parent}: ./dev test makes it"
        files = [file for path in tests for file in ([path] if path.is_file() else path.rglob("test_*.py"))]
        names = sorted(path.name for path in files)
        return Count(skipped=[f"{runner}: {name} ({problem})" for name in names])
    return run(
        runner,
        [
            python,
            "-B",
            TESTS / "timed.py",
            "-q",
            "-rs",
            "--tb=short",
            "-p",
            "no:cacheprovider",
        ]
        + [
            f"--junitxml={RESULTS / runner}.xml",
            "-k",
            select,
            *options,
            *tests,
        ],
        empty_status=PYTEST_NOTHING_COLLECTED,
        HOVA_BUILD=programs_of(Path(str(tests[0]).split("::")[0]).resolve().relative_to(TESTS).parts[0]),
        **environment,
    )


def longest_first(rooms):
    return sorted(rooms, key=lambda room: ((*LONG, room).index(room), room))


def python_runs(only):
    """A run of pytest for each folder below test/ that has tests, or for one folder."""
    folders = {path.parent for path in (TESTS / only).rglob("test_*.py")}
    rooms = {folder.relative_to(TESTS).parts[0] for folder in folders}
    rooms -= {PEERS.name, FULL.name, GPU.name}
    return [partial(run_pytest, f"pytest-{room}", "venv-test", TESTS / (only or room)) for room in longest_first(rooms)]


def runs_of(only=""):
    """What `./dev test` runs, of one room or of all; the longest begin first."""
    runs = python_runs(only)
    runs.insert(1, partial(run_lit, only))
    runs.append(partial(run_ctest, f"^{only}" if only else ""))
    return runs


# ===------------------------------------------------------------------------=== #
# What a change can reach
# ===------------------------------------------------------------------------=== #


def changed_runs(commit):
    """Runs of the test files that the changes since a commit can reach (changed.py)."""
    tree, changed = read_tree(SOURCE, BUILD, LLVM), changed_files(SOURCE, commit)
    if not changed:
        print(f"nothing has changed since {commit}")
        sys.exit(0)
    found, reason = reached_tests(changed, tree)
    every = all_tests(tree)
    print(f"{len(changed)} changed files reach {len(found)} of {len(every)} files of tests{reason and f': {reason}'}", flush=True)
    if found == every:
        return runs_of()
    paths = [(SOURCE / name) for name in sorted(found)]
    of_lit = [path.relative_to(TESTS) for path in paths if path.suffix in LIT]
    of_ctest = [path for path in paths if path.suffix == ".cpp"]
    rooms = {}
    for path in paths:
        if path.suffix == ".py":
            rooms.setdefault(path.relative_to(TESTS).parts[0], []).append(path)
    runs = [partial(run_pytest, f"pytest-{room}", "venv-test", *rooms[room]) for room in longest_first(rooms)]
    runs += [partial(run_lit, *of_lit)] if of_lit else []
    return runs + ([partial(run_ctest, pattern_of(of_ctest))] if of_ctest else [])


# ===------------------------------------------------------------------------=== #
# Single files
# ===------------------------------------------------------------------------=== #

# A program whose tests CTest does not know one by one.
ONE_PROGRAM = re.compile(r"add_test\(NAME (\S+) COMMAND (\S+)\)")


def pattern_of(paths):
    """What CTest calls the tests of sources, as a pattern."""
    suites, names = set(), set()
    for path in paths:
        suites |= set(GTEST.findall(path.read_text()))
        folder = next(folder for folder in path.parents if (folder / "CMakeLists.txt").exists())
        cmake = (folder / "CMakeLists.txt").read_text()
        for name, program in ONE_PROGRAM.findall(cmake):
            if re.search(rf"add_executable\({program} [^)]*\b{path.name}\b", cmake):
                names.add(name)
    return "|".join([f"[./]({'|'.join(sorted(suites))})[./]", *(f"^{name}$" for name in sorted(names))])


def run_file(name):
    """One file or folder below test/; of a file of pytest, one test, too, as FILE::TEST."""
    path = (SOURCE / name.split("::")[0]).resolve()
    tests = path.relative_to(TESTS)
    if path.is_dir():
        total = run_lit(tests)
        total.add(run_ctest(f"^{tests.as_posix()}"))
        return total.add(run_python(path, tests.parts[0]))
    if path.suffix in (".mlir", ".test"):
        return run_lit(tests)
    if path.suffix == ".py":
        return run_python(SOURCE / name, tests.parts[0])
    return run_ctest(pattern_of([path]))


def run_python(tests, room):
    """A file or folder in the environment of its room."""
    path = Path(str(tests).split("::")[0]).resolve()
    is_of_wheel = path == WHEEL or WHEEL in path.parents
    venv = "venv-python" if is_of_wheel else "venv-peers" if room == PEERS.name else "venv-test"
    venv = "venv-peers-current" if path in CURRENT_PEERS else venv
    return run_pytest(f"pytest-{room}", venv, tests)


def is_test(name):
    path = SOURCE / name.split("::")[0]
    kinds = (".mlir", ".test", ".py") if "::" not in name else (".py",)
    is_known = path.suffix in kinds or path.is_dir() or (path.suffix == ".cpp" and GTEST.search(path.read_text()))
    return TESTS in path.resolve().parents and path.exists() and bool(is_known)


# ===------------------------------------------------------------------------=== #
# The long suites
# ===------------------------------------------------------------------------=== #


def campaigns():
    """The files of which `./dev test` runs a share (campaigns.py)."""
    return sorted(path for path in TESTS.rglob("test_*.py") if "\nfrom campaigns import " in path.read_text())


def run_full():
    """The tests of test/full on all processors, then those that need the machine alone."""
    beside = ["-n", os.cpu_count(), "--dist", "worksteal", *(f"--ignore={FULL / name}" for name in (*ALONE, WHEEL.name))]
    total = run_pytest("full", "venv-test", FULL, options=beside)
    for name in ALONE:
        total.add(run_pytest(f"full-{Path(name).stem}", "venv-test", FULL / name))
    total.add(run_pytest("full-python", "venv-python", WHEEL))
    total.add(run_pytest("full-campaigns", "venv-test", *campaigns(), options=beside[:4], HOVA_CAMPAIGNS="all"))
    total.add(run_nets())
    return total


def smoke_of(room):
    return " or ".join([SMOKE, *filter(None, [ROOM_SMOKE.get(room)])])


def run_smoke(room):
    return run_pytest("smoke", "venv-test", TESTS / "e2e", select=smoke_of(room))


def run_nets():
    """Planted faults, and branches that no reduced model takes (test/full/nets)."""
    total = Count()
    for name in NETS:
        python = BUILD / "venv-test/bin/python"
        count = run(name, [python, "-B", FULL / f"nets/{name}.py"])
        count.passed += not count.failed
        total.add(count)
    return total


def run_peers(record):
    """Folders of models are compared with the library as it is now, which has more families."""
    options = [f"--ignore={path}" for path in CURRENT_PEERS] + (["--record"] if record else [])
    total = run_pytest("peers", "venv-peers", PEERS, options=options)
    return total.add(run_pytest("peers-current", "venv-peers-current", *CURRENT_PEERS))


def run_gpu():
    """Beside each other: most of the time is that of the evaluator, on a processor."""
    return run_pytest("gpu", "venv-test", GPU, options=["-n", os.cpu_count(), "--dist", "worksteal"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", metavar="ROOM", default="")
    parser.add_argument("--full", action="store_true", help="the long suites too")
    parser.add_argument("--peers", action="store_true", help="test/peers alone")
    parser.add_argument("--gpu", action="store_true", help="test/gpu alone, on a GPU")
    parser.add_argument("--record", action="store_true", help="with --peers: write its table")
    parser.add_argument("--changed", metavar="COMMIT", help="what the changes since a commit can reach alone")
    parser.add_argument("files", nargs="*", help="files or folders below test/ alone")
    arguments = parser.parse_args()
    for name in arguments.files:
        if not is_test(name):
            parser.error(f"expects files or folders of tests below test/, got {name}")
    only = arguments.only

    RESULTS.mkdir(exist_ok=True)
    for old in RESULTS.glob("*.xml"):
        old.unlink()
    runs = []
    if arguments.files:
        runs += [partial(run_file, name) for name in arguments.files]
    elif arguments.peers:
        runs.append(partial(run_peers, arguments.record))
    elif arguments.gpu:
        runs.append(run_gpu)
    elif arguments.changed:
        runs += changed_runs(arguments.changed)
    elif only != "full":
        runs += runs_of(only)
    if not arguments.files and only not in ("", "e2e"):
        runs.append(partial(run_smoke, only))
    total = Count()
    # Two files may have one runner, which writes one file of results.
    with ThreadPoolExecutor(1 if arguments.files else os.cpu_count()) as pool:
        for count in pool.map(lambda one: one(), runs):
            total.add(count)
    if arguments.full or only == "full":
        total.add(run_full())

    for seconds, name in sorted(total.heavy, reverse=True):
        print(f"heavy    {name} ({seconds:.0f} s of processors)")
    for name in total.skipped:
        print(f"skipped  {name}")
    for name in total.failed:
        print(f"FAILED   {name}")
    print(f"-- all: {total.processor:.0f} s of processors")
    line = f"{total.passed} passed, {len(total.failed)} failed"
    if total.skipped:
        line += f", {len(total.skipped)} skipped"
    print(line)
    return 1 if total.failed or total.passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
