# ===- _weights.py - Arrays as a file of weights ------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Writes arrays in the safetensors format, which hova reads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import IO, Any

from ._arrays import bytes_of

# Kind and bits of DLPack.
_TYPES = {(2, 64): "F64", (2, 32): "F32", (2, 16): "F16", (4, 16): "BF16", (0, 64): "I64", (0, 32): "I32", (6, 8): "BOOL"}


def write_weights(arrays: Mapping[str, Any], file: IO[bytes]) -> None:
    """Writes NumPy or DLPack arrays in CPU memory; one whose elements are not row by row is copied.

    TypeError: a value is no such array, or of a type that hova does not read.
    """
    header: dict[str, object] = {}
    elements = []
    end = 0
    for name, array in arrays.items():
        try:
            kind, bits, shape, data = bytes_of(array)
        except Exception as error:
            raise TypeError(f"weight '{name}' expects an array in CPU memory, got {type(array).__name__}") from error
        if (kind, bits) not in _TYPES:
            raise TypeError(f"weight '{name}' expects one of {', '.join(_TYPES.values())}, got {array.dtype}")
        begin, end = end, end + len(data)
        header[name] = {"dtype": _TYPES[kind, bits], "shape": shape, "data_offsets": [begin, end]}
        elements.append(data)
    text = json.dumps(header).encode()
    # Elements begin at a multiple of 8.
    text += b" " * (-len(text) % 8)
    file.write(len(text).to_bytes(8, "little") + text)
    for data in elements:
        file.write(data)
