# ===- before.py - The compiler of another commit ----------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Builds hova as it was at a commit, once: build/against/COMMIT stays.

Its sources are unpacked below that folder; git is told of no further work tree. The
options are those of the main build, so that compile times can be compared.
"""

import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from programs import BenchError

# What decides how hova is built; what else a cache has was found by CMake.
OPTIONS = (
    "CMAKE_BUILD_TYPE",
    "CMAKE_C_COMPILER",
    "CMAKE_CXX_COMPILER",
    "CMAKE_LINKER_TYPE",
    "CMAKE_C_FLAGS",
    "CMAKE_CXX_FLAGS",
    "MLIR_DIR",
)


class Commit(NamedTuple):
    sha: str
    subject: str


def find_commit(repository: Path, name: str) -> Commit | None:
    """None: git knows no commit of that name."""
    show = ["git", "show", "--no-patch", "--abbrev=12", "--format=%h%n%s"]
    done = subprocess.run(
        [*show, "--end-of-options", f"{name}^{{commit}}", "--"],
        cwd=repository,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = done.stdout.splitlines()
    return Commit(*lines) if done.returncode == 0 and len(lines) == 2 else None


def options_of(build: Path) -> list[str]:
    """On a command line of CMake."""
    cache = build / "CMakeCache.txt"
    if not cache.exists():
        raise BenchError(f"{build} is not built: ./dev build does that")
    names = "|".join(OPTIONS)
    found = re.findall(rf"^((?:{names}):\w+=.*)$", cache.read_text(), re.M)
    return [f"-D{option}" for option in found]


def unpack(repository: Path, commit: Commit, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    archive = subprocess.run(
        ["git", "archive", commit.sha], cwd=repository, capture_output=True, check=True
    )
    subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)


def build_hova(repository: Path, build: Path, commit: Commit) -> Path:
    """The compiler of the commit. What it links into programs is made before it is, so
    a folder that has it is complete."""
    folder = build / "against" / commit.sha
    hova, log = folder / "bin/hova", folder / "build.log"
    if hova.exists():
        return hova
    options = options_of(build)
    unpack(repository, commit, folder / "source")
    text = f"building {commit.sha}, which takes some minutes (progress: {log})"
    print(f"bench: {text}", file=sys.stderr, flush=True)
    configure = ["cmake", "-G", "Ninja", "-S", folder / "source", "-B", folder, *options]
    make = ["cmake", "--build", folder, "--target", "bin/hova"]
    with log.open("w") as stream:
        for command in (configure, make):
            done = subprocess.run(command, stdout=stream, stderr=stream, check=False)
            if done.returncode != 0:
                raise BenchError(f"{commit.sha} does not build (details: {log})")
    return hova
