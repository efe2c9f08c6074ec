# ===- _options.py - Options of hova as keyword arguments ---------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Keyword arguments are the options of the command line: `max_memory="2GiB"` is `--max-memory=2GiB`.

The driver knows which of them a verb takes and which values are valid, and says so.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

from ._driver import file_word

Path = str | os.PathLike[str]


class DescriptionOptions(TypedDict, total=False):
    """About the description and its weights."""

    set: Mapping[str, bool | int | float | str]  # parameters of the description
    weights: Path | Mapping[str, Any]  # a safetensors file or index, or arrays by name
    checkpoint: str  # read weights by the names of this source
    werror: bool  # warnings are errors


class CodeOptions(DescriptionOptions, total=False):
    """About the code that is generated."""

    dtype: Literal["f32", "bf16", "f16"]  # storage; sums are f32
    target: Literal["cpu", "cuda", "cuda-emulated"]
    march: str | Sequence[str]  # ISA levels, the best of which the program picks
    gpu_arch: str
    strict: bool  # no pass that reassociates
    without: Sequence[str]  # optional passes to leave out
    pass_pipeline: Sequence[str]  # POINT(PASSES)
    dump_ir: Path  # folder
    time_trace: Path


class ExplainOptions(CodeOptions, total=False):
    """About an explanation."""

    path: str  # of the layers to tell of
    ptxas: Path


class RunOptions(CodeOptions, total=False):
    """About code that is generated with its weights."""

    init: int  # seed of weights, where none are given
    optimization: Literal[0, 1, 2, 3]
    max_memory: str  # "2GiB"
    ptxas: Path


class CompileOptions(RunOptions, total=False):
    """About a program."""

    weights_mode: Literal["embed", "file"]
    debug_lines: Path
    stop_after: str  # a phase, for emit="mlir"


class VerifyOptions(RunOptions, total=False):
    """About a comparison."""

    cases: int
    case: int
    seed: int
    guard: bool
    mma_sums: Literal["in-order", "a100", "h100"]


_FLAGS = {"strict", "werror", "guard"}
_FILES = {"weights", "dump_ir", "time_trace", "debug_lines", "ptxas"}
_WORDS = {"checkpoint", "dtype", "target", "gpu_arch", "path", "init", "max_memory", "weights_mode", "stop_after"}
_WORDS |= {"cases", "case", "seed", "mma_sums"}


def _parameter(name: str, value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, (int, float)):
        return repr(value)
    raise TypeError(f"parameter '{name}' expects a boolean, a number or text, got {type(value).__name__}")


def _listed(name: str, value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, Sequence) and all(isinstance(one, str) for one in value):
        return list(value)
    raise TypeError(f"'{name}' expects a text or several, got {value!r}")


def words_of(verb: str, options: Mapping[str, Any]) -> list[str]:
    """The options as words of the command line; one that is None is as good as not given."""
    words = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is None:
            continue
        if name == "set":
            words += [f"--set={key}={_parameter(key, value[key])}" for key in value]
        elif name == "optimization":
            words.append(f"-O{value}")
        elif name == "march":
            words.append(f"{flag}={','.join(_listed(name, value))}")
        elif name in ("without", "pass_pipeline"):
            words += [f"{flag}={one}" for one in _listed(name, value)]
        elif name in _FLAGS:
            words += [flag] if value else []
        elif name in _FILES:
            words.append(f"{flag}={os.fspath(value)}")
        elif name in _WORDS:
            words.append(f"{flag}={value}")
        else:
            raise TypeError(f"hova.{verb}() takes no option '{name}'")
    return words


def output_words(output: Path) -> list[str]:
    return ["-o", file_word(output)]
