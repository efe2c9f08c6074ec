# ===- test_refusals.py - A system that refuses the matrix unit ------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""A program takes its level without the unit where the system refuses the registers: by a seccomp filter, or since a thread has an
alternate signal stack that is too small for them. Where the processor has no unit, EmulateTiles.c says that it has one, and
AnswerForTiles.c follows the rule of Linux for stacks; elsewhere both are those of the machine."""

import errno
import json
import os
import subprocess
from types import SimpleNamespace

import numpy as np
import pytest
from tiles import BUILD, HOVA, LEVEL, build_emulator, build_library, compile_program, has_unit, has_vectors, pretend_unit

pytestmark = pytest.mark.skipif(not has_vectors(), reason="needs a processor with AVX-512, bf16 and fp16")

PLAIN = f"{LEVEL}:no-amx-tile"
MODEL = {
    "hova": 1,
    "name": "m",
    "inputs": {"x": {"shape": [2, 77, 64]}},
    "layers": [
        {"name": "a", "op": "multi_head_attention", "input": "x", "heads": 2},
        {"name": "f", "op": "feed_forward", "input": "a", "hidden": 100, "activation": "gelu_erf"},
    ],
    "outputs": {"a": "a", "y": "f"},
}

# The rule for stacks is the system's own where the processor has the unit.
RULE = {} if has_unit() else {"HOVA_TILE_ANSWER": "stack"}
REFUSALS = {
    "no space": {"HOVA_TILE_ANSWER": errno.ENOSPC},
    "not permitted": {"HOVA_TILE_ANSWER": errno.EPERM},
    "not known": {"HOVA_TILE_ANSWER": errno.EINVAL},
    "a small stack for signals": {"HOVA_TILE_STACK": 8192, **RULE},
}
GRANTS = {
    "granted": {} if has_unit() else {"HOVA_TILE_ANSWER": 0},
    "a large stack for signals": {"HOVA_TILE_STACK": 65536, **RULE},
}


class Machine:
    """One with the unit, whose system answers as it is told to."""

    def __init__(self, folder):
        self.folder = folder
        self.libraries = [build_library("AnswerForTiles", folder)]
        if not has_unit():
            self.libraries.append(build_emulator(folder))
        (folder / "model.json").write_text(json.dumps(MODEL))
        self.best, self.plain, self.single = (folder / name for name in ("best", "plain", "single"))
        self.compile(self.best)
        self.compile(self.plain, f"--march={PLAIN}")
        self.compile(self.single, "--dtype=f32")

    def compile(self, program, *words):
        compile_program(self.folder / "model.json", program, *words)
        if not has_unit():
            pretend_unit(program, program)

    def run(self, program, answer, *words):
        """What the process said, and how many products the unit has computed; None: by a processor, which does not say it."""
        counts = self.folder / "counts"
        counts.unlink(missing_ok=True)
        done = subprocess.run(
            [program, *map(str, words)],
            env={
                **os.environ,
                "LD_PRELOAD": ":".join(map(str, self.libraries)),
                "HOVA_TILE_COUNTS": str(counts),
                **{name: str(value) for name, value in answer.items()},
            },
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        products = None
        if counts.exists():
            products = dict(line.split() for line in counts.read_text().splitlines())["tdpbf16ps"]
        return SimpleNamespace(status=done.returncode, text=done.stdout, errors=done.stderr, products=products)

    def outputs(self, program, answer):
        folder = self.folder / "outputs"
        done = self.run(program, answer, "--random-inputs=1", "--threads=2", f"--output-dir={folder}")
        assert (done.status, done.errors) == (0, "")
        return {name: np.load(folder / f"{name}.npy").view(np.uint32) for name in ("a", "y")}, done.products


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    return Machine(tmp_path_factory.mktemp("machine"))


def levels_of(machine, answer):
    """What --describe says of the levels."""
    done = machine.run(machine.best, answer, "--describe")
    assert (done.status, done.errors) == (0, "")
    (line,) = (line for line in done.text.splitlines() if line.startswith("levels"))
    return line.split(None, 1)[1]


def runs_here(machine, answer):
    done = machine.run(machine.best, answer, "--describe", "--format=json")
    assert (done.status, done.errors) == (0, "")
    return {level["name"]: level["runs_here"] for level in json.loads(done.text)["levels"]}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refusal_is_no_error(name, machine):
    """The outputs are those of the level without the unit, asked for by name."""
    found, products = machine.outputs(machine.best, REFUSALS[name])
    named, _ = machine.outputs(machine.plain, REFUSALS[name])
    assert products in (None, "0")
    assert all(np.array_equal(found[output], named[output]) for output in named)


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refusal_is_described(name, machine):
    refused = "not here: the system refuses amx-tile, amx-bf16, amx-int8"
    assert levels_of(machine, REFUSALS[name]) == f"{LEVEL} ({refused}), {PLAIN} (chosen here)"
    assert runs_here(machine, REFUSALS[name]) == {LEVEL: False, PLAIN: True}


@pytest.mark.parametrize("name", GRANTS)
def test_what_is_granted_is_used(name, machine):
    assert levels_of(machine, GRANTS[name]) == f"{LEVEL} (chosen here), {PLAIN}"
    assert runs_here(machine, GRANTS[name]) == {LEVEL: True, PLAIN: True}
    found, products = machine.outputs(machine.best, GRANTS[name])
    named, _ = machine.outputs(machine.plain, GRANTS[name])
    assert products is None or int(products) > 0
    # Sums are added in another order.
    assert any(not np.array_equal(found[output], named[output]) for output in named)


def test_verify_interprets_what_the_system_refuses(machine):
    """What ran is another level, and is not taken for the best."""
    compiler, whole = machine.folder / "hova", BUILD / "lib/libhova-whole.so"
    compiler.write_bytes(HOVA.read_bytes())
    compiler.chmod(0o755)
    if not has_unit():
        # Who asks the processor is in the program, or in a library where LLVM is inside (test/whole).
        library = machine.folder / "lib" / whole.name
        library.parent.mkdir()
        for beside in (BUILD / "lib").iterdir():
            if beside.name != whole.name:
                (library.parent / beside.name).symlink_to(beside)
        pretend_unit(whole if whole.exists() else compiler, library if whole.exists() else compiler)
    words = ("verify", machine.folder / "model.json", "--dtype=bf16", f"--march={LEVEL}", "--cases=1")
    done = machine.run(compiler, {**REFUSALS["no space"], "LD_LIBRARY_PATH": f"{machine.folder}/lib:{BUILD}/lib"}, *words)
    assert done.status == 0, done.errors
    assert f"this machine cannot run level '{LEVEL}': its kernels were interpreted" in done.errors


def test_only_programs_with_the_unit_ask(machine):
    answer = {"HOVA_TILE_ANSWER": "kill"}
    for program in (machine.plain, machine.single):
        machine.outputs(program, answer)
    assert machine.run(machine.best, answer, "--random-inputs=1").status != 0
