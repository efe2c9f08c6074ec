//===- TileRows.td - What becomes of a tile's rows ------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CPU_TILEROWS
#define HOVA_CODEGEN_CPU_TILEROWS

include "mlir/IR/OpBase.td"

def HovaCpu_TileRowsOpInterface : OpInterface<"TileRowsOpInterface"> {
  let cppNamespace = "::hova";
  let description = [{
    An operation whose only result is a tile, `vector<rows x columns>` of f32,
    made of the rows of tiles and of other values. It says twice what it
    computes. `emitRows` is its code: the phase `vectorize` gives every row of a
    tile a vector of its own, and asks the operation for those of its result.
    `evaluateTile` is its meaning: `hova verify` and `--check-meaning` run kernels
    before and after that phase, and compare. So neither may call the other.

    Element-wise operations (of `arith` and `math`, for example) need none.
  }];
  let methods = [
    InterfaceMethod<[{
      The rows of the result, as vectors of one dimension, of operations that
      stand at the builder. An operand that is a tile is its rows, and any other
      operand one value, itself.
    }], "::llvm::SmallVector<::mlir::Value>", "emitRows",
      (ins "::mlir::ImplicitLocOpBuilder &":$builder,
           "::llvm::ArrayRef<::llvm::SmallVector<::mlir::Value>>":$operands)>,
    InterfaceMethod<[{
      The elements of the result, row by row, from those of the operands. They
      are rounded to f32 afterwards.
    }], "void", "evaluateTile",
      (ins "::llvm::ArrayRef<::llvm::ArrayRef<double>>":$operands,
           "::llvm::MutableArrayRef<double>":$result)>,
  ];
}

#endif // HOVA_CODEGEN_CPU_TILEROWS
