//===- VisitedPanels.cpp - Loops over the keys that queries see -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cpu/recipes/VisitedPanels.h"

using namespace mlir;

namespace hova {

/// Steps that are not even are compared all at once.
static Value emitBound(KernelEmitter &e, Value row,
                       const VisitedKeys::Steps &steps) {
  constexpr size_t kFew = 4;
  if (steps.rows.size() <= kFew || steps.evenDistance()) {
    return countSteps(e.builder, e.loc, row, steps);
  }
  OpBuilder &b = e.builder;
  auto type = VectorType::get({static_cast<int64_t>(steps.rows.size())},
                              b.getI32Type());
  SmallVector<Attribute> numbers;
  for (int64_t own : steps.rows) {
    numbers.push_back(b.getI32IntegerAttr(static_cast<int32_t>(own)));
  }
  Value table =
      e.make<arith::ConstantOp>(DenseElementsAttr::get(type, numbers));
  Value own = e.make<vector::BroadcastOp>(
      type, e.make<arith::IndexCastOp>(b.getI32Type(), row));
  Value isTaken = e.make<arith::CmpIOp>(arith::CmpIPredicate::sle, table, own);
  Value taken = e.make<vector::ReductionOp>(
      vector::CombiningKind::ADD, e.make<arith::ExtUIOp>(type, isTaken));
  return e.add(e.make<arith::IndexCastOp>(b.getIndexType(), taken),
               steps.first);
}

PanelBounds emitPanelBounds(KernelEmitter &e, const VisitedKeys &visited,
                            Value row, int64_t height) {
  return emitVisitedTiles(e.builder, e.loc, visited, /*hasWhole=*/true,
                          [&](int64_t VisitedKeys::Range::*bound) {
                            return emitBound(e, row,
                                             visited.stepsOf(height, bound));
                          });
}

Value isVisited(KernelEmitter &e, const PanelBounds &bounds, Value panel,
                int64_t panels) {
  using arith::CmpIPredicate;
  if (bounds.gapLength) {
    // One turn of the loop has this panel, or the one that would is in the gap.
    Value isBefore =
        e.make<arith::CmpIOp>(CmpIPredicate::ult, panel, bounds.gapBegin);
    Value turn = e.make<arith::SelectOp>(
        isBefore, panel, e.make<arith::SubIOp>(panel, bounds.gapLength));
    PanelBounds turns = {bounds.begin, {}, {}, bounds.end};
    Value isInside = isVisited(e, turns, turn, panels);
    Value isAfter = e.make<arith::CmpIOp>(
        CmpIPredicate::uge, panel, e.add(bounds.gapBegin, bounds.gapLength));
    Value isOutside = e.make<arith::OrIOp>(isBefore, isAfter);
    return isInside ? e.make<arith::AndIOp>(isInside, isOutside).getResult()
                    : isOutside;
  }
  auto isNumber = [](Value value, int64_t number) {
    IntegerAttr constant;
    return matchPattern(value, m_Constant(&constant)) &&
           constant.getInt() == number;
  };
  auto compare = [&](CmpIPredicate predicate, Value bound) -> Value {
    return e.make<arith::CmpIOp>(predicate, panel, bound);
  };
  Value isBefore;
  if (!isNumber(bounds.end, panels)) {
    isBefore = compare(CmpIPredicate::ult, bounds.end);
  }
  if (isNumber(bounds.begin, 0)) {
    return isBefore;
  }
  Value isAfter = compare(CmpIPredicate::uge, bounds.begin);
  if (!isBefore) {
    return isAfter;
  }
  return e.make<arith::AndIOp>(isBefore, isAfter);
}

} // namespace hova
