//===- WeightPlaces.h - Where weights are in the image ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_PASSES_TILE_WEIGHTPLACES_H
#define HOVA_PASSES_TILE_WEIGHTPLACES_H

#include "dialect/program/ProgramOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace hova {

/// Bytes of an element in memory.
int64_t elementBytes(mlir::MemRefType type);

/// Fixes the image's layout, in the order of the folding function, and makes
/// that pack what `main` reads in a layout.
///
/// Integers that no weight decides, as the rows of a placement, say where
/// kernels read and write. They are no part of the image, which comes from a
/// file, but of the program: what makes them becomes the table program.
class WeightPlaces {
public:
  WeightPlaces(mlir::ModuleOp module, mlir::func::FuncOp main)
      : module(module), main(main) {}

  /// Told of every weight that `main` reads: its buffer, its place in bytes,
  /// and whether that is among the tables and not in the image.
  using Place =
      llvm::function_ref<void(mlir::Value, mlir::MemRefType, int64_t, bool)>;
  /// Fails, with an error on the operation, where what is read and what is
  /// stored do not fit.
  llvm::LogicalResult assign(Place place);
  /// The buffer of a weight or table in the tiled `main`. One place has one for
  /// every value that lives there, with its name.
  mlir::Value getBuffer(mlir::OpBuilder &builder, mlir::Location origin,
                        mlir::MemRefType type, int64_t offset, bool isTable);
  /// Of the whole image, after `assign`.
  int64_t getBytes() const { return bytes; }
  /// Of the tables, after `assign`.
  int64_t getTableBytes() const { return tableBytes; }

private:
  llvm::LogicalResult assignWeight(StoreWeightOp store,
                                   llvm::ArrayRef<ImageWeightOp> references,
                                   Place place);
  void moveToTables(StoreWeightOp store);

  mlir::ModuleOp module;
  mlir::func::FuncOp main;
  int64_t bytes = 0, tableBytes = 0;
  using Buffers =
      llvm::DenseMap<std::tuple<int64_t, mlir::Type, mlir::Attribute>,
                     mlir::Value>;
  Buffers image, tables;
};

} // namespace hova

#endif // HOVA_PASSES_TILE_WEIGHTPLACES_H
