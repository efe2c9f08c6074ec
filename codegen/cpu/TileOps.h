//===- TileOps.h - Tiles of matrices as vectors -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CPU_TILEOPS_H
#define HOVA_CODEGEN_CPU_TILEOPS_H

#include "dialect/HovaDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace hova {

/// Entries of the table of a `hova_cpu.lookup`.
inline constexpr int64_t kLookupEntries = 16;

} // namespace hova

#include "codegen/cpu/TileRows.h.inc"

#define GET_OP_CLASSES
#include "codegen/cpu/TileOps.h.inc"

#endif // HOVA_CODEGEN_CPU_TILEOPS_H
