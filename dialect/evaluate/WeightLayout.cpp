//===- WeightLayout.cpp - Meaning of the layouts of weights ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Element by element, and each way written by itself: what one does wrong, the
// other does not undo.

#include "dialect/HovaDialect.h"
#include "dialect/evaluate/Evaluate.h"

using namespace mlir;
using namespace hova;

//===----------------------------------------------------------------------===//
// Strips of columns
//===----------------------------------------------------------------------===//

HostTensor ColumnStripsAttr::evaluate(const HostTensor &matrix,
                                      ArrayRef<int64_t> packed) const {
  int64_t depth = matrix.getShape()[0], columns = matrix.getShape()[1];
  int64_t strip = getColumns(), interleave = getInterleave();
  // A new tensor is zero.
  HostTensor result(matrix.getElement(), packed);
  withNumberType(matrix.getElement(), [&](auto zero) {
    using T = decltype(zero);
    T *out = result.mutableAs<T>();
    for (int64_t p = 0; p < packed[0]; ++p) {
      int64_t width = std::min(strip, columns - p * strip);
      for (int64_t k = 0; k < depth; ++k) {
        const T *from = matrix.as<T>() + k * columns + p * strip;
        T *to = out + (p * packed[1] + k / interleave) * strip * interleave +
                k % interleave;
        for (int64_t j = 0; j < width; ++j) {
          to[j * interleave] = from[j];
        }
      }
    }
  });
  return result;
}

HostTensor ColumnStripsAttr::evaluateInverse(const HostTensor &packed,
                                             ArrayRef<int64_t> matrix) const {
  int64_t depth = matrix[0], columns = matrix[1];
  int64_t pitch = packed.getShape()[1], width = packed.getShape()[2];
  int64_t interleave = packed.getRank() == 4 ? 2 : 1;
  HostTensor result(packed.getElement(), matrix);
  withNumberType(packed.getElement(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t k = 0; k < depth; ++k) {
      for (int64_t j = 0; j < columns; ++j) {
        int64_t row = j / width * pitch + k / interleave;
        result.mutableAs<T>()[k * columns + j] =
            packed.as<T>()[(row * width + j % width) * interleave +
                           k % interleave];
      }
    }
  });
  return result;
}

//===----------------------------------------------------------------------===//
// Transposed
//===----------------------------------------------------------------------===//

HostTensor TransposedAttr::evaluate(const HostTensor &matrix,
                                    ArrayRef<int64_t> packed) const {
  int64_t depth = matrix.getShape()[0], columns = matrix.getShape()[1];
  HostTensor result(matrix.getElement(), packed);
  withNumberType(matrix.getElement(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t j = 0; j < columns; ++j) {
      T *row = result.mutableAs<T>() + j * packed[1];
      for (int64_t k = 0; k < depth; ++k) {
        row[k] = matrix.as<T>()[k * columns + j];
      }
    }
  });
  return result;
}

HostTensor TransposedAttr::evaluateInverse(const HostTensor &packed,
                                           ArrayRef<int64_t> matrix) const {
  HostTensor result(packed.getElement(), matrix);
  int64_t stride = packed.size() / matrix[1];
  withNumberType(packed.getElement(), [&](auto zero) {
    using T = decltype(zero);
    T *to = result.mutableAs<T>();
    for (int64_t k = 0; k < matrix[0]; ++k) {
      for (int64_t j = 0; j < matrix[1]; ++j) {
        *to++ = packed.as<T>()[k + j * stride];
      }
    }
  });
  return result;
}
