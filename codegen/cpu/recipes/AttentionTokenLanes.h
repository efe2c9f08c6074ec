//===- AttentionTokenLanes.h - Attention in short sequences -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CPU_RECIPES_ATTENTIONTOKENLANES_H
#define HOVA_CODEGEN_CPU_RECIPES_ATTENTIONTOKENLANES_H

#include "dialect/attention/AttentionOps.h"

namespace hova {
class TokenLanes;

/// Whether the attention is one without masks and biases.
bool keepsTokensInLanes(AttentionOp op);

/// What an attention has to be for that, as reports print it.
inline constexpr llvm::StringLiteral kTokensInLanesCondition =
    "softmax attention of as many queries as keys, not causal, with a scale "
    "that is not 0, without masks and biases";

/// The loops of all heads of all sequences of a tile.
void emitTokenLanes(TokenLanes &lanes, AttentionOp op);

} // namespace hova

#endif // HOVA_CODEGEN_CPU_RECIPES_ATTENTIONTOKENLANES_H
