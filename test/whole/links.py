# ===- links.py - A build whose programs have LLVM inside -----------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""A test finds programs, libraries and data in the folder HOVA_BUILD. Two thirds of a short process of hova are the look-up of
54,000 symbols of shared libraries, and tests start ten thousand of them. So tests of what is computed are given a folder of links to
the build, in which hova, hova-opt and the linker are those of this folder's CMakeLists.txt: the same object files, with
LLVM inside, as the wheel has them. test_whole.py compares what both write, byte by byte. Tests of programs as people start them, of
plugins, of packages and of what documents say run those of the build itself."""

from pathlib import Path

# The rooms whose tests ask what is computed.
ROOMS = ("codegen", "dialect", "e2e", "frontend", "fuzz", "passes", "pipeline")
PROGRAMS = ("bin/hova", "bin/hova-opt", "lib/hova/ld.lld")


def link_rest(folder: Path, build: Path, kept: set[str], inside: str = "") -> None:
    """Makes `folder` a folder of links to the files of `build`, except for those that it keeps as its own; a folder of such files is linked file by
    file. Links to what the build has no more go."""
    folder.mkdir(exist_ok=True)
    entries = {entry.name for entry in build.iterdir()} if build.is_dir() else set()
    for link in folder.iterdir():
        if link.is_symlink() and link.name not in entries:
            link.unlink()
    for name in sorted(entries):
        path, link = inside + name, folder / name
        if path in kept:
            continue
        if any(one.startswith(path + "/") for one in kept):
            link_rest(link, build / name, kept, path + "/")
        elif not link.is_symlink() and not link.exists():
            link.symlink_to(build / name)


def are_current(folder: Path, build: Path) -> bool:
    """Whether the programs were made, and of the objects as they are: who builds other targets alone leaves old ones behind."""
    linked = [folder / name for name in ("lib/libhova-whole.so", "bin/hova-opt")]
    if not all(path.exists() for path in [*linked, *(folder / name for name in PROGRAMS)]):
        return False
    listed = build / "tools/objects.txt"
    objects = map(Path, listed.read_text().split()) if listed.exists() else ()
    newest = max((path.stat().st_mtime_ns for path in objects if path.exists()), default=0)
    return all(path.stat().st_mtime_ns >= newest for path in linked)


def whole_build(build: Path) -> Path:
    """The folder of links of a build; the build itself where these programs are missing, as in one with planted faults, or old."""
    folder = build / "whole"
    if not are_current(folder, build):
        return build
    link_rest(folder, build, {*PROGRAMS, "whole"})
    return folder
