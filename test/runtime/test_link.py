# ===- test_link.py - Linked files ------------------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""What hova's link step makes of an object: dependencies, symbols, weights, equal bytes."""

import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

BUILD = Path(os.environ["HOVA_BUILD"])
FIXTURES = BUILD / "test/runtime"
LLVM = Path(os.environ["HOVA_LLVM"]) / "bin"
LINK = BUILD / "bin/hova-link-fixture"
LARGE = 300 << 20
MODEL = Path(__file__).resolve().parents[2] / "examples/models/lecture_mha.json"


def output_of(*command):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=True).stdout


def link(*arguments):
    return subprocess.run([LINK, *map(str, arguments)], capture_output=True, text=True, check=False)


LINKED = ["fixture", "beside", "library.so", "device", "device.so", "device-emulated", "device-emulated.so", "both", "both.so"]


@pytest.mark.parametrize("name", LINKED)
def test_depends_on_the_c_library_only(name):
    """In four parts, as it comes before glibc 2.34; the last two are empty since then."""
    needed = re.findall(r"NEEDED.*\[(.*)\]", output_of(LLVM / "llvm-readelf", "-d", FIXTURES / name))
    of_gpus = {"libdl.so.2"} if "device" in name or "both" in name else set()
    assert set(needed) - {"libm.so.6"} == {"libc.so.6", "libpthread.so.0"} | of_gpus


def check_versions(file):
    text = output_of(LLVM / "llvm-readelf", "--version-info", file)
    versions = [tuple(map(int, found.split("."))) for found in re.findall(r"Name: GLIBC_([0-9.]+)", text)]
    assert (2, 2, 5) in versions and max(versions) <= (2, 28)
    assert "GLIBC_PRIVATE" not in text


@pytest.mark.parametrize("name", LINKED)
def test_starts_with_glibc_2_28(name):
    """Debian 10, Ubuntu 20.04 and RHEL 8 have it. The versions are those that the loader looks for."""
    check_versions(FIXTURES / name)


# The archives that an object is linked with, by its target.
ARCHIVES = {
    "cpu": ["hova_runtime", "hova_runtime_readers"],
    "cuda": ["hova_runtime_cuda", "hova_runtime_readers"],
    "cuda-emulated": ["hova_runtime_cuda_emulated", "hova_emulation", "hova_runtime_readers"],
}


@pytest.mark.parametrize("target", ARCHIVES)
def test_an_object_starts_with_glibc_2_28(target, tmp_path):
    """Linked with all of its archives by a linker that has the C library of this machine, as in a project of one's own."""
    model = ["compile", MODEL, f"--target={target}", "--emit=obj", "-q", "-o", tmp_path / "model.o"]
    output_of(BUILD / "bin/hova", *model)
    archives = [BUILD / f"lib/lib{name}.a" for name in ARCHIVES[target]]
    linked = ["-Wl,-z,defs", tmp_path / "model.o", "-Wl,--whole-archive", *archives, "-Wl,--no-whole-archive", "-lm"]
    output_of(LLVM / "clang", "-shared", "-fuse-ld=lld", *linked, "-o", tmp_path / "model.so")
    check_versions(tmp_path / "model.so")


@pytest.mark.parametrize("name", ["fixture", "library.so", "device", "device.so", "device-emulated", "device-emulated.so"])
def test_has_no_writable_symbol_and_no_executable_stack(name):
    symbols = output_of(LLVM / "llvm-nm", "--format=sysv", FIXTURES / name)
    # Relocated constants are writable until the loader has done its work (RELRO).
    allowed = {".data.rel.ro", ".dynamic", ".got", ".got.plt", ".relro_padding", ".hova_weights"}
    writable = set(re.findall(r"\|(\.(?:data|bss|tdata|tbss)[^|\s]*)\s*$", symbols, re.M)) - allowed
    assert not writable
    segments = output_of(LLVM / "llvm-readelf", "-lW", FIXTURES / name)
    assert not re.search(r"^\s*(LOAD|GNU_STACK).*RWE", segments, re.M)
    assert re.search(r"^\s*GNU_RELRO", segments, re.M)


@pytest.mark.parametrize(("library", "prefix"), [("library.so", "fixture"), ("device.so", "device"), ("device-emulated.so", "device"), ("both.so", "both")])
def test_a_library_exports_its_functions_alone(library, prefix):
    text = output_of(LLVM / "llvm-nm", "-D", "--defined-only", FIXTURES / library)
    assert {line.split()[-1] for line in text.splitlines()} == {
        f"{prefix}_{name}" for name in ("abi_version", "create", "destroy", "inspection", "message", "program", "run", "run_packed", "target")
    }


@pytest.mark.parametrize("language", [["clang", "-xc", "-std=c99"], ["clang++", "-xc++", "-std=c++17"]])
def test_the_header_of_a_library_compiles(tmp_path, language):
    source = tmp_path / "use.c"
    source.write_text('#include "library.h"\nint main(void) { return fixture_abi_version() != HOVA_ABI_VERSION; }\n')
    flags = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only", "-I", FIXTURES]
    subprocess.run([LLVM / language[0], *language[1:], *flags, source], check=True)


def test_equal_input_gives_equal_files(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        for kind in ("exe", "lib"):
            result = link(FIXTURES / "fixture.o", tmp_path / folder / kind, "fixture", kind, 64)
            assert result.returncode == 0, result.stderr
    for name in ("exe", "lib.so", "lib.h"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert sorted(os.listdir(tmp_path / "a")) == ["exe", "lib.h", "lib.so"]


def test_large_weights_are_mapped_and_survive_strip(tmp_path):
    program = tmp_path / "large"
    assert link(FIXTURES / "large.o", program, "fixture", "exe", LARGE).returncode == 0
    expected = output_of(program, "--random-inputs=1")
    assert f"weights    {LARGE} bytes, embedded" in output_of(program, "--describe")
    strippers = [LLVM / "llvm-strip"] + ([shutil.which("strip")] if shutil.which("strip") else [])
    for strip in strippers:
        copy = tmp_path / "stripped"
        subprocess.run([strip, "-o", copy, program], check=True)
        assert copy.stat().st_size < program.stat().st_size
        assert output_of(copy, "--random-inputs=1") == expected
        copy.unlink()


def test_large_weights_are_not_read_at_start(tmp_path):
    """Resident memory stays small: the image is mapped, not copied."""
    program = tmp_path / "large"
    assert link(FIXTURES / "large.o", program, "fixture", "exe", LARGE).returncode == 0
    # A child starts with the peak of the process that forked it: measure from a
    # small one, not from this test run.
    measure = (
        "import resource, subprocess, sys\n"
        "subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    command = [sys.executable, "-c", measure, program, "--random-inputs=1"]
    peak_kb = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert peak_kb * 1024 < LARGE // 4


@pytest.mark.parametrize(
    ("prefix", "message"),
    [
        ("missing", "symbol not found: hova_program_missing"),
        ("a b", "expects a C identifier as prefix, got 'a b'"),
        ("1a", "expects a C identifier as prefix"),
        ("", "expects a C identifier as prefix"),
    ],
)
def test_what_does_not_link_leaves_no_file(tmp_path, prefix, message):
    result = link(FIXTURES / "fixture.o", tmp_path / "out", prefix, "exe", 0)
    assert result.returncode == 1 and message in result.stderr
    assert os.listdir(tmp_path) == []


def test_writable_data_beside_the_weights_is_named(tmp_path):
    """The runtime has none, so that the segment of the weights is theirs alone."""
    data = tmp_path / "data.o"
    command = [LLVM / "clang", "-xc", "-fPIC", "-c", "-", "-o", data]
    source = "__attribute__((used, retain)) int count = 7;"
    subprocess.run(command, input=source, text=True, check=True)
    both = tmp_path / "both.o"
    subprocess.run([LLVM / "ld.lld", "-r", FIXTURES / "fixture.o", data, "-o", both], check=True)
    result = link(both, tmp_path / "out", "fixture", "exe", 64)
    assert result.returncode == 1
    assert "share their segment with '.data': make what the runtime" in result.stderr
    assert "--weights-mode=file keeps them in a file beside it" in result.stderr
    assert not (tmp_path / "out").exists()
    # What it says to do works.
    result = link(both, tmp_path / "out", "fixture", "exe", 64, tmp_path / "out.weights")
    assert result.returncode == 0, result.stderr
    assert output_of(tmp_path / "out", "--random-inputs=1") == output_of(FIXTURES / "fixture", "--random-inputs=1")


def test_an_output_folder_that_is_missing_is_said(tmp_path):
    result = link(FIXTURES / "fixture.o", tmp_path / "none/out", "fixture", "exe", 0)
    assert result.returncode == 1 and "cannot write" in result.stderr


@pytest.mark.parametrize("kind", ["exe", "lib"])
def test_a_full_disk_leaves_the_old_file(tmp_path, kind):
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    names = ["out"] if kind == "exe" else ["out.h", "out.so"]
    for name in names:
        (tmp_path / name).write_text("old")
    command = [LINK, FIXTURES / "large.o", tmp_path / "out", "fixture", kind, str(LARGE)]
    result = subprocess.run(command, capture_output=True, text=True, preexec_fn=limit, check=False)
    assert result.returncode == 1 and "cannot write" in result.stderr
    assert sorted(os.listdir(tmp_path)) == names
    assert [(tmp_path / name).read_text() for name in names] == ["old"] * len(names)
