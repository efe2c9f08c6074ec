# ===- _options.py - Options of hova as keyword arguments ---------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Keyword arguments are the options of the command line: `max_memory="2GiB"` is `--max-memory=2GiB`.

The driver knows which of them a verb takes and which values are valid, and says so.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal, TypedDict

import numpy as np
from numpy.typing import DTypeLike

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

    dtype: Literal["f32", "bf16", "f16"] | DTypeLike  # storage; sums are f32
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
    approximations: Literal["nearest", "above", "below", "either"]


_FLAGS = {"strict", "werror", "guard"}
_FILES = {"weights", "dump_ir", "time_trace", "debug_lines", "ptxas"}
_WORDS = {"checkpoint", "target", "gpu_arch", "path", "init", "max_memory", "weights_mode", "stop_after"}
_WORDS |= {"cases", "case", "seed", "mma_sums", "approximations"}
_OTHERS = {"set", "dtype", "optimization", "march", "without", "pass_pipeline"}
_STORAGE = {"float32": "f32", "bfloat16": "bf16", "float16": "f16"}


def _parameter(name: str, value: object) -> str:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, (int, float)):
        return repr(value)
    raise TypeError(f"parameter '{name}' expects a boolean, a number or text, got {type(value).__name__}")


def _parameters(value: object) -> list[str]:
    if not isinstance(value, Mapping):
        raise TypeError(f"'set' expects a dict of parameters by name, got {type(value).__name__}")
    return [f"--set={name}={_parameter(name, value[name])}" for name in value]


def _path(name: str, value: object) -> str:
    path = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(path, str):
        raise TypeError(f"'{name}' expects a path, got {type(path).__name__}")
    return path


def _word(name: str, value: object) -> str:
    if isinstance(value, (str, int, np.integer)) and not isinstance(value, bool):
        return str(value)
    raise TypeError(f"'{name}' expects a text or a whole number, got {value!r}")


def _storage(value: object) -> str:
    """What NumPy calls a type is what hova calls it too."""
    name = value if isinstance(value, str) else _name_of_type(value)
    return _STORAGE.get(name, name)


def _name_of_type(value: Any) -> str:
    with suppress(TypeError):
        if (name := np.dtype(value).name) in _STORAGE:
            return name
    raise TypeError(f"'dtype' expects 'f32', 'bf16' or 'f16', got {value!r}")


def _is_set(name: str, value: object) -> bool:
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise TypeError(f"'{name}' expects True or False, got {value!r}")


def _unknown(verb: str, name: str) -> TypeError:
    near = difflib.get_close_matches(name, _FLAGS | _FILES | _WORDS | _OTHERS, 1)
    return TypeError(f"hova.{verb}() takes no option '{name}'" + "".join(f"; did you mean '{one}'?" for one in near))


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
            words += _parameters(value)
        elif name == "dtype":
            words.append(f"{flag}={_storage(value)}")
        elif name == "optimization":
            words.append(f"-O{_word(name, value)}")
        elif name == "march":
            words.append(f"{flag}={','.join(_listed(name, value))}")
        elif name in ("without", "pass_pipeline"):
            words += [f"{flag}={one}" for one in _listed(name, value)]
        elif name in _FLAGS:
            words += [flag] if _is_set(name, value) else []
        elif name in _FILES:
            words.append(f"{flag}={_path(name, value)}")
        elif name in _WORDS:
            words.append(f"{flag}={_word(name, value)}")
        else:
            raise _unknown(verb, name)
    return words


def output_words(output: Path) -> list[str]:
    return ["-o", file_word(os.fspath(output))]
