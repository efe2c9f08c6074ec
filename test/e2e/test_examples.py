# ===- test_examples.py - Every example, compiled and verified -----------------=== #
# SPDX-License-Identifier: Apache-2.0
"""`hova verify` on every description in examples/, and the runs that they promise.

The big models are made shallow or narrow here, by parameters that keep every kind of
layer; the tests of test/peers run them in full depth against other implementations.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "test"))
from campaigns import share  # noqa: E402

BUILD = Path(os.environ.get("HOVA_BUILD", SOURCE / "build"))
HOVA = BUILD / "bin/hova"

BERT = ["depth=2", "length=19", "vocab=500", "batch=2"]
# Narrow, with heads as wide as ever: evaluating width 768 takes three times as long as
# compiling it. The inner product of a feed-forward layer still has several K blocks.
NARROW = ["width=192", "heads=3"]
LANGUAGE = ["depth=2", "length=113", "vocab=300", "batch=2", *NARROW]
CAPTION = ["depth=2", "vocab=300", "regions=13", "length=7", "batch=2", "width=96", "heads=2"]
LRA = ["depth=2", "partition=2", "length=83", "batch=1", "width=96", "heads=2"]
OMNI = [*LANGUAGE, "depth=3", "partition=3", "length=43"]
MT = ["layers=3", "partition=3", "vocab=300", "src_len=23", "tgt_len=17", "batch=2", "width=96", "heads=2"]
# Few heads of many tokens: threads divide queries, and sums over keys have several blocks.
BLOCKS = ["depth=1", "vocab=300", "length=401", "batch=1", "width=64", "heads=1"]
CHUNKS = ["depth=2", "partition=2", "length=230", "batch=1", "width=96", "heads=2", "task=listops", "attention=performer"]
VIT = ["depth=2", "batch=2", "classes=37", *NARROW]
SWIN = ["depth=2", "width=24", "batch=2", "classes=37"]
T2T = ["depth=2", "width=48", "heads=2", "token_width=24", "image=83", "classes=37"]
TNT = ["depth=2", "width=48", "heads=2", "image=48", "classes=37"]
TRANSLATION = ["depth=2", "vocab=300", "src_len=13", "tgt_len=11", "batch=2"]
BOTH = ["horizontal=true", "vertical=true"]

# The settings under which a description is verified, by its path in examples/.
CASES = {
    "01-digits/digits": [[], ["batch=3"]],
    "02-crossed-towers/crossed_towers": [[]],
    "03-outlines/outlines": [[], ["shifted=false"]],
    "04-brackets/brackets": [[], ["batch=3"]],
    "models/bert_base": [BERT, [*BERT, "pooler=false"]],
    "models/bigbird_base": [
        ["depth=1", "length=790", "vocab=500", "repeats=count", *NARROW],
        ["depth=1", "length=61", "vocab=500", "block_size=5", "batch=2", *NARROW],
        ["depth=1", "length=61", "vocab=500", "pooler=false", *NARROW],
    ],
    "models/lecture_mha": [[], ["kind=additive"]],
    "models/lm": [LANGUAGE, [*LANGUAGE, "attention=performer"], [*LANGUAGE, "depth=3", "attention=realformer"], [*LANGUAGE, "length=797", "attention=bigbird"], BLOCKS],
    "models/lra": [
        [*LRA, "task=text"],
        [*LRA, "task=retrieval", "omni=performer", "batch=2"],
        [*LRA, "task=listops", "attention=performer"],
        CHUNKS,
        [*LRA, "length=770", "attention=bigbird"],
        [*LRA, "task=text", "attention=linformer", "omni=linformer", "projected_tokens=5"],
    ],
    "models/m2": [CAPTION, [*CAPTION, "length=1", "slots=0", "batch=1"], CAPTION + BOTH],
    "models/minilm_l6": [BERT, [*BERT, "pooler=false"]],
    "models/omninet_b16": [[*VIT, "depth=4", "partition=4", "image=64"]],
    "models/omninet_b32": [[*VIT, "partition=1"], [*VIT, "depth=4", "partition=4", "pool=after_block", "image=96"]],
    "models/omninet_lm": [[*OMNI, "attend=performer"], [*OMNI, "causal=block", "pool=after_attention"], [*OMNI, "head_width=80"], [*OMNI, "length=397", "attend=bigbird", "batch=1"]],
    "models/omninet_mt": [
        [*MT, "attend=performer"],
        [*MT, "attend=bigbird", "src_len=411", "batch=1"],
        [*MT, "attend=linformer", "pool=after_attention", "projected_tokens=5"],
        [*MT, "layers=4", "partition=2", "batch=1"],
    ],
    "models/swin_t": [SWIN, [*SWIN, "image=128", "window=4", *BOTH]],
    "models/swinv2_t": [
        [*SWIN, "heads=2"],
        [*SWIN, "image=128", "window=4", "mask_value=-3"],
        [*SWIN, "heads=1", "window=16"],
    ],
    "models/t2t_vit_14": [T2T, [*T2T, "batch=2", *BOTH]],
    "models/tnt_s": [TNT, [*TNT, "variant=v1", "stem=image_conv", "batch=2"], [*TNT, "stem=linear", "word_width=17", "word_heads=1"]],
    "models/transformer_base": [TRANSLATION],
    "models/vanilla_hv": [TRANSLATION, TRANSLATION + BOTH],
    "models/vit_b16": [VIT, ["depth=2", "batch=2", "classes=0", *NARROW], VIT + BOTH, [*VIT, "classifier=gap", "pre_logits=true"]],
    "plugin/scaled": [[]],
    "models/vit_b32": [VIT],
}
# Of two values for one parameter the last holds; a command takes one.
CASES = {
    name: [[*map("=".join, dict(part.split("=") for part in case).items())] for case in cases]
    for name, cases in CASES.items()
}


# Those that are verified with storage of 16 bits too: every kind of layer, small.
STORED = ("digits", "crossed_towers", "outlines", "brackets", "lecture_mha", "lm", "m2", "minilm_l6", "tnt_s", "vanilla_hv")

# bf16 differs by level: an instruction for pairs, 512 bits without it, 256 bits.
RUNS = [
    ("f32", "native"),
    ("bf16", "native"),
    ("bf16", "x86-64-v4"),
    ("bf16", "x86-64-v3"),
    ("f16", "native"),
    ("f16", "x86-64-v3"),
]


def runs_of(name, case):
    """f32; for a stored one, storage of 16 bits too: once, and for its first settings on two
    more levels, in turn. So each run has several kinds of layers.
    """
    if Path(name).name not in STORED:
        return RUNS[:1]
    if case != CASES[name][0]:
        return RUNS[:2]
    others, turn = RUNS[2:], 2 * STORED.index(Path(name).name)
    return RUNS[:2] + [others[(turn + i) % len(others)] for i in range(2)]


def run(*command):
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_no_example_is_forgotten():
    names = {
        path.relative_to(SOURCE / "examples").with_suffix("").as_posix()
        for path in (SOURCE / "examples").rglob("*.json")
    }
    # What needs a plugin, test/tools/installed/test_operator_plugin.py and test_similarity_plugin.py run.
    of_plugins = {"sigmoid-attention/models/encoder", "distance-attention/models/neighbours"}
    assert names == {*CASES, *of_plugins}


def needs(level):
    """Skips where this machine does not run an ISA level."""
    flags = Path("/proc/cpuinfo").read_text()
    if level == "x86-64-v4" and "avx512bw" not in flags:
        pytest.skip(f"this processor has no AVX-512, which {level} needs")


VERIFIED = [
    pytest.param(name, case, *run, id="-".join([Path(name).name, *case, *run]))
    for name, cases in CASES.items()
    for case in cases
    for run in runs_of(name, case)
]
IN_F32 = [one for one in VERIFIED if one.values[2] == "f32"]


# Every case in f32, and half of those in 16 bits.
@pytest.mark.parametrize("name, settings, dtype, level", IN_F32 + share([one for one in VERIFIED if one not in IN_F32], of=2))
def test_example_is_verified(name, settings, dtype, level):
    needs(level)
    options = [part for setting in settings for part in ("--set", setting)]
    weights = SOURCE / "examples" / Path(name).parent / "weights.safetensors"
    if weights.exists():
        options += ["--weights", weights]
    options += [f"--dtype={dtype}", f"--march={level}"]
    # Large models would copy their weights for nothing: they have the same kernels.
    options += ["--guard"] if Path(name).name in STORED else []
    said = run(HOVA, "verify", SOURCE / f"examples/{name}.json", *options)
    assert "within the numeric policy" in said
