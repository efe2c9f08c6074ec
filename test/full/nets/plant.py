# ===- plant.py - A copy of the sources with every fault in it -----------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Builds hova once with all faults of faults.toml, each of which HOVA_FAULT=NUMBER switches on.

A fault has `text`, which its file holds exactly once, and in it `right`, once too, which
becomes `wrong`: an expression, or with `statement = true` a statement. A text that has
moved or changed is an error that names it. The copy lies in build/nets/source, the build in
build/nets/build; only files that differ are written, so that a second run compiles little.
What makes kernels is built with clang's source-based coverage (branches.py).
"""

import os
import shutil
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parents[2]
HEADER = '#include "test/full/nets/HovaFault.h"\n'
ROOMS = ("dialect", "passes", "codegen", "frontend", "runtime")

# What makes kernels: the target that compiles it, and files. Their branches are counted.
MEASURED = {
    "hova_cpu_recipes": ("codegen/cpu/recipes/*.cpp",),
    "hova_cpu": ("codegen/cpu/schedule/FormSequenceKernels.cpp",),
    "hova_passes": (
        "passes/fuse/Assemblies.cpp",
        "passes/fuse/Decompose*.cpp",
        "passes/fuse/FuseKernels.cpp",
        "passes/fuse/Grouping.cpp",
        "passes/fuse/KernelBuilder.cpp",
        "passes/fuse/PlacedRows.cpp",
    ),
}
COVERAGE = "-fprofile-instr-generate;-fcoverage-mapping"


@dataclass
class Fault:
    number: int
    file: str
    breaks: str
    text: str
    wrong: str
    right: str = ""
    statement: bool = False
    near: str = ""  # the test of the room that is tried first
    far: str = ""  # the reduced model that is tried first

    @property
    def room(self):
        return self.file.split("/")[0]

    def planted(self):
        """What stands in the place of `text`."""
        right = self.right or self.text
        if self.statement:
            both = f"if (hovaFault({self.number})) {{ {self.wrong} }} else {{ {right} }}"
        else:
            both = f"(hovaFault({self.number}) ? ({self.wrong}) : ({right}))"
        return self.text.replace(right, both)


def only_once(what, inside, name):
    count = inside.count(what)
    if count != 1:
        raise SystemExit(f"plant: {name}: expected this text once, found it {count} times: {what}")


def read_faults(path=HERE / "faults.toml", source=SOURCE):
    """The faults, each checked against its file."""
    faults = []
    for number, entry in enumerate(tomllib.loads(path.read_text())["fault"], 1):
        fault = Fault(number, **entry)
        name = f"fault {number}, {fault.file}"
        if fault.room not in ROOMS:
            raise SystemExit(f"plant: {name}: expected a file of {', '.join(ROOMS)}")
        only_once(fault.text, (source / fault.file).read_text(), name)
        only_once(fault.right or fault.text, fault.text, f"{name}, in its text")
        faults.append(fault)
    return faults


def plant(text, faults):
    """A source with its faults; those of one file may not overlap."""
    for fault in faults:
        only_once(fault.text, text, f"fault {fault.number}, {fault.file}, beside others")
        text = text.replace(fault.text, fault.planted())
    return HEADER + text if faults else text


def measured_files():
    """(target, file) of every source whose branches are counted."""
    return [
        (target, path.relative_to(SOURCE))
        for target, patterns in MEASURED.items()
        for pattern in patterns
        for path in sorted(SOURCE.glob(pattern))
    ]


def measured_options():
    """CMake that makes the compiler count branches."""
    lines = [
        f'set_property(SOURCE {path} TARGET_DIRECTORY {target} APPEND PROPERTY COMPILE_OPTIONS "{COVERAGE}")\n'
        for target, path in measured_files()
    ]
    return "".join(lines) + "target_link_options(hova PRIVATE -fprofile-instr-generate)\n"


def write_if_changed(path, data, mode):
    if path.exists() and path.read_bytes() == data:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    path.chmod(mode)


def sources():
    """Every file of the checkout but what is built in it, relative to it."""
    for folder, folders, names in os.walk(SOURCE):
        folders[:] = [name for name in folders if name != "__pycache__" and not name.startswith((".", "build"))]
        yield from (Path(folder, name).relative_to(SOURCE) for name in names)


def copy_sources(target, faults):
    kept = set()
    for path in sources():
        source, planted = SOURCE / path, [fault for fault in faults if fault.file == str(path)]
        data = source.read_bytes()
        if planted:
            data = plant(data.decode(), planted).encode()
        if str(path) == "CMakeLists.txt":
            data += measured_options().encode()
        write_if_changed(target / path, data, source.stat().st_mode)
        kept.add(target / path)
    for folder, _, names in os.walk(target):
        for name in names:
            if Path(folder, name) not in kept and "__pycache__" not in folder:
                Path(folder, name).unlink()


def build(build_folder, faults):
    """Makes or refreshes the copy and its build; returns (copy, build)."""
    folder = build_folder / "nets"
    copy, target = folder / "source", folder / "build"
    copy_sources(copy, faults)
    if not (target / "build.ninja").exists():
        command = ["cmake", "--preset", "release", "-B", target, "-DCMAKE_CXX_FLAGS_RELEASE=-O1"]
        run_logged(command, copy, folder / "configure.log")
    environment = {**os.environ, "HOVA_FAULT": "", "LLVM_PROFILE_FILE": "/dev/null"}
    run_logged(["ninja", "-C", target], copy, folder / "build.log", environment)
    if not (target / "venv-test").exists():
        (target / "venv-test").symlink_to(build_folder / "venv-test")
    (target / "test-results").mkdir(exist_ok=True)
    return copy, target


def run_logged(command, folder, log, environment=None):
    with log.open("w") as out:
        done = subprocess.run(
            [str(part) for part in command], cwd=folder, env=environment, stdout=out, stderr=subprocess.STDOUT, check=False
        )
    if done.returncode:
        raise SystemExit(f"plant: {command[0]} failed, as {log} says: {log.read_text()[-1500:]}")


if __name__ == "__main__":
    shutil.which("ninja") or exit("plant: ninja is missing")
    build(Path(os.environ["HOVA_BUILD"]), read_faults())
