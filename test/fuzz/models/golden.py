# ===- golden.py - The independent implementation of the operators -----------=== #
# SPDX-License-Identifier: Apache-2.0
"""Finds the modules of test/golden, which are written to be read from their own folder."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "golden"))

import case  # noqa: E402
import net  # noqa: E402
import oracle  # noqa: E402
import scores  # noqa: E402

__all__ = ["case", "net", "oracle", "scores"]
