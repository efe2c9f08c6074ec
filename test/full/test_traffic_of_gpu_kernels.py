# ===- test_traffic_of_gpu_kernels.py - Global memory of all models ---------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Sectors of global memory that the kernels of every model of examples/models touch at its published size, batch 1, next to the
fewest that the bytes of their requests could take: the emulation runs the first launch of each kernel, and counts them."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["HOVA_BUILD"])
MODELS = sorted(path.stem for path in (ROOT / "examples" / "models").glob("*.json"))

# Loads, stores and copies together. Products and attention read by asynchronous copies; others are kernels of rows.
PRODUCTS, ROWS = 1.1, 2.0
TOY = {"lecture_mha"}  # rows of 2 to 6 columns, less than a sector


@pytest.fixture(scope="module")
def counter(tmp_path_factory):
    """An object that counts for the program that it is linked with."""
    made = tmp_path_factory.mktemp("counter") / "LaunchTraffic.o"
    subprocess.run(["cc", "-O2", f"-I{ROOT}", "-c", ROOT / "test/codegen/cuda/emulation/LaunchTraffic.c", "-o", made], check=True)
    return made


def traffic(model, dtype, counter, folder):
    """Sectors used and least of each kernel's loads, stores and copies."""
    program = folder / "program.o"
    subprocess.run([BUILD / "bin/hova", "compile", ROOT / f"examples/models/{model}.json", f"--dtype={dtype}", "--target=cuda-emulated",
                    "--emit=obj", "--quiet", "-o", program], check=True)
    libraries = [BUILD / f"lib/libhova_{name}.a" for name in ("runtime_cuda_emulated", "emulation", "runtime_readers")]
    subprocess.run(["cc", counter, program, f"-Wl,--defsym=traffic_program=hova_program_{model}", *libraries, "-lm", "-o", folder / "count"],
                   check=True)
    lines = subprocess.run([folder / "count"], capture_output=True, text=True, check=True).stdout.splitlines()
    return {name: list(map(int, numbers)) for name, *numbers in map(str.split, lines)}


@pytest.mark.parametrize("dtype", ["bf16", "f32"])
@pytest.mark.parametrize("model", [model for model in MODELS if model not in TOY])
def test_kernels_of_a_model(model, dtype, counter, tmp_path):
    counted = traffic(model, dtype, counter, tmp_path)
    assert len(counted) > 5
    wrong = {}
    for name, numbers in counted.items():
        used, least = sum(numbers[::2]), sum(numbers[1::2])
        assert used >= least > 0
        copies = numbers[-1] > 0
        if used > (PRODUCTS if copies else ROWS) * least:
            wrong[name] = round(used / least, 3), dict(zip(("loads", "stores", "copies"), zip(numbers[::2], numbers[1::2], strict=True), strict=True))
    assert not wrong
