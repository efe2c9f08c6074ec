# ===- conftest.py - The installed package ---------------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Run by ./dev test --full in build/venv-python, where the wheel of build/wheel is installed."""

import os
from pathlib import Path

import hova
import numpy as np
import pytest

SOURCE = Path(__file__).resolve().parents[3]
BUILD = Path(os.environ.get("HOVA_BUILD", SOURCE / "build"))
DIGITS = SOURCE / "examples/01-digits"


@pytest.fixture(scope="session")
def digits(tmp_path_factory):
    """The trained model for 40 pictures."""
    output = tmp_path_factory.mktemp("digits") / "digits.so"
    return hova.compile(DIGITS / "digits.json", weights=DIGITS / "weights.safetensors", set={"batch": 40}, output=output)


@pytest.fixture(scope="session")
def images():
    return np.load(DIGITS / "images.npy")[:40]


@pytest.fixture(scope="session")
def logits(digits, images):
    """What another way into the same program gives: the functions of C, through ctypes."""
    import importlib.util

    spec = importlib.util.spec_from_file_location("classify", SOURCE / "examples/embed/classify.py")
    classify = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(classify)
    model = classify.Model(str(digits.path), "digits", threads=1)
    result = model(image=images)["logits"]
    model.close()
    return result
