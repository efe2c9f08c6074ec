# ===- make.py - What a machine with a GPU is given -------------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Makes a folder that times hova on a machine that has a GPU and Python, and neither LLVM nor a network:

    build/venv-test/bin/python tools/bench/gpu/make.py -o build/gpu-bench      # here
    python3 gpu-bench/measure.py --out results                                 # there

The folder holds programs of the models for each level, kernels as PTX and, where `ptxas` is, as machine code, what they are to
compute, and a list of what is measured. Weights repeat in blocks (there/repeating.py), so that packed images of gigabytes are a few
megabytes. A folder of more than 64 MiB, which such machines often do not take, is an error, and stays without its list: sizes of its
parts are printed, and --models and --batches choose fewer.

Needs a build of hova and its tests (HOVA_BUILD, else build), and the packages of test/requirements.txt."""

import argparse
import json
import lzma
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[3]
os.environ.setdefault("HOVA_BUILD", str(SOURCE / "build"))
os.environ.setdefault("HOVA_LLVM", "/usr/lib/llvm-22")
TESTS = SOURCE / "test/codegen/cuda"
sys.path[:0] = [str(SOURCE / folder) for folder in ("tools/bench/gpu/there", "tools/bench", "test/codegen/cuda", "test/codegen/cuda/clusters", "test/e2e")]
import make_kernels  # noqa: E402
import make_models  # noqa: E402
import sass  # noqa: E402
from lists import FULL, SMALL  # noqa: E402
from machine import commit  # noqa: E402

MOST_BYTES = 64 << 20
# Of the tests, what says how far a kernel may err. Only the interpreter itself is not called there.
CHECKS = ("kernels.py", "ptx.py", "ptx_code.py", "ptx_memory.py", "ptx_numbers.py", "ptx_products.py")
PLACES = ("CUDA_HOME", "CUDA_PATH")


class Maker:
    """Where files go, what they are made with, and how: a build of hova, and `ptxas` or none."""

    def __init__(self, folder, lists, ptxas, arch):
        self.folder, self.lists, self.ptxas, self.arch = folder, lists, ptxas, arch
        self.bin = Path(os.environ["HOVA_BUILD"]) / "bin"
        self.work = tempfile.TemporaryDirectory(prefix="hova-gpu-make-")
        self.scratch = Path(self.work.name)
        self.archives = {}

    def folder_for(self, name):
        """A folder for files that are not kept."""
        path = self.scratch / name
        path.mkdir()
        return path

    def store(self, name, data, **how):
        """Writes bytes as data/NAME.xz."""
        path = self.folder / "data" / f"{name}.xz"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(lzma.compress(data, **how))

    def add(self, archive, name, data):
        """Writes bytes as a file of an archive."""
        if archive not in self.archives:
            self.archives[archive] = zipfile.ZipFile(self.folder / "data" / archive, "w", zipfile.ZIP_LZMA)
        # Files of one content have one time, so that a folder is the same when it is made again.
        self.archives[archive].writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_LZMA)

    def add_kernel(self, archive, key, text):
        """The PTX of a kernel and, where there is an assembler, its machine code; whether there is."""
        self.add(archive, f"{key}.ptx", text.encode() + b"\0")
        if not self.ptxas:
            return False
        source, made = self.scratch / "kernel.ptx", self.scratch / "kernel.cubin"
        source.write_text(text, encoding="utf-8")
        done = subprocess.run([self.ptxas, f"-arch={self.arch}", source, "-o", made], capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{key}: {done.stdout}{done.stderr}"
        self.add(archive, f"{key}.cubin", made.read_bytes())
        return True

    def close(self):
        for archive in self.archives.values():
            archive.close()


def find_ptxas(asked):
    """The assembler that hova would take, else that of the packages of the tests, as a path; none."""
    if asked:
        return None if asked == "none" else asked
    folders = [Path(os.environ[name]) / "bin" for name in PLACES if name in os.environ] + [Path("/usr/local/cuda/bin"), sass.TOOLS]
    return shutil.which("ptxas", path=os.pathsep.join([os.environ.get("PATH", ""), *map(str, folders)]))


def chains(lists):
    """What needs no file: chains of launches, straight code, copies."""
    for threads, shared, waves in lists.empties:
        blocks = f"{waves} blocks a multiprocessor" if waves else "1 block"
        name = f"{lists.launches} empty kernels of {threads} threads, {shared >> 10} KiB, {blocks}"
        yield {"name": name, "kind": "empty", "threads": threads, "shared": shared, "waves": waves, "launches": lists.launches, "replays": lists.replays}
    yield {"name": f"{lists.launches} kernels of straight code", "kind": "code", "threads": 128, "length": lists.code, "launches": lists.launches,
           "replays": lists.replays}
    for (threads, size, slots), blocks in ((copy, blocks) for copy in lists.copies for blocks in (1, 2)):
        yield {"name": f"copies of {threads} threads, {size} bytes a turn, {slots} slots, {blocks} blocks", "kind": "copies", "threads": threads,
               "turn_bytes": size, "slots": slots, "blocks": blocks, "turns": lists.turns, "region": lists.region, "launches": 2, "replays": lists.replays}


def copy_sources(folder):
    """What runs there, and what it shares with others."""
    here = SOURCE / "tools/bench"
    for path in [*(here / "gpu/there").glob("*.py"), here / "drawing.py"]:
        shutil.copy(path, folder)
    shutil.copytree(here / "nets", folder / "nets", ignore=shutil.ignore_patterns("__pycache__", "layers_jax.py"))
    (folder / "checks").mkdir()
    for name in CHECKS:
        shutil.copy(TESTS / name, folder / "checks")


def make(folder, lists, ptxas, arch):
    """Fills a folder but for its list, and gives the list."""
    maker = Maker(folder, lists, ptxas, arch)
    (folder / "data").mkdir(parents=True)
    copy_sources(folder)
    models = list(make_models.programs(maker))
    parts = {
        "machine": [{"name": "machine"}],
        "load": [{"name": f"{item['name']} {program['level']}", "prefix": item["prefix"], "program": program["file"], "image": program["image"]}
                 for item in models for program in item["programs"]],
        "bits": list(make_kernels.bits(maker)),
        "kernels": [*make_kernels.kernels(maker), *make_models.small(maker)],
        "decides": list(chains(lists)),
        "tiles": list(make_kernels.tiles(maker)),
        "models": [{**item, "peers": ["graph", "eager"]} for item in models],
        "spans": list(make_models.spans(maker)),
        "compiled": [{**item, "peers": ["graph", "torch.compile"]} for item in models if item["family"]],
    }
    maker.close()
    for part, items in parts.items():
        # A measurement is known by its part and its name, and one that is there already is not made again.
        assert len({item["name"] for item in items}) == len(items), f"two items of {part} have one name"
    version = subprocess.run([ptxas, "--version"], capture_output=True, text=True, check=True).stdout.split("\n")[-2] if ptxas else "none"
    made = {"commit": commit(SOURCE), "date": time.strftime("%Y-%m-%d", time.gmtime()), "assembler": version}
    return {"made": made, "counts": lists.counts, "parts": parts}


def sizes(folder):
    """Bytes of what a folder holds, the largest first: of each kind of file, and of all."""
    found = Counter()
    for path in (path for path in folder.rglob("*") if path.is_file()):
        place = path.relative_to(folder).parts
        found["/".join(place[:2]) if place[0] == "data" else "sources and list"] += path.stat().st_size
    return found.most_common(), found.total()


def finish(folder, listed, most_bytes=MOST_BYTES):
    """Writes the list, by which a folder is whole, unless all is too large; says how large, and gives the exit status."""
    text = json.dumps(listed)
    kinds, size = sizes(folder)
    size += len(text)
    print("\n".join(f"{size / 2**20:7.1f} MiB  {kind}" for kind, size in kinds))
    print(f"{size / 2**20:7.1f} MiB  {folder}")
    if size > most_bytes:
        print(f"error: a machine with a GPU is given {most_bytes >> 20} MiB at most, and this is {size / 2**20:.1f} MiB: choose fewer models by --models "
              "or batches by --batches, or take tiles and kernels out of lists.py; the folder stays without its list, and cannot be measured", file=sys.stderr)
        return 1
    (folder / "list.json").write_text(text, encoding="utf-8")
    return 0


def chosen(lists, models, batches):
    """The lists with these models and batches alone, and with their spans; a name that there is not is an error."""
    names = list(dict.fromkeys(name for name, _ in lists.models))
    if unknown := [name for name in models if name not in names]:
        raise ValueError(f"there is no model {', '.join(unknown)}; there are {', '.join(names)}")
    kept = [model for model in lists.models if not models or model[0] in models]
    kept_batches = tuple(batches) or lists.batches
    labels = {label for name, settings in kept for label in (Path(name).stem, " ".join([name, *settings]))}
    return replace(lists, models=kept, batches=kept_batches, spans=[(name, batch) for name, batch in lists.spans if name in labels and batch in kept_batches])


def split(text):
    return text.split(",")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, default=SOURCE / "build/gpu-bench", help="a folder that is not there (default: build/gpu-bench)")
    parser.add_argument("--small", action="store_true", help="a list of every kind that takes seconds, for tests")
    parser.add_argument("--models", type=split, default=[], metavar="NAME,...", help="of the models, these alone (default: all)")
    parser.add_argument("--batches", type=lambda text: [int(word) for word in split(text)], default=[], metavar="N,...", help="(default: 8,1)")
    parser.add_argument("--ptxas", help="the assembler, or `none` (default: the one that `hova compile` finds, or of test/requirements.txt)")
    parser.add_argument("--arch", default="sm_90a", help="what single kernels are assembled for; programs have their levels (default: sm_90a)")
    arguments = parser.parse_args()
    if arguments.output.exists():
        parser.error(f"{arguments.output} is there")
    try:
        lists = chosen(SMALL if arguments.small else FULL, arguments.models, arguments.batches)
    except ValueError as error:
        parser.error(str(error))
    return finish(arguments.output, make(arguments.output, lists, find_ptxas(arguments.ptxas), arguments.arch))


if __name__ == "__main__":
    sys.exit(main())
