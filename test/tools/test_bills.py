# ===- test_bills.py - What programs say of their making --------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Every program carries a bill, and `hova compile --reproduce` makes its bytes again from it."""

import hashlib
import json
import os
import shutil
import subprocess
import zlib
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]
HOVA = Path(os.environ["HOVA_BUILD"]) / "bin/hova"
OBJCOPY = Path(os.environ["HOVA_LLVM"]) / "bin/llvm-objcopy"
DIGITS = SOURCE / "examples/01-digits"
WEIGHTS = DIGITS / "weights.safetensors"
MHA = SOURCE / "examples/models/lecture_mha.json"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def hova(*words, status=0, program=HOVA):
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    return done.stdout + done.stderr


def compile_digits(output, *options):
    hova("compile", DIGITS / "digits.json", "--weights", WEIGHTS, "--set", "batch=2", *options, "-o", output)


def section(program):
    """The three parts of the section, read without hova."""
    subprocess.run([OBJCOPY, f"--dump-section=.hova_bill={program}.bill", program, "/dev/null"], check=True)
    text, bill, packed = Path(f"{program}.bill").read_bytes().split(b"\0", 2)
    return text.decode(), json.loads(bill), packed


def sha256(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def test_the_bill_says_what_the_program_was_made_from():
    compile_digits("digits", "--strict")
    text, bill, packed = section("digits")
    assert zlib.decompress(packed) == (DIGITS / "digits.json").read_bytes()
    assert bill["description"] == {"file": "digits.json", "sha256": sha256(DIGITS / "digits.json")}
    assert bill["weights"] == [{"file": "weights.safetensors", "sha256": sha256(WEIGHTS)}]
    assert bill["options"] == ["--march=native", "--dtype=f32", "--set=batch=2", "--strict", "--emit=exe", "-O2"]
    assert bill["compiler"] == hova("--version").splitlines()[0]
    explained = json.loads(hova("explain", DIGITS / "digits.json", "--set", "batch=2", "--strict", "--format=json"))
    for verdict, site in zip(bill["verdicts"], explained["sites"], strict=True):
        assert all(site[key] == value for key, value in verdict.items())
    # Its own --describe says the same.
    described = hova("--describe", program="./digits")
    assert described.endswith("\n\n" + text) and f"SHA-256 {sha256(WEIGHTS)}" in text
    fused = sum(site["fused"] for site in explained["sites"])
    assert f"{fused} of {len(explained['sites'])} sites are fused" in text and "not fused   omni: " in text
    assert json.loads(hova("--describe", "--format=json", program="./digits"))["bill"] == bill


def test_names_in_a_bill_are_shown_inert():
    name = "a\033[31m\u202e\n.json"
    shutil.copy(MHA, name)
    hova("compile", name, "-o", "program")
    text, bill, _ = section("program")
    assert bill["description"]["file"] == name
    assert "\033" not in text and "\u202e" not in text and text.isascii()
    assert "\033" not in hova("--describe", "--format=json", program="./program")


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--march=x86-64-v3,x86-64-v4", "-O1", "--init", "7"],
        ["--emit=lib", "--dtype=bf16", "--weights-mode=file"],
        ["--emit=obj", "--without=hova-normalize-projections", "--set", "queries=3"],
        ["--target=cuda-emulated"],
        ["--target=cpu", "--emit=lib"],
        ["--target=cuda,cpu", "--ptxas=none", "--dtype=bf16", "--march=x86-64-v3"],
    ],
    ids=lambda options: " ".join(options) or "default",
)
def test_a_program_is_made_again(folder, options):
    suffix = ".so" if "--emit=lib" in options else ""
    hova("compile", MHA, *options, "-o", "first" + suffix)
    said = hova("compile", "--reproduce", "first" + suffix, "-o", "again" + suffix)
    assert f"again{suffix} has the same bytes as first{suffix}" in said
    assert (folder / f"first{suffix}").read_bytes() == (folder / f"again{suffix}").read_bytes()
    if "--weights-mode=file" in options:
        assert (folder / "first.so.weights").read_bytes() == (folder / "again.so.weights").read_bytes()


def test_weights_are_given_again_and_compared(folder):
    compile_digits("digits")
    said = hova("compile", "--reproduce", "digits", "-o", "again", status=2)
    assert "digits was made with the weights of 'weights.safetensors': give them with '--weights'" in said
    other = bytearray(WEIGHTS.read_bytes())
    other[-1] ^= 1
    (folder / "other.safetensors").write_bytes(other)
    said = hova("compile", "--reproduce", "digits", "--weights", "other.safetensors", "-o", "again", status=1)
    assert f"with SHA-256 {sha256(WEIGHTS)}" in said and f"with SHA-256 {sha256('other.safetensors')}" in said
    assert not (folder / "again").exists()
    shutil.copy(WEIGHTS, "renamed")
    assert "has the same bytes" in hova("compile", "--reproduce", "digits", "--weights", "renamed", "-o", "again")


def test_shards_are_compared(folder):
    header, _, data = WEIGHTS.read_bytes().partition(b"}}")
    assert header and data
    shutil.copy(WEIGHTS, "shard.safetensors")
    names = [name for name in json.loads(header[8:] + b"}}") if name != "__metadata__"]
    (folder / "index.json").write_text(json.dumps({"weight_map": dict.fromkeys(names, "shard.safetensors")}))
    hova("compile", DIGITS / "digits.json", "--weights", "index.json", "-o", "digits")
    assert section("digits")[1]["weights"] == [{"file": "shard.safetensors", "sha256": sha256(WEIGHTS)}]
    hova("compile", "--reproduce", "digits", "--weights", "index.json", "-o", "again")


def test_a_description_may_be_given_and_is_compared():
    hova("compile", MHA, "-o", "program")
    shutil.copy(MHA, "renamed.json")
    assert "the same bytes" in hova("compile", "renamed.json", "--reproduce", "program", "-o", "again")
    said = hova("compile", DIGITS / "digits.json", "--reproduce", "program", "-o", "again", status=1)
    assert f"program was made from 'lecture_mha.json' with SHA-256 {sha256(MHA)}" in said
    said = hova("compile", "-", "--reproduce", "program", "-o", "again", status=2)
    assert "program carries its own" in said


def test_a_dump_is_given_again():
    hova("compile", MHA, "--dump-ir=dumps", "-o", "program")
    hova("compile", "dumps/03-fuse.mlir", "-o", "resumed")
    said = hova("compile", "--reproduce", "resumed", "-o", "again", status=2)
    assert f"made from the IR dump '03-fuse.mlir' with SHA-256 {sha256('dumps/03-fuse.mlir')}: give that as MODEL" in said
    assert "the same bytes" in hova("compile", "dumps/03-fuse.mlir", "--reproduce", "resumed", "-o", "again")
    assert "03-fuse.mlir" in hova("compile", "dumps/02-normalize.mlir", "--reproduce", "resumed", "-o", "again", status=1)


def test_options_are_those_of_the_program():
    hova("compile", MHA, "-o", "program")
    for option, was in (("--dtype=bf16", "f32"), ("-O3", "2"), ("--emit=lib", "exe"), ("--march=x86-64-v3", "native")):
        said = hova("compile", "--reproduce", "program", "-o", "again", option, status=2)
        assert f"cannot change in program, which was made with '{was}'" in said
    assert "takes no --weights" in hova("compile", "--reproduce", "program", "--weights", WEIGHTS, status=2)
    hova("compile", "--reproduce", "program", "-o", "again", "--dtype=f32", "--explain", "--quiet")


def test_the_output_is_not_the_program(folder):
    hova("compile", MHA, "-o", "lecture_mha")
    before = (folder / "lecture_mha").read_bytes()
    assert "it is the same file as 'lecture_mha' (--reproduce)" in hova("compile", "--reproduce", "lecture_mha", status=2)
    assert (folder / "lecture_mha").read_bytes() == before
    (folder / "lecture_mha").rename("old")
    hova("compile", "--reproduce", "old")
    assert (folder / "lecture_mha").read_bytes() == before


@pytest.mark.parametrize(
    ("path", "message", "status"),
    [
        ("missing", "'missing': No such file or directory", 74),
        (MHA, "it is no program of hova", 1),
        (HOVA, "it has no section '.hova_bill'", 1),
        ("/dev/null", "it is no regular file", 1),
        ("/dev/zero", "it is no regular file", 1),
    ],
)
def test_what_is_no_program_is_told(path, message, status):
    assert message in hova("compile", "--reproduce", path, "-o", "again", status=status)


def test_what_has_no_end_is_not_read(folder):
    hova("compile", MHA, "-o", "program")
    os.mkfifo("fifo")
    for path in ("/dev/zero", "fifo"):
        assert "it is no regular file" in hova("compile", path, "--reproduce", "program", "-o", "again", status=1)
        said = hova("compile", "--reproduce", "program", "-o", path, status=2)
        assert f"so it writes a regular file, which '{path}' is not" in said


def change(program, old, new):
    """Another bill of the same length in the program."""
    contents = Path(program).read_bytes()
    assert len(old) == len(new) and contents.count(old) >= 1
    Path("changed").write_bytes(contents.replace(old, new))
    return hova("compile", "--reproduce", "changed", "-o", "again", status=1)


def test_a_changed_bill_loads_and_overwrites_nothing(folder):
    hova("compile", MHA, "-o", "program")
    version = hova("--version").splitlines()[0].encode()
    assert "other versions make other programs" in change("program", version, version.replace(b"hova 0", b"hova 9"))
    assert "must not: '--pass-plugin=a.so'" in change("program", b'"--march=native","--dtype=f32"', b'"--pass-plugin=a.so","-O2"    ')
    hashed = sha256(MHA).encode()
    assert "not the one whose hash it has" in change("program", hashed, hashed[::-1])
    assert "its bill is no JSON" in change("program", b'{"compiler"', b'["compiler"')
    deep = b'{"compiler"' + b"[" * 100
    contents = (folder / "program").read_bytes()
    start = contents.index(deep[:11])
    assert "nested 101 deep, and at most 64 are read" in change("program", contents[start : start + len(deep)], deep)
    start = contents.index(section("program")[2])
    contents = bytearray((folder / "program").read_bytes())
    contents[start + 20] ^= 0xFF
    Path("changed").write_bytes(contents)
    assert "its description" in hova("compile", "--reproduce", "changed", "-o", "again", status=1)
    assert not (folder / "again").exists()


def test_a_program_that_was_changed_elsewhere_differs(folder):
    hova("compile", MHA, "-o", "program")
    with open("program", "ab") as program:
        program.write(b"x")
    said = hova("compile", "--reproduce", "program", "-o", "again", status=3)
    assert "again differs from program from byte" in said and (folder / "again").exists()
