//===- Units.h - What the threads of a kernel divide ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A kernel has a unit space (`#hova.units`): named parallel dims that each of
// its operations has. Where it comes from, and what kind it is, is asked of the
// operations' iteration spaces alone.

#ifndef HOVA_PASSES_UNITS_H
#define HOVA_PASSES_UNITS_H

#include "dialect/program/ProgramOps.h"

namespace hova {

/// The kinds of unit spaces.
enum class Division {
  rows,         ///< rows of the kernel's results: all axes but the last
  columnStrips, ///< strips of the weight's columns of the kernel's one product
  inner,        ///< dims inside of rows, as the heads of an attention
  sequences,    ///< groups of batch entries: all tokens of each
};

/// The name of the one dim where strips of columns are divided.
inline constexpr llvm::StringLiteral kColumnStripDim = "column_strip";

/// The name of the one dim where groups of sequences are divided.
inline constexpr llvm::StringLiteral kSequenceDim = "sequence_group";

/// What the name of a dim ends with that counts blocks of another.
inline constexpr llvm::StringLiteral kBlockSuffix = "_block";

/// The units of a kernel that begins with `op`: the dims that its iteration
/// space names, and `blocks` blocks of the dim that may be divided besides.
/// Null where it has none or a size is not known.
UnitsAttr unitsOf(mlir::Operation *op, int64_t blocks = 1);

/// Says that the threads of a kernel that begins with `op` divide these units,
/// and not rows, as verdicts do.
std::string whyNoRows(mlir::Operation *op, UnitsAttr units);

/// In how many blocks the units divide a dim besides; 1 where they do not.
int64_t blocksOf(UnitsAttr units);

/// `strips` units.
UnitsAttr columnStripUnits(mlir::MLIRContext *context, int64_t strips);

/// `groups` units, each all tokens of as many batch entries.
UnitsAttr sequenceUnits(mlir::MLIRContext *context, int64_t groups);

/// The kind of units that `op` has by itself: rows or inner.
Division divisionOf(mlir::Operation *op);

/// Whether `op` reads the result of `first`, which divides dims inside of rows,
/// such as heads, and the threads that have a part of it have all that `op`
/// computes of that part.
bool keepsUnits(mlir::Operation *first, mlir::Operation *op);

/// The kind of units that the threads of a kernel divide.
Division divisionOf(KernelOp kernel);

/// The operation that a kernel begins with: its first that is not an address,
/// the anchor of its first stage after `assign`. Null where it has none.
mlir::Operation *firstOf(KernelOp kernel);

} // namespace hova

#endif // HOVA_PASSES_UNITS_H
