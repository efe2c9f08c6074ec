# ===- test_interpreter.py - What the interpreter of PTX refuses and lets pass -----=== #
# SPDX-License-Identifier: Apache-2.0
"""Programs of a few statements, written by hand, for rules of the interpreter that kernels as they are made do not come near.
Each program that is refused stands beside one that is right."""

import numpy as np
import ptx
import ptx_numbers
import pytest

# Lane i has the shared bytes from 16 i on, and the number i.
BEGIN = "mov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 4;\nmov.b32 %r3, kernel_memory;\nadd.s32 %r4, %r2, %r3;\n"
# Lane i has those of its neighbour.
OTHER = "xor.b32 %r5, %r2, 16;\nadd.s32 %r6, %r5, %r3;\n"
RESULT = "ld.param.b64 %rd1, [kernel_param_0];\nmul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\nst.global.b32 [%rd3], {};\n"
# Lane i copies word 4 i of the input.
COPY = "ld.param.b64 %rd4, [kernel_param_1];\ncvt.u64.u32 %rd5, %r2;\nadd.s64 %rd6, %rd4, %rd5;\ncp.async.cg.shared.global [%r4], [%rd6], 16;\n"
COMMIT, WAIT, MEET = "cp.async.commit_group;\n", "cp.async.wait_group 0;\n", "bar.sync 0;\n"
READ_OTHER = "ld.shared.b32 %r7, [%r6];\n" + RESULT.format("%r7")
HALF = "and.b32 %r11, %r1, 31;\nsetp.lt.u32 %p1, %r11, 16;\n"
LANDINGS = ("early", "late", "mixed")
UNORDERED = "of bytes of a thread that was not met since"
NOT_MET = UNORDERED + ", which {} them"
UNDER_WAY = "of bytes that nobody has written yet: a copy is on its way there, which its thread has not waited for"


def run(body, landing="late", warps=1, blocks=1, results=None, same_memory=False, seed=0):
    """A number for each thread of a block."""
    text = (f".extern .shared .align 16 .b8 kernel_memory[];\n.visible .entry kernel(\n\t.param .u64 kernel_param_0,\n\t.param .u64 kernel_param_1\n)\n"
            f".reqntid {32 * warps}, 1, 1\n{{\n{body}ret;\n}}\n")
    result, given = np.zeros(32 * warps, np.uint32), np.arange(4 * 32 * warps, dtype=np.uint32)
    buffers = [result, result] if same_memory else [given, result] if results else [result, given]
    ptx.Grid(text, "kernel", buffers, (blocks,), 16 * 32 * warps, landing, seed, results=results).run()
    return result


def refusal(body, landing, **how):
    with pytest.raises(ptx.Fault) as fault:
        run(body, landing, **how)
    return str(fault.value)


def refuse(message, body, **how):
    """It is refused, whenever copies land."""
    for landing in LANDINGS:
        assert message in refusal(body, landing, **how)


def accept(expected, body, **how):
    for landing in LANDINGS:
        assert np.array_equal(run(body, landing, **how), np.asarray(expected) + np.zeros(32 * how.get("warps", 1)))


LANE = np.arange(32)


def test_bytes_that_nobody_has_written_are_not_read():
    refuse("ld.shared.b32 of bytes that nobody has written", BEGIN + "st.shared.b16 [%r4], 7;\nld.shared.b32 %r7, [%r4];\n")


def test_bytes_that_a_copy_is_for_are_not_touched_before_its_thread_has_waited():
    read_back = "ld.shared.b32 %r7, [%r4];\n" + RESULT.format("%r7")
    accept(4 * LANE, BEGIN + COPY + COMMIT + WAIT + read_back)
    refuse(UNDER_WAY, BEGIN + COPY + COMMIT + read_back)
    refuse(UNDER_WAY, BEGIN + "st.shared.b32 [%r4], 7;\n" + COPY + COMMIT + read_back)
    refuse("st.shared.b32 of bytes that a copy is on its way to", BEGIN + COPY + COMMIT + MEET + "st.shared.b32 [%r4], 7;\n")
    refuse("cp.async.cg.shared.global of bytes that a copy is on its way to", BEGIN + COPY + COMMIT + MEET + COPY + COMMIT)
    refuse("a copy is never committed by its thread", BEGIN + COPY)


def test_what_a_thread_has_copied_others_read_after_it_has_waited_and_met_them():
    accept(4 * (LANE ^ 1), BEGIN + OTHER + COPY + COMMIT + WAIT + MEET + READ_OTHER)
    refuse("ld.shared.b32 " + NOT_MET.format("wrote"), BEGIN + OTHER + COPY + COMMIT + MEET + WAIT + READ_OTHER)


def test_a_group_of_copies_is_of_a_thread():
    """What half a warp commits, or waits for, is its own."""
    copy = BEGIN + HALF + OTHER + COPY
    refuse(UNDER_WAY, copy + "@%p1 " + COMMIT + WAIT + MEET + READ_OTHER)
    refuse(UNDER_WAY, copy + COMMIT + "@%p1 " + WAIT + MEET + READ_OTHER)
    # One group more in half of the warp: to wait for all but one ends the first of these, and of others none.
    read_back = "ld.shared.b32 %r7, [%r4];\n" + RESULT.format("%r7")
    uneven = copy + COMMIT + "@%p1 " + COMMIT + "cp.async.wait_group 1;\n"
    refuse(UNDER_WAY, uneven + read_back)
    accept(np.where(LANE < 16, 4 * LANE, 0), uneven + "@!%p1 bra $end;\n" + read_back + "$end:\n")
    accept(4 * LANE, uneven + "@!%p1 " + WAIT + read_back)


def test_bytes_of_another_lane_are_read_after_the_warp_has_met():
    written = BEGIN + OTHER + "st.shared.b32 [%r4], %r1;\n"
    accept(LANE ^ 1, written + "bar.warp.sync -1;\n" + READ_OTHER)
    refuse("ld.shared.b32 " + NOT_MET.format("wrote"), written + READ_OTHER)


def test_lanes_meet_those_that_they_name():
    written = BEGIN + HALF + OTHER + "st.shared.b32 [%r4], %r1;\n"
    halves = "@%p1 bar.warp.sync 65535;\n@!%p1 bar.warp.sync 4294901760;\n"
    accept(LANE ^ 1, written + halves + READ_OTHER)
    accept(LANE ^ 1, written + "selp.b32 %r8, 65535, -65536, %p1;\nbar.warp.sync %r8;\n" + READ_OTHER)
    refuse("ld.shared.b32 " + NOT_MET.format("wrote"), written.replace("%r2, 16", "%r2, 256") + halves + READ_OTHER)
    refuse("bar.warp.sync by a lane that its mask does not name", written + "bar.warp.sync 65535;\n" + READ_OTHER)
    refuse("part of a warp ends while the rest waits for it", written + "@%p1 bar.warp.sync -1;\n" + RESULT.format("%r1"))
    refuse("part of a warp ends while the rest waits for it", written + "selp.b32 %r8, 131071, -1, %p1;\nbar.warp.sync %r8;\n" + READ_OTHER)
    # What a lane knows of others goes on to those that it meets: pairs of halves, then neighbours.
    chain = "xor.b32 %r9, %r1, 17;\nshl.b32 %r9, %r9, 4;\nadd.s32 %r6, %r9, %r3;\n"
    pairs = "mov.b32 %r12, 65537;\nand.b32 %r13, %r1, 15;\nshl.b32 %r12, %r12, %r13;\nbar.warp.sync %r12;\n"
    neighbours = "mov.b32 %r12, 3;\nand.b32 %r13, %r1, 30;\nshl.b32 %r12, %r12, %r13;\nbar.warp.sync %r12;\n"
    accept(LANE ^ 17, written + chain + pairs + neighbours + READ_OTHER)
    refuse("ld.shared.b32 " + NOT_MET.format("wrote"), written + chain + pairs + READ_OTHER)


def test_lanes_exchange_with_those_that_they_name():
    half = BEGIN + HALF + "mov.b32 %r8, 0;\n"
    exchange, end = "shfl.sync.bfly.b32 %r8, %r1, {}, 31, {};\n", RESULT.format("%r8")
    accept(np.where(LANE < 16, LANE ^ 1, 0), half + "@%p1 " + exchange.format(1, 65535) + end)
    refuse("part of a warp at shfl.sync.bfly.b32", half + "@%p1 " + exchange.format(1, -1) + end)
    refuse("shfl.sync.bfly.b32 by a lane that its mask, or another's, does not name", half + exchange.format(1, 65535) + end)
    refuse("shfl.sync.bfly.b32 from a lane that takes no part", half + "@%p1 " + exchange.format(16, 65535) + end)


def test_what_any_thread_has_read_is_written_after_it_was_met():
    """All readers are remembered, not the last one alone."""
    body = BEGIN + "setp.eq.u32 %p2, %r1, 63;\nst.shared.b32 [%r4], %r1;\n" + MEET
    read, last, write = "ld.shared.b32 %r7, [kernel_memory+16];\n", "@%p2 ld.shared.b32 %r7, [kernel_memory+16];\n", "@%p2 st.shared.b32 [kernel_memory+16], 7;\n"
    refuse("st.shared.b32 " + NOT_MET.format("read"), body + read + last + write, warps=2)
    accept(1, body + read + last + MEET + write + RESULT.format("%r7"), warps=2)
    # Of a warp.
    body = body.replace("63", "31")
    refuse("st.shared.b32 " + NOT_MET.format("read"), body + read + write)
    refuse("st.shared.b32 " + NOT_MET.format("read"), body + read + last + write)
    accept(1, body + read + "bar.warp.sync -1;\n" + last + write + RESULT.format("%r7"))
    refuse("cp.async.cg.shared.global " + NOT_MET.format("read"), body + OTHER + READ_OTHER + COPY)


def test_threads_that_write_at_once_write_different_bytes():
    body = BEGIN + "setp.eq.u32 %p2, %r1, 5;\n{}st.shared.b32 [kernel_memory], %r1;\n" + MEET + "ld.shared.b32 %r7, [kernel_memory];\n" + RESULT.format("%r7")
    accept(5, body.format("@%p2 "))
    refuse("st.shared.b32 of the same bytes by several threads at once", body.format(""))
    refuse("cp.async.ca.shared.global of the same bytes by several threads at once",
           BEGIN + "ld.param.b64 %rd4, [kernel_param_1];\ncp.async.ca.shared.global [kernel_memory], [%rd4], 4;\n")


def test_what_a_matrix_is_loaded_from_may_be_written_by_any_lane_of_the_warp():
    """All lanes read at once, so that they have met. Those of another warp have not."""
    loaded = BEGIN + "st.shared.v4.b32 [%r4], {%r1, %r1, %r1, %r1};\nbar.sync 0;\nldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r7, %r8, %r9, %r10}, [%r4];\n"
    run(loaded + OTHER + "st.shared.b32 [%r6], 7;\n")
    beyond = loaded + "xor.b32 %r5, %r2, 512;\nadd.s32 %r6, %r5, %r3;\nsetp.lt.u32 %p1, %r1, 32;\n@%p1 st.shared.b32 [%r6], 7;\n"
    said = [refusal(beyond, "late", warps=2, seed=seed).partition(": ")[2] for seed in range(8)]  # by the warp that comes later
    assert set(said) == {"st.shared.b32 " + NOT_MET.format("read"), "ldmatrix.sync.aligned.m8n8.x4.shared.b16 " + NOT_MET.format("wrote")}


def test_a_meeting_is_of_those_that_came():
    """Not of other blocks or warps."""
    written = BEGIN + OTHER + "st.shared.b32 [%r4], %r1;\nmov.u32 %r13, %ctaid.x;\nsetp.ne.u32 %p2, %r13, 0;\nsetp.ge.u32 %p3, %r1, 32;\n"
    read, one_block = "$over:\nld.shared.b32 %r7, [%r6];\n", "@%p2 bra $over;\n"
    for meet in (MEET, "bar.warp.sync -1;\n"):
        run(written + meet + read, warps=2, blocks=2)
        refuse("ld.shared.b32 " + NOT_MET.format("wrote"), written + one_block + meet + read, warps=2, blocks=2)
    for seed in range(4):  # whichever warp comes first
        refuse("ld.shared.b32 " + NOT_MET.format("wrote"), written + "@%p3 bra $over;\nbar.warp.sync -1;\n" + read, warps=2, seed=seed)


def test_lanes_go_on_together_from_where_others_have_jumped():
    halves = BEGIN + "setp.lt.u32 %p1, %r1, 16;\nmov.b32 %r7, 1;\n@%p1 bra $over;\nmov.b32 %r7, 2;\n"
    accept([2] * 16 + [1] * 16, halves + "$over:\nshfl.sync.bfly.b32 %r8, %r7, 16, 31, -1;\n" + RESULT.format("%r8"))
    refuse("part of a warp at shfl.sync.bfly.b32", halves + "shfl.sync.bfly.b32 %r8, %r7, 16, 31, -1;\n$over:\n" + RESULT.format("%r8"))


# Global memory ---------------------------------------------------------------------

WORD = "ld.param.b64 %rd1, [kernel_param_0];\n"
OTHERS_WORD = WORD + "xor.b32 %r14, %r1, {};\nmul.wide.u32 %rd7, %r14, 4;\nadd.s64 %rd8, %rd1, %rd7;\nld.global.b32 %r10, [%rd8];\n"


def test_threads_write_different_words_of_global_memory():
    body = BEGIN + WORD + "setp.eq.u32 %p2, %r1, 40;\n"
    accept(np.where(np.arange(64) == 0, 40, 0), body + "@%p2 st.global.b32 [%rd1], %r1;\n", warps=2)
    refuse("st.global.b32 of the same bytes by several threads at once", body + "st.global.b32 [%rd1], %r1;\n", warps=2)
    one_a_warp = body + "and.b32 %r11, %r1, 31;\nsetp.eq.u32 %p3, %r11, 0;\n@%p3 st.global.b32 [%rd1], %r1;\n"
    refuse("st.global.b32 " + NOT_MET.format("wrote"), one_a_warp, warps=2)


def test_blocks_do_not_touch_what_another_one_writes():
    first = BEGIN + WORD + "mov.u32 %r13, %ctaid.x;\nmov.b32 %r10, 0;\nsetp.eq.u32 %p2, %r13, 0;\nsetp.eq.u32 %p3, %r1, 0;\nand.pred %p4, %p2, %p3;\n"
    write, read = "@%p4 st.global.b32 [%rd1], 9;\n", "{} ld.global.b32 %r10, [%rd1];\n"
    accept(np.where(LANE == 0, 9, 0), first + write, blocks=2)
    accept(np.where(LANE == 0, 9, 0), first + write + MEET + read.format("@%p2"), blocks=2)
    refuse("ld.global.b32 of bytes that another block writes in the same launch", first + write + MEET + read.format("@!%p2"), blocks=2)
    refuse("st.global.b32 of bytes that another block reads in the same launch", first + read.format("@!%p2") + MEET + write, blocks=2)
    refuse("st.global.b32 of bytes that another block reads in the same launch", first + read.format("") + MEET + write, blocks=2)
    # Whichever block was the last to read.
    last = first.replace("setp.eq.u32 %p2, %r13, 0", "setp.eq.u32 %p2, %r13, 1")
    refuse("st.global.b32 of bytes that another block reads in the same launch", last + read.format("") + MEET + write, blocks=2)
    refuse("st.global.b32 of bytes that another block reads in the same launch", last + read.format("@!%p2") + read.format("@%p2") + MEET + write, blocks=2)
    refuse("st.global.b32 of bytes that another block writes in the same launch", first + "@%p3 st.global.b32 [%rd1], 9;\n", blocks=2)


def test_threads_of_a_block_meet_before_they_read_what_others_have_written():
    write = BEGIN + RESULT.format("%r1")
    end = MEET + RESULT.format("%r10")
    accept(np.arange(64) ^ 32, write + MEET + OTHERS_WORD.format(32) + end, warps=2)
    refuse(UNORDERED, write + OTHERS_WORD.format(32) + end, warps=2)
    accept(LANE ^ 1, write + "bar.warp.sync -1;\n" + OTHERS_WORD.format(1) + end)
    refuse("ld.global.b32 " + NOT_MET.format("wrote"), write + OTHERS_WORD.format(1) + end)
    # And before they write what others have read, of whom all are remembered.
    read = BEGIN + "setp.eq.u32 %p2, %r1, 0;\n" + WORD + "ld.global.b32 %r10, [%rd1];\n"
    again, store = "@%p2 ld.global.b32 %r10, [%rd1];\n", "@%p2 st.global.b32 [%rd1], 5;\n"
    accept(np.where(np.arange(64) == 0, 5, 0), read + MEET + again + store, warps=2)
    refuse("st.global.b32 " + NOT_MET.format("read"), read + again + store, warps=2)


def test_what_is_copied_was_read():
    """A copy reads global memory, as much of it as it says."""
    body = BEGIN + "shl.b32 %r15, %r1, 2;\nand.b32 %r15, %r15, 12;\nand.b32 %r16, %r1, 28;\n" + WORD + (
        "mul.wide.u32 %rd7, %r16, 4;\nadd.s64 %rd8, %rd1, %rd7;\ncp.async.cg.shared.global [%r4], [%rd8], 16{};\n" + COMMIT + WAIT)
    refuse("st.global.b32 " + NOT_MET.format("read"), body.format("") + RESULT.format("%r1"))
    refuse("st.global.b32 " + NOT_MET.format("read"), body.format(", %r15") + RESULT.format("%r1"))
    accept(LANE, body.format("") + "bar.warp.sync -1;\n" + RESULT.format("%r1"))
    accept(LANE, body.format(", 0") + RESULT.format("%r1"))


def test_one_memory_may_have_two_names():
    """Another parameter that is the same, or overlaps."""
    read = BEGIN + OTHERS_WORD.replace("kernel_param_0", "kernel_param_1").format(32)
    accept(0, read + MEET + RESULT.format("%r10"), warps=2, same_memory=True)
    refuse(UNORDERED, read + RESULT.format("%r10"), warps=2, same_memory=True)
    accept(np.arange(64) ^ 32, read + RESULT.format("%r10"), warps=2)


def test_inputs_are_read_and_results_written():
    """Where it is known which are which."""
    store = BEGIN + RESULT.format("%r1")
    accept(LANE, store.replace("param_0", "param_1"), results=1)
    refuse("st.global.b32 writes an input", store, results=1)
    refuse("ld.global.b32 of bytes that nobody has written", BEGIN + OTHERS_WORD.replace("param_0", "param_1").format(0) + RESULT.replace("param_0", "param_1").format("%r10"),
           results=1)


# Registers and instructions --------------------------------------------------------

def test_registers_that_a_thread_has_not_written_it_does_not_read():
    body = BEGIN + HALF + "@%p1 mov.b32 %r8, 5;\n"
    refuse("%r8 is read by a thread that has not written it", body + RESULT.format("%r8"))
    refuse("%r8 is read by a thread that has not written it", body + "@!%p1 mov.b32 %r9, %r8;\n")
    accept(np.where(LANE < 16, 5, 0), body + "@!%p1 bra $end;\n" + RESULT.format("%r8") + "$end:\n")
    accept(np.where(LANE < 16, 5, 6), body + "@!%p1 mov.b32 %r8, 6;\n" + RESULT.format("%r8"))


@pytest.mark.parametrize("statement", ["sqrt.approx.f32 %r8, %r1", "div.full.f32 %r8, %r1, %r1", "add.rn.ftz.f32 %r8, %r1, %r1", "add.rn.sat.f32 %r8, %r1, %r1",
                                       "bar.sync 1", "bar.sync 0, 32", "cp.async.wait_all"])
def test_what_the_interpreter_does_not_know_it_refuses(statement):
    refuse("is not known", BEGIN + statement + ";\n")


def test_products_of_immediates_are_exact_before_the_sum():
    """An immediate is a scalar, whose product with a register NumPy would round to f32."""
    x, register = np.float32(1 + 2.0**-12), np.full((2, 32), 1 + 2.0**-12, np.float32)
    z = np.float32(-1 - 2.0**-11)
    for a, b in ((x, register), (register, x), (register, register)):
        assert (ptx_numbers.fused(a, b, z) == np.float32(2.0**-24)).all()
