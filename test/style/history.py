# SPDX-License-Identifier: Apache-2.0
"""The commits since a base, and the files of each."""

import subprocess
from functools import cache

from sources import SOURCE


class NoHistory(Exception):
    """Why the commits since a base cannot be read."""


def git(*arguments, **more):
    return subprocess.run(["git", *arguments], cwd=SOURCE, capture_output=True, check=False, **more)


def commits_since(base):
    """(name, subject) of each commit that is no merge, the oldest first.

    A checkout without git's history, or one that ends after the base, is a NoHistory that says so.
    """
    try:
        inside = git("rev-parse", "--show-toplevel", text=True)
    except OSError as error:
        raise NoHistory("the commits are not read: there is no program git") from error
    if inside.returncode != 0 or inside.stdout.strip() != str(SOURCE):
        raise NoHistory(f"the commits are not read: {SOURCE} is no checkout of git")
    if git("merge-base", "--is-ancestor", base, "HEAD").returncode != 0:
        raise NoHistory(f"the commits are not read: this history does not reach {base[:8]} (git fetch --unshallow gets all of it)")
    listed = git("log", "--reverse", "--no-merges", "--format=%h\t%s", f"{base}..HEAD", text=True)
    return [tuple(line.split("\t", 1)) for line in listed.stdout.splitlines()]


@cache
def tree(commit):
    """Paths of the files of a commit, and the name of what each holds."""
    listed = git("ls-tree", "-r", "-z", commit).stdout.decode()
    entries = [entry.partition("\t") for entry in listed.split("\0") if entry]
    return {path: kind.split()[2] for kind, _, path in entries}


def contents(names):
    """What each of the named blobs holds."""
    done = git("cat-file", "--batch", input="\n".join(names).encode())
    found, at = [], 0
    for _ in names:
        end = done.stdout.index(b"\n", at)
        size = int(done.stdout[at:end].split()[2])
        found.append(done.stdout[end + 1 : end + 1 + size].decode(errors="replace"))
        at = end + 1 + size + 1
    return found
