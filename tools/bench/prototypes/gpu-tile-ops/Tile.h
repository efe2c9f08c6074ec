//===- Tile.h - The dialect of tiles and what its lowerings share ---------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef TILE_H
#define TILE_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/Pass.h"

#include "TileDialect.h.inc"
#include "TileEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "TileAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "TileTypes.h.inc"
#define GET_OP_CLASSES
#include "Tile.h.inc"

namespace tile {

/// `--lower-tiles-to-loops`: a processor that runs one member at a time.
std::unique_ptr<mlir::Pass> createLowerToLoopsPass();

/// `--lower-tiles-to-threads=chip=sm_80|sm_90a`: members are warps.
std::unique_ptr<mlir::Pass> createLowerToThreadsPass();

/// Rows of a box in a slot, or of a tile; and its columns.
inline int64_t boxRows(mlir::Type type) {
  auto shape = llvm::cast<mlir::ShapedType>(type).getShape();
  return shape[shape.size() - 2];
}
inline int64_t boxColumns(mlir::Type type) {
  return llvm::cast<mlir::ShapedType>(type).getShape().back();
}

} // namespace tile

#endif // TILE_H
