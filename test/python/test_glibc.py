# ===- test_glibc.py - What the wheel puts in the place of a newer C library ------=== #
# SPDX-License-Identifier: Apache-2.0
"""tools/python/Glibc.c below a small library that is linked as the wheel's: it does the same, and needs glibc 2.28 at most."""

import re
import subprocess

import pytest
from conftest import SOURCE

LIBRARY = r"""
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <malloc.h>
#include <mutex>
#include <stdexcept>
#include <string.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

extern "C" unsigned arc4random();
__attribute__((noinline)) static void fail(const char *what) { throw std::runtime_error(what); }

static void once(const char *what) {
  try { fail(what); } catch (const std::exception &error) { std::puts(error.what()); }
}

extern "C" __attribute__((visibility("default"))) void go(double two) {
  once("thrown");
  std::thread(once, "thrown in a thread").join();
  std::mutex mutex;
  std::condition_variable never;
  std::unique_lock<std::mutex> lock(mutex);
  bool came = never.wait_for(lock, std::chrono::milliseconds(20), [] { return false; });
  std::printf("waited %d\n", !came);
  struct stat file, link, open;
  int failed = stat("/proc/self/exe", &file) | lstat("/proc/self/exe", &link) | fstat(1, &open);
  std::printf("files %d %d %d %d\n", failed, S_ISREG(file.st_mode), S_ISLNK(link.st_mode), S_ISFIFO(open.st_mode));
  std::printf("signals %s %s %d\n", sigabbrev_np(11), sigabbrev_np(31), sigabbrev_np(0) || sigabbrev_np(32) || sigabbrev_np(-1));
  std::printf("numbers %g %g %g %g %g\n", std::exp2(two), std::log2(two), std::pow(two, 3), std::exp(0 * two), std::log(two / 2));
  std::printf("process %d %d %d\n", gettid() == getpid(), mallinfo2().arena > 0, arc4random() != arc4random());
}
"""
SAID = """thrown
thrown in a thread
waited 1
files 0 1 1 1
signals SEGV SYS 0
numbers 4 1 8 1 0
process 1 1 1
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("glibc")
    (folder / "go.cpp").write_text(LIBRARY)
    (folder / "main.c").write_text("void go(double two);\nint main(void) { go(2); return 0; }\n")
    (folder / "exports.map").write_text("{ global: go; local: *; };\n")

    def run(*command):
        done = subprocess.run([str(word) for word in command], cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    run("clang-22", "-O2", "-fPIC", "-fvisibility=hidden", "-c", SOURCE / "tools/python/Glibc.c", "-o", "Glibc.o")
    libraries = names_of_libraries()
    static = ["-fuse-ld=lld", "-static-libstdc++", "-static-libgcc", "-Wl,--gc-sections,--exclude-libs=ALL,-z,defs,--version-script=exports.map"]
    run("clang++-22", "-O2", "-fPIC", "-shared", *static, "go.cpp", "Glibc.o", "-o", "libgo.so", f"-Wl,--no-as-needed,{libraries}")
    run("clang-22", "-fuse-ld=lld", "-nostartfiles", "main.c", SOURCE / "runtime/main/Start.c", "-L.", "-lgo", "-Wl,-rpath,$ORIGIN", "-o", "main")
    return folder / "main"


def names_of_libraries():
    """What was of its own before glibc 2.34."""
    names = ("libpthread.so.0", "libdl.so.2")
    found = [subprocess.run(["clang-22", f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout.strip() for name in names]
    return ",".join(found)


def test_all_does_what_the_newer_library_does(program):
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, SAID)


def test_no_version_is_later_than_2_28(program):
    for file in (program, program.parent / "libgo.so"):
        told = subprocess.run(["readelf", "--wide", "--version-info", file], capture_output=True, text=True, check=True).stdout
        versions = {tuple(map(int, found.split("."))) for found in re.findall(r"Name: GLIBC_([0-9.]+)", told)}
        assert (2, 2, 5) <= max(versions) <= (2, 28)
