//===- SparseAttentionLayers.cpp - Attention to few blocks of keys --------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
//
// Zaheer et al., Big Bird: Transformers for Longer Sequences. Blocks of tokens
// see the first and the last block, their neighbours, and a few blocks that a
// frozen table draws for them.

#include "frontend/elaborate/LayerContext.h"

namespace hova::frontend {

using reader::inQuotes;

/// What is said of all pairs of tokens, or of all keys, of which there are none
/// or not all.
void LayerContext::rejectBesideBlocks(const Heads &heads) {
  rejectMasks(
      {"score_bias", "mask", "score", "keep"},
      "a bigbird has scores of a few blocks of keys alone, of which no ",
      "use key_valid for padding, or \"causal\"");
  if (given("scores") && boolean("scores", false)) {
    attributeError("scores", "a bigbird has scores of a few blocks of keys "
                             "alone, so it has none to give");
  }
  if (given("temperature") && number("temperature", 1) != 1) {
    attributeError("temperature", inQuotes("temperature") +
                                      " has no meaning for kind bigbird");
  }
  if (given("memory") && integer("memory", 0) > 0) {
    attributeError("memory", "the blocks of a bigbird have no place for the "
                             "slots of a memory");
  }
  if (word("empty_row", "zero") != "zero") {
    attributeError("empty_row", "a row without keys is zero for kind bigbird, "
                                "got \"uniform\"");
  }
}

/// The blocks of a bigbird's tokens; nothing where they are so few that it is
/// dense attention, or after a mistake.
std::optional<LayerContext::Blocks>
LayerContext::sparseBlocks(const Heads &heads) {
  int64_t tokens = shape(heads.key)[1];
  Blocks blocks;
  blocks.size = integer("block_size", 64);
  blocks.random = integer("random_blocks", 3);
  blocks.allowsRepeats = word("repeats", "error") == "count";
  if (failed) {
    return std::nullopt;
  }
  if (blocks.size == 0) {
    attributeError("block_size", "\"block_size\" must be at least 1, got 0");
    return std::nullopt;
  }
  if (shape(heads.query)[1] != tokens) {
    shapeError(reads("key") ? "key" : "query", heads.key,
               "kind bigbird needs as many queries as keys, got " +
                   std::to_string(shape(heads.query)[1]) + " and " +
                   std::to_string(tokens),
               {heads.query});
    return std::nullopt;
  }
  blocks.count = (tokens - 1) / blocks.size + 1;
  // What the public implementations do: below, the random blocks could not be
  // apart from the others.
  bool isDense = blocks.count <= 5 + 2 * blocks.random;
  return isDense ? std::nullopt : std::optional(blocks);
}

/// The random blocks of all heads as the dialect reads them.
ValueRef LayerContext::randomBlocks(const Blocks &blocks, const Heads &heads) {
  const char *own = "random_table";
  auto given = layer.initializers.find(own);
  if (given != layer.initializers.end()) {
    const std::string &kind = given->second.kind;
    if (!blocks.allowsRepeats ||
        (kind != "zeros" && kind != "ones" && kind != "constant")) {
      elaborator.error(*given->second.node,
                       "the blocks of a table differ and are drawn; only with "
                       "\"repeats\": \"count\" can they all be one number");
      failed = true;
      return poison;
    }
  }
  Shape table = {heads.count, blocks.count - 2, blocks.random};
  ValueRef numbers = weight(own, table, {Initializer::Kind::Blocks, 0},
                            /*trainable=*/false);
  if (failed) {
    return poison;
  }
  elaborator.describeBlockTable(
      numbers, {blocks.count, blocks.allowsRepeats, heads.causal > 0});
  return emit("index_table", "random_blocks", {{"x", numbers}}, {},
              {DType::I32, table});
}

ValueRef LayerContext::attendSparsely(const Heads &heads, const Blocks &blocks,
                                      double defaultScale) {
  double scale = number("scale", defaultScale);
  int64_t queryWidth = width(heads.query) / heads.count;
  int64_t keyWidth = width(heads.key) / heads.count;
  if (failed) {
    return poison;
  }
  if (queryWidth != keyWidth) {
    shapeError(reads("key") ? "key" : "query", heads.key,
               "needs heads of one width for queries and keys, got " +
                   std::to_string(queryWidth) + " and " +
                   std::to_string(keyWidth),
               {heads.query});
    return poison;
  }
  checkWork({shape(heads.query)[0], blocks.count, 7 + blocks.random,
             blocks.size, blocks.size,
             width(heads.query) + width(heads.value)});
  Operands operands = {
      {"query", heads.query}, {"key", heads.key}, {"value", heads.value}};
  if (failed || !addKeyValid(heads, operands)) {
    return poison;
  }
  if (blocks.random > 0) {
    operands.push_back({"random_blocks", randomBlocks(blocks, heads)});
  }
  if (failed) {
    return poison;
  }
  Attributes attributes = {{"heads", Scalar::ofInteger(heads.count)},
                           {"block", Scalar::ofInteger(blocks.size)},
                           {"scale", Scalar::ofReal(scale)}};
  if (heads.causal > 0) {
    attributes["causal"] = Scalar::ofInteger(heads.causal);
  }
  Shape result = shape(heads.query);
  result.back() = width(heads.value);
  return emit("block_sparse_attention", "", std::move(operands),
              std::move(attributes), {DType::F32, std::move(result)});
}

} // namespace hova::frontend
