# ===- examples.py - Every example, in small sizes ----------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""The cases of test/e2e/test_examples.py, for tests that run phases on them."""

import importlib.util
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]


def examples():
    """Parameters (name, settings)."""
    path = SOURCE / "test/e2e/test_examples.py"
    spec = importlib.util.spec_from_file_location("test_examples", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [
        pytest.param(name, case, id="-".join([Path(name).name, *case]))
        for name, cases in module.CASES.items()
        for case in cases
    ]
