# ===- decides.py - What launches cost, and how fast bytes come -----------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Small kernels in PTX of their own, which nothing of the compiler has made.

Kernels that do nothing, in a chain as long as a model's, tell what a launch costs by itself: with ordinary edges, with programmatic
ones, with shares of shared memory that take turns. Kernels of straight code tell what code costs that is not in a cache. Copies in a
ring of slots tell how many bytes a multiprocessor takes in a microsecond."""

from driver import LATER, MULTIPROCESSORS, PROGRAMMATIC, DriverError, Launch
from store import Skipped

HEAD = ".version 7.8\n.target {target}\n.address_size 64\n.extern .shared .align 128 .b8 memory[];\n"
LEAVE, WAIT = "\tgriddepcontrol.launch_dependents;\n", "\tgriddepcontrol.wait;\n"
# Bodies by name. hova's kernels give leave behind their wait (docs/rationale/gpu-launches.md).
PLAIN = {"plain": "", "other": ""}
OVERLAPPING = {"early": LEAVE + WAIT, "early_few": LEAVE + WAIT, "behind": WAIT + LEAVE}


def entry(name, body, threads, parameters=1):
    """A kernel whose parameters are addresses."""
    listed = ", ".join(f".param .u64 {name}_param_{i}" for i in range(parameters))
    return f".visible .entry {name}({listed})\n.reqntid {threads}, 1, 1\n{{\n{body}\tret;\n\n}}\n"


def empty_kernels(bodies, threads, target):
    """A module of kernels that do nothing else."""
    return HEAD.format(target=target) + "".join(entry(name, body, threads) for name, body in bodies.items())


def straight(name, length, threads):
    """A chain of multiply-adds without a loop, 16 bytes of machine code each, which nobody may leave out."""
    steps = "\tfma.rn.f32 %f1, %f1, %f2, %f2;\n" * length
    body = (".reg .f32 %f<3>;\n.reg .b32 %r<2>;\n.reg .b64 %rd<4>;\n"
            f"\tld.param.u64 %rd1, [{name}_param_0];\n\tmov.u32 %r1, %tid.x;\n\tmul.wide.u32 %rd2, %r1, 4;\n\tadd.s64 %rd3, %rd1, %rd2;\n"
            f"\tld.global.f32 %f1, [%rd3];\n\tmov.f32 %f2, 0f3F000000;\n{steps}\tst.global.f32 [%rd3], %f1;\n")
    return entry(name, body, threads)


def ring(threads, turn_bytes, slots, turns, region):
    """Blocks that copy `turn_bytes` to the next of their slots, so many turns, from a region of so many bytes that begins at their own
    place or at everybody's; a power of two, of which they read again what they have read."""
    copies = turn_bytes // (16 * threads)
    inner = "".join(f"\tadd.s32 %r6, %r5, {16 * threads * i};\n\tadd.s64 %rd6, %rd5, {16 * threads * i};\n"
                    "\tcp.async.cg.shared.global [%r6], [%rd6], 16;\n" for i in range(copies))
    body = (".reg .pred %p<3>;\n.reg .f32 %f<2>;\n.reg .b32 %r<12>;\n.reg .b64 %rd<12>;\n"
            "\tld.param.u64 %rd1, [ring_param_0];\n\tld.param.u64 %rd2, [ring_param_1];\n\tld.param.u64 %rd10, [ring_param_2];\n"
            "\tmov.u32 %r1, %tid.x;\n\tmov.u32 %r2, %ctaid.x;\n\tmul.wide.u32 %rd3, %r1, 16;\n\tadd.s64 %rd1, %rd1, %rd3;\n"
            # How far apart regions of blocks are stands in memory, so that one kernel has both kinds.
            "\tld.global.u32 %r9, [%rd10];\n\tmul.wide.u32 %rd4, %r2, %r9;\n\tadd.s64 %rd1, %rd1, %rd4;\n"
            "\tmov.u32 %r3, 0;\n\tmov.u32 %r7, 0;\n\tmov.u32 %r10, memory;\n\tshl.b32 %r11, %r1, 4;\n\tadd.s32 %r10, %r10, %r11;\n"
            "$turn:\n"
            f"\tmul.lo.s32 %r4, %r7, {turn_bytes};\n\tadd.s32 %r5, %r10, %r4;\n"
            f"\tmul.lo.s32 %r8, %r3, {turn_bytes};\n\tand.b32 %r8, %r8, {region - 1};\n\tmul.wide.u32 %rd7, %r8, 1;\n\tadd.s64 %rd5, %rd1, %rd7;\n"
            f"{inner}\tcp.async.commit_group;\n\tcp.async.wait_group {slots - 1};\n"
            f"\tadd.s32 %r7, %r7, 1;\n\tsetp.eq.s32 %p1, %r7, {slots};\n\tselp.b32 %r7, 0, %r7, %p1;\n"
            f"\tadd.s32 %r3, %r3, 1;\n\tsetp.lt.s32 %p2, %r3, {turns};\n\t@%p2 bra $turn;\n"
            "\tcp.async.wait_group 0;\n\tbar.sync 0;\n\tld.shared.f32 %f1, [%r10];\n"
            f"\tmul.lo.s32 %r2, %r2, {threads};\n\tadd.s32 %r1, %r1, %r2;\n\tmul.wide.u32 %rd8, %r1, 4;\n\tadd.s64 %rd9, %rd2, %rd8;\n"
            "\tst.global.f32 [%rd9], %f1;\n")
    return HEAD.format(target="sm_80") + entry("ring", body, threads, 3)


def empty(bench, item):
    """Microseconds of a launch in chains of kernels that do nothing, for each kind of chain."""
    device, threads, shared = bench.device, item["threads"], item["shared"]
    grid = [item["waves"] * device.attribute(MULTIPROCESSORS)] if item["waves"] else [1]
    module = device.load(empty_kernels(PLAIN, threads, "sm_80").encode())
    data = device.buffer(bytes(16))

    def chain(sizes, share, of=module, name="plain"):
        function = device.function(of, name, max(sizes), share)
        return [Launch(function, grid, threads, sizes[i % len(sizes)], [data]) for i in range(item["launches"])]

    told = {}

    def time_chain(name, launches, edge=None):
        try:
            told[name] = device.microseconds(launches, item["replays"], edge)
        except DriverError as refused:  # one kind of chain, which does not keep the others from being timed
            told[name] = str(refused)

    time_chain("largest share", chain([shared], 100))
    time_chain("sizes by turns, largest share", chain([0, shared], 100))
    # A function has one share for all launches, so that another share is another function's.
    few, many = chain([0], 0), chain([shared], 100, name="other")
    time_chain("smallest share", few)
    time_chain("shares by turns", by_turns(few, many))
    if reason := without_programmatic(device):
        return {"us": {**told, "programmatic": reason}}
    module = device.load(empty_kernels(OVERLAPPING, threads, "sm_90").encode())
    time_chain("programmatic", chain([shared], 100, module, "early"), PROGRAMMATIC)
    time_chain("programmatic, leave behind the wait", chain([shared], 100, module, "behind"), PROGRAMMATIC)
    time_chain("the same kernels, ordinary edges", chain([shared], 100, module, "early"))
    # Kernels of different shares may not be able to lie beside each other.
    time_chain("programmatic, shares by turns", by_turns(chain([0], 0, module, "early_few"), chain([shared], 100, module, "early")), PROGRAMMATIC)
    return {"us": told}


def by_turns(some, others):
    """As many launches as each of these, of one and the other by turns."""
    return [launch for pair in zip(some, others) for launch in pair][: len(some)]


def without_programmatic(device):
    """Why no kernel may begin before the one in front has ended; empty, where one may."""
    if device.capability() < 90:
        return "devices before 9.0 have no programmatic edges"
    return "" if device.has(LATER) else "a driver before CUDA 12.3 has no programmatic edges"


def code(bench, item):
    """Microseconds of a launch of straight code: always the same kernel, and kernels with code of their own."""
    device, threads = bench.device, item["threads"]
    text = HEAD.format(target="sm_80") + "".join(straight(f"code{i}", item["length"], threads) for i in range(item["launches"]))
    module, data = device.load(text.encode()), device.buffer(bytes(4 * threads))
    functions = [device.function(module, f"code{i}") for i in range(item["launches"])]
    told = {}
    for name, chosen in {"one kernel": functions[:1] * len(functions), "as many kernels": functions}.items():
        told[name] = device.microseconds([Launch(function, [1], threads, 0, [data]) for function in chosen], item["replays"])
    return {"us": told, "code_bytes": 16 * item["length"]}


def copies(bench, item):
    """Gigabytes a second that each multiprocessor copies, from places of its own and from one place of all blocks."""
    device, threads, turn_bytes, slots = bench.device, item["threads"], item["turn_bytes"], item["slots"]
    blocks = item["blocks"] * device.attribute(MULTIPROCESSORS)
    region = item["region"]
    if item["blocks"] * slots * turn_bytes > device.describe()["shared_bytes"]:
        raise Skipped("so many blocks have less shared memory: one would wait for the other")
    module = device.load(ring(threads, turn_bytes, slots, item["turns"], region).encode())
    shared = slots * turn_bytes
    function = device.function(module, "ring", shared)
    source, result = device.buffer(bytes(blocks * region)), device.allocate(4 * threads * blocks)
    told = {}
    for name, apart in {"own places": region, "one place": 0}.items():
        launch = Launch(function, [blocks], threads, shared, [source, result, device.buffer(apart.to_bytes(16, "little"))])
        us = device.microseconds([launch] * item["launches"], item["replays"])
        told[name] = turn_bytes * item["turns"] * item["blocks"] / us / 1e3
    device.free(source)
    return {"gb_per_s": told}


def measure(bench, item):
    return {"empty": empty, "code": code, "copies": copies}[item["kind"]](bench, item)
