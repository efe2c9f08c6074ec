# ===- test_messages.py - What hova says, and what it returns ---------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Names of files never reach a terminal as they are; every error is an object of JSON on demand;
every exit status is that of the table in docs/compile-a-model.md."""

import json
import os
import re
import struct
import subprocess
import unicodedata
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]
HOVA = Path(os.environ.get("HOVA_BUILD", SOURCE / "build")) / "bin/hova"
DIGITS = SOURCE / "examples/01-digits/digits.json"

HOSTILE = "\033[31mred\u202e\u2066\u200b\u009b"
LINEAR = {
    "hova": 1,
    "name": "m",
    "inputs": {"x": {"shape": [1, 2]}},
    "layers": [{"name": "y", "op": "linear", "input": "x", "width": 3}],
    "outputs": {"o": "y"},
}


def hova(*arguments, **options):
    command = [HOVA, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, check=False, **options)


@pytest.fixture
def model(tmp_path):
    return write(tmp_path / "m.json", json.dumps(LINEAR))


def write(path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def tensors(path, entries):
    """A safetensors file of f32 tensors: name to shape, or to shape and values."""
    header, data = {}, b""
    for name, (shape, *values) in entries.items():
        count = 1
        for size in shape:
            count *= size
        block = struct.pack(f"<{count}f", *(values[0] if values else [0.5] * count))
        header[name] = {
            "dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(block)],
        }  # fmt: skip
        data += block
    text = json.dumps(header).encode()
    return write(path, struct.pack("<Q", len(text)) + text + data)


def test_options_of_programs_are_told_from_those_of_the_compiler(model, tmp_path):
    described = (SOURCE / "runtime/main/CommandLine.c").read_text()
    flags = re.findall(r'^ +(?:\[OPTION_\w+\] =\s+)?\{"(--[a-z-]+)"', described, re.MULTILINE)
    assert "--threads" in flags and "--benchmark-out" in flags
    # Those that a verb has, or has by another name, and what each program has.
    others = {"--input", "--output", "--set", "--device", "--weights", "--format", "--version", "--help"}
    vit = SOURCE / "examples/models/vit_b16.json"
    for flag in sorted({*flags} - others):
        for word in (flag, f"{flag}=2"):
            said = hova("compile", vit, word, "-o", tmp_path / "p")
            assert said.returncode == 2 and b", which is an option of the compiled program\n" in said.stderr, said.stderr
    assert b"did you mean '--set threads=2'?" in hova("check", write(model, json.dumps(LINEAR | {"parameters": {"threads": 1}})), "--threads=2").stderr


FITTING = {"y.weight": ([2, 3],), "y.bias": ([3],)}

# Text of files.


def assert_safe(result):
    """No controls, no marks that reorder text, nothing invisible, and UTF-8."""
    for data in (result.stdout, result.stderr):
        text = data.decode("utf-8", "strict")
        unsafe = [c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs") and c != "\n"]
        assert not unsafe, (unsafe, text)
    assert result.stdout or result.stderr


def hostile_descriptions():
    """Everything in a description that a message may quote."""
    yield "key", {**LINEAR, HOSTILE: 1}
    yield "name", {**LINEAR, "name": HOSTILE}
    yield "operator", {**LINEAR, "layers": [{"name": "y", "op": HOSTILE, "input": "x"}]}
    yield "value", {**LINEAR, "outputs": {"o": HOSTILE}}
    text = {"k": f"'{HOSTILE}'", "j": {"default": "b", "values": ["b", HOSTILE]}}
    layers = [{"name": "y", "op": "activation", "input": "x", "kind": "k"}]
    yield "text", {**LINEAR, "parameters": text, "layers": layers}
    width = [{"name": "y", "op": "linear", "input": "x", "width": "k"}]
    yield "number", {**LINEAR, "parameters": text, "layers": width}
    condition = [{"name": "y", "op": "linear", "input": "x", "width": 3, "if": "k"}]
    yield "condition", {**LINEAR, "parameters": text, "layers": condition}
    block = [{"name": "y", "block": "k", "input": "x"}]
    yield "block", {**LINEAR, "parameters": text, "layers": block}
    yield "choice", {**LINEAR, "parameters": {"j": {"default": "q", "values": ["b", HOSTILE]}}}
    yield "source", {**LINEAR, "checkpoints": {HOSTILE: {"rules": [{"to": HOSTILE}]}}}
    rows = [{"row": HOSTILE, "parameters": HOSTILE, "when": {HOSTILE: HOSTILE}}]
    yield "figure", {**LINEAR, "published": [{"source": HOSTILE, "rows": rows}]}


VERBS = [
    ["check"],
    ["summary"],
    ["explain"],
    ["verify"],
    ["compile", "-o", "x"],
    ["compile", "--emit=mlir"],
    ["weights", "pack", "--init=0", "-o", "x"],
    ["evaluate", "--output-dir=x"],
]


@pytest.mark.parametrize("name, description", hostile_descriptions())
def test_names_in_descriptions_are_escaped(name, description, tmp_path):
    path = write(tmp_path / "m.json", json.dumps(description, ensure_ascii=False))
    for options in ([], ["--diagnostics=json"], ["--set", f"j={HOSTILE}"]):
        result = hova("check", path, *options)
        assert result.returncode == 1, result.stderr
        assert_safe(result)


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_every_verb_escapes(verb, tmp_path):
    description = {**LINEAR, "outputs": {"o": HOSTILE}}
    path = write(tmp_path / f"{HOSTILE}.json", json.dumps(description, ensure_ascii=False))
    assert_safe(hova(*verb, path, cwd=tmp_path))
    assert_safe(hova(*verb, tmp_path / "missing", "--set", HOSTILE, f"--{HOSTILE}", cwd=tmp_path))
    assert_safe(hova(*verb, tmp_path / HOSTILE, cwd=tmp_path))


def test_broken_utf8_is_escaped(tmp_path):
    assert_safe(hova("check", write(tmp_path / "m.json", b'{"a\xff\xfe": "\xed\xa0\x80"}')))
    assert_safe(hova("check", tmp_path / os.fsdecode(b"\xff\xc1\x81.json")))


def test_names_of_tensors_are_escaped(model, tmp_path):
    for name, message in ((HOSTILE, b"without controls"), ("\u202e\u2066\u200bfdp", b"left over")):
        file = tensors(tmp_path / f"{HOSTILE}.safetensors", {**FITTING, name: ([1],)})
        result = hova("compile", model, "--weights", file, "-o", tmp_path / "x")
        assert result.returncode == 1 and message in result.stderr
        assert_safe(result)


def test_published_figures_are_escaped(tmp_path):
    figure = {"figure": "8", "differs": HOSTILE}
    rows = [{"row": HOSTILE, "when": {"j": HOSTILE}, "parameters": figure}]
    description = {
        **LINEAR,
        "parameters": {"j": {"default": "b", "values": ["b", HOSTILE]}},
        "published": [{"source": HOSTILE, "rows": rows}],
    }
    path = write(tmp_path / "m.json", json.dumps(description, ensure_ascii=False))
    for options, message in ([], b"differs, known (1)"), (["--set", "j=b"], b"--set j="):
        result = hova("summary", "--paper", path, *options)
        assert result.returncode == 0 and message in result.stdout
        assert_safe(result)


def test_locations_of_the_ir_are_escaped(tmp_path):
    """`require` fails below the front end, at a place of a file whose name is hostile."""
    description = {
        **LINEAR,
        "inputs": {"x": {"shape": [1, 4, 8]}},
        "layers": [
            {"name": "y", "op": "multi_head_attention", "input": "x", "heads": 2,
             "kind": "additive", "horizontal": True, "require": "fused"}],
    }  # fmt: skip
    path = write(tmp_path / f"{HOSTILE}.json", json.dumps(description))
    for verb in (["explain"], ["compile", "-o", tmp_path / "x"]):
        assert_safe(hova(*verb, path))


# Objects of JSON.


def objects(result):
    found = [json.loads(line) for line in result.stderr.decode().splitlines()]
    assert found
    for message in found:
        assert message["severity"] in ("error", "warning", "note")
        assert message["message"] and isinstance(message["notes"], list)
        assert isinstance(message["file"], str)
    return found


def test_errors_of_all_kinds_are_objects(model, tmp_path):
    half = tensors(tmp_path / "half.safetensors", {"y.weight": ([3, 2],)})
    cases = [
        (1, ["check", write(tmp_path / "bad.json", "{}")], "missing key"),
        (1, ["check", model, "--set", "a=1"], "unknown parameter"),
        (2, ["check", model, "--nonsense"], "unknown option '--nonsense'"),
        (2, ["compile", model, "--emit=x"], "option '--emit' expects"),
        (74, ["check", tmp_path / "missing"], "cannot read"),
        (74, ["compile", model, "--weights", tmp_path / "missing"], "cannot open"),
        (1, ["compile", model, "--weights", half], "does not fit m"),
        (1, ["compile", model, "--weights", half, "--checkpoint=s"], "unknown checkpoint source"),
        (74, ["compile", model, "-o", "/nowhere/x"], "cannot write"),
    ]
    for status, command, message in cases:
        result = hova(*command, "--diagnostics=json", cwd=tmp_path)
        assert result.returncode == status, result.stderr
        errors = [each for each in objects(result) if each["severity"] == "error"]
        assert any(message in each["message"] for each in errors), errors


def test_warnings_are_errors_on_demand(tmp_path):
    path = write(tmp_path / "m.json", json.dumps({**LINEAR, "parameters": {"k": 1}}))
    result = hova("check", path)
    assert result.returncode == 0 and b':1:' in result.stderr
    assert b'warning: parameter "k" is not used' in result.stderr
    result = hova("check", path, "--werror")
    assert result.returncode == 1 and b'error: parameter "k" is not used' in result.stderr
    [message] = objects(hova("check", path, "--diagnostics=json"))
    assert (message["severity"], message["pointer"]) == ("warning", "/parameters/k")


@pytest.mark.parametrize(
    "path", [*SOURCE.glob("examples/*/*.json"), *SOURCE.glob("test/golden/vectors/*/model.json")], ids=str
)
def test_descriptions_of_hova_have_no_warnings(path):
    result = hova("check", path, "--werror")
    assert result.returncode == 0, result.stderr.decode()


# Weights that do not fit.


def test_weights_say_what_is_wrong(model, tmp_path):
    def said(*entries, **options):
        file = tensors(tmp_path / "w.safetensors", *entries, **options)
        result = hova("compile", model, "--weights", file, "-o", tmp_path / "x")
        assert result.returncode == 1
        return result.stderr.decode()

    turned = said({**FITTING, "y.weight": ([3, 2],)})
    assert 'weight "y.weight" is [2, 3], but "y.weight" [3, 2] is in the file' in turned
    assert "it has the shape [out, in]" in turned
    nan = said({**FITTING, "y.bias": ([3], [1, float("nan"), 2])})
    assert 'w.safetensors: tensor "y.bias" has the value NaN at [1]' in nan
    infinite = said({**FITTING, "y.weight": ([2, 3], [0, 1, 2, 3, float("-inf"), 5])})
    assert 'tensor "y.weight" has the value infinity at [1, 1]' in infinite


def test_files_of_others_are_named(model, tmp_path):
    zipped = b"PK\3\4" + bytes(26) + b"archive/data.pkl"
    torch = write(tmp_path / "model.pt", zipped)
    result = hova("compile", model, "--weights", torch)
    assert result.returncode == 1
    assert b"model.pt: this is a PyTorch file, not a safetensors file; save its state_dict" in result.stderr
    result = hova("check", torch)
    assert result.returncode == 1 and b"this is a PyTorch file, not a description" in result.stderr
    nameless = hova("compile", model, "--weights", write(tmp_path / "model.bin", b"old"), "-o", tmp_path / "p")
    assert nameless.returncode == 1
    assert b"model.bin: this is by its name a PyTorch file, not a safetensors file" in nameless.stderr
    config = write(tmp_path / "config.json", b'{"architectures": ["BertModel"], "model_type": "bert"}')
    result = hova("check", model, "--weights", config)
    assert result.returncode == 1
    assert b"config.json: this is the configuration of a model of another library, not weights; the weights" in result.stderr
    result = hova("check", config)
    assert result.returncode == 1
    assert b"this is the configuration of a model of another library, not a description" in result.stderr
    index = write(tmp_path / "model.safetensors.index.json", b'{"weight_map": {}}')
    result = hova("check", index)
    assert result.returncode == 1
    assert b"this is the index of a sharded checkpoint, not a description" in result.stderr
    assert b"it is for --weights" in result.stderr
    ir = write(tmp_path / "dump.mlir", b"// fuse: kernels\n// command\n#loc1 = loc(\"m\":1:1)\nmodule {}\n")
    for verb in ("check", "summary"):
        result = hova(verb, ir)
        assert result.returncode == 1 and b"this is IR, not a description" in result.stderr
        assert b"hova compile, verify and explain read the IR that hova writes" in result.stderr
    wide = write(tmp_path / "wide.json", json.dumps(LINEAR).encode("utf-16"))
    result = hova("check", wide)
    assert result.returncode == 1 and b"this is UTF-16 text, not a description" in result.stderr


# Exit statuses.


def test_statuses_are_those_of_the_table(model, tmp_path):
    table = {
        0: [["check", model], ["--help"], ["summary", model], ["schema"]],
        1: [
            ["check", write(tmp_path / "bad.json", "[]")],
            ["compile", model, "--weights", write(tmp_path / "text", "text")],
            ["compile", model, "--weights", tensors(tmp_path / "other", {"a": ([1],)})],
            ["check", model, "--set", "k=1"],
        ],
        2: [[], ["compile"], ["nonsense"], ["check", model, "--cases=3"], ["check", ""],
            ["compile", model, "--weights="], ["weights", "pack", model, "-o", "x"]],
        71: [["compile", model, "-o", "x", "--max-memory=4MiB"]],
        74: [
            ["check", tmp_path / "missing.json"],
            ["check", tmp_path],
            ["compile", model, "--weights", tmp_path / "missing"],
            ["compile", model, "--weights", tmp_path / "missing.index.json"],
            ["compile", model, "-o", tmp_path / "missing/x"],
            ["compile", model, "-o", "x", "--dump-ir=/dev/null/x"],
            ["compile", model, "-o", "x", "--explain=/nowhere/x"],
            ["evaluate", model, "--input", tmp_path / "missing.npy", "--output-dir", tmp_path / "y"],
            ["weights", "pack", model, "--init=0", "-o", tmp_path / "missing/x"],
        ],
    }  # fmt: skip
    for status, commands in table.items():
        for command in commands:
            result = hova(*command, cwd=tmp_path)
            assert result.returncode == status, (command, result.stderr.decode())
