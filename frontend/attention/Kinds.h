//===- Kinds.h - hova's own kinds of attention ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// One file each; AttentionKind.cpp lists them.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_ATTENTION_KINDS_H
#define HOVA_FRONTEND_ATTENTION_KINDS_H

#include "frontend/attention/AttentionKind.h"

namespace hova::frontend {

AttentionKind softmaxKind();
AttentionKind cosineKind();
AttentionKind additiveKind();
AttentionKind performerKind();
AttentionKind linformerKind();
AttentionKind bigbirdKind();

/// Lets an operator that offers all kinds (OperatorInfo::kindNames) offer this
/// one: the word, attributes and weights. False where an attribute of the kind
/// has another meaning there, which the operator does not rename.
bool offerKind(OperatorInfo &op, const AttentionKind &kind);

} // namespace hova::frontend

#endif // HOVA_FRONTEND_ATTENTION_KINDS_H
