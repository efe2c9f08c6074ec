//===- Kind.cpp - Laplace attention as a kind of every attention ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// `"kind": "laplace"` in multi_head_attention, attention and omni_attention. It
// is hova's dense attention with another similarity, so that masks, windows,
// biases, a memory and scores of the description are there as well.

#include "Similarity.h"
#include "frontend/Operator.h"
#include "frontend/attention/DenseAttention.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"

using namespace mlir;
using namespace hova::frontend;

static ValueRef build(LayerContext &layer, const AttentionInputs &inputs) {
  double scale = layer.number("scale", inputs.scale);
  if (layer.hasFailed() || !expectEqualHeads(layer, inputs)) {
    return poison;
  }
  return attendDensely(layer, {inputs, "distattn.laplace", scale});
}

static void addKinds(OperatorRegistry &registry) {
  AttentionKind kind;
  kind.name = "laplace";
  kind.summary = "softmax of scaled distances";
  kind.build = build;
  registry.add(kind);
}

extern "C" LLVM_ATTRIBUTE_WEAK PluginInfo hovaGetPluginInfo() {
  return {HOVA_PLUGIN_VERSIONS, "distattn", addKinds};
}

static void addDialect(DialectRegistry *registry) {
  registry->insert<distattn::DistAttnDialect>();
}

extern "C" LLVM_ATTRIBUTE_WEAK DialectPluginLibraryInfo
mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "distattn", LLVM_VERSION_STRING, addDialect};
}
