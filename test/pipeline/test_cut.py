# ===- test_cut.py - Runs that are cut between phases ------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""What a phase prints is all that the next one needs.

A run that is cut after a phase, printed, parsed and continued leaves what the straight run
leaves, byte by byte: no attribute loses a digit, no phase knows what its text does not
say. For AVX-512, where GELU has tables; every example, in the small sizes in which it is
verified. cut.test does the same through the options of `hova` itself.
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations, pairwise
from pathlib import Path

import pytest

from examples import examples

SOURCE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "test"))
from campaigns import share  # noqa: E402

BUILD = Path(os.environ.get("HOVA_BUILD", SOURCE / "build"))
LEVEL = "--march=x86-64-v4"
PHASES = ["import", "normalize", "fuse", "assign", "tile", "vectorize", "target"]
GELU = SOURCE / "test/golden/vectors/feed_forward_gelu_erf/model.json"


def run(program, *arguments):
    command = [str(part) for part in (BUILD / "bin" / program, *arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def straight(folder, model, *options):
    """The dumps of a straight run, by phase."""
    out = ["--emit=mlir", "-o", folder / "target.mlir", f"--dump-ir={folder / 'dumps'}"]
    run("hova", "compile", model, LEVEL, *options, *out)
    dumps = sorted((folder / "dumps").glob("*.mlir"))
    assert [dump.stem[3:] for dump in dumps] == PHASES
    return dict(zip(PHASES, dumps, strict=True))


def reprint(*arguments):
    """Numbers values: a loop's text has no room for the name of what it carries."""
    return run("hova-opt", "--mlir-use-nameloc-as-prefix=false", *arguments)


def check(dumps, pairs):
    """Continues after the first phase of each pair and stops after the second."""

    def continued(pair):
        first, last = pair
        start = PHASES[PHASES.index(first) + 1]
        return reprint(dumps[first], f"--start-at={start}", f"--stop-after={last}", LEVEL)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        plain = dict(zip(PHASES, pool.map(lambda p: reprint(dumps[p]), PHASES)))
        for pair, got in zip(pairs, pool.map(continued, pairs), strict=True):
            assert got == plain[pair[1]], " to ".join(pair)


def test_every_pair_of_phases_of_a_gelu(tmp_path):
    dumps = straight(tmp_path, GELU)
    assert "hova_cpu.lookup" in dumps["vectorize"].read_text()
    check(dumps, list(combinations(PHASES, 2)))


@pytest.mark.parametrize(("name", "settings"), share(examples(), of=3))
def test_every_phase_of_an_example(name, settings, tmp_path):
    options = [part for setting in settings for part in ("--set", setting)]
    model = SOURCE / "examples" / f"{name}.json"
    check(straight(tmp_path, model, *options), list(pairwise(PHASES)))
