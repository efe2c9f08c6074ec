# ===- test_matrix_unit.py - Products of bf16 by a matrix unit -------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Programs for a processor with AMX, whose instructions are executed in software where the processor has none (tiles.py). Judges
are NumPy on integers, of which every sum is exact; the evaluator in float64, from which these programs may not be further away
than those of the same level without the unit; and the same program on other threads, other rows, other lengths."""

import json
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file
from tiles import BUILD, HOVA, LEVEL, ROOT, Emulated, build_emulator, has_vectors

EXAMPLES = ROOT / "examples/models"
needs_vectors = pytest.mark.skipif(not has_vectors(), reason="needs a processor with AVX-512, bf16 and fp16")


@pytest.fixture(scope="module")
def emulator(tmp_path_factory):
    return build_emulator(tmp_path_factory.mktemp("emulator"))


def write(folder, description):
    path = folder / "model.json"
    path.write_text(json.dumps({"hova": 1, "name": "m", **description}))
    return path


def save(folder, name, array):
    path = folder / f"{name}.npy"
    np.save(path, array)
    return path


def bits(array):
    return np.ascontiguousarray(array, np.float32).view(np.uint32)


# ===-----------------------------------------------------------------------=== #
# Exact sums
# ===-----------------------------------------------------------------------=== #


@needs_vectors
@pytest.mark.parametrize(
    ("rows", "depth", "columns"),
    [
        (1, 32, 32), (2, 64, 40), (4, 32, 32), (17, 64, 96), (31, 45, 33), (33, 96, 130), (67, 80, 64), (197, 128, 70), (300, 33, 31 + 64),
        (1, 16, 16), (40, 24, 24), (33, 31, 97), (70, 96, 17),
    ],
)  # fmt: skip
def test_sums_of_integers_are_exact(rows, depth, columns, emulator, tmp_path):
    random = np.random.default_rng(rows)
    x = random.integers(-8, 9, (1, rows, depth)).astype(np.float32)
    w = random.integers(-8, 9, (depth, columns)).astype(np.float32)
    b = random.integers(-8, 9, columns).astype(np.float32)
    layer = {"name": "y", "op": "linear", "input": "x", "width": columns}
    model = write(tmp_path, {"inputs": {"x": {"shape": [1, rows, depth]}}, "layers": [layer], "outputs": {"y": "y"}})
    save_file({"y.weight": w, "y.bias": b}, tmp_path / "w.safetensors")
    program = Emulated(model, tmp_path, emulator, "--weights", tmp_path / "w.safetensors")
    counts = {}
    for threads in (1, 3):
        counts[threads] = program.run(f"--threads={threads}", f"--input={save(tmp_path, 'x', x)}", f"--output-dir={tmp_path}")
        assert np.array_equal(np.load(tmp_path / "y.npy"), x @ w + b)
    assert counts[1]["tdpbf16ps"] == products(rows, depth, columns)


def products(rows, depth, columns):
    """Those of two by two tiles, of blocks of 32 rows at most, steps of 32 and half strips of 32 columns."""
    return 4 * -(-rows // 32) * -(-depth // 32) * -(-columns // 32)


@needs_vectors
def test_as_many_products_as_blocks_have(emulator, tmp_path):
    layer = {"name": "y", "op": "linear", "input": "x", "width": 96}
    model = write(tmp_path, {"inputs": {"x": {"shape": [1, 197, 128]}}, "layers": [layer], "outputs": {"y": "y"}})
    counts = Emulated(model, tmp_path, emulator).run("--threads=1", "--random-inputs=1")
    assert counts["tdpbf16ps"] == products(197, 128, 96)
    # Each loads an operand's tiles for two products, and the sums leave once.
    assert counts["tileloadd"] == counts["tileloaddt1"] == counts["tdpbf16ps"] / 2
    assert counts["tilestored"] == counts["tilezero"] == counts["tdpbf16ps"] / 4
    # A function configures its tiles once for each call.
    assert counts["ldtilecfg"] == counts["tilerelease"] == 1


# ===-----------------------------------------------------------------------=== #
# Models
# ===-----------------------------------------------------------------------=== #


def block(tokens, width, heads, batch=2, **attention):
    """An attention beside its residual, a norm and a feed-forward."""
    return {
        "inputs": {"x": {"shape": [batch, tokens, width]}},
        "layers": [
            {"name": "a", "op": "multi_head_attention", "input": "x", "heads": heads, **attention},
            {"name": "r", "op": "add", "inputs": ["x", "a"]},
            {"name": "n", "op": "layer_norm", "input": "r"},
            {"name": "f", "op": "feed_forward", "input": "n", "hidden": 100, "activation": "gelu_erf"},
        ],
        "outputs": {"a": "a", "y": "f"},
    }


MODELS = {
    "whole tiles": block(64, 128, 4),
    "rows in even tiles": block(77, 128, 2),
    "few rows": block(5, 64, 2, batch=3),
    "one token": block(1, 64, 2, batch=3),
    "heads of 48 channels": block(50, 96, 2),
    "heads of 33 channels": block(33, 66, 2, batch=1),
    "a head of 96 channels": block(40, 96, 1),
    "a causal mask": block(101, 64, 2, causal=True),
    "a window": block(90, 64, 2, keep="abs(query - key) <= 9"),
    "a score": block(70, 64, 2, score="0.125 * score - 0.01 * abs(query - key)"),
    "no softmax": block(45, 64, 2, score="max(score, 0) / 8", normalize="sum"),
    "shared keys": block(48, 128, 4, key_value_heads=2),
    "a memory": block(41, 64, 2, memory=7),
    "blocks of keys": block(256, 64, 2, batch=1, kind="bigbird", block_size=32, random_blocks=1),
    "a last block of few keys": block(201, 64, 2, kind="bigbird", block_size=64, random_blocks=1),
    "projected keys": block(101, 128, 2, kind="linformer", projected_tokens=40),
    "few projected keys": block(64, 66, 2, batch=3, kind="linformer", projected_tokens=5),
    "a performer": block(130, 128, 2, kind="performer", features=96),
    "a performer of the relu": block(100, 128, 2, kind="performer", kernel="relu", features=64),
    "a performer of exp": block(99, 80, 2, kind="performer", kernel="exp", features=50),
    "a performer of few tokens": block(5, 64, 2, batch=3, kind="performer", features=32),
    "a causal performer": block(130, 128, 2, kind="performer", features=64, causal=True),
    "a causal performer of exp": block(40, 80, 2, kind="performer", kernel="exp", features=33, causal=True),
    "a performer with shared keys": block(110, 128, 4, kind="performer", features=64, key_value_heads=2),
    "horizontal attention": block(77, 128, 2, horizontal=True),
    "horizontal attention of 40 channels": block(21, 80, 2, horizontal=True),
}


def error(output, reference):
    return np.sqrt(np.mean((output.astype(np.float64) - reference) ** 2))


@needs_vectors
@pytest.mark.parametrize("name", MODELS)
def test_errors_are_those_of_vectors(name, emulator, tmp_path):
    model = write(tmp_path, MODELS[name])
    shape = MODELS[name]["inputs"]["x"]["shape"]
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    inputs = f"--input={save(tmp_path, 'x', x)}"
    program = Emulated(model, tmp_path, emulator)
    folders = {kind: tmp_path / kind for kind in ("reference", "vectors", "one", "three")}
    subprocess.run([HOVA, "evaluate", model, "--quiet", inputs, f"--output-dir={folders['reference']}"], check=True)
    program.run_plain(inputs, f"--output-dir={folders['vectors']}")
    counts = program.run(inputs, "--threads=1", f"--output-dir={folders['one']}")
    assert counts["tdpbf16ps"] > 0
    program.run(inputs, "--threads=3", f"--output-dir={folders['three']}")
    for output in ("a", "y"):
        found = {kind: np.load(folder / f"{output}.npy") for kind, folder in folders.items()}
        assert np.array_equal(bits(found["one"]), bits(found["three"]))
        assert error(found["one"], found["reference"]) <= 1.1 * error(found["vectors"], found["reference"]) + 1e-6


@needs_vectors
def test_an_item_does_not_depend_on_its_place(emulator, tmp_path):
    items = np.random.default_rng(2).standard_normal((3, 77, 128)).astype(np.float32)
    items[1] = np.nan
    results = {}
    for batch in (1, 3):
        folder = tmp_path / str(batch)
        folder.mkdir()
        program = Emulated(write(folder, block(77, 128, 2, batch=batch)), folder, emulator)
        program.run(f"--input={save(folder, 'x', items[:batch])}", f"--output-dir={folder}")
        results[batch] = np.load(folder / "y.npy")
    assert np.isfinite(results[1]).all() and np.isnan(results[3][1]).all() and np.isfinite(results[3][2]).all()
    assert np.array_equal(bits(results[1][0]), bits(results[3][0]))


OTHERS = {
    "softmax": {},
    "blocks of keys": {"kind": "bigbird", "block_size": 32, "random_blocks": 1},
    "projected keys": {"kind": "linformer", "projected_tokens": 5},
    "a performer": {"kind": "performer", "features": 33},
    "a causal performer": {"kind": "performer", "features": 33, "causal": True},
}


@needs_vectors
@pytest.mark.parametrize("kind", OTHERS)
def test_what_a_kernel_leaves_in_scratch_is_not_read(kind, emulator, tmp_path):
    """Paddings are zeros on the side that was not written: 0 times a NaN is a NaN. The first attention leaves nothing else."""
    layers = [
        {"name": "a", "op": "multi_head_attention", "input": "x", "heads": 2},
        {"name": "b", "op": "multi_head_attention", "input": "z", "heads": 2, **OTHERS[kind]},
    ]
    description = {
        "inputs": {"x": {"shape": [1, 512, 128]}, "z": {"shape": [1, 165, 64]}},
        "layers": layers,
        "outputs": {"a": "a", "b": "b"},
    }
    program = Emulated(write(tmp_path, description), tmp_path, emulator)
    random = np.random.default_rng(4)
    z = f"--input=z={save(tmp_path, 'z', random.standard_normal((1, 165, 64)).astype(np.float32))}"
    found = []
    for name, x in (("numbers", random.standard_normal((1, 512, 128))), ("none", np.full((1, 512, 128), np.nan))):
        inputs = (z, f"--input=x={save(tmp_path, name, x.astype(np.float32))}")
        program.run(*inputs, "--threads=1", f"--output-dir={tmp_path}")
        found.append(np.load(tmp_path / "b.npy"))
    assert np.isnan(np.load(tmp_path / "a.npy")).all() and np.isfinite(found[0]).all()
    assert np.array_equal(*map(bits, found))


LENGTHS = {
    # Of many rows threads divide these.
    "rows": (64, (1, 70), (1, 3), [(1, 1), (3, 1), (4, 1), (5, 3), (16, 1), (17, 2), (33, 1), (64, 2), (70, 3)]),
    # Of few they divide columns, and a call has all rows of the run.
    "columns": (128, (1, 30), (1, 2), [(1, 1), (2, 2), (5, 1), (15, 2), (16, 1), (30, 2)]),
    # Slots of a memory begin in any lane, within a pair of keys, and end with a step of the unit and behind it; channels are odd.
    "slots": (66, (1, 70), (1, 2), [(1, 1), (2, 2), (27, 1), (28, 2), (59, 1), (64, 1), (69, 2)]),
    # Sums over keys are those of blocks of 98 tokens.
    "blocks": (64, (1, 210), (1, 2), [(1, 1), (40, 2), (98, 1), (99, 2), (130, 1), (200, 2)]),
}
KINDS = {
    "softmax": ({}, ("rows", "columns")),
    "slots of a memory": ({"memory": 5}, ("slots",)),
    "a performer": ({"kind": "performer", "features": 40}, ("blocks",)),
    "a causal performer": ({"kind": "performer", "features": 40, "causal": True}, ("blocks",)),
    "horizontal attention": ({"horizontal": True}, ("rows",)),
}


@needs_vectors
@pytest.mark.parametrize(("kind", "divided"), [(kind, divided) for kind, (_, all) in KINDS.items() for divided in all])
def test_lengths_have_the_bits_of_their_programs(kind, divided, emulator, tmp_path):
    """Those of a program for all of them: items side by side, on other threads."""
    width, lengths, batches, runs = LENGTHS[divided]
    description = {"parameters": {"length": 40, "batch": 2}, **block("length", width, 2, batch="batch", **KINDS[kind][0])}
    model = write(tmp_path, description)
    (tmp_path / "ranged").mkdir()
    sizes = [f"{name}={least}..{most}" for name, (least, most) in (("length", lengths), ("batch", batches))]
    ranged = Emulated(model, tmp_path / "ranged", emulator, "--set", sizes[0], "--set", sizes[1])
    for length, batch in runs:
        folder = tmp_path / f"{length}x{batch}"
        folder.mkdir()
        fixed = Emulated(model, folder, emulator, "--set", f"length={length}", "--set", f"batch={batch}")
        x = np.random.default_rng(length).standard_normal((batch, length, width)).astype(np.float32)
        inputs = f"--input={save(folder, 'x', x)}"
        fixed.run(inputs, f"--output-dir={folder}/fixed")
        ranged.run(inputs, "--threads=2", f"--output-dir={folder}/ranged")
        for output in ("a", "y"):
            both = [np.load(folder / kind / f"{output}.npy") for kind in ("fixed", "ranged")]
            assert np.array_equal(*map(bits, both)), (length, batch, output)


def test_a_height_is_that_of_the_rows_of_the_run(tmp_path):
    """Where threads divide columns, the rows of the largest run would be too many for a smaller one."""
    layer = {"name": "y", "op": "linear", "input": "x", "width": 128}
    description = {"parameters": {"length": 40}, "inputs": {"x": {"shape": [1, "length", 128]}}, "layers": [layer], "outputs": {"y": "y"}}
    module = text_of("mlir", write(tmp_path, description), "--set", "length=1..64", "--stop-after=tile")
    (height,) = re.findall(r"hova_cpu.block_product .* by (%\w+) depth", module)
    assert f"{height} = arith.divui" in module and "column_strip" in module


# ===-----------------------------------------------------------------------=== #
# Factors of f32
# ===-----------------------------------------------------------------------=== #


def performer_alone(folder, width, count, tokens, words):
    """A program of linear attention alone, whose result is f32: the output of the layer is cut off behind it."""
    layer = {"name": "a", "op": "multi_head_attention", "query": "q", "key": "k", "value": "v", "heads": 1, "kind": "performer", "features": count, **words}
    description = {"inputs": {name: {"shape": [2, tokens, width]} for name in "qkv"}, "layers": [layer], "outputs": {"y": "a"}}
    module = text_of("mlir", write(folder, description), "--stop-after=import")
    alone = re.sub(r"return %a\.output\b", "return %a", module)
    assert alone != module
    path = folder / "alone.mlir"
    path.write_text(alone)
    return path


@needs_vectors
@pytest.mark.parametrize("causal", (False, True))
@pytest.mark.parametrize(("width", "count"), ((64, 96), (80, 50)))
def test_factors_of_f32_are_not_rounded(width, count, causal, emulator, tmp_path):
    """Of tokens of bf16: the weight of the features, the features and their sums keep 24 digits."""
    # Of the second block of 98, 33 tokens, the last block of rows begins within a pair of keys.
    tokens, random = 131, np.random.default_rng(3)
    model = performer_alone(tmp_path, width, count, tokens, {"kernel": "relu", "causal": causal})
    w = random.standard_normal((count, width)).astype(np.float32)
    names = ("query", "key", "value", "output")
    same = {f"a.{name}.weight": np.eye(width, dtype=np.float32) for name in names}
    none = {f"a.{name}.bias": np.zeros(width, np.float32) for name in names}
    save_file({"a.features": w, **same, **none}, tmp_path / "w.safetensors")
    # Integers are numbers of bf16.
    inputs = {name: random.integers(-9, 10, (2, tokens, width)).astype(np.float32) for name in "qkv"}
    words = [f"--input={name}={save(tmp_path, name, array)}" for name, array in inputs.items()]
    program = Emulated(model, tmp_path, emulator, "--weights", tmp_path / "w.safetensors")
    program.run(*words, f"--output-dir={tmp_path}")
    q, k, v = (inputs[name].astype(np.float64) for name in "qkv")
    weights = (np.maximum(q @ w.T, 0) + 1e-3) @ (np.maximum(k @ w.T, 0) + 1e-3).transpose(0, 2, 1)
    if causal:
        weights = np.tril(weights)
    y = weights @ v / weights.sum(-1, keepdims=True)
    assert np.abs(np.load(tmp_path / "y.npy") - y).max() <= 1e-6 * np.abs(y).max()


def tiles(rows, depth, columns, height):
    """Products of tiles of a block product of these sizes, by tiles of `height` rows."""
    return 4 * -(-max(rows, height) // (2 * height)) * -(-depth // 32) * -(-columns // 32)


@needs_vectors
@pytest.mark.parametrize("causal", (False, True))
def test_a_performer_has_as_many_products_as_parts_need(causal, emulator, tmp_path):
    """Three for a factor of f32 and one of bf16, six for two of f32."""
    width, count, tokens = 64, 96, 130
    model = performer_alone(tmp_path, width, count, tokens, {"kernel": "relu", "causal": causal})
    counts = Emulated(model, tmp_path, emulator).run("--threads=1", "--random-inputs=1")
    # Rows of a kernel pass through it in even blocks of 256 at most.
    linears = 3 * 2 * products(tokens, width, width)
    queries = (98, 32) if causal else (65, 65)
    height = 13 if causal else 11
    features = sum(3 * tiles(rows, width, count, height) for rows in queries)
    results = sum(6 * tiles(rows, count, width, height) for rows in queries)
    keys = sum(3 * tiles(rows, width, count, 13) + 3 * tiles(width, rows, count, 13) for rows in (98, 32))
    scores = values = 0
    if causal:
        features *= 2
        seen = [min(26 * number, 98 - 26) + 26 for number in range(4)] + [26, 32]
        scores = sum(6 * tiles(26, count, last, 13) for last in seen)
        values = sum(3 * tiles(26, last, width, 13) for last in seen)
    assert counts["tdpbf16ps"] == linears + 2 * (features + keys + scores + values + results)


@needs_vectors
def test_values_behind_a_block_of_rows_are_not_read(emulator, tmp_path):
    """26 rows of a causal performer are a block of the unit, whose steps are 32 keys: 0 times a NaN is a NaN."""
    tokens = 130
    program = Emulated(performer_alone(tmp_path, 64, 96, tokens, {"kernel": "relu", "causal": True}), tmp_path, emulator)
    random = np.random.default_rng(5)
    inputs = {name: random.standard_normal((2, tokens, 64)).astype(np.float32) for name in "qkv"}
    found = []
    for place in (None, 60, 125):
        if place:
            inputs["v"][:, place] = np.nan
        words = [f"--input={name}={save(tmp_path, name, array)}" for name, array in inputs.items()]
        program.run(*words, f"--output-dir={tmp_path}")
        found.append(np.load(tmp_path / "y.npy"))
        inputs["v"] = np.nan_to_num(inputs["v"])
    whole, early, late = found
    # Token 60 is one of rows 52 to 77, and token 125 one of the last six, whose block hands on no others.
    assert np.isfinite(whole).all() and np.isnan(early[:, 60:]).all() and np.isnan(late[:, 125:]).all()
    assert np.isfinite(late[:, :124]).all() and np.array_equal(bits(whole[:, :52]), bits(early[:, :52]))


# ===-----------------------------------------------------------------------=== #
# Code and reports, on any processor
# ===-----------------------------------------------------------------------=== #


def text_of(kind, model, *words, level=LEVEL):
    done = subprocess.run(
        [HOVA, "compile", model, "--dtype=bf16", f"--march={level}", "--quiet", f"--emit={kind}", "-o", "-", *words],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout


def functions_of(assembly):
    for part in re.split(r"^(?=kernel\S*:)", assembly, flags=re.MULTILINE)[1:]:
        yield part.split(":", 1)[0], part


@pytest.mark.parametrize("optimization", (0, 2))
@pytest.mark.parametrize(
    ("name", "words"),
    [("minilm_l6", ()), ("tnt_s", ()), ("lm", ("attention=performer", "depth=1")), ("lra", ("attention=linformer", "depth=1"))],
)
def test_no_tile_is_spilled(name, words, optimization):
    assembly = text_of("asm", EXAMPLES / f"{name}.json", f"-O{optimization}", *(f"--set={word}" for word in words))
    assert "1024-byte" not in assembly
    found = 0
    for function, code in functions_of(assembly):
        if "tdpbf16ps" in code:
            found += 1
            assert len(re.findall(r"\tldtilecfg\t", code)) == 1, function
    assert found > 0


def test_a_level_without_the_unit_takes_pairs_apart(tmp_path):
    """Their product has half the rate of multiply-adds where there is a unit for them."""
    model = write(tmp_path, block(40, 64, 2))
    assert "vdpbf16ps" not in text_of("asm", model, level=f"{LEVEL}:no-amx-tile")
    assert "vdpbf16ps" in text_of("asm", model, level="znver4")


def test_a_second_height_would_be_seen(tmp_path):
    """What the test above looks for is there where a function has tiles of two heights."""
    module = """
func.func private @kernel_two(%a: memref<64x64xbf16>, %b: memref<32x64xi32>, %s: memref<64x32xf32>, %scratch: memref<64xi8>, %n: index, %h: index) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %m = arith.addi %h, %n : index
  scf.for %i = %c0 to %n step %h {
    hova_cpu.block_product %s[%c0, %c0], %a[%i, %c0], %b[%c0, %c0] rows %h by %h depth %c64 columns 32
        : memref<64x32xf32>, memref<64x64xbf16>, memref<32x64xi32>
    hova_cpu.block_product %s[%i, %c0], %a[%c0, %c0], %b[%c0, %c0] rows %m by %m depth %c64 columns 32
        : memref<64x32xf32>, memref<64x64xbf16>, memref<32x64xi32>
  }
  return
}"""
    (tmp_path / "two.mlir").write_text(module)
    lowered = subprocess.run(
        [BUILD / "bin/hova-opt", tmp_path / "two.mlir", "--hova-lower-block-products"], capture_output=True, text=True, check=True
    ).stdout
    heights = set(re.findall(r"tilezero.internal\"\((%\w+),", lowered))
    assert len(heights) == 2


@pytest.mark.parametrize(
    "name", ("few projected keys", "a causal performer", "a causal performer of exp", "horizontal attention of 40 channels", "heads of 33 channels")
)
def test_kernels_are_interpreted_where_the_processor_has_no_unit(name, tmp_path):
    done = subprocess.run(
        [HOVA, "verify", write(tmp_path, MODELS[name]), "--dtype=bf16", f"--march={LEVEL}"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "were interpreted" in done.stderr or "amx" in Path("/proc/cpuinfo").read_text()


def test_the_reason_is_reported(tmp_path):
    model = write(tmp_path, block(40, 62, 2, batch=1))
    done = subprocess.run(
        [HOVA, "explain", model, "--dtype=bf16", f"--march={LEVEL}"], capture_output=True, text=True, check=True
    )
    assert "products of 31 channels are faster in vectors than by the matrix unit" in " ".join(done.stdout.split())
