//===- Transpose.cpp - Small blocks transposed in registers ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cpu/recipes/Transpose.h"

using namespace mlir;

namespace hova {

/// Exchanges between rows `distance` apart: `lower` and `upper` are the lanes
/// of the pair that the first and the second of them become.
static void exchange(KernelEmitter &e, MutableArrayRef<Expr> rows,
                     size_t distance, ArrayRef<int64_t> lower,
                     ArrayRef<int64_t> upper) {
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!(i & distance)) {
      Expr a = rows[i], b = rows[i + distance];
      rows[i] = e.compute<vector::ShuffleOp>(a, b, lower);
      rows[i + distance] = e.compute<vector::ShuffleOp>(a, b, upper);
    }
  }
}

void transpose16(KernelEmitter &e, MutableArrayRef<Expr> rows) {
  auto inEveryFour = [](ArrayRef<int64_t> lanes) {
    SmallVector<int64_t> all;
    for (int64_t from = 0; from < 16; from += 4) {
      for (int64_t lane : lanes) {
        all.push_back(from + lane);
      }
    }
    return all;
  };
  exchange(e, rows, 1, inEveryFour({0, 16, 1, 17}),
           inEveryFour({2, 18, 3, 19}));
  exchange(e, rows, 2, inEveryFour({0, 1, 16, 17}),
           inEveryFour({2, 3, 18, 19}));
  // Rows 4r .. 4r + 3 now hold columns 4q, 4q + 2, 4q + 1, 4q + 3.
  for (size_t i = 0; i < rows.size(); i += 4) {
    std::swap(rows[i + 1], rows[i + 2]);
  }
  SmallVector<int64_t> even, odd;
  for (int64_t from = 0; from < 32; from += 8) {
    for (int64_t lane = from; lane < from + 4; ++lane) {
      even.push_back(lane);
      odd.push_back(lane + 4);
    }
  }
  exchange(e, rows, 4, even, odd);
  exchange(e, rows, 8, even, odd);
}

void transposeBlock(KernelEmitter &e, int64_t loaded, int64_t stored,
                    llvm::function_ref<Expr(int64_t)> load,
                    llvm::function_ref<void(Expr, int64_t)> store) {
  SmallVector<Expr> rows;
  for (int64_t i = 0; i < loaded; ++i) {
    rows.push_back(load(i));
  }
  if (loaded) {
    rows.resize(kTransposed, Expr(0).in(e.builder, rows[0].getType()));
    transpose16(e, rows);
  }
  rows.resize(kTransposed, 0);
  for (int64_t i = 0; i < stored; ++i) {
    store(rows[i], i);
  }
}

} // namespace hova
