//===- LinearAttentionLayers.cpp - The performer kind of attention --------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/elaborate/LayerContext.h"

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

/// Attributes and values that only another kind of attention takes.
bool LayerContext::rejectForeign(const std::string &kind, const Heads &heads) {
  bool isPerformer = kind == "performer";
  if (!isPerformer) {
    for (const char *name : {"features", "kernel", heads.featureEps,
                             "stabilizer", "denominator_eps"}) {
      bool isNone = std::string_view(name) == "features" && !featureCount();
      if (given(name) && !isNone) {
        attributeError(name, inQuotes(name) + " has no meaning for kind " +
                                 kind + ", only for performer");
      }
    }
  }
  bool isAdditive = kind == "additive";
  if (isAdditive && given("scale")) {
    attributeError("scale",
                   inQuotes("scale") + " has no meaning for kind additive");
  }
  if (!isAdditive && !heads.hasFeedForward && given("hidden")) {
    attributeError("hidden",
                   inQuotes("hidden") + " has no meaning for kind " + kind);
  }
  if (!isPerformer) {
    return !failed;
  }
  for (const char *role : {"score_bias", "mask"}) {
    if (reads(role)) {
      attributeError(role, std::string("a performer has no scores that ") +
                               role +
                               " could change; use key_valid for padding, or "
                               "\"causal\"");
    }
  }
  if (word("empty_row", "zero") != "zero") {
    attributeError("empty_row", "a row without keys is zero for kind "
                                "performer, got \"uniform\"");
  }
  return !failed;
}

/// The frozen features as the dialect reads them, or poison without.
int LayerContext::featureMatrix(const std::string &kernel, int64_t width) {
  int64_t count = featureCount();
  if (!count) {
    return poison;
  }
  // The token performer's rows are orthogonal and as long as they are many;
  // others are as long as those of a Gaussian matrix.
  double length = kernel == "exp" ? std::sqrt(static_cast<double>(count)) : 0;
  int rows = weight("features", {count, width}, {Kind::Orthogonal, length},
                    /*trainable=*/false);
  return emit("transpose", "features_matrix", {{"x", rows}}, {},
              {DType::F32, {width, count}});
}

int LayerContext::attendLinearly(const Heads &heads) {
  // What the public implementations take without being told.
  int64_t random = featureCount();
  std::string kernel = word("kernel", random ? "softmax" : "relu");
  const KernelInfo &info = infoOf(kernel);
  int64_t width = this->width(heads.query) / heads.count;
  double otherwise =
      kernel == "softmax" ? 1 / std::sqrt(static_cast<double>(width)) : 1;
  double scale = number("scale", otherwise);
  bool causal = heads.causal > 0;
  double eps = number(heads.featureEps, info.eps);
  double stabilizer = number("stabilizer", info.stabilizer);
  double denominatorEps = number("denominator_eps", info.denominatorEps);
  if (failed) {
    return poison;
  }
  if (width != this->width(heads.key) / heads.count) {
    shapeError(reads("key") ? "key" : "query", heads.key,
               "needs heads of one width for queries and keys, got " +
                   std::to_string(width) + " and " +
                   std::to_string(this->width(heads.key) / heads.count),
               {heads.query});
  }
  if (!(scale > 0) || !std::isfinite(scale)) {
    attributeError("scale", "\"scale\" must be above 0 for kind performer, "
                            "whose queries and keys are multiplied with its "
                            "root, got " +
                                Scalar::ofReal(scale).str());
  }
  if (info.needsFeatures && !random) {
    attributeError(given("features") ? "features" : "kernel",
                   "kernel " + kernel +
                       " needs \"features\", the number of its features; only "
                       "relu does without");
  }
  if (given(heads.featureEps) && kernel == "exp" && eps != 0) {
    attributeError(heads.featureEps,
                   "kernel exp adds nothing to its features; "
                   "\"denominator_eps\" is what it adds to their sum");
  }
  if (heads.causal > 1) {
    attributeError("causal", "a performer adds up keys row by row, so a token "
                             "cannot see its own later states: use "
                             "\"flattened\"");
  }
  if (causal && shape(heads.query)[1] != shape(heads.key)[1]) {
    attributeError("causal",
                   "a causal performer needs as many queries as keys, got " +
                       std::to_string(shape(heads.query)[1]) + " and " +
                       std::to_string(shape(heads.key)[1]),
                   {heads.query, heads.key});
  }
  Operands operands = {
      {"query", heads.query}, {"key", heads.key}, {"value", heads.value}};
  if (failed || !addKeyValid(heads, operands)) {
    return poison;
  }
  int64_t count = random ? random : width;
  checkWork({shape(heads.query)[0], shape(heads.query)[1] + shape(heads.key)[1],
             heads.count, count,
             width + this->width(heads.value) / heads.count + 1});
  int features = featureMatrix(kernel, width);
  if (random) {
    operands.push_back({"features", features});
  }
  if (failed) {
    return poison;
  }
  Shape result = shape(heads.query);
  result.back() = this->width(heads.value);
  return emit("linear_attention", "", std::move(operands),
              {{"map", Scalar::ofText(kernel)},
               {"heads", Scalar::ofInteger(heads.count)},
               {"causal", Scalar::ofBoolean(causal)},
               {"scale", Scalar::ofReal(std::sqrt(scale))},
               {"eps", Scalar::ofReal(eps)},
               {"stabilizer", Scalar::ofReal(stabilizer)},
               {"denominator_eps", Scalar::ofReal(denominatorEps)}},
              {DType::F32, std::move(result)});
}

} // namespace hova::frontend
