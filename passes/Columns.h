//===- Columns.h - Columns of a product that are results of their own -----===//
// SPDX-License-Identifier: Apache-2.0
//
// A product's columns may be several values: queries, keys and values that are
// stored in 16 bits, and what vertical attention adds up, which is not. A part
// is a slice of whole groups of columns: those of a weight panel, which are
// computed together. It costs nothing: each group belongs to the operations
// whose columns it computes.

#ifndef HOVA_PASSES_COLUMNS_H
#define HOVA_PASSES_COLUMNS_H

#include "dialect/DenseOps.h"
#include "dialect/TokenOps.h"
#include "llvm/ADT/DenseMap.h"

namespace hova {

/// Columns `from` up to before `to` of a product.
struct ColumnRange {
  int64_t from = 0, to = 0;

  bool contains(const ColumnRange &other) const {
    return from <= other.from && other.to <= to;
  }
  bool operator==(const ColumnRange &other) const {
    return from == other.from && to == other.to;
  }
  /// Whether these are whole groups of `group` columns of a product of `width`,
  /// whose last group may be narrower.
  bool isWholeGroups(int64_t width, int64_t group) const;
};

/// The columns that a slice of columns reads of its operand.
ColumnRange columnsOf(SliceOp slice);

/// Whether `op` slices a product nobody reads but such slices of whole groups
/// of `group` columns, where it pays: a slice leaves the kernel or the program,
/// or an element-wise operation can work on its tiles.
bool isPart(mlir::Operation *op, int64_t group);

/// The columns that each operation of a stage computes of those of the stage's
/// first operation, its anchor.
class StageColumns {
public:
  /// Those of `op`; nothing where its operands in the stage have others.
  std::optional<ColumnRange> find(mlir::Operation *op) const;
  /// Adds `op`, for which `find` has found columns. The first is the anchor.
  void add(mlir::Operation *op);
  ColumnRange of(mlir::Operation *op) const { return ranges.lookup(op); }
  /// The anchor's columns, divided where a range begins or ends.
  llvm::SmallVector<ColumnRange> divide() const;

private:
  ColumnRange whole;
  llvm::DenseMap<mlir::Operation *, ColumnRange> ranges;
};

} // namespace hova

#endif // HOVA_PASSES_COLUMNS_H
