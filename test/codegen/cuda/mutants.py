# ===- mutants.py - Kernels with one fault each ------------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Faults of twelve classes, planted in the kernel of every recipe: in the NVVM dialect, which the emulation runs, and in
PTX, which the interpreter runs. A rule finds places in a text by a pattern and says what stands there instead, so a new
recipe gets its mutants by a line in RECIPES. Each must be refused or give other numbers, or be listed in EQUAL."""

import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import ptx
from kernels import Case, attention, emit, norm, product

RECIPES = {
    "product": lambda: product(70, 192, 72, (64, 64), (2, 2)),
    "product with epilogue": lambda: product(70, 192, 136, (64, 128), (2, 2), "bias gelu"),
    "product in f32": lambda: product(70, 200, 72, (64, 64), (2, 2), "bias wide", stages=4),
    "attention": lambda: attention(1, 133, 2, 64, 2),
    "norm": lambda: norm(6, 256),
}
SLOT = 64 * 128  # bytes of the slots of all of these
LEVELS = ["emulated", "interpreted"]

Match = re.Match
Instead = str | Callable[[Match], str]


@dataclass(frozen=True)
class Rule:
    """`pattern` is replaced by `instead` at one place; `skip` says of a match in a text that it is none of the fault's."""

    kind: str
    level: str
    name: str
    pattern: str
    instead: Instead
    skip: Callable[[Match], bool] = lambda _: False


# Pieces of text --------------------------------------------------------------------

ADDED = "%mutant_one = llvm.mlir.constant(1 : i32) : i32\n"
FIRST_HALF = ("%mutant_tid = nvvm.read.ptx.sreg.tid.x : i32\n%mutant_32 = llvm.mlir.constant(32 : i32) : i32\n"
              "%mutant_lane = llvm.urem %mutant_tid, %mutant_32 : i32\n%mutant_16 = llvm.mlir.constant(16 : i32) : i32\n"
              '%mutant_if = llvm.icmp "ult" %mutant_lane, %mutant_16 : i32\nllvm.cond_br %mutant_if, ^mutant_then, ^mutant_after\n'
              "^mutant_then:\n")
END_HALF = "\nllvm.br ^mutant_after\n^mutant_after:\n"
PTX_HALF = "mov.u32 %r99998, %tid.x;\nand.b32 %r99999, %r99998, 31;\nsetp.lt.u32 %p99999, %r99999, 16;\n"


def further(pointer: str, space: int, by: int) -> str:
    """A pointer in the NVVM dialect, some bytes on, as %mutant."""
    return f"%mutant = llvm.getelementptr {pointer}[{by}] : (!llvm.ptr<{space}>) -> !llvm.ptr<{space}>, i8\n"


def access(m: Match) -> str:
    """A load or store four bytes further."""
    return further(m["at"], int(m["space"]), 4) + m[0].replace(m["at"], "%mutant", 1) if m["at"] != m["value"] else m[0]


def moved(by: int) -> Callable[[Match], str]:
    """An address of PTX some bytes further."""
    return lambda m: f"{m[1]}+{int(m[2] or 0) + by}]"


def counts_turns(m: Match) -> bool:
    """Whether a branch is that of a loop: its condition compares with signs."""
    return f'{m[1]} = llvm.icmp "slt"' in m.string


def is_of_a_loop(m: Match) -> bool:
    """Whether a branch of PTX goes back, or over a branch that does."""
    before, behind = m.string[: m.start()], m.string[m.end() :].partition(f"\n{m[2]}:")[0]
    return any(f"\n{label}:" in before for label in [m[2], *re.findall(r"bra(?:\.uni)? \t?(\S+);", behind)])


def swapped(m: Match) -> str:
    return f"{m[1]}{m[3]}, {m[2]}"


def other_layout(m: Match) -> str:
    return f"mma_layout<{'col' if m[1] == 'row' else 'row'}>, num"


E, P = LEVELS
RULES = [
    Rule("barrier or wait", E, "no barrier", r"nvvm\.barrier0", ""),
    Rule("barrier or wait", E, "a wait for a copy less", r"wait\.group (\d)", lambda m: f"wait.group {int(m[1]) + 1}"),
    Rule("barrier or wait", E, "no wait", r"nvvm\.cp\.async\.wait\.group \d", ""),
    Rule("barrier or wait", E, "no meeting of the warp", r"nvvm\.bar\.warp\.sync %\d+ : i32", ""),
    Rule("barrier or wait", P, "no barrier", r"\tbar\.sync \t0;\n", ""),
    Rule("barrier or wait", P, "a wait for a copy less", r"wait_group \t?(\d);", lambda m: f"wait_group {int(m[1]) + 1};"),
    Rule("barrier or wait", P, "no wait", r"\tcp\.async\.wait_group \t?\d;\n", ""),
    Rule("barrier or wait", P, "no meeting of the warp", r"\tbar\.warp\.sync \t-1;\n", ""),
    Rule("swizzle on one side", E, "chunks not exchanged", r"llvm\.xor (%\d+), (%\d+) : i32", r"llvm.or \1, \1 : i32"),
    Rule("swizzle on one side", P, "chunks not exchanged", r"xor\.b32( \t%r\d+), (%r\d+), (%r\d+|\d+);", r"or.b32\1, \2, 0;"),
    Rule("fragment", E, "blocks of a left operand exchanged", r"(mma\.sync A\[)(%\d+), (%\d+)", swapped),
    Rule("fragment", E, "halves of a right operand exchanged", r"( B\[)(%\d+), (%\d+)", swapped),
    Rule("fragment", E, "a block transposed", r"mma_layout<(row|col)>, num", other_layout),
    Rule("fragment", E, "a value of another lane", r"nvvm\.shfl\.sync +bfly", "nvvm.shfl.sync up"),
    Rule("fragment", E, "a word that is not staged", r"llvm\.store %\d+, %\d+ \{alignment = 4 : i64\} : i32, !llvm\.ptr<3>", ""),
    Rule("fragment", P, "blocks of a left operand exchanged", r"(mma\S+\s*\{[^}]*\},\s*\{)(%r\d+), (%r\d+)", swapped),
    Rule("fragment", P, "halves of a right operand exchanged", r"(mma\S+\s*\{[^}]*\},\s*\{[^}]*\},\s*\{)(%r\d+), (%r\d+)", swapped),
    Rule("fragment", P, "a block transposed", r"x4(\.trans)?\.shared", lambda m: "x4.shared" if m[1] else "x4.trans.shared"),
    Rule("fragment", P, "an exchange less", r"shfl\.sync\.bfly\.b32 \t(%r\d+), (%r\d+), \d+, 31, -1;", r"mov.b32 \t\1, \2;"),
    Rule("fragment", P, "a word that is not staged", r"\tst\.shared\.b32 [^\n]*\n", ""),
    Rule("tile off by one", E, "the next block", r"(%\d+) = (nvvm\.read\.ptx\.sreg\.ctaid\.[xyz]) : i32",
         ADDED + r"%mutant_id = \2 : i32" + "\n" + r"\1 = llvm.add %mutant_id, %mutant_one : i32"),
    Rule("tile off by one", E, "the next row of a tile", r"(%\d+) = llvm\.udiv (%\d+), (%\d+) : i32",
         ADDED + r"%mutant_row = llvm.udiv \2, \3 : i32" + "\n" + r"\1 = llvm.add %mutant_row, %mutant_one : i32"),
    Rule("tile off by one", P, "the next block", r"mov\.u32 \t(%r\d+), %ctaid\.[xyz];", r"\g<0>" + "\n" + r"add.s32 \1, \1, 1;"),
    Rule("tile off by one", P, "the next row of a tile", r"shr\.u32 \t(%r\d+), (%r\d+), \d;", r"\g<0>" + "\n" + r"add.s32 \1, \1, 1;"),
    Rule("mask off by one", E, "one too many", r'llvm\.icmp "ult"', 'llvm.icmp "ule"'),
    Rule("mask off by one", E, "one too few", r'(%\d+ = llvm\.icmp "ult") (%\d+)',
         ADDED + r"%mutant_at = llvm.add \2, %mutant_one : i32" + "\n" + r"\1 %mutant_at"),
    Rule("mask off by one", P, "one too many", r"(setp\.(lt|gt)\.u32 \t%p\d+, %r\d+), (\d+);", lambda m: f"{m[1]}, {int(m[3]) + 1};"),
    Rule("mask off by one", P, "one too few", r"(setp\.(lt|gt)\.u32 \t%p\d+, %r\d+), (\d+);", lambda m: f"{m[1]}, {int(m[3]) - 1};"),
    Rule("stage off by one", E, "a slot further is read", r"(%\d+ = nvvm\.ldmatrix) (%\d+)", lambda m: further(m[2], 3, SLOT) + m[1] + " %mutant"),
    Rule("stage off by one", E, "a slot further is written", r"(nvvm\.cp\.async\.shared\.global) (%\d+)", lambda m: further(m[2], 3, SLOT) + m[1] + " %mutant"),
    Rule("stage off by one", P, "a slot further is read", r"(ldmatrix\S+ \t?\{[^}]*\}, \[%r\d+)(?:\+(\d+))?\]", moved(SLOT)),
    Rule("stage off by one", P, "a slot further is written", r"(cp\.async\.cg\S+ \[%r\d+)(?:\+(\d+))?\]", moved(SLOT)),
    Rule("tail dropped", E, "a copy of all bytes", r"(nvvm\.cp\.async\.shared\.global %\d+, %\d+, 16, cache = +cg), %\d+ : (.*), i32", r"\1 : \2"),
    Rule("tail dropped", E, "a store that is not guarded", r"llvm\.cond_br (%\d+), (\^bb\d+), \^bb\d+\n", r"llvm.br \2" + "\n", counts_turns),
    Rule("tail dropped", E, "a store that is never made", r"llvm\.cond_br (%\d+), \^bb\d+, (\^bb\d+)\n", r"llvm.br \2" + "\n", counts_turns),
    Rule("tail dropped", E, "an element without its mask", r"llvm\.select (%\d+), (%\d+), %\d+ : i1, f32", r"llvm.select \1, \2, \2 : i1, f32"),
    Rule("tail dropped", P, "a copy of all bytes", r"selp\.b32( \t%r\d+), 16, 0, %p\d+;", r"mov.b32\1, 16;"),
    Rule("tail dropped", P, "a store that is not guarded", r"\t@(!?%p\d+) bra \t?(\S+);\n", "", is_of_a_loop),
    Rule("tail dropped", P, "a store that is never made", r"@(!?%p\d+) bra \t?(\S+);\n", r"bra \2;" + "\n", is_of_a_loop),
    Rule("tail dropped", P, "an element without its mask", r"selp\.f32( \t%r\d+), (\S+), 0fF149F2CA, %p\d+;", r"mov.b32\1, \2;"),
    Rule("copy uncommitted", E, "a copy uncommitted", r"nvvm\.cp\.async\.commit\.group", ""),
    Rule("copy uncommitted", P, "a copy uncommitted", r"\tcp\.async\.commit_group;\n", ""),
    Rule("lanes diverge", E, "half a warp at a barrier", r"nvvm\.barrier0", FIRST_HALF + r"\g<0>" + END_HALF),
    Rule("lanes diverge", E, "half a warp meets", r"nvvm\.bar\.warp\.sync %\d+ : i32", FIRST_HALF + r"\g<0>" + END_HALF),
    Rule("lanes diverge", E, "an exchange of half a warp", r"(%\d+ = nvvm\.shfl\.sync +bfly) %\d+",
         r"%mutant_mask = llvm.mlir.constant(65535 : i32) : i32" + "\n" + r"\1 %mutant_mask"),
    Rule("lanes diverge", P, "half a warp at a barrier", r"bar\.sync \t0;", PTX_HALF + r"@%p99999 \g<0>"),
    Rule("lanes diverge", P, "half a warp meets", r"bar\.warp\.sync \t-1;", PTX_HALF + r"@%p99999 \g<0>"),
    Rule("lanes diverge", P, "an instruction of half a warp", r"(mma|ldmatrix|shfl)\.sync", PTX_HALF + r"@%p99999 \g<0>"),
    Rule("two blocks, one row", E, "blocks alike", r"nvvm\.read\.ptx\.sreg\.ctaid\.[xyz] : i32", "llvm.mlir.zero : i32"),
    Rule("two blocks, one row", P, "blocks alike", r"mov\.u32 \t(%r\d+), %ctaid\.[xyz];", r"mov.u32 \1, 0;"),
    Rule("vector misaligned", E, "a load", r"%\d+ = llvm\.load (?P<at>%\d+)(?P<value>) \{alignment = (8|16) : i64\} : !llvm\.ptr<(?P<space>\d)>", access),
    Rule("vector misaligned", E, "a store", r"llvm\.store (?P<value>%\d+), (?P<at>%\d+) \{alignment = (8|16) : i64\} : \S+, !llvm\.ptr<(?P<space>\d)>", access),
    Rule("vector misaligned", E, "a copy", r"(nvvm\.cp\.async\.shared\.global) (%\d+)", lambda m: further(m[2], 3, 8) + m[1] + " %mutant"),
    Rule("vector misaligned", P, "a load or store of shared memory", r"((?:ld|st)\.shared\.v[24][^\n]*\[%r\d+)(?:\+(\d+))?\]", moved(4)),
    Rule("vector misaligned", P, "a load or store of global memory", r"((?:ld|st)\.global\.v[24][^\n]*\[%rd\d+)(?:\+(\d+))?\]", moved(4)),
    Rule("vector misaligned", P, "a copy", r"(cp\.async\.cg\S+ \[%r\d+)(?:\+(\d+))?\]", moved(8)),
    Rule("arguments exchanged", E, "operands", r"(%arg\d)(: !llvm\.ptr<1>[^,)]*, )(%arg\d)", r"\3\2\1"),
    Rule("arguments exchanged", P, "operands", r"_param_([01])\]", lambda m: f"_param_{1 - int(m[1])}]"),
    Rule("arguments exchanged", P, "later operands", r"_param_([12])\]", lambda m: f"_param_{3 - int(m[1])}]",
         lambda m: "_param_2]" not in m.string),
]
KINDS = list(dict.fromkeys(rule.kind for rule in RULES))
assert len(KINDS) == 12

# Classes of which a recipe has no fault, and why.
NONE = {
    ("norm", "swizzle on one side"): "it has no slots",
    ("norm", "stage off by one"): "it has no slots",
    ("norm", "copy uncommitted"): "it copies nothing",
}
# Mutants that compute the same, as `recipe: level: name place of places`, and why; a pattern stands for several.
EQUAL: dict[str, str] = {
    r"(norm|product in f32): \w+: no meeting of the warp 1 of 1": "the kernel ends there",
    r"(product|product with epilogue|attention): \w+: no meeting of the warp 4 of 4": "the kernel ends there",
    r"product.*: \w+: (no barrier|a wait for a copy less|no wait) 2 of 2":
        "behind the loop nobody reads what the last copies bring, nor what another warp wrote",
    r"product.*: \w+: a copy uncommitted 1 of [68]": "the first two copies end together, and the first wait is for both",
    r"product in f32: interpreted: a copy of all bytes [1-3] of 4": "these parts of k are whole: the mask lets everything through",
    r"attention: \w+: blocks alike 3 of 3": "there is one sequence",
    r"attention: \w+: (blocks of a left|halves of a right) operand exchanged 256 of 256": "these keys are behind the last: both are zeros",
    r"attention: \w+: a block transposed 72 of 72": "these values are behind the last: all are zeros",
    r"attention: \w+: a slot further is read 72 of 72": "these values are behind the last: their probabilities are 0",
    r"attention: emulated: a copy of all bytes 21 of 40": "the first box of values is whole: the mask lets everything through",
    r"attention: interpreted: a copy of all bytes 13 of 24": "the first box of keys is whole: the mask lets everything through",
    r"attention: \w+: one too many 25 of 48": "key 133 would be let in, and those that this guards are even",
    r"attention: \w+: one too (many|few) 48 of 48": "the sequence ends elsewhere than in the rows that this guards",
    r"product with epilogue: \w+: one too (many|few) (15|29) of 29": "the matrix ends elsewhere than in the rows that this guards",
    r"product: \w+: one too (many|few) (7|13) of 13": "the matrix ends elsewhere than in the rows that this guards",
    r"product in f32: emulated: one too (many|few) (11|20) of 20": "the matrix ends elsewhere than in the rows that this guards",
    r"product in f32: interpreted: one too (many|few) (13|24) of 24": "the matrix ends elsewhere than in the rows that this guards",
}


@dataclass
class Mutant:
    """A text with one fault; `grid` where the launch is at fault."""

    recipe: str
    rule: Rule
    place: int
    places: int
    text: str
    grid: tuple[int, ...] | None = None

    def __str__(self) -> str:
        return f"{self.recipe}: {self.rule.level}: {self.rule.name} {self.place} of {self.places}"

    def reason(self) -> str | None:
        """Why it is none."""
        return next((reason for pattern, reason in EQUAL.items() if re.fullmatch(pattern, str(self))), None)


@cache
def made(recipe: str) -> tuple[Case, np.ndarray]:
    """A kernel, and its result without a fault."""
    case = RECIPES[recipe]()
    return case, case.run("early", 0)


def text_of(recipe: str, level: str) -> str:
    case, _ = made(recipe)
    return emit("nvvm" if level == E else "ptx", case.recipe, *case.flags)


@cache
def emulated(recipe: str) -> np.ndarray:
    """The same result, as the emulation has it."""
    with tempfile.TemporaryDirectory() as folder:
        return made(recipe)[0].emulate(Path(folder), [("late", 1)])[0]


def spread(count: int, most: int) -> list[int]:
    """So many places of those there are, the first and the last among them."""
    return list(range(count)) if count <= most else sorted({round(i * (count - 1) / (most - 1)) for i in range(most)})


def mutants_by(rule: Rule, recipe: str) -> list[Mutant]:
    """Those of all places."""
    text = text_of(recipe, rule.level)
    matches = [m for m in re.finditer(rule.pattern, text) if not rule.skip(m)]
    instead = [rule.instead(m) if callable(rule.instead) else m.expand(rule.instead) for m in matches]
    return [Mutant(recipe, rule, i + 1, len(matches), text[: m.start()] + new + text[m.end() :])
            for i, (m, new) in enumerate(zip(matches, instead, strict=True))]


def mutants_of(recipe: str, kind: str, most: int) -> Iterator[Mutant]:
    """At most `most` of each rule; if that is 1, the first that is not equal."""
    for rule in RULES:
        if rule.kind == kind:
            mutants = mutants_by(rule, recipe)
            if most == 1:
                yield from [m for m in mutants if not m.reason()][:1] or mutants[:1]
            else:
                yield from (mutants[i] for i in spread(len(mutants), most))
    case, _ = made(recipe)
    if kind == "arguments exchanged" and len(set(case.grid)) > 1:
        for level in LEVELS:
            rule = Rule(kind, level, "extents of the grid", "", "")
            yield Mutant(recipe, rule, 1, 1, text_of(recipe, level), (*case.grid[1::-1], *case.grid[2:]))


def outcome(mutant: Mutant, folder: Path) -> str:
    """`refused: why`, `other numbers` or `not noticed`."""
    case, good = made(mutant.recipe)
    case = Case(case.recipe, case.flags, mutant.grid or case.grid, case.operands, case.truth, case.limit)
    if mutant.rule.level == E:
        try:
            results = case.emulate(folder, [("late", 1), ("mixed", 2)], mutant.text)
        except AssertionError as refused:
            said = str(refused).split("\n")[0]
            # A text that is no program at all would prove nothing.
            assert re.match(r"cuda-kernel: \w+:\d: kernel '", said), f"{mutant} is no program: {refused}"
            return f"refused: {said}"
        good = emulated(mutant.recipe)
    else:
        results = []
        for landing, seed in (("late", 1), ("mixed", 2), ("early", 3)):
            try:
                results.append(case.run(landing, seed, mutant.text))
            except ptx.Fault as fault:
                return f"refused: {fault}"
            if not np.array_equal(results[-1].view(np.uint8), good.view(np.uint8)):
                break
    same = all(np.array_equal(result.view(np.uint8), good.view(np.uint8)) for result in results)
    return "not noticed" if same else "other numbers"
