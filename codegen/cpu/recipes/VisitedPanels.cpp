//===- VisitedPanels.cpp - The keys that blocks of queries see ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cpu/recipes/VisitedPanels.h"

using namespace mlir;

namespace hova {

bool VisitedPanels::seesNone(int64_t row, int64_t height, int64_t begin,
                             int64_t end) const {
  ScoreBox box = extents.box();
  box.query = {row, std::min(row + height, extents.queries) - 1};
  box.key = {begin * panel, std::min(end * panel, extents.columns) - 1};
  return form.classify(box) == KeptKeys::none;
}

/// The least number in `[low, high]` for which `holds`, which holds for `high`
/// and for all above the least.
static int64_t findLeast(int64_t low, int64_t high,
                         llvm::function_ref<bool(int64_t)> holds) {
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (holds(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

VisitedPanels::Range VisitedPanels::find(int64_t row, int64_t height) const {
  int64_t end = findLeast(0, panels, [&](int64_t first) {
    return first == panels || seesNone(row, height, first, panels);
  });
  int64_t skipped = findLeast(0, end, [&](int64_t count) {
    // In reverse: the fewest panels at the end without which none is seen.
    return count == end || seesNone(row, height, 0, end - count);
  });
  return {end - skipped, end};
}

bool VisitedPanels::areSome(int64_t height) const {
  bool decides = llvm::any_of(form.conditions, [this](Value condition) {
    return form.isOfIndices(condition);
  });
  if (!decides) {
    return false;
  }
  for (int64_t row :
       {int64_t(0), std::max<int64_t>(extents.queries - height, 0)}) {
    Range range = find(row, height);
    if (range.begin > 0 || range.end < panels) {
      return true;
    }
  }
  return false;
}

SmallVector<VisitedPanels::Range> VisitedPanels::findAll(int64_t height) const {
  SmallVector<Range> ranges;
  for (int64_t row = 0; row < extents.queries; ++row) {
    ranges.push_back(find(row, height));
    if (row > 0) {
      ranges[row].end = std::max(ranges[row].end, ranges[row - 1].end);
    }
  }
  for (int64_t row = extents.queries - 1; row-- > 0;) {
    ranges[row].begin = std::min(ranges[row].begin, ranges[row + 1].begin);
  }
  return ranges;
}

/// A number that rises with the row: `first`, and one more from each of `rows`
/// on.
static Value countSteps(KernelEmitter &e, Value row, int64_t first,
                        ArrayRef<int64_t> rows) {
  OpBuilder &b = e.builder;
  Location loc = e.loc;
  if (rows.empty()) {
    return e.index(first);
  }
  auto count = static_cast<int64_t>(rows.size());
  int64_t step = count > 1 ? rows[1] - rows[0] : std::max<int64_t>(rows[0], 1);
  bool isEven = step > 0;
  for (int64_t i = 1; i < count; ++i) {
    isEven &= rows[i] - rows[i - 1] == step;
  }
  if (isEven) {
    // Steps of one length: a division.
    Value distance = e.add(row, step - rows[0]);
    if (rows[0] > step) {
      distance = arith::MaxSIOp::create(b, loc, distance, e.index(0));
    }
    Value steps =
        arith::MinUIOp::create(b, loc, e.div(distance, step), e.index(count));
    return e.add(steps, first);
  }
  auto type = VectorType::get({count}, b.getI32Type());
  SmallVector<Attribute> numbers;
  for (int64_t own : rows) {
    numbers.push_back(b.getI32IntegerAttr(static_cast<int32_t>(own)));
  }
  Value table =
      arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, numbers));
  Value own = vector::BroadcastOp::create(
      b, loc, type, arith::IndexCastOp::create(b, loc, b.getI32Type(), row));
  Value isTaken =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sle, table, own);
  Value taken = vector::ReductionOp::create(
      b, loc, vector::CombiningKind::ADD,
      arith::ExtUIOp::create(b, loc, type, isTaken));
  return e.add(arith::IndexCastOp::create(b, loc, b.getIndexType(), taken),
               first);
}

VisitedPanels::Bounds VisitedPanels::emit(KernelEmitter &e, Value row,
                                          int64_t height) const {
  SmallVector<Range> ranges = findAll(height);
  auto emitOne = [&](auto bound) {
    SmallVector<int64_t> rows;
    for (size_t i = 1; i < ranges.size(); ++i) {
      rows.append(bound(ranges[i]) - bound(ranges[i - 1]), i);
    }
    return countSteps(e, row, bound(ranges.front()), rows);
  };
  return {emitOne([](const Range &range) { return range.begin; }),
          emitOne([](const Range &range) { return range.end; })};
}

} // namespace hova
