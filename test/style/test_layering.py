# ===- test_layering.py - Rooms include only what lies below them ------------=== #
# SPDX-License-Identifier: Apache-2.0
"""The arrows between rooms, read from the #include lines."""

import re
from pathlib import PurePosixPath

import pytest
from sources import files, text

INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]', re.MULTILINE)

# What a room may include besides itself and the platform.
BELOW = {
    "dialect": set(),
    "passes": {"dialect"},
    "codegen": {"dialect", "passes"},
    "frontend": {"dialect"},
    "runtime": set(),
    "tools": {"dialect", "passes", "codegen", "frontend", "runtime"},
}

# Single headers of a room that others may use: the interface of compiled programs,
# and the readers that compiler and programs share.
SHARED = {
    "codegen": {"runtime/hova_runtime.h", "runtime/Npy.h", "runtime/Place.h", "runtime/Error.h"},
    "frontend": {"runtime/Safetensors.h", "runtime/Error.h", "runtime/Bytes.h", "runtime/Text.h"},
}

# Folders inside rooms, and which of these folders each may include besides itself.
FOLDERS = {
    "dialect": set(),
    "dialect/evaluate": {"dialect"},
    "frontend/reader": set(),
    "frontend/expression": set(),
    "frontend/description": {"frontend/expression", "frontend/reader"},
    "frontend/elaborate": {"frontend/description"},
    "frontend/weights": {"frontend/elaborate", "frontend/reader", "dialect"},
    "frontend": {"frontend/weights", "frontend/elaborate", "frontend/reader", "dialect"},
}


def includes(path):
    return INCLUDE.findall(text(path))


def room(name):
    first = name.split("/")[0]
    return first if "/" in name and first in BELOW else None


@pytest.mark.parametrize("name", list(BELOW))
def test_no_arrow_points_back(name):
    wrong = [
        f"{path} includes {header}"
        for path in files(".h", ".c", ".cpp", ".td", under=f"{name}/")
        for header in includes(path)
        if room(header) not in {None, name, *BELOW[name]}
        and header not in SHARED.get(name, ())
    ]
    assert wrong == []


def folder(name):
    return str(PurePosixPath(name).parent)


def test_every_folder_of_dialect_and_frontend_is_listed():
    found = {
        folder(path.as_posix())
        for under in ("dialect/", "frontend/")
        for path in files(".h", ".cpp", ".td", under=under)
    }
    assert found == set(FOLDERS)


@pytest.mark.parametrize("name", list(FOLDERS))
def test_no_arrow_points_back_inside_a_room(name):
    wrong = [
        f"{path} includes {header}"
        for path in files(".h", ".c", ".cpp", ".td", under=f"{name}/")
        for header in includes(path)
        if folder(path) == name
        and folder(header) in FOLDERS
        and folder(header) not in {name, *FOLDERS[name]}
    ]
    assert wrong == []


# What programs load, and what runs under every sanitizer.
WITHOUT_LLVM = (
    "runtime/",
    "frontend/reader/",
    "frontend/expression/",
    "frontend/description/",
    "frontend/elaborate/",
)


def test_runtime_and_readers_of_descriptions_know_nothing_of_llvm():
    wrong = [
        f"{path} includes {header}"
        for under in WITHOUT_LLVM
        for path in files(".h", ".c", ".cpp", under=under)
        for header in includes(path)
        if header.startswith(("mlir/", "llvm/"))
    ]
    assert wrong == []


def test_one_file_knows_the_targets():
    targets = ("codegen/cpu/", "codegen/cpurecipes/")
    users = {
        path.as_posix()
        for path in files(".h", ".cpp", under="codegen/")
        if not path.as_posix().startswith(targets)
        and any(header.startswith(targets) for header in includes(path))
    }
    assert users == {"codegen/Targets.cpp"}


# Constants of passes that are no figures of a machine, and what they are.
NO_FIGURES = {
    "kAlignment": "the multiple that hova.arena_buffer demands",
    "kSecondLevel": "a locality of memref.prefetch",
    "kTokenAxis": "an axis of a shape",
}
CONSTANT = re.compile(r"\bconstexpr (?:u?int\d*_t|unsigned|size_t|int) (k\w+) = .*\d")


def test_passes_hold_no_figures_of_machines():
    found = {
        match.group(1)
        for path in files(".h", ".cpp", under="passes/")
        for match in CONSTANT.finditer(text(path))
    }
    assert found == set(NO_FIGURES)


def test_one_file_includes_the_json_library():
    users = [
        path.as_posix()
        for path in files(".h", ".c", ".cpp")
        if any(header.startswith("nlohmann/") for header in includes(path))
    ]
    assert len(users) <= 1 and all(u.startswith("frontend/") for u in users), users
