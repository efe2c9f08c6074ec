# ===- branches.py - Branches of recipes that no reduced model takes -----------=== #
# SPDX-License-Identifier: Apache-2.0
"""Compiles what `hova verify` is run on with branches counted: `./dev test --full` runs it.

That is the reduced example models, those of 16 bits and those of STORED for the level with
one multiply-add unit too, whose sums are split, the golden vectors, with written scores in
bf16 too, the inputs of tests, and a few models with --strict and with kernels apart. The build of plant.py counts branches of what makes kernels (plant.MEASURED) with clang's
source-based coverage. A condition has two sides, and each has to be taken by the compilation
of some model. Prints the sides that none takes, by file and line, and fails below the goal.

Nothing is run: what is compiled for `native` elsewhere is compiled for the level that has most,
so that the figure is the same on every machine.
"""

import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import catch
import plant

GOAL = 0.90
# AVX-512 and pairs of bf16.
LEVEL = "cooperlake"
# Views, assemblies and sequences in lanes are where kernels apart differ most.
APART = ("mha_both", "omni_flattened", "tiny_vit", "tiny_tnt", "window_stage_both")


def commands(models, copy):
    """The options of every compilation."""
    for name, case, dtype, level in models.every:
        yield models.options((name, case, dtype, LEVEL if level == "native" else level))
        if (dtype, level) == ("f32", "native") and Path(name).name in models.stored:
            yield models.options((name, case, dtype, "znver4"))
    for model in sorted((copy / "test/golden/vectors").glob("*/model.json")):
        yield [model, f"--march={LEVEL}"]
        if model.parent.name.startswith(("score_", "keep_", "grouped_")):
            yield [model, f"--march={LEVEL}", "--dtype=bf16"]
    for name in APART:
        for option in ("--strict", "--without=hova-fuse-kernels"):
            yield [copy / "test/golden/vectors" / name / "model.json", f"--march={LEVEL}", option]
    for folder in ("e2e", "codegen/cpu"):
        for model in sorted((copy / "test" / folder / "Inputs").glob("*.json")):
            yield [model, f"--march={LEVEL}"]


def compile_all(copy, target, folder):
    def compile_one(numbered):
        number, options = numbered
        environment = {**os.environ, "LLVM_PROFILE_FILE": str(folder / f"{number}-%p.profraw"), "HOVA_FAULT": "0"}
        command = [target / "bin/hova", "compile", *options, "--quiet", "-o", folder / f"{number}.program"]
        done = subprocess.run([str(part) for part in command], env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"branches: {options} does not compile: {done.stderr}")

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(compile_one, enumerate(commands(catch.Models(copy, target), copy))))


def export(copy, target, folder):
    """What llvm-cov says of each measured file."""
    profiles = sorted(folder.glob("*.profraw"))
    if not profiles:
        raise SystemExit("branches: no compilation has written a profile")
    merged = folder / "all.profdata"
    subprocess.run([catch.LLVM / "bin/llvm-profdata", "merge", "-sparse", *profiles, "-o", merged], check=True)
    command = [catch.LLVM / "bin/llvm-cov", "export", target / "lib/libhova.so", f"-instr-profile={merged}"]
    done = subprocess.run([*command, "-skip-expansions"], check=True, capture_output=True, text=True)
    measured = {str(copy / path): path for _, path in plant.measured_files()}
    files = json.loads(done.stdout)["data"][0]["files"]
    return {measured[file["filename"]]: file["branches"] for file in files if file["filename"] in measured}


def sides(copy, path, branches):
    """(line, text, side, taken) of every condition but those of the planted faults.

    A template has a branch for each instance; a side is taken if one instance takes it.
    """
    lines = (copy / path).read_text().split("\n")
    taken = {}
    for line, column, end_line, end_column, true_count, false_count, *_ in branches:
        text = lines[line - 1][column - 1 : end_column - 1 if end_line == line else None]
        if "hovaFault" in text:
            continue
        for side, count in (("true", true_count), ("false", false_count)):
            key = (line, column, text, side)
            taken[key] = taken.get(key, False) or count > 0
    planted = lines[0].startswith("#include \"test/full/nets")
    return [(line - planted, text, side, was) for (line, _, text, side), was in sorted(taken.items())]


def main():
    copy, target = plant.build(Path(os.environ["HOVA_BUILD"]), plant.read_faults())
    with tempfile.TemporaryDirectory() as name:
        compile_all(copy, target, Path(name))
        files = export(copy, target, Path(name))
    missing = {path for _, path in plant.measured_files()} - set(files)
    all_sides = {path: sides(copy, path, branches) for path, branches in sorted(files.items())}
    for path, taken in all_sides.items():
        open_sides = [f"  {line}: {text}: never {side}" for line, text, side, was in taken if not was]
        print("\n".join([f"{path}: {len(taken) - len(open_sides)} of {len(taken)} sides", *open_sides]))
    for path in sorted(missing):
        print(f"{path}: no branch")
    total = sum(map(len, all_sides.values()))
    covered = sum(was for taken in all_sides.values() for *_, was in taken)
    share = covered / max(total, 1)
    print(f"models take {covered} of {total} sides of branches, {share:.1%}; goal {GOAL:.0%}")
    return 0 if share >= GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
