# ===- test_threads.py - Results do not depend on the number of threads --------=== #
# SPDX-License-Identifier: Apache-2.0
"""Every example on 1 to 64 threads, few processors or many: equal bits.

One layer in full width and length, so that kernels are divided; the other tests' sizes
are below the work that pays a barrier.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("HOVA_BUILD", SOURCE / "build"))
HOVA = BUILD / "bin/hova"

BOTH = ["horizontal=true", "vertical=true"]
CASES = {
    "01-digits/digits": [["batch=64"]],
    "02-crossed-towers/crossed_towers": [[]],
    "03-outlines/outlines": [["batch=32"]],
    "04-brackets/brackets": [["batch=32"]],
    "models/bert_base": [["depth=1", "vocab=500"]],
    "models/bigbird_base": [["depth=1", "vocab=500", "length=790"]],
    "models/lm": [["depth=1", "vocab=300", "attention=performer"], ["depth=2", "vocab=300", "attention=realformer"]],
    "models/lecture_mha": [["kind=additive"]],
    "models/minilm_l6": [["depth=1", "vocab=500", "batch=3"]],
    "models/lra": [
        ["length=150", "depth=2", "partition=2", "omni=performer"],
        ["length=150", "depth=2", "attention=linformer"],
        ["length=770", "depth=2", "attention=bigbird"],
    ],
    "models/omninet_b16": [["depth=2", "partition=2"]],
    "models/omninet_b32": [["depth=4", "partition=4", "width=192", "heads=3", "batch=2"]],
    "models/omninet_lm": [["depth=3", "partition=3", "vocab=300", "attend=performer"]],
    "models/omninet_mt": [["layers=2", "partition=2", "vocab=300", "width=256", "heads=4", "src_len=70", "tgt_len=70"]],
    "models/swin_t": [["depth=2", "width=48", *BOTH]],
    "models/m2": [["depth=1", "vocab=300"]],
    "models/swinv2_t": [["depth=2", "width=48", "heads=2", "window=16"]],
    "models/t2t_vit_14": [["depth=1", "image=112", *BOTH]],
    "models/tnt_s": [["depth=2", "image=96", "batch=2"]],
    "models/transformer_base": [["depth=1", "vocab=300"]],
    "models/vanilla_hv": [["depth=1", "vocab=300", *BOTH]],
    "models/vit_b16": [["depth=1"], ["depth=1", *BOTH]],
    "plugin/scaled": [[]],
    "models/vit_b32": [["depth=1", "batch=2"]],
}
THREADS = (1, 2, 3, 7, 16, 64)
# Pairs of bf16 have loops of their own.
BF16 = ("minilm_l6", "vit_b16")


def test_no_example_is_forgotten():
    names = {
        path.relative_to(SOURCE / "examples").with_suffix("").as_posix()
        for path in (SOURCE / "examples").rglob("*.json")
    }
    # What needs a plugin, test/tools/installed/test_operator_plugin.py and test_similarity_plugin.py run.
    of_plugins = {"sigmoid-attention/models/encoder", "distance-attention/models/neighbours"}
    assert names == {*CASES, *of_plugins}


def outputs(program, threads, folder):
    """The files that a run writes, by name."""
    command = [program, "--random-inputs", "1", "--threads", str(threads), "--output-dir", folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return {path.name: path.read_bytes() for path in folder.glob("*.npy")}


def compare_threads(model, settings, dtype, folder):
    program = folder / "program"
    options = [part for setting in settings for part in ("--set", setting)]
    command = [HOVA, "compile", model, *options, f"--dtype={dtype}", "--quiet", "-o", program]
    subprocess.run([str(part) for part in command], check=True)
    expected = outputs(program, 1, folder / "1")
    assert expected
    for threads in THREADS[1:]:
        assert outputs(program, threads, folder / str(threads)) == expected, f"{threads} threads"


@pytest.mark.parametrize(
    "name, settings, dtype",
    [
        pytest.param(name, case, dtype, id="-".join([Path(name).name, *case, dtype]))
        for name, cases in CASES.items()
        for case in cases
        for dtype in (["f32", "bf16"] if Path(name).name in BF16 else ["f32"])
    ],
)
def test_bits_are_those_of_one_thread(name, settings, dtype, tmp_path):
    compare_threads(SOURCE / f"examples/{name}.json", settings, dtype, tmp_path)


def test_values_between_stages_take_a_block_of_rows_a_thread(tmp_path):
    sizes = []
    for batch in (4, 8):  # 512 and 1024 rows, in blocks of 256
        program = tmp_path / "program"
        options = ["--set", "depth=1", "--set", "vocab=500", "--set", f"batch={batch}", "--quiet"]
        model = SOURCE / "examples/models/minilm_l6.json"
        subprocess.run([HOVA, "compile", model, *options, "-o", program], check=True)
        command = [program, "--describe", "--format=json"]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        sizes.append(json.loads(text))
    few, many = sizes
    assert many["arena_bytes"] == 2 * few["arena_bytes"]
    # One thread has as many rows of both, and more of the larger arena is free for them.
    assert 0 < many["scratch_bytes"] <= few["scratch_bytes"]
    # A row has no hidden values of the feed-forward layer: 1536 of them.
    assert few["arena_bytes"] < 512 * 4 * (3 * 384 + 1536)


@pytest.mark.parametrize("kernel", ["softmax", "relu", "exp"])
@pytest.mark.parametrize("settings", [["heads=1"], ["heads=3", "causal=true"]], ids="-".join)
def test_sums_over_keys_are_divided_too(kernel, settings, tmp_path):
    model = Path(__file__).parent / "Inputs/performer.json"
    settings = [*settings, f"kernel={kernel}", "tokens=3136"]
    compare_threads(model, settings, "f32", tmp_path)


@pytest.mark.parametrize("settings", [[], ["heads=3", "causal=true"]], ids="-".join)
def test_few_heads_are_divided_too(settings, tmp_path):
    model = Path(__file__).parent / "Inputs/few_heads.json"
    compare_threads(model, [*settings, "queries=1600", "keys=1600"], "f32", tmp_path)
