# ===- test_wgmma_programs.py - Programs whose products are of warp groups -----------=== #
# SPDX-License-Identifier: Apache-2.0
"""Programs for sm_90a: their kernels as ptxas assembles them, and small models in the emulation. Nothing here runs on a GPU."""

import json
import subprocess
from pathlib import Path

import kernels
import pytest
import sass

ARCH = "sm_90a"
EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


def hova(*words):
    done = subprocess.run([kernels.BIN / "hova", *map(str, words), f"--gpu-arch={ARCH}"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(bool(sass.missing()), reason=f"without {sass.missing()}: test/requirements.txt")
@pytest.mark.parametrize("batch, dtype", [(1, "bf16"), (8, "f16")])
def test_the_whole_model_as_it_is_compiled(batch, dtype, tmp_path):
    """ViT-B/16: products of 16 bits are of warp groups, with what joins them; no kernel spills, and ptxas repairs none."""
    text = hova("compile", EXAMPLES / "models/vit_b16.json", f"--set=batch={batch}", f"--dtype={dtype}", "--target=cuda", "--emit=ptx", "--quiet")
    made = sass.assemble_all(text, tmp_path, ARCH)
    grouped = [kernel for kernel in made.values() if kernel.loop and kernel.main_loop().group_cycles]
    assert len(grouped) >= 5
    for name, kernel in made.items():
        assert (name, kernel.spilled, kernel.stack, kernel.local(), kernel.repairs) == (name, 0, 0, 0, [])
    for kernel in grouped:
        turn = kernel.main_loop()
        print(f"\n| {turn.group_cycles // 2} columns | {kernel.registers} | {turn.group_others:.2f} |", end="")
        assert turn.counts["HGMMA"] == 4 and turn.group_others <= 0.65


@pytest.mark.parametrize("dtype", ["bf16", "f16", "f32"])
def test_a_small_model_is_right(dtype):
    folder = EXAMPLES / "01-digits"
    said = hova("verify", folder / "digits.json", "--weights", folder / "weights.safetensors", f"--dtype={dtype}", "--target=cuda-emulated")
    assert "are within the numeric policy" in said


@pytest.mark.parametrize("rows, width", [(128, 256), (1576, 768)])
def test_halves_of_a_sum_have_a_residual_of_their_own_columns(rows, width, tmp_path):
    """A block has columns of both halves, which stand apart in the residual."""
    half = {"op": "slice", "input": "sum", "axis": 2}
    layers = [{"name": "both", "op": "linear", "input": "x", "width": width}, {"name": "sum", "op": "add", "inputs": ["both", "r"]},
              {"name": "a", **half, "start": 0, "end": width // 2}, {"name": "b", **half, "start": width // 2, "end": width},
              {"name": "y", "op": "multiply", "inputs": ["a", "b"]}]
    model = {"hova": 1, "name": "halves", "inputs": {"x": {"shape": [1, rows, 64]}, "r": {"shape": [1, rows, width]}}, "layers": layers, "outputs": {"y": "y"}}
    (tmp_path / "halves.json").write_text(json.dumps(model), encoding="utf-8")
    said = hova("verify", tmp_path / "halves.json", "--dtype=bf16", "--target=cuda-emulated", "--cases=1")
    assert "are within the numeric policy" in said or "is within the numeric policy" in said
