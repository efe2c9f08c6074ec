//===- CudaKernels.h - Kernels in the operations of a group ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Each function appends a function of group operations to a module: matrices
// first, then the coordinates of the group in the grid. Sizes are in elements.

#ifndef HOVA_CODEGEN_CUDA_RECIPES_CUDAKERNELS_H
#define HOVA_CODEGEN_CUDA_RECIPES_CUDAKERNELS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace hova {

/// `y = f(x wT + bias)`: x is rows x inner, w columns x inner, both bf16; bias
/// 1 x columns in f32; y rows x columns in bf16, or in f32.
struct ProductKernel {
  int64_t rows, inner, columns;
  bool bias = false;
  bool gelu = false; ///< f: half x times 1 + erf(x / sqrt 2), else itself
  bool wide = false; ///< y is f32
  // The schedule. A group makes block rows x block columns of y; its warps
  // divide them as rowWarps x columnWarps. Copies of a part of `step` of the
  // inner dimension are `stages` deep.
  int64_t blockRows = 128, blockColumns = 128;
  int64_t rowWarps = 2, columnWarps = 2;
  int64_t step = 64, stages = 3;
};

/// Coordinates: block of rows, block of columns.
mlir::func::FuncOp buildProductKernel(mlir::ModuleOp module,
                                      llvm::StringRef name,
                                      const ProductKernel &kernel);

/// `o = softmax(q kT / sqrt(width)) v` for each head. Queries, keys and values
/// are columns of one matrix of bf16 for each sequence: batch x tokens x 3
/// heads width; o is batch x tokens x heads width.
struct AttentionKernel {
  int64_t batch, tokens, heads, width = 64;
  // The schedule. A group of `warps` has `queries` of one head, and takes
  // `keys` a turn, those of the next turn being on their way.
  int64_t queries = 128, warps = 4, keys = 64;
};

/// Coordinates: block of queries, head, sequence.
mlir::func::FuncOp buildAttentionKernel(mlir::ModuleOp module,
                                        llvm::StringRef name,
                                        const AttentionKernel &kernel);

/// `y = (x - mean x) / sqrt(var x + eps) * gain + bias` along rows, in bf16
/// with f32 statistics; gain and bias are 1 x columns in f32.
struct NormKernel {
  int64_t rows, columns;
  double eps = 1e-6;
  // The schedule: a warp has one row.
  int64_t warps = 4;
};

/// Coordinate: block of rows.
mlir::func::FuncOp buildNormKernel(mlir::ModuleOp module, llvm::StringRef name,
                                   const NormKernel &kernel);

} // namespace hova

#endif // HOVA_CODEGEN_CUDA_RECIPES_CUDAKERNELS_H
