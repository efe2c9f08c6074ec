# ===- test_gates.py - What the machine code of kernels may cost -----------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Each kernel of ViT-B/16 at its size, batch 1 and 8, as ptxas assembles it for sm_80: no
spills, and main loops within what the best known kernels need. Nothing runs on a GPU."""

import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import kernels
import pytest
import sass


@dataclass
class Gate:
    """At most, in a turn of the main loop."""

    reads: float
    reads_and_copies: float
    others: float


MANY_ROWS = Gate(0.55, 0.80, 1.0)
FEW_ROWS = Gate(0.80, 1.15, 1.5)
FEW_BLOCKS = Gate(1.05, 1.55, 2.2)
ATTENTION = Gate(0.60, 0.80, 3.9)
# Of one image, whose blocks have a multiprocessor each: half as many rows a warp.
FEW_QUERIES = Gate(1.05, 1.30, 4.4)
MASKED = 5.2
PERFORMER = 4.0


def product(rows, inner, columns, block_rows, block_columns, *options):
    return ("product", f"--rows={rows}", f"--inner={inner}", f"--columns={columns}",
            f"--block-rows={block_rows}", f"--block-columns={block_columns}", "--bias", *options)


def attention(batch, queries, warps):
    return ("attention", f"--batch={batch}", "--tokens=197", "--heads=12", f"--queries={queries}", f"--warps={warps}")


WIDE = ("--column-warps=4",)
PRODUCTS = {
    "patches, batch 8, large blocks": (product(1568, 768, 768, 128, 128), MANY_ROWS),
    "queries, keys and values, batch 8": (product(1576, 768, 2304, 128, 128), MANY_ROWS),
    "projection, batch 8, large blocks": (product(1576, 768, 768, 128, 128), MANY_ROWS),
    "first layer, batch 8": (product(1576, 768, 3072, 128, 128, "--gelu"), MANY_ROWS),
    "first layer, batch 8, wide blocks": (product(1576, 768, 3072, 128, 256, "--gelu", *WIDE), MANY_ROWS),
    "second layer, batch 8, large blocks": (product(1576, 3072, 768, 128, 128), MANY_ROWS),
    "classes, batch 8": (product(8, 768, 1000, 64, 64), FEW_BLOCKS),
    "patches": (product(196, 768, 768, 64, 64), FEW_BLOCKS),
    "queries, keys and values": (product(197, 768, 2304, 64, 128), FEW_ROWS),
    "projection": (product(197, 768, 768, 64, 64), FEW_BLOCKS),
    "projection, high blocks": (product(197, 768, 768, 128, 64), FEW_ROWS),
    "first layer": (product(197, 768, 3072, 64, 128, "--gelu"), FEW_ROWS),
    "second layer": (product(197, 3072, 768, 64, 64), FEW_BLOCKS),
    "queries, keys, values and shares of heads": (product(197, 768, 2368, 64, 128), FEW_ROWS),
    "words of M2, batch 8": (product(160, 512, 10201, 64, 128), FEW_ROWS),
}
ATTENTIONS = {
    "128 queries on 4 warps, batch 1": attention(1, 128, 4),
    "128 queries on 4 warps, batch 8": attention(8, 128, 4),
    "64 queries on 2 warps, batch 1": attention(1, 64, 2),
    "64 queries on 2 warps, batch 8": attention(8, 64, 2),
    "64 queries on 4 warps, batch 1": attention(1, 64, 4),
}
NORMS = {"norm, batch 1": 197, "norm, batch 8": 1576}

pytestmark = pytest.mark.skipif(bool(sass.missing()), reason=f"without {sass.missing()}: test/requirements.txt")


def assembled(kernel, folder):
    return sass.assemble_in_registers(kernels.emit("ptx", *kernel), folder)


def judge(turn, gate):
    assert turn.reads <= gate.reads
    assert turn.reads_and_copies <= gate.reads_and_copies
    assert turn.others <= gate.others


def tell(name, made, *turns):
    """A line of the table of docs/rationale/gpu-main-loops.md, for `pytest -s`."""
    figures = [f"{t.products} | {t.reads:.2f} | {t.reads_and_copies:.2f} | {t.others:.2f}" for t in turns]
    print(f"\n| {name} | {made.registers} | " + " | ".join(figures) + " |")


@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name, tmp_path):
    kernel, gate = PRODUCTS[name]
    made = assembled(kernel, tmp_path)
    tell(name, made, made.main_loop())
    judge(made.main_loop(), gate)


@pytest.mark.parametrize("name", ATTENTIONS)
def test_attention(name, tmp_path):
    made = assembled(ATTENTIONS[name], tmp_path)
    tell(name, made, made.main_loop())
    judge(made.main_loop(), FEW_QUERIES if "64 queries on 4" in name else ATTENTION)
    # The turn of the tail is no loop. Of its five keys ptxas knows that most products have no effect.
    assert made.after_loop().products < made.main_loop().products
    assert made.after_loop().others * made.after_loop().products <= MASKED * made.main_loop().products


# Few parts of a product, and few keys: all are copied at first, and group memory has room for more blocks than registers.
@pytest.mark.parametrize("block", [(64, 64), (64, 128), (128, 64), (128, 128)])
@pytest.mark.parametrize("inner", [24, 96, 147, 256])
def test_short_products(inner, block, tmp_path):
    assembled(product(3136, inner, 384, *block, "--gelu"), tmp_path)


@pytest.mark.parametrize("queries, warps", [(128, 4), (64, 2), (64, 4)])
@pytest.mark.parametrize("tokens", [49, 64])
def test_attention_to_few_keys(tokens, queries, warps, tmp_path):
    made = assembled(("attention", "--batch=8", f"--tokens={tokens}", "--heads=12", f"--queries={queries}", f"--warps={warps}"), tmp_path)
    assert made.loop is None


def test_parts_of_few_columns_in_f32(tmp_path):
    """TNT-S divides a product of 96 columns into parts of 32, for blocks of 64x128."""
    text = hova("compile", VIT.parent / "tnt_s.json", "--set=depth=1", "--dtype=f32", "--target=cuda", "--emit=ptx")
    for name, kernel in sass.assemble_all(text, tmp_path).items():
        assert (name, kernel.spilled, kernel.stack, kernel.local()) == (name, 0, 0, 0)


@pytest.mark.parametrize("queries, warps", [(128, 4), (64, 2)])
def test_a_masked_turn(queries, warps, tmp_path):
    """A tail of 61 keys takes a whole turn, and what stands after the loop besides it."""
    kernel = ("attention", "--batch=1", "--tokens=253", "--heads=12", f"--queries={queries}", f"--warps={warps}")
    made = assembled(kernel, tmp_path)
    tell(f"masked turn, {queries} queries on {warps} warps", made, made.main_loop(), made.after_loop())
    assert made.after_loop().products == made.main_loop().products
    assert made.after_loop().others <= MASKED


@pytest.mark.parametrize("name", NORMS)
def test_norms(name, tmp_path):
    made = assembled(("norm", f"--rows={NORMS[name]}", "--columns=768"), tmp_path)
    tell(name, made)
    assert made.loop is None


VIT = Path(__file__).resolve().parents[3] / "examples/models/vit_b16.json"


def hova(*words):
    done = subprocess.run([kernels.BIN / "hova", *map(str, words), "--quiet"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("batch, dtype", [(1, "bf16"), (8, "f32")])
def test_the_whole_model_as_it_is_compiled(batch, dtype, tmp_path):
    """Of its published size, by hova compile: some 5 s of one core for each batch."""
    model = (VIT, f"--set=batch={batch}", f"--dtype={dtype}", "--target=cuda")
    made = sass.assemble_all(hova("compile", *model, "--emit=ptx"), tmp_path)
    multiplying = [kernel.code.count("FFMA") >= 256 if dtype == "f32" else kernel.loop is not None for kernel in made.values()]
    assert len(made) > 15 and sum(multiplying) > 8
    for name, kernel in made.items():
        assert (name, kernel.spilled, kernel.stack, kernel.local()) == (name, 0, 0, 0)
    report = json.loads(hova("explain", *model, f"--ptxas={sass.TOOLS / 'ptxas'}", "--format=json"))["device"]
    told = {kernel["name"]: (kernel["registers"], kernel["spilled_bytes"], kernel["local_bytes"]) for kernel in report["kernels"]}
    assert told == {name: (kernel.registers, 0, 0) for name, kernel in made.items()}
    turns = {name: kernel.main_loop() for name, kernel in made.items() if kernel.loop}
    assert {kernel["name"]: kernel["main_loop"] for kernel in report["kernels"] if "main_loop" in kernel} == {
        name: {"products": turn.products, "reads_per_t": turn.reads, "reads_and_copies_per_t": turn.reads_and_copies,
               "other_instructions_per_product": turn.others} for name, turn in turns.items()}
    for name, turn in turns.items():
        # What its tile may cost stands above; none costs more than the smallest.
        assert turn.reads <= FEW_BLOCKS.reads and turn.reads_and_copies <= FEW_BLOCKS.reads_and_copies
        of_attention = FEW_QUERIES.others if batch == 1 else ATTENTION.others
        assert turn.others <= (of_attention if name.startswith("kernel_encoder_attn") and name[19:] in ("", "_1") else FEW_BLOCKS.others)
    for kernel in report["kernels"]:
        blocks = f"{kernel['blocks']} | {', '.join(kernel['limits'])}"
        print(f"\n| {kernel['name']} | {len(kernel['launches'])} | {kernel['registers']} | {kernel['shared_bytes']} | {blocks} |", end="")
        assert kernel["blocks"] >= 1


def test_windows_whose_heads_are_weighted(tmp_path):
    """As in swin_t. ptxas takes 168 registers of 184 for a few instructions more, and spills."""
    attention = {"name": "attn", "op": "multi_head_attention", "input": "x", "heads": 3, "window": 7, "grid_height": 28}
    attention |= {"relative_bias": True, "horizontal": True, "vertical": True}
    model = {"hova": 1, "name": "windows", "inputs": {"x": {"shape": [1, 784, 96]}}, "layers": [attention], "outputs": {"y": "attn"}}
    (tmp_path / "model.json").write_text(json.dumps(model))
    made = sass.assemble_all(hova("compile", tmp_path / "model.json", "--dtype=bf16", "--target=cuda", "--emit=ptx"), tmp_path)
    assert len(made) == 6
    assert {name: (kernel.spilled, kernel.local()) for name, kernel in made.items()} == dict.fromkeys(made, (0, 0))


@pytest.mark.parametrize("kernel, dtype", [("softmax", "bf16"), ("relu", "bf16"), ("exp", "bf16"), ("softmax", "f16")])
def test_features_and_sums_of_a_performer(kernel, dtype, tmp_path):
    """256 features of 1,024 tokens in heads of 64: the loop of features and their sums has an HMMA for each 16x8x16, and few instructions beside."""
    attention = {"name": "attn", "op": "multi_head_attention", "input": "x", "heads": 8, "kind": "performer", "kernel": kernel, "features": 256}
    model = {"hova": 1, "name": "performer", "inputs": {"x": {"shape": [2, 1024, 512]}}, "layers": [attention], "outputs": {"y": "attn"}}
    (tmp_path / "model.json").write_text(json.dumps(model))
    made = sass.assemble_all(hova("compile", tmp_path / "model.json", f"--dtype={dtype}", "--target=cuda", "--emit=ptx"), tmp_path)
    assert {name: (code.spilled, code.stack, code.local()) for name, code in made.items()} == dict.fromkeys(made, (0, 0, 0))
    sums = made["kernel_attn"]
    assert sum(op.startswith("FFMA") for op in sums.code) < sum(op.startswith("HMMA") for op in sums.code)
    # Two tiles of rows a warp; products of 64 features with 64 keys, and of these with 64 values. Sums of weights come besides.
    products = 2 * (8 * 4 + 8 * 4)
    turns = [turn for turn in (sums.turn(*loop) for loop in sums.loops) if turn.counts["MUFU" if kernel != "relu" else "HMMA"] and turn.counts["LDGSTS"] == 8]
    turns = [turn for turn in turns if products < turn.products < 1.1 * products]
    assert len(turns) == 1
    print(f"\n| {kernel} {dtype} | {turns[0].products} | {turns[0].others:.2f} |", end="")
    assert turns[0].others <= PERFORMER


def described(name):
    """The description of that name in docs/description.md."""
    page = (VIT.parents[2] / "docs/description.md").read_text()
    return next(json.loads(text) for text in re.findall(r"```json\n(.*?)```", page, re.DOTALL) if f'"{name}"' in text)


@pytest.mark.parametrize("dtype", ["bf16", "f32"])
@pytest.mark.parametrize("name, layers", [("forms_of_scores", 10), ("weights_of_all_kinds", 3)])
def test_scores_of_ones_own(name, layers, dtype, tmp_path):
    """Every form of the documentation, with 512 keys in heads of 64: what becomes of scores has registers."""
    model = described(name)
    model["inputs"]["x"]["shape"] = [1, 512, 768]
    model["parameters"] = model.get("parameters", {}) | {"size": 1, "length": 512, "width": 768, "h": 12}
    if name == "weights_of_all_kinds":
        del model["parameters"]
        for layer in model["layers"]:
            layer["heads"] = 12
    # A cap that spilled more with masks than without, and functions that no layer has.
    base = {"op": "multi_head_attention", "input": model["layers"][-1]["name"], "heads": 12, "causal": True}
    model["inputs"]["valid"] = {"shape": [1, 512], "dtype": "bool"}
    for i, score in enumerate(["20 * tanh(score / 20)", "log(1 + score**2)", "sqrt(abs(score))"]):
        layer = {"name": f"more{i}", **base, "input": f"more{i - 1}" if i else base["input"], "key_valid": "valid", "score": score}
        model["layers"].append(layer)
    model["outputs"] = {"result": "more2"}
    (tmp_path / "model.json").write_text(json.dumps(model))
    made = sass.assemble_all(hova("compile", tmp_path / "model.json", f"--dtype={dtype}", "--target=cuda", "--emit=ptx"), tmp_path)
    attentions = [kernel for kernel in made if kernel.rpartition("_")[0] == "kernel"]
    assert len(attentions) >= layers  # equal ones are one
    for kernel, code in made.items():
        assert (kernel, code.spilled, code.stack, code.local()) == (kernel, 0, 0, 0)


MEMORY = {
    "product": lambda: kernels.product(64, 128, 128, (64, 128), (2, 2), "bias"),
    "product of large blocks": lambda: kernels.product(128, 64, 128),
    "attention": lambda: kernels.attention(1, 69, 1, 64, 2),
    "norm": lambda: kernels.norm(4, 768),
}


@pytest.mark.parametrize("name", MEMORY)
def test_banks_and_sectors(name):
    """No bank is asked twice for one wavefront, and global sectors are full."""
    case = MEMORY[name]()
    case.run("mixed", 0, counts=True)
    grid = case.grown
    for kind in ("ldmatrix", "copied", "shared"):
        assert grid.total(kind, "used") == grid.total(kind, "least")
    for kind in ("cp", "ld", "st"):
        assert grid.total(kind, "used") <= 1.1 * grid.total(kind, "least")
    if name != "norm":
        assert grid.total("ldmatrix", "least") > 0
        assert grid.total("st", "least") * 32 == case.operands[-1].nbytes
