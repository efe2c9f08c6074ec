# ===- test_driver_calls.py - The declarations of the CUDA driver ------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Compares what runtime/cuda/DriverCalls.h and the stand-in declare with NVIDIA's own header, cuda.h."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]
CLANG = Path(os.environ["HOVA_LLVM"]) / "bin/clang"
# Beside the assembler, which test/requirements.txt installs.
HEADERS = sorted(Path(sys.prefix).glob("lib/python3*/site-packages/nvidia/**/include/cuda.h"))
FLAGS = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-Wno-unused-const-variable", "-fsyntax-only", "-D_GNU_SOURCE"]

COMPARED = """
#include <cuda.h>
#include "runtime/cuda/DriverCalls.h"
_Static_assert(sizeof(driver_kernel_node) == sizeof(CUDA_KERNEL_NODE_PARAMS), "size");
#define SAME_PLACE(HERE, THERE)                                                                                        \\
  _Static_assert(offsetof(driver_kernel_node, HERE) == offsetof(CUDA_KERNEL_NODE_PARAMS, THERE), #HERE);
SAME_PLACE(function, func)
SAME_PLACE(grid[0], gridDimX) SAME_PLACE(grid[1], gridDimY) SAME_PLACE(grid[2], gridDimZ)
SAME_PLACE(block[0], blockDimX) SAME_PLACE(block[1], blockDimY) SAME_PLACE(block[2], blockDimZ)
SAME_PLACE(shared_bytes, sharedMemBytes) SAME_PLACE(parameters, kernelParams) SAME_PLACE(extra, extra)
SAME_PLACE(kernel, kern) SAME_PLACE(context, ctx)
_Static_assert(sizeof(driver_edge) == sizeof(CUgraphEdgeData), "size");
_Static_assert(offsetof(driver_edge, from_port) == offsetof(CUgraphEdgeData, from_port), "port");
_Static_assert(offsetof(driver_edge, to_port) == offsetof(CUgraphEdgeData, to_port), "port");
_Static_assert(offsetof(driver_edge, type) == offsetof(CUgraphEdgeData, type), "type");
#define SAME(HERE, THERE) _Static_assert((int)HERE == (int)THERE, #HERE);
SAME(DRIVER_INVALID_VALUE, CUDA_ERROR_INVALID_VALUE) SAME(DRIVER_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY)
SAME(DRIVER_NO_DEVICE, CUDA_ERROR_NO_DEVICE)
SAME(DRIVER_CAPABILITY_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
SAME(DRIVER_CAPABILITY_MINOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
SAME(DRIVER_MOST_SHARED_BYTES, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
SAME(DRIVER_MOST_THREADS, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)
SAME(DRIVER_STATIC_SHARED_BYTES, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)
SAME(DRIVER_DYNAMIC_SHARED_BYTES, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
SAME(DRIVER_ERROR_LOG, CU_JIT_ERROR_LOG_BUFFER) SAME(DRIVER_ERROR_LOG_BYTES, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
SAME(DRIVER_POINTER_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
SAME(DRIVER_POINTER_DEVICE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) SAME(DRIVER_DEVICE_MEMORY, CU_MEMORYTYPE_DEVICE)
SAME(DRIVER_PROGRAMMATIC_EDGE, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC)
SAME(DRIVER_PROGRAMMATIC_PORT, CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC)
#define driver_edge CUgraphEdgeData
#define driver_kernel_node CUDA_KERNEL_NODE_PARAMS
#define CHECK(NAME, SYMBOL, PARAMETERS) static driver_result(*const check_##NAME) PARAMETERS = SYMBOL;
HOVA_DRIVER_CALLS(CHECK)
HOVA_LATER_DRIVER_CALLS(CHECK)
"""


@pytest.fixture(scope="module")
def header():
    if not HEADERS:
        pytest.skip("no cuda.h beside ptxas: pip install nvidia-cuda-runtime")
    return ["-I", str(HEADERS[-1].parent)]


def compile_text(text, tmp_path, flags):
    source = tmp_path / "compared.c"
    source.write_text(text)
    return subprocess.run([CLANG, *FLAGS, *flags, "-I", SOURCE, source], capture_output=True, text=True, check=False)


def test_calls_are_those_of_the_header(tmp_path, header):
    result = compile_text(COMPARED, tmp_path, header)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("CUDA_ERROR_NO_DEVICE", "CUDA_ERROR_INVALID_VALUE"),
        ("SAME_PLACE(kernel, kern)", "SAME_PLACE(kernel, ctx)"),
        ("PARAMETERS = SYMBOL", "PARAMETERS = cuInit"),
    ],
)
def test_a_difference_is_noticed(tmp_path, header, right, wrong):
    assert right in COMPARED
    assert compile_text(COMPARED.replace(right, wrong), tmp_path, header).returncode != 0


def test_the_stand_in_has_the_calls_of_the_header(tmp_path, header):
    text = f'#include "{SOURCE}/test/runtime/cuda/StandInDriver.c"\n'
    result = compile_text(text, tmp_path, [*header, "-DWITH_CUDA_H"])
    assert result.returncode == 0, result.stderr
