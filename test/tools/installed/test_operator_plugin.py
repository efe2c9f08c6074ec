# ===- test_operator_plugin.py - An operator that a plugin brings ---------------=== #
# SPDX-License-Identifier: Apache-2.0
"""The plugin of examples/sigmoid-attention, from outside, against an installed hova.

What it computes is compared with NumPy, written from the formula in its description.
"""

import json
import re
import shutil
import subprocess

import numpy as np
import pytest
from installation import SOURCE, build_plugin, run, weights_of
from jsonschema import Draft7Validator

EXAMPLE = SOURCE / "examples/sigmoid-attention"
MODEL = EXAMPLE / "models/encoder.json"


def layer(**keys):
    """A model of one layer: 2 x 5 x 12, and 2 x 7 x 10 as memory."""
    return {
        "hova": 1,
        "name": "one",
        "inputs": {"x": {"shape": [2, 5, 12]}, "m": {"shape": [2, 7, 10]}},
        "layers": [
            {"name": "a", "op": "sigmoid_attention", "input": "x", "heads": 3, **keys},
            {"name": "s", "op": "scale", "input": "m", "by": 2},
        ],
        "outputs": {"y": "a", "z": "s"},
    }


# The language of descriptions.


def test_schema_has_the_operator(hova):
    validator = Draft7Validator(json.loads(hova("schema")))
    model = json.loads(MODEL.read_text())
    validator.validate(model)
    model["blocks"]["layer"]["layers"][1]["head"] = 4
    assert not validator.is_valid(model)
    without = Draft7Validator(json.loads(hova.plain("schema")))
    assert not without.is_valid(json.loads(MODEL.read_text()))


def test_without_the_plugin_the_operator_is_unknown(hova):
    said = hova.plain("check", MODEL, status=1)
    assert 'error: unknown operator "sigmoid_attention"' in said


def test_operator_is_suggested(hova, write):
    said = hova("check", write(layer(op="sigmoid_atention")), status=1)
    assert 'unknown operator "sigmoid_atention"' in said
    assert 'did you mean "sigmoid_attention"?' in said


@pytest.mark.parametrize(
    "keys, pointer, message",
    [
        ({"heads": 5}, "heads", "cannot split a width of 12 into 5 heads"),
        ({"heads": 0}, "heads", '"heads" must be at least 1, got 0'),
        ({"input": "m"}, "heads", "cannot split a width of 10 into 3 heads"),
        ({"bias": 7}, "bias", "expected a boolean or an expression, got an integer"),
        ({"offsets": 1}, "offsets", 'did you mean "offset"?'),
        ({"init": {"sinks": {"kind": "zeros"}}}, "init/sinks", 'did you mean "sink"?'),
    ],
)
def test_mistakes_have_a_place(hova, write, keys, pointer, message):
    path = write(layer(**keys))
    said = hova("check", path, status=1)
    assert message in said
    line = path.read_text().split(f'"{pointer.split("/")[-1]}":')[0].count("\n") + 1
    assert f"{path}:{line}:" in said
    assert f"at /layers/0/{pointer}\n" in said


def test_memory_of_another_batch_is_a_mistake(hova, write):
    model = layer(memory="m")
    model["inputs"]["m"]["shape"] = [3, 7, 10]
    said = hova("check", write(model), status=1)
    assert 'sigmoid_attention "a" needs one batch for both' in said
    assert '"x" is f32 [2, 5, 12]' in said


def test_missing_heads_are_explained(hova, write):
    model = layer()
    del model["layers"][0]["heads"]
    said = hova("check", write(model), status=1)
    assert 'sigmoid_attention needs "heads": number of heads' in said


def test_descriptions_of_the_plugin_have_no_warnings(hova):
    assert ": ok" in hova("check", MODEL, "--werror")


# Counts.


def test_summary_counts_parameters_and_work(hova):
    report = json.loads(hova("summary", MODEL, "--format=json"))
    width, heads, batch, tokens = 96, 4, 2, 37
    projections = 4 * (width * width + width)
    attention = [entry for entry in report["layers"] if entry["kind"] == "sigmoid_attention"]
    assert [entry["path"] for entry in attention] == ["encoder.0.attn", "encoder.1.attn"]
    for entry in attention:
        assert entry["parameters"] == projections + heads
        assert entry["macs_linear"] == 4 * batch * tokens * width * width
        assert entry["macs_attention"] == 2 * batch * tokens * tokens * width
    tensors = {entry["name"]: entry for entry in report["parameters"]["tensors"]}
    assert tensors["encoder.1.attn.sink"]["shape"] == [heads]


# Numbers.


def sigmoid_attention(x, memory, w, path, heads, scale=None, offset=None):
    """From the formula: one head and one query at a time."""

    def linear(value, name):
        return value @ w[f"{path}.{name}.weight"] + w[f"{path}.{name}.bias"]

    q, k, v = linear(x, "query"), linear(memory, "key"), linear(memory, "value")
    width = q.shape[-1] // heads
    scale = 1 / np.sqrt(width) if scale is None else scale
    offset = -np.log(memory.shape[1]) if offset is None else offset
    out = np.zeros_like(q)
    for b in range(x.shape[0]):
        for h in range(heads):
            columns = slice(h * width, (h + 1) * width)
            scores = scale * q[b, :, columns] @ k[b, :, columns].T + offset
            weight = 0.5 * (1 + np.tanh(scores / 2))
            total = np.exp(w[f"{path}.sink"][h]) + weight.sum(axis=1)
            out[b, :, columns] = weight @ v[b, :, columns] / total[:, None]
    return linear(out, "output")


CASES = {
    "plain": {},
    "memory": {"memory": "m"},
    "one_head": {"heads": 1, "memory": "m"},
    "scale": {"scale": -0.75, "offset": 1.5},
    "large_scores": {"scale": 60, "memory": "m"},
}


@pytest.mark.parametrize("keys", CASES.values(), ids=CASES)
def test_numbers_are_those_of_numpy(hova, write, tmp_path, keys):
    path = write(layer(**keys))
    file, w = weights_of(hova, path, tmp_path, seed=3)
    generator = np.random.default_rng(4)
    inputs = {
        "x": generator.normal(size=(2, 5, 12)).astype(np.float32),
        "m": generator.normal(size=(2, 7, 10)).astype(np.float32),
    }
    given = []
    for name, value in inputs.items():
        np.save(tmp_path / f"{name}.npy", value)
        given += ["--input", f"{name}={tmp_path / name}.npy"]
    memory = inputs["m" if "memory" in keys else "x"].astype(np.float64)
    want = sigmoid_attention(
        inputs["x"].astype(np.float64),
        memory,
        w,
        "a",
        keys.get("heads", 3),
        keys.get("scale"),
        keys.get("offset"),
    )
    hova("evaluate", path, "--weights", file, *given, "--output-dir", tmp_path / "float64")
    got = np.load(tmp_path / "float64/y.npy")
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6)
    hova("compile", path, "--weights", file, "-o", tmp_path / "program")
    run(tmp_path / "program", *given, "--output-dir", tmp_path / "compiled")
    got = np.load(tmp_path / "compiled/y.npy")
    np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5)


SHAPES = [
    ("batch=1", "tokens=1"),
    ("batch=1", "tokens=300", "heads=1"),
    ("batch=3", "tokens=64", "width=32", "heads=2"),
    ("batch=1", "tokens=131", "width=90", "heads=5"),
]


@pytest.mark.parametrize("settings", SHAPES, ids="-".join)
@pytest.mark.parametrize("level", ["native", "x86-64-v3"])
def test_program_is_verified(hova, settings, level):
    options = [word for setting in settings for word in ("--set", setting)]
    said = hova("verify", MODEL, *options, f"--march={level}", "--guard")
    assert "within the numeric policy" in said


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
def test_program_with_16_bits_is_verified(hova, dtype):
    assert "within the numeric policy" in hova("verify", MODEL, f"--dtype={dtype}")


# A tail of queries and of keys; heads narrower and wider than a box, with values of another part of it; one token.
ON_A_GPU = [
    ("f32", "batch=2", "tokens=37"),
    ("bf16", "batch=1", "tokens=131", "width=90", "heads=5"),
    ("f16", "batch=2", "tokens=64", "width=64", "heads=1"),
    ("f16", "batch=1", "tokens=70", "width=160", "heads=1"),
    ("bf16", "batch=1", "tokens=1"),
]


@pytest.mark.parametrize("settings", ON_A_GPU, ids="-".join)
def test_kernel_on_a_gpu_is_verified(hova, settings):
    """Emulated, with all checks on every access, and every value between kernels compared."""
    dtype, *sizes = settings
    options = [word for size in sizes for word in ("--set", size)]
    said = hova("verify", MODEL, *options, f"--dtype={dtype}", "--target=cuda-emulated", "--cases=2")
    assert "within the numeric policy, on a GPU that the processor emulates" in said


def test_kernel_on_a_gpu_is_ptx(hova, tmp_path):
    text = tmp_path / "encoder.ptx"
    hova("compile", MODEL, "--dtype=bf16", "--target=cuda", "--emit=ptx", "-o", text)
    kernel = re.search(r"\.entry kernel_encoder_attn\(.*?\n}", text.read_text(), re.DOTALL)[0]
    assert "mma.sync" in kernel and "cp.async" in kernel
    launches = json.loads(hova("explain", MODEL, "--dtype=bf16", "--target=cuda", "--ptxas=none", "--format=json"))
    assert "kernel_encoder_attn" in json.dumps(launches)


def test_what_a_gpu_has_no_code_for_is_an_error_of_the_layer(hova):
    said = hova("verify", MODEL, "--target=cuda-emulated", "--set", "width=320", "--set", "heads=1", status=1)
    assert "has code for a GPU for heads of up to 256 columns, got 320" in said and "in layer encoder.0.attn" in said


def test_results_do_not_depend_on_the_number_of_threads(hova, tmp_path):
    hova("compile", MODEL, "--set", "heads=1", "--set", "tokens=260", "-o", tmp_path / "program")
    results = []
    for threads in (1, 2, 7):
        folder = tmp_path / str(threads)
        run(tmp_path / "program", "--random-inputs", "1", "--threads", threads, "--output-dir", folder)
        results.append((folder / "y.npy").read_bytes())
    assert results[0] == results[1] == results[2]


# The IR.


def test_attention_is_a_kernel_between_chains(hova, tmp_path):
    dump = tmp_path / "fused.mlir"
    # So many rows that a chain pays.
    settings = ["--set", "batch=16", "--set", "tokens=128"]
    hova("compile", MODEL, *settings, "--emit=mlir", "--stop-after=fuse", "-o", dump)
    kernels = re.findall(r'hova.kernel "([\w.]+)" units<([^>]*)>', dump.read_text())
    heads, rows = "batch 16, head 4", "batch 16, token 128"
    assert kernels == [
        ("encoder.0.attn.query", rows),
        ("encoder.0.attn", heads),
        # From the output projection to the projections of the next layer.
        ("encoder.0.ffn.hidden", rows),
        ("encoder.1.attn", heads),
        ("encoder.1.ffn.hidden", rows),
    ]


def test_verdicts_tell_what_became_of_it(hova):
    said = hova("explain", MODEL)
    assert "sigmoid attention encoder.0.attn and 1 more: fused in kernel encoder.0.attn\n" in said
    # A weight for every query and key of every head.
    assert f"  {2 * 4 * 37 * 37 * 4} bytes of intermediates never reach memory\n" in said
    assert "'sigattn.attention' divides 2 batch x 4 head among threads, not rows" in said
    sites = json.loads(hova("explain", MODEL, "--format=json"))["sites"]
    attention = [site for site in sites if site["kind"] == "sigmoid attention"]
    assert [(site["path"], site["fused"], site["kernels"]) for site in attention] == [
        (path, True, [path]) for path in ("encoder.0.attn", "encoder.1.attn")
    ]


def test_fusion_can_be_demanded(hova, tmp_path):
    dump = tmp_path / "imported.mlir"
    hova("compile", MODEL, "--emit=mlir", "--stop-after=import", "-o", dump)
    demands = re.findall(r"= ([\w.]+) .*hova.require = \"fused\"", dump.read_text())
    assert demands == ["sigattn.attention"] * 2
    # A verdict that says no, as a pass might write it, is an error of the description.
    verdict = 'hova.require = "fused", hova.verdict = {fused = false, why = "so"}, heads = 3'
    missed = attention_ir().replace("attend", "main").replace("heads = 3", verdict)
    said = hova.opt(missed, "--hova-verify-demands", status=1)
    assert "sigmoid attention is required to be fused, but so" in said


# What it answers passes that know no operation by its name.

ATTENTION = re.compile(r"= sigattn\.attention .*")


def classifier(**parameters):
    """The encoder in front of a classifier, which reads the first token."""
    model = json.loads(MODEL.read_text())
    model["parameters"].update(parameters)
    model["layers"].append({"name": "class", "op": "pool", "input": "encoder", "kind": "first"})
    model["outputs"] = {"y": "class"}
    return model


def test_queries_that_nobody_reads_are_not_answered(hova, write, tmp_path):
    path, dump = write(classifier()), tmp_path / "normalized.mlir"
    hova("compile", path, "--emit=mlir", "--stop-after=normalize", "-o", dump)
    first, last = ATTENTION.findall(dump.read_text())
    assert "-> tensor<2x37x96xf32>" in first
    assert '"computes 1 of 37 rows, which is what is read"' in last
    assert "(tensor<2x1x96xf32>, tensor<2x37x96xf32>, tensor<2x37x96xf32>" in last
    assert "-> tensor<2x1x96xf32>" in last
    assert "within the numeric policy" in hova("verify", path, "--guard")
    hova("compile", path, "--emit=mlir", "--stop-after=import", "-o", dump)
    hova.opt(dump.read_text(), "--start-at=normalize", "--stop-after=vectorize", "--check-meaning")


def test_queries_that_others_read_are_answered(hova, write):
    model = classifier()
    model["layers"][0]["repeat"] = 1
    model["layers"].append({"name": "mean", "op": "pool", "input": "encoder", "kind": "mean"})
    model["outputs"]["z"] = "mean"
    assert "hova-propagate-demanded-rows: fired at 0 of 1 sites" in hova("explain", write(model))


# One more token than a panel has, an odd number of them, and widths that are no whole pairs.
PAIRED = [
    {},
    {"tokens": 33, "batch": 1},
    {"tokens": 1},
    {"tokens": 70, "width": 90, "heads": 6},
    {"tokens": 5, "width": 12, "heads": 4},
]


@pytest.mark.parametrize("parameters", PAIRED, ids=str)
def test_products_take_pairs_of_bf16(hova, write, tmp_path, parameters):
    path, dump = write(classifier(**parameters)), tmp_path / "assigned.mlir"
    words = ("--dtype=bf16", "--march=cooperlake")
    hova("compile", path, *words, "--emit=mlir", "--stop-after=assign", "-o", dump)
    kernels = re.findall(r'"([\w.]+)" units[^{]*{schedule = #hova_cpu.schedule<([^>]*)>', dump.read_text())
    paired = {name for name, schedule in kernels if schedule.endswith(", pairs")}
    assert paired == {"encoder.0.attn", "encoder.1.attn"}
    hova("compile", path, *words, "--emit=mlir", "--stop-after=import", "-o", dump)
    said = hova.opt(dump.read_text(), "--march=cooperlake", "--stop-after=tile", "--check-meaning")
    assert "interpreted" in said


def test_result_that_a_product_reads_is_stored_in_16_bits(hova, tmp_path):
    dump = tmp_path / "normalized.mlir"
    hova("compile", MODEL, "--dtype=bf16", "--emit=mlir", "--stop-after=normalize", "-o", dump)
    attentions = ATTENTION.findall(dump.read_text())
    assert ["-> tensor<2x37x96xbf16>" in line for line in attentions] == [True, True]


def test_short_sequences_are_told_what_the_recipe_lacks(hova, tmp_path):
    dump = tmp_path / "fused.mlir"
    settings = ["--set", "tokens=16", "--set", "width=32"]
    hova("compile", MODEL, *settings, "--emit=mlir", "--stop-after=fuse", "-o", dump)
    for line in ATTENTION.findall(dump.read_text()):
        assert 'fires_if = "its recipe has loops for tokens in lanes"' in line


def test_meaning_is_kept_by_every_pass(hova, tmp_path):
    dump = tmp_path / "imported.mlir"
    hova("compile", MODEL, "--emit=mlir", "--stop-after=import", "-o", dump)
    said = hova.opt(
        dump.read_text(), "--start-at=normalize", "--stop-after=vectorize", "--check-meaning"
    )
    assert "interpreted" in said


def test_a_dump_is_compiled_on(hova, tmp_path):
    dump = tmp_path / "fused.mlir"
    hova("compile", MODEL, "--emit=mlir", "--stop-after=fuse", "-o", dump)
    assert "within the numeric policy" in hova("verify", dump)


IR = """
func.func @attend(%q: tensor<QUERY>, %k: tensor<KEY>, %v: tensor<2x7x12xf32>,
                  %s: tensor<SINK>) -> tensor<RESULT> {
  %o = sigattn.attention %q, %k, %v, %s {heads = HEADS : i64, scale = SCALE : f64, offset = 0.0 : f64}
      : (tensor<QUERY>, tensor<KEY>, tensor<2x7x12xf32>, tensor<SINK>) -> tensor<RESULT>
  return %o : tensor<RESULT>
}
"""
VALID = {
    "QUERY": "2x5x12xf32",
    "KEY": "2x7x12xf32",
    "SINK": "3xf32",
    "RESULT": "2x5x12xf32",
    "HEADS": "3",
    "SCALE": "1.0",
}


def attention_ir(**changes):
    code = IR
    for name, value in {**VALID, **changes}.items():
        code = code.replace(name, value)
    return code


def test_operation_is_printed_and_parsed(hova):
    assert "sigattn.attention" in hova.opt(attention_ir(), "--verify-roundtrip")


def test_reducer_and_language_server_know_the_operation(hova, tmp_path):
    """Both are upstream's, and load what hova-opt loads."""
    code = tmp_path / "code.mlir"
    unrelated = "func.func @unrelated(%x: tensor<4xf32>) -> tensor<4xf32> {\n  return %x : tensor<4xf32>\n}\n"
    code.write_text(attention_ir() + unrelated)
    interesting = tmp_path / "interesting.sh"
    interesting.write_text('#!/bin/sh\n! grep -q sigattn.attention "$1"\n')
    interesting.chmod(0o755)
    load = f"--load-dialect-plugin={hova.plugin}"
    reduce = hova.prefix / "bin/hova-reduce"
    reduced = run(reduce, code, load, f"--reduction-tree=traversal-mode=0 test={interesting}")
    assert "sigattn.attention" in reduced and "@unrelated" not in reduced
    opened = {
        "jsonrpc": "2.0",
        "method": "textDocument/didOpen",
        "params": {"textDocument": {"uri": "test:///a.mlir", "languageId": "mlir", "version": 1, "text": ""}},
    }
    opened["params"]["textDocument"]["text"] = attention_ir(HEADS="5")
    messages = [
        {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"processId": 1, "rootPath": "", "capabilities": {}}},
        opened,
        {"jsonrpc": "2.0", "id": 1, "method": "shutdown"},
        {"jsonrpc": "2.0", "method": "exit"},
    ]
    said = subprocess.run(
        [hova.prefix / "bin/hova-lsp-server", "-lit-test", load],
        input="".join(json.dumps(message) + "\n// -----\n" for message in messages),
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "expects widths divisible by 5 heads, got 12" in said


def test_example_of_the_description_parses(hova):
    text = (EXAMPLE / "SigmoidAttention.td").read_text()
    hova.opt(re.search(r"```mlir\n(.*?)```", text, re.DOTALL)[1])


@pytest.mark.parametrize(
    "changes, message",
    [
        pytest.param({"KEY": "1x7x12xf32"}, "[batch, kv_len, width], got 2x5x12, 1x7x12", id="c1"),
        pytest.param({"HEADS": "5"}, "expects widths divisible by 5 heads, got 12", id="c2"),
        pytest.param({"KEY": "2x7x15xf32"}, "share their width, got 12 and 15", id="c3"),
        pytest.param({"RESULT": "2x5x15xf32"}, "expects a result of shape 2x5x12, got 2x5x15", id="c4"),
        pytest.param({"SINK": "4xf32"}, "expects sink of shape 3, got 4", id="c5"),
        pytest.param({"SCALE": "0x7FF0000000000000"}, "expects a finite scale and offset", id="c6"),
    ],
)
def test_constraint_is_verified(hova, changes, message):
    assert message in hova.opt(attention_ir(**changes), status=1)


# Libraries that do not fit. test/tools/plugin/plugin-stamp.test has those that need no installation.


def test_plugin_of_an_edited_header_is_refused(hova, tmp_path):
    """One more field of OperatorInfo, and everything after it lies elsewhere."""
    changed = tmp_path / "changed"
    shutil.copytree(hova.prefix, changed, symlinks=True)
    header = changed / "include/hova/frontend/description/Vocabulary.h"
    code = header.read_text()
    assert code.count("struct OperatorInfo {") == 1
    header.write_text(code.replace("struct OperatorInfo {", "struct OperatorInfo { int more = 0;"))
    # What an installation of that source tree would have.
    stamp = changed / "include/hova/tools/plugins/HeadersHash.h"
    stamp.write_text(re.sub(r'HASH "\w+"', 'HASH "other"', stamp.read_text()))
    said = hova.plain("schema", f"--pass-plugin={build_into(tmp_path, changed)}", status=2)
    assert re.search(r"was built for hova \S+ \(LLVM \S+, headers other\), but this is hova", said)
    assert len(said.splitlines()) == 2, "a sentence, and where the options are listed"


def build_into(tmp_path, prefix):
    plugin = tmp_path / "plugin"
    options = (f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_CXX_COMPILER=clang++-22", "-DCMAKE_C_COMPILER=clang-22")
    run("cmake", "-G", "Ninja", "-S", SOURCE / "test/tools/Inputs/operators", "-B", plugin, *options)
    run("cmake", "--build", plugin, "--target", "gated")
    return plugin / "gated.so"


def test_operator_of_two_plugins_is_refused(hova, tmp_path):
    copy = tmp_path / "copy.so"
    shutil.copy(hova.plugin, copy)
    said = hova("schema", f"--pass-plugin={copy}", status=2)
    assert "there is an operator 'sigmoid_attention' already" in said


# An operator without operations of its own.


@pytest.fixture(scope="module")
def operators(hova, tmp_path_factory):
    return build_plugin(tmp_path_factory, hova.prefix, SOURCE / "test/tools/Inputs/operators")


def gated():
    return {
        "hova": 1,
        "name": "gates",
        "inputs": {"x": {"shape": [4, 6, 40]}},
        "layers": [
            {"name": "g", "op": "gated_linear", "input": "x", "width": 40, "repeat": 3}
        ],
        "outputs": {"y": "g"},
    }


def test_operator_of_operations_of_hova(hova, operators, write):
    path, load = write(gated()), f"--pass-plugin={operators}/gated.so"
    report = json.loads(hova.plain("summary", path, load, "--format=json"))
    assert report["parameters"]["trainable"] == 3 * 2 * (40 * 40 + 40)
    said = hova.plain("explain", path, load)
    assert "hova-normalize-projections: fired at 3 of 3 sites" in said
    assert "within the numeric policy" in hova.plain("verify", path, load)


def test_two_plugins_are_loaded_together(hova, operators):
    schema = hova("schema", f"--pass-plugin={operators}/gated.so")
    assert '"const": "gated_linear"' in schema and '"const": "sigmoid_attention"' in schema


def test_operation_without_its_dialect_is_refused(hova, operators):
    said = hova.plain("schema", f"--pass-plugin={operators}/homeless.so", status=2)
    assert "imports operations of dialect 'nowhere', which no plugin registers" in said
