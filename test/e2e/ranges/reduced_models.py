# ===- reduced_models.py - Example models of few channels, and what they are given === #
# SPDX-License-Identifier: Apache-2.0

import json
from pathlib import Path

MODELS = Path(__file__).resolve().parents[3] / "examples/models"


def settings_of(model: str, changed: dict) -> list[str]:
    """`--set` for each of `changed` that a model of examples/models has as a parameter."""
    known = json.loads((MODELS / f"{model}.json").read_text())["parameters"]
    return [f"--set={key}={value if isinstance(value, str) else json.dumps(value)}" for key, value in changed.items() if key in known]


def draw(random, tensor):
    """Values of a `hova.Tensor`: a mask that keeps the first token of each item, integers of its range, or normal numbers."""
    if tensor.dtype == "bool":
        valid = random.random(tensor.shape) < 0.7
        valid[:, 0] = True
        return valid
    if tensor.dtype.startswith("int"):
        return random.integers(*tensor.range, tensor.shape).astype(tensor.dtype)
    return random.standard_normal(tensor.shape).astype(tensor.dtype)
