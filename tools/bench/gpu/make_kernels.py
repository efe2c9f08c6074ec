# ===- make_kernels.py - Kernels, and what they are to compute --------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Kernels of the tests as PTX, with operands and what the emulation, the interpreter and NumPy compute of them; tiles.

Launches of instructions are those that the tests of the emulation ask of a driver: here that is the stand-in, which notes them."""

import io
import os
import re
import subprocess
from functools import partial

import kernels as of_tests
import numpy as np
import ptx
import stand_in
from cluster_modules import CASES as CLUSTERS
from sum_cases import CASES, LAYOUTS
from test_kernels import CASES as KERNELS
from wgmma_modules import ARCH, WGMMA

WAYS = ("in-order", "a100", "h100")


def of_target(text):
    """The capability that PTX is for, and whether for this alone."""
    number, exact = re.search(r"^\.target sm_(\d+)(a?)", text, re.MULTILINE).groups()
    return {"capability": int(number), "exact": bool(exact)}


def entry_of(text):
    return re.search(r"\.entry (\w+)\(", text)[1]


def check_parameters(name, text, addresses):
    """Whoever launches a kernel there gives it addresses alone."""
    begin = text.index(".entry")
    words = re.findall(r"\.param \.(\w+)", text[begin : text.index("{", begin)])
    assert words == ["u64"] * addresses, f"{name} has the parameters {words}, and is given {addresses} addresses"


def threads_of(text):
    return int(re.search(r"\.reqntid (\d+)", text)[1])


# ===------------------------------------------------------------------------=== #
# Instructions
# ===------------------------------------------------------------------------=== #


def tests_of(tool, patterns):
    """Names of tests, in full."""
    listed = subprocess.run([tool, f"--gtest_filter={':'.join(patterns)}", "--gtest_list_tests"], capture_output=True, text=True, check=True)
    suite = ""
    for line in listed.stdout.splitlines():
        word = line.split("#")[0].strip()
        if not line.startswith(" "):
            suite = word
        elif suite.endswith("."):
            yield suite + word


def bits(maker):
    """Every launch of these tests, and what it leaves in each way of adding; and how instructions add."""
    tool, seen = maker.bin / "codegen-cuda-test", {}
    with stand_in.noted() as launches:
        for name in tests_of(tool, maker.lists.instructions):
            launches.clear()
            done = subprocess.run([tool, f"--gtest_filter={name}"], capture_output=True, text=True, check=False,
                                  env={**os.environ, **stand_in.environment(maker.scratch / "launches", "h100"), "HOVA_TEST_DRIVER": "1", "STAND_IN_CAPABILITY": "90"})
            assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
            for launch in launches:
                key = launch.text, launch.memory.tobytes()
                if key not in seen:
                    seen[key] = f"{name}, launch {len(seen)}"
                    yield instruction(maker, f"i{len(seen)}", seen[key], launch)
    yield from sums(maker)


def instruction(maker, key, name, launch):
    """One launch as the stand-in noted it, whose buffers are parts of one allocation."""
    text = launch.text
    assert len(set(launch.ends)) == 1, name
    check_parameters(name, text, len(launch.begins))
    maker.add("bits.zip", f"{key}.0", launch.memory.tobytes())
    ways = WAYS if "mma" in text else WAYS[:1]
    for way in ways:
        maker.add("bits.zip", f"{key}.0.{way}", launch.run(way)[0].tobytes())
    return {"name": name, "archive": "bits.zip", "key": key, "cubin": maker.add_kernel("bits.zip", key, text), "entry": launch.name, "grid": launch.grid,
            "threads": launch.block[0], "shared": launch.shared, "buffers": 1, "offsets": launch.begins, "ways": ways, "approximate": "approx" in text,
            **of_target(text)}


def sums(maker):
    """A launch for each instruction that adds products, in which every sum of a diagonal is a case."""
    for name, layout in LAYOUTS.items():
        taken = [(case, value) for case, value in CASES.items() if layout.takes(value)][:: maker.lists.sums]
        for first in range(0, len(taken), layout.cases):
            chosen = taken[first : first + layout.cases]
            text, shared, operands, words = layout.launch(maker.scratch, [value for _, value in chosen])
            results = []
            for way in WAYS:
                result = np.full_like(operands[-1], 0xFFFFFFFF)
                ptx.Grid(text, entry_of(text), [*operands[:-1], result], (1,), shared, sums=way).run()
                results.append(result.reshape(-1))
            key = f"{name}{first}"
            for i, operand in enumerate(operands):
                maker.add("bits.zip", f"{key}.{i}", operand.tobytes())
            listed = [[case, word, [int(result[word]) for result in results]] for (case, _), word in zip(chosen, words, strict=True)]
            yield {"name": f"how {name} adds, from case {first} on", "archive": "bits.zip", "key": key, "cubin": maker.add_kernel("bits.zip", key, text),
                   "entry": entry_of(text), "grid": [1], "threads": layout.threads, "shared": shared, "buffers": len(operands), "ways": WAYS, "sums": listed,
                   **of_target(text)}


# ===------------------------------------------------------------------------=== #
# Kernels of recipes
# ===------------------------------------------------------------------------=== #


def kernels(maker):
    """A case of every recipe: its operands, what NumPy computes, and the bits of each way of adding where nothing is approximate."""
    # Texts of kernels are kept by the names of their files: each case has a folder of its own.
    cases = {name: make for name, make in KERNELS.items()}
    cases |= {f"warp groups: {name}": partial(make, maker.folder_for(f"kernel-{i}")) for i, (name, make) in enumerate(WGMMA.items())}
    cases |= {f"clusters: {name}": make for name, make in CLUSTERS.items()}
    for key, (name, make) in enumerate(cases.items()):
        if maker.lists.kernels and name.removeprefix("warp groups: ").removeprefix("clusters: ") not in maker.lists.kernels:
            continue
        case = make()
        text, truths = case.ptx(), case.truths()
        check_parameters(name, text, len(case.operands))
        # What PTX approximates may be other numbers on a device.
        ways = () if "approx" in text else WAYS if "mma" in text else WAYS[:1]
        held = {f"operand{i}": operand for i, operand in enumerate(case.operands)} | {f"truth{i}": truth for i, truth in enumerate(truths)}
        held |= {f"result {way}": case.emulate(maker.scratch, [("late", 1)], sums=way)[0] for way in ways}
        assert all(case.error(held[f"result {way}"]) <= case.limit for way in ways), f"{name} is wrong here already"
        data = io.BytesIO()
        np.savez(data, spread=case.spread, **held)
        maker.add("kernels.zip", f"{key}.npz", data.getvalue())
        yield {"name": name, "archive": "kernels.zip", "key": str(key), "cubin": maker.add_kernel("kernels.zip", str(key), text), "entry": entry_of(text),
               "grid": case.grid, "threads": threads_of(text), "shared": case.shared(), "operands": len(case.operands), "results": case.results, "ways": ways,
               "limit": case.limit, "halves": case.halves, "cancels": case.cancels, **of_target(text)}


# ===------------------------------------------------------------------------=== #
# Tiles
# ===------------------------------------------------------------------------=== #


def ceil(a, b):
    return -(-a // b)


def tiles_of_product(maker, shape):
    """Names, words of cuda-kernel and grids."""
    rows, columns, inner = shape
    sizes = [f"--rows={rows}", f"--inner={inner}", f"--columns={columns}", "--bias"]
    options = [(block, warps, slots, []) for block, warps, slots in maker.lists.tiles]
    options += [(block, (block[0] // 16, 1), slots, ["--under-way=1", f"--gpu={ARCH}"]) for block, slots in maker.lists.grouped]
    for block, warps, slots, more in options:
        words = [*sizes, f"--block-rows={block[0]}", f"--block-columns={block[1]}", f"--row-warps={warps[0]}", f"--column-warps={warps[1]}", f"--stages={slots}"]
        name = f"{block[0]}x{block[1]} {'wgmma' if more else f'{warps[0]}x{warps[1]}'} s{slots}"
        yield name, ["product", *words, *more], [ceil(rows, block[0]), ceil(columns, block[1])]


def tiles_of_attention(maker, shape):
    batch, tokens, heads = shape
    for queries, warps in maker.lists.queries:
        words = ["attention", f"--batch={batch}", f"--tokens={tokens}", f"--heads={heads}", f"--queries={queries}", f"--warps={warps}"]
        yield f"{queries} on {warps}", words, [ceil(tokens, queries), heads, batch]


def tiles(maker):
    """An item for each product and attention, with all its tiles; one that there is no code for is named."""
    wanted = [("product", shape, tiles_of_product) for shape in maker.lists.products]
    wanted += [("attention", shape, tiles_of_attention) for shape in maker.lists.attentions]
    for kind, shape, find in wanted:
        made, without = [], {}
        for name, words, grid in find(maker, shape):
            done = of_tests.call(*words, "--emit=nvvm")
            if done.returncode:
                without[name] = done.stderr.strip()
                continue
            text = of_tests.call(*words, "--emit=ptx").stdout
            key = f"{kind}{'x'.join(map(str, shape))} {name}"
            made.append({"name": name, "key": key, "cubin": maker.add_kernel("tiles.zip", key, text), "entry": entry_of(text), "grid": grid,
                         "threads": threads_of(text), "shared": int(re.search(r"hova\.group_bytes = (\d+)", done.stdout)[1]), **of_target(text)})
        item = {"name": f"{kind} {', '.join(map(str, shape))}", "kind": kind, "shape": shape, "archive": "tiles.zip", "launches": maker.lists.of_tiles,
                "replays": maker.lists.replays, "tiles": made}
        yield item | ({"without": without} if without else {})
