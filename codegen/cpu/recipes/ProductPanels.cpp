//===- ProductPanels.cpp - Weight panels and the tiles that read them -----===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cpu/recipes/ProductPanels.h"
#include "codegen/cpu/CpuFacts.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace hova {

Value packedWeight(KernelEmitter &e, Operation *op, Value weight) {
  Value packed = e.buffer(weight);
  if (cast<MemRefType>(packed.getType()).getRank() != 3) {
    op->emitOpError("needs a weight that is known before the program runs");
    return {};
  }
  return packed;
}

int64_t tileLanes(const CpuSchedule &schedule, int64_t rest) {
  if (rest >= schedule.tileColumns) {
    return schedule.tileColumns;
  }
  int64_t up = llvm::PowerOf2Ceil(rest);
  return up - rest < CpuFacts::lineElements ? up : up / 2;
}

void forEachTileColumn(KernelEmitter &e, int64_t width,
                       llvm::function_ref<void(Value, int64_t, int64_t)> body) {
  int64_t lanes = e.schedule.tileColumns;
  int64_t whole = width / lanes * lanes;
  if (whole) {
    e.forLoop("columns", e.index(0), e.index(whole), lanes,
              [&](Value column) { body(column, lanes, lanes); });
  }
  if (int64_t rest = width - whole) {
    body(e.index(whole), llvm::PowerOf2Ceil(rest), rest);
  }
}

} // namespace hova
