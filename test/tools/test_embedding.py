# ===- test_embedding.py - A model in a project of its own --------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""find_package(hova) and hova_add_model from outside, as on a machine without MLIR's development packages."""

import shutil
import subprocess

import pytest
from installation import BUILD, SOURCE, install, run

EXAMPLE = SOURCE / "examples/embed"
WITHOUT_MLIR = ("-DCMAKE_DISABLE_FIND_PACKAGE_MLIR=TRUE", "-DCMAKE_DISABLE_FIND_PACKAGE_LLVM=TRUE")


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    return install(tmp_path_factory)


@pytest.fixture
def project(tmp_path):
    """The example and what it reads, in folders of their own."""
    shutil.copytree(EXAMPLE, tmp_path / "examples/embed")
    shutil.copytree(SOURCE / "examples/01-digits", tmp_path / "examples/01-digits")
    return tmp_path / "examples/embed"


def configure(project, prefix, *options, status=0):
    build = project.parent / "build"
    return run(
        *("cmake", "-G", "Ninja", "-S", project, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}"),
        *("-DCMAKE_C_COMPILER=clang-22", "-DCMAKE_CXX_COMPILER=clang++-22", *WITHOUT_MLIR, *options),
        status=status,
    )


def test_a_c_project_builds_and_runs_a_model(project, prefix):
    configure(project, prefix)
    build = project.parent / "build"
    run("cmake", "--build", build)
    assert "7" in run(build / "classify")
    dynamic = run("readelf", "-d", build / "classify")
    assert "Shared library: [libdigits.so]" in dynamic
    assert "Library soname: [libdigits.so]" in run("readelf", "-d", build / "digits/libdigits.so")
    assert sorted(path.name for path in (build / "digits").iterdir()) == ["digits.h", "libdigits.so"]
    # Nothing has changed: nothing is compiled. Then the description does.
    assert "no work to do" in run("cmake", "--build", build)
    with open(project.parent / "01-digits/digits.json", "a", encoding="utf-8") as description:
        description.write("\n")
    assert "Compiling model digits" in run("cmake", "--build", build)


def test_options_reach_the_compiler(project, prefix):
    text = (project / "CMakeLists.txt").read_text()
    (project / "CMakeLists.txt").write_text(text.replace("safetensors)", "safetensors OPTIONS --set batch=nonsense)"))
    configure(project, prefix)
    build = project.parent / "build"
    done = subprocess.run(["cmake", "--build", build], capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "batch" in done.stdout + done.stderr


@pytest.mark.parametrize(
    "lines, message",
    [
        ("hova_add_model(other m.json WEIGHT w.safetensors)", "expects WEIGHTS, OPTIONS or DEPENDS, got 'WEIGHT"),
        ("hova_add_model(a/b m.json)", "expects a name for lib(NAME).so first, got 'a/b'"),
        ("hova_add_plugin(other Other.cpp)", "hova_add_plugin(other) needs MLIR 22"),
    ],
)
def test_mistakes_are_told(project, prefix, lines, message):
    with open(project / "CMakeLists.txt", "a", encoding="utf-8") as file:
        file.write(lines + "\n")
    assert message in " ".join(configure(project, prefix, status=1).split())


def test_a_linker_finds_the_library_by_its_name(tmp_path):
    run(BUILD / "bin/hova", "compile", SOURCE / "examples/01-digits/digits.json", "--emit=lib", "-o", tmp_path / "libdigits")
    (tmp_path / "libdigits.h").rename(tmp_path / "digits.h")
    program = tmp_path / "classify"
    source = EXAMPLE / "classify.c"
    run("clang-22", "-I", tmp_path, source, "-L", tmp_path, "-ldigits", "-Wl,-rpath,$ORIGIN", "-o", program)
    assert run(program)


def test_what_was_installed_can_be_removed(tmp_path):
    """The commands of the README."""
    run("cmake", "--install", BUILD, "--prefix", tmp_path / "hova")
    assert "hova " in run(tmp_path / "hova/bin/hova", "--version")
    # Installed again over itself: an update.
    run("cmake", "--install", BUILD, "--prefix", tmp_path / "hova")
    with open(BUILD / "install_manifest.txt", encoding="utf-8") as names:
        subprocess.run(["xargs", "rm"], stdin=names, check=True)
    assert [path for path in (tmp_path / "hova").rglob("*") if not path.is_dir()] == []
