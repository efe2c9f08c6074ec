# ===- test_dockerfile.py - The container's commands in clean roots -------------=== #
# SPDX-License-Identifier: Apache-2.0
"""What the Dockerfile says, done without Docker: each stage is a fresh Debian 12 that mmdebstrap makes, and each
instruction a hook in it. So hova is built from what git has, on a system that has nothing else.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]
DIGITS = SOURCE / "examples/01-digits"
SOURCES = Path("/etc/apt/sources.list.d/debian.sources")
BASE, RELEASE = "debian:12-slim", "bookworm"


def stages():
    """The instructions of each stage: {name: [(instruction, what follows)]}."""
    lines = (SOURCE / "Dockerfile").read_text().replace("\\\n", " ").splitlines()
    result = {}
    for line in lines:
        if not line or line.startswith("#"):
            continue
        instruction, rest = line.split(maxsplit=1)
        if instruction == "FROM":
            base, _, name = rest.partition(" AS ")
            assert base == BASE
            result[name or "final"] = []
        else:
            result[name or "final"].append((instruction, rest))
    return result


def copy_of_the_tree(folder):
    """What a clone has, and what is new: .dockerignore leaves that alone."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=SOURCE, capture_output=True, check=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        if (SOURCE / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(SOURCE / name, folder / name, follow_symlinks=False)
    return folder


class Stage:
    """The hooks of mmdebstrap that do what a stage says; `tree` is the folder in which docker build runs."""

    def __init__(self, instructions, tree, outputs):
        self.folder, self.hooks, self.entry = "/", [], None
        self.tree, self.outputs = tree, outputs
        for instruction, rest in instructions:
            getattr(self, instruction.lower())(rest)

    def workdir(self, rest):
        self.folder = rest
        self.run(f"mkdir -p {shlex.quote(rest)}", "/")

    def run(self, command, folder=None):
        inside = f"cd {shlex.quote(folder or self.folder)}\n{command}"
        self.hooks.append(f'chroot "$1" env -i PATH="$PATH" HOME=/root sh -ec {shlex.quote(inside)} 2>&1')

    def copy(self, rest):
        from_stage = re.fullmatch(r"--from=(\w+) (\S+) (\S+)", rest)
        if from_stage:
            stage, path, place = from_stage.groups()
            source = self.outputs / stage / path.lstrip("/")
        else:
            assert rest == ". ."
            source, place = self.tree, self.folder
        self.run(f"mkdir -p {place}", "/")
        self.hooks.append(f"sync-in {source} {place}")

    def entrypoint(self, rest):
        self.entry = shlex.join(json.loads(rest))

    def keep(self, path, folder):
        """Takes a folder out of the root, to where a later stage or the test looks for it."""
        folder.mkdir(parents=True)
        self.hooks.append(f"sync-out {path} {folder}")

    def build(self, scratch):
        scratch.mkdir()
        done = subprocess.run(
            [
                *("mmdebstrap", "--variant=apt", "--mode=root" if os.getuid() == 0 else "--mode=unshare"),
                *(f"--customize-hook={hook}" for hook in self.hooks),
                *(RELEASE, "/dev/null", str(SOURCES)),
            ],
            env={**os.environ, "TMPDIR": str(scratch)},
            capture_output=True,
            text=True,
            check=False,
        )
        said = done.stdout + done.stderr
        if done.returncode and any(word in said for word in ("Could not resolve", "Temporary failure")):
            pytest.skip("the package archive cannot be reached")
        assert done.returncode == 0, said[-6000:]
        return said


@pytest.mark.skipif(not SOURCES.exists(), reason=f"this machine has no {SOURCES}")
def test_the_image_compiles_a_model_that_runs_outside_of_it(tmp_path):
    os.chmod(tmp_path, 0o755)
    all_of_them, outputs = stages(), tmp_path / "outputs"
    later = re.findall(r"--from=(\w+) (\S+)", (SOURCE / "Dockerfile").read_text())
    tree = copy_of_the_tree(tmp_path / "tree")
    for name, instructions in all_of_them.items():
        stage = Stage(instructions, tree, outputs)
        for of, path in later:
            if of == name:
                stage.keep(path, outputs / of / path.lstrip("/"))
        if name == "final":
            stage.hooks.append(f"sync-in {DIGITS} {stage.folder}")
            stage.run(f"{stage.entry} compile digits.json --weights weights.safetensors --set batch=400 --march=x86-64-v3 -o digits")
            stage.keep(stage.folder, tmp_path / "work")
        stage.build(tmp_path / f"scratch-{name}")
    work = tmp_path / "work"
    done = subprocess.run(
        [work / "digits", "--input", work / "images.npy", "--expected", work / "logits.npy"],
        capture_output=True, text=True, check=False,
    )
    assert done.returncode == 0 and "0 of 4000 elements differ" in done.stdout + done.stderr, done.stderr
