//===- ProductPanels.cpp - Weight panels and the tiles that read them -----===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cpu/recipes/ProductPanels.h"
#include "codegen/cpu/CpuFacts.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace hova {

FailureOr<Value> packedWeight(KernelEmitter &e, Operation *op, Value weight) {
  Value packed = weight ? e.buffer(weight) : Value();
  if (packed && cast<MemRefType>(packed.getType()).getRank() != 3) {
    return op->emitOpError("needs a weight that is known before the program "
                           "runs");
  }
  return packed;
}

std::optional<Strips> stripsOf(const KernelEmitter &e, Value packed) {
  if (!e.strips || e.schedule.division == Division::columnStrips) {
    return e.strips;
  }
  // Whoever has all of them does not say how many there are.
  int64_t count = cast<MemRefType>(packed.getType()).getShape()[0];
  return Strips{e.strips->begin, min(e.strips->end, count)};
}

MatrixPlace placeInPanels(Value packed, Expr row, Expr column) {
  int64_t panel = cast<MemRefType>(packed.getType()).getShape()[2];
  return {packed, {column / panel, row, column % panel}};
}

int64_t tileLanes(const CpuSchedule &schedule, int64_t rest) {
  if (rest >= schedule.tileColumns) {
    return schedule.tileColumns;
  }
  int64_t up = llvm::PowerOf2Ceil(rest);
  return up - rest < CpuFacts::lineElements ? up : up / 2;
}

void forEachTileColumn(KernelEmitter &e, int64_t width,
                       KernelEmitter::ChunkBody body) {
  e.forEachChunk(width, e.schedule.tileColumns, body);
}

} // namespace hova
