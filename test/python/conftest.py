# ===- conftest.py - The Python part of the package, without the wheel --------=== #
# SPDX-License-Identifier: Apache-2.0
"""Imports tools/python/hova as it is, with the driver of the build. What is compiled of the package is in the wheel,
which test/full/python tests; here a module of its name stands for it, since none of these tests runs a model."""

import os
import sys
import types
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("HOVA_BUILD", SOURCE / "build"))

sys.path.insert(0, str(SOURCE / "tools/python"))
sys.modules["hova._native"] = native = types.ModuleType("hova._native")
native.__version__ = "none"


@pytest.fixture(autouse=True)
def driver(monkeypatch):
    from hova import _driver

    monkeypatch.setattr(_driver, "DRIVER", BUILD / "bin/hova")


@pytest.fixture
def models():
    return SOURCE / "examples/models"
