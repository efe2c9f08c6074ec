//===- FeatureWriter.cpp - What both halves of linear attention share -----===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/recipes/linear_attention/FeatureWriter.h"

using namespace mlir;

namespace hova {

CudaScheduleAttr scheduleSums(MLIRContext *context, int64_t width) {
  return CudaScheduleAttr::get(context, kSumsRows, boxColumns(width), 4, 1,
                               kSumsStep, 2);
}

int64_t countRowBlocks(KeySummaryOp op, int64_t blockRows) {
  return op.getMap() == FeatureMap::softmax
             ? 1
             : llvm::divideCeil(shapeOf(op.getResult())[3], blockRows);
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

TileType FeatureWriter::tile(int64_t columns, TileDistribution lanes) {
  return TileType::get(b.getContext(), {chosen.getRows(), columns}, b.f32(),
                       lanes, chosen.getRowWarps(), 1);
}

TileType FeatureWriter::rowTile(int64_t columns) {
  return tile(columns).with({1, columns}, b.f32(), TileDistribution::product);
}

Value FeatureWriter::halfNorms(Value x) {
  auto type = cast<TileType>(x.getType());
  TileType wide = type.with(type.getShape(), b.f32(), type.getDistribution());
  Value squares = b.map(wide, x, [&](Elements elements, Expr, Expr) {
    Expr element = widen(b, elements[0]);
    return element * element;
  });
  Value sums = b.reduce(Combine::add, squares, wide.getDistribution());
  return b.map(sums.getType(), sums, [&](Elements elements, Expr, Expr) {
    return elements[0] * (llvm::numbers::log2e * scale * scale / 2);
  });
}

Value FeatureWriter::maskOf(Value keyValid) {
  return e.haveTokenRanges() ? e.sequenceOf(keyValid) : e.matrix(keyValid);
}

Value FeatureWriter::validKeys(TileType type, Expr first) {
  if (!keyValid) {
    return {};
  }
  Type ints =
      type.with(type.getShape(), b.getI32Type(), type.getDistribution());
  return b.gather(ints, keyValid, [&](Expr i, Expr j) {
    Expr key = first + (type.rows() == 1 ? j : i);
    return e.haveTokenRanges() ? std::pair(key, Expr(0))
                               : std::pair(e.block(2), key);
  });
}

//===----------------------------------------------------------------------===//
// Matrices
//===----------------------------------------------------------------------===//

Value FeatureWriter::slots(int64_t boxes, int64_t boxRows, int64_t columns) {
  return b.slots({boxes, boxRows, columns}, b.f32());
}

Value FeatureWriter::copyBox(Value matrix, Expr row, Value slots, Expr slot,
                             bool rowsInside) {
  int64_t width = cast<MemRefType>(matrix.getType()).getDimSize(1);
  return b.copy(matrix, row, 0, slots, slot, rowsInside,
                width == cast<SlotsType>(slots.getType()).columns());
}

FeatureWriter::Values FeatureWriter::copyRows(Value matrix, Expr row,
                                              Value boxes, bool rowsInside) {
  auto box = cast<SlotsType>(boxes.getType());
  Values copies;
  for (int64_t slot = 0; slot < box.count(); ++slot) {
    copies.push_back(b.copy(matrix, row, slot * box.columns(), boxes, slot,
                            rowsInside,
                            keyWidth == box.count() * box.columns()));
  }
  return copies;
}

Value FeatureWriter::columnsOfKeys(Value keys, TileType type, Expr firstRow,
                                   Expr firstKey) {
  Type element = cast<MemRefType>(keys.getType()).getElementType();
  Value stored = b.gather(
      type.with(type.getShape(), element, type.getDistribution()), keys,
      [&](Expr i, Expr j) { return std::pair(firstKey + j, firstRow + i); });
  return b.map(type, stored,
               [&](Elements x, Expr, Expr) { return widen(b, x[0]); });
}

FeatureWriter::KeyBlock FeatureWriter::keyBlockOf(KeySummaryOp op) {
  int64_t heads = op.getHeads(), size = op.getBlock();
  int64_t tokens = shapeOf(op.getKey())[1];
  ArrayRef<int64_t> shape = shapeOf(op.getResult());
  KeyBlock block;
  block.keys = e.headOf(op.getKey(), heads);
  block.values = e.headOf(op.getValue(), heads);
  Expr part = e.block(0) / countRowBlocks(op, chosen.getRows());
  block.first = part * size;
  block.end = min(size, tokensOf(tokens) - block.first);
  if (e.haveTokenRanges()) {
    // Blocks behind the end of their sequence have no keys.
    block.end = select(block.first < tokensOf(tokens), block.end, 0);
  }
  Expr head = e.block(2) * shape[1] + e.block(1);
  Expr slot = head * shape[2] + part;
  block.to = e.view(e.matrix(op.getResult()), slot * rows, rows, 0, shape[4]);
  return block;
}

FeatureWriter::TurnCount FeatureWriter::turnsOf(const KeyBlock &block,
                                                int64_t most, int64_t step) {
  if (!e.haveTokenRanges()) {
    return {most, {}};
  }
  return {most, (max(block.end, 1) + (step - 1)) / step};
}

Expr FeatureWriter::tokensOf(int64_t tokens) {
  return e.haveTokenRanges() ? e.rowsOfSequence(sequence).count : Expr(tokens);
}

Value FeatureWriter::sumsOf(SummaryAttentionOp op) {
  ArrayRef<int64_t> shape = shapeOf(op.getSummary());
  Expr head = e.block(2) * shape[1] + e.block(1) / op.getGroup();
  Expr slot = head * shape[2];
  if (op.getMerged()) {
    slot = slot + e.block(0);
  }
  return e.view(e.matrix(op.getSummary()), slot * rows, rows, 0, shape[4]);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

FeatureWriter::Values FeatureWriter::takeTurns(TurnCount turns,
                                               ValueRange resident,
                                               ValueRange state, Copy copy,
                                               Take take) {
  Expr first = b.index(0);
  Values carried = copy(first, first);
  if (!resident.empty()) {
    GroupWaitOp::create(b, resident);
  }
  size_t copies = carried.size();
  carried.push_back(first);
  llvm::append_range(carried, state);
  auto takeBox = [&](Expr turn, ValueRange in) {
    return take(turn, b(in[copies]), in.drop_front(copies + 1));
  };
  if (turns.most > 1) {
    Expr last = turns.here ? turns.here - 1 : Expr(turns.most - 1);
    carried = b.loop(0, last, carried, [&](Expr turn, ValueRange in) -> Values {
      GroupWaitOp::create(b, in.take_front(copies));
      Expr other = b.previous(b(in[copies]), 2);
      Values next = copy(turn + 1, other);
      next.push_back(other);
      llvm::append_range(next, takeBox(turn, in));
      return next;
    });
  }
  // The last turn has nothing to copy.
  GroupWaitOp::create(b, ArrayRef(carried).take_front(copies));
  isLastTurn = true;
  Values made =
      takeBox(turns.here ? turns.here - 1 : b.index(turns.most - 1), carried);
  isLastTurn = false;
  GroupWaitOp::create(b, ValueRange());
  return made;
}

//===----------------------------------------------------------------------===//
// Queries
//===----------------------------------------------------------------------===//

Value FeatureWriter::maximumBefore(Value sums) {
  return b.gather(tile(1), sums,
                  [&](Expr, Expr) { return std::pair(Expr(count + 1), 0); });
}

Value FeatureWriter::maximaUpTo(Value maxima, Value sums, Expr row,
                                Expr tokens) {
  TileType column = tile(1);
  Value counted = b.map(
      column, {maxima, validKeys(column, row)}, [&](Elements x, Expr i, Expr) {
        return select(counts(row + i, tokens, x[1]), x[0], kNoKeyMaximum);
      });
  Value line = GroupTransposeOp::create(b, rowTile(chosen.getRows()), counted);
  Value upTo =
      b.map(tile(chosen.getRows()), line, [](Elements x, Expr i, Expr j) {
        return select(i < j, kNoKeyMaximum, x[0]);
      });
  Value before = maximumBefore(sums);
  return b.combine(Combine::max,
                   b.reduce(Combine::max, upTo, TileDistribution::product),
                   before);
}

void FeatureWriter::addPlain(Sums &all, Value sums) {
  auto add = [&](Value sum, int64_t column, int64_t width) {
    auto type = cast<TileType>(sum.getType());
    Value plain =
        b.load(rowTile(type.columns()), e.view(sums, 0, rows, column, width),
               count, 0, true, type.columns() == width);
    return b.map(type, {sum, plain, all.features}, [&](Elements x, Expr, Expr) {
      return fma(x[2] * eps, x[1], x[0]);
    });
  };
  all.result = add(all.result, 0, valueWidth);
  all.denominator = add(all.denominator, valueWidth, 1);
}

void FeatureWriter::divideAndStore(SummaryAttentionOp op, Expr row,
                                   const Sums &all, Value most, Value half,
                                   Value scale) {
  Value to = e.headOf(op.getResult(), op.getHeads());
  double stabilizer = op.getStabilizer().convertToDouble();
  double constant = op.getDenominatorEps().convertToDouble();
  double share = 1.0 / featureNormalizer(map, count);
  // Exponentials of exp are relative to a maximum that it does not have.
  bool isRelative =
      map == FeatureMap::exp && (stabilizer != 0 || constant != 0);
  Value denominator =
      b.map(all.denominator.getType(), {all.denominator, most, half, scale},
            [&](Elements x, Expr, Expr) {
              Expr part = x[0] * share;
              Expr factor =
                  isRelative ? b.power(x[2] - x[1] + shift()) : Expr();
              if (x[3]) {
                factor = factor ? factor * x[3] : x[3];
              }
              auto relative = [&](double number) {
                return factor ? number * factor : Expr(number);
              };
              if (stabilizer != 0) {
                Expr isSmall = abs(part) <= relative(stabilizer);
                part = part + select(isSmall, relative(2 * stabilizer), 0.0);
              }
              return constant != 0 ? part + relative(constant) : part;
            });
  Value divided = b.map(all.result.getType(), {all.result, denominator},
                        [&](Elements x, Expr, Expr) {
                          return select(x[1] == 0, 0, x[0] * share / x[1]);
                        });
  bool rowsInside = areWhole(shapeOf(op.getQuery())[1], chosen.getRows());
  b.storeRounded(divided, to, row, 0, rowsInside,
                 valueWidth == chosen.getColumns());
}

} // namespace hova
