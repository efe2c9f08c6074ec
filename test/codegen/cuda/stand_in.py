# ===- stand_in.py - A driver whose device is the interpreter of PTX --------------=== #
# SPDX-License-Identifier: Apache-2.0
"""What a program is run with, for the stand-in of test/runtime to be its driver. This process interprets its launches
(ptx_launch.py): to start one for each, with NumPy, takes longer than most of them."""

import os
import tempfile
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import ptx_launch

BUILD = Path(os.environ["HOVA_BUILD"])
# Asks, waits for the answer, and has its text and status.
ASK = """#!/bin/sh
mkfifo "$2/answer"
echo "$1:$2" >{requests}
read -r status <"$2/answer"
cat "$2/said" >&2
rm "$2/answer"
exit "$status"
"""
# Who notes launches now.
NOTES: list[list[ptx_launch.Launch]] = []


@contextmanager
def noted() -> Iterator[list[ptx_launch.Launch]]:
    """All launches of meanwhile, as they were asked for."""
    launches: list[ptx_launch.Launch] = []
    NOTES.append(launches)
    yield launches
    NOTES.remove(launches)


def answer(sums: str, folder: Path) -> None:
    try:
        for launches in NOTES:
            launches.append(ptx_launch.read(folder))
        status, said = ptx_launch.interpret(folder, sums)
    except Exception:  # of whatever kind: the program that asked waits
        status, said = 1, traceback.format_exc()
    (folder / "said").write_text(said, encoding="utf-8")
    (folder / "answer").write_text(f"{status}\n", encoding="utf-8")


@cache
def place() -> tempfile.TemporaryDirectory:
    """Of the files of the server, until this process ends."""
    return tempfile.TemporaryDirectory(prefix="hova-stand-in-")


@cache
def server() -> Path:
    """The command that asks a thread of this process, which lives as long."""
    folder = Path(place().name)
    requests, command = folder / "requests", folder / "ask"
    os.mkfifo(requests)
    command.write_text(ASK.format(requests=requests), encoding="utf-8")
    command.chmod(0o755)
    # Open for both, so that it never ends.
    lines = os.fdopen(os.open(requests, os.O_RDWR), encoding="utf-8")

    def serve() -> None:
        for line in lines:
            sums, _, launch = line.rstrip("\n").partition(":")
            answer(sums, Path(launch))

    threading.Thread(target=serve, daemon=True).start()
    return command


def environment(launches: Path, sums: str = "in-order") -> dict[str, str]:
    """Variables of a program whose launches go through this folder; `sums` is how `mma.sync` adds."""
    launches.mkdir(exist_ok=True)
    return {"LD_LIBRARY_PATH": str(BUILD / "test/runtime/driver"), "STAND_IN_LAUNCHES": str(launches),
            "STAND_IN_INTERPRETER": f"'{server()}' {sums}"}
