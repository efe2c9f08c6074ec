# ===- dumps.py - Dumps that somebody has edited badly --------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Changes one thing in a dump of each phase, and runs a verb on it. Whatever the change was, hova says what is wrong with the
dump, or that its program is, and never that hova is: a status of 70 or a signal is a failure, and is printed with the change."""

import argparse
import os
import random
import re
import resource
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("HOVA_BUILD", SOURCE / "build")) / "bin"
# Several launches, a kernel that is launched twice, and windows, whose rows and biases are tables; all compile in a moment.
CPU, GPU = ["--march=x86-64-v3"], ["--target=cuda-emulated", "--dtype=bf16"]
MODELS = {
    "mha_both": CPU,
    "linformer": CPU,
    "window_stage": CPU,
    "mha_horizontal": GPU,
    "tiny_vit": GPU,
}
PHASES = ["import", "normalize", "fuse", "assign", "tile", "vectorize", "target"]
VERBS = [["compile", "-o", "/dev/null", "-O0"], ["verify", "--cases=1"], ["explain"]]
# Ok, rejected input, usage, numbers that differ, and memory that an edited size asks for.
EXPECTED = {0, 1, 2, 3, 71}
MOST_BYTES = 4 << 30
# Crashes of MLIR's own verifiers, before hova has seen the program: a constant of another type than its global.
NOT_OURS = ["mlir::LLVM::AddressOfOp::verifySymbolUses"]
# What describes a program: few of the lines, and most of what is looked up in them by name.
FRAME = re.compile(r"func\.func|module|hova\.(launch|\w+_buffer|store_weight|weight)|llvm\.(func|mlir\.global)")
NUMBERS = ["0", "-1", "1", "7", "64", "4096", "1099511627776", "9223372036854775807", '"text"', "unit"]


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))


def run(folder, *words):
    """The status and the messages; None for a program that an edit keeps from ending."""
    try:
        done = subprocess.run(
            [BIN / "hova", *words], cwd=folder, capture_output=True, timeout=60, check=False, preexec_fn=limit_memory
        )
    except subprocess.TimeoutExpired:
        return None, ""
    return done.returncode, done.stderr.decode(errors="replace")


def make_dumps(folder, name):
    """The text of the dump of every phase."""
    model, dumps = SOURCE / f"test/golden/vectors/{name}/model.json", {}
    for phase in PHASES:
        path = folder / f"{phase}.mlir"
        status, messages = run(
            folder, "compile", model, *MODELS[name], "--emit=mlir", f"--stop-after={phase}", "-o", path
        )
        assert status == 0, messages
        dumps[phase] = path.read_text()
    return dumps


def remove_line(lines, place, draw):
    del lines[place]


def repeat_line(lines, place, draw):
    lines.insert(place, lines[place])


def remove_attribute(lines, place, draw):
    """`{a = 1 : i64, b}` without one of its entries."""
    found = list(re.finditer(r"[\w.]+ = (?:\"[^\"]*\"|array<[^>]*>|\[[^\]]*\]|[^,{}\[\]]+)(?:, )?", lines[place]))
    if found:
        one = draw.choice(found)
        lines[place] = lines[place][: one.start()] + lines[place][one.end() :]


def change_number(lines, place, draw):
    found = list(re.finditer(r"(?<![\w%@#.])-?\d+", lines[place]))
    if found:
        one = draw.choice(found)
        number = int(one[0])
        near = [number + 1, number - 1, 2 * number, number // 2, 16 * number]
        value = draw.choice(NUMBERS + [str(number) for number in near])
        lines[place] = lines[place][: one.start()] + value + lines[place][one.end() :]


def change_value(lines, place, draw):
    """Another type of attribute."""
    found = list(re.finditer(r"(?<== )(?:\"[^\"]*\"|array<[^>]*>|\[[^\]]*\]|[^,{}\[\]]+)", lines[place]))
    if found:
        one = draw.choice(found)
        value = draw.choice(['"text"', "unit", "1 : i32", "1.0 : f64", "[]", "array<i64>", "i64", "{}"])
        lines[place] = lines[place][: one.start()] + value + lines[place][one.end() :]


def rename_symbol(lines, place, draw):
    found = list(re.finditer(r"@[\w.]+", lines[place]))
    names = sorted(set(re.findall(r"@[\w.]+", "\n".join(lines)))) + ["@other"]
    if found:
        one = draw.choice(found)
        lines[place] = lines[place][: one.start()] + draw.choice(names) + lines[place][one.end() :]


def swap_operands(lines, place, draw):
    found = list(re.finditer(r"%[\w.]+", lines[place]))
    if len(found) > 1:
        one, two = sorted(draw.sample(found, 2), key=lambda match: match.start())
        text = lines[place]
        lines[place] = text[: one.start()] + two[0] + text[one.end() : two.start()] + one[0] + text[two.end() :]


CHANGES = [remove_line, repeat_line, remove_attribute, change_number, change_value, rename_symbol, swap_operands]


def change(text, draw):
    """The text with one change, the change's name and its line; the description after the program stays."""
    head, resources = text.split("\n{-#\n")
    lines = head.split("\n")
    places = [i for i, line in enumerate(lines) if line.strip() and not line.startswith(("//", "#loc"))]
    special = [i for i in places if FRAME.search(lines[i])]
    place = draw.choice(special if special and draw.random() < 0.6 else places)
    how = draw.choice(CHANGES)
    before = lines[place]
    how(lines, place, draw)
    return "\n".join(lines) + "\n{-#\n" + resources, how.__name__, before.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="where dumps and failures are written")
    parser.add_argument("--count", type=int, default=100, help="changes of each dump")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--phases", default=",".join(PHASES))
    parser.add_argument("--models", default=",".join(MODELS))
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    tally, failures = {}, 0
    for model in options.models.split(","):
        dumps = make_dumps(options.folder, model)
        for phase in options.phases.split(","):
            for number in range(options.count):
                draw = random.Random(f"{options.seed} {model} {phase} {number}")
                text, how, line = change(dumps[phase], draw)
                path = options.folder / "changed.mlir"
                path.write_text(text)
                verb = draw.choice(VERBS)
                status, messages = run(options.folder, verb[0], path, *verb[1:])
                tally[status] = tally.get(status, 0) + 1
                ours = not any(function in messages for function in NOT_OURS)
                if status is not None and status not in EXPECTED and ours:
                    failures += 1
                    kept = options.folder / f"failure-{model}-{phase}-{options.seed}-{number}.mlir"
                    path.rename(kept)
                    said = messages[-600:].replace("\n", "\n  ")
                    print(f"{status} {verb[0]} {kept}\n  {how}: {line[:200]}\n  {said}", flush=True)
    print("statuses:", dict(sorted(tally.items(), key=str)))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
