# ===- _options.py - Options of hova as keyword arguments ---------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Keyword arguments are the options of the command line: `max_memory="2GiB"` is `--max-memory=2GiB`.

The driver knows which of them a verb takes and which values are valid, and says so.
"""

from __future__ import annotations

import difflib
import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal, TypedDict, TypeVar, get_type_hints

import numpy as np
from numpy.typing import DTypeLike

from ._driver import file_word

Path = str | os.PathLike[str]
_Function = TypeVar("_Function", bound=Callable[..., Any])


class DescriptionOptions(TypedDict, total=False):
    """About the description and its weights."""

    set: Mapping[str, bool | int | float | str]
    weights: Path | Mapping[str, Any]
    checkpoint: str
    task: Literal["hidden", "embed", "classify", "tokens", "logits"]
    models: Path | Sequence[Path]
    ignore_config: str | Sequence[str]
    werror: bool


class CodeOptions(DescriptionOptions, total=False):
    """About the code that is generated."""

    dtype: Literal["f32", "bf16", "f16"] | DTypeLike
    tensors: Literal["f32", "bf16", "f16"] | DTypeLike
    target: Literal["cpu", "cuda", "cuda-emulated", "cpu,cuda"] | Sequence[Literal["cpu", "cuda", "cuda-emulated"]]
    march: str | Sequence[str]
    gpu_arch: str | Sequence[str]
    strict: bool
    without: Sequence[str]
    pass_pipeline: Sequence[str]
    dump_ir: Path
    time_trace: Path


class ExplainOptions(CodeOptions, total=False):
    """About an explanation."""

    path: str
    ptxas: Path


class PackOptions(CodeOptions, total=False):
    """About an image of weights."""

    init: int
    max_memory: str


class RunOptions(PackOptions, total=False):
    """About code that is generated with its weights."""

    optimization: Literal[0, 1, 2, 3]
    ptxas: Path


class CompileOptions(RunOptions, total=False):
    """About a program."""

    weights_mode: Literal["embed", "file"]
    debug_lines: Path
    stop_after: str


class VerifyOptions(RunOptions, total=False):
    """About a comparison."""

    cases: int
    case: int
    seed: int
    guard: bool
    mma_sums: Literal["in-order", "a100", "h100"]
    approximations: Literal["nearest", "above", "below", "either"]


class ViewOptions(CodeOptions, total=False):
    """About a page."""

    init: int
    optimization: Literal[0, 1, 2, 3]
    ptxas: Path
    inputs: Mapping[str, Any]
    benchmark_file: Path
    peak: str


# What help() says of each.
_ABOUT = {
    "set": "parameters of the description, as {'batch': 8}",
    "weights": "a safetensors file or index, or arrays by name",
    "checkpoint": "read weights by the names of this source of the description",
    "task": "what is computed of a model's folder, in the place of what its configuration says",
    "models": "folders of descriptions, for a model's folder",
    "ignore_config": "keys of config.json that change no number",
    "werror": "warnings are errors",
    "dtype": "'f32', 'bf16' or 'f16', or NumPy's type: of storage; sums are f32",
    "tensors": "the same for numbers in inputs and outputs of which the description says no type",
    "target": "'cpu', 'cuda', 'cuda-emulated', or 'cpu,cuda' for whichever is there",
    "march": "ISA levels, as 'x86-64-v3', the best of which the program picks",
    "gpu_arch": "levels of GPUs, as 'sm_86', the best of which the program picks",
    "strict": "no pass that reassociates",
    "without": "optional passes to leave out",
    "pass_pipeline": "passes to run at a point, as 'before-fuse(my-pass)'",
    "dump_ir": "folder for the IR after every phase",
    "time_trace": "file for how long each step takes",
    "path": "tell of the layers below this path alone",
    "ptxas": "the assembler of kernels for a GPU, or 'none'",
    "init": "seed of weights, where none are given",
    "optimization": "level of LLVM's code generator, 0 to 3",
    "max_memory": "end instead of allocating more, as '2GiB'",
    "weights_mode": "'embed' weights in the program, or 'file' beside it",
    "debug_lines": "file of lines for debuggers and profilers",
    "stop_after": "a phase to end with, for emit='mlir'",
    "cases": "how many sets of inputs are compared",
    "case": "compare this one alone",
    "seed": "of the inputs",
    "guard": "look for reads and writes outside of buffers",
    "mma_sums": "how emulated matrix products add: 'in-order', 'a100' or 'h100'",
    "approximations": "what emulated instructions that approximate compute",
    "inputs": "arrays, or paths of .npy files, by name; the page then shows what attention attends to",
    "benchmark_file": "times that the program has written with --benchmark-out",
    "peak": "show times as percent of this peak, as '1000,50' for GFLOP/s and GB/s",
}


def documented(options: type) -> Callable[[_Function], _Function]:
    """Adds the options to what help() says of a function."""

    def add(function: _Function) -> _Function:
        names = list(get_type_hints(options))
        width = max(map(len, names))
        lines = [f"{name:{width}}  {_ABOUT[name]}" for name in names]
        function.__doc__ = f"{inspect.getdoc(function)}\n\nOptions:\n  " + "\n  ".join(lines)
        return function

    return add


_FLAGS = {"strict", "werror", "guard"}
_FILES = {"weights", "dump_ir", "time_trace", "debug_lines", "ptxas", "benchmark_file"}
_WORDS = {"checkpoint", "task", "path", "init", "max_memory", "weights_mode", "stop_after"}
_WORDS |= {"cases", "case", "seed", "mma_sums", "approximations", "peak"}
_OTHERS = {"set", "dtype", "optimization", "target", "march", "gpu_arch", "without", "pass_pipeline", "models", "ignore_config"}
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


def _paths(value: object) -> Sequence[object]:
    return [value] if isinstance(value, (str, os.PathLike)) or not isinstance(value, Sequence) else value


def _word(name: str, value: object) -> str:
    if isinstance(value, (str, int, np.integer)) and not isinstance(value, bool):
        return str(value)
    raise TypeError(f"'{name}' expects a text or a whole number, got {value!r}")


def _storage(option: str, value: object) -> str:
    """What NumPy calls a type is what hova calls it too."""
    name = value if isinstance(value, str) else _name_of_type(option, value)
    return _STORAGE.get(name, name)


def _name_of_type(option: str, value: Any) -> str:
    with suppress(TypeError):
        name: str = np.dtype(value).name
        if name in _STORAGE:
            return name
    raise TypeError(f"'{option}' expects 'f32', 'bf16' or 'f16', got {value!r}")


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
        elif name in ("dtype", "tensors"):
            words.append(f"{flag}={_storage(name, value)}")
        elif name == "optimization":
            words.append(f"-O{_word(name, value)}")
        elif name in ("target", "march", "gpu_arch"):
            words.append(f"{flag}={','.join(_listed(name, value))}")
        elif name == "models":
            words += [f"{flag}={_path(name, one)}" for one in _paths(value)]
        elif name in ("without", "pass_pipeline", "ignore_config"):
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
