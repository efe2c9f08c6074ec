//===- LinearAttentionLayers.cpp - Attention of linear cost ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Performers, whose scores are products of features, and Linformer, whose keys
// and values are few sums of all tokens.
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

/// Attributes that only another kind of attention takes. A count of 0, or the
/// word that changes nothing, says "none" in descriptions whose kind is a
/// parameter.
bool LayerContext::rejectForeign(const std::string &kind, const Heads &heads) {
  bool isPerformer = kind == "performer", isLinformer = kind == "linformer";
  bool isBigbird = kind == "bigbird";
  auto reject = [&](std::initializer_list<const char *> names,
                    const char *owner) {
    for (const char *name : names) {
      std::string_view text = name;
      bool isCount = text == "features" || text == "projected_tokens" ||
                     text == "block_size" || text == "random_blocks";
      bool isNone = isCount
                        ? !integer(name, 0)
                        : text == "repeats" && word(name, "error") == "error";
      if (given(name) && !isNone) {
        attributeError(name, inQuotes(name) + " has no meaning for kind " +
                                 kind + ", only for " + owner);
      }
    }
  };
  if (!isPerformer) {
    reject({"features", "kernel", heads.featureEps, "stabilizer",
            "denominator_eps"},
           "performer");
  }
  if (!isLinformer) {
    reject({"projected_tokens", "max_tokens", "shared_projection"},
           "linformer");
  }
  if (!isBigbird) {
    reject({"block_size", "random_blocks", "repeats"}, "bigbird");
  }
  bool isAdditive = kind == "additive", isCosine = kind == "cosine";
  if ((isAdditive || isCosine) && given("scale")) {
    attributeError("scale", inQuotes("scale") + " has no meaning for kind " +
                                kind +
                                (isCosine ? ", whose heads learn one" : ""));
  }
  if (!isAdditive && !heads.hasFeedForward && given("hidden")) {
    attributeError("hidden",
                   inQuotes("hidden") + " has no meaning for kind " + kind);
  }
  if ((isPerformer || isBigbird) && heads.keyCount != heads.count) {
    attributeError("key_value_heads",
                   "kind " + kind + " has as many heads of keys as of queries");
  }
  if (isPerformer) {
    rejectMasks({"score_bias", "mask", "score", "keep"},
                "a performer has no scores that ",
                "use key_valid for padding, or \"causal\"");
  }
  if (isLinformer) {
    rejectMasks({"score_bias", "mask", "key_valid", "score", "keep"},
                "each key of linformer is a sum of all tokens, which no ",
                "its tokens all count");
    if (heads.causal > 0) {
      attributeError("causal", "each key of linformer is a sum of all tokens, "
                               "so it has no causal form");
    }
  }
  if (isBigbird) {
    rejectBesideBlocks(heads);
  }
  if (isPerformer && given("scores") && boolean("scores", false)) {
    attributeError("scores", "a performer has no scores to give");
  }
  if (isPerformer && given("temperature") && number("temperature", 1) != 1) {
    attributeError("temperature", inQuotes("temperature") +
                                      " has no meaning for kind performer, "
                                      "which has no softmax");
  }
  if (isPerformer && given("memory") && integer("memory", 0) > 0) {
    attributeError("memory", "a performer has no softmax that the slots of a "
                             "memory could take part in");
  }
  if (isCosine && given("memory") && integer("memory", 0) > 0) {
    attributeError("memory", "the slots of a memory have lengths of their own, "
                             "which kind cosine does not see");
  }
  if ((isPerformer || isLinformer) && word("empty_row", "zero") != "zero") {
    attributeError("empty_row", isPerformer
                                    ? "a row without keys is zero for kind "
                                      "performer, got \"uniform\""
                                    : "no row of linformer is without keys");
  }
  return !failed;
}

/// `before` and `after` are what the message says around "role could change".
void LayerContext::rejectMasks(std::initializer_list<const char *> roles,
                               const std::string &before,
                               const std::string &after) {
  for (const char *role : roles) {
    if (given(role) || readOptional(role)) {
      attributeError(role, before + role + " could change; " + after);
    }
  }
}

/// Wang et al., Linformer, Eq. 7: keys and values become sums of all tokens,
/// the same ones in all heads.
bool LayerContext::projectTokens(Heads &heads) {
  int64_t tokens = shape(heads.key)[1];
  int64_t rows = integer("projected_tokens", 0);
  int64_t most = integer("max_tokens", tokens);
  bool isShared = boolean("shared_projection", true);
  if (failed) {
    return false;
  }
  if (rows == 0) {
    attributeError(given("projected_tokens") ? "projected_tokens" : "kind",
                   "kind linformer needs \"projected_tokens\", the number of "
                   "sums that keys and values become");
    return false;
  }
  if (most < tokens) {
    attributeError("max_tokens",
                   "\"max_tokens\" must be at least the number of keys, " +
                       std::to_string(tokens) + ", got " + std::to_string(most),
                   {heads.key});
    return false;
  }
  checkWork({shape(heads.key)[0], tokens, rows,
             width(heads.key) + width(heads.value)});
  // Rows of a projection are as long as 1 in the mean, whatever their number.
  Initializer initializer = {Kind::Normal,
                             1 / std::sqrt(static_cast<double>(rows))};
  auto matrix = [&](const std::string &name) {
    ValueRef whole = weight(name, {most, rows}, initializer);
    return failed || most == tokens
               ? whole
               : emit("slice", name + "_rows", {{"x", whole}},
                      {{"axis", Scalar::ofInteger(0)},
                       {"offset", Scalar::ofInteger(0)}},
                      {DType::F32, {tokens, rows}});
  };
  auto project = [&](ValueRef x, ValueRef matrix, const char *below) {
    return failed
               ? poison
               : emit("project_tokens", below, {{"x", x}, {"weight", matrix}},
                      {}, {DType::F32, {shape(x)[0], rows, width(x)}});
  };
  ValueRef ofKeys = matrix(isShared ? "token_projection" : "key_projection");
  ValueRef ofValues = isShared ? ofKeys : matrix("value_projection");
  heads.key = project(heads.key, ofKeys, "projected_key");
  heads.value = project(heads.value, ofValues, "projected_value");
  return !failed;
}

/// The frozen features as the dialect reads them; absent without.
ValueRef LayerContext::featureMatrix(const std::string &kernel, int64_t width) {
  int64_t count = featureCount();
  if (!count) {
    return absent;
  }
  // The token performer's rows are orthogonal and as long as they are many;
  // others are as long as those of a Gaussian matrix.
  double length = kernel == "exp" ? std::sqrt(static_cast<double>(count)) : 0;
  ValueRef rows = weight("features", {count, width}, {Kind::Orthogonal, length},
                         /*trainable=*/false);
  return emit("transpose", "features_matrix", {{"x", rows}}, {},
              {DType::F32, {width, count}});
}

ValueRef LayerContext::attendLinearly(const Heads &heads) {
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
  ValueRef features = featureMatrix(kernel, width);
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
