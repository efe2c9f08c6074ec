# ===- test_gates_of_gpu_kernels.py - Machine code of all models ------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""The kernels of every model of examples/models at its published size, batch 1 and 8, as ptxas assembles them for sm_80: no spill, no
local memory, two blocks or eight warps on a multiprocessor, and main loops within the limits of docs/rationale/gpu-main-loops.md.
Models that take horizontal and vertical attention have both once more. Nothing runs on a GPU."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test" / "codegen" / "cuda"))

import sass  # noqa: E402
import test_gates as quick  # noqa: E402

HOVA = Path(os.environ["HOVA_BUILD"]) / "bin" / "hova"
DESCRIPTIONS = sorted((ROOT / "examples" / "models").glob("*.json"))
HORIZONTAL, BOTH, BATCH = ("horizontal=true",), ("horizontal=true", "vertical=true"), ("batch=8",)
MODELS = [(path.stem, ()) for path in DESCRIPTIONS]
MODELS += [(path.stem, BOTH) for path in DESCRIPTIONS if '"horizontal": false' in path.read_text(encoding="utf-8")]
MODELS += [(path.stem, BATCH) for path in DESCRIPTIONS if '"batch": 1' in path.read_text(encoding="utf-8")]
MODELS += [("vit_b16", HORIZONTAL), *((model, BOTH + BATCH) for model in ("vit_b16", "m2", "swin_t", "t2t_vit_14"))]

# Cycles of shared memory over T for reads, and with copies, and other instructions for each HMMA, at most: of the block that
# a turn's reads show.
LARGE, MIDDLE, SMALL = (0.55, 0.80, 1.0), (0.80, 1.15, 1.5), (1.05, 1.55, 2.2)
MASKED = (0.60, 0.80, 5.2)  # attention, with masks or without
ATTENDING = ("attention", "omni")
# Others for each HMMA, where another limit holds, and why.
EXCEPTIONS = {
    # Heads of 32 columns have half the HMMA for as many scores.
    ("minilm_l6", "kernel_encoder_attn"): 2 * MASKED[2],
    # A turn is no box of keys but a head, of 6 columns and 16 keys: 8 HMMA.
    ("tnt_s", "kernel_encoder_inner_attn"): 22,
}
WITHOUT_LOOPS = {"lecture_mha"}  # whose products end after one turn

pytestmark = pytest.mark.skipif(bool(sass.missing()), reason=f"without {sass.missing()}: test/requirements.txt")


def explain(model, settings, dtype):
    command = [HOVA, "explain", ROOT / f"examples/models/{model}.json", f"--dtype={dtype}", "--target=cuda", *(f"--set={x}" for x in settings),
               f"--ptxas={sass.TOOLS / 'ptxas'}", "--format=json", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def limits(turn, attends):
    """None are as near to what the turn needs; an attention of large heads reads as little as a large product."""
    if turn["reads_per_t"] <= LARGE[0]:
        return MASKED if attends and turn["other_instructions_per_product"] > LARGE[2] else LARGE
    return MIDDLE if turn["reads_per_t"] <= MIDDLE[0] else SMALL


@pytest.mark.parametrize("dtype", ["bf16", "f16", "f32"])
@pytest.mark.parametrize("model, settings", MODELS, ids=lambda part: part if isinstance(part, str) else " ".join(part) or "as it is")
def test_kernels_of_a_model(model, settings, dtype):
    explained = explain(model, settings, dtype)
    attending = {name for site in explained["sites"] if site["kind"] in ATTENDING for name in site["kernels"]}
    large = {kernel["name"] for kernel in explained["kernels"] if "rows = 128, columns = 128," in kernel["schedule"]}
    wrong, loops = [], 0
    for kernel in explained["device"]["kernels"]:
        turn = kernel.get("main_loop")
        if kernel["spilled_bytes"] or kernel["local_bytes"]:
            wrong.append((kernel["name"], "spills", kernel["spilled_bytes"], kernel["local_bytes"]))
        is_large = large.intersection(kernel["launches"])
        if kernel["blocks"] < 2 and kernel["blocks"] * kernel["threads"] < 8 * 32 and not is_large:
            wrong.append((kernel["name"], "is alone", kernel["registers"], kernel["shared_bytes"]))
        if not turn:
            continue
        loops += 1
        reads, copies, others = limits(turn, attending.intersection(kernel["launches"]))
        others = max(others, EXCEPTIONS.get((model, kernel["name"]), 0))
        if turn["reads_per_t"] > reads or turn["reads_and_copies_per_t"] > copies or turn["other_instructions_per_product"] > others:
            wrong.append((kernel["name"], "takes too long a turn", turn))
    assert not wrong
    assert (loops > 0) == (dtype != "f32" and model not in WITHOUT_LOOPS)


@pytest.mark.parametrize("batch, dtype", [(8, "bf16"), (1, "f32")])
def test_the_whole_model_as_the_quick_tests_take_it(batch, dtype, tmp_path):
    quick.test_the_whole_model_as_it_is_compiled(batch, dtype, tmp_path)


@pytest.mark.parametrize("block", [(64, 64), (64, 128), (128, 64), (128, 128)])
@pytest.mark.parametrize("inner", [64, 192])
def test_short_products(inner, block, tmp_path):
    quick.test_short_products(inner, block, tmp_path)


@pytest.mark.parametrize("name, layers", [("forms_of_scores", 10), ("weights_of_all_kinds", 3)])
def test_scores_of_ones_own_in_f16(name, layers, tmp_path):
    quick.test_scores_of_ones_own(name, layers, "f16", tmp_path)
