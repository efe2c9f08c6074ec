//===- ScoreTiles.cpp - The region of scores for tiles of a group ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/recipes/ScoreTiles.h"
#include "dialect/Shapes.h"
#include "dialect/ranges/RangeMistakes.h"
#include "llvm/ADT/SetVector.h"
#include <cmath>

using namespace mlir;

namespace hova {

//===----------------------------------------------------------------------===//
// One element
//===----------------------------------------------------------------------===//

/// Values of the region for one element of a tile: scalars, in which integers
/// have 32 bits.
class ScoreElement {
public:
  ScoreElement(KernelBuilder &b, const ScoreForm &form,
               const ScoreForm::Ranges &ranges)
      : b(b), form(form), ranges(ranges) {}

  void setIndex(Value index, Expr value) {
    known[index] = toInteger(value, b.getI32Type());
  }
  void set(Value value, Expr scalar) { known[value] = scalar; }

  Expr get(Value value) {
    if (Expr earlier = known.lookup(value)) {
      return earlier;
    }
    Expr made = compute(value.getDefiningOp());
    known[value] = made;
    return made;
  }

private:
  Expr compute(Operation *op);

  KernelBuilder &b;
  const ScoreForm &form;
  const ScoreForm::Ranges &ranges;
  llvm::DenseMap<Value, Expr> known;
};

Expr ScoreElement::compute(Operation *op) {
  Value result = op->getResult(0);
  Type i32 = b.getI32Type();
  if (std::optional<double> number = constantOf(result)) {
    return b.number(*number);
  }
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto integer = cast<IntegerAttr>(constant.getValue());
    bool isBoolean = integer.getType().isInteger(1);
    return Expr(integer.getInt()).in(b, isBoolean ? integer.getType() : i32);
  }
  auto [rest, factor] = form.splitFactors(result);
  if (rest != result) {
    return get(rest) * factor;
  }
  if (std::optional<MultiplyAdd> sum = form.multiplyAddOf(op)) {
    Expr a = get(sum->a);
    return fma(sum->isDifference ? -a : a, get(sum->b), get(sum->c));
  }
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    operands.push_back(get(operand));
  }
  if (isa<arith::IndexCastOp>(op)) {
    return b(operands[0]);
  }
  if (isa<arith::FloorDivSIOp>(op)) {
    auto range = ranges.find(op->getOperand(0));
    bool isPositive =
        range != ranges.end() && !range->second.smin().isNegative();
    return isPositive ? b.compute<arith::DivUIOp>(operands[0], operands[1])
                      : b(divideDown(b, b.getLoc(), operands[0], operands[1]));
  }
  if (isa<arith::DivFOp>(op) && form.isExact(result)) {
    // The reciprocal of a GPU is no quotient to the last digit, and is what
    // `1 / x` becomes. Others are rounded to nearest.
    std::optional<double> number = constantOf(op->getOperand(0));
    Expr dividend = number ? b.number(-*number) : -b(operands[0]);
    return dividend / -b(operands[1]);
  }
  OperationState state(b.getLoc(), op->getName());
  state.addOperands(operands);
  state.addTypes(result.getType().isIndex() ? i32 : result.getType());
  state.addAttributes(op->getAttrs());
  return b(b.create(state)->getResult(0));
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// The elements that values of a region are computed from.
static SetVector<Operation *> readsOf(ValueRange values) {
  SetVector<Operation *> reads;
  SmallVector<Value> todo(values);
  llvm::SmallDenseSet<Value> seen;
  while (!todo.empty()) {
    Value value = todo.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op || !seen.insert(value).second) {
      continue;
    }
    if (isa<ElementOp>(op)) {
      reads.insert(op);
      continue;
    }
    llvm::append_range(todo, op->getOperands());
  }
  return reads;
}

std::string ScoreTiles::whatLacks(const ScoreForm &form,
                                  const ScoreExtents &extents) {
  for (const auto &entry : form.findRanges(extents.box())) {
    const ConstantIntRanges &range = entry.second;
    if (range.smin().getBitWidth() > 32 &&
        !(range.smin().isSignedIntN(32) && range.smax().isSignedIntN(32))) {
      return "integers beyond 32 bits in its scores";
    }
  }
  return "";
}

/// The queries and keys of whole tiles: a tile may begin with the last query,
/// and reach `after` keys after the last.
static ScoreBox reach(const ScoreExtents &extents, TileType tile,
                      bool rowsAreAnywhere, int64_t after) {
  ScoreBox box = extents.box();
  box.query.last = rowsAreAnywhere
                       ? extents.queries + 2 * tile.rows()
                       : llvm::alignTo(extents.queries, tile.rows()) - 1;
  box.key.last += after;
  return box;
}

ScoreTiles::ScoreTiles(GroupEmitter &emitter, ValueRange captured,
                       const ScoreForm &form, const ScoreExtents &extents,
                       Expr firstQuery, TileType tile, bool rowsAreAnywhere,
                       bool hasSoftmax)
    : e(emitter), b(emitter.b), captured(captured), form(form),
      ranges(form.findRanges(extents.box())),
      wholeRanges(form.findRanges(reach(extents, tile, rowsAreAnywhere, 0))),
      partRanges(form.findRanges(
          reach(extents, tile, rowsAreAnywhere, tile.columns()))),
      firstQuery(firstQuery), tile(tile), hasSoftmax(hasSoftmax) {
  SmallVector<Value> all = form.conditions;
  all.push_back(getScore());
  if (Value carried = form.region.getYield().getCarried()) {
    all.push_back(carried);
  }
  for (Operation *read : readsOf(all)) {
    if (!(form.sourcesOf(read->getResult(0)) & ScoreForm::key)) {
      ofQueries[read] = gather(cast<ElementOp>(read), {}, true);
    }
  }
}

ScoreElement ScoreTiles::elementAt(Expr i, Expr j, Expr firstKey,
                                   const Reads &reads, Elements x) {
  ScoreElement at(b, form, ranges);
  at.setIndex(form.region.getBatch(), e.block(2));
  at.setIndex(form.region.getHead(), e.head());
  at.setIndex(form.region.getQuery(), firstQuery + i);
  if (firstKey) {
    at.setIndex(form.region.getKey(), firstKey + j);
  }
  for (auto [read, element] : llvm::zip(reads, x)) {
    ElementOp op = read.first;
    Expr score = element;
    if (op.getType().isInteger(1)) {
      score = score != 0;
    } else if (std::optional<ArrayRef<int64_t>> range = op.getRange()) {
      score = min(max(score, (*range)[0]), (*range)[1] - 1);
    }
    at.set(op, score);
  }
  return at;
}

/// Whether an index is within an axis, whatever its element of a tile is.
static bool isWithin(Value index, int64_t extent,
                     const ScoreForm::Ranges &ranges) {
  auto range = ranges.find(index);
  return range != ranges.end() && !range->second.smin().isNegative() &&
         range->second.smax().slt(extent);
}

/// The elements of a captured tensor at a tile, or at its rows where keys do
/// not matter.
Value ScoreTiles::gather(ElementOp element, Expr firstKey, bool keysAreWhole) {
  Type i32 = b.getI32Type(), type = element.getType().isF32() ? b.f32() : i32;
  if (!(form.sourcesOf(element) & ScoreForm::key)) {
    firstKey = {};
  }
  TileType read = tile.with({tile.rows(), firstKey ? tile.columns() : 1}, type,
                            tile.getDistribution());
  unsigned number = cast<BlockArgument>(element.getTable()).getArgNumber();
  Value tensor = captured[number - ScoreRegion::kIndices];
  ArrayRef<int64_t> shape = shapeOf(tensor);
  // Where this one is may be what others say.
  Reads others = readFor(element.getIndices(), firstKey, keysAreWhole);
  SmallVector<Value> by(llvm::make_second_range(others));
  if (e.haveTokenRanges() && areTokens(extentOf(tensor))) {
    // Of the sequence's own tokens, a column; 0 for those that are none.
    return b.gather(read, e.sequenceOf(tensor), by,
                    [&](Elements x, Expr i, Expr j) {
                      ScoreElement at = elementAt(i, j, firstKey, others, x);
                      return std::pair(
                          toIndex(at.get(element.getIndices().back())),
                          b.index(0));
                    },
                    {false, true});
  }
  const ScoreForm::Ranges &reached = keysAreWhole ? wholeRanges : partRanges;
  std::array<bool, 2> inBounds{true, true};
  for (auto [axis, index] : llvm::enumerate(element.getIndices())) {
    inBounds[axis + 1 == shape.size()] &= isWithin(index, shape[axis], reached);
  }
  auto place = [&](Elements x, Expr i, Expr j) {
    ScoreElement at = elementAt(i, j, firstKey, others, x);
    Expr row, column, isInside;
    for (auto [axis, index] : llvm::enumerate(element.getIndices())) {
      Expr entry = at.get(index), extent = Expr(shape[axis]).in(b, i32);
      if (!isWithin(index, shape[axis], ranges)) {
        isInside = isInside & b.compute<arith::CmpIOp>(
                                  arith::CmpIPredicate::ult, entry, extent);
      }
      if (axis + 1 == shape.size()) {
        column = entry;
      } else {
        row = row ? row * extent + entry : entry;
      }
    }
    row = row ? row : Expr(0).in(b, i32);
    // No row of the matrix: 0 is what is read there.
    row = select(isInside, row, -1);
    return std::pair(toIndex(row), toIndex(column));
  };
  return b.gather(read, e.matrix(tensor), by, place, inBounds);
}

ScoreTiles::Reads ScoreTiles::readFor(ValueRange values, Expr firstKey,
                                      bool keysAreWhole) {
  Reads reads;
  for (Operation *read : readsOf(values)) {
    auto element = cast<ElementOp>(read);
    Value known = ofQueries.lookup(read);
    if (!known && firstKey.isSame(carriedKey)) {
      known = ofCarried.lookup(read);
    }
    reads.emplace_back(element,
                       known ? known : gather(element, firstKey, keysAreWhole));
  }
  return reads;
}

Value ScoreTiles::map(
    ValueRange tiles, ValueRange wanted, Expr firstKey, bool keysAreWhole,
    llvm::function_ref<Expr(ScoreElement &, Elements, Expr)> body) {
  Reads reads = readFor(wanted, firstKey, keysAreWhole);
  SmallVector<Value> operands(tiles);
  llvm::append_range(operands, llvm::make_second_range(reads));
  return b.map(tile, operands, [&](Elements x, Expr i, Expr j) {
    ScoreElement at =
        elementAt(i, j, firstKey, reads, x.drop_front(tiles.size()));
    at.set(form.region.getRaw(), tiles.empty() ? b.number(0) : x[0]);
    return body(at, x, firstKey + j);
  });
}

SmallVector<Value> ScoreTiles::conditionsOf(TileMasks masks) const {
  SmallVector<Value> conditions;
  for (Value condition : form.conditions) {
    if (masks == TileMasks::all || form.isAboutKeys(condition)) {
      conditions.push_back(condition);
    }
  }
  return conditions;
}

Expr ScoreTiles::isKept(ScoreElement &at, Expr key, const KeyList::Box &keys,
                        TileMasks masks) {
  Expr kept = (keys.end ? key < keys.end : Expr()) & keys.exists;
  for (Value condition : conditionsOf(masks)) {
    kept = kept & at.get(condition);
  }
  return kept;
}

Value ScoreTiles::apply(Value raw, const KeyList::Box &keys, TileMasks masks) {
  SmallVector<Value> wanted = conditionsOf(masks);
  bool isMasked = keys.end || keys.exists || !wanted.empty();
  if (getScore() == form.region.getRaw() && !isMasked && hasSoftmax) {
    return raw;
  }
  wanted.insert(wanted.begin(), getScore());
  auto mask = [&](ScoreElement &at, Elements, Expr key) {
    Expr kept = isKept(at, key, keys, masks), score = at.get(getScore());
    if (!hasSoftmax) {
      score = select(score == -INFINITY, 0, score);
    }
    return select(kept, score, hasSoftmax ? -INFINITY : 0);
  };
  return map(raw, wanted, keys.first, !keys.end, mask);
}

Value ScoreTiles::carry(Value raw, Expr firstKey, bool keysAreWhole) {
  Value carried = form.region.getYield().getCarried();
  if (carried == form.region.getRaw()) {
    return raw;
  }
  Reads reads = readFor(carried, firstKey, keysAreWhole);
  carriedKey = firstKey;
  ofCarried.clear();
  for (auto [element, read] : reads) {
    ofCarried[element] = read;
  }
  return map(raw, carried, firstKey, keysAreWhole,
             [&](ScoreElement &at, Elements, Expr) { return at.get(carried); });
}

bool ScoreTiles::masksByRaw() const {
  return llvm::any_of(form.conditions, [&](Value condition) {
    return form.sourcesOf(condition) & ScoreForm::raw;
  });
}

Value ScoreTiles::findKept(const KeyList::Box &keys) {
  // Reads again: no register keeps what a tile has read until all are done.
  ofCarried.clear();
  bool isRaw = getScore() == form.region.getRaw();
  SmallVector<Value> wanted = conditionsOf(TileMasks::all);
  if (!isRaw) {
    wanted.push_back(getScore());
  }
  auto find = [&](ScoreElement &at, Elements, Expr key) {
    Expr kept = isKept(at, key, keys, TileMasks::all);
    if (!isRaw) {
      kept = kept & (at.get(getScore()) != -INFINITY);
    }
    return select(kept, INFINITY, 0.0);
  };
  return map({}, wanted, keys.first, !keys.end, find);
}

Value ScoreTiles::findKeptInfinite(Value raw, Value scores,
                                   const KeyList::Box &keys, TileMasks masks) {
  SmallVector<Value> tiles{raw};
  if (scores) {
    tiles.push_back(scores);
  }
  auto find = [&](ScoreElement &at, Elements x, Expr key) {
    Expr kept = isKept(at, key, keys, masks), negated = -x[0];
    if (scores) {
      // The region has masked what is -inf and was not.
      negated = select(x[1] != -INFINITY, INFINITY, negated);
    }
    return select(kept, negated, 0);
  };
  return map(tiles, conditionsOf(masks), keys.first, !keys.end, find);
}

} // namespace hova
