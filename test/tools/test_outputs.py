# ===- test_outputs.py - The files that hova writes ---------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""No output of hova replaces what is read, and none is lost in part; faults of files have status 74."""

import json
import math
import os
import re
import resource
import shutil
import signal
import stat
import subprocess
import threading
from pathlib import Path

import pytest

HOVA = Path(os.environ["HOVA_BUILD"]) / "bin/hova"
MODEL = Path(__file__).resolve().parents[2] / "examples/models/lecture_mha.json"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    shutil.copy(MODEL, tmp_path / "m.json")
    shutil.copy(MODEL, tmp_path / "noext")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def hova(*arguments, **options):
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.run([HOVA, *arguments], text=True, check=False, **options)


def compile_model(*arguments, **options):
    return hova("compile", "m.json", *arguments, **options)


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def write_zeros(path, model, *arguments):
    """Weights of a model, all zero; returns the names of its tensors and the bytes of the header."""
    tensors = json.loads(hova("summary", model, "--format=json", *arguments).stdout)["parameters"]["tensors"]
    header, end = {}, 0
    for tensor in tensors:
        begin, end = end, end + 4 * math.prod(tensor["shape"])
        header[tensor["name"]] = {"dtype": "F32", "shape": tensor["shape"], "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.truncate(8 + len(text) + end)
    return list(header), 8 + len(text)


def limit(size):
    """For a child: the size that no file may pass."""

    def apply():
        # Python ignores the signal, and programs inherit that.
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return apply


SAME = "it is the same file as"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["compile", "m.json", "-o", "m.json"], f"'m.json' (-o): {SAME} 'm.json' (the description)"),
        (["compile", "m.json", "-o", "soft"], f"'soft' (-o): {SAME} 'm.json' (the description)"),
        (["compile", "noext"], f"'noext' (the output, as there is no -o): {SAME} 'noext' (the description)"),
        (["compile", "m.json", "-o", "x", "--explain=m.json"], "(--explain)"),
        (["compile", "m.json", "-o", "x", "--time-trace=hard"], f"'hard' (--time-trace): {SAME} 'm.json'"),
        (["compile", "m.json", "-o", "x", "--explain=./x"], f"'./x' (--explain): {SAME} 'x' (-o)"),
        (["compile", "m.json", "-o", "w", "--weights=w"], f"'w' (-o): {SAME} 'w' (--weights)"),
        (["compile", "m.json", "-o", "x", "--weights-mode=file", "--weights=x.weights"], "'x.weights' (-o)"),
        (["compile", "m.json", "-o", "x", "--emit=lib", "--explain=x.h"], f"'x.h' (--explain): {SAME} 'x.h' (-o)"),
        (["compile", "m.json", "-o", "m.json", "--emit=mlir", "--stop-after=fuse"], "(the description)"),
        (["compile", "m.json", "-o", "d/02-normalize.mlir", "--dump-ir=d"], "(--dump-ir)"),
        (["compile", "d/01-import.mlir", "-o", "x", "--dump-ir=d"], "(the description)"),
        (["weights", "pack", "m.json", "-o", "w", "--weights=w"], f"'w' (-o): {SAME} 'w' (--weights)"),
        (["verify", "m.json", "--time-trace=m.json"], "(the description)"),
    ],
)
def test_an_output_is_no_other_file(folder, arguments, message):
    os.symlink("m.json", "soft")
    os.link("m.json", "hard")
    (folder / "w").write_bytes(b"weights")
    (folder / "x.weights").write_bytes(b"weights")
    (folder / "d").mkdir()
    compile_model("--emit=mlir", "--stop-after=import", "-o", "d/01-import.mlir")
    before = contents(folder)
    result = hova(*arguments)
    assert (result.returncode, message in result.stderr) == (2, True), result.stderr
    assert contents(folder) == before and result.stderr.count("\n") == 1


def test_a_shard_is_not_replaced(folder):
    names, _ = write_zeros("shard.safetensors", "m.json")
    (folder / "index.json").write_text(json.dumps({"weight_map": dict.fromkeys(names, "shard.safetensors")}))
    result = compile_model("--weights=index.json", "-o", "shard.safetensors")
    assert (result.returncode, "(of --weights)" in result.stderr) == (2, True), result.stderr
    assert compile_model("--weights=index.json", "-o", "x").returncode == 0


@pytest.mark.parametrize("option", ["-o=none/x", "--explain=none/x", "--time-trace=.", "--dump-ir=m.json", "--dump-ir=m.json/x"])
def test_what_cannot_be_written_is_told_before_the_description_is_read(folder, option):
    (folder / "m.json").write_text("no description")
    before = contents(folder)
    result = compile_model(*(option.split("=") if option.startswith("-o") else ["-o", "x", option]))
    assert result.returncode == 74 and result.stderr.startswith("hova: error: cannot write '")
    assert contents(folder) == before


@pytest.mark.parametrize("option", ["-o=fifo", "--explain=fifo", "--time-trace=fifo"])
def test_a_fifo_is_written_through(folder, option):
    os.mkfifo("fifo")
    read = []
    reader = threading.Thread(target=lambda: read.append(Path("fifo").read_bytes()))
    reader.start()
    result = compile_model(*(option.split("=") if option.startswith("-o") else ["-o", "x", option]))
    reader.join()
    assert result.returncode == 0 and len(read[0]) > 50 and stat.S_ISFIFO(os.stat("fifo").st_mode)


def test_the_target_of_a_link_is_replaced_and_keeps_its_mode(folder):
    (folder / "target").write_text("old")
    (folder / "target").chmod(0o640)
    os.symlink("target", "link")
    assert compile_model("-o", "link").returncode == 0
    assert (folder / "link").is_symlink() and stat.S_IMODE(os.stat("target").st_mode) == 0o750
    assert subprocess.run(["./target", "--describe"], check=False, stdout=subprocess.DEVNULL).returncode == 0


def test_program_and_weights_are_replaced_together_or_not(folder):
    assert compile_model("-o", "x", "--weights-mode=file").returncode == 0
    before = contents(folder)

    # More than the program, less than its weights.
    larger = MODEL.with_name("minilm_l6.json")
    result = hova("compile", larger, "--set", "length=8", "-o", "x", "--weights-mode=file", preexec_fn=limit(8 << 20))
    assert result.returncode == 74 and "cannot write 'x.weights': File too large" in result.stderr
    assert contents(folder) == before


@pytest.mark.parametrize("kib", [0, 1, 20])
def test_a_limit_of_file_sizes_is_an_error_of_output(folder, kib):
    result = compile_model("-o", "x", preexec_fn=limit(kib << 10))
    assert result.returncode == 74 and "File too large" in result.stderr
    assert "internal" not in result.stderr and not (folder / "x").exists()


def test_weights_larger_than_the_disk_are_refused_with_both_figures(folder):
    """The limit of one value is 64 Gi elements: as many tables as it takes."""
    table_mib = 60_000_000 * 1024 * 4 >> 20
    tables = shutil.disk_usage(folder).free // (table_mib << 20) + 1
    description = {
        "hova": 1,
        "name": "large",
        "inputs": {"ids": {"shape": [1, 1], "dtype": "i32"}},
        "layers": [
            {"name": f"table{i}", "op": "embedding", "input": "ids", "vocab": 60_000_000, "width": 1024}
            for i in range(tables)
        ],
        "outputs": {f"y{i}": f"table{i}" for i in range(tables)},
    }
    (folder / "large.json").write_text(json.dumps(description))
    before = contents(folder)
    # Whoever began to write them would stop here.
    result = hova("compile", "large.json", "-o", "x", preexec_fn=limit(1 << 20))
    assert result.returncode == 74
    figures = re.search(r"cannot write 'x': its weights take (\d+) MiB and (\d+) MiB are free there", result.stderr)
    assert figures and int(figures[1]) == pytest.approx(tables * table_mib, abs=2)
    assert 0 < int(figures[2]) < int(figures[1])
    assert contents(folder) == before


@pytest.mark.parametrize("closed", [0, 1, 2])
def test_a_closed_standard_file_does_not_matter(folder, closed):
    assert compile_model("-o", "x").returncode == 0
    result = subprocess.run(["sh", "-c", f'exec "$0" compile m.json -o y {closed}>&-', HOVA], check=False, capture_output=True)
    assert result.returncode == 0 and (folder / "x").read_bytes() == (folder / "y").read_bytes()


def test_text_for_a_reader_that_leaves_early_leaves_nothing(folder):
    (folder / "tmp").mkdir()
    environment = {**os.environ, "TMPDIR": str(folder / "tmp")}
    for command in ("compile m.json --emit=asm", "compile m.json --emit=mlir", "verify m.json --cases=1"):
        result = subprocess.run(["bash", "-c", f"set -o pipefail; '{HOVA}' {command} | head -n 1"], env=environment, capture_output=True, check=False)
        assert result.stdout.count(b"\n") == 1 and result.returncode in (0, 141)
    assert os.listdir(folder / "tmp") == []


def test_messages_that_cannot_be_written_change_no_status(folder):
    with open("/dev/full", "w") as full:
        assert hova("check", "m.json", stderr=full).returncode == 0
        assert compile_model("-o", "x", stderr=full).returncode == 0
        assert compile_model("-o", "none/x", stderr=full).returncode == 74
        assert hova("check", "m.json", "--nonsense", stderr=full).returncode == 2


def test_weights_that_are_cut_off_while_compiling_are_named(folder):
    model, length = MODEL.with_name("minilm_l6.json"), ["--set", "length=8"]
    _, header = write_zeros("w", model, *length)
    command = [HOVA, "compile", model, *length, "--weights=w", "-o", "x"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        while str(folder / "w") not in Path(f"/proc/{process.pid}/maps").read_text():
            assert process.poll() is None
        os.truncate("w", header)
        stderr = process.communicate()[1]
    assert process.returncode == 74 and f"hova: error: cannot read '{folder}/w': it was cut off" in stderr
    assert sorted(os.listdir(folder)) == ["m.json", "noext", "w"]
