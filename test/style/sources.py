# SPDX-License-Identifier: Apache-2.0
"""The files under version control, which the style tests look at."""

import subprocess
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]


@cache
def tracked():
    """Paths relative to the repository root, of files that exist."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=SOURCE, capture_output=True, check=True)
    names = sorted(set(listed.stdout.decode().split("\0")) - {""})
    return [Path(name) for name in names if (SOURCE / name).is_file()]


def files(*suffixes, under=""):
    return [
        path
        for path in tracked()
        if path.suffix in suffixes and path.as_posix().startswith(under)
    ]


def text(path):
    return (SOURCE / path).read_text(encoding="utf-8")
