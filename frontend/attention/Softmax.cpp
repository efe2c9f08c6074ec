//===- Softmax.cpp - The softmax of scaled dot products -------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Vaswani et al., Attention Is All You Need, Eq. 1.
//
//===----------------------------------------------------------------------===//

#include "frontend/attention/DenseAttention.h"
#include "frontend/attention/Kinds.h"

namespace hova::frontend {

static ValueRef build(LayerContext &layer, const AttentionInputs &inputs) {
  double scale = layer.number("scale", inputs.scale);
  if (layer.hasFailed() || !expectEqualHeads(layer, inputs)) {
    return poison;
  }
  return attendDensely(layer, {inputs, "hova.dot", scale});
}

AttentionKind softmaxKind() {
  return {"softmax", "scaled dot product", {}, {}, {}, build};
}

} // namespace hova::frontend
