//===- Kind.cpp - Two kinds of every attention ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// `"kind": "laplace"` in multi_head_attention, attention and omni_attention. It
// is hova's dense attention with another similarity, so that masks, windows,
// biases, a memory and scores of the description are there as well.
//
// `"kind": "near"` learns how much a column counts, sees keys within "reach"
// alone, and takes off what a token that is farther away loses in each head.

#include "Similarity.h"
#include "frontend/Operator.h"
#include "frontend/attention/DenseAttention.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"

using namespace mlir;
using namespace hova::frontend;

static ValueRef buildLaplace(LayerContext &layer,
                             const AttentionInputs &inputs) {
  double scale = layer.number("scale", inputs.scale);
  if (layer.hasFailed() || !expectEqualHeads(layer, inputs)) {
    return poison;
  }
  return attendDensely(layer, {inputs, "distattn.laplace", scale});
}

/// The operand that a similarity with a vector has: an element for each column
/// of the query.
static bool addVector(LayerContext &layer, DenseAttention &attention) {
  int64_t columns = layer.width(attention.inputs.query);
  attention.operands.push_back(
      {"score_vector",
       layer.weight("near.weight", {columns}, {Initializer::Kind::Gain, 0})});
  return !layer.hasFailed();
}

static ValueRef buildNear(LayerContext &layer, const AttentionInputs &inputs) {
  double scale = layer.number("scale", inputs.scale);
  int64_t reach = layer.integer("reach", 8);
  if (layer.hasFailed() || !expectEqualHeads(layer, inputs)) {
    return poison;
  }
  DenseAttention attention = {inputs, "distattn.weighted", scale, addVector};
  attention.scores.score = "score - slope[head] * abs(query - key)";
  attention.scores.keep = "abs(query - key) <= reach";
  attention.scores.numbers = {{"reach", Scalar::ofInteger(reach)}};
  attention.scores.values = {
      {"slope", layer.weight("near.slope", {inputs.heads},
                             {Initializer::Kind::Constant, 0.125})}};
  return attendDensely(layer, attention);
}

static void addKinds(OperatorRegistry &registry) {
  AttentionKind laplace;
  laplace.name = "laplace";
  laplace.summary = "softmax of scaled distances";
  laplace.build = buildLaplace;
  registry.add(laplace);
  AttentionKind near;
  near.name = "near";
  near.summary = "softmax of weighted distances to tokens within reach";
  near.attributes = {
      attributes::integer("reach", "8", "tokens to either side", 0)};
  near.weights = {"near.weight", "near.slope"};
  near.build = buildNear;
  registry.add(near);
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
