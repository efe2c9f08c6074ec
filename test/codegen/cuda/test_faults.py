# ===- test_faults.py - Faults in kernels are noticed -----------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Breaks the PTX of kernels, one fault at a time. The interpreter must refuse each, or its
result must be wrong: a test that misses a fault proves nothing about the kernels. The emulation
must refuse each fault in what stands before PTX."""

import re
from functools import cache

import numpy as np
import ptx
import pytest
from kernels import attention, emit, norm, product

CASES = {
    "product": lambda: product(70, 320, 64, (64, 64), (2, 2), "bias"),
    "attention": lambda: attention(1, 133, 1, 64, 2),
    "norm": lambda: norm(6, 256),
}
MMA = r"(mma\S+\s*\{[^}]*\},\s*\{)(%r\d+), (%r\d+)"
RIGHT = r"(mma\S+\s*\{[^}]*\},\s*\{[^}]*\},\s*\{)(%r\d+), (%r\d+)"
# Kernel, fault, pattern, what stands there instead, how often.
FAULTS = [
    ("product", "a wait for two copies less", r"wait_group (\t)?2", r"wait_group 4", 0),
    ("product", "no barrier in the loop", r"(cp.async.wait_group \t?2;\n)\tbar.sync \t0;", r"\1", 0),
    ("product", "blocks of a left operand exchanged", MMA, r"\1\3, \2", 0),
    ("product", "halves of a right operand exchanged", RIGHT, r"\1\3, \2", 0),
    ("product", "a right operand transposed", r"x4\.shared", "x4.trans.shared", 0),
    ("product", "a copy that is not committed", r"\tcp\.async\.commit_group;\n(?![\s\S]*commit_group)", "", 0),
    ("product", "no exchange of chunks where copies land", r"xor.b32( \t%r\d+, %r\d+), %r\d+", r"or.b32\1, 0", 1),
    ("product", "a slot further", r"(ldmatrix\S+ \t?\{[^}]*\}, \[%r\d+)\]", r"\1+8192]", 1),
    ("product", "rows off by one", r"(setp.lt.u32 \t%p\d+, %r\d+), 70;", r"\1, 69;", 0),
    ("product", "one row too many is stored", r"(setp.[gl]t.u32 \t%p\d+, %r\d+), 69;", r"\1, 70;", 0),
    ("product", "a vector that is misaligned", r"(st.global.v4.b32 \t\[%rd\d+)\]", r"\1+4]", 1),
    ("product", "no meeting of the warp before it reads the stage", r"\tbar.warp.sync \t-1;\n(?=\txor)", "", 0),
    ("product", "no meeting of the warp before it writes the stage again", r"\tbar.warp.sync \t-1;\n(?=\tst.shared)", "", 0),
    ("product", "a result that is not staged", r"\tst.shared.b32 [^\n]*\n", "", 1),
    ("attention", "no barrier in the loop", r"(cp.async.wait_group \t?0;\n)\tbar.sync \t0;", r"\1", 0),
    ("attention", "values not transposed", r"x4\.trans", "x4", 0),
    ("attention", "a wait for one copy less", r"wait_group (\t)?0", r"wait_group 1", 0),
    ("attention", "keys of the tail off by one", r"(setp.lt.u32 \t%p\d+, %r\d+), 133;", r"\1, 132;", 0),
    ("attention", "no keys of the tail masked", r"selp.f32( \t%r\d+), (\S+), 0fFF800000, %p\d+", r"mov.b32\1, \2", 0),
    ("attention", "one exchange of row sums less", r"(add.rn.f32 \t%r\d+, %r\d+), %r\d+(;\n\tshfl)", r"\1, 0f00000000\2", 0),
    ("attention", "one exchange of maxima less", r"shfl.sync.bfly.b32 \t(%r\d+), (%r\d+), 2, 31, -1", r"mov.b32 \t\1, \2", 0),
    ("norm", "one exchange of sums less", r"shfl.sync.bfly.b32 \t(%r\d+), (%r\d+), 16, 31, -1", r"mov.b32 \t\1, \2", 0),
    ("norm", "rows off by one", r"(setp.[gl]t.u32 \t%p\d+, %r\d+), [56];", r"\1, 7;", 0),
    ("norm", "gain and bias exchanged", r"(norm_param_)([12])(?=\])", lambda m: m[1] + "21"[int(m[2]) - 1], 0),
]


@cache
def made(kernel):
    case = CASES[kernel]()
    return case, case.run("early", 0)


def outcome(kernel, text):
    """What becomes of a kernel with a fault."""
    case, good = made(kernel)
    for landing, seed in (("late", 0), ("mixed", 1), ("early", 2)):
        try:
            result = case.run(landing, seed, text)
        except ptx.Fault as fault:
            return f"refused: {fault}"
        if not np.array_equal(result.view(np.uint8), good.view(np.uint8)):
            return "wrong"
    return "not noticed"


@pytest.mark.parametrize("kernel, fault, pattern, instead, times", FAULTS, ids=[f"{fault[0]}: {fault[1]}" for fault in FAULTS])
def test_faults_are_noticed(kernel, fault, pattern, instead, times):
    case, _ = made(kernel)
    text, count = re.subn(pattern, instead, case.ptx(), count=times)
    assert count and text != case.ptx()
    result = outcome(kernel, text)
    print(f"\n{kernel}: {fault}: {result}")
    assert result != "not noticed"


def test_lanes_that_wait_for_their_warp_do_not_go_on_with_others():
    """Half a warp waits, the rest comes by and waits further on, where that half never meets it."""
    text = CASES["norm"]().ptx()
    half = "mov.u32 %r99998, %tid.x;\nand.b32 %r99999, %r99998, 16;\nsetp.eq.u32 %p99999, %r99999, 0;\n@%p99999 bar.warp.sync -1;\n"
    with pytest.raises(ptx.Fault, match="part of a warp ends while the rest waits for it"):
        CASES["norm"]().run("late", 1, re.sub(r"\tbar\.warp\.sync", half + r"\g<0>", text, count=1))


# Faults in the NVVM dialect, and what the emulation says of them.
EMULATED = [
    ("product", "no barrier", r"nvvm\.barrier0", "", 0, "no barrier orders the two"),
    ("product", "a wait for a copy less", r"wait\.group \d", "wait.group 4", 0, "an asynchronous copy of thread"),
    ("product", "no meeting of the warp before it reads the stage", r"nvvm\.bar\.warp\.sync.*", "", 1, "nothing has been written"),
    ("product", "one row too many", r"constant\(70 : ", "constant(71 : ", 0, "which has 44800 bytes"),
    ("attention", "no barrier", r"nvvm\.barrier0", "", 0, "no barrier orders the two"),
    ("attention", "no wait", r"nvvm\.cp\.async\.wait\.group \d", "", 0, "an asynchronous copy of thread"),
    ("norm", "a shuffle of half a warp", r"constant\(-1 : i32", "constant(65535 : i32", 0, "takes no part"),
]


@pytest.mark.parametrize("kernel, fault, pattern, instead, times, message", EMULATED, ids=[f"{fault[0]}: {fault[1]}" for fault in EMULATED])
def test_the_emulation_refuses_faults(kernel, fault, pattern, instead, times, message, tmp_path):
    case = CASES[kernel]()
    text, count = re.subn(pattern, instead, emit("nvvm", case.recipe, *case.flags), count=times)
    assert count
    with pytest.raises(AssertionError, match=message) as refused:
        case.emulate(tmp_path, [("late", 1)], text)
    print(f"\n{kernel}: {fault}: {refused.value}")
