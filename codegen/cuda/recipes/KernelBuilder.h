//===- KernelBuilder.h - What kernels of group operations are written with ===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CUDA_RECIPES_KERNELBUILDER_H
#define HOVA_CODEGEN_CUDA_RECIPES_KERNELBUILDER_H

#include "dialect/GroupOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <functional>

namespace hova {

/// Scalars, element-wise functions and loops of one function.
class KernelBuilder : public mlir::ImplicitLocOpBuilder {
public:
  using Values = llvm::SmallVector<mlir::Value>;
  /// The element of a map, from those of its operands and its position.
  using Body = llvm::function_ref<mlir::Value(mlir::ValueRange elements,
                                              mlir::Value i, mlir::Value j)>;

  /// Appends a function with these matrices and `coordinates` of type index,
  /// and stands in its body.
  KernelBuilder(mlir::ModuleOp module, llvm::StringRef name,
                llvm::ArrayRef<mlir::Type> matrices, int64_t coordinates);
  /// The function, complete.
  mlir::func::FuncOp finish();
  mlir::Value argument(int64_t i) { return function.getArgument(i); }

  mlir::Type bf16() { return getBF16Type(); }
  mlir::Type f32() { return getF32Type(); }

  mlir::Value index(int64_t value);
  mlir::Value number(double value); ///< f32
  mlir::Value addIndex(mlir::Value x, int64_t y);
  mlir::Value mulIndex(mlir::Value x, int64_t y);
  mlir::Value sum(mlir::Value x, mlir::Value y);
  mlir::Value divIndex(mlir::Value x, int64_t y);
  mlir::Value remIndex(mlir::Value x, int64_t y);
  /// The smaller of x and most.
  mlir::Value atMost(mlir::Value x, int64_t most);
  /// x + 1, or 0 after count - 1; x - 1, or count - 1 before 0.
  mlir::Value next(mlir::Value x, int64_t count);
  mlir::Value previous(mlir::Value x, int64_t count);

  mlir::Value isEqual(mlir::Value x, mlir::Value y); ///< of integers
  mlir::Value isBelow(mlir::Value x, mlir::Value y); ///< without signs
  mlir::Value choose(mlir::Value condition, mlir::Value x, mlir::Value y);

  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value subtract(mlir::Value x, mlir::Value y);
  mlir::Value mul(mlir::Value x, mlir::Value y);
  mlir::Value fma(mlir::Value x, mlir::Value y, mlir::Value z);
  /// exp(factor (x - most)), by the exponential that a device has.
  mlir::Value power(mlir::Value x, mlir::Value most, double factor = 1);
  /// An activation of one f32, in the body of a map.
  mlir::Value activate(ActivationKind kind, mlir::Value x);

  mlir::Value map(mlir::Type result, mlir::ValueRange operands, Body body);
  mlir::Value fill(mlir::Type result, double value);
  /// A partial column that only the rows ask for whose `condition` is not 0.
  mlir::Value where(mlir::Value condition,
                    llvm::function_ref<mlir::Value()> body);
  mlir::Value reduce(Combine combine, mlir::Value tile, TileDistribution lanes);
  mlir::Value load(mlir::Type tile, mlir::Value matrix, mlir::Value row,
                   mlir::Value column, bool rowsInside, bool columnsInside);
  void store(mlir::Value tile, mlir::Value matrix, mlir::Value row,
             mlir::Value column, bool rowsInside, bool columnsInside);
  /// The same of a tile of f32, rounded to the matrix' element type.
  void storeRounded(mlir::Value tile, mlir::Value matrix, mlir::Value row,
                    mlir::Value column, bool rowsInside, bool columnsInside);
  /// A row and a column of a matrix.
  using Cell = std::pair<mlir::Value, mlir::Value>;
  /// Elements of a matrix from where `place` says for each (i, j), 0 outside.
  mlir::Value
  gather(mlir::Type tile, mlir::Value matrix,
         llvm::function_ref<Cell(mlir::Value i, mlir::Value j)> place);
  /// The same by the elements of tiles there. `inBounds` promises that no row
  /// and no column that `place` says is outside.
  mlir::Value gather(
      mlir::Type tile, mlir::Value matrix, mlir::ValueRange operands,
      llvm::function_ref<Cell(mlir::ValueRange, mlir::Value i, mlir::Value j)>
          place,
      std::array<bool, 2> inBounds = {});
  /// Elements of a box of group memory, whose rows are all inside; without a
  /// slot of all boxes beside each other.
  mlir::Value
  gatherOfBox(mlir::Type tile, mlir::Value slots, mlir::Value slot,
              llvm::function_ref<Cell(mlir::Value i, mlir::Value j)> place,
              bool columnsInside = true);
  /// Which row of a matrix stands in the place of a row.
  using RowMap = std::function<mlir::Value(mlir::Value row)>;
  mlir::Value copy(mlir::Value matrix, mlir::Value row, mlir::Value column,
                   mlir::Value slots, mlir::Value slot, bool rowsInside,
                   bool columnsInside, const RowMap &sourceRow = {});
  /// Loops over [0, count); what `body` gives is carried to the next turn.
  Values loop(int64_t count, mlir::ValueRange inits,
              llvm::function_ref<Values(mlir::Value i, mlir::ValueRange)> body);

  /// The same over [from, to).
  Values loop(mlir::Value from, mlir::Value to, mlir::ValueRange inits,
              llvm::function_ref<Values(mlir::Value i, mlir::ValueRange)> body);

private:
  /// Writes the body.
  mlir::Value gather(
      GroupGatherOp op,
      llvm::function_ref<Cell(mlir::ValueRange, mlir::Value i, mlir::Value j)>
          place);

  mlir::func::FuncOp function;
};

} // namespace hova

#endif // HOVA_CODEGEN_CUDA_RECIPES_KERNELBUILDER_H
