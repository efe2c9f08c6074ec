//===- BlockTables.cpp - Random blocks of keys ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
//
// Row i - 1 of a head holds the blocks that query block i sees besides the
// first, the last and its own neighbourhood (Zaheer et al., Big Bird, section
// 2). Where an entry is -1, there is none.

#include "frontend/weights/BlockTables.h"

#include "dialect/attention/AttentionOps.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>

namespace hova::frontend {

void drawBlocks(const BlockTable &table, const Shape &shape,
                const std::function<uint64_t(uint64_t)> &word, float *out) {
  int64_t rows = shape[1], count = shape[2];
  for (int64_t row = 0; row < shape[0] * rows; ++row, out += count) {
    // Blocks before the window, and blocks after it.
    int64_t block = row % rows + 1, before = std::max<int64_t>(block - 2, 0);
    int64_t after =
        table.isCausal ? 0 : std::max<int64_t>(table.blocks - 3 - block, 0);
    // The first steps of a shuffle of them, of which those that have moved are
    // kept; all of them where there are fewer.
    std::unordered_map<int64_t, int64_t> moved;
    auto at = [&](int64_t place) {
      auto found = moved.find(place);
      return found == moved.end() ? place : found->second;
    };
    for (int64_t i = 0; i < count; ++i) {
      int64_t rest = before + after - i;
      if (rest <= 0) {
        out[i] = -1;
        continue;
      }
      uint64_t random = word(static_cast<uint64_t>(row * count + i));
      int64_t place =
          i + static_cast<int64_t>(random % static_cast<uint64_t>(rest));
      int64_t taken = at(place);
      moved[place] = at(i);
      out[i] = static_cast<float>(taken < before ? 1 + taken
                                                 : block + 2 + taken - before);
    }
  }
}

llvm::Error checkBlocks(const BlockTable &table, llvm::StringRef name,
                        const HostTensor &tensor) {
  llvm::ArrayRef<int64_t> shape = tensor.getShape();
  int64_t rows = shape[1], count = shape[2];
  const float *numbers = tensor.as<float>();
  std::set<float> seen; ///< in the row so far
  for (int64_t i = 0, n = tensor.size(); i < n; ++i) {
    auto reject = [&](const std::string &message) {
      return llvm::createStringError("weight \"" + name + "\" has " +
                                     Scalar::ofReal(numbers[i]).str() + " at " +
                                     elementIndex(shape, i) + ": " + message);
    };
    float number = numbers[i];
    if (i % count == 0) {
      seen.clear();
    }
    if (number != std::floor(number) || number < -1 ||
        number >= static_cast<float>(table.blocks)) {
      return reject("expected the number of a block, 0 to " +
                    std::to_string(table.blocks - 1) + ", or -1 for none");
    }
    if (number == -1 || table.allowsRepeats) {
      continue;
    }
    int64_t block = i / count % rows + 1;
    if (llvm::is_contained(alwaysSeenBlocks(block, table.blocks),
                           static_cast<int64_t>(number))) {
      return reject("query block " + std::to_string(block) +
                    " sees this block already; \"repeats\": \"count\" counts "
                    "it again");
    }
    if (!seen.insert(number).second) {
      return reject("this block is in the row already; \"repeats\": "
                    "\"count\" counts it again");
    }
  }
  return llvm::Error::success();
}

} // namespace hova::frontend
