//===- Layer.cpp - The operator sigmoid_attention of descriptions ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// From JSON to the operation: what a layer may say, which operations and
// weights it becomes, and how the new one among them is made. At the end, what
// the library tells hova of itself.

#include "Kind.h"
#include "SigmoidAttention.h"
#include "frontend/Operator.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"
#include <cmath>

using namespace mlir;
using namespace hova::frontend;

static OperatorInfo describe() {
  OperatorInfo info;
  info.name = "sigmoid_attention";
  info.summary = "projections, sigmoid attention with a sink per head, output "
                 "projection";
  info.roles = {{"input", true, false, "[batch, Nq, D]"},
                {"memory", false, false,
                 "[batch, Nk, E], of which keys and values are made; the input "
                 "unless given"}};
  info.attributes = {
      attributes::integer("heads", "", "number of heads"),
      attributes::integer("head_width", "D / heads", "width of one head"),
      attributes::number("scale", "1/sqrt(head_width)", "factor on the scores"),
      attributes::number("offset", "-log(Nk)",
                         "added to the scores before the sigmoid"),
      attributes::boolean("bias", "true", "biases of the four projections")};
  info.weights = {"query.weight", "query.bias",    "key.weight",
                  "key.bias",     "value.weight",  "value.bias",
                  "sink",         "output.weight", "output.bias"};
  info.fusable = true;
  return info;
}

static ValueRef build(LayerContext &layer) {
  const char *wanted = "[batch, N, D]";
  const char *other = layer.reads("memory") ? "memory" : "input";
  ValueRef input = layer.read("input"), memory = layer.read(other);
  int64_t heads = layer.integer("heads", 1);
  if (layer.hasFailed() || !layer.expectFloats("input", input, wanted) ||
      !layer.expectRank("input", input, 3, wanted) ||
      !layer.expectFloats(other, memory, wanted) ||
      !layer.expectRank(other, memory, 3, wanted)) {
    return poison;
  }
  Shape shape = layer.shape(input);
  int64_t keys = layer.shape(memory)[1];
  if (layer.shape(memory)[0] != shape[0]) {
    layer.shapeError(other, memory, "needs one batch for both", {input});
    return poison;
  }
  if (!layer.given("head_width") &&
      !layer.splitsEvenly("input", input, heads)) {
    return poison;
  }
  int64_t headWidth = layer.integer("head_width", shape[2] / heads);
  double scale = layer.number("scale", 1 / std::sqrt(double(headWidth)));
  double offset = layer.number("offset", -std::log(double(keys)));
  bool bias = layer.boolean("bias", true);
  int64_t inner = layer.product(heads, headWidth);
  layer.checkWork({shape[0], shape[1], keys, 2 * inner});
  if (layer.hasFailed()) {
    return poison;
  }
  ValueRef query = linear(layer, input, "query", inner, bias);
  ValueRef key = linear(layer, memory, "key", inner, bias);
  ValueRef value = linear(layer, memory, "value", inner, bias);
  ValueRef sink = layer.weight("sink", {heads}, {Initializer::Kind::Normal, 1});
  ValueRef result = layer.emit(
      "sigattn.attention", "",
      {{"query", query}, {"key", key}, {"value", value}, {"sink", sink}},
      {{"heads", Scalar::ofInteger(heads)},
       {"scale", Scalar::ofReal(scale)},
       {"offset", Scalar::ofReal(offset)}},
      {DType::F32, {shape[0], shape[1], inner}});
  return linear(layer, result, "output", shape[2], bias);
}

// The importer of the operation, which hova-tblgen writes.
#define GET_IMPORTERS
#include "sigattnImporters.inc"

//===----------------------------------------------------------------------===//
// What the library has
//===----------------------------------------------------------------------===//

static void addOperators(OperatorRegistry &registry) {
  registry.add({describe(),
                build,
                {
#define GET_IMPORTER_LIST
#include "sigattnImporters.inc"
                }});
  registry.add(sigattn::sigmoidKind());
}

extern "C" LLVM_ATTRIBUTE_WEAK PluginInfo hovaGetPluginInfo() {
  return {HOVA_PLUGIN_VERSIONS, "sigattn", addOperators};
}

static void addDialect(DialectRegistry *registry) {
  registry->insert<sigattn::SigAttnDialect>();
  registry->addExtension(+[](MLIRContext *context, sigattn::SigAttnDialect *) {
    sigattn::attachRecipe(*context);
    sigattn::attachCudaRecipe(*context);
  });
}

extern "C" LLVM_ATTRIBUTE_WEAK DialectPluginLibraryInfo
mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "sigattn", LLVM_VERSION_STRING, addDialect};
}
