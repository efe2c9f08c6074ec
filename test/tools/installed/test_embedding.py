# ===- test_embedding.py - A model in a project of its own --------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""find_package(hova) and hova_add_model from outside, as on a machine without MLIR's development packages."""

import shutil
import subprocess

import pytest
from installation import BUILD, SOURCE, install, run

HOVA = BUILD / "bin/hova"
DIGITS = SOURCE / "examples/01-digits/digits.json"

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


# A model with a package of its own, for which hova need not be installed.


PROJECT = """cmake_minimum_required(VERSION 3.25)
project(classify LANGUAGES C)
find_package(digits REQUIRED CONFIG)
add_executable(classify classify.c)
target_link_libraries(classify PRIVATE digits::digits)
"""


def package(folder, name, *options, status=0):
    return run(HOVA, "compile", DIGITS, "--emit=lib", "--package", "-o", folder / name, *options, status=status)


@pytest.fixture
def packaged(tmp_path):
    """A package in a folder to which it was moved, and a project beside it."""
    (tmp_path / "made").mkdir()
    package(tmp_path / "made", "digits")
    (tmp_path / "made").rename(tmp_path / "model")
    (tmp_path / "project").mkdir()
    shutil.copy(EXAMPLE / "classify.c", tmp_path / "project")
    (tmp_path / "project/CMakeLists.txt").write_text(PROJECT)
    return tmp_path


def find_model(folder, status=0):
    command = ("cmake", "-G", "Ninja", "-S", folder / "project", "-B", folder / "build")
    return run(*command, f"-DCMAKE_PREFIX_PATH={folder / 'model'}", "-DCMAKE_C_COMPILER=clang-22", status=status)


def test_a_project_finds_a_model_by_its_name(packaged):
    assert sorted(path.name for path in (packaged / "model").iterdir()) == ["digits.h", "digits.pc", "digits.so", "digitsConfig.cmake"]
    find_model(packaged)
    run("cmake", "--build", packaged / "build")
    assert "the picture shows a" in run(packaged / "build/classify")


@pytest.mark.parametrize("missing", ["digits.so", "digits.h"])
def test_a_package_without_a_file_is_not_found(packaged, missing):
    (packaged / "model" / missing).unlink()
    said = find_model(packaged, status=1)
    assert f"{missing} is missing" in " ".join(said.split())


@pytest.mark.skipif(not shutil.which("pkg-config"), reason="pkg-config is not installed")
@pytest.mark.parametrize("name", ["digits", "libdigits"])
def test_pkg_config_links_a_program_that_starts(tmp_path, name, monkeypatch):
    model = tmp_path / "model"
    model.mkdir()
    package(model, name)
    monkeypatch.setenv("PKG_CONFIG_PATH", str(model))
    flags = run("pkg-config", "--cflags", "--libs", "digits").split()
    if name == "libdigits":
        # The header is called as the library.
        flags.append("-include" + str(model / "libdigits.h"))
        (model / "digits.h").touch()
    program = tmp_path / "classify"
    run("clang-22", EXAMPLE / "classify.c", *flags, "-o", program)
    assert "the picture shows a" in run(program)
    # For a program that brings the library along.
    only = run("pkg-config", "--libs-only-L", "--libs-only-l", "digits")
    assert "-rpath" not in only and str(model) in only
    assert run("pkg-config", "--variable=model", "digits").strip() == "digits"
    assert run("pkg-config", "--modversion", "digits").strip() == run(HOVA, "--version").split()[1]


def test_weights_in_a_file_are_named(tmp_path):
    package(tmp_path, "digits", "--weights-mode=file")
    assert "weights=${pcfiledir}/digits.so.weights\n" in (tmp_path / "digits.pc").read_text()
    assert 'set(digits_WEIGHTS "${CMAKE_CURRENT_LIST_DIR}/digits.so.weights")\n' in (tmp_path / "digitsConfig.cmake").read_text()


def test_a_package_needs_a_library_and_a_name(tmp_path):
    assert "'my model.so'" in package(tmp_path, "my model", status=2)
    said = run(HOVA, "compile", DIGITS, "--package", "-o", tmp_path / "digits", status=2)
    assert "option '--package' has no effect with '--emit=exe'" in said
    said = package(tmp_path, "digits", f"--explain={tmp_path / 'digits.pc'}", status=2)
    assert "it is the same file as" in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not shutil.which("pkg-config"), reason="pkg-config is not installed")
def test_pkg_config_finds_hova(prefix, tmp_path, monkeypatch):
    (tmp_path / "main.cpp").write_text("""#include "frontend/expression/Expression.h"
#include <cstdio>
int main() { std::puts(hova::frontend::Scalar::ofInteger(42).str().c_str()); }
""")
    monkeypatch.setenv("PKG_CONFIG_PATH", str(prefix / "lib/pkgconfig"))
    flags = run("pkg-config", "--cflags", "--libs", "hova").split()
    run("clang++-22", tmp_path / "main.cpp", *flags, f"-Wl,-rpath,{prefix / 'lib'}", "-o", tmp_path / "main")
    assert run(tmp_path / "main") == "42\n"
    version = run("pkg-config", "--modversion", "hova")
    assert run(run("pkg-config", "--variable=hova", "hova").strip(), "--version").split()[1] == version.strip()


def test_what_was_installed_can_be_removed(tmp_path):
    """The commands of the README."""
    run("cmake", "--install", BUILD, "--prefix", tmp_path / "hova")
    assert "hova " in run(tmp_path / "hova/bin/hova", "--version")
    # Installed again over itself: an update.
    run("cmake", "--install", BUILD, "--prefix", tmp_path / "hova")
    with open(BUILD / "install_manifest.txt", encoding="utf-8") as names:
        subprocess.run(["xargs", "rm"], stdin=names, check=True)
    assert [path for path in (tmp_path / "hova").rglob("*") if not path.is_dir()] == []
