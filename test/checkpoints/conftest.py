# SPDX-License-Identifier: Apache-2.0
"""Fixtures: a scratch folder that goes away, since a checkpoint is 350 MB."""

import os
import tempfile
from pathlib import Path

import pytest


@pytest.fixture
def scratch():
    parent = os.environ.get("HOVA_BUILD")
    with tempfile.TemporaryDirectory(prefix="checkpoint-", dir=parent) as folder:
        yield Path(folder)
