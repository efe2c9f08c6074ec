//===- VisitedPanels.cpp - The keys that blocks of queries see ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cpu/recipes/VisitedPanels.h"

using namespace mlir;

namespace hova {

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

VisitedPanels::VisitedPanels(const ScoreForm &form, const ScoreExtents &extents,
                             int64_t panel, ArrayRef<RowSpan> blocks)
    : form(form), extents(extents), panel(panel),
      panels(llvm::divideCeil(extents.columns, panel)) {
  for (const RowSpan &block : blocks) {
    byHeight[block.height][block.row] = find(block);
  }
  for (auto &[height, ranges] : byHeight) {
    // Ends and first whole panels take the most so far, begins and last whole
    // ones the least to come: each block visits what it must.
    Range most = {0, 0, 0, 0}, least = {panels, panels, panels, panels};
    for (auto &[row, own] : ranges) {
      own.end = most.end = std::max(most.end, own.end);
      if (own.wholeBegin == own.wholeEnd) {
        // No whole ones: where they cost the other blocks least.
        own.wholeBegin = own.wholeEnd = std::max(most.wholeBegin, own.begin);
      }
      own.wholeBegin = most.wholeBegin =
          std::max(most.wholeBegin, own.wholeBegin);
    }
    for (auto entry = ranges.rbegin(); entry != ranges.rend(); ++entry) {
      Range &own = entry->second;
      own.begin = least.begin = std::min(least.begin, own.begin);
      own.wholeEnd = least.wholeEnd = std::min(least.wholeEnd, own.wholeEnd);
    }
  }
}

const VisitedPanels::Range &VisitedPanels::at(const RowSpan &block) const {
  return byHeight.at(block.height).at(block.row);
}

bool VisitedPanels::haveWhole() const {
  return llvm::any_of(byHeight, [](const auto &height) {
    return llvm::any_of(height.second, [](const auto &entry) {
      return entry.second.wholeBegin < entry.second.wholeEnd;
    });
  });
}

ScoreBox VisitedPanels::boxOf(const RowSpan &block, int64_t begin,
                              int64_t end) const {
  ScoreBox box = extents.box();
  box.query = {block.row,
               std::min(block.row + block.height, extents.queries) - 1};
  box.key = {begin * panel, std::min(end * panel, extents.columns) - 1};
  return box;
}

bool VisitedPanels::seesNone(const RowSpan &block, int64_t begin,
                             int64_t end) const {
  return begin >= end ||
         form.classify(boxOf(block, begin, end)) == KeptKeys::none;
}

/// Not of a panel that has lanes without a key.
bool VisitedPanels::seesAll(const RowSpan &block, int64_t begin,
                            int64_t end) const {
  return begin >= end ||
         (end * panel <= extents.columns &&
          form.classify(boxOf(block, begin, end), /*keysAreValid=*/true) ==
              KeptKeys::all);
}

VisitedPanels::Range VisitedPanels::find(const RowSpan &block) const {
  Range own;
  own.end = findLeast(
      0, panels, [&](int64_t first) { return seesNone(block, first, panels); });
  // The fewest panels at the end in front of which no key is seen.
  own.begin = own.end - findLeast(0, own.end, [&](int64_t count) {
                return seesNone(block, 0, own.end - count);
              });
  // Whole ones around the middle, at the beginning or at the end.
  own.wholeBegin = own.wholeEnd = own.end;
  for (int64_t from : {(own.begin + own.end) / 2, own.begin, own.end}) {
    int64_t first = findLeast(own.begin, from, [&](int64_t begin) {
      return seesAll(block, begin, from);
    });
    int64_t last = own.end - findLeast(0, own.end - from, [&](int64_t count) {
                     return seesAll(block, from, own.end - count);
                   });
    if (last - first > own.wholeEnd - own.wholeBegin) {
      own.wholeBegin = first;
      own.wholeEnd = last;
    }
  }
  return own;
}

bool VisitedPanels::areSome(const ScoreForm &form, const ScoreExtents &extents,
                            int64_t panel, int64_t height) {
  bool decides = llvm::any_of(form.conditions, [&](Value condition) {
    return form.isOfIndices(condition);
  });
  if (!decides) {
    return false;
  }
  RowSpan blocks[] = {{0, height},
                      {std::max<int64_t>(extents.queries - height, 0), height}};
  VisitedPanels visited(form, extents, panel, blocks);
  return llvm::any_of(blocks, [&](const RowSpan &block) {
    Range own = visited.find(block);
    return own.begin > 0 || own.end < visited.panels;
  });
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

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
  int64_t step = count > 1 ? rows[1] - rows[0] : rows[0];
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

/// Between two blocks a bound may rise at any row; where it is found to rise,
/// steps are even more often, and a division finds their number.
Value VisitedPanels::emitBound(KernelEmitter &e, Value row, int64_t height,
                               int64_t Range::*bound) const {
  const Ranges &ranges = byHeight.at(height);
  int64_t first = ranges.begin()->second.*bound, value = first;
  int64_t before = ranges.begin()->first;
  SmallVector<int64_t> rows;
  for (const auto &entry : ranges) {
    int64_t start = entry.first;
    for (; value < entry.second.*bound; ++value) {
      rows.push_back(findLeast(before + 1, start, [&](int64_t own) {
        return own == start || find({own, height}).*bound > value;
      }));
    }
    before = start;
  }
  return countSteps(e, row, first, rows);
}

VisitedPanels::Bounds VisitedPanels::emit(KernelEmitter &e, Value row,
                                          int64_t height) const {
  auto emitOne = [&](int64_t Range::*bound) {
    return emitBound(e, row, height, bound);
  };
  Bounds bounds{emitOne(&Range::begin), emitOne(&Range::wholeBegin),
                emitOne(&Range::wholeEnd), emitOne(&Range::end)};
  // What was made to rise may have crossed.
  auto atMost = [&](Value a, Value b) -> Value {
    return arith::MinUIOp::create(e.builder, e.loc, a, b);
  };
  bounds.wholeEnd = atMost(bounds.wholeEnd, bounds.end);
  bounds.wholeBegin = arith::MaxUIOp::create(
      e.builder, e.loc, atMost(bounds.wholeBegin, bounds.wholeEnd),
      bounds.begin);
  return bounds;
}

} // namespace hova
