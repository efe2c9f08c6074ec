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
#include "dialect/columns/ColumnOps.h"
#include "dialect/dense/DenseOps.h"
#include "dialect/linear_attention/LinearAttentionOps.h"
#include "dialect/placement/PlacementOps.h"
#include "dialect/program/ProgramOps.h"
#include "dialect/token/TokenOps.h"
#include "frontend/reader/Suggest.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

#define GET_IMPORTERS
#include "frontend/ColumnImporters.inc"
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
  auto sides = [&](const char *down, const char *across) {
    return builder.getDenseI64ArrayAttr({op.integer(down), op.integer(across)});
  };
  return UnfoldOp::create(builder, op.loc, op.result(), op.operand("x"),
                          sides("kernel_height", "kernel_width"),
                          sides("stride_height", "stride_width"),
                          sides("padding_height", "padding_width"),
                          sides("dilation_height", "dilation_width"), within,
                          grid);
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

/// The elements, each rounded once.
static Operation *importConstant(OperationImport &op) {
  const ConstantTable &table = *op.constant();
  DenseElementsAttr elements;
  if (table.dtype == DType::I32) {
    SmallVector<int32_t> integers(table.elements.begin(), table.elements.end());
    elements = DenseElementsAttr::get(op.result(), ArrayRef(integers));
  } else {
    SmallVector<float> numbers(table.elements.begin(), table.elements.end());
    elements = DenseElementsAttr::get(op.result(), ArrayRef(numbers));
  }
  return arith::ConstantOp::create(op.builder, op.loc, elements);
}

static Operation *importWindowClasses(OperationImport &op) {
  return WindowClassesOp::create(op.builder, op.loc, op.result(), windowOf(op));
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// What an attention of a description says of its scores, as their region. The
/// slots of a memory are keys of which nothing is said.
static void writeScores(OperationImport &op, AttentionOp attention) {
  ScoreWriter writer(op.builder, op.loc, attention.getScoreRegion(),
                     attention.getCaptured());
  ScoreRegion region = writer.getRegion();
  ScoreValues values = {region.getRaw(), region.getRaw(), {}};
  if (const ScoreProgram *program = op.scores()) {
    values = buildScores(
        writer.b,
        [&](size_t byte) {
          return byte == ScoreTerm::ofLayer ? op.loc : op.locationAt(byte);
        },
        *program,
        {region.getRaw(), region.getBatch(), region.getHead(),
         region.getQuery(), region.getKey(), region.getCaptured()});
  }
  if (attention.getSlots()) {
    int64_t keys = shapeOf(attention.getKey())[1];
    values.keep = writer.orSlot(values.keep, keys);
  }
  writer.yield(values.score, values.keep,
               attention.getScores() ? values.carried : Value());
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
  Value memoryKey = op.optionalOperand("memory_key"),
        memoryValue = op.optionalOperand("memory_value"),
        randomBlocks = op.optionalOperand("random_blocks");
  auto similarity = op.dialectAttribute<SimilarityAttrInterface>("similarity");
  auto normalization = op.enumerator<NormalizationAttr, Normalization>(
      "normalization", symbolizeNormalization);
  auto emptyRow = EmptyRowAttr::get(
      builder.getContext(), op.word<EmptyRow>("empty_row", symbolizeEmptyRow));
  SmallVector<Value> captured = op.operands("captured");
  auto attention = AttentionOp::create(
      builder, op.loc, op.result(), op.result("scores"), query, key, value,
      scoreVector, memoryKey, memoryValue, randomBlocks, captured, similarity,
      normalization, builder.getI64IntegerAttr(op.integer("heads")), emptyRow,
      integerOrNone(op, "key_value_heads"), integerOrNone(op, "block"));
  writeScores(op, attention);
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
#include "frontend/ColumnImporters.inc"
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
      {"constant", importConstant},
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
