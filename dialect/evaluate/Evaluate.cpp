//===- Evaluate.cpp - Plain computations shared by reference evaluations --===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/evaluate/Evaluate.h"
#include "llvm/Support/ErrorHandling.h"
#include <algorithm>
#include <atomic>
#include <cassert>
#include <thread>
#include <vector>

using namespace mlir;
using namespace hova;

using Element = HostTensor::Element;

static bool isFloat(Element element) {
  return element == Element::F64 || element == Element::F32;
}

const HostTensor &OperandValues::operator()(Value operand) const {
  for (auto [index, candidate] : llvm::enumerate(op->getOperands())) {
    if (candidate == operand) {
      return values[index];
    }
  }
  llvm_unreachable("the value is no operand of the operation");
}

const HostTensor *OperandValues::optional(Value operand) const {
  return operand ? &(*this)(operand) : nullptr;
}

Element OperandValues::resultElement() const {
  return llvm::any_of(values,
                      [](const HostTensor &value) {
                        return value.getElement() == Element::F64;
                      })
             ? Element::F64
             : Element::F32;
}

HostTensor hova::castTo(const HostTensor &tensor, Element element) {
  assert(isFloat(element) && isFloat(tensor.getElement()) &&
         "casts between floating-point types only");
  if (tensor.getElement() == element) {
    return tensor;
  }
  HostTensor result(element, tensor.getShape());
  if (element == Element::F64) {
    std::copy_n(tensor.as<float>(), tensor.size(), result.mutableAs<double>());
  } else {
    std::transform(tensor.as<double>(), tensor.as<double>() + tensor.size(),
                   result.mutableAs<float>(),
                   [](double value) { return static_cast<float>(value); });
  }
  return result;
}

int64_t hova::evaluationThreads() {
  return std::max<int64_t>(1, std::thread::hardware_concurrency());
}

void hova::forEachInParallel(int64_t count,
                             llvm::function_ref<void(int64_t)> body) {
  std::atomic<int64_t> next{0};
  auto work = [&] {
    for (int64_t i = next++; i < count; i = next++) {
      body(i);
    }
  };
  std::vector<std::thread> team;
  for (int64_t i = 1, e = std::min(evaluationThreads(), count); i < e; ++i) {
    team.emplace_back(work);
  }
  work();
  for (std::thread &thread : team) {
    thread.join();
  }
}

int64_t hova::rowCount(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t dim : shape.drop_back()) {
    count *= dim;
  }
  return count;
}

//===----------------------------------------------------------------------===//
// Matrix product
//===----------------------------------------------------------------------===//

namespace {
constexpr int64_t kRows = 4;
constexpr int64_t kColumns = 16;
} // namespace

/// Four rows of x times one packed strip `[depth][kColumns]`. The accumulators
/// are arrays of constant size, which the compiler keeps out of memory.
template <typename T>
[[gnu::always_inline]] static inline void
multiplyTile(const T *x, int64_t xStride, int64_t rows, const T *strip,
             int64_t depth, T (&sums)[kRows][kColumns]) {
  const T *row[kRows];
  for (int64_t r = 0; r < kRows; ++r) {
    row[r] = x + std::min(r, rows - 1) * xStride;
  }
  T local[kRows][kColumns] = {};
  for (int64_t k = 0; k < depth; ++k) {
    for (int64_t r = 0; r < kRows; ++r) {
      T factor = row[r][k];
      for (int64_t c = 0; c < kColumns; ++c) {
        local[r][c] += factor * strip[k * kColumns + c];
      }
    }
  }
  std::copy_n(&local[0][0], kRows * kColumns, &sums[0][0]);
}

// One body, several instruction sets: the wide ones are picked when hova
// starts.
#if defined(__x86_64__) && defined(__clang__)
#define HOVA_CLONES                                                            \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define HOVA_CLONES
#endif

HOVA_CLONES static void multiplyTileF64(const double *x, int64_t xStride,
                                        int64_t rows, const double *strip,
                                        int64_t depth,
                                        double (&sums)[kRows][kColumns]) {
  multiplyTile(x, xStride, rows, strip, depth, sums);
}

HOVA_CLONES static void multiplyTileF32(const float *x, int64_t xStride,
                                        int64_t rows, const float *strip,
                                        int64_t depth,
                                        float (&sums)[kRows][kColumns]) {
  multiplyTile(x, xStride, rows, strip, depth, sums);
}

static void tileOf(const double *x, int64_t xStride, int64_t rows,
                   const double *strip, int64_t depth,
                   double (&sums)[kRows][kColumns]) {
  multiplyTileF64(x, xStride, rows, strip, depth, sums);
}

static void tileOf(const float *x, int64_t xStride, int64_t rows,
                   const float *strip, int64_t depth,
                   float (&sums)[kRows][kColumns]) {
  multiplyTileF32(x, xStride, rows, strip, depth, sums);
}

/// The columns from `begin` on of w as a strip, zero after the last.
template <typename T>
static std::vector<T> packStrip(MatrixView<T> w, int64_t begin, int64_t width,
                                int64_t depth) {
  std::vector<T> strip(depth * kColumns);
  for (int64_t k = 0; k < depth; ++k) {
    for (int64_t c = 0; c < width; ++c) {
      strip[k * kColumns + c] =
          w.data[k * w.rowStride + (begin + c) * w.columnStride];
    }
  }
  return strip;
}

template <typename T>
static void multiplyStrip(const T *x, MatrixView<T> w, const T *bias, T *y,
                          int64_t rows, int64_t depth, int64_t columns,
                          int64_t begin) {
  int64_t width = std::min(kColumns, columns - begin);
  std::vector<T> strip = packStrip(w, begin, width, depth);
  for (int64_t i = 0; i < rows; i += kRows) {
    T sums[kRows][kColumns];
    int64_t height = std::min(kRows, rows - i);
    tileOf(x + i * depth, depth, height, strip.data(), depth, sums);
    for (int64_t r = 0; r < height; ++r) {
      for (int64_t c = 0; c < width; ++c) {
        y[(i + r) * columns + begin + c] =
            sums[r][c] + (bias ? bias[begin + c] : T(0));
      }
    }
  }
}

template <typename T>
static void multiplyStrips(const T *x, MatrixView<T> w, const T *bias, T *y,
                           int64_t rows, int64_t depth, int64_t columns,
                           bool parallel) {
  int64_t strips = (columns + kColumns - 1) / kColumns;
  auto strip = [&](int64_t index) {
    multiplyStrip(x, w, bias, y, rows, depth, columns, index * kColumns);
  };
  // Starting threads costs about as much as this many multiply-accumulates.
  constexpr int64_t kWorthThreads = 1 << 20;
  if (parallel && rows * depth * columns > kWorthThreads) {
    forEachInParallel(strips, strip);
    return;
  }
  for (int64_t index = 0; index < strips; ++index) {
    strip(index);
  }
}

void hova::multiply(const double *x, MatrixView<double> w, const double *bias,
                    double *y, int64_t rows, int64_t depth, int64_t columns,
                    bool parallel) {
  multiplyStrips(x, w, bias, y, rows, depth, columns, parallel);
}

void hova::multiply(const float *x, MatrixView<float> w, const float *bias,
                    float *y, int64_t rows, int64_t depth, int64_t columns,
                    bool parallel) {
  multiplyStrips(x, w, bias, y, rows, depth, columns, parallel);
}
