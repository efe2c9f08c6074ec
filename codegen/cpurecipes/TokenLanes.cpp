//===- TokenLanes.cpp - Kernels of short sequences ------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cpurecipes/TokenLanes.h"
#include "codegen/cpu/CpuFacts.h"
#include "codegen/cpurecipes/Recipe.h"
#include "codegen/cpurecipes/Transpose.h"
#include "dialect/DenseOps.h"
#include "dialect/Shapes.h"
#include "dialect/TileOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "passes/tile/KernelStructure.h"
#include <map>

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

/// Calls `use` for the stage of everything that reads `value` or a slice of it.
static void forEachReader(Value value, llvm::function_ref<void(int64_t)> use) {
  for (Operation *user : value.getUsers()) {
    if (isKernelView(user)) {
      forEachReader(user->getResult(0), use);
    } else if (!isa<YieldOp>(user)) {
      use(stageOf(user));
    }
  }
}

static bool isYielded(Value value) {
  return llvm::any_of(value.getUsers(), llvm::IsaPred<YieldOp>);
}

TokenLanesLayout::TokenLanesLayout(KernelOp kernel, const Schedule &schedule) {
  Block &body = kernel.getBody().front();
  Operation *first = firstOf(kernel);
  int64_t sequences = shapeOf(first->getResult(0)).front();
  unitTokens = sequences / kernel.getUnits()->count() * kTokens;
  lanes = std::min(unitTokens, schedule.tileColumns);
  for (Value argument : body.getArguments()) {
    int64_t from = std::numeric_limits<int64_t>::max(), to = -1;
    forEachReader(argument, [&](int64_t stage) {
      from = std::min(from, stage);
      to = std::max(to, stage);
    });
    if (isOfTokens(argument) && to >= 0) {
      addValue(argument, from, to);
    }
  }
  for (Operation &op : body.without_terminator()) {
    int64_t own = stageOf(&op), to = own;
    if (own < 0) {
      continue;
    }
    Value result = op.getResult(0);
    forEachReader(result, [&](int64_t stage) { to = std::max(to, stage); });
    if (to > own || isYielded(result)) {
      addValue(result, own, to);
    }
  }
  ownOffset = placeBlocks(blocks);
  bytes = ownOffset + kTokens * kTokens * 4;
}

void TokenLanesLayout::addValue(Value value, int64_t firstStage,
                                int64_t lastStage) {
  numbers[value] = blocks.size();
  blocks.push_back(
      {shapeOf(value).back() * lanes * 4, firstStage, lastStage, 0});
}

std::optional<int64_t> TokenLanesLayout::offsetOf(Value value) const {
  auto found = numbers.find(value);
  return found == numbers.end()
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
  return memref::ReinterpretCastOp::create(e.builder, e.loc, type, whole,
                                           row * lanes, sizes, strides);
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
    return TileLoadOp::create(e.builder, e.loc, type, matrix(tensor), channel,
                              e.index(0), IntegerAttr());
  }
  // An element for each channel: a matrix of one column.
  int64_t channels = shapeOf(tensor).back();
  auto column = MemRefType::get({channels, 1}, e.builder.getF32Type());
  Value elements = memref::ReinterpretCastOp::create(
      e.builder, e.loc, column, e.buffer(tensor), 0,
      ArrayRef<int64_t>{channels, 1}, ArrayRef<int64_t>{1, 1});
  Value own = TileLoadOp::create(
      e.builder, e.loc, VectorType::get({rows, 1}, e.builder.getF32Type()),
      elements, channel, e.index(0), IntegerAttr());
  return vector::BroadcastOp::create(e.builder, e.loc, type, own);
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

void TokenLanes::storeTokens(Value tensor, Value row) {
  Value source = matrix(tensor), target = e.buffer(tensor);
  forEachBlock(e, lanes, shapeOf(tensor).back(),
               [&](Value token, int64_t channel, int64_t valid) {
                 SmallVector<Value> rows;
                 for (int64_t i = 0; i < valid; ++i) {
                   rows.push_back(e.loadRow(source, e.index(channel + i), token,
                                            kTokens, kTokens));
                 }
                 rows.resize(kTokens, e.splat(0, e.vectorType(kTokens)));
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
  for (Operation *op : stage) {
    Value result = op->getResult(0);
    if (op == stage.front() && tile) {
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
      TileStoreOp::create(e.builder, e.loc, tiles[result], matrix(result),
                          channel, e.index(0), IntegerAttr());
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
  for (Operation *op : stage) {
    for (Value operand : op->getOperands()) {
      Value source = sourceOf(operand).first;
      if (isa<BlockArgument>(source) && isOfTokens(source) &&
          loaded.insert(source).second) {
        loadTokens(source, row);
      }
    }
  }
  Operation *anchor = stage.front();
  e.loc = anchor->getLoc();
  if (auto recipe = dyn_cast<CpuRecipeOpInterface>(anchor)) {
    recipe.emitTokenLanes(*this);
  } else {
    emitElementwise(anchor);
  }
  for (Operation *op : stage) {
    if (isYielded(op->getResult(0))) {
      storeTokens(op->getResult(0), row);
    }
  }
}

void TokenLanes::emit() {
  std::map<int64_t, SmallVector<Operation *>> stages;
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    if (!isKernelView(&op)) {
      stages[stageOf(&op)].push_back(&op);
    }
  }
  e.forLoop("tokens", e.mul(e.begin, layout.unitTokens),
            e.mul(e.end, layout.unitTokens), lanes, [&](Value row) {
              for (auto &[number, ops] : stages) {
                stage = ops;
                emitStage(row);
              }
            });
}

} // namespace hova
