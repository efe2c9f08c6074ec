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

/// The blocks of a bigbird's tokens; nothing where they are so few that it is
/// dense attention, or after a mistake.
static std::optional<KeyBlocks> sparseBlocks(LayerContext &layer,
                                             const AttentionInputs &inputs) {
  int64_t tokens = layer.shape(inputs.key)[1];
  KeyBlocks blocks;
  blocks.size = layer.integer("block_size", 64);
  blocks.random = layer.integer("random_blocks", 3);
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

/// The random blocks of all heads become an operand.
static bool addRandomBlocks(LayerContext &layer, DenseAttention &attention) {
  const AttentionInputs &inputs = attention.inputs;
  const KeyBlocks &blocks = *attention.blocks;
  bool allowsRepeats = layer.word("repeats", "error") == "count";
  Shape table = {inputs.heads, blocks.count - 2, blocks.random};
  ValueRef numbers = layer.blockTable(
      "random_table", table, {blocks.count, allowsRepeats, inputs.causal > 0});
  if (layer.hasFailed()) {
    return false;
  }
  ValueRef random = layer.emit("index_table", "random_blocks", {{"x", numbers}},
                               {}, {DType::I32, table});
  attention.operands.push_back({"random_blocks", random});
  return true;
}

static ValueRef build(LayerContext &layer, const AttentionInputs &inputs) {
  std::optional<KeyBlocks> blocks = sparseBlocks(layer, inputs);
  double scale = layer.number("scale", inputs.scale);
  if (layer.hasFailed() || !expectEqualHeads(layer, inputs)) {
    return poison;
  }
  DenseAttention attention{inputs, "hova.dot", scale};
  attention.blocks = blocks;
  if (blocks && blocks->random > 0) {
    attention.prepare = addRandomBlocks;
  }
  return attendDensely(layer, attention);
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
      {{"scores"},
       "a bigbird has scores of a few blocks of keys alone, so it has none to "
       "give"},
      {{"memory"},
       "the blocks of a bigbird have no place for the slots of a memory"},
      {{"empty_row"},
       "a row without keys is zero for kind bigbird, got \"uniform\""},
  };
  kind.build = build;
  return kind;
}

} // namespace hova::frontend
