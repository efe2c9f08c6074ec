# ===- harness.py - Compile, run and compare --------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""What every test of whole models does: save weights, compile, run, compare.

The bound is tier T3 of the numeric policy (docs/rationale/proof.md): largest and
root-mean-square error against the framework in float64 are at most twice those of the
framework in float32, plus 4 ULP of the largest magnitude. Nothing is chosen by hand.
"""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file

SOURCE = Path(__file__).resolve().parents[2]
HOVA = Path(os.environ.get("HOVA_BUILD", SOURCE / "build")) / "bin/hova"
MODELS = SOURCE / "examples/models"

# How many plain runs are asked before an output over its bound is called wrong.
NEIGHBOURS = 16


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
            elif value.dim() < 2:
                value.copy_(0.1 * noise)
            elif any(word in name for word in ("embed", "token", "_pos")):
                value.copy_(0.5 * noise)
            else:
                value.copy_(noise / value[0].numel() ** 0.5)
    return model.eval()


def save_weights(state, path):
    """Writes named tensors as safetensors; tied tensors are written once each."""
    save_file({k: v.detach().clone().contiguous() for k, v in state.items()}, path)


def hova(verb, name, settings, *arguments):
    """Runs hova on examples/models/NAME.json, or on a description by its whole path."""
    command = [HOVA, verb, MODELS / f"{name}.json", *arguments]
    # Of two values for one parameter the last holds; a command takes one.
    for parameter in dict(setting.split("=", 1) for setting in settings).items():
        command += ["--set", "=".join(parameter)]
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done


def named_as_described(weights, name, settings):
    """The tensors that a description names. A module may have more, such as biases where
    the paper has none; these must be zero, so that leaving them out changes nothing."""
    summary = json.loads(hova("summary", name, settings, "--format=json").stdout)
    wanted = {tensor["name"] for tensor in summary["parameters"]["tensors"]}
    for extra in weights.keys() - wanted:
        assert not weights[extra].any(), f"{name} has no place for {extra}, which is not 0"
    missing = wanted - weights.keys()
    assert not missing, f"the module has no {sorted(missing)}"
    return {key: weights[key] for key in wanted}


def compile_model(name, weights, folder, settings=(), options=()):
    """Compiles examples/models/NAME.json; returns (program, what it said)."""
    program = folder / "program"
    done = hova("compile", name, settings, *options, "--weights", weights, "-o", program)
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


def like(value, module):
    """A tensor in the precision that the module is in."""
    return value.to(next(module.parameters()).dtype)


def random_image(batch, side, channels=3):
    generator = torch.Generator().manual_seed(1)
    return torch.randn(batch, channels, side, side, generator=generator)


def image_classes(image):
    """What computes the logits of an image; libraries wrap them in results of their own."""

    def compute(module):
        result = module(like(image, module))
        return {"logits": result if torch.is_tensor(result) else result.logits}

    return compute


def in_both_precisions(compute, module):
    """compute(module), named tensors, as float32 arrays, and from the module in float64."""
    with torch.no_grad():
        single = {key: value.numpy() for key, value in compute(module.float()).items()}
        double = {key: value.numpy() for key, value in compute(module.double()).items()}
        module.float()
    for key in single:
        assert single[key].dtype == np.float32 and double[key].dtype == np.float64
    return single, double


def neighbours(compute, module):
    """Plain runs in both precisions of models whose weights are up to four ULP away."""
    kept = {name: value.clone() for name, value in module.named_parameters()}
    generator = torch.Generator().manual_seed(0)
    for _ in range(NEIGHBOURS):
        with torch.no_grad():
            for name, value in module.named_parameters():
                steps = torch.randint(-4, 5, value.shape, generator=generator)
                value.copy_(kept[name] * (1 + steps * 2.0**-23))
        yield in_both_precisions(compute, module)


def errors(values, double):
    """The largest and the root-mean-square distance from float64."""
    difference = np.abs(values.astype(np.float64) - double)
    return np.array([difference.max(), np.sqrt(np.mean(difference**2))])


def within_policy(ours, compute, module):
    """(largest error, its bound) of the output that uses most of it, by tier T3.

    One plain run may be luck: where it refuses, the worst of some neighbours decides, as
    in `hova verify`.
    """
    single, double = in_both_precisions(compute, module)
    assert ours.keys() == double.keys()
    for key, value in ours.items():
        assert value.shape == double[key].shape, f"{key}: {value.shape}, not {double[key].shape}"
        assert np.isfinite(value).all(), f"{key} is not finite"
    mine = {key: errors(value, double[key]) for key, value in ours.items()}
    slack = {key: 4 * np.spacing(np.float32(np.abs(double[key]).max())) for key in ours}
    plain = {key: errors(single[key], double[key]) for key in ours}

    def refused(times=1):
        return any((mine[key] > times * (2 * plain[key] + slack[key])).any() for key in ours)

    # An error that is 16 times its bound is no bad luck.
    if refused() and not refused(16):
        for near_single, near_double in neighbours(compute, module):
            for key in ours:
                near = errors(near_single[key], near_double[key])
                plain[key] = np.maximum(plain[key], near)
            if not refused():
                break
    bounds = {key: 2 * plain[key] + slack[key] for key in ours}
    for key in ours:
        print(f"{key}: largest and rms error {mine[key]}, bounds {bounds[key]}")
    assert not refused(), "an error is over its bound"
    worst = max(ours, key=lambda key: mine[key][0] / bounds[key][0])
    return mine[worst][0], bounds[worst][0]


def compare(
    name,
    module,
    against,
    inputs,
    compute,
    *,
    settings=(),
    weights=None,
    source=None,
    variant=None,
    folder,
    record,
    record_names,
):
    """Compares examples/models/NAME.json with a module; returns the program's outputs.

    The weights are named tensors: with a source those of its library, by default the
    state_dict of the module, which hova must recognise; else those of the description.
    compute(module) is a dictionary of the outputs. The row of the table says `against` and
    the variant, which is the settings where it is not given.
    """
    if source is None:
        weights = named_as_described(weights, name, settings)
    else:
        weights = weights or module.state_dict()
        record_names(name, source, weights)
    save_weights(weights, folder / "model.safetensors")
    program, said = compile_model(name, folder / "model.safetensors", folder, settings)
    if source is not None:
        assert f"(names of {source})" in said, f"hova does not say {source}: {said}"
    ours = run_program(program, inputs, folder)
    error, bound = within_policy(ours, compute, module)
    record(name, variant or ", ".join(settings), against, error, bound)
    return ours
