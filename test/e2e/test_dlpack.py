# ===- test_dlpack.py - Tensors of a framework, without a copy ---------------=== #
# SPDX-License-Identifier: Apache-2.0
"""examples/torch-dlpack on a stand-in for the driver: no GPU and no framework is needed. With PyTorch its program runs too, on a
GPU where there is one."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
BUILD = Path(os.environ["HOVA_BUILD"])
HOVA = BUILD / "bin/hova"
EXAMPLE = ROOT / "examples/torch-dlpack"
DIGITS = ROOT / "examples/01-digits"
sys.path[:0] = [str(EXAMPLE), str(ROOT / "test/codegen/cuda")]
import stand_in  # noqa: E402
from dlpack_model import Model  # noqa: E402


def run(*words, **environment):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False,
                          env={**os.environ, **{name: str(value) for name, value in environment.items()}})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def compile_library(folder, model, *options):
    run(HOVA, "compile", model, "--dtype=bf16", "--target=cpu,cuda", "--emit=lib", *options, "-o", folder / "model")
    return folder / "model.so"


def test_tensors_of_a_device_are_used_where_they_are(tmp_path):
    library = compile_library(tmp_path, ROOT / "test/golden/vectors/mha_both/model.json", "--ptxas=none")
    told = json.loads(run(sys.executable, "-B", Path(__file__).parent / "Inputs/dlpack_calls.py", library, "mha_both",
                          **stand_in.environment(tmp_path / "launches")))
    alone, given, cpu = told["alone"], told["given"], np.array(told["cpu"])
    for report in (alone, given):
        assert report["copies"] == [0, 0] and report["x is kept"]
        assert (report["target"], report["message"]) == ("cuda", "runs on Stand-in GPU")
        assert np.abs(np.array(report["y"]) - cpu).max() <= 2**-6 * np.abs(cpu).max()
    assert alone["y"] == given["y"]
    # The framework is told which stream comes next, and a stream of the caller's is not waited for.
    assert (alone["asked for"], alone["waits"]) == ([1, 1], True)
    assert (given["asked for"], given["waits"]) == ([told["stream"]] * 2, False)
    # The counts do count: a tensor of the host is copied.
    assert told["from the host"] == [1, 0]


def test_tensors_of_the_host_are_used_where_they_are(tmp_path):
    library = compile_library(tmp_path, DIGITS / "digits.json", f"--weights={DIGITS / 'weights.safetensors'}")
    model = Model(library, "digits", target="cpu")
    assert (model.target, model.message) == ("cpu", "")
    image = np.load(DIGITS / "images.npy")[:1]
    memory = np.zeros((3, 10), np.float32)
    model({"image": image}, {"logits": memory[1:2]})
    np.testing.assert_allclose(memory[1], np.load(DIGITS / "logits.npy")[0], rtol=0, atol=0.05)
    assert not memory[[0, 2]].any()
    with pytest.raises(ValueError, match="expects tensors image, got picture"):
        model({"picture": image}, {"logits": memory[:1]})
    with pytest.raises(ValueError, match=r"input 'image' expects shape \[1, 1, 8, 8\], got \[1, 8, 8\]"):
        model({"image": image[0]}, {"logits": memory[:1]})
    with pytest.raises(ValueError, match="output 'logits' expects dense row-major memory"):
        model({"image": image}, {"logits": np.zeros((1, 20), np.float32)[:, ::2]})
    model.close()
    with pytest.raises(ValueError, match="is for cuda, cpu; it expects no target 'gpu'"):
        Model(library, "digits", target="gpu")


def test_the_program_of_pytorch(tmp_path):
    pytest.importorskip("torch")
    library = compile_library(tmp_path, DIGITS / "digits.json", f"--weights={DIGITS / 'weights.safetensors'}")
    said = run(sys.executable, EXAMPLE / "digits_torch.py", library, DIGITS / "images.npy", DIGITS / "labels.npy")
    right = (np.load(DIGITS / "logits.npy").argmax(1) == np.load(DIGITS / "labels.npy")).sum()
    assert said.startswith(f"{right} of 400 digits are right, runs on ")
