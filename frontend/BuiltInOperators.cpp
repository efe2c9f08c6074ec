//===- BuiltInOperators.cpp - hova's operators ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Words and builders of all that a description may say without a plugin. Those
// who read descriptions and build layers declare what they need, and include
// nothing of what is listed here.
//
//===----------------------------------------------------------------------===//

#include "frontend/attention/AttentionLayers.h"
#include "frontend/description/OperatorWords.h"
#include "frontend/layers/Layers.h"

namespace hova::frontend {

std::vector<OperatorInfo> builtInOperators() {
  return words::joined(words::joined(denseOperators(), tokenOperators()),
                       attentionOperators());
}

std::map<std::string, LayerBuilder> builtInBuilders() {
  return {
      {"linear", buildLinear},
      {"layer_norm", buildLayerNorm},
      {"activation", buildActivation},
      {"add", buildElementwise},
      {"multiply", buildElementwise},
      {"subtract", buildOrdered},
      {"divide", buildOrdered},
      {"exp", buildExp},
      {"scale", buildScale},
      {"concat", buildConcat},
      {"slice", buildSlice},
      {"pad", buildPad},
      {"reshape", buildReshape},
      {"weight", buildWeight},
      {"constant", buildConstant},
      {"feed_forward", buildFeedForward},
      {"embedding", buildEmbedding},
      {"positions", buildPositions},
      {"patch_embedding", buildPatchEmbedding},
      {"class_token", buildClassToken},
      {"pool", buildPool},
      {"padding_mask", buildPaddingMask},
      {"mask_rows", buildMaskRows},
      {"position_ids", buildPositionIds},
      {"softmax", buildSoftmax},
      {"multi_head_attention", buildMultiHeadAttention},
      {"attention", buildAttention},
      {"head_reweight", buildHeadReweight},
      {"channel_gate", buildChannelGate},
      {"omni_attention", buildOmniAttention},
      {"rotate", buildRotate},
      {"unfold", buildUnfold},
      {"windows", buildWindows},
      {"merge_patches", buildMergePatches},
  };
}

} // namespace hova::frontend
