# ===- conftest.py - The Python part of the package, without the wheel --------=== #
# SPDX-License-Identifier: Apache-2.0
"""Imports tools/python/hova as it is, with the driver of the build; test/full/python tests the wheel."""

import os
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("HOVA_BUILD", SOURCE / "build"))

sys.path.insert(0, str(SOURCE / "tools/python"))


@pytest.fixture(autouse=True)
def driver(monkeypatch):
    from hova import _driver

    monkeypatch.setattr(_driver, "DRIVER", BUILD / "bin/hova")


@pytest.fixture
def models():
    return SOURCE / "examples/models"
