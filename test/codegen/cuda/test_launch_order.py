# ===- test_launch_order.py - Launches that begin before others have ended ---------=== #
# SPDX-License-Identifier: Apache-2.0
"""Kernels for levels whose launches may begin while those in front of them still run: they fetch weights, wait, and touch all else.
Both executors refuse whatever a thread touches before its own wait that a launch before may write, and a thread that ends without.
Faults in the text of a kernel are noticed. Nothing here runs on a GPU."""

import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from kernels import OVERLAPPING, attention, emit, norm, product
from modules import MODULES
from test_levels import of_level
from test_wgmma import outcomes
from wgmma_modules import grouped

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from campaigns import share  # noqa: E402

SETTLED = "--settled=1"


def settled(case, *flags):
    """With weights that no launch writes."""
    return replace(case, flags=[*case.flags, *flags, SETTLED])


CASES = {
    "product": lambda: settled(product(70, 320, 72, (64, 64), (2, 2)), "--gpu=sm_120"),
    "product of a warp group": lambda: settled(grouped(64, 320, 64, (64, 64))),
    "product, nothing settled": lambda: of_level(product(70, 320, 72), "sm_120"),
    "attention": lambda: of_level(attention(1, 133, 2), "sm_120"),
    "norm": lambda: of_level(norm(6, 256), "sm_90a"),
}
AWAIT = r"hova_cuda\.await_launches\n"
WAIT = r"\t// begin inline asm\n\tgriddepcontrol\.wait;\n\t// end inline asm\n"
# A wait behind the first access to global memory after it.
EMULATED = {
    "no wait": (AWAIT, ""),
    "a wait after an access": (rf"({AWAIT})((?:[^\n]*\n)*?[^\n]*(?:llvm\.load [^\n]*ptr<1>|cp\.async\.shared)[^\n]*\n)", r"\2\1"),
    "leave in the place of the wait": (AWAIT, "hova_cuda.allow_launches\n"),
}
INTERPRETED = {
    "no wait": (WAIT, ""),
    "a wait after an access": (rf"({WAIT})((?:[^\n]*\n)*?[^\n]*(?:ld\.global|cp\.async\.c[ag])[^\n]*\n)", r"\2\1"),
    "leave in the place of the wait": (r"griddepcontrol\.wait", "griddepcontrol.launch_dependents"),
    "half of a warp waits": (r"griddepcontrol\.wait;", "mov.u32 %r99998, %laneid;\nsetp.lt.u32 %p99999, %r99998, 16;\n@%p99999 griddepcontrol.wait;"),
}


def mutant(text, pattern, instead):
    changed, count = re.subn(pattern, instead, text, count=1)
    assert count == 1 and changed != text
    return changed


@pytest.mark.parametrize("name", CASES)
def test_kernels_compute_what_numpy_does(name, tmp_path):
    case = CASES[name]()
    orders = [("late", 1), ("mixed", 2), ("early", 3)]
    for result in [*(case.run(*order) for order in orders), *case.emulate(tmp_path, orders)]:
        assert case.error(result) <= case.limit
    assert case.ptx().count("griddepcontrol.wait;") == 1 == case.ptx().count("griddepcontrol.launch_dependents;")


@pytest.mark.parametrize("name", share(MODULES, of=3))
def test_kernels_of_every_recipe_wait(name, tmp_path):
    """On a level with the tiles of 99 KiB: both executors would refuse what is touched before."""
    case = of_level(MODULES[name](), "sm_120")
    assert case.ptx().count("griddepcontrol.wait;") == 1
    (emulated,) = case.emulate(tmp_path, [("late", 1)])
    assert case.error(emulated) <= case.limit
    assert case.error(case.run("late", 1)) <= case.limit


@pytest.mark.parametrize("fault", INTERPRETED)
@pytest.mark.parametrize("name", CASES)
def test_faults_are_noticed_when_interpreted(name, fault):
    case = CASES[name]()
    text, right = mutant(case.ptx(), *INTERPRETED[fault]), case.run("early", 0)
    assert "not waited" in outcomes(lambda order: case.run(*order, text), right)


@pytest.mark.parametrize("fault", EMULATED)
@pytest.mark.parametrize("name", CASES)
def test_faults_are_noticed_when_emulated(name, fault, tmp_path):
    case = CASES[name]()
    text, (right,) = mutant(case.emit("nvvm"), *EMULATED[fault]), case.emulate(tmp_path, [("early", 0)])
    assert re.search("before it waits for|has not waited", outcomes(lambda order: case.emulate(tmp_path, [order], text)[0], right))


@pytest.mark.parametrize("name", ["product", "product of a warp group"])
def test_weights_are_fetched_before_the_wait(name, tmp_path):
    """Those of all turns that are copied ahead; where they may be written, none is, and the same text is refused."""
    case = CASES[name]()
    before, after = case.ptx().split("griddepcontrol.wait;")
    assert before.count("cp.async.c") >= 4 and "commit_group" not in before
    assert after.count("cp.async.commit_group") > 0
    unsettled = replace(case, flags=[flag for flag in case.flags if flag != SETTLED])
    assert "cp.async" not in unsettled.ptx().split("griddepcontrol.wait;")[0]
    with pytest.raises(Exception, match="has not waited"):
        unsettled.run("late", 1, case.ptx())


def test_other_levels_have_no_wait():
    for level in ("sm_80", "sm_86", "sm_89"):
        assert level not in OVERLAPPING
        assert "griddepcontrol" not in emit("ptx", "norm", "--rows=6", "--columns=256", f"--gpu={level}")
        assert emit("ptx", "norm", "--rows=6", f"--gpu={level}") == emit("ptx", "norm", "--rows=6", f"--gpu={level}", SETTLED)
