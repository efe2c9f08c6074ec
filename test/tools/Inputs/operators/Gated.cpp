//===- Gated.cpp - An operator made of hova's operations ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// y = (x W + b) * sigmoid(x V + c). Two linears of one input, which hova makes
// one product, and their element-wise reader.

#include "frontend/Operator.h"

using namespace hova::frontend;

static ValueRef build(LayerContext &layer) {
  ValueRef x = layer.read("input");
  int64_t width = layer.integer("width", 1);
  if (layer.hasFailed() || !layer.expectFloats("input", x, "[.., D]")) {
    return poison;
  }
  ValueRef value = linear(layer, x, "value", width, /*bias=*/true);
  ValueRef gate = linear(layer, x, "gate", width, /*bias=*/true);
  gate = activation(layer, gate, "sigmoid", "sigmoid");
  if (layer.hasFailed()) {
    return poison;
  }
  return layer.emit("multiply", "", {{"lhs", value}, {"rhs", gate}}, {},
                    ValueType(layer.type(value)));
}

static void addOperators(OperatorRegistry &registry) {
  OperatorInfo info;
  info.name = "gated_linear";
  info.summary = "a linear whose result another one gates";
  info.roles = {{"input", true, false, "[.., D]"}};
  info.attributes = {attributes::integer("width", "", "columns of the result")};
  info.weights = {"value.weight", "value.bias", "gate.weight", "gate.bias"};
  Operator added{info, build, {}};
#ifdef WITHOUT_DIALECT
  added.importers.push_back({"nowhere.gate", nullptr});
#endif
  registry.add(added);
}

extern "C" LLVM_ATTRIBUTE_WEAK PluginInfo hovaGetPluginInfo() {
  return {HOVA_PLUGIN_VERSIONS, "gated", addOperators};
}
