# ===- test_whole.py - Programs with LLVM inside are those of the build -----------=== #
# SPDX-License-Identifier: Apache-2.0
"""Most tests run hova and hova-opt with LLVM and a linker inside (links.py). What these write is what the programs of the build write,
byte by byte: the shared libraries and the archives of a package are one LLVM."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from whole.links import PROGRAMS, link_rest, whole_build

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("HOVA_BUILD", SOURCE / "build"))
WHOLE = whole_build(BUILD)
EXAMPLES, VECTORS = SOURCE / "examples", SOURCE / "test/golden/vectors"
DIGITS = (EXAMPLES / "01-digits/digits.json", f"--weights={EXAMPLES / '01-digits/weights.safetensors'}")
WINDOWS = (VECTORS / "windows_shifted/model.json", "--init=1")

made = pytest.mark.skipif(WHOLE == BUILD, reason="the target hova_whole is not built, or not anew: ./dev test builds it")


def run(build, program, *words):
    done = subprocess.run([str(word) for word in (build / "bin" / program, *words)], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


@made
@pytest.mark.parametrize("words", [
    (*DIGITS, "--march=x86-64-v3"), (*DIGITS, "--march=x86-64-v4", "--dtype=bf16"), (*DIGITS, "-O0", "--emit=lib"),
    (*DIGITS, "--target=cuda", "--emit=ptx", "--dtype=bf16"), (*DIGITS, "--target=cpu,cuda", "--ptxas=none"),
    (*WINDOWS, "--target=cuda-emulated", "--emit=obj", "--dtype=f16"), (*WINDOWS, "--march=x86-64-v3", "--emit=asm"),
], ids=lambda words: " ".join(str(word) for word in words[2:]))  # fmt: skip
def test_compilations_are_the_same(words, tmp_path):
    written = []
    for number, build in enumerate((BUILD, WHOLE)):
        (tmp_path / str(number)).mkdir()
        assert run(build, "hova", "compile", *words, "--quiet", "-o", tmp_path / str(number) / "out") == (0, "", "")
        written.append({path.name: path.read_bytes() for path in (tmp_path / str(number)).iterdir()})
    assert written[0] == written[1] and all(written[0].values())


@made
@pytest.mark.parametrize("words", [
    ("verify", *DIGITS, "--guard", "--dtype=f16"), ("explain", *DIGITS), ("summary", DIGITS[0]), ("schema",), ("--version",), ("--list-phases",),
    ("compile", DIGITS[0], "--set=width=0"), ("verify", *WINDOWS, "--target=cuda-emulated", "--cases=1"),
], ids=lambda words: words[0])  # fmt: skip
def test_what_is_said_is_the_same(words):
    assert run(BUILD, "hova", *words) == run(WHOLE, "hova", *words)


@made
def test_passes_do_the_same(tmp_path):
    dump = tmp_path / "import.mlir"
    assert run(WHOLE, "hova", "compile", DIGITS[0], "--quiet", "--emit=mlir", "--stop-after=import", "-o", dump)[0] == 0
    status, text, said = run(WHOLE, "hova-opt", dump, "--start-at=normalize", "--stop-after=target", "--march=x86-64-v4")
    assert status == 0 and "llvm.func" in text
    assert run(BUILD, "hova-opt", dump, "--start-at=normalize", "--stop-after=target", "--march=x86-64-v4") == (status, text, said)


@made
def test_the_programs_are_others():
    """A link to the programs of the build would compare nothing."""
    for name in PROGRAMS[:2]:
        needed = subprocess.run(["readelf", "--dynamic", WHOLE / name], capture_output=True, text=True, check=True).stdout
        assert "libLLVM" not in needed and "libMLIR" not in needed and "libhova.so" not in needed
        assert not (WHOLE / name).is_symlink()


def test_the_rest_is_of_the_build(tmp_path):
    build, folder = tmp_path / "build", tmp_path / "build/whole"
    for name in ("bin/hova", "bin/other", "lib/libhova.so", "lib/hova/exe.o", "share/page", "whole/bin/hova", "whole/lib/hova/ld.lld"):
        (build / name).parent.mkdir(parents=True, exist_ok=True)
        (build / name).write_text(name)
    assert whole_build(build) == build  # hova-opt is missing
    (folder / "gone").symlink_to(build / "gone")
    for _ in range(2):
        link_rest(folder, build, {*PROGRAMS, "whole"})
    found = {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}
    assert found == {"bin/hova": "whole/bin/hova", "bin/other": "bin/other", "lib/libhova.so": "lib/libhova.so", "lib/hova/exe.o": "lib/hova/exe.o",
                     "lib/hova/ld.lld": "whole/lib/hova/ld.lld"}  # fmt: skip
    assert (folder / "share").is_symlink() and not (folder / "gone").is_symlink()


def test_old_programs_are_not_run(tmp_path):
    build, made = tmp_path / "build", [*PROGRAMS, "lib/libhova-whole.so"]
    for name in [*made, *(f"whole/{name}" for name in made), "tools/objects.txt", "one.o"]:
        (build / name).parent.mkdir(parents=True, exist_ok=True)
        (build / name).write_text(f"{build}/one.o\n")
        os.utime(build / name, (2, 2))
    assert whole_build(build) == build / "whole"
    os.utime(build / "one.o", (3, 3))
    assert whole_build(build) == build
    os.utime(build / "one.o", (1, 1))
    (build / "whole/bin/hova-opt").unlink()
    assert whole_build(build) == build
