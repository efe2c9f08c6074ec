//===- RepeatedRows.cpp - Rows of operands that repeat --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/tile/RepeatedRows.h"

using namespace mlir;

namespace hova {

namespace {
/// Neighbouring axes that the operand has as well: their common index is `row /
/// divisor % size`, and a step of it is `stride` rows of the operand.
struct KeptAxes {
  int64_t divisor, size, stride;
};
} // namespace

/// own [5, 1, 2, 3, .], shape [4, 5, 7, 2, 3, .]
///   -> row / 42 % 5 * 6 + row % 6
Expr repeatedRow(const Expr &row, ArrayRef<int64_t> operand,
                 ArrayRef<int64_t> shape) {
  SmallVector<KeptAxes> kept;
  int64_t rows = 1, operandRows = 1;
  for (size_t i = 2; i <= shape.size(); ++i) {
    int64_t size = shape[shape.size() - i];
    int64_t operandSize = i <= operand.size() ? operand[operand.size() - i] : 1;
    assert((operandSize == size || operandSize == 1) && "axes do not line up");
    bool isKept = operandSize == size && size != 1;
    bool isNeighbour =
        !kept.empty() && kept.back().divisor * kept.back().size == rows;
    if (isKept && isNeighbour) {
      kept.back().size *= size;
    } else if (isKept) {
      kept.push_back({rows, size, operandRows});
    }
    rows *= size;
    operandRows *= operandSize;
  }
  Expr found;
  for (const KeptAxes &axes : llvm::reverse(kept)) {
    Expr index = axes.divisor == 1 ? row : row / axes.divisor;
    index = axes.divisor * axes.size == rows ? index : index % axes.size;
    index = axes.stride == 1 ? index : index * axes.stride;
    found = found ? found + index : index;
  }
  return found ? found : 0;
}

} // namespace hova
