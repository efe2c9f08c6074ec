//===- ScoreTiles.cpp - The region of scores for tiles of a group ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/recipes/ScoreTiles.h"
#include "dialect/Shapes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
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
  ScoreElement(KernelBuilder &b, const ScoreForm::Ranges &ranges)
      : b(b), ranges(ranges) {}

  void setIndex(Value index, Value value) {
    known[index] = arith::IndexCastOp::create(b, b.getI32Type(), value);
  }
  void set(Value value, Value scalar) { known[value] = scalar; }

  Value get(Value value) {
    Value &own = known[value];
    if (!own) {
      Value made = compute(value.getDefiningOp());
      known[value] = made;
      return made;
    }
    return own;
  }

private:
  Value compute(Operation *op);
  Value integer(IntegerAttr constant);

  KernelBuilder &b;
  const ScoreForm::Ranges &ranges;
  llvm::DenseMap<Value, Value> known;
};

Value ScoreElement::integer(IntegerAttr constant) {
  bool isBoolean = constant.getType().isInteger(1);
  return arith::ConstantOp::create(
      b, isBoolean
             ? constant
             : b.getI32IntegerAttr(static_cast<int32_t>(constant.getInt())));
}

Value ScoreElement::compute(Operation *op) {
  Value result = op->getResult(0);
  if (std::optional<double> number = constantOf(result)) {
    return b.number(*number);
  }
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    return integer(cast<IntegerAttr>(constant.getValue()));
  }
  auto [rest, factor] = splitFactors(result);
  if (rest != result) {
    return b.mul(get(rest), b.number(factor));
  }
  if (std::optional<MultiplyAdd> sum = multiplyAddOf(op)) {
    Value a = get(sum->a);
    a = sum->isDifference ? arith::NegFOp::create(b, a) : a;
    return b.fma(a, get(sum->b), get(sum->c));
  }
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    operands.push_back(get(operand));
  }
  if (isa<arith::IndexCastOp>(op)) {
    return operands[0];
  }
  if (isa<arith::FloorDivSIOp>(op)) {
    auto range = ranges.find(op->getOperand(0));
    bool isPositive =
        range != ranges.end() && !range->second.smin().isNegative();
    return isPositive
               ? arith::DivUIOp::create(b, operands[0], operands[1]).getResult()
               : divideDown(b, b.getLoc(), operands[0], operands[1]);
  }
  if (isa<math::Log2Op>(op)) {
    return b.mul(math::LogOp::create(b, operands[0]),
                 b.number(1 / std::log(2.0)));
  }
  OperationState state(b.getLoc(), op->getName());
  state.addOperands(operands);
  state.addTypes(result.getType().isIndex() ? Type(b.getI32Type())
                                            : result.getType());
  state.addAttributes(op->getAttrs());
  return b.create(state)->getResult(0);
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
                       Value firstQuery, TileType tile, bool rowsAreAnywhere,
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
      ofQueries[read] = gather(cast<ElementOp>(read), Value(), true);
    }
  }
}

ScoreElement ScoreTiles::elementAt(Value i, Value j, Value firstKey) {
  ScoreElement element(b, ranges);
  element.setIndex(form.region.getBatch(), e.block(2));
  element.setIndex(form.region.getHead(), e.head());
  element.setIndex(form.region.getQuery(), b.sum(firstQuery, i));
  if (firstKey) {
    element.setIndex(form.region.getKey(), b.sum(firstKey, j));
  }
  return element;
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
Value ScoreTiles::gather(ElementOp element, Value firstKey, bool keysAreWhole) {
  Type type = element.getType().isF32() ? b.f32() : Type(b.getI32Type());
  if (!(form.sourcesOf(element) & ScoreForm::key)) {
    firstKey = Value();
  }
  TileType own = tile.with({tile.rows(), firstKey ? tile.columns() : 1}, type,
                           tile.getDistribution());
  unsigned number = cast<BlockArgument>(element.getTable()).getArgNumber();
  Value tensor = captured[number - ScoreRegion::kIndices];
  ArrayRef<int64_t> shape = shapeOf(tensor);
  // Where this one is may be what others say.
  Elements others = readFor(element.getIndices(), firstKey, keysAreWhole);
  SmallVector<Value> by(llvm::make_second_range(others));
  const ScoreForm::Ranges &reached = keysAreWhole ? wholeRanges : partRanges;
  std::array<bool, 2> inBounds{true, true};
  for (auto [axis, index] : llvm::enumerate(element.getIndices())) {
    inBounds[axis + 1 == shape.size()] &= isWithin(index, shape[axis], reached);
  }
  return b.gather(
      own, e.matrix(tensor), by,
      [&](ValueRange x, Value i, Value j) {
        ScoreElement at = elementAt(i, j, firstKey);
        setElements(at, others, x);
        Value row, column, isInside;
        auto constant = [&](int64_t value) -> Value {
          return arith::ConstantOp::create(
              b, b.getI32IntegerAttr(static_cast<int32_t>(value)));
        };
        for (auto [axis, index] : llvm::enumerate(element.getIndices())) {
          Value place = at.get(index);
          if (!isWithin(index, shape[axis], ranges)) {
            Value isBelow = arith::CmpIOp::create(b, arith::CmpIPredicate::ult,
                                                  place, constant(shape[axis]));
            isInside = isInside ? arith::AndIOp::create(b, isInside, isBelow)
                                : isBelow;
          }
          if (axis + 1 == shape.size()) {
            column = place;
          } else if (row) {
            row = arith::AddIOp::create(
                b, arith::MulIOp::create(b, row, constant(shape[axis])), place);
          } else {
            row = place;
          }
        }
        row = row ? row : constant(0);
        if (isInside) {
          // No row of the matrix: 0 is what is read there.
          row = arith::SelectOp::create(b, isInside, row, constant(-1));
        }
        auto index = [&](Value word) -> Value {
          return arith::IndexCastOp::create(b, b.getIndexType(), word);
        };
        return std::pair(index(row), index(column));
      },
      inBounds);
}

ScoreTiles::Elements ScoreTiles::readFor(ValueRange values, Value firstKey,
                                         bool keysAreWhole) {
  Elements elements;
  for (Operation *read : readsOf(values)) {
    auto element = cast<ElementOp>(read);
    Value known = ofQueries.lookup(read);
    if (!known && firstKey == carriedKey) {
      known = ofCarried.lookup(read);
    }
    elements.emplace_back(
        element, known ? known : gather(element, firstKey, keysAreWhole));
  }
  return elements;
}

void ScoreTiles::setElements(ScoreElement &at, const Elements &elements,
                             ValueRange values) {
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(
        b, b.getI32IntegerAttr(static_cast<int32_t>(value)));
  };
  for (auto [entry, value] : llvm::zip(elements, values)) {
    ElementOp element = entry.first;
    Value own = value;
    if (element.getType().isInteger(1)) {
      own =
          arith::CmpIOp::create(b, arith::CmpIPredicate::ne, own, constant(0));
    } else if (std::optional<ArrayRef<int64_t>> range = element.getRange()) {
      own = arith::MaxSIOp::create(b, own, constant((*range)[0]));
      own = arith::MinSIOp::create(b, own, constant((*range)[1] - 1));
    }
    at.set(element, own);
  }
}

SmallVector<Value> ScoreTiles::conditionsOf(TileMasks masks) const {
  SmallVector<Value> conditions;
  for (Value condition : form.conditions) {
    if (masks.conditions == TileMasks::all || form.isAboutKeys(condition)) {
      conditions.push_back(condition);
    }
  }
  return conditions;
}

/// Null: always.
Value ScoreTiles::isKept(ScoreElement &at, Value key, TileMasks masks) {
  Value kept;
  auto restrict = [&](Value condition) {
    kept = kept ? arith::AndIOp::create(b, kept, condition) : condition;
  };
  if (masks.end) {
    restrict(
        arith::CmpIOp::create(b, arith::CmpIPredicate::ult, key, masks.end));
  }
  if (masks.exists) {
    restrict(masks.exists);
  }
  for (Value condition : conditionsOf(masks)) {
    restrict(at.get(condition));
  }
  return kept;
}

Value ScoreTiles::apply(Value raw, Value firstKey, TileMasks masks) {
  SmallVector<Value> wanted = conditionsOf(masks);
  bool isMasked = masks.end || masks.exists || !wanted.empty();
  if (getScore() == form.region.getRaw() && !isMasked && hasSoftmax) {
    return raw;
  }
  wanted.insert(wanted.begin(), getScore());
  Elements elements = readFor(wanted, firstKey, !masks.end);
  SmallVector<Value> operands{raw};
  llvm::append_range(operands, llvm::make_second_range(elements));
  Value masked = b.number(hasSoftmax ? -INFINITY : 0);
  return b.map(raw.getType(), operands, [&](ValueRange x, Value i, Value j) {
    ScoreElement at = elementAt(i, j, firstKey);
    setElements(at, elements, x.drop_front());
    at.set(form.region.getRaw(), x[0]);
    Value kept = isKept(at, b.sum(firstKey, j), masks);
    Value score = at.get(getScore());
    if (!hasSoftmax) {
      Value isMasked = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ,
                                             score, b.number(-INFINITY));
      score = arith::SelectOp::create(b, isMasked, masked, score);
    }
    return kept ? arith::SelectOp::create(b, kept, score, masked) : score;
  });
}

Value ScoreTiles::carry(Value raw, Value firstKey, bool keysAreWhole) {
  Value carried = form.region.getYield().getCarried();
  if (carried == form.region.getRaw()) {
    return raw;
  }
  Elements elements = readFor(carried, firstKey, keysAreWhole);
  carriedKey = firstKey;
  ofCarried.clear();
  for (auto [element, value] : elements) {
    ofCarried[element] = value;
  }
  SmallVector<Value> operands{raw};
  llvm::append_range(operands, llvm::make_second_range(elements));
  return b.map(raw.getType(), operands, [&](ValueRange x, Value i, Value j) {
    ScoreElement at = elementAt(i, j, firstKey);
    setElements(at, elements, x.drop_front());
    at.set(form.region.getRaw(), x[0]);
    return at.get(carried);
  });
}

bool ScoreTiles::masksByRaw() const {
  return llvm::any_of(form.conditions, [&](Value condition) {
    return form.sourcesOf(condition) & ScoreForm::raw;
  });
}

Value ScoreTiles::findKept(Value firstKey, TileMasks masks) {
  bool isRaw = getScore() == form.region.getRaw();
  SmallVector<Value> wanted = conditionsOf(masks);
  if (!isRaw) {
    wanted.push_back(getScore());
  }
  Elements elements = readFor(wanted, firstKey, !masks.end);
  SmallVector<Value> operands(llvm::make_second_range(elements));
  Value most = b.number(INFINITY), none = b.number(0);
  return b.map(tile, operands, [&](ValueRange x, Value i, Value j) {
    ScoreElement at = elementAt(i, j, firstKey);
    setElements(at, elements, x);
    Value kept = isKept(at, b.sum(firstKey, j), masks);
    if (!isRaw) {
      at.set(form.region.getRaw(), none);
      Value isScore =
          arith::CmpFOp::create(b, arith::CmpFPredicate::UNE,
                                at.get(getScore()), b.number(-INFINITY));
      kept = kept ? arith::AndIOp::create(b, kept, isScore) : isScore;
    }
    return kept ? arith::SelectOp::create(b, kept, most, none).getResult()
                : most;
  });
}

Value ScoreTiles::findKeptInfinite(Value raw, Value scores, Value firstKey,
                                   TileMasks masks) {
  Elements elements = readFor(conditionsOf(masks), firstKey, !masks.end);
  SmallVector<Value> operands{raw};
  if (scores) {
    operands.push_back(scores);
  }
  unsigned others = operands.size();
  llvm::append_range(operands, llvm::make_second_range(elements));
  Value most = b.number(INFINITY), least = b.number(-INFINITY);
  Value none = b.number(0);
  return b.map(raw.getType(), operands, [&](ValueRange x, Value i, Value j) {
    ScoreElement at = elementAt(i, j, firstKey);
    setElements(at, elements, x.drop_front(others));
    at.set(form.region.getRaw(), x[0]);
    Value kept = isKept(at, b.sum(firstKey, j), masks);
    Value own = arith::NegFOp::create(b, x[0]);
    if (scores) {
      // The region has masked what is -inf and was not.
      Value isScore =
          arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, x[1], least);
      own = arith::SelectOp::create(b, isScore, most, own);
    }
    return kept ? arith::SelectOp::create(b, kept, own, none).getResult() : own;
  });
}

} // namespace hova
