# ===- test_score_regions.py - Scores that no description has -------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Regions of scores written into the dump of an import: the program against the evaluator of it.

`hova verify` compares with the description of a dump, which cannot say what these do.
"""

import json
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("HOVA_BUILD", SOURCE / "build"))
HOVA = BUILD / "bin/hova"
SHAPE = {"batch": 2, "heads": 2, "queries": 21, "keys": 37, "slots": 0}
LARGE = {"heads": 3, "queries": 203, "keys": 301}

ADDED = """
  %score = arith.addf %raw, %added : f32
  %all = arith.constant true
  hova.score_yield %score kept %all
"""
WINDOW = """
  %size = arith.constant {size} : index
  %distance = arith.subi %query, %key : index
  %is_near = arith.cmpi slt, %distance, %size : index
  %not_later = arith.cmpi sle, %key, %query : index
  %kept = arith.andi %is_near, %not_later : i1
  hova.score_yield %raw kept %kept
"""
# Region, types of the tensors that it captures (those of integers with what they are below), sizes.
CASES = {
    "backwards": (
        """
  %last = arith.constant 36 : index
  %distance = arith.subi %query, %key : index
  %place = arith.addi %distance, %last : index
  %added = hova.element %bias[%head, %place] : tensor<2x57xf32>"""
        + ADDED,
        {"bias": "2x57xf32"},
        {},
    ),
    "backwards_out_of_the_table": (
        """
  %shift = arith.constant 10 : index
  %distance = arith.subi %query, %key : index
  %place = arith.addi %distance, %shift : index
  %added = hova.element %bias[%head, %place] : tensor<2x21xf32>"""
        + ADDED,
        {"bias": "2x21xf32"},
        {},
    ),
    "out_of_the_table": (
        """
  %distance = arith.subi %key, %query : index
  %added = hova.element %bias[%head, %distance] : tensor<2x9xf32>"""
        + ADDED,
        {"bias": "2x9xf32"},
        {},
    ),
    "out_of_the_rows": (
        """
  %distance = arith.subi %query, %key : index
  %added = hova.element %bias[%head, %distance, %key] : tensor<2x3x37xf32>"""
        + ADDED,
        {"bias": "2x3x37xf32"},
        {},
    ),
    "every_second_column": (
        """
  %two = arith.constant 2 : index
  %place = arith.muli %key, %two : index
  %added = hova.element %bias[%head, %place] : tensor<2x75xf32>"""
        + ADDED,
        {"bias": "2x75xf32"},
        {},
    ),
    "transposed": (
        """
  %added = hova.element %bias[%key, %query] : tensor<37x21xf32>"""
        + ADDED,
        {"bias": "37x21xf32"},
        {},
    ),
    "kinds_of_keys": (
        """
  %kind = hova.element %kinds[%batch, %key] {range = array<i64: 0, 9>} : tensor<2x37xi32>
  %place = arith.index_cast %kind : i32 to index
  %added = hova.element %bias[%head, %place] : tensor<2x9xf32>"""
        + ADDED,
        {"kinds": "2x37xi32 12", "bias": "2x9xf32"},
        {},
    ),
    "differences_of_kinds": (
        """
  %first = hova.element %kinds[%batch, %key] : tensor<2x37xi32>
  %second = hova.element %kinds[%batch, %query] : tensor<2x37xi32>
  %difference = arith.subi %first, %second : i32
  %place = arith.index_cast %difference : i32 to index
  %added = hova.element %bias[%head, %place] : tensor<2x4xf32>"""
        + ADDED,
        {"kinds": "2x37xi32 6", "bias": "2x4xf32"},
        {},
    ),
    "documents": (
        """
  %first = hova.element %ids[%batch, %query] : tensor<2x37xi32>
  %second = hova.element %ids[%batch, %key] : tensor<2x37xi32>
  %kept = arith.cmpi eq, %first, %second : i32
  hova.score_yield %raw kept %kept
""",
        {"ids": "2x37xi32 3"},
        {},
    ),
    "slopes": (
        """
  %slope = hova.element %slopes[%head] : tensor<2xf32>
  %distance = arith.subi %key, %query : index
  %wide = arith.index_cast %distance : index to i64
  %number = arith.sitofp %wide : i64 to f32
  %added = arith.mulf %number, %slope : f32"""
        + ADDED,
        {"slopes": "2xf32"},
        {},
    ),
    "soft_cap": (
        """
  %cap = hova.number 2.5
  %part = arith.divf %raw, %cap : f32
  %capped = math.tanh %part : f32
  %score = arith.mulf %capped, %cap : f32
  %all = arith.constant true
  hova.score_yield %score kept %all
""",
        {},
        {},
    ),
    "functions": (
        """
  %size = math.absf %raw : f32
  %least = hova.number 0.25
  %more = arith.addf %size, %least : f32
  %log = math.log %more : f32
  %log2 = math.log2 %more : f32
  %root = math.sqrt %more : f32
  %power = math.exp %raw : f32
  %bounded = arith.minimumf %power, %root : f32
  %negative = arith.negf %log2 : f32
  %sum = arith.addf %log, %negative : f32
  %added = arith.maximumf %sum, %bounded : f32"""
        + ADDED,
        {},
        {},
    ),
    "dilated": (
        """
  %three = arith.constant 3 : index
  %zero = arith.constant 0 : index
  %distance = arith.subi %key, %query : index
  %rest = arith.remsi %distance, %three : index
  %kept = arith.cmpi eq, %rest, %zero : index
  hova.score_yield %raw kept %kept
""",
        {},
        {},
    ),
    "blocks_below_zero": (
        """
  %three = arith.constant 3 : index
  %shift = arith.constant 20 : index
  %shifted = arith.subi %query, %shift : index
  %place = arith.subi %key, %shift : index
  %query_block = arith.floordivsi %shifted, %three : index
  %block = arith.floordivsi %place, %three : index
  %kept = arith.cmpi eq, %query_block, %block : index
  hova.score_yield %raw kept %kept
""",
        {},
        {},
    ),
    "window": (WINDOW.format(size=6), {}, {}),
    "large_window": (WINDOW.format(size=40), {}, LARGE),
    "uneven_limits": (
        """
  %c = arith.constant 17 : index
  %square = arith.muli %query, %query : index
  %limit = arith.floordivsi %square, %c : index
  %kept = arith.cmpi sle, %key, %limit : index
  hova.score_yield %raw kept %kept
""",
        {},
        LARGE,
    ),
    "falling_limits": (
        """
  %c = arith.constant 150 : index
  %limit = arith.subi %c, %query : index
  %kept = arith.cmpi sle, %key, %limit : index
  hova.score_yield %raw kept %kept
""",
        {},
        LARGE,
    ),
    "windows_of_heads": (
        """
  %c = arith.constant 40 : index
  %one = arith.constant 1 : index
  %number = arith.addi %head, %one : index
  %size = arith.muli %number, %c : index
  %distance = arith.subi %query, %key : index
  %is_near = arith.cmpi slt, %distance, %size : index
  %not_later = arith.cmpi sle, %key, %query : index
  %kept = arith.andi %is_near, %not_later : i1
  hova.score_yield %raw kept %kept
""",
        {},
        LARGE,
    ),
    "slots_without_a_bias": (
        """
  %keys = arith.constant 37 : index
  %added = hova.element %bias[%head, %query, %key] : tensor<2x21x37xf32>
  %score = arith.addf %raw, %added : f32
  %is_slot = arith.cmpi sge, %key, %keys : index
  %not_later = arith.cmpi sle, %key, %query : index
  %kept = arith.ori %is_slot, %not_later : i1
  hova.score_yield %score kept %kept
""",
        {"bias": "2x21x37xf32"},
        {"slots": 5},
    ),
    "function_of_the_head": (
        """
  %wide = arith.index_cast %head : index to i64
  %number = arith.sitofp %wide : i64 to f32
  %power = math.exp %number : f32
  %factor = hova.number 1.5
  %added = arith.mulf %power, %factor : f32"""
        + ADDED,
        {},
        {},
    ),
    "kept_by_the_raw_score": (
        """
  %half = hova.number 0.5
  %large = hova.number 1.0e9
  %kept = arith.cmpf ogt, %raw, %half : f32
  %score = arith.mulf %raw, %large : f32
  hova.score_yield %score kept %kept
""",
        {},
        {},
    ),
    "slots_of_some_rows": (
        """
  %kept = arith.cmpi slt, %key, %query : index
  hova.score_yield %raw kept %kept
""",
        {},
        {"queries": 41, "slots": 5},
    ),
}


def hova(verb, *arguments):
    command = [str(part) for part in (HOVA, verb, *arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def dims(kind):
    return [int(size) for size in re.findall(r"(\d+)x", kind.split()[0])]


def description(sizes, captured):
    """An attention, and what makes inputs of captured tensors."""
    batch, width = sizes["batch"], 8 * sizes["heads"]
    inputs = {name: [batch, sizes["keys"], width] for name in ("k", "v")}
    inputs = {"q": [batch, sizes["queries"], width]} | inputs
    inputs = {name: {"shape": shape} for name, shape in inputs.items()}
    layers = [{"name": "attn", "op": "attention", "query": "q", "key": "k", "value": "v", "heads": sizes["heads"]}]
    for name, kind in captured.items():
        read = {"op": "add", "inputs": [name, name]}
        inputs[name] = {"shape": dims(kind)}
        if "xi32" in kind:
            inputs[name]["dtype"] = "i32"
            read = {"op": "embedding", "input": name, "vocab": 100, "width": 4}
        layers.append({"name": f"{name}_read", **read})
    outputs = {"y": "attn"} | {f"{name}_out": f"{name}_read" for name in captured}
    return {"hova": 1, "name": "scores", "inputs": inputs, "layers": layers, "outputs": outputs}


def attention(sizes, captured, region):
    """The operation with the region, whose captured tensors have their names in it."""
    query, key = (f"tensor<{sizes['batch']}x{sizes[count]}x{8 * sizes['heads']}xf32>" for count in ("queries", "keys"))
    slots = {"memory_k": "", "memory_v": ""} if sizes["slots"] else {}
    types = {name: f"tensor<{kind.split()[0]}>" for name, kind in captured.items() if name not in slots}
    slot = f"tensor<{sizes['slots']}x{8 * sizes['heads']}xf32>"
    operands = [query, key, key, *[slot for _ in slots], *types.values()]
    arguments = "".join(f", %{name}: {kind}" for name, kind in types.items())
    names = ", ".join(f"%{name}_" for name in types)
    return (
        "    %attn = hova.attention %q, %k, %v"
        + (" memory(%memory_k_, %memory_v_)" if slots else "")
        + (f" captured({names})" if names else "")
        + f" {{heads = {sizes['heads']} : i64}} : ({', '.join(operands)}) -> {query} scores {{\n"
        + f"    ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index{arguments}):"
        + f"{region}    }}\n"
    )


def edited(dump, captured, operation):
    """The dump with the operation in the place of its attention."""
    text, count = re.subn(r"    %attn = hova\.attention.*?\n    }[^\n]*\n", lambda _: operation, dump, flags=re.DOTALL)
    assert count == 1
    # The region has the names of the inputs for what it captures.
    for name in captured:
        head, rest = text.split(operation)
        text = re.sub(rf"%{name}\b", f"%{name}_", head) + operation + re.sub(rf"%{name}\b", f"%{name}_", rest)
    return text


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
@pytest.mark.parametrize("name", CASES)
def test_program_is_what_the_region_says(name, dtype, tmp_path):
    region, captured, changed = CASES[name]
    sizes = SHAPE | changed
    if sizes["slots"]:
        slot = f"{sizes['slots']}x{8 * sizes['heads']}xf32"
        captured = {"memory_k": slot, "memory_v": slot, **captured}
    model, dump, program = (tmp_path / file for file in ("scores.json", "scores.mlir", "program"))
    described = description(sizes, captured)
    model.write_text(json.dumps(described))
    hova("compile", model, "--emit=mlir", "--stop-after=import", f"--dtype={dtype}", "-o", dump)
    dump.write_text(edited(dump.read_text(), captured, attention(sizes, captured, region)))
    random = np.random.default_rng(3)
    given = []
    for tensor, kind in described["inputs"].items():
        values = random.standard_normal(kind["shape"]).astype("float32")
        if "dtype" in kind:
            values = random.integers(0, int(captured[tensor].split()[1]), kind["shape"]).astype("int32")
        np.save(tmp_path / f"{tensor}.npy", values)
        given += ["--input", f"{tensor}={tmp_path / tensor}.npy"]
    hova("evaluate", dump, "--output-dir", tmp_path, "--init=5", *given)
    hova("compile", dump, "--init=5", "-o", program)
    for threads in ("1", "3"):
        command = [program, *given, "--expected", f"y={tmp_path}/y.npy", "--threads", threads]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
