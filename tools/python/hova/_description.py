# ===- _description.py - Descriptions that are no files ------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""A description that is a dict, as the JSON that hova reads."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from ._errors import USAGE, Diagnostic, Error

# A file with a description, or the description itself.
Description = str | os.PathLike[str] | Mapping[str, Any]

# What messages call it.
NAME = "<description>"

# Brackets that are open at once in a description.
_LEVELS = 64


def _plain(value: object, pointer: str, level: int) -> object:
    """`value` as json.dumps takes it: numbers of NumPy are numbers, and its arrays are lists."""
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    place = pointer or "the top"
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"the description expects a finite number at {place}, got {value}")
        return value
    if not isinstance(value, (Mapping, list, tuple)):
        raise TypeError(f"the description expects a value of JSON at {place}, got {type(value).__name__}")
    if level > _LEVELS:
        # In a file hova finds it. A dict may also hold itself.
        deep = Diagnostic("error", f"nested deeper than {_LEVELS} levels", NAME, pointer=pointer)
        raise Error(str(deep), diagnostics=[deep])
    if not isinstance(value, Mapping):
        return [_plain(one, f"{pointer}/{i}", level + 1) for i, one in enumerate(value)]
    for key in value:
        if not isinstance(key, str):
            raise TypeError(f"the description expects text as a key at {place}, got {key!r}")
    return {key: _plain(one, f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}", level + 1) for key, one in value.items()}


def text_of(description: Mapping[str, Any]) -> str:
    """The text of a dict. TypeError, ValueError: something in it is nothing of JSON. Error: it is nested too deep."""
    # With lines, so that a place says something.
    return json.dumps(_plain(description, "", 1), indent=1)


def path_of(description: str | os.PathLike[str]) -> str:
    """The path of a file. TypeError: it is nothing that has a path. Error: it is the text of a description."""
    path = os.fspath(description) if isinstance(description, (str, os.PathLike)) else description
    if not isinstance(path, str):
        raise TypeError(f"a description expects a path or a dict, got {type(path).__name__}")
    if path.lstrip().startswith("{") and not os.path.exists(path):
        raise Error("a description expects a path or a dict, got JSON as text; json.loads makes a dict of it", status=USAGE)
    return path
