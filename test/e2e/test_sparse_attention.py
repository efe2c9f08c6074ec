# ===- test_sparse_attention.py - What attention to blocks promises -----------=== #
# SPDX-License-Identifier: Apache-2.0
"""BigBird: no token sees the future, no value has as many elements as pairs of tokens, a
program computes what is seen and nothing else, and tables say what is wrong with them.

That bits do not depend on threads is in test_threads.py, numbers are in test_golden.py.
"""

import json
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("HOVA_BUILD", SOURCE / "build"))
HOVA = BUILD / "bin/hova"
MODEL = Path(__file__).parent / "Inputs/bigbird.json"
WIDTH = 24


def call(*command):
    return subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False
    )


def hova(verb, *arguments, model=MODEL, **settings):
    options = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
    done = call(HOVA, verb, model, *arguments, *options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def run(program, folder, x, *options):
    folder.mkdir(exist_ok=True)
    np.save(folder / "x.npy", x)
    done = call(program, "--input", f"x={folder / 'x.npy'}", "--output", f"y={folder / 'y.npy'}",
                *options)
    assert done.returncode == 0, done.stderr
    return np.load(folder / "y.npy")


def draw(tokens, batch=1):
    return np.random.default_rng(5).standard_normal((batch, tokens, WIDTH)).astype(np.float32)


def weights_with(file, table):
    """Weights of the model, with the table unless that is None."""
    random = np.random.default_rng(7)
    weights = {
        f"attn.{part}.weight": random.standard_normal((WIDTH, WIDTH)).astype(np.float32)
        for part in ("query", "key", "value", "output")
    }
    if table is not None:
        weights["attn.random_table"] = table
    save_file(weights, file)
    return file


def valid_table(blocks, heads=2, count=2):
    """The first blocks that a row may have."""
    rows = []
    for row in range(1, blocks - 1):
        free = [b for b in range(1, blocks - 1) if abs(b - row) > 1]
        rows.append(free[:count])
    return np.array([rows] * heads, dtype=np.float32)


def test_no_token_sees_the_future(tmp_path):
    program = tmp_path / "program"
    hova("compile", "-o", program, causal="true")
    before = draw(300)
    plain = run(program, tmp_path / "plain", before)
    # The first and the last token of a block, inside of one, and the first of all.
    for token in (1, 15, 16, 17, 143, 144, 287, 288, 299):
        after = before.copy()
        after[:, token:] *= -3
        changed = run(program, tmp_path / str(token), after)
        assert changed[:, :token].tobytes() == plain[:, :token].tobytes(), token
        assert (changed[:, token:] != plain[:, token:]).any(axis=-1).all(), token


@pytest.mark.parametrize("causal", ["false", "true"])
def test_few_blocks_are_attention(causal, tmp_path):
    """Where random blocks have no place; a table of all blocks is in golden/test_vectors.py."""
    x = draw(40)
    file = weights_with(tmp_path / "w.safetensors", None)
    dense = tmp_path / "dense"
    hova("compile", "-o", dense, "--weights", file, kind="softmax", tokens=40, causal=causal)
    wanted = run(dense, tmp_path / "wanted", x)
    few = tmp_path / "few"
    hova("compile", "-o", few, "--weights", file, tokens=40, block=5, causal=causal)
    assert run(few, tmp_path / "got", x).tobytes() == wanted.tobytes()


@pytest.mark.parametrize("causal", ["false", "true"])
def test_pairs_of_tokens_never_exist(causal, tmp_path):
    arena, scratch = [], []
    for tokens in (1000, 2000, 4000):
        folder = tmp_path / str(tokens)
        hova("compile", "-o", tmp_path / "program", f"--dump-ir={folder}", tokens=tokens,
             causal=causal)
        for dump in folder.glob("*.mlir"):
            for shape in re.findall(r"(?:tensor|memref|vector)<([0-9x]+)x", dump.read_text()):
                sizes = [int(size) for size in shape.split("x")]
                assert sizes.count(tokens) <= 1, (dump.name, shape)
        text = call(tmp_path / "program", "--describe").stdout
        arena.append(int(re.search(r"arena +(\d+)", text)[1]))
        scratch.append(int(re.search(r"scratch +(\d+)", text)[1]))
    # Twice the tokens, twice the memory, of a thread too, which packs the keys of a head.
    for bytes_ in (arena, scratch):
        assert bytes_[1] < 2.1 * bytes_[0] and bytes_[2] < 2.1 * bytes_[1]


def test_blocks_that_nobody_sees_are_not_computed(tmp_path):
    counts = {}
    for causal in ("false", "true"):
        hova("compile", "-o", tmp_path / "program", causal=causal)
        report = tmp_path / f"{causal}.json"
        done = call(tmp_path / "program", "--random-inputs", "1", "--benchmark", "--repetitions",
                    "1", "--benchmark-out", report)
        assert done.returncode == 0, done.stderr
        counts[causal] = json.loads(report.read_text())
    tokens, size, blocks, last = 300, 16, 19, 12
    length = [size] * (blocks - 1) + [last]

    def pairs(causal):
        total = 0
        for row in range(blocks):
            ends = row in (0, blocks - 1)
            near = range(blocks) if ends else {0, row - 1, row, row + 1, blocks - 1}
            seen = sum(length[b] for b in near if not causal or b <= row)
            drawn = min(2, max(row - 2, 0)) if causal else 2
            total += length[row] * (seen + (0 if ends else drawn * size))
        return total

    linear = 4 * tokens * WIDTH * WIDTH
    for causal in ("false", "true"):
        executed = counts[causal]["flops_executed"]
        assert executed == 2 * (linear + 2 * WIDTH * pairs(causal == "true")), causal
    # The count of a description is that of whole blocks, whoever sees them.
    whole = size * size * (2 * blocks + 2 * (4 + 2) + (blocks - 4) * (5 + 2))
    assert counts["false"]["flops"] == counts["true"]["flops"] == 2 * (linear + 2 * WIDTH * whole)


@pytest.mark.parametrize("level", ["x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize(
    "dtype, settings",
    [
        ("f32", {"tokens": 213, "block": 7}),
        ("f32", {"tokens": 600, "block": 70, "random": 1, "causal": "true"}),
        ("bf16", {"tokens": 213, "block": 7, "causal": "true"}),
        ("f16", {"tokens": 600, "block": 70, "random": 1}),
    ],
)
def test_every_level_verifies(dtype, settings, level):
    options = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
    options += [f"--dtype={dtype}", f"--march={level}", "--cases=2", "--guard"]
    done = call(HOVA, "verify", MODEL, *options)
    if "needs a processor of level" in done.stderr:
        pytest.skip(f"this machine does not run {level}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "verified" in done.stdout


def test_scores_of_any_size_have_a_softmax(tmp_path):
    """Scores of some 1e38 besides small ones: shares are 0 or 1, and no row is lost."""
    program = tmp_path / "program"
    file = weights_with(tmp_path / "w.safetensors", valid_table(19))
    hova("compile", "-o", program, "--weights", file)
    x = draw(300)
    x[0, 40:200] *= 2e17
    got = run(program, tmp_path / "run", x)
    np.save(tmp_path / "x.npy", x)
    hova("evaluate", "--weights", file, "--input", tmp_path / "x.npy", "--output-dir",
         tmp_path / "exact")
    wanted = np.load(tmp_path / "exact/y.npy")
    assert np.isfinite(got).all()
    scale = np.abs(wanted).max(axis=-1, keepdims=True)
    # Two scores of 1e36 may be nearer than f32 can tell.
    same = np.abs(got - wanted) <= 1e-3 * scale
    assert same.all(axis=-1).mean() > 0.95


def test_a_table_of_integers_is_one_of_floats(tmp_path):
    x, table, results = draw(300), valid_table(19), []
    for dtype in (np.float32, np.int64, np.int32):
        file = weights_with(tmp_path / "w.safetensors", table.astype(dtype))
        hova("compile", "-o", tmp_path / "program", "--weights", file)
        results.append(run(tmp_path / "program", tmp_path / "run", x).tobytes())
    assert results[0] == results[1] == results[2]


def test_unused_entries_are_not_seen(tmp_path):
    """A block that no row has changes what the first and last block see alone."""
    table = np.full((2, 17, 2), -1.0, dtype=np.float32)
    file = weights_with(tmp_path / "w.safetensors", table)
    hova("compile", "-o", tmp_path / "program", "--weights", file)
    before = draw(300)
    after = before.copy()
    after[0, 9 * 16 : 10 * 16] *= -2
    changed = (
        run(tmp_path / "program", tmp_path / "a", before)
        != run(tmp_path / "program", tmp_path / "b", after)
    ).any(axis=-1)[0]
    seen = [changed[row * 16 : (row + 1) * 16].all() for row in range(19)]
    assert [row for row in range(19) if seen[row]] == [0, 8, 9, 10, 18]
    assert not changed[16 : 8 * 16].any() and not changed[11 * 16 : 18 * 16].any()


def test_repeats_are_counted(tmp_path):
    """As in public implementations: a table of zeros counts block 0 once more per entry."""
    file = weights_with(tmp_path / "w.safetensors", np.zeros((2, 17, 2), dtype=np.float32))
    out = hova("verify", "--weights", file, repeats="count")
    assert "verified" in out
    drawn = hova("verify", repeats="count")
    assert "verified" in drawn


@pytest.mark.parametrize(
    "place, value, message",
    [
        ((0, 0, 1), 0.5, "expected the number of a block, 0 to 18, or -1 for none"),
        ((1, 16, 0), 19, "expected the number of a block, 0 to 18, or -1 for none"),
        ((1, 3, 1), -2, "expected the number of a block, 0 to 18, or -1 for none"),
        ((0, 4, 0), 18, "query block 5 sees this block already"),
        ((0, 4, 1), 6, "query block 5 sees this block already"),
        ((1, 9, 1), 1, "this block is in the row already"),
    ],
)
def test_wrong_tables_are_rejected(place, value, message, tmp_path):
    table = valid_table(19)
    table[place] = value
    file = weights_with(tmp_path / "w.safetensors", table)
    done = call(HOVA, "compile", MODEL, "-o", tmp_path / "program", "--weights", file)
    assert done.returncode == 1, done.stderr
    index = ", ".join(str(i) for i in place)
    assert f'weight "attn.random_table" has {value:g} at [{index}]: {message}' in done.stderr
    assert not (tmp_path / "program").exists()
