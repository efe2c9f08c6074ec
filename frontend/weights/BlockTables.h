//===- BlockTables.h - Random blocks of keys --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_WEIGHTS_BLOCKTABLES_H
#define HOVA_FRONTEND_WEIGHTS_BLOCKTABLES_H

#include "frontend/weights/Weights.h"

#include <functional>

namespace hova::frontend {

/// Draws a table `[heads, blocks - 2, r]`: each row without repeats, from the
/// blocks that its query block does not see anyway; of a causal one only from
/// those before it. `word(i)` is the i-th random word.
void drawBlocks(const BlockTable &table, const Shape &shape,
                const std::function<uint64_t(uint64_t)> &word, float *out);

/// Fails with the first entry that is no block, or that its query block sees
/// already where that is not allowed.
llvm::Error checkBlocks(const BlockTable &table, llvm::StringRef name,
                        const HostTensor &tensor);

} // namespace hova::frontend

#endif // HOVA_FRONTEND_WEIGHTS_BLOCKTABLES_H
