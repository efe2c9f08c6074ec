# ===- test_files.py - The files of compiled programs ----------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Outputs of the fixture (Fixture.c): none replaces what is read, and none is lost in part."""

import os
import resource
import signal
import stat
import subprocess
import threading
from pathlib import Path

import numpy as np
import pytest

FIXTURES = Path(os.environ["HOVA_BUILD"]) / "test/runtime"
GIVEN = ("x", "ids", "mask")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working directory: a program, its weights and its inputs."""
    np.save(tmp_path / "x.npy", np.arange(32, dtype=np.float32).reshape(4, 8))
    np.save(tmp_path / "ids.npy", np.array([0, 1, 2, 9]))
    np.save(tmp_path / "mask.npy", np.array([True, False, True, True]))
    for name in ("beside", "beside.weights"):
        (tmp_path / name).write_bytes((FIXTURES / name).read_bytes())
    (tmp_path / "beside").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments, **options):
    inputs = [f"--input={name}={name}.npy" for name in GIVEN]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.run(["./beside", *inputs, *arguments], check=False, **options)


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--output=y=x.npy"], "cannot write 'x.npy' (--output): it is the same file as 'x.npy' (--input)"),
        (["--output=y=./link"], "cannot write './link' (--output): it is the same file as 'x.npy' (--input)"),
        (["--output=y=beside"], "(this program)"),
        (["--output=y=beside.weights"], "(the weights)"),
        (["--trace=hard"], "'hard' (--trace): it is the same file as 'mask.npy' (--input)"),
        (["--benchmark-out=ids.npy"], "(--benchmark-out): it is the same file as 'ids.npy' (--input)"),
        (["--expected=y=e.npy", "--output=y=e.npy"], "(--output): it is the same file as 'e.npy' (--expected)"),
        (["--expected=y=none.npy", "--output=y=none.npy"], "(--output): it is the same file as 'none.npy' (--expected)"),
        (["--expected=y=new/y.npy", "--output-dir=new"], "(--output-dir): it is the same file as 'new/y.npy' (--expected)"),
        (["--output=y=o", "--output=kept=o"], "'o' (--output): it is the same file as 'o' (--output)"),
        (["--output=y=o", "--trace=dangling"], "'dangling' (--trace): it is the same file as 'o' (--output)"),
        (["--output-dir=new", "--output=kept=new/y.npy"], "'new/y.npy' (--output): it is the same file as 'new/y.npy' (--output-dir)"),
    ],
)
def test_an_output_is_no_other_file(folder, arguments, message):
    os.symlink("x.npy", "link")
    os.link("mask.npy", "hard")
    os.symlink("o", "dangling")
    (folder / "e.npy").write_bytes(b"expected")
    before = contents(folder)
    result = run(*arguments, text=True)
    assert (result.returncode, message in result.stderr) == (2, True), result.stderr
    assert contents(folder) == before and not (folder / "new").exists()


@pytest.mark.parametrize("argument", ["--output=y=no/o", "--output=y=x.npy/o", "--trace=.", "--output-dir=x.npy"])
def test_what_cannot_be_written_is_told_before_the_inputs_are_read(folder, argument):
    (folder / "mask.npy").write_bytes(b"no tensor")
    before = contents(folder)
    result = run(argument, "--output=kept=kept.npy", text=True)
    assert result.returncode == 74 and "error: cannot" in result.stderr
    assert contents(folder) == before


def test_a_folder_that_was_made_for_nothing_is_removed(folder):
    (folder / "mask.npy").write_bytes(b"no tensor")
    assert run("--output-dir=new").returncode == 1
    assert not (folder / "new").exists()


@pytest.mark.parametrize("option", ["--output=y=fifo", "--trace=fifo", "--benchmark-out=fifo"])
def test_a_fifo_is_written_through(folder, option):
    os.mkfifo("fifo")
    read = []
    reader = threading.Thread(target=lambda: read.append(Path("fifo").read_bytes()))
    reader.start()
    assert run(option).returncode == 0
    reader.join()
    assert len(read[0]) > 50 and stat.S_ISFIFO(os.stat("fifo").st_mode)


@pytest.mark.parametrize("name", ["-", "/dev/stdout"])
def test_standard_output_is_written_through(folder, name):
    """After what is there already."""
    assert run("--output=y=o.npy").returncode == 0
    with open("log", "wb") as log:
        log.write(b"before")
        log.flush()
        assert run(f"--output=y={name}", stdout=log).returncode == 0
    assert (folder / "log").read_bytes() == b"before" + (folder / "o.npy").read_bytes()


@pytest.mark.parametrize("closed", [0, 1, 2])
def test_a_closed_standard_file_is_no_output(folder, closed):
    """The next file that is opened would get its number, and the summary would go into it."""
    result = subprocess.run(["sh", "-c", f'exec "$@" {closed}>&-', "sh", "./beside", "--random-inputs=1", "--output=y=o.npy", "--trace=t"], check=False)
    assert result.returncode == 0 and np.load("o.npy").shape == (4, 8)
    if closed == 1:
        assert run("--random-inputs=1", preexec_fn=lambda: os.close(1), stdout=None, text=True).returncode == 74


def test_a_limit_of_file_sizes_leaves_the_old_file(folder):
    (folder / "o.npy").write_bytes(b"old")

    def limit():
        # Python ignores the signal, and programs inherit that.
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    before = contents(folder)
    result = run("--output=y=o.npy", preexec_fn=limit, text=True)
    assert result.returncode == 74 and "cannot write 'o.npy': File too large" in result.stderr
    assert contents(folder) == before
