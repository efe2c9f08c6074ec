//===- ImportOperations.cpp - The importers of hova's dialect -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Most are generated from ODS (tools/hova-tblgen). Here is what an operation
// cannot say of itself: regions of scores, placements of windows. Operands that
// are weights are referenced where they are first asked for, so a function with
// several of them asks in the order of the operation.
//
//===----------------------------------------------------------------------===//

#include "frontend/NameScores.h"
#include "frontend/OperationImport.h"
#include "frontend/ScoreImport.h"

#include "dialect/Shapes.h"
#include "dialect/attention/AttentionOps.h"
#include "dialect/dense/DenseOps.h"
#include "dialect/linear_attention/LinearAttentionOps.h"
#include "dialect/placement/PlacementOps.h"
#include "dialect/program/ProgramOps.h"
#include "dialect/token/TokenOps.h"
#include "frontend/reader/Suggest.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

#define GET_IMPORTERS
#include "frontend/DenseImporters.inc"
#define GET_IMPORTERS
#include "frontend/TokenImporters.inc"
#define GET_IMPORTERS
#include "frontend/AttentionImporters.inc"
#define GET_IMPORTERS
#include "frontend/LinearAttentionImporters.inc"
#define GET_IMPORTERS
#include "frontend/ProgramImporters.inc"

namespace hova::frontend {

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

static WindowAttr windowOf(OperationImport &op) {
  return WindowAttr::get(op.builder.getContext(), op.integer("window_height"),
                         op.integer("window_width"), op.integer("shift_height"),
                         op.integer("shift_width"), op.integer("grid_height"),
                         op.integer("grid_width"));
}

static Operation *importPartitionWindows(OperationImport &op) {
  return RearrangeOp::create(op.builder, op.loc, op.result(), op.operand("x"),
                             windowOf(op), Value());
}

static Operation *importReverseWindows(OperationImport &op) {
  PlacementAttrInterface placement = windowOf(op);
  return RearrangeOp::create(op.builder, op.loc, op.result(), op.operand("x"),
                             inverseOf(placement), Value());
}

static Operation *importMergePatches(OperationImport &op) {
  auto merge =
      MergeAttr::get(op.builder.getContext(), 2, 2, op.integer("grid_height"),
                     op.integer("grid_width"));
  return RearrangeOp::create(op.builder, op.loc, op.result(), op.operand("x"),
                             merge, Value());
}

static Operation *importUnfold(OperationImport &op) {
  OpBuilder &builder = op.builder;
  IntegerAttr within;
  if (op.has("within")) {
    within = builder.getI64IntegerAttr(op.integer("within"));
  }
  DenseI64ArrayAttr grid;
  if (op.has("grid_height")) {
    grid = builder.getDenseI64ArrayAttr(
        {op.integer("grid_height"), op.integer("grid_width")});
  }
  return UnfoldOp::create(builder, op.loc, op.result(), op.operand("x"),
                          op.integer("kernel"), op.integer("stride"),
                          op.integer("padding"), within, grid);
}

static Operation *importWindowBias(OperationImport &op) {
  return WindowBiasOp::create(op.builder, op.loc, op.result(), windowOf(op),
                              op.optionalOperand("table"),
                              op.real("mask_value"));
}

static Operation *importWindowOffsets(OperationImport &op) {
  auto reference = op.builder.getDenseI64ArrayAttr(
      {op.integer("reference_height"), op.integer("reference_width")});
  return WindowOffsetsOp::create(op.builder, op.loc, op.result(), windowOf(op),
                                 reference);
}

static Operation *importWindowClasses(OperationImport &op) {
  return WindowClassesOp::create(op.builder, op.loc, op.result(), windowOf(op));
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

namespace {
/// Operands about scores; null where there is none.
struct AttentionMasks {
  Value scoreBias, biasIndex, mask, keyValid;
};
} // namespace

/// The scaled similarity, and what the description makes of it: a score, and
/// which keys are kept, which is null without.
static ScoreValues writeOwnScores(OperationImport &op, ScoreWriter &writer) {
  ScoreRegion region = writer.getRegion();
  Value scaled =
      writer.scale(region.getRaw(), op.real("scale").getValueAsDouble());
  ScoreValues own;
  if (const ScoreProgram *program = op.scores()) {
    auto values =
        region.getCaptured().take_back(op.operands("captured").size());
    own = buildScores(
        writer.b, [&](size_t byte) { return op.locationAt(byte); }, *program,
        {scaled, region.getBatch(), region.getHead(), region.getQuery(),
         region.getKey(), values});
  }
  own.score = own.score ? own.score : scaled;
  return own;
}

/// What an attention of a description says of its scores, as their region:
/// scale, then what the description makes of that, then biases, then masks,
/// then the temperature.
static void writeScores(OperationImport &op, AttentionOp attention,
                        const AttentionMasks &masks) {
  ScoreWriter writer(op.builder, op.loc, attention.getScoreRegion(),
                     attention.getCaptured());
  ScoreRegion region = writer.getRegion();
  // The argument that stands for a captured operand; null without.
  auto inside = [&](Value operand) -> Value {
    for (auto [own, argument] :
         llvm::zip(attention.getCaptured(), region.getCaptured())) {
      if (operand && own == operand) {
        return argument;
      }
    }
    return {};
  };
  ScoreValues own = writeOwnScores(op, writer);
  Value score = own.score;
  if (Value bias = inside(masks.scoreBias)) {
    Value entry;
    if (Value index = inside(masks.biasIndex)) {
      entry = writer.readEntry(index, shapeOf(bias).front());
    }
    score = writer.add(score, writer.readBroadcast(bias, entry));
  }
  Value carried = attention.getScores() ? score : Value();
  score = writer.divide(score, op.real("temperature").getValueAsDouble());
  int64_t keys = shapeOf(attention.getKey())[1];
  Value kept;
  if (op.has("causal")) {
    int64_t queries = shapeOf(attention.getQuery())[1];
    kept = writer.isNotLater(op.integer("causal"), keys - queries);
  }
  kept = writer.both(kept, own.keep);
  if (Value valid = inside(masks.keyValid)) {
    Value indices[] = {region.getBatch(), region.getKey()};
    kept = writer.both(kept, ElementOp::create(writer.b, valid, indices));
  }
  if (Value mask = inside(masks.mask)) {
    kept = writer.both(kept, writer.readBroadcast(mask));
  }
  if (attention.getSlots()) {
    kept = writer.orSlot(kept, keys);
  }
  writer.yield(score, kept, carried);
}

/// An attribute that an operation may be without.
static IntegerAttr integerOrNone(OperationImport &op, const char *name) {
  return op.has(name) ? op.builder.getI64IntegerAttr(op.integer(name))
                      : IntegerAttr();
}

static Operation *importAttention(OperationImport &op) {
  OpBuilder &builder = op.builder;
  Value query = op.operand("query"), key = op.operand("key"),
        value = op.operand("value"),
        scoreVector = op.optionalOperand("score_vector");
  AttentionMasks masks;
  masks.scoreBias = op.optionalOperand("score_bias");
  masks.biasIndex = op.optionalOperand("bias_index");
  masks.mask = op.optionalOperand("mask");
  masks.keyValid = op.optionalOperand("key_valid");
  Value memoryKey = op.optionalOperand("memory_key"),
        memoryValue = op.optionalOperand("memory_value"),
        randomBlocks = op.optionalOperand("random_blocks");
  auto similarity = op.dialectAttribute<SimilarityAttrInterface>("similarity");
  auto normalization = op.enumerator<NormalizationAttr, Normalization>(
      "normalization", symbolizeNormalization);
  auto emptyRow = EmptyRowAttr::get(
      builder.getContext(), op.word<EmptyRow>("empty_row", symbolizeEmptyRow));
  SmallVector<Value> captured;
  for (Value mask :
       {masks.scoreBias, masks.biasIndex, masks.mask, masks.keyValid}) {
    if (mask) {
      captured.push_back(mask);
    }
  }
  llvm::append_range(captured, op.operands("captured"));
  auto attention = AttentionOp::create(
      builder, op.loc, op.result(), op.result("scores"), query, key, value,
      scoreVector, memoryKey, memoryValue, randomBlocks, captured, similarity,
      normalization, builder.getI64IntegerAttr(op.integer("heads")), emptyRow,
      integerOrNone(op, "key_value_heads"), integerOrNone(op, "block"));
  writeScores(op, attention, masks);
  nameScores(ScoreRegion(attention.getScoreRegion()), attention.getCaptured());
  return attention;
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

/// The importers of all operations, while plugins may still add some.
static llvm::StringMap<OperationImporter> &importers() {
  static llvm::StringMap<OperationImporter> all = {
#define GET_IMPORTER_LIST
#include "frontend/DenseImporters.inc"
#define GET_IMPORTER_LIST
#include "frontend/TokenImporters.inc"
#define GET_IMPORTER_LIST
#include "frontend/AttentionImporters.inc"
#define GET_IMPORTER_LIST
#include "frontend/LinearAttentionImporters.inc"
#define GET_IMPORTER_LIST
#include "frontend/ProgramImporters.inc"
      {"unfold", importUnfold},
      {"partition_windows", importPartitionWindows},
      {"reverse_windows", importReverseWindows},
      {"merge_patches", importMergePatches},
      {"window_bias", importWindowBias},
      {"window_offsets", importWindowOffsets},
      {"window_classes", importWindowClasses},
      {"attention", importAttention},
  };
  return all;
}

bool addOperationImporter(StringRef mnemonic, OperationImporter importer) {
  return importers().try_emplace(mnemonic, importer).second;
}

std::string suggestOperation(StringRef mnemonic) {
  std::vector<std::string> known;
  for (StringRef name : importers().keys()) {
    known.push_back(name.str());
  }
  llvm::sort(known);
  auto near = reader::suggest(mnemonic.str(), known);
  return near ? "; did you mean '" + *near + "'?" : "";
}

OperationImporter findOperationImporter(StringRef mnemonic) {
  return importers().lookup(mnemonic);
}

} // namespace hova::frontend
