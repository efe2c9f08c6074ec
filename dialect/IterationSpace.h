//===- IterationSpace.h - How an operation iterates -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The loops of an operation and what each reads and writes, in the manner of
// upstream's structured operations: named dims, parallel or a reduction, and an
// affine map from them to the axes of every operand and result. A product is
//
//   dims    batch, token, column; reduction inner
//   x       (batch, token, inner)
//   weight  (inner, column)
//   result  (batch, token, column)
//
// Passes decide by this alone what may be divided among threads and what may
// share a kernel: two operations may, where the dims that threads divide stand
// at the same axes of the value that passes between them.
//
// Maps say which elements are read, not what is made of them. An operation that
// turns every row by its index (rotary positions) has the maps of one that does
// not, so that is said apart: `ignoresPosition`. Of an operation that does not
// say it no pass takes rows away or moves them.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_DIALECT_ITERATIONSPACE_H
#define HOVA_DIALECT_ITERATIONSPACE_H

#include "mlir/Dialect/Utils/StructuredOpsUtils.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Operation.h"

namespace hova {

/// One loop.
struct IterationDim {
  llvm::StringRef name;
  int64_t size; ///< ShapedType::kDynamic where it is not known
  mlir::utils::IteratorType type;
};

/// Rows `first`, `first + step`, `first + 2 * step`, ..
struct RowSteps {
  int64_t first, step;
};

struct IterationSpace {
  llvm::SmallVector<IterationDim> dims;
  /// One map per operand; positions outside of the operand are not read, nor
  /// written outside of the result: the last block may be shorter. Null:
  /// the operand is *gathered*; what is read depends on data, or on a rule that
  /// no affine map states.
  llvm::SmallVector<mlir::AffineMap> operands;
  llvm::SmallVector<mlir::AffineMap> results;
  /// The parallel dims that threads divide where a kernel begins with the
  /// operation, outermost first.
  llvm::SmallVector<unsigned> units;
  /// A parallel dim that threads may divide in blocks as well, where there are
  /// few units: the queries of an attention.
  std::optional<unsigned> blockDim;
  /// Whether a row of the result is a function of the elements that the maps
  /// name for it, and of nothing else: not of its index, nor of the number of
  /// rows. Such an operation may be given some of the rows alone, or all in
  /// another order, and computes the same rows.
  bool ignoresPosition = false;

  /// The same space, of an operation of which that is so.
  IterationSpace ignoringPosition() && {
    ignoresPosition = true;
    return std::move(*this);
  }

  /// Whether the units are the rows of the results: all axes but the last.
  bool dividesRows() const;
  /// Whether operand `index` is read at the result's row alone: a row is all of
  /// the last axis at one position of the others.
  bool readsSameRow(unsigned index) const;
  /// Whether the same elements of operand `index` are read at all positions of
  /// these dims. False for a gathered operand.
  bool readsAlike(unsigned index, llvm::ArrayRef<unsigned> over) const;
  /// How many units there are; 0 where a size is not known.
  int64_t countUnits() const;
};

/// Whether threads that divide the units of one operation have all that another
/// computes of its result: where the other reads it, as operand `index`, the
/// units stand at parallel dims of its own.
bool keepsUnits(const IterationSpace &space, const IterationSpace &reader,
                unsigned index);

/// Collects the dims and maps of one operation. Operands that nothing was said
/// about are gathered.
class IterationSpaceBuilder {
  using Axes = llvm::SmallVector<mlir::AffineExpr>;

public:
  explicit IterationSpaceBuilder(mlir::Operation *op);

  mlir::AffineExpr addDim(llvm::StringRef name, int64_t size,
                          mlir::utils::IteratorType type);
  mlir::AffineExpr parallel(llvm::StringRef name, int64_t size) {
    return addDim(name, size, mlir::utils::IteratorType::parallel);
  }
  mlir::AffineExpr reduction(llvm::StringRef name, int64_t size) {
    return addDim(name, size, mlir::utils::IteratorType::reduction);
  }
  /// Parallel dims for all axes of the result but the last, which become the
  /// units.
  llvm::SmallVector<mlir::AffineExpr> rows();
  mlir::AffineExpr constant(int64_t value);

  void operand(unsigned index, llvm::ArrayRef<mlir::AffineExpr> axes) {
    operands[index] = Axes(axes);
  }
  void result(llvm::ArrayRef<mlir::AffineExpr> axes) {
    results.emplace_back(axes);
  }
  void setUnits(llvm::ArrayRef<mlir::AffineExpr> dims);
  void setBlockDim(mlir::AffineExpr dim);

  IterationSpace build();

private:
  mlir::Operation *op;
  IterationSpace space;
  llvm::SmallVector<std::optional<Axes>> operands;
  llvm::SmallVector<Axes> results;
};

/// Every element of the result is computed from the elements at its position;
/// an operand repeats along the leading axes that it has not, and along those
/// in which it has one element. What is computed of tiles (`TileOpInterface`)
/// ignores the position, which no tile has; anything else says so itself.
IterationSpace elementwiseSpace(mlir::Operation *op);

/// Every row of the result is computed from the whole rows of the first `count`
/// operands at its position, and from all of the others.
/// `rowSpace(op, 1).ignoringPosition()` is that of a norm.
IterationSpace rowSpace(mlir::Operation *op, unsigned count);

} // namespace hova

#endif // HOVA_DIALECT_ITERATIONSPACE_H
