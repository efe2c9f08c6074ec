//===- TokenLanes.cpp - Kernels of short sequences ------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cpu/recipes/TokenLanes.h"
#include "codegen/cpu/CpuFacts.h"
#include "codegen/cpu/TileOps.h"
#include "codegen/cpu/recipes/Recipe.h"
#include "codegen/cpu/recipes/Transpose.h"
#include "dialect/DenseOps.h"
#include "dialect/Shapes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include <limits>

using namespace mlir;

namespace hova {

static constexpr int64_t kTokens = CpuFacts::sequenceTokens;

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

/// The value whose matrix `value` is rows of, and the first of them.
static std::pair<Value, int64_t> sourceOf(Value value) {
  int64_t offset = 0;
  while (isKernelView(value.getDefiningOp())) {
    auto slice = cast<SliceOp>(value.getDefiningOp());
    offset += slice.getOffset();
    value = slice.getX();
  }
  return {value, offset};
}

static bool isOfTokens(Value value) { return shapeOf(value).size() == 3; }

TokenLanesLayout::TokenLanesLayout(KernelOp kernel,
                                   const CpuSchedule &schedule) {
  int64_t sequences = shapeOf(firstOf(kernel)->getResult(0)).front();
  unitTokens = sequences / kernel.getUnits()->count() * kTokens;
  lanes = std::min(unitTokens, schedule.tileColumns);
  for (StageOp stage : kernel.getBody().getOps<StageOp>()) {
    numbers.try_emplace(stage, numbers.size());
  }
  for (Value argument : kernel.getBody().getArguments()) {
    if (isOfTokens(argument)) {
      addValue(argument, std::nullopt);
    }
  }
  for (StageOp stage : kernel.getBody().getOps<StageOp>()) {
    addResults(stage);
  }
  ownOffset = placeBlocks(blocks);
  bytes = ownOffset + kTokens * kTokens * 4;
}

void TokenLanesLayout::addReaders(Value value, ArenaBlock &block) const {
  for (Operation *user : value.getUsers()) {
    if (isKernelView(user)) {
      addReaders(user->getResult(0), block);
    } else if (auto found = numbers.find(user->getParentOp());
               found != numbers.end()) {
      block.firstUse = std::min(block.firstUse, found->second);
      block.lastUse = std::max(block.lastUse, found->second);
    }
  }
}

void TokenLanesLayout::addValue(Value value, std::optional<int64_t> stage) {
  int64_t bytes = shapeOf(value).back() * lanes * 4;
  ArenaBlock block = {bytes, std::numeric_limits<int64_t>::max(), -1, 0};
  if (stage) {
    block.firstUse = block.lastUse = *stage;
  }
  addReaders(value, block);
  if (block.lastUse >= 0) {
    blockOf[value] = blocks.size();
    blocks.push_back(block);
  }
}

/// What a stage hands on to others, and what it computes for results of the
/// kernel, which leave from such a matrix too.
void TokenLanesLayout::addResults(StageOp stage) {
  for (LayoutKind kind : {LayoutKind::token_columns, LayoutKind::rows}) {
    for (OpResult result : stage.getResults()) {
      Value computed = stage.getComputed(result.getResultNumber());
      if (stage.getLayout(result.getResultNumber()).getKind() != kind ||
          blockOf.contains(computed)) {
        continue;
      }
      bool isRead = kind == LayoutKind::token_columns;
      Value value = isRead ? Value(result) : computed;
      addValue(value, numbers.lookup(stage));
      blockOf[computed] = blockOf.lookup(value);
    }
  }
}

std::optional<int64_t> TokenLanesLayout::offsetOf(Value value) const {
  auto found = blockOf.find(value);
  return found == blockOf.end()
             ? std::nullopt
             : std::optional<int64_t>(blocks[found->second].offset);
}

//===----------------------------------------------------------------------===//
// Matrices
//===----------------------------------------------------------------------===//

Value TokenLanes::view(Value tensor, ArrayRef<int64_t> sizes,
                       ArrayRef<int64_t> strides) {
  auto [source, row] = sourceOf(tensor);
  std::optional<int64_t> offset = layout.offsetOf(source);
  assert(offset && "a value that is read has a matrix");
  int64_t channels = shapeOf(source).back();
  Value whole =
      e.scratchView(*offset, {channels, lanes}, e.builder.getF32Type());
  auto type = MemRefType::get(
      sizes, e.builder.getF32Type(),
      StridedLayoutAttr::get(e.builder.getContext(), row * lanes, strides));
  return e.make<memref::ReinterpretCastOp>(type, whole, row * lanes, sizes,
                                           strides);
}

Value TokenLanes::matrix(Value tensor) {
  return view(tensor, {shapeOf(tensor).back(), lanes}, {lanes, 1});
}

Value TokenLanes::transposedMatrix(Value tensor) {
  return view(tensor, {lanes, shapeOf(tensor).back()}, {1, lanes});
}

Value TokenLanes::ownMatrix() {
  return e.scratchView(layout.ownOffset, {kTokens, kTokens},
                       e.builder.getF32Type());
}

void TokenLanes::forEachTile(int64_t channels, int64_t most,
                             llvm::function_ref<void(Value, int64_t)> body) {
  int64_t whole = channels / most * most;
  if (whole) {
    e.forLoop("channels", e.index(0), e.index(whole), most,
              [&](Value channel) { body(channel, most); });
  }
  if (whole < channels) {
    body(e.index(whole), channels - whole);
  }
}

Value TokenLanes::load(Value tensor, Value channel, int64_t rows) {
  auto type = VectorType::get({rows, lanes}, e.builder.getF32Type());
  if (isOfTokens(tensor)) {
    return e.make<TileLoadOp>(type, matrix(tensor), channel, e.index(0),
                              IntegerAttr());
  }
  // An element for each channel: a matrix of one column.
  int64_t channels = shapeOf(tensor).back();
  auto column = MemRefType::get({channels, 1}, e.builder.getF32Type());
  Value elements = e.make<memref::ReinterpretCastOp>(
      column, e.buffer(tensor), 0, ArrayRef<int64_t>{channels, 1},
      ArrayRef<int64_t>{1, 1});
  Value own =
      e.make<TileLoadOp>(VectorType::get({rows, 1}, e.builder.getF32Type()),
                         elements, channel, e.index(0), IntegerAttr());
  return e.make<vector::BroadcastOp>(type, own);
}

//===----------------------------------------------------------------------===//
// In and out
//===----------------------------------------------------------------------===//

/// Calls `body` for every block of 16 channels of every sequence of a tile:
/// with its first token, its first channel and how many channels there are.
static void
forEachBlock(KernelEmitter &e, int64_t lanes, int64_t channels,
             llvm::function_ref<void(Value, int64_t, int64_t)> body) {
  e.forLoop("sequences", e.index(0), e.index(lanes), kTokens, [&](Value token) {
    for (int64_t from = 0; from < channels; from += kTokens) {
      body(token, from, std::min(kTokens, channels - from));
    }
  });
}

void TokenLanes::loadTokens(Value tensor, Value row) {
  Value source = e.buffer(tensor), target = matrix(tensor);
  forEachBlock(e, lanes, shapeOf(tensor).back(),
               [&](Value token, int64_t channel, int64_t valid) {
                 SmallVector<Value> rows;
                 for (int64_t i = 0; i < kTokens; ++i) {
                   Value from = e.add(e.add(row, token), i);
                   rows.push_back(e.loadRow(source, from, e.index(channel),
                                            kTokens, valid));
                 }
                 transpose16(e.builder, e.loc, rows);
                 for (int64_t i = 0; i < valid; ++i) {
                   e.storeRow(rows[i], target, e.index(channel + i), token,
                              kTokens);
                 }
               });
}

void TokenLanes::storeTokens(Value computed, Value target, Value row) {
  Value source = matrix(computed);
  forEachBlock(e, lanes, shapeOf(computed).back(),
               [&](Value token, int64_t channel, int64_t valid) {
                 SmallVector<Value> rows;
                 for (int64_t i = 0; i < valid; ++i) {
                   rows.push_back(e.loadRow(source, e.index(channel + i), token,
                                            kTokens, kTokens));
                 }
                 rows.resize(kTokens, e.splat(0, kTokens));
                 transpose16(e.builder, e.loc, rows);
                 for (int64_t i = 0; i < kTokens; ++i) {
                   Value to = e.add(e.add(row, token), i);
                   e.storeRow(rows[i], target, to, e.index(channel), valid);
                 }
               });
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

void TokenLanes::finishAndStore(Value channel, int64_t rows, Value tile) {
  DenseMap<Value, Value> tiles;
  for (Operation *op : stage.getComputeOps()) {
    Value result = op->getResult(0);
    if (op == stage.getAnchor() && tile) {
      tiles[result] = tile;
    } else {
      SmallVector<Value> operands;
      for (Value operand : op->getOperands()) {
        Value known = tiles.lookup(operand);
        operands.push_back(known ? known : load(operand, channel, rows));
      }
      tiles[result] = cast<TileOpInterface>(op).emitTile(e.builder, operands);
    }
    if (layout.offsetOf(result)) {
      e.make<TileStoreOp>(tiles[result], matrix(result), channel, e.index(0),
                          IntegerAttr());
    }
  }
}

void TokenLanes::emitElementwise(Operation *op) {
  forEachTile(shapeOf(op->getResult(0)).back(),
              [&](Value channel, int64_t rows) {
                finishAndStore(channel, rows, Value());
              });
}

void TokenLanes::emitStage(Value row) {
  for (Operation *op : stage.getComputeOps()) {
    for (Value operand : op->getOperands()) {
      Value source = sourceOf(operand).first;
      if (isa<BlockArgument>(source) && isOfTokens(source) &&
          loaded.insert(source).second) {
        loadTokens(source, row);
      }
    }
  }
  Operation *anchor = stage.getAnchor();
  e.loc = anchor->getLoc();
  if (auto recipe = dyn_cast<CpuRecipeOpInterface>(anchor)) {
    recipe.emitTokenLanes(*this);
  } else {
    emitElementwise(anchor);
  }
  for (OpResult result : stage.getResults()) {
    unsigned number = result.getResultNumber();
    if (stage.getLayout(number).getKind() == LayoutKind::rows) {
      storeTokens(stage.getComputed(number), e.buffer(result), row);
    }
  }
}

void TokenLanes::emit() {
  e.forLoop("tokens", e.mul(e.begin, layout.unitTokens),
            e.mul(e.end, layout.unitTokens), lanes, [&](Value row) {
              for (StageOp next : kernel.getBody().getOps<StageOp>()) {
                stage = next;
                emitStage(row);
              }
            });
}

} // namespace hova
