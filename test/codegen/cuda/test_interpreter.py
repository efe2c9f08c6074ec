# ===- test_interpreter.py - What the interpreter of PTX refuses and lets pass -----=== #
# SPDX-License-Identifier: Apache-2.0
"""Programs of a few statements, written by hand, for rules of the interpreter that kernels as they are made do not come near."""

import numpy as np
import ptx
import pytest

# Lane i has the shared bytes from 16 i on, and the number i.
BEGIN = "mov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 4;\nmov.b32 %r3, kernel_memory;\nadd.s32 %r4, %r2, %r3;\n"
# Lane i has those of its neighbour.
OTHER = "xor.b32 %r5, %r2, 16;\nadd.s32 %r6, %r5, %r3;\n"
RESULT = "ld.param.b64 %rd1, [kernel_param_0];\nmul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\nst.global.b32 [%rd3], {};\n"


def run(body, landing="late", warps=1):
    """A number for each thread."""
    text = (f".extern .shared .align 16 .b8 kernel_memory[];\n.visible .entry kernel(\n\t.param .u64 kernel_param_0\n)\n.reqntid {32 * warps}, 1, 1\n"
            f"{{\n{body}ret;\n}}\n")
    result = np.zeros(32 * warps, np.uint32)
    ptx.Grid(text, "kernel", [result], (1,), 16 * 32 * warps, landing, 0).run()
    return result


def test_bytes_that_nobody_has_written_are_not_read():
    with pytest.raises(ptx.Fault, match="ld.shared.b32 of bytes that nobody has written"):
        run(BEGIN + "st.shared.b16 [%r4], 7;\nld.shared.b32 %r7, [%r4];\n")


def test_bytes_that_a_copy_is_for_are_not_read_before_it_lands():
    copied = (BEGIN + "st.shared.b32 [%r4], 7;\nld.param.b64 %rd1, [kernel_param_0];\ncp.async.ca.shared.global [%r4], [%rd1], 4;\n"
              "cp.async.commit_group;\n{}ld.shared.b32 %r7, [%r4];\n" + RESULT.format("%r7"))
    for landing in ("early", "late"):
        assert (run(copied.format("cp.async.wait_group 0;\n"), landing) == 0).all()
    with pytest.raises(ptx.Fault, match="ld.shared.b32 of bytes that nobody has written"):
        run(copied.format(""), "late")


def test_bytes_of_another_lane_are_read_after_the_warp_has_met():
    written, read = "st.shared.b32 [%r4], %r1;\n", "ld.shared.b32 %r7, [%r6];\n" + RESULT.format("%r7")
    assert (run(BEGIN + OTHER + written + "bar.warp.sync -1;\n" + read) == np.arange(32) ^ 1).all()
    with pytest.raises(ptx.Fault, match="ld.shared.b32 of bytes of a thread that was not met since"):
        run(BEGIN + OTHER + written + read)


def test_what_a_matrix_is_loaded_from_may_be_written_by_any_lane_of_the_warp():
    """All lanes read at once, so that they have met. Those of another warp have not."""
    loaded = BEGIN + "st.shared.v4.b32 [%r4], {%r1, %r1, %r1, %r1};\nbar.sync 0;\nldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r7, %r8, %r9, %r10}, [%r4];\n"
    run(loaded + OTHER + "st.shared.b32 [%r6], 7;\n")
    with pytest.raises(ptx.Fault, match="of bytes of a thread that was not met since"):
        run(loaded + "xor.b32 %r5, %r2, 512;\nadd.s32 %r6, %r5, %r3;\nst.shared.b32 [%r6], 7;\n", warps=2)


def test_lanes_go_on_together_from_where_others_have_jumped():
    halves = BEGIN + "setp.lt.u32 %p1, %r1, 16;\nmov.b32 %r7, 1;\n@%p1 bra $over;\nmov.b32 %r7, 2;\n"
    assert (run(halves + "$over:\nshfl.sync.bfly.b32 %r8, %r7, 16, 31, -1;\n" + RESULT.format("%r8")) == [2] * 16 + [1] * 16).all()
    with pytest.raises(ptx.Fault, match="part of a warp at shfl.sync.bfly.b32"):
        run(halves + "shfl.sync.bfly.b32 %r8, %r7, 16, 31, -1;\n$over:\n" + RESULT.format("%r8"))
