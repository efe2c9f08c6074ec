//===- Grouping.h - Which operations share a kernel -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The operations of `main` in groups, each of which becomes a kernel
// (KernelBuilder.h). FuseKernels.cpp says what groups are for.
//
// A group has one order of rows, that of its first operation. An operation that
// works row by row may join in any order of rows that is a permutation of it:
// a placement (dialect/Placement.h) says where the rows of its result are. So
// the rearrangement between two operations of a group costs nothing, and one
// between two groups is the place where the second reads:
//
//   %p = linear ..                       rows of windows, the group's order
//   %r = rearrange %p [inverse window]   a view
//   %y = add %x, %r                      rows of the image: placed by `window`
//   %n = layer_norm %y                   the same

#ifndef HOVA_PASSES_FUSE_GROUPING_H
#define HOVA_PASSES_FUSE_GROUPING_H

#include "dialect/placement/PlacementOps.h"
#include "passes/Columns.h"
#include "passes/Units.h"
#include "passes/fuse/FusionPolicy.h"

namespace hova {

/// Operations that will become one kernel, or a kernel that was there before.
struct Group {
  Division division = Division::rows;
  bool isFormed = false; ///< `ops` is the kernel, which nothing joins
  UnitsAttr units;
  int64_t rows = 0;
  llvm::SmallVector<mlir::Operation *> ops;
  StageColumns columns; ///< where threads divide strips of columns
};

/// A value as `placement` makes it of `source`, or a part of its columns.
struct PlacedSource {
  mlir::Value source;
  PlacementAttrInterface placement;
};

/// An operation that reads what the kernel of another one makes, and why it
/// does not stand in that kernel.
struct MissedFusion {
  mlir::OpOperand *operand;
  std::string why;
};

/// How operations are grouped.
struct GroupingOptions {
  FusionPolicyAttrInterface policy; ///< null: every legal join pays
  int64_t columnGroupWidth = 1;     ///< see FuseOptions
  bool chain = true; ///< without it every operation is a group of its own
};

/// All operations of `main`, grouped.
class Grouping {
public:
  Grouping(mlir::Block &block, GroupingOptions options)
      : block(block), policy(options.policy),
        columnGroupWidth(options.columnGroupWidth), chain(options.chain) {}

  llvm::LogicalResult run();
  /// Why operations do not stand in the kernels that make their operands.
  llvm::ArrayRef<MissedFusion> getMissedFusions() const {
    return missedFusions;
  }
  llvm::ArrayRef<Group> getGroups() const { return groups; }
  /// Group of the operation that computes `value`, -1 for inputs and weights.
  int groupOf(mlir::Value value) const;
  bool holds(int number, mlir::Operation *op) const {
    auto found = index.find(op);
    return found != index.end() && found->second == number;
  }
  /// Of an operation of a group: what makes rows in the group's order of its
  /// result. Null: it has that order itself.
  PlacementAttrInterface placementOf(mlir::Operation *op) const {
    return placements.lookup(op);
  }
  /// Whether `op` stays between kernels and is no work. The operands of one
  /// that assembles their rows are written where they stand in its result:
  /// groups compute them, nothing else decides their place, and none stands in
  /// two places. What a group computes, and is reshaped, is read as it lies,
  /// and so are rows of it where the target has addresses for them.
  bool isAssembled(mlir::Operation *op) const { return assembled.contains(op); }
  /// A view is an address, not work: a slice of columns, unless it leaves the
  /// program, a kernel that was there before reads it, or it is a column group
  /// of a product that a group holds; and a rearrangement of rows that only
  /// operations on the same rows read.
  bool isView(mlir::Operation *op) const;
  /// The value whose memory `value` is, and where its rows are in that.
  PlacedSource lookThroughViews(mlir::Value value) const;

private:
  /// What the threads of a kernel that begins with `op` divide.
  Division divisionOf(mlir::Operation *op) const;
  UnitsAttr unitsOf(mlir::Operation *op) const;
  /// In how many blocks threads divide a dim of `op` besides its units.
  int64_t chooseBlocks(mlir::Operation *op) const;
  /// Whether group `number` should hold `op`, its operands' groups aside; if
  /// not, `why` is told the reason: it may not, or it does not pay.
  bool canHold(int number, mlir::Operation *op,
               std::string *why = nullptr) const;
  /// Whether it may.
  bool mayHold(int number, mlir::Operation *op, std::string *why) const;
  /// Whether `op` reads the result of the group's first operation, which
  /// divides dims inside of rows, such as heads, and threads have all that it
  /// computes of their part.
  bool keepsUnits(int number, mlir::Operation *op) const;
  /// The same where threads divide the columns of the group's product.
  bool canHoldColumns(int number, mlir::Operation *op, std::string *why) const;
  /// Whether the reader of `operand` may stand in the group that makes it, as
  /// far as this operand is concerned; if not, `why` is told the reason.
  bool canJoin(mlir::OpOperand &operand, std::string *why = nullptr) const;
  /// Why the threads of a kernel that begins with `op` divide no rows.
  std::string whyNoRows(mlir::Operation *op) const;
  /// Why the reader of `operand`, which is about to be placed, does not stand
  /// in the group that makes it.
  std::string whyApart(mlir::OpOperand &operand) const;
  void noteMissedFusions(mlir::Operation *op, int number);
  void placeFormed(KernelOp kernel);
  /// Places `op` in the first group from `earliest` on that may hold it.
  void choose(mlir::Operation *op, int earliest);
  /// Whether `op` moves rows of what other kernels make, which its readers read
  /// one by one: in the first of their groups it takes no memory.
  bool waitsForReader(mlir::Operation *op) const;
  /// The first group in which the reader of `operand` can stand, as far as this
  /// operand is concerned.
  int earliestGroupFor(mlir::OpOperand &operand) const;
  /// The first group in which `op` can stand.
  int earliestGroup(mlir::Operation *op) const;
  /// The placement of `op` in group `number`; nothing where its rows are none
  /// of the group's, and then `why` is told the reason.
  std::optional<PlacementAttrInterface>
  placementIn(int number, mlir::Operation *op,
              std::string *why = nullptr) const;
  void place(mlir::Operation *op, int number);
  bool canReshape(ReshapeOp op) const;
  bool canAssemble(mlir::Operation *op) const;
  bool canViewRows(mlir::Operation *op) const;
  /// The last group that computes `value` or a part of it, -1 for inputs.
  int lastGroupOf(mlir::Value value) const;

  mlir::Block &block;
  FusionPolicyAttrInterface policy;
  int64_t columnGroupWidth;
  bool chain;
  llvm::SmallVector<Group> groups;
  llvm::DenseMap<mlir::Operation *, int> index;
  llvm::DenseMap<mlir::Operation *, PlacementAttrInterface> placements;
  llvm::DenseSet<mlir::Operation *> assembled;
  /// Values that are parts of what is assembled.
  llvm::DenseSet<mlir::Value> parts;
  /// What is placed as soon as it is read.
  llvm::DenseSet<mlir::Operation *> waiting;
  llvm::SmallVector<MissedFusion> missedFusions;
};

} // namespace hova

#endif // HOVA_PASSES_FUSE_GROUPING_H
