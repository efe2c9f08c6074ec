//===- Grouping.h - Which operations share a kernel -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The operations of `main` in groups, each of which becomes a kernel
// (KernelBuilder.h). FuseKernels.cpp says what groups are for.

#ifndef HOVA_PASSES_FUSE_GROUPING_H
#define HOVA_PASSES_FUSE_GROUPING_H

#include "passes/Columns.h"
#include "passes/Units.h"
#include "passes/fuse/FusionPolicy.h"

namespace hova {

/// Operations that will become one kernel.
struct Group {
  Division division = Division::rows;
  UnitsAttr units;
  int64_t rows = 0;
  llvm::SmallVector<mlir::Operation *> ops;
  StageColumns columns; ///< where threads divide panels
};

/// All operations of `main`, grouped.
class Grouping {
public:
  /// Without `chain` every operation is a group of its own.
  Grouping(mlir::Block &block, const FusionPolicy &policy, bool chain)
      : block(block), policy(policy), chain(chain) {}

  llvm::LogicalResult run();
  llvm::ArrayRef<Group> getGroups() const { return groups; }
  /// Group of the operation that computes `value`, -1 for inputs and weights.
  int groupOf(mlir::Value value) const;
  /// A slice of columns is an address, not work, unless it leaves the program
  /// or is a column group of a product that it holds.
  bool isView(mlir::Operation *op) const;
  /// The value whose memory `value` is.
  mlir::Value lookThroughViews(mlir::Value value) const;

private:
  /// What the threads of a kernel that begins with `op` divide.
  Division divisionOf(mlir::Operation *op) const;
  UnitsAttr unitsOf(mlir::Operation *op) const;
  /// In how many blocks threads divide a dim of `op` besides its units.
  int64_t chooseBlocks(mlir::Operation *op) const;
  /// Whether group `number` may hold `op`, its operands' groups aside.
  bool canHold(int number, mlir::Operation *op) const;
  /// The first group in which `op` can stand.
  int earliestGroup(mlir::Operation *op) const;
  void place(mlir::Operation *op, int number);

  mlir::Block &block;
  FusionPolicy policy;
  bool chain;
  llvm::SmallVector<Group> groups;
  llvm::DenseMap<mlir::Operation *, int> index;
};

} // namespace hova

#endif // HOVA_PASSES_FUSE_GROUPING_H
