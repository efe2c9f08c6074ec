# ===- _native.pyi - Types of Native.cpp ------------------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Compiled models, over their C interface."""

from collections.abc import Sequence

__version__: str

# Name, type, shape, and the range of valid integers if not all are.
_Tensor = tuple[str, str, tuple[int, ...], tuple[int, int] | None]

class Library:
    """A compiled model, mapped."""

    @staticmethod
    def open(folder: str, name: str, prefix: str) -> Library: ...
    @property
    def model(self) -> str: ...
    @property
    def compiler(self) -> str: ...
    @property
    def dtype(self) -> str: ...
    @property
    def flops(self) -> int: ...
    @property
    def arena_bytes(self) -> int: ...
    @property
    def weight_bytes(self) -> int: ...
    @property
    def inputs(self) -> list[_Tensor]: ...
    @property
    def outputs(self) -> list[_Tensor]: ...

class Context:
    """Memory and threads for one run at a time."""

    def __init__(self, library: Library, threads: int, weights: str | None, check_weights: bool, device: int) -> None: ...
    def run(self, inputs: Sequence[object], outputs: Sequence[object]) -> None: ...

def bytes_of(array: object) -> tuple[int, int, tuple[int, ...], memoryview]: ...
