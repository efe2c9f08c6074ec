//===- HovaCpuDialect.h - What the CPU says of kernels --------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CPU_HOVACPUDIALECT_H
#define HOVA_CODEGEN_CPU_HOVACPUDIALECT_H

#include "codegen/cpu/CpuFacts.h"
#include "dialect/Schedule.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "passes/fuse/FusionPolicy.h"
#include "llvm/ADT/Hashing.h"

namespace hova {

// A tile as a parameter of an attribute.
inline bool operator==(RegisterTile a, RegisterTile b) {
  return a.rows == b.rows && a.columns == b.columns;
}
inline llvm::hash_code hash_value(RegisterTile tile) {
  return llvm::hash_combine(tile.rows, tile.columns);
}

} // namespace hova

#include "codegen/cpu/HovaCpuDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "codegen/cpu/HovaCpuAttrs.h.inc"

#endif // HOVA_CODEGEN_CPU_HOVACPUDIALECT_H
