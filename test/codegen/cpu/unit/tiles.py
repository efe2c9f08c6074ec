# ===- tiles.py - Programs for a matrix unit on any processor --------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Runs the code of a program that is for a processor with AMX. EmulateTiles.c executes the instructions of the unit; everything
else is what the processor of this machine does, so it has to have AVX-512 with bf16."""

import os
import re
import struct
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
BUILD = Path(os.environ["HOVA_BUILD"])
HOVA = BUILD / "bin/hova"
LEVEL = "sapphirerapids"


def feature_bits():
    text = (ROOT / "runtime/hova_runtime.h").read_text()
    names = text.split("#define HOVA_CPU_FEATURES(X)")[1].split("enum hova_cpu_bit")[0]
    return {name: 1 << bit for bit, name in enumerate(re.findall(r'X\(\w+, "(.*?)"\)', names))}


UNIT = sum(bit for name, bit in feature_bits().items() if name.startswith("amx-"))


def has_vectors():
    """Whether this processor runs what is not the unit's."""
    flags = Path("/proc/cpuinfo").read_text().split("flags", 1)[1].split("\n", 1)[0].split()
    return {"avx512_bf16", "avx512_fp16", "avx512vbmi"} <= set(flags)


def has_unit():
    return "amx_tile" in Path("/proc/cpuinfo").read_text()


def build_library(name, folder):
    """Of a source in this folder, to be loaded before a program."""
    library = folder / f"{name}.so"
    source = Path(__file__).parent / f"{name}.c"
    subprocess.run(
        ["clang-22", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-mfma", "-o", library, source, "-lm"], check=True
    )
    return library


def build_emulator(folder):
    return build_library("EmulateTiles", folder)


def compile_program(model, output, *words):
    done = subprocess.run(
        [HOVA, "compile", model, "--dtype=bf16", f"--march={LEVEL}", "--quiet", "-o", output, *words],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def claim_unit(program, output):
    """The same program, whose best level asks for no matrix unit: it is taken on any machine that has the rest."""
    data = bytearray(program.read_bytes())
    record = 40  # of a hova_level
    places = [
        at
        for at in range(0, len(data) - record - 7, 8)
        for features in [int.from_bytes(data[at : at + 8], "little")]
        if features & UNIT == UNIT
        and int.from_bytes(data[at + record : at + record + 8], "little") == features & ~UNIT
        and features & ~UNIT
    ]
    assert len(places) == 1, "a program with the level and the same one without the unit"
    (features,) = struct.unpack_from("<Q", data, places[0])
    struct.pack_into("<Q", data, places[0], features & ~UNIT)
    output.write_bytes(data)
    output.chmod(0o755)


# What a program asks the processor, and what EmulateTiles.c answers instead.
QUESTIONS = {"cpuid": (b"\x0f\xa2", b"\x0f\x0b"), "xgetbv": (b"\x0f\x01\xd0", b"\x0f\xff\xc0")}


def pretend_unit(program, output):
    """The same program, which hears of a unit where EmulateTiles.c is loaded before it."""
    data = bytearray(program.read_bytes())
    words = ("-d", "--disassemble-symbols=hova_cpu_features", program)
    code = subprocess.run(["llvm-objdump-22", *words], capture_output=True, text=True, check=True).stdout
    headers = [struct.unpack_from("<IIQQQQ", data, int.from_bytes(data[32:40], "little") + 56 * i) for i in range(data[56])]
    found = re.findall(r"^\s*(\w+): .*\t(cpuid|xgetbv)\b", code, re.MULTILINE)
    assert {name for _, name in found} == set(QUESTIONS)
    for address, name in found:
        # Where the segment with that address lies in the file.
        (place,) = (
            int(address, 16) - begin + offset
            for kind, _, offset, begin, _, size in headers
            if kind == 1 and begin <= int(address, 16) < begin + size
        )
        asked, instead = QUESTIONS[name]
        assert data[place : place + len(asked)] == asked
        data[place : place + len(asked)] = instead
    output.write_bytes(data)
    output.chmod(0o755)


class Emulated:
    """A program and what runs it: `run` by the unit, `run_plain` without it."""

    def __init__(self, model, folder, emulator, *words):
        self.folder, self.emulator = folder, emulator
        self.plain, self.claimed = folder / "plain", folder / "claimed"
        compile_program(model, self.plain, *words)
        claim_unit(self.plain, self.claimed)

    def run_plain(self, *words):
        return subprocess.run([self.plain, *map(str, words)], capture_output=True, text=True, check=True).stdout

    def run(self, *words):
        """The numbers of instructions by name."""
        counts = self.folder / "counts"
        done = subprocess.run(
            [self.claimed, *map(str, words)],
            env={**os.environ, "LD_PRELOAD": str(self.emulator), "HOVA_TILE_COUNTS": str(counts)},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, (done.returncode, done.stderr)
        return {name: int(count) for name, count in map(str.split, counts.read_text().splitlines())}
