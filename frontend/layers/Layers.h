//===- Layers.h - Builders of operators that are no attention -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// One for each operator of the description, by subject; what they read, take
// and check is in docs/description.md.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_LAYERS_LAYERS_H
#define HOVA_FRONTEND_LAYERS_LAYERS_H

#include "frontend/elaborate/LayerContext.h"

namespace hova::frontend {

// Dense layers, norms, element-wise operators, shapes (DenseLayers.cpp).
ValueRef buildLinear(LayerContext &layer);
ValueRef buildLayerNorm(LayerContext &layer);
ValueRef buildActivation(LayerContext &layer);
ValueRef buildElementwise(LayerContext &layer);
ValueRef buildOrdered(LayerContext &layer);
ValueRef buildExp(LayerContext &layer);
ValueRef buildSoftmax(LayerContext &layer);
ValueRef buildScale(LayerContext &layer);
ValueRef buildConcat(LayerContext &layer);
ValueRef buildSlice(LayerContext &layer);
ValueRef buildPad(LayerContext &layer);
ValueRef buildReshape(LayerContext &layer);
ValueRef buildFeedForward(LayerContext &layer);

// Embeddings, positions, patches, pooling, padding (TokenLayers.cpp).
ValueRef buildEmbedding(LayerContext &layer);
ValueRef buildWeight(LayerContext &layer);
ValueRef buildConstant(LayerContext &layer);
ValueRef buildPositions(LayerContext &layer);
ValueRef buildPatchEmbedding(LayerContext &layer);
ValueRef buildClassToken(LayerContext &layer);
ValueRef buildPool(LayerContext &layer);
ValueRef buildPaddingMask(LayerContext &layer);
ValueRef buildMaskRows(LayerContext &layer);
ValueRef buildPositionIds(LayerContext &layer);

// Rotary positions (RotaryLayers.cpp).
ValueRef buildRotate(LayerContext &layer);

// Images of tokens, cut into windows, unfolded and merged (WindowLayers.cpp).
ValueRef buildWindows(LayerContext &layer);
ValueRef buildUnfold(LayerContext &layer);
ValueRef buildMergePatches(LayerContext &layer);

} // namespace hova::frontend

#endif // HOVA_FRONTEND_LAYERS_LAYERS_H
