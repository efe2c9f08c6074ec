//===- Program.cpp - Meaning of the operations of constant folding --------===//
// SPDX-License-Identifier: Apache-2.0
//
// Data movement keeps the type of the elements.

#include "dialect/evaluate/Evaluate.h"
#include "dialect/program/ProgramOps.h"

using namespace mlir;
using namespace hova;

template <typename T>
static void transpose(const T *x, T *y, int64_t rows, int64_t columns) {
  // Square blocks keep both sides near.
  constexpr int64_t kBlock = 32;
  for (int64_t i = 0; i < rows; i += kBlock) {
    for (int64_t j = 0; j < columns; j += kBlock) {
      for (int64_t r = i; r < std::min(i + kBlock, rows); ++r) {
        for (int64_t c = j; c < std::min(j + kBlock, columns); ++c) {
          y[c * rows + r] = x[r * columns + c];
        }
      }
    }
  }
}

LogicalResult TransposeOp::evaluate(ArrayRef<HostTensor> operands,
                                    SmallVectorImpl<HostTensor> &results) {
  const HostTensor &x = OperandValues(*this, operands)(getX());
  int64_t rows = x.getShape()[0], columns = x.getShape()[1];
  HostTensor result(x.getElement(), {columns, rows});
  withNumberType(x.getElement(), [&](auto zero) {
    using T = decltype(zero);
    transpose(x.as<T>(), result.mutableAs<T>(), rows, columns);
  });
  results.push_back(result);
  return success();
}

LogicalResult BlockDiagonalOp::evaluate(ArrayRef<HostTensor> operands,
                                        SmallVectorImpl<HostTensor> &results) {
  const HostTensor &x = OperandValues(*this, operands)(getBlocks());
  int64_t heads = x.getShape()[0], in = x.getShape()[1], out = x.getShape()[2];
  // A new tensor is zero.
  HostTensor result(x.getElement(), {heads * in, heads * out});
  withNumberType(x.getElement(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t row = 0; row < heads * in; ++row) {
      std::copy_n(x.as<T>() + row * out, out,
                  result.mutableAs<T>() + row * heads * out + row / in * out);
    }
  });
  results.push_back(result);
  return success();
}

LogicalResult PackOp::evaluate(ArrayRef<HostTensor> operands,
                               SmallVectorImpl<HostTensor> &results) {
  auto packed = cast<ShapedType>(getResult().getType()).getShape();
  results.push_back(
      getLayoutAttr().evaluate(OperandValues(*this, operands)(getX()), packed));
  return success();
}
