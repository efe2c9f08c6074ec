# ===- harness.py - Compile, run and compare --------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""What every checkpoint test does: save a framework's model, compile, run, compare.

The bound is tier T3 of the numeric policy: largest and root-mean-square error
against the framework in float64 are at most twice those of the framework in float32,
plus 4 ULP of the largest magnitude. Nothing is chosen by hand.
"""

import os
import subprocess
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file

SOURCE = Path(__file__).resolve().parents[2]
HOVA = Path(os.environ.get("HOVA_BUILD", SOURCE / "build")) / "bin/hova"
MODELS = SOURCE / "examples/models"


def randomise(model, seed):
    """Draws every floating-point parameter of a module anew.

    Frameworks start gains at one and biases and tokens at zero, which hides a
    forgotten or swapped tensor. Matrices keep activations of order one.
    """
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, value in model.named_parameters():
            noise = torch.randn(value.shape, generator=generator)
            is_gain = value.dim() == 1 and name.endswith("weight")
            if is_gain:
                value.copy_(1 + 0.2 * noise)
            elif value.dim() == 1:
                value.copy_(0.1 * noise)
            elif "embed" in name or "token" in name:
                value.copy_(0.5 * noise)
            else:
                value.copy_(noise / value[0].numel() ** 0.5)
    return model.eval()


def save_weights(state, path):
    """Writes a state_dict as safetensors; tied tensors are written once each."""
    save_file({k: v.detach().clone().contiguous() for k, v in state.items()}, path)


def compile_model(name, weights, folder, settings=(), source=None):
    """Compiles examples/models/NAME.json; returns (program, what it said)."""
    program = folder / "program"
    command = [HOVA, "compile", MODELS / f"{name}.json", "--weights", weights]
    for setting in settings:
        command += ["--set", setting]
    if source:
        command += [f"--checkpoint={source}"]
    done = subprocess.run(
        [*map(str, command), "-o", str(program)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return program, done.stderr


def run_program(program, inputs, folder):
    """Runs a compiled program on named arrays; returns its outputs by name."""
    command = [str(program)]
    for name, array in inputs.items():
        path = folder / f"in-{name}.npy"
        np.save(path, array)
        command += ["--input", f"{name}={path}"]
    outputs = folder / "outputs"
    outputs.mkdir(exist_ok=True)
    done = subprocess.run(
        [*command, "--output-dir", str(outputs)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return {path.stem: np.load(path) for path in outputs.glob("*.npy")}


def in_both_precisions(compute, model):
    """compute(model) as a float32 array, and again from the model in float64."""
    with torch.no_grad():
        single = compute(model.float()).numpy()
        double = compute(model.double()).numpy()
        model.float()
    assert single.dtype == np.float32 and double.dtype == np.float64
    return single, double


def assert_policy(ours, single, double, what):
    """Tier T3 for one output; prints the figures, which pytest shows on failure."""
    assert ours.shape == double.shape, f"{what}: {ours.shape}, not {double.shape}"
    assert np.isfinite(ours).all(), f"{what} is not finite"
    slack = 4 * np.spacing(np.float32(np.abs(double).max()))

    def errors(values):
        difference = np.abs(values.astype(np.float64) - double)
        return difference.max(), np.sqrt(np.mean(difference**2))

    for kind, mine, framework in zip(("max", "rms"), errors(ours), errors(single)):
        bound = 2 * framework + slack
        print(f"{what}: {kind} error {mine:.3g}, framework {framework:.3g}")
        assert mine <= bound, f"{what}: {kind} error {mine:.3g} > {bound:.3g}"
