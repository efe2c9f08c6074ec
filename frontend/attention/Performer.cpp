//===- Performer.cpp - Products of features -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Choromanski et al., Rethinking Attention with Performers, section 2: scores
// are products of features of queries and keys, so that keys and values are
// summed up once for all queries.
//
//===----------------------------------------------------------------------===//

#include "frontend/attention/Kinds.h"

#include <cmath>

namespace hova::frontend {

using reader::inQuotes;
using Kind = Initializer::Kind;

namespace {

/// What the kernels of a performer differ in.
struct KernelInfo {
  const char *name;
  bool needsFeatures;
  double eps, stabilizer, denominatorEps;
};

constexpr KernelInfo kernels[] = {{"softmax", true, 1e-6, 1e-6, 0},
                                  {"relu", false, 1e-3, 0, 0},
                                  {"exp", true, 0, 0, 1e-8}};

const KernelInfo &infoOf(const std::string &kernel) {
  for (const KernelInfo &info : kernels) {
    if (kernel == info.name) {
      return info;
    }
  }
  return kernels[0];
}

} // namespace

static int64_t featureCount(LayerContext &layer) {
  return layer.integer("features", 0);
}

/// The frozen features as the dialect reads them; absent without.
static ValueRef featureMatrix(LayerContext &layer, const std::string &kernel,
                              int64_t width) {
  int64_t count = featureCount(layer);
  if (!count) {
    return absent;
  }
  // The token performer's rows are orthogonal and as long as they are many;
  // others are as long as those of a Gaussian matrix.
  double length = kernel == "exp" ? std::sqrt(static_cast<double>(count)) : 0;
  ValueRef rows =
      layer.weight("features", {count, width}, {Kind::Orthogonal, length},
                   /*trainable=*/false);
  return layer.emit("transpose", "features_matrix", {{"x", rows}}, {},
                    {DType::F32, {width, count}});
}

namespace {
/// What a layer says of its features.
struct Features {
  std::string kernel;
  int64_t random = 0;
  double scale, eps, stabilizer, denominatorEps;
};
} // namespace

/// With what the public implementations take without being told.
static Features readFeatures(LayerContext &layer, int64_t width) {
  Features features;
  features.random = featureCount(layer);
  features.kernel = layer.word("kernel", features.random ? "softmax" : "relu");
  const KernelInfo &info = infoOf(features.kernel);
  bool isSoftmax = features.kernel == "softmax";
  features.scale = layer.number(
      "scale", isSoftmax ? 1 / std::sqrt(static_cast<double>(width)) : 1);
  features.eps = layer.number(attributeOfKind(layer, "eps"), info.eps);
  features.stabilizer = layer.number("stabilizer", info.stabilizer);
  features.denominatorEps =
      layer.number("denominator_eps", info.denominatorEps);
  return features;
}

static void checkFeatures(LayerContext &layer, const Features &features) {
  const char *eps = attributeOfKind(layer, "eps");
  if (!(features.scale > 0) || !std::isfinite(features.scale)) {
    layer.attributeError("scale",
                         "\"scale\" must be above 0 for kind performer, whose "
                         "queries and keys are multiplied with its root, got " +
                             Scalar::ofReal(features.scale).str());
  }
  if (infoOf(features.kernel).needsFeatures && !features.random) {
    layer.attributeError(
        layer.given("features") ? "features" : "kernel",
        "kernel " + features.kernel +
            " needs \"features\", the number of its features; only relu does "
            "without");
  }
  if (layer.given(eps) && features.kernel == "exp" && features.eps != 0) {
    layer.attributeError(eps,
                         "kernel exp adds nothing to its features; "
                         "\"denominator_eps\" is what it adds to their sum");
  }
}

/// A causal performer adds up keys row by row.
static void checkCausal(LayerContext &layer, const AttentionInputs &inputs) {
  int64_t queries = layer.shape(inputs.query)[1];
  int64_t keys = layer.shape(inputs.key)[1];
  if (inputs.causal > 1) {
    layer.attributeError("causal",
                         "a performer adds up keys row by row, so a token "
                         "cannot see its own later states: use \"flattened\"");
  }
  if (inputs.causal > 0 && queries != keys) {
    layer.attributeError("causal",
                         "a causal performer needs as many queries as keys, "
                         "got " +
                             std::to_string(queries) + " and " +
                             std::to_string(keys),
                         {inputs.query, inputs.key});
  }
}

static ValueRef build(LayerContext &layer, const AttentionInputs &inputs) {
  int64_t width = layer.width(inputs.query) / inputs.heads;
  Features features = readFeatures(layer, width);
  if (layer.hasFailed()) {
    return poison;
  }
  expectEqualHeads(layer, inputs);
  checkFeatures(layer, features);
  checkCausal(layer, inputs);
  LayerContext::Operands operands = {
      {"query", inputs.query}, {"key", inputs.key}, {"value", inputs.value}};
  if (layer.hasFailed() || !addKeyValid(layer, inputs, operands)) {
    return poison;
  }
  Shape result = layer.shape(inputs.query);
  result.back() = resultWidth(layer, inputs);
  layer.checkWork({result[0], result[1] + layer.shape(inputs.key)[1],
                   inputs.heads, features.random ? features.random : width,
                   width + result.back() / inputs.heads + 1});
  ValueRef matrix = featureMatrix(layer, features.kernel, width);
  if (features.random) {
    operands.push_back({"features", matrix});
  }
  if (layer.hasFailed()) {
    return poison;
  }
  LayerContext::Attributes attributes = {
      {"map", Scalar::ofText(features.kernel)},
      {"heads", Scalar::ofInteger(inputs.heads)},
      {"causal", Scalar::ofBoolean(inputs.causal > 0)},
      {"scale", Scalar::ofReal(std::sqrt(features.scale))},
      {"eps", Scalar::ofReal(features.eps)},
      {"stabilizer", Scalar::ofReal(features.stabilizer)},
      {"denominator_eps", Scalar::ofReal(features.denominatorEps)}};
  addKeyHeads(inputs, attributes);
  return layer.emit("linear_attention", "", std::move(operands),
                    std::move(attributes), {DType::F32, std::move(result)});
}

AttentionKind performerKind() {
  using namespace attributes;
  AttentionKind kind;
  kind.name = "performer";
  kind.summary = "products of features";
  kind.attributes = {
      word("kernel", "softmax with features, else relu",
           {"softmax", "relu", "exp"},
           "features of a performer: positive ones near the softmax, rectified "
           "ones, or exponentials without a maximum"),
      integer("features", "0",
              "number of a performer's random features; 0 (relu): the columns "
              "of a head are its features",
              0),
      number("eps", "1e-6; 1e-3 (relu)", "added to a performer's features", 0),
      number("stabilizer", "1e-6 (softmax)",
             "denominators of a performer that are not above it grow by twice "
             "of it",
             0),
      number("denominator_eps", "1e-8 (exp)",
             "added to a performer's denominators", 0),
  };
  kind.weights = {"features"};
  kind.refusals = {
      {{"score_bias", "mask", "score", "keep"},
       "a performer has no scores that % could change; use key_valid for "
       "padding, or \"causal\""},
      {{"scores"}, "a performer has no scores to give"},
      {{"normalize"},
       "\"normalize\" has no meaning for kind performer, whose weights are "
       "products of features over their sum"},
      {{"temperature"},
       "\"temperature\" has no meaning for kind performer, which has no "
       "softmax"},
      {{"memory"},
       "a performer has no softmax that the slots of a memory could take part "
       "in"},
      {{"empty_row"},
       "a row without keys is zero for kind performer, got \"uniform\""},
  };
  kind.build = build;
  return kind;
}

} // namespace hova::frontend
