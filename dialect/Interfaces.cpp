//===- Interfaces.cpp - Interface definitions -----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/Interfaces.h"

#include "dialect/Interfaces.cpp.inc"

using namespace mlir;

namespace hova {

int64_t Reduction::fitLength(int64_t most) const {
  int64_t length = std::max(most / unit, int64_t(1)) * unit;
  if (isEven) {
    length = std::min(length, terms);
    assert(terms % unit == 0 && "a unit divides the terms");
    while (terms % length != 0) {
      length -= unit;
    }
  }
  return length;
}

Operation *cloneWithRows(RewriterBase &rewriter, OpOperand &operand, Value rows,
                         int64_t count) {
  Operation *clone = rewriter.clone(*operand.getOwner());
  clone->setOperand(operand.getOperandNumber(), rows);
  auto type = cast<RankedTensorType>(clone->getResult(0).getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[1] = count;
  clone->getResult(0).setType(type.clone(shape));
  return clone;
}

} // namespace hova
