//===- AttentionLayers.cpp - Attention and its reweightings ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/elaborate/LayerContext.h"

#include <cmath>

namespace hova::frontend {

using Kind = Initializer::Kind;

bool LayerContext::splitsEvenly(const char *role, ValueRef value,
                                int64_t heads) {
  if (width(value) % heads == 0) {
    return true;
  }
  bool isGiven = given("heads");
  shapeError(isGiven ? "heads" : role, value,
             "cannot split a width of " + std::to_string(width(value)) +
                 " into " + std::to_string(heads) + " heads" +
                 (isGiven ? ": \"heads\" must divide the width of " +
                                reader::inQuotes(role)
                          : "") +
                 (layer.op->attribute("head_width")
                      ? ", or \"head_width\" be given"
                      : ""));
  return false;
}

LayerContext::Heads LayerContext::readHeads() {
  Heads heads;
  heads.count = integer("heads", 1);
  heads.keyCount = integer("key_value_heads", heads.count);
  if (!failed && heads.count % heads.keyCount != 0) {
    attributeError("key_value_heads", "\"key_value_heads\" must divide the " +
                                          std::to_string(heads.count) +
                                          " heads of queries, got " +
                                          std::to_string(heads.keyCount));
  }
  return heads;
}

/// A mask or bias broadcasts to [batch, heads, Nq, Nk]; its last axis is whole.
bool LayerContext::addMask(const char *role, const Heads &heads,
                           Operands &operands) {
  ValueRef mask = readOptional(role);
  if (failed || !mask) {
    return !failed;
  }
  const Shape full = {shape(heads.query)[0], heads.count, shape(heads.query)[1],
                      shape(heads.key)[1]};
  const Shape &given = shape(mask);
  bool isMask = std::string_view(role) == "mask";
  bool fits = type(mask).dtype == (isMask ? DType::Bool : DType::F32) &&
              given.size() == full.size() && given.back() == full.back();
  for (size_t i = 0; fits && i + 1 < full.size(); ++i) {
    fits = given[i] == full[i] || given[i] == 1;
  }
  if (!fits) {
    shapeError(role, mask,
               std::string("expects ") + role + " of " +
                   (isMask ? "booleans " : "numbers ") + str(full) +
                   " (all axes but the last may be 1), got " + type(mask).str(),
               {heads.query, heads.key});
    return false;
  }
  operands.push_back({role, mask});
  return true;
}

/// Booleans for the tokens [batch, N, D].
bool LayerContext::expectValid(const char *role, ValueRef valid,
                               ValueRef tokens) {
  ValueType wanted{DType::Bool, {shape(tokens)[0], shape(tokens)[1]}};
  if (type(valid) == wanted) {
    return true;
  }
  shapeError(role, valid,
             std::string("expects ") + role + " of " + wanted.str() + ", got " +
                 type(valid).str(),
             {tokens});
  return false;
}

bool LayerContext::addKeyValid(const Heads &heads, Operands &operands) {
  ValueRef valid = readOptional("key_valid");
  if (failed || !valid) {
    return !failed;
  }
  if (!expectValid("key_valid", valid, heads.key)) {
    return false;
  }
  operands.push_back({"key_valid", valid});
  return true;
}

/// Bahdanau's form on heads: every head maps its query and its key into the
/// hidden layer with matrices of its own. They are written as one
/// block-diagonal matrix, so that the rest is an ordinary linear. The keys of a
/// memory are mapped as the others.
bool LayerContext::addAdditive(Heads &heads, int64_t hidden,
                               Operands &operands) {
  struct Side {
    const char *name;
    ValueRef *value;
    int64_t count;
  };
  for (const Side &side : {Side{"query", &heads.query, heads.count},
                           Side{"key", &heads.key, heads.keyCount}}) {
    int64_t columns = product(side.count, hidden);
    if (failed) {
      return false;
    }
    int64_t part = width(*side.value) / side.count;
    std::string own = std::string("additive.") + side.name;
    ValueRef blocks =
        weight(own, {side.count, part, hidden}, {Kind::Glorot, 0});
    ValueRef matrix =
        emit("block_diagonal", own + "_matrix", {{"blocks", blocks}}, {},
             {DType::F32, {width(*side.value), columns}});
    if (failed) {
      return false;
    }
    auto map = [&](ValueRef value, const std::string &below) {
      Shape mapped = shape(value);
      mapped.back() = columns;
      return emit("linear", below, {{"x", value}, {"weight", matrix}}, {},
                  {DType::F32, std::move(mapped)});
    };
    *side.value = map(*side.value, own);
    if (side.value == &heads.key && heads.memoryKey) {
      heads.memoryKey = map(heads.memoryKey, own + "_memory");
    }
  }
  operands.push_back(
      {"score_vector",
       weight("additive.vector", {product(heads.count, hidden)},
              {Kind::Normal, 1 / std::sqrt(static_cast<double>(hidden))})});
  return !failed;
}

/// Cosine scores are products of queries and keys of length one. What each head
/// multiplies them with is learned as a logarithm (Swin Transformer V2, Eq. 2:
/// its temperature is at least 0.01), and queries take it on.
bool LayerContext::normalizeHeads(Heads &heads) {
  constexpr double initial = 10, most = 100, shortest = 1e-12;
  ValueRef logarithms =
      weight("logit_scale", {heads.count}, {Kind::Constant, std::log(initial)});
  ValueRef factors =
      emit("head_factors", "logit_factors", {{"x", logarithms}},
           {{"most", Scalar::ofReal(most)}}, {DType::F32, {heads.count}});
  auto normalize = [&](ValueRef &side, const char *below, int64_t count,
                       ValueRef gain) {
    if (failed) {
      return;
    }
    Operands operands = {{"x", side}};
    if (gain) {
      operands.push_back({"gain", gain});
    }
    side = emit("normalize_heads", below, std::move(operands),
                {{"heads", Scalar::ofInteger(count)},
                 {"eps", Scalar::ofReal(shortest)}},
                ValueType(type(side)));
  };
  normalize(heads.query, "query_norm", heads.count, factors);
  normalize(heads.key, "key_norm", heads.keyCount, poison);
  return !failed;
}

/// Cornia et al., Meshed-Memory Transformer, section 3.1: sqrt(dk) M_k and
/// sqrt(m) M_v behind the keys and values.
bool LayerContext::addMemory(Heads &heads, int64_t slots) {
  auto add = [&](const std::string &own, ValueRef rows, double spread,
                 double factor) {
    Shape table = {slots, width(rows)};
    ValueRef memory = weight(own, table, {Kind::Normal, spread});
    if (factor == 1) {
      return memory;
    }
    return emit("scale", own + "_scaled", {{"x", memory}},
                {{"factor", Scalar::ofReal(factor)}}, {DType::F32, table});
  };
  double keyWidth = static_cast<double>(width(heads.key) / heads.keyCount);
  double count = static_cast<double>(slots);
  heads.memoryKey =
      add("memory.key", heads.key, 1 / keyWidth, std::sqrt(keyWidth));
  heads.memoryValue =
      add("memory.value", heads.value, 1 / count, std::sqrt(count));
  return !failed;
}

ValueRef LayerContext::attend(const Heads &split, double defaultScale) {
  Heads heads = split;
  std::string kind = word("kind", "softmax");
  if (failed || !rejectForeign(kind, heads)) {
    return poison;
  }
  if (kind == "performer") {
    return attendLinearly(heads);
  }
  if (kind == "linformer") {
    if (!projectTokens(heads)) {
      return poison;
    }
    kind = "softmax";
  }
  if (kind == "bigbird") {
    std::optional<Blocks> blocks = sparseBlocks(heads);
    if (blocks || failed) {
      return failed ? poison : attendSparsely(heads, *blocks, defaultScale);
    }
    kind = "softmax";
  }
  return attendDensely(heads, kind, defaultScale);
}

/// Whether queries and keys have heads of one width.
bool LayerContext::expectEqualHeads(const Heads &heads) {
  int64_t queryWidth = width(heads.query) / heads.count;
  int64_t keyWidth = width(heads.key) / heads.keyCount;
  if (queryWidth == keyWidth) {
    return true;
  }
  shapeError(reads("key") ? "key" : "query", heads.key,
             "needs heads of one width for queries and keys, got " +
                 std::to_string(queryWidth) + " and " +
                 std::to_string(keyWidth) + " (only kind additive allows two)",
             {heads.query});
  return false;
}

/// What is added to scores, and what hides keys.
bool LayerContext::addMasks(const Heads &heads, Operands &masks) {
  if (heads.windowBias) {
    masks.push_back({"score_bias", heads.windowBias});
  }
  if (heads.windowClasses) {
    masks.push_back({"bias_index", heads.windowClasses});
  }
  return addMask("score_bias", heads, masks) && addMask("mask", heads, masks) &&
         addKeyValid(heads, masks);
}

/// Queries, keys and values as scores of `kind` take them, with the slots of a
/// memory.
bool LayerContext::addTokens(Heads &heads, const std::string &kind,
                             Operands &operands) {
  bool additive = kind == "additive";
  int64_t hidden =
      additive ? integer("hidden", width(heads.query) / heads.count) : 0;
  int64_t slots = integer("memory", 0);
  if (failed ||
      (slots > 0 && (!rejectMemoryOfScores() || !addMemory(heads, slots)))) {
    return false;
  }
  if ((additive && !addAdditive(heads, hidden, operands)) ||
      (kind == "cosine" && !normalizeHeads(heads))) {
    return false;
  }
  operands.insert(
      operands.begin(),
      {{"query", heads.query}, {"key", heads.key}, {"value", heads.value}});
  return true;
}

/// All keys for all queries.
ValueRef LayerContext::attendDensely(Heads heads, const std::string &kind,
                                     double defaultScale) {
  std::string emptyRow = word("empty_row", "zero");
  bool additive = kind == "additive", cosine = kind == "cosine";
  double scale = additive || cosine ? 1 : number("scale", defaultScale);
  int64_t slots = integer("memory", 0);
  double temperature = number("temperature", 1);
  bool givesScores = boolean("scores", false);
  if (failed || (!additive && !expectEqualHeads(heads))) {
    return poison;
  }
  std::optional<Scores> own = readScores(heads);
  Operands masks, operands;
  if (!own || !addMasks(heads, masks) || !addTokens(heads, kind, operands)) {
    return poison;
  }
  operands.insert(operands.end(), masks.begin(), masks.end());
  if (slots > 0) {
    operands.push_back({"memory_key", heads.memoryKey});
    operands.push_back({"memory_value", heads.memoryValue});
  }
  for (ValueRef value : own->captured) {
    operands.push_back({"captured", value});
  }
  checkWork({shape(heads.query)[0], shape(heads.query)[1],
             shape(heads.key)[1] + slots,
             width(heads.query) + width(heads.value)});
  Attributes attributes = {{"kind", Scalar::ofText(cosine ? "softmax" : kind)},
                           {"heads", Scalar::ofInteger(heads.count)},
                           {"scale", Scalar::ofReal(scale)},
                           {"empty_row", Scalar::ofText(emptyRow)},
                           {"temperature", Scalar::ofReal(temperature)}};
  if (heads.causal > 0) {
    attributes["causal"] = Scalar::ofInteger(heads.causal);
  }
  if (heads.keyCount != heads.count) {
    attributes["key_value_heads"] = Scalar::ofInteger(heads.keyCount);
  }
  Shape result = shape(heads.query);
  result.back() = product(width(heads.value) / heads.keyCount, heads.count);
  ValueType scores{DType::F32,
                   {shape(heads.query)[0], heads.count, shape(heads.query)[1],
                    shape(heads.key)[1]}};
  ValueRef pooled =
      emit("attention", "", std::move(operands), std::move(attributes),
           {DType::F32, std::move(result)});
  if (pooled && own->program) {
    Program &program = *elaborator.program;
    program.operations.back().scores = static_cast<int>(program.scores.size());
    program.scores.push_back(own->program);
  }
  if (givesScores) {
    // In front of masks and softmax, and of the keys of tokens alone.
    addResult("scores", std::move(scores),
              {"query", "key", "score_vector", "score_bias", "bias_index",
               "captured"});
  }
  return failed ? poison : pooled;
}

ValueRef LayerContext::reweight(ValueRef headsInput, ValueRef x,
                                int64_t heads) {
  if (failed) {
    return poison;
  }
  int64_t part = width(headsInput) / heads;
  checkWork({shape(x)[0], shape(x)[1], width(headsInput) + width(x), part + 1});
  ValueRef head = weight("horizontal.head", {part, part}, {Kind::Glorot, 0});
  ValueRef input =
      weight("horizontal.input", {width(x), part}, {Kind::Glorot, 0});
  ValueRef score =
      weight("horizontal.score", {part},
             {Kind::Normal, 1 / std::sqrt(static_cast<double>(part))});
  ValueRef bias = weight("horizontal.score_bias", {1}, {Kind::Bias, 0});
  return emit(
      "head_reweight", layer.op->name == "head_reweight" ? "" : "horizontal",
      {{"heads_in", headsInput},
       {"x", x},
       {"head_weight", head},
       {"input_weight", input},
       {"score_weight", score},
       {"score_bias", bias}},
      {{"heads", Scalar::ofInteger(heads)}}, ValueType(type(headsInput)));
}

ValueRef LayerContext::gate(ValueRef gated, ValueRef x, int64_t hidden) {
  if (failed) {
    return poison;
  }
  int64_t out = width(gated);
  checkWork({shape(x)[0], shape(x)[1], width(x) + 2 * out, hidden});
  ValueRef input =
      weight("vertical.input", {width(x), hidden}, {Kind::Glorot, 0});
  ValueRef output = weight("vertical.output", {out, hidden}, {Kind::Glorot, 0});
  ValueRef gate = weight("vertical.gate", {hidden, out}, {Kind::Glorot, 0});
  ValueRef bias = weight("vertical.gate_bias", {out}, {Kind::Bias, 0});
  return emit("channel_gate",
              layer.op->name == "channel_gate" ? "" : "vertical",
              {{"y", gated},
               {"x", x},
               {"input_weight", input},
               {"output_weight", output},
               {"gate_weight", gate},
               {"gate_bias", bias}},
              {}, ValueType(type(gated)));
}

/// The hidden width of the vertical gate, or nothing where it is off.
std::optional<int64_t> LayerContext::gateWidth(int64_t out) {
  auto gate = layer.gates.find("vertical");
  if (gate == layer.gates.end()) {
    return std::nullopt;
  }
  if (gate->second.condition) {
    std::optional<bool> on =
        elaborator.boolean(*gate->second.condition, environment);
    failed |= !on;
    if (!on.value_or(false)) {
      return std::nullopt;
    }
  }
  if (!gate->second.width) {
    return std::max<int64_t>(1, out / 4);
  }
  std::optional<int64_t> hidden =
      elaborator.integer(*gate->second.width, environment);
  if (!hidden || *hidden < 1 || *hidden > INT32_MAX) {
    if (hidden) {
      elaborator.error(*gate->second.width->node,
                       "\"width\" must be at least 1, got " +
                           std::to_string(*hidden));
    }
    failed = true;
    return std::nullopt;
  }
  return hidden;
}

ValueRef LayerContext::buildMultiHeadAttention() {
  const char *wanted = "[batch, N, D]";
  ValueRef query = read(reads("query") ? "query" : "input");
  ValueRef key = read(reads("key") ? "key" : "input");
  ValueRef value = reads("value") ? read("value") : key;
  Heads split = readHeads();
  int64_t heads = split.count;
  if (failed) {
    return poison;
  }
  const char *roles[] = {reads("query") ? "query" : "input",
                         reads("key") ? "key" : "input",
                         reads("value") ? "value" : "key"};
  ValueRef inputs[] = {query, key, value};
  for (int i = 0; i < 3; ++i) {
    if (!expectFloats(roles[i], inputs[i], wanted) ||
        !expectRank(roles[i], inputs[i], 3, wanted)) {
      return poison;
    }
  }
  if (shape(key)[0] != shape(query)[0] || shape(value)[0] != shape(key)[0] ||
      shape(value)[1] != shape(key)[1]) {
    shapeError(roles[1], key,
               "needs one batch for all, and as many values as keys",
               {query, value});
    return poison;
  }
  bool whole = given("head_width") || splitsEvenly(roles[0], query, heads);
  int64_t headWidth = integer("head_width", width(query) / heads);
  int64_t keyWidth = integer("key_head_width", headWidth);
  int64_t valueWidth = integer("value_head_width", headWidth);
  int64_t out = integer("width", width(query));
  bool bias = boolean("bias", true);
  bool keyBias = boolean("key_bias", bias);
  bool outBias = boolean("output_bias", bias);
  bool horizontal = boolean("horizontal", false);
  std::optional<int64_t> vertical = gateWidth(out);
  std::optional<Windows> windows = windowsOf(query);
  if (failed || !whole) {
    return poison;
  }
  split.causal = boolean("causal", false);
  if (windows) {
    split.windows = windows->count();
    query = key = value = partition(query, *windows);
    if (failed || !addWindowBias(*windows, split)) {
      return poison;
    }
  }
  split.query = linear(query, "query", product(heads, headWidth), bias);
  split.key = linear(key, "key", product(split.keyCount, keyWidth), keyBias);
  split.value =
      linear(value, "value", product(split.keyCount, valueWidth), bias);
  if (failed) {
    return poison;
  }
  ValueRef result =
      attend(split, 1 / std::sqrt(static_cast<double>(headWidth)));
  if (horizontal) {
    result = reweight(result, query, heads);
  }
  result = linear(result, "output", out, outBias);
  if (vertical) {
    result = gate(result, query, *vertical);
  }
  return windows ? reverse(result, *windows) : result;
}

ValueRef LayerContext::buildAttention() {
  Heads heads = readHeads();
  heads.causal = boolean("causal", false);
  heads.query = read("query");
  heads.key = read("key");
  heads.value = read("value");
  if (failed) {
    return poison;
  }
  struct Input {
    const char *role;
    ValueRef value;
    int64_t heads;
  };
  for (const auto &[role, value, count] :
       {Input{"query", heads.query, heads.count},
        Input{"key", heads.key, heads.keyCount},
        Input{"value", heads.value, heads.keyCount}}) {
    if (!expectFloats(role, value, "[batch, N, heads*width]") ||
        !expectRank(role, value, 3, "[batch, N, heads*width]") ||
        !splitsEvenly(role, value, count)) {
      return poison;
    }
  }
  const Shape &q = shape(heads.query);
  const Shape &k = shape(heads.key);
  const Shape &v = shape(heads.value);
  if (k[0] != q[0] || v[0] != k[0] || v[1] != k[1]) {
    shapeError("key", heads.key,
               "needs one batch for all, and as many values as keys",
               {heads.query, heads.value});
    return poison;
  }
  double headWidth = static_cast<double>(q[2] / heads.count);
  return attend(heads, 1 / std::sqrt(headWidth));
}

ValueRef LayerContext::buildHeadReweight() {
  ValueRef x = read("input");
  ValueRef headsInput = read("heads_input");
  int64_t heads = integer("heads", 1);
  if (failed || !expectFloats("input", x, "[batch, N, D]") ||
      !expectRank("input", x, 3, "[batch, N, D]") ||
      !expectFloats("heads_input", headsInput, "[batch, N, heads*width]") ||
      !expectRank("heads_input", headsInput, 3, "[batch, N, heads*width]") ||
      !splitsEvenly("heads_input", headsInput, heads)) {
    return poison;
  }
  if (shape(x)[0] != shape(headsInput)[0] ||
      shape(x)[1] != shape(headsInput)[1]) {
    shapeError("heads_input", headsInput,
               "needs the batch and tokens of its input", {x});
    return poison;
  }
  return reweight(headsInput, x, heads);
}

ValueRef LayerContext::buildChannelGate() {
  ValueRef x = read("input");
  ValueRef gated = read("gated");
  if (failed || !expectFloats("input", x, "[batch, N, D]") ||
      !expectRank("input", x, 3, "[batch, N, D]") ||
      !expectFloats("gated", gated, "[batch, N, E]") ||
      !expectRank("gated", gated, 3, "[batch, N, E]")) {
    return poison;
  }
  if (shape(x)[0] != shape(gated)[0] || shape(x)[1] != shape(gated)[1]) {
    shapeError("gated", gated, "needs the batch and tokens of its input", {x});
    return poison;
  }
  int64_t hidden = integer("width", std::max<int64_t>(1, width(gated) / 4));
  return gate(gated, x, hidden);
}

} // namespace hova::frontend
