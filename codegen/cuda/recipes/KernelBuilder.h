//===- KernelBuilder.h - What kernels of group operations are written with ===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CUDA_RECIPES_KERNELBUILDER_H
#define HOVA_CODEGEN_CUDA_RECIPES_KERNELBUILDER_H

#include "dialect/group/GroupOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/tile/Expr.h"
#include <functional>

namespace hova {

/// Scalars, element-wise functions and loops of one function. Tiles, matrices
/// and slots are values; coordinates and elements are expressions.
class KernelBuilder : public mlir::ImplicitLocOpBuilder {
public:
  using Values = llvm::SmallVector<mlir::Value>;
  using Elements = llvm::ArrayRef<Expr>;
  /// The element of a map, from those of its operands and its position.
  using Body = llvm::function_ref<Expr(Elements elements, Expr i, Expr j)>;

  /// Appends a function with these matrices and `coordinates` of type index,
  /// and stands in its body.
  KernelBuilder(mlir::ModuleOp module, llvm::StringRef name,
                llvm::ArrayRef<mlir::Type> matrices, int64_t coordinates);
  /// The function, complete.
  mlir::func::FuncOp finish();
  mlir::Value argument(int64_t i) { return function.getArgument(i); }

  mlir::Type bf16() { return getBF16Type(); }
  mlir::Type f32() { return getF32Type(); }

  /// A scalar that others are computed with.
  Expr operator()(mlir::Value scalar) { return {scalar, this}; }
  /// The one result of an operation on scalars.
  template <typename OpT, typename... Args> Expr compute(Args &&...args) {
    return hova::compute<OpT>(*this, std::forward<Args>(args)...);
  }
  Expr index(int64_t value) { return Expr(value).in(*this); }
  Expr number(double value) { return Expr(value).in(*this); } ///< f32
  /// x + 1, or 0 after count - 1; x - 1, or count - 1 before 0.
  Expr next(Expr x, int64_t count);
  Expr previous(Expr x, int64_t count);

  /// 2^x, and exp(factor (x - most)), by the exponential that a device has.
  Expr power(Expr x) { return compute<mlir::math::Exp2Op>(x); }
  Expr power(Expr x, Expr most, double factor = 1);
  /// An activation of one f32, in the body of a map.
  Expr activate(ActivationKind kind, Expr x);

  /// Element by element. Operands may be null; so are their elements.
  mlir::Value map(mlir::Type result, mlir::ValueRange operands, Body body);
  /// The sum, or the larger, of tiles of one type.
  mlir::Value combine(Combine combine, mlir::Value x, mlir::Value y);
  /// The same of a column and the rows of `terms`, as the column has them.
  mlir::Value combineRows(Combine combine, mlir::Value column,
                          mlir::Value terms);
  mlir::Value fill(mlir::Type result, double value);
  /// A tile of f32 whose neighbours have changed places.
  mlir::Value exchange(mlir::Value tile);
  /// One half of the columns of every member.
  mlir::Value half(mlir::Value tile, bool isSecond);
  /// Group memory for boxes of these rows and columns.
  mlir::Value slots(std::array<int64_t, 3> shape, mlir::Type element);
  /// A partial column that only the rows ask for whose `condition` is not 0.
  mlir::Value where(mlir::Value condition,
                    llvm::function_ref<mlir::Value()> body);
  mlir::Value reduce(Combine combine, mlir::Value tile, TileDistribution lanes);
  mlir::Value load(mlir::Type tile, mlir::Value matrix, Expr row, Expr column,
                   bool rowsInside, bool columnsInside);
  void store(mlir::Value tile, mlir::Value matrix, Expr row, Expr column,
             bool rowsInside, bool columnsInside);
  /// The same of a tile of f32, rounded to the matrix' element type.
  void storeRounded(mlir::Value tile, mlir::Value matrix, Expr row, Expr column,
                    bool rowsInside, bool columnsInside);
  /// A row and a column of a matrix.
  using Cell = std::pair<Expr, Expr>;
  /// Elements of a matrix from where `place` says for each (i, j), 0 outside.
  mlir::Value gather(mlir::Type tile, mlir::Value matrix,
                     llvm::function_ref<Cell(Expr i, Expr j)> place);
  /// The same by the elements of tiles there. `inBounds` promises that no row
  /// and no column that `place` says is outside.
  mlir::Value gather(mlir::Type tile, mlir::Value matrix,
                     mlir::ValueRange operands,
                     llvm::function_ref<Cell(Elements, Expr i, Expr j)> place,
                     std::array<bool, 2> inBounds = {});
  /// Elements of a box of group memory, whose rows are all inside; without a
  /// slot of all boxes beside each other.
  mlir::Value gatherOfBox(mlir::Type tile, mlir::Value slots, Expr slot,
                          llvm::function_ref<Cell(Expr i, Expr j)> place,
                          bool columnsInside = true);
  /// Which row of a matrix stands in the place of a row.
  using RowMap = std::function<Expr(Expr row)>;
  mlir::Value copy(mlir::Value matrix, Expr row, Expr column, mlir::Value slots,
                   Expr slot, bool rowsInside, bool columnsInside,
                   const RowMap &sourceRow = {});
  /// Loops over [0, count); what `body` gives is carried to the next turn.
  using Turn = llvm::function_ref<Values(Expr i, mlir::ValueRange)>;
  Values loop(int64_t count, mlir::ValueRange inits, Turn body) {
    return loop(0, count, inits, body);
  }
  /// The same over [from, to).
  Values loop(Expr from, Expr to, mlir::ValueRange inits, Turn body);

private:
  /// Writes the body.
  mlir::Value gather(GroupGatherOp op,
                     llvm::function_ref<Cell(Elements, Expr i, Expr j)> place);

  mlir::func::FuncOp function;
};

} // namespace hova

#endif // HOVA_CODEGEN_CUDA_RECIPES_KERNELBUILDER_H
