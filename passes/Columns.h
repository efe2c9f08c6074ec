//===- Columns.h - Columns of a product that are results of their own -----===//
// SPDX-License-Identifier: Apache-2.0
//
// A product's columns may be several values: queries, keys and values that are
// stored in 16 bits, and what vertical attention adds up, which is not.
// A column group is such a value: a slice that begins and ends at multiples of
// a width, that of a strip of a weight, whose columns are computed at once. It
// costs nothing: each strip belongs to the operations whose columns it
// computes.

#ifndef HOVA_PASSES_COLUMNS_H
#define HOVA_PASSES_COLUMNS_H

#include "dialect/dense/DenseOps.h"
#include "dialect/program/ProgramOps.h"
#include "dialect/token/TokenOps.h"
#include "llvm/ADT/DenseMap.h"

namespace hova {

/// Columns `from` up to before `to` of a product.
struct ColumnRange {
  int64_t from = 0, to = 0;

  bool contains(const ColumnRange &other) const {
    return from <= other.from && other.to <= to;
  }
  int64_t width() const { return to - from; }
  /// Those of `other` among these; of none, the width is not positive.
  ColumnRange cut(const ColumnRange &other) const {
    return {std::max(from, other.from), std::min(to, other.to)};
  }
  bool operator==(const ColumnRange &other) const {
    return from == other.from && to == other.to;
  }
  /// Whether these can be a column group of a product of `width` columns: they
  /// begin and end at multiples of `groupWidth` or at the end of the product.
  bool isColumnGroup(int64_t width, int64_t groupWidth) const;
};

/// Whether `op` is a slice of columns.
bool isColumnSlice(mlir::Operation *op);

/// Whether `op` is a view: a slice of columns inside a kernel that belongs to
/// no stage. It takes no time, because it is an address in its operand.
bool isKernelView(mlir::Operation *op);

/// The columns that a slice of columns reads of its operand.
ColumnRange columnsOf(SliceOp slice);

/// Whether `op` is a column group: it slices a product that nobody reads but
/// such slices, which begin and end at multiples of `groupWidth` columns, where
/// it pays: a slice leaves the kernel or the program, or an element-wise
/// operation can work on its tiles.
bool isColumnGroup(mlir::Operation *op, int64_t groupWidth);

/// The columns that each operation of a stage computes of those of the stage's
/// first operation, its anchor. Where tiles of the anchor hold both halves of
/// its columns, what reads a column of each, in the same place, computes that
/// of the first half.
class StageColumns {
public:
  StageColumns() = default;
  explicit StageColumns(bool holdsHalves) : holdsHalves(holdsHalves) {}

  /// Those of `op`; nothing where its operands in the stage have others.
  std::optional<ColumnRange> find(mlir::Operation *op) const;
  /// Adds `op`, for which `find` has found columns. The first is the anchor.
  void add(mlir::Operation *op);
  ColumnRange of(mlir::Operation *op) const { return ranges.lookup(op); }
  /// Whether an operation reads columns of both halves.
  bool joinsHalves() const { return areJoined; }
  /// The anchor's columns, or its halves where some operation joins them.
  llvm::SmallVector<ColumnRange> parts() const;
  /// The anchor's columns, divided where a range begins or ends.
  llvm::SmallVector<ColumnRange> divide() const;

private:
  /// Of an operand in the stage, as `op` reads it; nothing of others.
  std::optional<ColumnRange> read(mlir::Operation *op,
                                  mlir::Value operand) const;
  /// What stands for columns in the same place of two halves.
  std::optional<ColumnRange> join(ColumnRange a, ColumnRange b) const;

  bool holdsHalves = false, areJoined = false;
  ColumnRange whole;
  llvm::DenseMap<mlir::Operation *, ColumnRange> ranges;
};

} // namespace hova

#endif // HOVA_PASSES_COLUMNS_H
