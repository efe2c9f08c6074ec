# ===- instructions.py - Kernels of one instruction of a warp ------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Kernels of a warp whose lanes give an instruction words of a buffer and store what they get, in both executors."""

from pathlib import Path

import numpy as np
import ptx
import pytest
from kernels import Case, emit

HEAD = """
llvm.mlir.global external @kernel_memory() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
llvm.func @kernel(%px: !llvm.ptr<1>, %pr: !llvm.ptr<1>) attributes {hova.group_bytes = 512 : i64, nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
  %lane = nvvm.read.ptx.sreg.tid.x : i32
  %in = llvm.mlir.constant(WORDS : i32) : i32
  %four = llvm.mlir.constant(4 : i32) : i32
  %first = llvm.mul %lane, %in : i32
  %result = llvm.mul %lane, %four : i32
  %x = llvm.getelementptr %px[%first] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  %r = llvm.getelementptr %pr[%result] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
"""
LDMATRIX = """
  %memory = llvm.mlir.addressof @kernel_memory : !llvm.ptr<3>
  %row = llvm.getelementptr %memory[%result] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  %words = llvm.load %x : !llvm.ptr<1> -> vector<4xi32>
  llvm.store %words, %row : vector<4xi32>, !llvm.ptr<3>
  nvvm.barrier0
  %d = nvvm.ldmatrix %row {num = 4 : i32, layout = #nvvm.mma_layout<LAYOUT>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32, i32, i32)>
"""
MMA = """
  %d = nvvm.mma.sync A[%w0, %w1, %w2, %w3] B[%w4, %w5] C[%s6, %s7, %s8, %s9] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, multiplicandAPtxType = #nvvm.mma_type<bf16>, multiplicandBPtxType = #nvvm.mma_type<bf16>, shape = #nvvm.shape<m = 16, n = 8, k = 16>} : (i32, i32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
"""


def kernel(body: str, words: int, kind: str) -> str:
    """A kernel whose lanes have words of their own and store the four registers of %d."""
    text = HEAD.replace("WORDS", str(words))
    if "%w0" in body:
        text += "".join(f"%p{i} = llvm.getelementptr %x[{i}] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32\n"
                        f"%w{i} = llvm.load %p{i} : !llvm.ptr<1> -> i32\n%s{i} = llvm.bitcast %w{i} : i32 to f32\n" for i in range(words))
    text += body
    for i in range(4):
        text += (f"%d{i} = llvm.extractvalue %d[{i}] : !llvm.struct<({kind}, {kind}, {kind}, {kind})>\n"
                 f"%q{i} = llvm.getelementptr %r[{i}] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32\nllvm.store %d{i}, %q{i} : {kind}, !llvm.ptr<1>\n")
    return text + "llvm.return\n}\n"


def emulated(text: str, words: np.ndarray, folder: Path, sums: str = "in-order") -> np.ndarray:
    case = Case("kernel", [], (1,), [words, np.zeros((32, 4), np.uint32)], np.zeros(1), 0)
    return case.emulate(folder, [("early", 0)], text, sums)[0]


def interpreted(text: str, words: np.ndarray, folder: Path, sums: str = "in-order") -> np.ndarray:
    (folder / "kernel.mlir").write_text(text, encoding="utf-8")
    result = np.zeros((32, 4), np.uint32)
    ptx.Grid(emit("ptx", str(folder / "kernel.mlir")), "kernel", [words, result], (1,), 512, sums=sums).run()
    return result


EXECUTORS = pytest.mark.parametrize("execute", [emulated, interpreted], ids=lambda f: f.__name__)
