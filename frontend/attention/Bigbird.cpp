//===- Bigbird.cpp - Few blocks of keys -----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Zaheer et al., Big Bird: Transformers for Longer Sequences. Blocks of tokens
// see the first and the last block, their neighbours, and a few blocks that a
// frozen table draws for them.
//
//===----------------------------------------------------------------------===//

#include "frontend/attention/DenseAttention.h"
#include "frontend/attention/Kinds.h"

namespace hova::frontend {

namespace {
struct Blocks {
  int64_t size = 0; ///< tokens of each but the last
  int64_t count = 0;
  int64_t random = 0; ///< that a query block sees besides the others
  bool allowsRepeats = false;
};
} // namespace

/// The blocks of a bigbird's tokens; nothing where they are so few that it is
/// dense attention, or after a mistake.
static std::optional<Blocks> sparseBlocks(LayerContext &layer,
                                          const AttentionInputs &inputs) {
  int64_t tokens = layer.shape(inputs.key)[1];
  Blocks blocks;
  blocks.size = layer.integer("block_size", 64);
  blocks.random = layer.integer("random_blocks", 3);
  blocks.allowsRepeats = layer.word("repeats", "error") == "count";
  if (layer.hasFailed()) {
    return std::nullopt;
  }
  if (blocks.size == 0) {
    layer.attributeError("block_size",
                         "\"block_size\" must be at least 1, got 0");
    return std::nullopt;
  }
  if (layer.shape(inputs.query)[1] != tokens) {
    layer.shapeError(layer.reads("key") ? "key" : "query", inputs.key,
                     "kind bigbird needs as many queries as keys, got " +
                         std::to_string(layer.shape(inputs.query)[1]) +
                         " and " + std::to_string(tokens),
                     {inputs.query});
    return std::nullopt;
  }
  blocks.count = (tokens - 1) / blocks.size + 1;
  // What the public implementations do: below, the random blocks could not be
  // apart from the others.
  bool isDense = blocks.count <= 5 + 2 * blocks.random;
  return isDense ? std::nullopt : std::optional(blocks);
}

/// The random blocks of all heads as the dialect reads them.
static ValueRef randomBlocks(LayerContext &layer, const Blocks &blocks,
                             const AttentionInputs &inputs) {
  Shape table = {inputs.heads, blocks.count - 2, blocks.random};
  ValueRef numbers =
      layer.blockTable("random_table", table,
                       {blocks.count, blocks.allowsRepeats, inputs.causal > 0});
  if (layer.hasFailed()) {
    return poison;
  }
  return layer.emit("index_table", "random_blocks", {{"x", numbers}}, {},
                    {DType::I32, table});
}

static ValueRef attendSparsely(LayerContext &layer,
                               const AttentionInputs &inputs,
                               const Blocks &blocks) {
  double scale = layer.number("scale", inputs.scale);
  if (layer.hasFailed() || !expectEqualHeads(layer, inputs)) {
    return poison;
  }
  Shape result = layer.shape(inputs.query);
  result.back() = resultWidth(layer, inputs);
  layer.checkWork({result[0], blocks.count, 7 + blocks.random, blocks.size,
                   blocks.size, layer.width(inputs.query) + result.back()});
  LayerContext::Operands operands = {
      {"query", inputs.query}, {"key", inputs.key}, {"value", inputs.value}};
  std::optional<LayerScores> own = layer.readScores(
      {result[0], inputs.windows, inputs.heads, result[1], result[1]});
  if (layer.hasFailed() || !own || !addKeyValid(layer, inputs, operands)) {
    return poison;
  }
  if (blocks.random > 0) {
    operands.push_back({"random_blocks", randomBlocks(layer, blocks, inputs)});
  }
  for (ValueRef value : own->captured) {
    operands.push_back({"captured", value});
  }
  LayerContext::Attributes attributes = {
      {"heads", Scalar::ofInteger(inputs.heads)},
      {"block", Scalar::ofInteger(blocks.size)},
      {"scale", Scalar::ofReal(scale)}};
  if (inputs.causal > 0) {
    attributes["causal"] = Scalar::ofInteger(inputs.causal);
  }
  addKeyHeads(inputs, attributes);
  ValueRef pooled =
      layer.emit("block_sparse_attention", "", std::move(operands),
                 std::move(attributes), {DType::F32, std::move(result)});
  layer.attachScores(*own);
  return pooled;
}

static ValueRef build(LayerContext &layer, const AttentionInputs &inputs) {
  std::optional<Blocks> blocks = sparseBlocks(layer, inputs);
  if (layer.hasFailed()) {
    return poison;
  }
  return blocks ? attendSparsely(layer, inputs, *blocks)
                : softmaxKind().build(layer, inputs);
}

AttentionKind bigbirdKind() {
  using namespace attributes;
  AttentionKind kind;
  kind.name = "bigbird";
  kind.summary = "scaled dot product with few blocks of keys";
  kind.attributes = {
      integer("block_size", "64", "tokens of a bigbird's block", 0),
      integer("random_blocks", "3",
              "blocks that each block of a bigbird's queries sees besides its "
              "neighbours, the first and the last",
              0),
      word("repeats", "error", {"error", "count"},
           "where a bigbird's table has a block that is seen already: an "
           "error, or counted as often as it is there"),
  };
  kind.weights = {"random_table"};
  kind.refusals = {
      {{"score_bias", "mask"},
       "a bigbird has scores of a few blocks of keys alone, of which no % "
       "could change; use \"score\" and \"keep\", key_valid for padding, or "
       "\"causal\""},
      {{"scores"},
       "a bigbird has scores of a few blocks of keys alone, so it has none to "
       "give"},
      {{"normalize"},
       "kind bigbird has a softmax alone; use kind softmax with \"keep\""},
      {{"temperature"}, "\"temperature\" has no meaning for kind bigbird"},
      {{"memory"},
       "the blocks of a bigbird have no place for the slots of a memory"},
      {{"empty_row"},
       "a row without keys is zero for kind bigbird, got \"uniform\""},
  };
  kind.build = build;
  return kind;
}

} // namespace hova::frontend
