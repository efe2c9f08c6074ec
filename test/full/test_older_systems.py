# ===- test_older_systems.py - Programs where the C library is older ----------=== #
# SPDX-License-Identifier: Apache-2.0
"""A program that is compiled here classifies images in a root of Debian 11, whose glibc is 2.31.

Its threads and the loader of a driver are in libraries of their own there. mmdebstrap makes the root
from the machine's own mirror, which has to be reachable; Debian 10 (2.28) is no longer on it, and
test/runtime/test_link.py reads that programs ask for nothing later.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["HOVA_BUILD"])
DIGITS = SOURCE / "examples/01-digits"
SOURCES = Path("/etc/apt/sources.list.d/debian.sources")
RELEASE, LIBRARY = "bullseye", "libc-2.31.so"


def run(*command, **options):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, **options)


def make_root(folder, release, packages, *options):
    """A root of a release of Debian, with the files of packages and of what they need."""
    if os.getuid() != 0:
        pytest.skip("only root may change the root of a process")
    if not shutil.which("mmdebstrap"):
        pytest.skip("mmdebstrap is missing: ./dev test --full installs it")
    mirror = re.search(r"^URIs: (\S+/debian)/?$", SOURCES.read_text() if SOURCES.exists() else "", re.MULTILINE)
    if not mirror:
        pytest.skip(f"this machine has no {SOURCES} with a mirror of Debian")
    done = run("mmdebstrap", "--variant=extract", f"--include={packages}", *options, release, folder, mirror[1])
    if done.returncode and any(word in done.stderr for word in ("Could not resolve", "Temporary failure")):
        pytest.skip("the package archive cannot be reached")
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


def inside(root):
    """What a command in a root begins with. Programs find their libraries by /proc."""
    (root / "proc").mkdir(exist_ok=True)
    return ["unshare", "--mount", "sh", "-c", 'mount --bind /proc "$0/proc" && exec chroot "$0" "$@"', root]


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    folder = make_root(tmp_path_factory.mktemp("older") / "root", RELEASE, "libc6")
    assert (folder / "lib/x86_64-linux-gnu" / LIBRARY).exists()
    return folder


@pytest.mark.parametrize("target, more", [("cpu", ["--threads", "2"]), ("cuda-emulated", [])], ids=["cpu", "emulated"])
def test_digits_are_read_on_an_older_system(target, more, root):
    program = root / f"digits-{target}"
    done = run(BUILD / "bin/hova", "compile", DIGITS / "digits.json", "--weights", DIGITS / "weights.safetensors",
               "--set", "batch=400", f"--target={target}", "-o", program)
    assert done.returncode == 0, done.stderr
    for name in ("images", "logits"):
        (root / f"{name}.npy").write_bytes((DIGITS / f"{name}.npy").read_bytes())
    done = run("chroot", root, f"/{program.name}", "--input", "/images.npy", "--expected", "/logits.npy", *more)
    assert done.returncode == 0 and "0 of 4000 elements differ" in done.stdout + done.stderr, done.stderr


def test_a_program_for_a_gpu_says_that_there_is_none(root):
    done = run(BUILD / "bin/hova", "compile", DIGITS / "digits.json", "--target=cuda", "-o", root / "digits")
    assert done.returncode == 0, done.stderr
    done = run("chroot", root, "/digits", "--random-inputs", "1")
    assert done.returncode == 1 and "found no driver of an NVIDIA GPU" in done.stderr
