# ===- mutants.py - Kernels with one fault each ------------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Faults of twelve classes, planted in the kernel of every recipe: in the NVVM dialect, which the emulation runs, and in
PTX, which the interpreter runs. A rule finds places in a text by a pattern and says what stands there instead, so a new
recipe gets its mutants by its case in modules.py. Each must be refused or give other numbers, or be listed in EQUAL, unless
a probe shows that no thread of the case comes to where the mutant differs."""

import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import ptx
from kernels import Case, attention, norm, product
from modules import MODULES

RECIPES = {
    "product": lambda: product(70, 320, 72, (64, 64), (2, 2)),
    "product with epilogue": lambda: product(70, 192, 136, (64, 128), (2, 2), "bias gelu"),
    "product in f32": lambda: product(70, 392, 72, (64, 64), (2, 2), "bias wide", stages=4),
    "attention": lambda: attention(1, 133, 2, 64, 2),
    "norm": lambda: norm(6, 256),
    **MODULES,
}
LEVELS = ["emulated", "interpreted"]
# Kernels that take long, and that others cover but for the type or the maximum.
FOR_FULL = {"sums of keys", "sums of keys, f32", "queries of sums, rectified", "queries of sums, f32", "queries of keys so far", "queries of keys so far, f32",
            "product, f32", "product in parts, f32", "product of tokens, f32", "attention to blocks in f16", "attention, heads of 6 in f16", "logits of heads, f32",
            "attention, wide heads", "attention with logits in f16", "attention, heads of rows in f16", "product of scaled heads in f16"}

Match = re.Match
Instead = str | Callable[[Match], str]


@dataclass(frozen=True)
class Rule:
    """`pattern` is replaced by `instead` at one place; `skip` says of a match in a text that it is none of the fault's. What
    depends on the bytes of a slot is a function of these."""

    kind: str
    level: str
    name: str
    pattern: str
    instead: Instead
    skip: Callable[[Match], bool] = lambda _: False
    of_slot: Callable[[int], Instead] | None = None
    probe: Callable[[Match], str] | None = None


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
    """A load or store further by half of what it moves at least."""
    moved = further(m["at"], int(m["space"]), int(m["size"]) // 2)
    return moved + m[0].replace(m["at"], "%mutant", 1) if m["at"] != m["value"] else m[0]


def moved(by: int) -> Callable[[Match], str]:
    """An address of PTX some bytes further."""
    return lambda m: f"{m[1]}+{int(m[2] or 0) + by}]"


def misaligned(m: Match) -> str:
    """An address of PTX further by half of what is moved there: bytes, or so many words of so many bits."""
    size = int(m["bytes"]) if m["bytes"] else int(m["count"] or 1) * int(m["bits"]) // 8
    return f"{m['before']}+{int(m['offset'] or 0) + size // 2}]{m['after'] or ''}"


def faults_if(condition: str) -> str:
    """Text in the NVVM dialect that divides by zero where %mutant_if holds, which `condition` computes."""
    return (condition + "\n%mutant_0 = llvm.mlir.constant(0 : i32) : i32\n%mutant_1 = llvm.mlir.constant(1 : i32) : i32\n"
            "%mutant_by = llvm.select %mutant_if, %mutant_0, %mutant_1 : i1, i32\n%mutant_never = llvm.udiv %mutant_1, %mutant_by : i32\n")


def ptx_faults_if(predicate: str) -> str:
    """Text of PTX that reads out of bounds where a predicate holds."""
    return f"@{predicate.removeprefix('!!')} ld.shared.b32 %r99999, [kernel_memory+1073741824];\n"


def compared(x: str, kind: str, y: str) -> str:
    return f'%mutant_if = llvm.icmp "{kind}" {x}, {y} : i32'


TRUE = "%mutant_if = llvm.mlir.constant(true) : i1"
FALSE_IS = '%mutant_true = llvm.mlir.constant(true) : i1\n%mutant_if = llvm.xor {0}, %mutant_true : i1'
ALWAYS = "setp.eq.u32 %p99999, 0, 0;\n" + ptx_faults_if("%p99999")


def at_bound(beyond: int) -> Callable[[Match], str]:
    """Faults where a mask of PTX would be another with a bound that is so much larger."""
    def probe(m: Match) -> str:
        value = int(m[4]) + (m[2] == "gt") - (beyond < 0)
        return f"setp.eq.u32 %p99999, {m['of']}, {value};\n" + ptx_faults_if("%p99999") + m[0]
    return probe


def counts_turns(m: Match) -> bool:
    """Whether a branch is that of a loop: its condition compares with signs."""
    return f'{m[1]} = llvm.icmp "slt"' in m.string


def is_of_a_loop(m: Match) -> bool:
    """Whether a branch of PTX goes back, or over a branch that does."""
    before, after = m.string[: m.start()], m.string[m.end() :].partition(f"\n{m[2]}:")[0]
    return any(f"\n{label}:" in before for label in [m[2], *re.findall(r"bra(?:\.uni)? \t?(\S+);", after)])


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
    Rule("swizzle on one side", E, "chunks not exchanged", r"(%\d+) = llvm\.xor (%\d+), (%\d+) : i32", r"\1 = llvm.or \2, \2 : i32",
         probe=lambda m: faults_if(f"%mutant_zero = llvm.mlir.constant(0 : i32) : i32\n{compared(m[3], 'ne', '%mutant_zero')}") + m[0]),
    Rule("swizzle on one side", P, "chunks not exchanged", r"xor\.b32( \t%r\d+), (%r\d+), (%r\d+|\d+);", r"or.b32\1, \2, 0;",
         probe=lambda m: f"setp.ne.u32 %p99999, {m[3]}, 0;\n" + ptx_faults_if("%p99999") + m[0]),
    Rule("fragment", E, "blocks of a left operand exchanged", r"(mma\.sync A\[)(%\d+), (%\d+)", swapped),
    Rule("fragment", E, "halves of a right operand exchanged", r"( B\[)(%\d+), (%\d+)", swapped),
    Rule("fragment", E, "a block transposed", r"mma_layout<(row|col)>, num", other_layout),
    Rule("fragment", E, "a value of another lane", r"nvvm\.shfl\.sync +(bfly|idx)", "nvvm.shfl.sync up"),
    Rule("fragment", E, "neighbours of a run exchanged", r"(%\d+ = llvm\.extractelement %\d+)\[(%\d+) : i64\] : vector<([24])xf32>",
         r"%mutant_one = llvm.mlir.constant(1 : i64) : i64" + "\n" + r"%mutant_other = llvm.xor \2, %mutant_one : i64" + "\n"
         + r"\1[%mutant_other : i64] : vector<\3xf32>", lambda m: "cp.async" not in m.string),
    Rule("fragment", E, "a word that is not staged", r"llvm\.store %\d+, %\d+ \{alignment = 4 : i64\} : i32, !llvm\.ptr<3>", ""),
    Rule("fragment", P, "blocks of a left operand exchanged", r"(mma\S+\s*\{[^}]*\},\s*\{)(%r\d+), (%r\d+)", swapped),
    Rule("fragment", P, "halves of a right operand exchanged", r"(mma\S+\s*\{[^}]*\},\s*\{[^}]*\},\s*\{)(%r\d+), (%r\d+)", swapped),
    Rule("fragment", P, "a block transposed", r"x4(\.trans)?\.shared", lambda m: "x4.shared" if m[1] else "x4.trans.shared"),
    Rule("fragment", P, "an exchange less", r"shfl\.sync\.bfly\.b32 \t(%r\d+), (%r\d+), \d+, 31, -1;", r"mov.b32 \t\1, \2;"),
    Rule("fragment", P, "an element that no lane gives", r"shfl\.sync\.idx\.b32 \t(%r\d+), (%r\d+), %r\d+, 31, -1;", r"mov.b32 \t\1, \2;"),
    Rule("fragment", P, "a word that is not staged", r"\tst\.shared\.b32 [^\n]*\n", ""),
    Rule("tile off by one", E, "the next block", r"(%\d+) = (nvvm\.read\.ptx\.sreg\.ctaid\.[xyz]) : i32",
         ADDED + r"%mutant_id = \2 : i32" + "\n" + r"\1 = llvm.add %mutant_id, %mutant_one : i32"),
    Rule("tile off by one", E, "the next row of a tile", r"(%\d+) = llvm\.udiv (%\d+), (%\d+) : i32",
         ADDED + r"%mutant_row = llvm.udiv \2, \3 : i32" + "\n" + r"\1 = llvm.add %mutant_row, %mutant_one : i32"),
    Rule("tile off by one", P, "the next block", r"mov\.u32 \t(%r\d+), %ctaid\.[xyz];", r"\g<0>" + "\n" + r"add.s32 \1, \1, 1;"),
    Rule("tile off by one", P, "the next row of a tile", r"shr\.u32 \t(%r\d+), (%r\d+), \d;", r"\g<0>" + "\n" + r"add.s32 \1, \1, 1;"),
    Rule("mask off by one", E, "one too many", r'(%\d+ = llvm\.icmp) "ult" (%\d+), (%\d+)', r'\1 "ule" \2, \3',
         probe=lambda m: faults_if(compared(m[2], "eq", m[3])) + m[0]),
    Rule("mask off by one", E, "one too few", r'(%\d+ = llvm\.icmp "ult") (%\d+), (%\d+)',
         ADDED + r"%mutant_at = llvm.add \2, %mutant_one : i32" + "\n" + r"\1 %mutant_at, \3",
         probe=lambda m: faults_if(f"{ADDED}%mutant_at = llvm.add {m[2]}, %mutant_one : i32\n{compared('%mutant_at', 'eq', m[3])}") + m[0]),
    Rule("mask off by one", P, "one too many", r"(setp\.(lt|gt)\.u32 \t%p\d+, (?P<of>%r\d+)), (\d+);", lambda m: f"{m[1]}, {int(m[4]) + 1};", probe=at_bound(1)),
    Rule("mask off by one", P, "one too few", r"(setp\.(lt|gt)\.u32 \t%p\d+, (?P<of>%r\d+)), (\d+);", lambda m: f"{m[1]}, {int(m[4]) - 1};", probe=at_bound(-1)),
    Rule("stage off by one", E, "a slot further is read", r"(%\d+ = nvvm\.ldmatrix) (%\d+)", "",
         of_slot=lambda slot: lambda m: further(m[2], 3, slot) + m[1] + " %mutant"),
    Rule("stage off by one", E, "a run of a slot further is read", r"(%\d+ = llvm\.load) (%\d+)(?= \{alignment = \d+ : i64\} : !llvm\.ptr<3> -> vector<[24]xf32>)",
         "", of_slot=lambda slot: lambda m: further(m[2], 3, slot) + m[1] + " %mutant"),
    Rule("stage off by one", E, "a slot further is written", r"(nvvm\.cp\.async\.shared\.global) (%\d+)", "",
         of_slot=lambda slot: lambda m: further(m[2], 3, slot) + m[1] + " %mutant"),
    Rule("stage off by one", P, "a slot further is read", r"(ldmatrix\S+ \t?\{[^}]*\}, \[%r\d+)(?:\+(\d+))?\]", "", of_slot=moved),
    Rule("stage off by one", P, "a slot further is written", r"(cp\.async\.c[ag]\S+ \[%r\d+)(?:\+(\d+))?\]", "", of_slot=moved),
    Rule("tail dropped", E, "a copy of all bytes", r"(nvvm\.cp\.async\.shared\.global %\d+, %\d+, (\d+), cache = +c[ag]), (%\d+) : (.*), i32", r"\1 : \4",
         probe=lambda m: faults_if(f"%mutant_all = llvm.mlir.constant({m[2]} : i32) : i32\n{compared(m[3], 'ne', '%mutant_all')}") + m[0]),
    Rule("tail dropped", E, "a store that is not guarded", r"llvm\.cond_br (%\d+), (\^bb\d+), \^bb\d+\n", r"llvm.br \2" + "\n", counts_turns,
         probe=lambda m: faults_if(FALSE_IS.format(m[1])) + m[0]),
    Rule("tail dropped", E, "a store that is never made", r"llvm\.cond_br (%\d+), \^bb\d+, (\^bb\d+)\n", r"llvm.br \2" + "\n", counts_turns,
         probe=lambda m: faults_if("").replace("%mutant_if", m[1]) + m[0]),
    Rule("tail dropped", E, "an element without its mask", r"(%\d+) = llvm\.select (%\d+), (%\d+), %\d+ : i1, f32", r"\1 = llvm.select \2, \3, \3 : i1, f32",
         probe=lambda m: faults_if(FALSE_IS.format(m[2])) + m[0]),
    Rule("tail dropped", P, "a copy of all bytes", r"selp\.b32( \t%r\d+), (4|8|16), 0, (%p\d+);", r"mov.b32\1, \2;",
         probe=lambda m: ptx_faults_if("!" + m[3]) + m[0]),
    Rule("tail dropped", P, "a store that is not guarded", r"\t@(!?%p\d+) bra \t?(\S+);\n", "", is_of_a_loop, probe=lambda m: ptx_faults_if(m[1]) + m[0]),
    Rule("tail dropped", P, "a store that is never made", r"@(!?%p\d+) bra \t?(\S+);\n", r"bra \2;" + "\n", is_of_a_loop,
         probe=lambda m: ptx_faults_if("!" + m[1]) + m[0]),
    Rule("tail dropped", P, "an element without its mask", r"selp\.f32( \t%r\d+), (\S+), 0f(?:FF800000|00000000), (%p\d+);", r"mov.b32\1, \2;",
         probe=lambda m: ptx_faults_if("!" + m[3]) + m[0]),
    Rule("copy uncommitted", E, "a copy uncommitted", r"nvvm\.cp\.async\.commit\.group", ""),
    Rule("copy uncommitted", P, "a copy uncommitted", r"\tcp\.async\.commit_group;\n", ""),
    Rule("lanes diverge", E, "half a warp at a barrier", r"nvvm\.barrier0", FIRST_HALF + r"\g<0>" + END_HALF),
    Rule("lanes diverge", E, "half a warp meets", r"nvvm\.bar\.warp\.sync %\d+ : i32", FIRST_HALF + r"\g<0>" + END_HALF),
    Rule("lanes diverge", E, "an exchange of half a warp", r"(%\d+ = nvvm\.shfl\.sync +bfly) %\d+",
         r"%mutant_mask = llvm.mlir.constant(65535 : i32) : i32" + "\n" + r"\1 %mutant_mask"),
    Rule("lanes diverge", P, "half a warp at a barrier", r"bar\.sync \t0;", PTX_HALF + r"@%p99999 \g<0>"),
    Rule("lanes diverge", P, "half a warp meets", r"bar\.warp\.sync \t-1;", PTX_HALF + r"@%p99999 \g<0>"),
    Rule("lanes diverge", P, "an instruction of half a warp", r"(mma|ldmatrix|shfl)\.sync", PTX_HALF + r"@%p99999 \g<0>"),
    Rule("two blocks, one row", E, "blocks alike", r"(%\d+) = nvvm\.read\.ptx\.sreg\.ctaid\.[xyz] : i32\n", r"\1 = llvm.mlir.zero : i32" + "\n",
         probe=lambda m: m[0] + faults_if(f"%mutant_zero = llvm.mlir.constant(0 : i32) : i32\n{compared(m[1], 'ne', '%mutant_zero')}")),
    Rule("two blocks, one row", P, "blocks alike", r"mov\.u32 \t(%r\d+), %ctaid\.[xyz];", r"mov.u32 \1, 0;",
         probe=lambda m: m[0] + f"\nsetp.ne.u32 %p99999, {m[1]}, 0;\n" + ptx_faults_if("%p99999")),
    Rule("vector misaligned", E, "a load", r"%\d+ = llvm\.load (?P<at>%\d+)(?P<value>) \{alignment = (?P<size>4|8|16) : i64\} : !llvm\.ptr<(?P<space>\d)>", access, probe=lambda m: faults_if(TRUE) + m[0]),
    Rule("vector misaligned", E, "a store", r"llvm\.store (?P<value>%\d+), (?P<at>%\d+) \{alignment = (?P<size>4|8|16) : i64\} : \S+, !llvm\.ptr<(?P<space>\d)>", access, probe=lambda m: faults_if(TRUE) + m[0]),
    Rule("vector misaligned", E, "a copy", r"(nvvm\.cp\.async\.shared\.global) (%\d+), (%\d+, (\d+))", lambda m: further(m[2], 3, int(m[4]) // 2) + f"{m[1]} %mutant, {m[3]}"),
    *(Rule("vector misaligned", P, f"a load or store of {space} memory",
           rf"(?P<before>(?:ld|st)\.{space}\.(?:v(?P<count>[24])\.)?b(?P<bits>16|32|64)\b(?<!{space}\.b16)[^\n]*\[%rd?\d+)(?:\+(?P<offset>\d+))?\](?P<bytes>)(?P<after>)",
           misaligned, probe=lambda m: ALWAYS + m[0]) for space in ("shared", "global")),
    Rule("vector misaligned", P, "a copy", r"(?P<before>cp\.async\.c[ag]\S+ \[%r\d+)(?:\+(?P<offset>\d+))?\](?P<after>, \[[^\]]*\], (?P<bytes>\d+))", misaligned),
    Rule("arguments exchanged", E, "operands", r"(%arg\d)(: !llvm\.ptr<1>[^,)]*, )(%arg\d)", r"\3\2\1"),
    Rule("arguments exchanged", P, "operands", r"_param_([01])\]", lambda m: f"_param_{1 - int(m[1])}]"),
    Rule("arguments exchanged", P, "later operands", r"_param_([12])\]", lambda m: f"_param_{3 - int(m[1])}]",
         lambda m: "_param_2]" not in m.string),
]
KINDS = list(dict.fromkeys(rule.kind for rule in RULES))
assert len(KINDS) == 12

# Whose lanes add up what they have of a row.
ROWS = ("norm", "sum of parts", "scaled heads", "shares", "logarithms of shares", "heads of length one")
WITHOUT_SLOTS = [recipe for recipe in RECIPES if not recipe.startswith(("product", "attention", "logits", "raw scores", "sums", "queries", "squares of")) or recipe == "product by rows"]
# Classes of which a recipe has no fault, and why.
NONE = {
    **{(recipe, "swizzle on one side"): "it has no slots" for recipe in WITHOUT_SLOTS},
    **{(recipe, "stage off by one"): "it has no slots" for recipe in WITHOUT_SLOTS},
    **{(recipe, "copy uncommitted"): "it copies nothing" for recipe in WITHOUT_SLOTS},
    **{(recipe, "fragment"): "no lane needs what another has" for recipe in WITHOUT_SLOTS if not recipe.startswith(ROWS)},
    ("squares of tokens", "fragment"): "each lane reads what was copied element by element",
    ("attention, heads of 9 and 7", "vector misaligned"): "its rows begin at any element of 16 bits, so that it moves one at a time",
    ("slice of columns", "vector misaligned"): "its rows begin at any element, so that it moves one at a time",
}
# What becomes of a mutant that changes nothing for any thread of the case, which its probe shows: a mask off by one where no
# thread stands at the bound, a guard less where it lets every thread through, a vector that no thread moves.
SAME_EVERYWHERE = "the same for every thread"
# Other mutants that compute the same, as `recipe: level: name place of places`, and why; a pattern stands for several.
EQUAL: dict[str, str] = {
    r"attention, heads of rows.*: interpreted: an element without its mask ([12] of 28|[12] of 100|[12] of 84)": "a row with weights is divided by them, whatever was kept",
    r"attention, heads of rows.*: interpreted: an exchange less [1-4] of 12|attention to blocks.*: interpreted: a store that is (not guarded|never made) 1 of (33|17)":
        "no row without weights has a key that is kept",
    r"attention, scores read, f32: interpreted: an element without its mask ([1-9]|1[0-6]) of 164": "what is read there is of a key after the last",
    r".*: \w+: no meeting of the warp (1 of 1|2 of 2|3 of 3|4 of 4)": "the kernel ends there",
    r"(norm with a residual|sum of parts): \w+: no meeting of the warp 1 of 2": "it has no shared memory",
    r"product, f16, with a residual: \w+: no meeting of the warp 1 of 3": "results of f32 go past shared memory",
    r".*: \w+: a copy uncommitted 1 of [46]|logits.*: \w+: a copy uncommitted 1 of 2":
        "the first two copies end together, and the first wait is for both",
    r"(product (with|of|in parts).*|product, f.*|logits.*): \w+: a copy uncommitted (1 of 2|[1-3] of 4|[1-5] of 6)":
        "all parts are copied at first, and awaited together",
    r"attention, a window a warp.*: \w+: a copy uncommitted 2 of 3|attention, a window a warp, f32: \w+: a copy uncommitted 1 of 3":
        "these copies are awaited together",
    r"attention, a window a warp, f32: \w+: (no barrier|no wait|a wait for a copy less) 1 of 2": "queries are read after the second wait",
    r"attention, a window a warp: \w+: ((blocks of a left|halves of a right) operand exchanged 8 of 8|a block transposed 6 of 6)": "these columns are zeros",
    r"attention, a window a warp: interpreted: chunks not exchanged 10 of 10": "these columns are zeros in the other operand",
    r"attention, a window a warp.*: interpreted: no barrier 2 of 2": "the lanes of the only warp go on together",
    r"attention, a window a warp, f32: emulated: neighbours of a run exchanged 144 of 144": "these keys are after the last: their probabilities are 0",
    r"(norm|product.*|class token|mean of tokens): interpreted: an element without its mask \d+ of \d+": "what is read there is not stored",
    r"norm with a residual: interpreted: an element without its mask \d+ of 30": "what is read there is masked before the norm, or of no row",
    r"sum of parts: interpreted: an element without its mask (([1-9]|1\d|2[0-4]) of 28|1 of 19)": "what is read there is masked before the norm, and not stored",
    r"product (with positions|of a weight): \w+: (blocks of a left|halves of a right) operand exchanged 32 of 32": "this part of k is zeros",
    r"product (with positions|of a weight): \w+: a block transposed 20 of 20": "this part of k is zeros",
    r"product in parts: \w+: ((blocks of a left|halves of a right) operand exchanged 64 of 64|(a block transposed|a slot further is read) 40 of 40)":
        "this part of k is zeros",
    r"product (with positions|of a weight): \w+: chunks not exchanged (9 of 9|11 of 11)": "this part of k is zeros in the other operand",
    r"attention, (heads|means).*: \w+: (blocks of a left|halves of a right) operand exchanged 32 of 32": "these keys are after the last: both are zeros",
    r"attention, (heads|means).*: \w+: a block transposed 18 of 18": "these keys are after the last: their values are zeros",
    r"attention, (heads of 32 and 20|means of values): \w+: a slot further is read 18 of 18": "these keys are after the last: their probabilities are 0",
    r"attention, (heads of (6|12)|means).*: \w+: chunks not exchanged [78] of [78]": "these keys are after the last: their probabilities are 0",
    r"attention, heads of 9 and 7: \w+: a slot further is read (1[2-4]|1[6-8]) of 18": "these keys are after the last: their probabilities are 0",
    r"attention, heads of 9 and 7: interpreted: chunks not exchanged ([68]|10) of 10":
        "columns after the sixteenth are zeros in the other operand, or not stored",
    r"attention, heads of 11 and 7, f32: emulated: neighbours of a run exchanged (27[5-9]|280|28[3-8]) of 288|attention, heads of 11 and 7, f32: emulated: a run of a slot further is read (9[45689]|100|10[2-4]) of 104":
        "these keys are after the last: their probabilities are 0",
    r"attention, heads of (9|11) and 7.*: \w+: (a value of another lane (20 of 20|52 of 52)|an exchange less 20 of 20)": "rows after the last are not stored",
    r"logits of heads: emulated: neighbours of a run exchanged 2[34] of 24|logits of heads, f32: emulated: neighbours of a run exchanged (6[34]|7[129]|80) of 80":
        "this part of a head is zeros",
    r"logits.*: \w+: (blocks of a left|halves of a right) operand exchanged ([58] of 8|16 of 16)": "this part of a head is zeros",
    r"logits.*: \w+: a block transposed (6 of 6|12 of 12)": "this part of a head is zeros",
    r"logits.*: \w+: chunks not exchanged (5 of 5|9 of 9)": "this part of a head is zeros in the other operand",
    r"logits.*: interpreted: an element without its mask \d+ of \d+": "what is read there is not stored, or has a weight of 0",
    r"scaled heads: interpreted: an element without its mask ([1-4] of 8|1 of 10|[12] of 7)": "what is read there is masked once more, or of no row",
    r"product with positions: interpreted: one too many 18 of 39": "of a position after the row the sum is not stored",
    r"slice of columns: interpreted: one too few 5 of 10|slice of rows: interpreted: one too many 3 of 7": "what is read of columns after the last is not stored",
    r"(first token|pool of layers|sorted states): interpreted: one too many 1 of \d+": "a row is read only where it is stored",
    r"joined (columns|rows): interpreted: an element without its mask \d+ of \d+": "what is read there is another input's, or not stored",
    r"shares: interpreted: an element without its mask ([1-4] of 8|1 of 12)": "after the last column there is -inf instead",
    r"logarithms of shares.*: interpreted: an element without its mask (\d|[1-8]\d|9[0-6]) of 192":
        "after the last column there is -inf instead",
    r"attention, (wide heads|(heads|scores).*, f32): \w+: ((no barrier|a wait for a copy less|no wait) 1 of 3|a copy uncommitted [12] of 5)":
        "queries are read after the first keys and values, and the wait for these is for all",
    r"attention, wide heads: \w+: ((blocks of a left|halves of a right) operand exchanged 192 of 192|a block transposed 120 of 120)":
        "these keys are after the last: both are zeros",
    r"attention, scores read, f32: \w+: no meeting of the warp [12] of 3": "scores of f32 go past shared memory",
    r"attention, scores read, f32: \w+: (a value of another lane 72 of 72|an exchange less 40 of 40|an element that no lane gives 32 of 32)":
        "rows after the last are not stored",
    r"attention, scores read, f32: emulated: neighbours of a run exchanged 288 of 288": "these keys are after the last: their probabilities are 0",
    r"attention, scores read, f32: interpreted: an element without its mask ([1-9]|1[0-6]|49|5\d|6[0-4]) of 98": "what is read there is masked, or not stored",
    r"attention, scores read, f32: interpreted: an element without its mask (3[5-9]|40|4[5-8]|8[1-9]|9[0-6]) of 98":
        "it asks whether a score of -inf is kept, and there is none",
    r"attention, means of values: interpreted: one too few 1 of 20": "the last query has no key, and its scores do not matter",
    r"attention, means of values: \w+: (a value of another lane|an exchange less) 16 of 16": "rows after the last are not stored",
    r"attention, means of values: interpreted: a store that is (not guarded|never made) 1 of 9":
        "rows without weights ask whether a score of -inf is kept, and there is none",
    r"attention, means of values: interpreted: an element without its mask 7[34] of 74": "it asks whether a score of -inf is kept, and there is none",
    r"attention of sums of tanh, f32: interpreted: an element without its mask ([1-9]|1\d|2[0-2]|39|4\d) of 65": "what is read there is masked, or not stored",
    r"attention of sums of tanh, f32: \w+: (a value of another lane 33 of 64|neighbours of a run exchanged (97|192) of 192|an element that no lane gives (25|48) of 48|a run of a slot further is read 96 of 96)":
        "these keys are after the last: their probabilities are 0",
    r"raw scores alone: \w+: (blocks of a left|halves of a right) operand exchanged (17|32) of 32|raw scores alone: \w+: a block transposed 12 of 12":
        "this part of a head is zeros",
    r"raw scores alone: interpreted: chunks not exchanged [35] of 5": "this part of a head is zeros in the other operand",
    r"product of scaled heads.*: \w+: no barrier [13] of [45]": "a wait follows before the shares, or the scaled rows, are read",
    r"product of scaled heads.*: \w+: a copy uncommitted ([1-4] of 8|1 of 4|[1-3] of 7)": "all parts of the rows are awaited together",
    r"product of scaled heads in f16: interpreted: chunks not exchanged (9|1[01]) of 23|product of scaled heads, f32: interpreted: chunks not exchanged (9|1[0-5]) of 27":
        "columns of one head are scaled alike, wherever in the row they lie",
    r"product of scaled heads(?: in f16)?: interpreted: a store that is not guarded 1 of 16":
        "what is written there are columns of the next row, whose warp writes them afterwards",
    r"attention with logits.*: \w+: no meeting of the warp ([12] of 2|5 of 5)": "nothing follows that needs the other lanes",
    r"attention with logits in f16: \w+: a copy uncommitted 1 of 7": "both boxes of the weight are awaited together",
    r"attention with logits, f32: \w+: a copy uncommitted [1-3] of 6": "the weight and queries are awaited with the first keys",
    r"attention with logits, f32: \w+: (no barrier|a wait for a copy less|no wait) 1 of 3": "the weight and queries are read after the second wait",
    r"attention with logits.*: \w+: (a block transposed|a slot further is read) (40 of 40|104 of 104)": "these columns of the weight are after the last",
    r"attention with logits.*: \w+: (blocks of a left|halves of a right) operand exchanged (73 of 144|144 of 144|384 of 384)":
        "these columns of a head are after the last, or those of the weight: zeros",
    r"attention with logits.*: emulated: (neighbours of a run exchanged (40 of 40|160 of 160|177 of 352|352 of 352)|a run of a slot further is read (69|136) of 136|"
    r"a value of another lane 37 of 72)": "these keys, rows or hidden channels are after the last",
    r"attention with logits.*: interpreted: (an element that no lane gives 25 of 48|an element without its mask (21 of 40|40 of 40|104 of 104|113 of 224|224 of 224))":
        "these keys, rows or hidden channels are after the last",
    r"attention, heads of rows: interpreted: no barrier 3 of 4": "the lanes of the only warp go on together",
    r"attention, heads of rows.*: \w+: (a value of another lane|an exchange less) (12 of 12|24 of 24|44 of 44|7 of 12)":
        "it asks whether a key of -inf was kept, and these rows have weights",
    r"attention, heads of rows.*: \w+: ((blocks of a left|halves of a right) operand exchanged|a block transposed|a slot further is read) (8 of 8|24 of 24|48 of 48|96 of 96)":
        "these columns are after the last",
    r"attention, heads of rows.*: \w+: (chunks not exchanged 15 of 28|a word that is not staged (16|32|64|80) of (16|32|64|80)|the next row of a tile (11 of 11|41 of 41|57 of 57|59 of 59))":
        "these columns are after the last",
    r"attention, heads of rows, f32: emulated: (a run of a slot further is read 48 of 48|neighbours of a run exchanged 128 of 128)":
        "these keys are after the last: their probabilities are 0",
    r"attention, heads of rows.*: interpreted: a store that is not guarded ([15] of [28]|[1-3] of 4)": "the block of the next sequence writes these rows after it",
    r"attention, heads of rows.*: interpreted: an element without its mask ([78] of 28|43 of 84)": "what is read there is of a key after the last",
    r"attention, weights.*: \w+: (no barrier|a wait for a copy less|no wait) 4 of 4": "after the loop nobody reads what the last copies bring",
    r"attention, weights.*, f32: \w+: (no barrier|a wait for a copy less|no wait) 1 of 4": "queries are read after the second wait",
    r"attention, weights.*, f32: \w+: a copy uncommitted 1 of 7": "queries are awaited with the first keys",
    r"attention, weights.*: \w+: a copy uncommitted [246] of 7": "keys are awaited with their values",
    r"attention, weights.*: \w+: a copy uncommitted 7 of 7": "the only turn of the second loop copies a box that nobody reads",
    r"attention, weights.*: \w+: ((blocks of a left|halves of a right) operand exchanged (1[56]|2[78]|3[12])|neighbours of a run exchanged 304) of (32|304)":
        "these columns are after the last of a head: zeros, which are not stored",
    r"attention, weights.*: \w+: (a block transposed|chunks not exchanged) (18 of 18|7 of 7)": "these columns are after the last of a head: zeros",
    r"attention, weights.*, f32: interpreted: an element without its mask (1|40) of 40": "what is read there is masked, or not stored",
    r"attention, weights over their sum, f32: \w+: (a value of another lane 44 of 44|an exchange less (7|12) of 12)": "rows or columns after the last are not stored",
    r"raw scores alone: \w+: (no barrier|a wait for a copy less|no wait) 3 of 3": "after the loop nobody reads what the last copies bring",
    r"attention, heads of 9 and 7: \w+: (a wait for a copy less|no wait|a copy uncommitted) \d of \d|product of tokens: \w+: a wait for a copy less \d of \d":
        "elements that are moved one by one are there at once",
    r"product of tokens: \w+: a copy uncommitted 4 of 4": "elements that are moved one by one are there at once",
    r"queries of keys so far, f32: interpreted: an element without its mask \d+ of 136": "it is masked once more, or of no row or feature",
    r"queries of keys so far, rectified: \w+: ((no wait|a wait for a copy less) [14] of 4|no barrier ([1-478]|10) of 11)":
        "what is widened is there at once, and of two barriers one is enough",
    r"queries of keys so far, rectified: interpreted: an element without its mask \d+ of 224": "features after the last weigh 0",
    r"merged sums.*: interpreted: an element without its mask ([1-4] of 4|[1-3] of 3|[12] of 2|1 of 1)": "what is read there is of no row, and not stored",
    r"merged (patches|windows): \w+: the next row of a tile (15 of 15|[47] of 7|39 of 39|(7|13) of 13)": "these columns are after the last",
    r"(scaled heads|heads of length one.*): emulated: the next row of a tile (7 of 7|4 of 4)": "these columns are after the last",
    r"merged windows: interpreted: one too few 1 of 9": "the last row is read for columns after the last alone",
    r"merged sums: interpreted: one too few 5 of 8": "the last row is that of the maximum, which is stored instead",
    r"attention to blocks.*: \w+: (no barrier|no wait|a wait for a copy less) 3 of 3": "after the loop nobody reads what the last copies bring",
    r"attention to blocks.*: \w+: (a wait for a copy less 2 of 3|a copy uncommitted 5 of 5)": "values are moved one by one, and there at once",
    r"attention to blocks.*: \w+: (blocks of a left|halves of a right) operand exchanged (32 of 32|64 of 64)": "these keys are after the block: both are zeros",
    r"attention to blocks.*: \w+: a block transposed ((11|20) of 20|(9|18) of 18)": "these keys are after the block: their probabilities are 0",
    r"attention to blocks.*: interpreted: chunks not exchanged 11 of 11": "these keys are after the block: their probabilities are 0",
    r"attention to blocks.*: \w+: (a value of another lane|an exchange less) (20 of 20|40 of 40)": "rows after the block are not stored",
    r"attention to blocks.*: \w+: (a value of another lane|an exchange less) (11 of 20|21 of 40)": "it asks whether a key was kept, and these rows have weights",
    r"attention to blocks: interpreted: one too few 55 of 108|attention to blocks in f16: interpreted: one too few 41 of 82|"
    r"attention, weights over their sum, f32: interpreted: one too few 12 of 23": "no query sees the last key there",
    r"attention to blocks.*: interpreted: an element without its mask ((65|128) of 128|(33|64) of 64)": "rows after the block are not stored",
    r"sums of keys(, rectified)?: \w+: (no wait|a wait for a copy less|a copy uncommitted) \d+ of \d+":
        "what is widened is there at once, and two waits are for the weight",
    r"queries of sums: \w+: (no wait|a wait for a copy less) 1 of 3|queries of sums, rectified: \w+: (no wait|a wait for a copy less) 1 of 2":
        "queries are there at once",
    r"sums of keys: \w+: no barrier (1|10) of 10|sums of keys, rectified: \w+: no barrier 2 of 2|queries of sums: \w+: no barrier [57] of 7|queries of sums, rectified: \w+: no barrier [135] of 5":
        "a barrier follows before anybody reads or writes, or nothing follows",
    r"(sums of keys|queries of).*: \w+: no meeting of the warp \d+ of \d+": "a barrier follows, or nothing that needs the other lanes",
    r"(sums of keys|queries of sums), rectified: emulated: neighbours of a run exchanged 64 of 64|(sums of keys|queries of sums): emulated: neighbours of a run exchanged 224 of 224":
        "these columns are after the last",
    r"queries of sums: interpreted: an element without its mask ([1-9]|[12]\d|3[0-2]|64) of 64":
        "the product of no feature is 0, and less than the largest; what it weighs is 0",
    r"queries of sums: interpreted: one too many 21 of 40": "what a feature after the last weighs is 0",
    r"queries of sums, rectified: interpreted: an element without its mask \d+ of \d+": "what no feature is multiplied with is 0",
    r"queries of sums: \w+: a copy uncommitted 1 of 7": "queries are there at once",
    r"sums of keys: \w+: (a value of another lane 1 of 66|an exchange less 1 of 50|neighbours of a run exchanged 1 of 224)":
        "the largest product is of another feature",
    r"sums of keys: \w+: no barrier 2 of 10": "in the only turn the wait for the weight is the same",
    r"sums of keys: interpreted: a store that is not guarded [12] of 19|queries of (sums.*: interpreted: a store that is not guarded 1|keys so far.*: interpreted: a store that is not guarded [12]) of \d+":
        "lanes that share a row write the same",
    r"queries of sums, rectified: interpreted: one too many 2 of 23": "the summary has no such column",
    r"sums of keys, rectified: interpreted: an element without its mask ([1-9]|1[0-6]|\d*[13579]) of 80": "what is read there is masked once more, or not stored",
    r"sums of keys, rectified: interpreted: an element without its mask ([1-9]|1\d|2[0-35]) of 48|sums of keys: interpreted: an element without its mask ([1-9]|[1-4]\d) of 73|sums of keys: interpreted: one too few 6 of 61": "what is read there is not stored",
    r"heads of length one.*: interpreted: an element without its mask ([1-4] of 8|1 of 12|12 of 12)": "what is read there is of no head, and not stored",
    r"product.*: \w+: (no barrier|a wait for a copy less|no wait) 2 of 2":
        "after the loop nobody reads what the last copies bring, nor what another warp wrote",
    r"product.*: \w+: a copy uncommitted 1 of [68]": "the first two copies end together, and the first wait is for both",
    r"product in f32: interpreted: a copy of all bytes [1-3] of 4": "these parts of k are whole: the mask lets everything through",
    r"attention: \w+: blocks alike 3 of 3": "there is one sequence",
    r"attention: \w+: (blocks of a left|halves of a right) operand exchanged 256 of 256": "these keys are after the last: both are zeros",
    r"attention: \w+: a block transposed 72 of 72": "these values are after the last: all are zeros",
    r"attention: \w+: a slot further is read 72 of 72": "these values are after the last: their probabilities are 0",
    r"attention: emulated: a copy of all bytes 21 of 40": "the first box of values is whole: the mask lets everything through",
    r"attention: interpreted: a copy of all bytes 13 of 24": "the first box of keys is whole: the mask lets everything through",
    r"attention: \w+: one too many 25 of 48": "key 133 would be let in, and those that this guards are even",
    r"attention: \w+: one too (many|few) 48 of 48": "the sequence ends elsewhere than in the rows that this guards",
    r"product with epilogue: \w+: one too (many|few) (15|29) of 29": "the matrix ends elsewhere than in the rows that this guards",
    r"product: \w+: one too (many|few) (7|13) of 13": "the matrix ends elsewhere than in the rows that this guards",
    r"product in f32: emulated: one too (many|few) (11|20) of 20": "the matrix ends elsewhere than in the rows that this guards",
    r"product in f32: interpreted: one too (many|few) (13|24) of 24": "the matrix ends elsewhere than in the rows that this guards",
}

# Kernels of linear attention have hundreds of places for a rule, of which some change nothing, and why; others are noticed.
EQUAL_AT_PLACES: dict[str, str] = {
    r"(no barrier|no wait|a wait for a copy less|a copy uncommitted)":
        "what is widened is there at once, one wait is for two copies, a barrier follows before anybody reads or writes, or nobody reads what "
        "the last copies bring",
    r"no meeting of the warp": "a barrier follows, or stores of f32 go past shared memory",
    r"a slot further is written": "the slot has the same box since the maxima were found",
    r"(neighbours of a run exchanged|a run of a slot further is read|a value of another lane|an exchange less|a word that is not staged|one too few|"
    r"chunks not exchanged|an element that no lane gives)":
        "these rows, columns or keys are after the last, or the largest product is of another feature",
    r"an element without its mask": "what is read there is masked, or not stored",
    r"a store that is not guarded": "lanes that share a row write the same",
}
# Of these no place is known that matters.
NEVER_NOTICED = {"no meeting of the warp"}
LINEAR_ATTENTION = ("sums of keys", "queries of")


@dataclass
class Mutant:
    """A text with one fault; `grid` where the launch is at fault."""

    recipe: str
    rule: Rule
    place: int
    places: int
    text: str
    probe: str | None = None
    grid: tuple[int, ...] | None = None

    def __str__(self) -> str:
        return f"{self.recipe}: {self.rule.level}: {self.rule.name} {self.place} of {self.places}"

    def reason(self) -> str | None:
        """Why it is none."""
        return next((reason for pattern, reason in EQUAL.items() if re.fullmatch(pattern, str(self))), None)

    def is_never_noticed(self) -> bool:
        return self.recipe.startswith(LINEAR_ATTENTION) and self.rule.name in NEVER_NOTICED

    def possible_reason(self) -> str | None:
        """The same, or why it may be none."""
        if reason := self.reason():
            return reason
        reasons = EQUAL_AT_PLACES if self.recipe.startswith(LINEAR_ATTENTION) else {}
        return next((reason for pattern, reason in reasons.items() if re.fullmatch(pattern, self.rule.name)), None)


@cache
def made(recipe: str) -> Case:
    """A kernel, its operands and the truth."""
    return RECIPES[recipe]()


def text_of(recipe: str, level: str) -> str:
    return made(recipe).emit("nvvm" if level == E else "ptx")


def slot_of(recipe: str) -> int:
    """Bytes of the smallest slot; 0 where there is none."""
    slots = re.findall(r"(?<!memref)<\d+x(\d+)x(\d+)x[bf]+(\d+)>", made(recipe).emit("mlir"))
    return min((int(rows) * int(columns) * int(bits) // 8 for rows, columns, bits in slots), default=0)


@cache
def right(recipe: str, level: str) -> np.ndarray:
    """The result without a fault, as the emulation or the interpreter has it."""
    if level == P:
        return made(recipe).run("early", 0)
    with tempfile.TemporaryDirectory() as folder:
        return made(recipe).emulate(Path(folder), [("late", 1)])[0]


def spread(count: int, most: int) -> list[int]:
    """So many places of those there are, the first and the last among them."""
    return list(range(count)) if count <= most else sorted({round(i * (count - 1) / (most - 1)) for i in range(most)})


def mutants_by(rule: Rule, recipe: str) -> list[Mutant]:
    """Those of all places."""
    text = text_of(recipe, rule.level)
    matches = [m for m in re.finditer(rule.pattern, text) if not rule.skip(m)]
    how = rule.of_slot(slot_of(recipe)) if rule.of_slot else rule.instead
    instead = [how(m) if callable(how) else m.expand(how) for m in matches]
    def with_text(m: Match, new: str) -> str:
        return text[: m.start()] + new + text[m.end() :]

    return [Mutant(recipe, rule, i + 1, len(matches), with_text(m, new), with_text(m, rule.probe(m)) if rule.probe else None)
            for i, (m, new) in enumerate(zip(matches, instead, strict=True))]


def mutants_of(recipe: str, kind: str, most: int) -> Iterator[list[Mutant]]:
    """For each rule the places to try: at most `most`, or, if that is 1, those of which the first that matters is enough."""
    for rule in RULES:
        if rule.kind == kind:
            mutants = mutants_by(rule, recipe)
            if most == 1:
                others = [m for m in mutants if not m.reason()] or mutants
                yield [others[i] for i in spread(len(others), 12)]
            else:
                yield from ([mutants[i]] for i in spread(len(mutants), most))
    case = made(recipe)
    if kind == "arguments exchanged" and case.grid[:2] != case.grid[1::-1]:
        for level in LEVELS:
            rule = Rule(kind, level, "extents of the grid", "", "")
            yield [Mutant(recipe, rule, 1, 1, text_of(recipe, level), grid=(*case.grid[1::-1], *case.grid[2:]))]


def attempts(recipe: str, kind: str, most: int, folder: Path) -> Iterator[tuple[Mutant, str]]:
    """What becomes of mutants."""
    for places in mutants_of(recipe, kind, most):
        for mutant in places:
            result = outcome(mutant, folder)
            yield mutant, result
            if result != SAME_EVERYWHERE:
                break


def run_of(mutant: Mutant, text: str, order: tuple[str, int], folder: Path) -> np.ndarray | str:
    """The result of a text, or why it is refused."""
    case = made(mutant.recipe)
    case = replace(case, grid=mutant.grid or case.grid)
    if mutant.rule.level == P:
        try:
            return case.run(*order, text)
        except ptx.Fault as fault:
            return f"refused: {fault}"
    try:
        return case.emulate(folder, [order], text)[0]
    except AssertionError as refused:
        said = str(refused).split("\n")[0]
        # A text that is no program at all would prove nothing.
        assert re.match(r"cuda-kernel: \w+:\d: kernel '", said), f"{mutant} is no program: {refused}"
        return f"refused: {said}"


def outcome(mutant: Mutant, folder: Path) -> str:
    """`refused: why`, `other numbers`, `not noticed`, or that no thread comes to where the mutant differs."""
    good = right(mutant.recipe, mutant.rule.level)
    for order in (("late", 1), ("mixed", 2), ("early", 3)):
        result = run_of(mutant, mutant.text, order, folder)
        if isinstance(result, str):
            return result
        if not np.array_equal(result.view(np.uint8), good.view(np.uint8)):
            return "other numbers"
        if order[0] == "late" and mutant.probe and not isinstance(run_of(mutant, mutant.probe, order, folder), str):
            return SAME_EVERYWHERE
    return "not noticed"
