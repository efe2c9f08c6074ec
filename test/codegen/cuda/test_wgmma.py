# ===- test_wgmma.py - Products of warp groups, interpreted and emulated ------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Kernels for sm_90a compute what NumPy does in float64, whatever the order of warps, copies and products, in both executors and
to the bit; a fault in one of them is noticed; and the machine code that ptxas makes keeps its gates. Nothing here runs on a GPU."""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import ptx
import pytest
import sass
from kernels import emit, product
from wgmma_modules import ARCH, WGMMA, grouped

ORDERS = [("late", 1), ("mixed", 2), ("early", 0), ("mixed", 5)]


@pytest.mark.parametrize("name", WGMMA)
def test_kernels_compute_what_numpy_does(name, tmp_path):
    case = WGMMA[name](tmp_path)
    assert not (case.errors(case.planted()) <= case.limit).any()
    interpreted = [case.run(*order) for order in ORDERS]
    emulated = case.emulate(tmp_path, ORDERS)
    for result in [*interpreted, *emulated]:
        assert case.error(result) <= case.limit
        assert case.is_same(result, interpreted[0])
    assert "wgmma.mma_async" in case.ptx() and "mma.sync" not in case.ptx()


@pytest.mark.parametrize("device", ["a100", "h100"])
def test_kernels_are_right_as_devices_add(device, tmp_path):
    """How wgmma adds nobody has asked; here as mma.sync of a device does."""
    case = WGMMA["two groups"](tmp_path)
    interpreted = case.run("late", 3, sums=device)
    (emulated,) = case.emulate(tmp_path, [("late", 3)], sums=device)
    assert case.error(interpreted) <= case.limit and case.error(emulated) <= case.limit


def test_equal_tiles_have_equal_bits(tmp_path):
    """The warps of mma.sync add in the same order."""
    by_groups, other = grouped(70, 320, 72, (64, 64), "bias"), product(70, 320, 72, (64, 64), (4, 1), "bias")
    assert np.array_equal(by_groups.run("late", 1), other.run("late", 1))
    assert np.array_equal(by_groups.emulate(tmp_path, [("mixed", 1)])[0], other.emulate(tmp_path, [("mixed", 1)])[0])


def test_another_machine_has_no_such_kernel():
    with pytest.raises(AssertionError, match="a kernel has products under way, which sm_80 does not have"):
        emit("ptx", "product", "--block-rows=64", "--block-columns=64", "--row-warps=4", "--column-warps=1", "--under-way=1")


# Faults ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Fault:
    """What becomes of a text, at each of the places that the pattern finds, or at the first ones alone where what is there later
    repeats what holds already."""

    name: str
    pattern: str
    instead: str
    first: int = 99


WAIT = r"hova_cuda\.wgmma_wait {}"
PROXY = r"nvvm\.fence\.proxy \{[^}]*\}"
PTX_HALF = "mov.u32 %r99998, %laneid;\nsetp.lt.u32 %p99999, %r99998, 16;\n@%p99999 "
EMULATED = [
    Fault("a fence of proxies is missing", PROXY + r"\n", ""),
    Fault("a fence of proxies stands before the wait of copies", r"(nvvm\.cp\.async\.wait\.group \d+)\s+(" + PROXY + r")", r"\2\n\1"),
    Fault("a barrier is missing", r"nvvm\.barrier0\n", "", 2),
    Fault("copies are not waited for", r"nvvm\.cp\.async\.wait\.group \d+", "nvvm.cp.async.wait.group 7"),
    Fault("products are not waited for, and their slot is written", WAIT.format(1), "hova_cuda.wgmma_wait 2"),
    Fault("the last products are not waited for", WAIT.format(0), "hova_cuda.wgmma_wait 1"),
    Fault("an operand begins a row later", r"(%\d+:\d+ = hova_cuda\.wgmma bf16, \()(%\d+)\)",
          r"%mutant = llvm.getelementptr \2[128] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8" + "\n" + r"\1%mutant)"),
    Fault("an operand begins eight rows later", r"(%\d+:\d+ = hova_cuda\.wgmma bf16, \()(%\d+)\)",
          r"%mutant = llvm.getelementptr \2[1024] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8" + "\n" + r"\1%mutant)"),
    Fault("operands are exchanged", r"(hova_cuda\.wgmma bf16, \()(%\d+)\), (%\d+)", r"\1\3), \2"),
    Fault("rows are half as long", r"(hova_cuda\.wgmma [^\n]*\)) : !llvm\.ptr<3>", r"\1 {row_bytes = 64 : i64} : !llvm.ptr<3>"),
    Fault("f16 instead of bf16", r"hova_cuda\.wgmma bf16", "hova_cuda.wgmma f16"),
    Fault("two sums are exchanged", r"(hova_cuda\.wgmma [^\n]* to ?\()(%[\w#]+), (%[\w#]+), (%[\w#]+)", r"\1\3, \2, \4"),
    Fault("two sums are exchanged at a wait", r"(hova_cuda\.wgmma_wait \d, \()(%[\w#]+), (%[\w#]+), (%[\w#]+)", r"\1\3, \2, \4"),
]
INTERPRETED = [
    Fault("a fence of proxies is missing", r"\tfence\.proxy\.async\S*;\n", ""),
    Fault("a fence of proxies stands before the wait of copies", r"(\tcp\.async\.wait_group \t\d+;\n)(\tfence\.proxy\.async\S*;\n)", r"\2\1"),
    Fault("a barrier is missing", r"\tbar\.sync \t0;\n", "", 2),
    Fault("copies are not waited for", r"cp\.async\.wait_group \t\d+;", "cp.async.wait_group \t7;"),
    Fault("a fence of registers is missing", r"wgmma\.fence\.sync\.aligned;", "", 1),
    Fault("a commit is missing", r"wgmma\.commit_group\.sync\.aligned;", ""),
    Fault("products are not waited for, and their slot is written", r"wgmma\.wait_group\.sync\.aligned 1;", ""),
    Fault("one group too many is under way", r"wgmma\.wait_group\.sync\.aligned 1;", "wgmma.wait_group.sync.aligned 2;"),
    Fault("the last products are not waited for", r"wgmma\.wait_group\.sync\.aligned 0;", ""),
    Fault("the last group is under way", r"wgmma\.wait_group\.sync\.aligned 0;", "wgmma.wait_group.sync.aligned 1;"),
    Fault("groups of rows are nearer", r"1073741888", "1073741856"),
    Fault("chunks are exchanged as in rows of 64 bytes", r"1073741888", "2147483712"),
    Fault("chunks are not exchanged", r"1073741888", "64"),
    Fault("the address is in other units", r"shr\.u32 %w[ab], %r\d+, 4;", lambda m: m[0].replace(", 4;", ", 3;")),
    Fault("a step is twice as long", r"add\.u32 %w([ab]), %w\1, 2;", r"add.u32 %w\1, %w\1, 4;"),
    Fault("a step is none", r"add\.u32 %w([ab]), %w\1, 2;", ""),
    Fault("a step is a row", r"add\.u32 %w([ab]), %w\1, 2;", r"add.u32 %w\1, %w\1, 8;"),
    Fault("operands are exchanged", r"\}, %wx, %wy,", "}, %wy, %wx,"),
    Fault("sums are forgotten", r"%wx, %wy, 1, 1, 1", "%wx, %wy, 0, 1, 1"),
    Fault("an operand is negated", r"%wx, %wy, 1, 1, 1", "%wx, %wy, 1, -1, 1"),
    Fault("an operand is transposed", r"%wx, %wy, 1, 1, 1, 0, 0", "%wx, %wy, 1, 1, 1, 0, 1"),
    Fault("f16 instead of bf16", r"f32\.bf16\.bf16", "f32.f16.f16"),
    Fault("two sums are exchanged", r"(k16\.f32\.bf16\.bf16 \{)(%\w+), (%\w+)", r"\1\3, \2"),
    Fault("half a warp multiplies", r"(?=wgmma\.mma_async)", PTX_HALF),
    Fault("half a warp fences", r"(?=fence\.proxy)", PTX_HALF),
]
# Two slots are behind: one is read, one is copied to. Other data show what the first have by chance in common.
FAULTY = {"one group": lambda seed: grouped(64, 320, 64, (64, 64), seed=seed), "two groups": lambda seed: grouped(128, 320, 64, (128, 64), seed=seed)}
MOST_PLACES = 6


def outcomes(run, right) -> str | None:
    """Why a mutant is noticed, if it is."""
    for order in [("late", 1), ("mixed", 2), ("early", 3)]:
        try:
            result = run(order)
        except (ptx.Fault, AssertionError) as refused:
            said = str(refused).split("\n")[0]
            # A text that is no program at all would prove nothing, but for sums that are read too early.
            assert isinstance(refused, ptx.Fault) or re.match(r"cuda-kernel: \w+:\d: kernel '", said) or "result under way" in said, said
            return said
        if not np.array_equal(result.view(np.uint8), right.view(np.uint8)):
            return "other numbers"
    return None


def mutants(text: str, fault: Fault) -> list[str]:
    places = list(re.finditer(fault.pattern, text))[: fault.first]
    step = max(1, -(-len(places) // MOST_PLACES))
    return [text[: m.start()] + (fault.instead(m) if callable(fault.instead) else m.expand(fault.instead)) + text[m.end() :] for m in places[::step]]


@pytest.mark.parametrize("name", FAULTY)
@pytest.mark.parametrize("fault", INTERPRETED, ids=lambda fault: fault.name)
def test_faults_are_noticed_when_interpreted(fault, name):
    case = FAULTY[name](0)
    right, texts = case.run("early", 0), mutants(case.ptx(), fault)
    assert texts
    for text in texts:
        noticed = outcomes(lambda order, text=text: case.run(*order, text), right)
        print(noticed)
        assert noticed


@pytest.mark.parametrize("name", FAULTY)
@pytest.mark.parametrize("fault", EMULATED, ids=lambda fault: fault.name)
def test_faults_are_noticed_when_emulated(fault, name, tmp_path: Path):
    case = FAULTY[name](0)
    (right,), texts = case.emulate(tmp_path, [("early", 0)]), mutants(case.emit("nvvm"), fault)
    assert texts
    for text in texts:
        noticed = outcomes(lambda order, text=text: case.emulate(tmp_path, [order], text)[0], right)
        print(noticed)
        assert noticed


def test_a_residual_is_copied_before_the_first_turn():
    """No thread loads any of it."""
    plain, case = grouped(128, 192, 128, (64, 128)), WGMMA["a residual"](Path())
    assert "ld.global" not in case.ptx()
    assert case.ptx().count("cp.async.cg.shared.global") > plain.ptx().count("cp.async.cg.shared.global")


# Machine code ------------------------------------------------------------------------

# Of a block: others over T, and registers, at most. With an epilogue more are in use after the loop: two blocks of 128 rows and
# columns, and of 64 rows and 128 columns, have room on a multiprocessor all the same.
GATES = {(128, 256): (0.20, 168), (128, 192): (0.23, 128), (128, 160): (0.28, 120), (128, 128): (0.32, 96), (64, 256): (0.25, 168), (64, 160): (0.32, 128), (64, 128): (0.36, 128)}
WITH_EPILOGUE = {(128, 256): 184, (128, 192): 184, (128, 160): 168, (128, 128): 128, (64, 256): 184, (64, 160): 168, (64, 128): 128}


@pytest.mark.skipif(bool(sass.missing()), reason=f"without {sass.missing()}: test/requirements.txt")
@pytest.mark.parametrize("rows, epilogue", [(1536, ""), (1576, ""), (1576, "bias"), (1576, "bias gelu")])
@pytest.mark.parametrize("block", GATES)
def test_gates(block, rows, epilogue, tmp_path):
    """Of whole blocks, and of rows that end in one, which copies ask for at the same price."""
    case = ("product", f"--rows={rows}", "--inner=768", "--columns=3072", f"--block-rows={block[0]}", f"--block-columns={block[1]}",
            f"--row-warps={block[0] // 16}", "--column-warps=1", "--stages=3", "--under-way=1", f"--gpu={ARCH}",
            *(f"--{option}" for option in epilogue.split()))
    made = sass.assemble_in_registers(emit("ptx", *case), tmp_path, ARCH)
    turn, (others, registers) = made.main_loop(), GATES[block]
    print(f"\n| {block[0]}x{block[1]}, {rows} rows, {epilogue} | {made.registers} | {turn.group_others:.2f} |")
    assert turn.counts["HGMMA"] == 4 and turn.group_cycles == 2 * block[1]
    assert made.repairs == []
    assert turn.group_others <= others
    assert made.registers <= (WITH_EPILOGUE[block] if epilogue else registers)


@pytest.mark.skipif(bool(sass.missing()), reason=f"without {sass.missing()}: test/requirements.txt")
def test_repairs_of_ptxas_are_seen(tmp_path):
    """The last products without their wait, and all without their fences: ptxas says so in remarks, and succeeds."""
    text = grouped(128, 768, 128, (128, 128)).ptx()
    for piece, code in ((r"wgmma\.wait_group\.sync\.aligned 0;", "C7517"), (r"wgmma\.fence\.sync\.aligned;", "C7519")):
        made = sass.assemble(re.sub(piece, "", text), tmp_path, ARCH)
        assert any(code in line for line in made.repairs), made.repairs


@pytest.mark.skipif(bool(sass.missing()), reason=f"without {sass.missing()}: test/requirements.txt")
@pytest.mark.parametrize("name", WGMMA)
def test_ptxas_takes_every_kernel_as_it_is(name, tmp_path):
    assert sass.assemble_in_registers(WGMMA[name](tmp_path).ptx(), tmp_path, ARCH).repairs == []
