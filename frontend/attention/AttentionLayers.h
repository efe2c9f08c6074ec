//===- AttentionLayers.h - Operators with an attention inside -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Their builders, and those of horizontal and vertical attention by themselves.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_ATTENTION_ATTENTIONLAYERS_H
#define HOVA_FRONTEND_ATTENTION_ATTENTIONLAYERS_H

#include "frontend/attention/AttentionKind.h"

namespace hova::frontend {

ValueRef buildMultiHeadAttention(LayerContext &layer);
ValueRef buildAttention(LayerContext &layer);
ValueRef buildOmniAttention(LayerContext &layer);
ValueRef buildHeadReweight(LayerContext &layer);
ValueRef buildChannelGate(LayerContext &layer);

/// Heads of queries, and those of keys and values; false after a mistake.
bool readHeads(LayerContext &layer, AttentionInputs &inputs);

} // namespace hova::frontend

#endif // HOVA_FRONTEND_ATTENTION_ATTENTIONLAYERS_H
