//===- TileOps.h - Tiles of matrices as vectors
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_DIALECT_TILEOPS_H
#define HOVA_DIALECT_TILEOPS_H

#include "dialect/HovaDialect.h"

namespace hova {

/// Entries of the table of a `hova.lookup`.
inline constexpr int64_t kLookupEntries = 16;

} // namespace hova

#define GET_OP_CLASSES
#include "dialect/TileOps.h.inc"

#endif // HOVA_DIALECT_TILEOPS_H
