//===- TokenLanes.cpp - Kernels of short sequences ------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cpu/recipes/TokenLanes.h"
#include "codegen/cpu/CpuFacts.h"
#include "codegen/cpu/Recipe.h"
#include "codegen/cpu/recipes/Transpose.h"
#include "dialect/Shapes.h"

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

/// Whether a value comes into the kernel with rows of tokens.
static bool isInput(Value value) {
  return isa<BlockArgument>(value) && isOfTokens(value);
}

TokenLanesLayout::TokenLanesLayout(KernelOp kernel,
                                   const CpuSchedule &schedule) {
  int64_t sequences = shapeOf(firstOf(kernel)->getResult(0)).front();
  unitTokens = sequences / kernel.getUnits()->count() * kTokens;
  lanes = std::min(unitTokens, schedule.tileColumns);
  // A value has its block from the first stage that uses it to the last one.
  auto use = [&](Value value, int64_t stage) {
    auto [found, isNew] = blockOf.try_emplace(value, blocks.size());
    if (isNew) {
      blocks.push_back({shapeOf(value).back() * lanes * 4, stage, stage, 0});
    }
    blocks[found->second].lastUse = stage;
    return found->second;
  };
  for (auto [number, stage] :
       llvm::enumerate(kernel.getBody().getOps<StageOp>())) {
    for (Operation *op : stage.getComputeOps()) {
      for (Value operand : op->getOperands()) {
        Value source = sourceOf(operand).first;
        if (isInput(source) || blockOf.contains(source)) {
          use(source, number);
        }
      }
    }
    // What it hands on to others, and what it computes for results of the
    // kernel, which leave from such a matrix too.
    for (LayoutKind kind : {LayoutKind::token_columns, LayoutKind::rows}) {
      for (OpResult result : stage.getResults()) {
        Value computed = stage.getComputed(result.getResultNumber());
        if (stage.getLayout(result.getResultNumber()).getKind() == kind &&
            !blockOf.contains(computed)) {
          bool isRead = kind == LayoutKind::token_columns;
          int64_t block = use(isRead ? Value(result) : computed, number);
          blockOf[computed] = block;
        }
      }
    }
  }
  scratchOffset = placeBlocks(blocks);
  bytes = scratchOffset + kTokens * kTokens * 4;
}

std::optional<int64_t> TokenLanesLayout::offsetOf(Value value) const {
  auto found = blockOf.find(value);
  return found == blockOf.end()
             ? std::nullopt
             : std::optional<int64_t>(blocks[found->second].offset);
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

Value TokenLanes::matrix(Value tensor, bool isTransposed) {
  auto [source, row] = sourceOf(tensor);
  std::optional<int64_t> offset = layout.offsetOf(source);
  assert(offset && "a value that is read has a matrix");
  Value whole = e.scratchView(*offset, {shapeOf(source).back(), lanes});
  int64_t channels = shapeOf(tensor).back(), first = row * lanes;
  return isTransposed
             ? e.reinterpret(whole, {lanes, channels}, {1, lanes}, first)
             : e.reinterpret(whole, {channels, lanes}, {lanes, 1}, first);
}

Value TokenLanes::scratchMatrix() {
  return e.scratchView(layout.scratchOffset, {kTokens, kTokens});
}

void TokenLanes::forEachTile(int64_t channels, int64_t most, TileBody body) {
  int64_t whole = channels / most * most;
  if (whole) {
    e.forLoop("channels", 0, whole, most,
              [&](Expr channel) { body({channel, 0, most, lanes}); });
  }
  if (whole < channels) {
    body({whole, 0, channels - whole, lanes});
  }
}

Expr TokenLanes::load(Value tensor, const TilePlace &place) {
  if (isOfTokens(tensor)) {
    return e.load(matrix(tensor), place);
  }
  // An element for each channel: a matrix of one column.
  Value column =
      e.reinterpret(e.buffer(tensor), {shapeOf(tensor).back(), 1}, {1, 1});
  Expr numbers = e.load(column, {place.row, 0, place.rows});
  return numbers.broadcast(e.tileType(place.rows, lanes));
}

void TokenLanes::finishAndStore(const TilePlace &place, Expr tile) {
  computeTiles(
      e.builder, stage.getComputeOps(), tile,
      [&](Operation *, Value operand) -> Value { return load(operand, place); },
      [&](Operation *op, Value tile) {
        if (layout.offsetOf(op->getResult(0))) {
          e.store(tile, matrix(op->getResult(0)), place);
        }
      });
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

/// Copies the tokens of a tile, which are rows of a buffer from `first` on, to
/// a matrix of channels, or back.
static void copyTokens(KernelEmitter &e, Value buffer, Expr first, Value matrix,
                       bool isBack) {
  ArrayRef<int64_t> shape = cast<MemRefType>(matrix.getType()).getShape();
  e.forLoop("sequences", 0, shape[1], kTokens, [&](Expr token) {
    for (int64_t from = 0; from < shape[0]; from += kTokens) {
      int64_t valid = std::min(kTokens, shape[0] - from);
      Chunk channels{from, kTokens, valid}, tokens{token, kTokens};
      Expr row = first + token;
      auto load = [&](int64_t i) {
        return isBack ? e.load(matrix, from + i, tokens)
                      : e.load(buffer, row + i, channels);
      };
      auto store = [&](Expr column, int64_t i) {
        isBack ? e.store(column, buffer, row + i, channels)
               : e.store(column, matrix, from + i, tokens);
      };
      transposeBlock(e, isBack ? valid : kTokens, isBack ? kTokens : valid,
                     load, store);
    }
  });
}

void TokenLanes::emitStage(Expr row) {
  for (Operation *op : stage.getComputeOps()) {
    for (Value operand : op->getOperands()) {
      Value source = sourceOf(operand).first;
      if (isInput(source) && loaded.insert(source).second) {
        copyTokens(e, e.buffer(source), row, matrix(source), /*isBack=*/false);
      }
    }
  }
  Operation *anchor = stage.getAnchor();
  e.builder.setLoc(anchor->getLoc());
  if (auto loops = tokenLanesOf(anchor)) {
    loops.emitTokenLanes(*this);
  } else {
    forEachTile(shapeOf(anchor->getResult(0)).back(),
                [&](const TilePlace &place) { finishAndStore(place, {}); });
  }
  for (OpResult result : stage.getResults()) {
    unsigned number = result.getResultNumber();
    if (stage.getLayout(number).getKind() == LayoutKind::rows) {
      copyTokens(e, e.buffer(result), row, matrix(stage.getComputed(number)),
                 /*isBack=*/true);
    }
  }
}

void TokenLanes::emit() {
  int64_t unit = layout.unitTokens;
  e.forLoop("tokens", e.begin * unit, e.end * unit, lanes, [&](Expr row) {
    for (StageOp next : kernel.getBody().getOps<StageOp>()) {
      stage = next;
      emitStage(row);
    }
  });
}

} // namespace hova
