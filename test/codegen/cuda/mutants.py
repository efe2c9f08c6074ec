# ===- mutants.py - Kernels with one fault each ------------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Faults of fourteen classes, planted in the kernel of every recipe: in the NVVM dialect, which the emulation runs, and in
PTX, which the interpreter runs. A rule finds places in a text by a pattern and says what stands there instead, so a new
recipe gets its mutants by its case in modules.py. A mutant is refused or gives other numbers, or is equal by what happens: a probe
shows that no thread of the case comes to where it differs; no number that stands in the place of the one at fault reaches a stored
element; or, of a barrier or a wait, the other executor sees no difference either."""

import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import ptx
from kernels import Case, attention, drawn, norm, product
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
FOR_FULL = {"sums of keys", "sums of keys, f32", "queries of sums, rectified", "queries of sums, narrow, rectified", "queries of sums, f32", "queries of keys so far", "queries of keys so far, f32",
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


def ptx_faults_if_negative(register: str) -> str:
    return f"setp.lt.s32 %p99999, {register}, 0;\n" + ptx_faults_if("%p99999")


def compared(x: str, kind: str, y: str) -> str:
    return f'%mutant_if = llvm.icmp "{kind}" {x}, {y} : i32'


# Faults whose place may hold any number instead, if what they change reaches no stored element.
OF_NUMBERS = {"blocks of a left operand exchanged", "halves of a right operand exchanged", "a block transposed", "a value of another lane",
              "neighbours of a run exchanged", "an exchange less", "an element that no lane gives", "a slot further is read",
              "a run of a slot further is read", "an element without its mask", "the other of a number and none"}
# Words that are far numbers as f32, and as two of 16 bits.
OTHERS = (0x44424442, 0xC442C442)


def constant_of(kind: str, name: str, word: int) -> str:
    """A value of the NVVM dialect, all of whose words are this one."""
    words, signed = max(kind.count("i32"), 1), word - 2**32 if word >> 31 else word
    if kind.startswith("vector"):
        return f"{name} = llvm.mlir.constant(dense<0x{word:X}> : {kind}) : {kind}\n"
    if kind == "f32":
        return f"{name} = llvm.mlir.constant(0x{word:X} : f32) : f32\n"
    if kind == "i32":
        return f"{name} = llvm.mlir.constant({signed} : i32) : i32\n"
    names = [f"%spoiled_{i}" for i in range(words)] + [name]
    text = f"%spoiled_word = llvm.mlir.constant({signed} : i32) : i32\n{names[0]} = llvm.mlir.undef : {kind}\n"
    return text + "".join(f"{names[i + 1]} = llvm.insertvalue %spoiled_word, {names[i]}[{i}] : {kind}\n" for i in range(words))


def spoiled(m: Match, level: str, word: int) -> str:
    """The text where another number stands for what a product reads, where a mask keeps nothing, or for what an instruction gives."""
    text, emulated = m.string, level == LEVELS[0]
    begin, end = text.rfind("\n", 0, m.start()) + 1, text.index("\n", m.end()) + 1
    line = text[begin:end]
    if "operand" in m.groupdict():
        other = "%spoiled" if emulated else "%r99997"
        made = constant_of("i32", other, word) if emulated else f"mov.b32 {other}, {word};\n"
        return text[:begin] + made + text[begin : m.start()] + f"{m['operand']}{other}, {other}" + text[m.end() :]
    if "none" in m.groupdict():
        other = "%spoiled" if emulated else f"0f{word:08X}"
        made = constant_of("f32", other, word) if emulated else ""
        return text[:begin] + made + text[begin : m.start("none")] + other + text[m.end("none") :]
    if emulated:
        name = re.match(r"\s*(%\d+) = ", line)[1]
        kind = "f32" if "extractelement" in line else re.search(r".*(?:->|:|i1,) (.+?)\s*$", line)[1]
        return text[:begin] + line.replace(name, "%unused", 1) + constant_of(kind, name, word) + text[end:]
    given = re.findall(r"%r\d+", re.search(r"\{[^}]*\}|%r\d+", line)[0])
    return text[:end] + "".join(f"mov.b32 {name}, {word};\n" for name in given) + text[end:]


TRUE = "%mutant_if = llvm.mlir.constant(true) : i1"
# Where the second value is masked and is none of the third.
MASKS = ("%mutant_x = llvm.select {0}, {2}, {1} : i1, f32\n%mutant_bits = llvm.bitcast %mutant_x : f32 to i32\n%mutant_none = llvm.bitcast {2} : f32 to i32\n"
         + compared("%mutant_bits", "ne", "%mutant_none"))
FALSE_IS = '%mutant_true = llvm.mlir.constant(true) : i1\n%mutant_if = llvm.xor {0}, %mutant_true : i1'
NEGATIVE = f"%mutant_zero = llvm.mlir.constant(0 : i32) : i32\n{compared('{0}', 'slt', '%mutant_zero')}"
ALWAYS = "setp.eq.u32 %p99999, 0, 0;\n" + ptx_faults_if("%p99999")


def at_bound(beyond: int) -> Callable[[Match], str]:
    """Faults where a mask of PTX would be another with a bound that is so much larger."""
    def probe(m: Match) -> str:
        value = int(m[4]) + (m[2] == "gt") - (beyond < 0)
        return f"setp.eq.u32 %p99999, {m['of']}, {value};\n" + ptx_faults_if("%p99999") + m[0]
    return probe


def none_of_two(m: Match) -> str:
    """Faults where an operand of a maximum in the NVVM dialect is no number: before the line, whose middle the match is."""
    name = re.search(r"(%\d+) = $", m.string[: m.start()])[1]
    return (f"llvm.intr.{m[1]}imum({m[2]}, {m[3]}) : (f32, f32) -> f32\n" + faults_if(f'%mutant_if = llvm.fcmp "uno" {m[2]}, {m[3]} : f32')
            + f"%mutant_{name[1:]} = llvm.intr.{m[1]}imum")


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
    Rule("fragment", E, "blocks of a left operand exchanged", r"(?P<operand>mma\.sync A\[)(%\d+), (%\d+)", swapped),
    Rule("fragment", E, "halves of a right operand exchanged", r"(?P<operand> B\[)(%\d+), (%\d+)", swapped),
    Rule("fragment", E, "a block transposed", r"mma_layout<(row|col)>, num", other_layout),
    Rule("fragment", E, "a value of another lane", r"nvvm\.shfl\.sync +(bfly|idx)", "nvvm.shfl.sync up"),
    Rule("fragment", E, "neighbours of a run exchanged", r"(%\d+ = llvm\.extractelement %\d+)\[(%\d+) : i64\] : vector<([24])xf32>",
         r"%mutant_one = llvm.mlir.constant(1 : i64) : i64" + "\n" + r"%mutant_other = llvm.xor \2, %mutant_one : i64" + "\n"
         + r"\1[%mutant_other : i64] : vector<\3xf32>", lambda m: "cp.async" not in m.string),
    Rule("fragment", E, "a word that is not staged", r"llvm\.store %\d+, %\d+ \{alignment = 4 : i64\} : i32, !llvm\.ptr<3>", ""),
    Rule("fragment", P, "blocks of a left operand exchanged", r"(?P<operand>mma\S+\s*\{[^}]*\},\s*\{)(%r\d+), (%r\d+)", swapped),
    Rule("fragment", P, "halves of a right operand exchanged", r"(?P<operand>mma\S+\s*\{[^}]*\},\s*\{[^}]*\},\s*\{)(%r\d+), (%r\d+)", swapped),
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
    Rule("tail dropped", E, "an element without its mask", r"(%\d+) = llvm\.select (%\d+), (%\d+), (?P<none>%\d+) : i1, f32", r"\1 = llvm.select \2, \3, \3 : i1, f32",
         probe=lambda m: faults_if(MASKS.format(m[2], m[3], m["none"])) + m[0]),
    Rule("tail dropped", P, "a copy of all bytes", r"selp\.b32( \t%r\d+), (4|8|16), 0, (%p\d+);", r"mov.b32\1, \2;",
         probe=lambda m: ptx_faults_if("!" + m[3]) + m[0]),
    Rule("tail dropped", P, "a store that is not guarded", r"\t@(!?%p\d+) bra \t?(\S+);\n", "", is_of_a_loop, probe=lambda m: ptx_faults_if(m[1]) + m[0]),
    Rule("tail dropped", P, "a store that is never made", r"@(!?%p\d+) bra \t?(\S+);\n", r"bra \2;" + "\n", is_of_a_loop,
         probe=lambda m: ptx_faults_if("!" + m[1]) + m[0]),
    Rule("tail dropped", P, "an element without its mask", r"selp\.f32( \t%r\d+), (\S+), (?P<none>0f(?:FF800000|00000000)), (%p\d+);", r"mov.b32\1, \2;",
         probe=lambda m: f"selp.b32 %r99996, {m['none']}, {m[2]}, {m[4]};\nsetp.ne.u32 %p99999, %r99996, {m['none']};\n" + ptx_faults_if("%p99999") + m[0]),
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
    Rule("sign lost", E, "an unsigned comparison", r'(%\d+ = llvm\.icmp) "s(lt|le|gt|ge)" (%\d+), (%\d+)', r'\1 "u\2" \3, \4',
         probe=lambda m: faults_if(f'%mutant_s = llvm.icmp "s{m[2]}" {m[3]}, {m[4]} : i32\n%mutant_u = llvm.icmp "u{m[2]}" {m[3]}, {m[4]} : i32\n'
                                   "%mutant_if = llvm.xor %mutant_s, %mutant_u : i1") + m[0]),
    Rule("sign lost", E, "a number without its sign", r"(%\d+ = llvm\.)si(tofp (%\d+) : i32 to f32)", r"\1ui\2", probe=lambda m: faults_if(NEGATIVE.format(m[3])) + m[0]),
    Rule("sign lost", P, "an unsigned comparison", r"setp\.(lt|le|gt|ge)\.s32( \t%p\d+, ([^\s,]+), ([^\s;]+);)", r"setp.\1.u32\2",
         probe=lambda m: f"xor.b32 %r99999, {m[3]}, {m[4]};\n" + ptx_faults_if_negative("%r99999") + m[0]),
    Rule("sign lost", P, "a number without its sign", r"cvt\.rn\.f32\.s32( \t%r\d+, (%r\d+);)", r"cvt.rn.f32.u32\1",
         probe=lambda m: ptx_faults_if_negative(m[2]) + m[0]),
    Rule("no number lost", E, "the other of a number and none", r"llvm\.intr\.(max|min)imum(?=\((%\d+), (%\d+)\) : \(f32)", r"llvm.intr.\1num", probe=none_of_two),
    Rule("no number lost", P, "the other of a number and none", r"(max|min)\.NaN\.f32(?= \t%r\d+, (\S+), (\S+);)", r"\1.f32",
         probe=lambda m: f"setp.nan.f32 %p99999, {m[2]}, {m[3]};\n" + ptx_faults_if("%p99999") + m[0]),
]
KINDS = list(dict.fromkeys(rule.kind for rule in RULES))
assert len(KINDS) == 14

# Whose lanes add up what they have of a row.
ROWS = ("norm", "sum of parts", "scaled heads", "shares", "logarithms of shares", "heads of length one", "squared rows", "centred rows", "division by a norm")
WITHOUT_SLOTS = [recipe for recipe in RECIPES if not recipe.startswith(("product", "attention", "logits", "raw scores", "sums", "queries", "squares of")) or recipe == "product by rows"]
# Classes of which a recipe has no fault, and why.
NONE = {
    **{(recipe, "swizzle on one side"): "it has no slots" for recipe in WITHOUT_SLOTS},
    **{(recipe, "stage off by one"): "it has no slots" for recipe in WITHOUT_SLOTS},
    **{(recipe, "copy uncommitted"): "it copies nothing" for recipe in WITHOUT_SLOTS},
    **{(recipe, "fragment"): "no lane needs what another has" for recipe in WITHOUT_SLOTS if not recipe.startswith(ROWS)},
    ("squares of tokens", "fragment"): "each lane reads what was copied element by element",
    ("squares of tokens along time", "fragment"): "each lane reads what was copied element by element",
    ("attention, heads of 9 and 7", "vector misaligned"): "its rows begin at any element of 16 bits, so that it moves one at a time",
    ("slice of columns", "vector misaligned"): "its rows begin at any element, so that it moves one at a time",
}
# What becomes of a mutant that changes nothing for any thread of the case, which its probe shows: a mask off by one where no
# thread stands at the bound, a guard less where it lets every thread through, a vector that no thread moves.
SAME_EVERYWHERE = "the same for every thread"
# Classes of which few recipes have a fault that changes anything.
RARE = ("sign lost", "no number lost")
# Classes whose mutants are faults whatever the data, and those whose mutants change when something happens and no number.
WRONG_ANYWAY = ("lanes diverge", "two blocks, one row", "vector misaligned", "arguments exchanged")
OF_ORDER = ("barrier or wait", "copy uncommitted")
assert {*WRONG_ANYWAY, *OF_ORDER} < {*KINDS}
NOT_NOTICED = "not noticed"


@dataclass
class Mutant:
    """A text with one fault; `grid` where the launch is at fault."""

    recipe: str
    rule: Rule
    place: int
    places: int
    text: str
    probe: str | None = None
    match: Match | None = None
    grid: tuple[int, ...] | None = None

    def __str__(self) -> str:
        return f"{self.recipe}: {self.rule.level}: {self.rule.name} {self.place} of {self.places}"

    def twin(self) -> "Mutant | None":
        """The same fault at the other level, where that has as many places."""
        other = next((rule for rule in RULES if (rule.kind, rule.name) == (self.rule.kind, self.rule.name) and rule.level != self.rule.level), None)
        mutants = mutants_by(other, self.recipe) if other else []
        return mutants[self.place - 1] if len(mutants) == self.places else None


@cache
def made(recipe: str, drawing: int = 0) -> Case:
    """A kernel, its operands and the truth; of one recipe the operands differ from drawing to drawing, and nothing else."""
    with drawn(drawing):
        return RECIPES[recipe]()


def text_of(recipe: str, level: str) -> str:
    return made(recipe).emit("nvvm" if level == E else "ptx")


def slot_of(recipe: str) -> int:
    """Bytes of the smallest slot; 0 where there is none."""
    slots = re.findall(r"(?<!memref)<\d+x(\d+)x(\d+)x[bf]+(\d+)>", made(recipe).emit("mlir"))
    return min((int(rows) * int(columns) * int(bits) // 8 for rows, columns, bits in slots), default=0)


@cache
def right(recipe: str, level: str, drawing: int = 0) -> np.ndarray:
    """The result without a fault, as the emulation or the interpreter has it."""
    if level == P:
        return made(recipe, drawing).run("early", 0)
    with tempfile.TemporaryDirectory() as folder:
        return made(recipe, drawing).emulate(Path(folder), [("late", 1)])[0]


def spread(count: int, most: int) -> list[int]:
    """So many places of those there are, the first and the last among them; of one alone that in the middle."""
    if most == 1:
        return [count // 2] if count else []
    return list(range(count)) if count <= most else sorted({round(i * (count - 1) / (most - 1)) for i in range(most)})


def mutants_by(rule: Rule, recipe: str) -> list[Mutant]:
    """Those of all places."""
    text = text_of(recipe, rule.level)
    matches = [m for m in re.finditer(rule.pattern, text) if not rule.skip(m)]
    how = rule.of_slot(slot_of(recipe)) if rule.of_slot else rule.instead
    instead = [how(m) if callable(how) else m.expand(how) for m in matches]

    def with_text(m: Match, new: str) -> str:
        return text[: m.start()] + new + text[m.end() :]

    return [Mutant(recipe, rule, i + 1, len(matches), with_text(m, new), with_text(m, rule.probe(m)) if rule.probe else None, m)
            for i, (m, new) in enumerate(zip(matches, instead, strict=True))]


def mutants_of(recipe: str, kind: str, most: int) -> Iterator[list[Mutant]]:
    """For each rule at most so many places."""
    for rule in RULES:
        if rule.kind == kind:
            mutants = mutants_by(rule, recipe)
            yield [mutants[i] for i in spread(len(mutants), most)]
    case = made(recipe)
    if kind == "arguments exchanged" and case.grid[:2] != case.grid[1::-1]:
        for level in LEVELS:
            rule = Rule(kind, level, "extents of the grid", "", "")
            yield [Mutant(recipe, rule, 1, 1, text_of(recipe, level), grid=(*case.grid[1::-1], *case.grid[2:]))]


def attempts(recipe: str, kind: str, most: int, least: int, folder: Path) -> Iterator[tuple[Mutant, str]]:
    """What becomes of mutants: of each rule of so many at least, and of more until one is noticed."""
    for places in mutants_of(recipe, kind, most):
        first = spread(len(places), least)
        order = [*first, *(i for i in range(len(places)) if i not in first)]
        noticed = False
        for number, i in enumerate(order):
            if noticed and number >= least:
                break
            result = outcome(places[i], folder)
            noticed |= is_noticed(result)
            yield places[i], result


def is_noticed(result: str) -> bool:
    return result not in (NOT_NOTICED, SAME_EVERYWHERE)


def run_of(mutant: Mutant, text: str, order: tuple[str, int], folder: Path, drawing: int = 0) -> np.ndarray | str:
    """The result of a text, or why it is refused."""
    case = made(mutant.recipe, drawing)
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


def is_equal(mutant: Mutant, result: np.ndarray, drawing: int = 0) -> bool:
    return np.array_equal(result.view(np.uint8), right(mutant.recipe, mutant.rule.level, drawing).view(np.uint8))


# Other data may show what the first has by chance in common: the largest of several numbers, rows that are alike.
RUNS = [("late", 1, 0), ("mixed", 2, 0), ("early", 3, 0), ("late", 1, 1), ("late", 1, 2)]


def outcome(mutant: Mutant, folder: Path) -> str:
    """`refused: why`, `other numbers`, that no thread comes to where the mutant differs, or that it is not noticed, in other data neither."""
    for landing, seed, drawing in RUNS:
        if drawing and mutant.rule.kind in OF_ORDER:
            break
        order = landing, seed
        result = run_of(mutant, mutant.text, order, folder, drawing)
        if isinstance(result, str):
            return result
        if not is_equal(mutant, result, drawing):
            return "other numbers"
        if (landing, drawing) == ("late", 0) and mutant.probe and not isinstance(run_of(mutant, mutant.probe, order, folder), str):
            return SAME_EVERYWHERE
    return NOT_NOTICED


def reaches(mutant: Mutant, word: int, folder: Path) -> bool:
    """Whether a number in the place of the one at fault changes what is stored. One that is only the least in a maximum does not."""
    result = run_of(mutant, spoiled(mutant.match, mutant.rule.level, word), RUNS[0][:2], folder)
    return isinstance(result, str) or not is_equal(mutant, result)


def objection(mutant: Mutant, folder: Path) -> str | None:
    """Why a mutant that is not noticed should be: its class is always a fault; another number in its place reaches a stored element;
    or the other executor, which shares no code, notices a copy or a barrier less."""
    if mutant.rule.kind in WRONG_ANYWAY:
        return "which is a fault whatever the data"
    if mutant.rule.name in OF_NUMBERS and all(reaches(mutant, word, folder) for word in OTHERS):
        return "though another number there reaches what is stored"
    # The lanes of a warp go on together in the interpreter.
    is_of_warps = mutant.rule.level == E or warps_of(mutant.recipe) > 1
    twin = mutant.twin() if mutant.rule.kind in OF_ORDER and is_of_warps else None
    said = outcome(twin, folder) if twin else NOT_NOTICED
    return f"but {twin.rule.level}: {said}" if is_noticed(said) else None


def warps_of(recipe: str) -> int:
    return int(re.search(r"\.(?:req|max)ntid (\d+)", text_of(recipe, P))[1]) // 32


def missed(recipe: str, kind: str, most: int, folder: Path, least: int = 1) -> list[str]:
    """Mutants that should be noticed and are not; and a class of which none is, whose mutants change numbers."""
    said, results = [], []
    for mutant, result in attempts(recipe, kind, most, least, folder):
        print(f"{mutant}: {result}")
        results.append(result)
        if result == NOT_NOTICED and (why := objection(mutant, folder)):
            said.append(f"{mutant}: {result}, {why}")
    if kind in RARE:
        results = [result for result in results if result != SAME_EVERYWHERE]
    if results and kind not in OF_ORDER and not any(map(is_noticed, results)):
        said.append(f"{recipe}: {kind}: nothing is noticed")
    return said
