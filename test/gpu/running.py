# ===- running.py - The compiler and programs for a GPU ------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""What the tests of this folder have in common.

A driver starts about three processes a second, however many begin at a time. So compilers and libraries of one worker of
pytest share what is started once: one process of the compiler (Commands.cpp), and one context of the device in this process."""

import ctypes
import json
import subprocess
from functools import cache

import numpy as np
from classify import Model
from test_gpu import BUILD, ROOT, run
from trial import Trial, Verdict

VECTORS = ROOT / "test/golden/vectors"
DTYPES = ["bf16", "f16", "f32"]


def options_of(settings):
    """`depth=2 width=32` as options of the compiler."""
    return [f"--set={setting}" for setting in settings.split()]


def outputs_of(program, folder, *options):
    """The outputs of a run as arrays, by name."""
    folder.mkdir()
    run(program, *options, "--output-dir", folder)
    return {path.stem: np.load(path) for path in folder.glob("*.npy")}


# ===------------------------------------------------------------------------=== #
# The compiler
# ===------------------------------------------------------------------------=== #


class Compiler:
    """A process that runs commands of hova one after the other."""

    STATUS = "exit status "

    def __init__(self):
        self.process = subprocess.Popen([BUILD / "bin/hova-commands"], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT)

    def run(self, *words):
        """(the exit status, what was said) of one command; without a status the process has ended."""
        self.process.stdin.write(json.dumps([str(word) for word in words]) + "\n")
        self.process.stdin.flush()
        said = []
        for line in self.process.stdout:
            if line.startswith(self.STATUS):
                return int(line.removeprefix(self.STATUS)), "".join(said)
            said.append(line)
        return None, "".join(said)


@cache
def compiler():
    return Compiler()


def verify(model, dtype, *options):
    """Compares what every kernel leaves with the reference evaluator."""
    status, said = compiler().run("verify", model, f"--dtype={dtype}", "--target=cuda", *options)
    if status != 0:
        # A GPU's fault stays in the process that had it.
        compiler().process.kill()
        compiler().process.wait()
        compiler.cache_clear()
    assert status == 0, said
    assert "within the numeric policy, on a GPU\n" in said


# ===------------------------------------------------------------------------=== #
# Libraries
# ===------------------------------------------------------------------------=== #


@cache
def hold_device():
    """What libraries of this process share with each other."""
    driver, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
    assert not driver.cuInit(0) and not driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)


def load(library, name):
    hold_device()
    return Model(str(library), name)


class LibraryTrial(Trial):
    """A random model as a library in this process."""

    def compile_options(self):
        return [*super().compile_options(), "--emit=lib"]

    def execute(self, folder, inputs, run):
        # Of two libraries of one path the loader takes the first.
        library = folder / f"{self.seed}.so"
        if run == 1:
            (folder / "program.so").rename(library)
        try:
            model = load(library, self.description["name"])
            outputs = model(**inputs)
            model.close()
        except ValueError as error:
            return Verdict("running", str(error))
        return outputs
