//===- VisitedKeys.cpp - The keys that blocks of queries see --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/score/VisitedKeys.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

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

VisitedKeys::VisitedKeys(const ScoreForm &form, const ScoreExtents &extents,
                         int64_t step, ArrayRef<RowSpan> blocks)
    : form(form), extents(extents), step(step),
      tiles(llvm::divideCeil(extents.columns, step)) {
  if (!blocks.empty()) {
    RowSpan asked[] = {blocks.front(), blocks[blocks.size() / 2],
                       blocks.back()};
    mayHaveGaps = llvm::any_of(asked, [&](const RowSpan &block) {
      Range range = findTiles(block);
      return range.gapBegin < range.gapEnd;
    });
  }
  for (const RowSpan &block : blocks) {
    byHeight[block.height][block.row] = findTiles(block);
  }
  for (auto &[height, ranges] : byHeight) {
    // Ends, first whole tiles and first ones of a gap take the most so far,
    // the others the least to come: each block visits what it must.
    Range most = {0, 0, 0, 0}, least = {tiles, tiles, tiles, tiles, 0, tiles};
    for (auto &[row, range] : ranges) {
      range.end = most.end = std::max(most.end, range.end);
      if (range.wholeBegin == range.wholeEnd) {
        // No whole ones: where they cost the other blocks least.
        range.wholeBegin = range.wholeEnd =
            std::max(most.wholeBegin, range.begin);
      }
      range.wholeBegin = most.wholeBegin =
          std::max(most.wholeBegin, range.wholeBegin);
      if (range.gapBegin == range.gapEnd) {
        range.gapBegin = range.gapEnd = std::max(most.gapEnd, range.begin);
      }
      most.gapEnd = std::max(most.gapEnd, range.gapEnd);
      range.gapBegin = most.gapBegin = std::max(most.gapBegin, range.gapBegin);
    }
    for (auto entry = ranges.rbegin(); entry != ranges.rend(); ++entry) {
      Range &range = entry->second;
      range.begin = least.begin = std::min(least.begin, range.begin);
      range.wholeEnd = least.wholeEnd =
          std::min(least.wholeEnd, range.wholeEnd);
      range.gapEnd = least.gapEnd = std::min(least.gapEnd, range.gapEnd);
    }
  }
}

const VisitedKeys::Range &VisitedKeys::at(const RowSpan &block) const {
  return byHeight.at(block.height).at(block.row);
}

ScoreTileCounts VisitedKeys::countTiles(int64_t queries) const {
  ScoreTileCounts counts{queries, step};
  for (const auto &[height, ranges] : byHeight) {
    for (const auto &[row, range] : ranges) {
      int64_t visited = range.count();
      int64_t begin = std::max(range.wholeBegin, range.begin);
      int64_t whole =
          std::max<int64_t>(std::min(range.wholeEnd, range.end) - begin, 0);
      counts.skipped += tiles - visited;
      counts.whole += whole;
      counts.mixed += visited - whole;
    }
  }
  return counts;
}

bool VisitedKeys::haveWhole() const {
  return llvm::any_of(byHeight, [](const auto &height) {
    return llvm::any_of(height.second, [](const auto &entry) {
      return entry.second.wholeBegin < entry.second.wholeEnd;
    });
  });
}

bool VisitedKeys::haveGaps() const {
  return llvm::any_of(byHeight, [](const auto &height) {
    return llvm::any_of(height.second, [](const auto &entry) {
      return entry.second.countLeftOut() > 0;
    });
  });
}

ScoreBox VisitedKeys::boxOf(const RowSpan &block, int64_t begin,
                            int64_t end) const {
  ScoreBox box = extents.box();
  box.query = {block.row,
               std::min(block.row + block.height, extents.queries) - 1};
  box.key = {begin * step, std::min(end * step, extents.columns) - 1};
  return box;
}

bool VisitedKeys::seesNone(const RowSpan &block, int64_t begin,
                           int64_t end) const {
  return begin >= end ||
         form.classify(boxOf(block, begin, end)) == KeptKeys::none;
}

/// Not of a tile that has places without a key.
bool VisitedKeys::seesAll(const RowSpan &block, int64_t begin,
                          int64_t end) const {
  return begin >= end ||
         (end * step <= extents.columns &&
          form.classify(boxOf(block, begin, end), /*keysAreValid=*/true) ==
              KeptKeys::all);
}

std::pair<int64_t, int64_t>
VisitedKeys::findGap(const RowSpan &block, int64_t begin, int64_t end) const {
  // Halves of what is neither seen nor unseen, larger ones first: a mask whose
  // every tile is mixed ends the search before its tiles are asked.
  constexpr size_t kMostQuestions = 64;
  using Span = std::pair<int64_t, int64_t>;
  SmallVector<Span> asked = {{begin, end}}, unseen;
  for (size_t i = 0; i < std::min(asked.size(), kMostQuestions); ++i) {
    auto [first, last] = asked[i];
    KeptKeys kept =
        first < last ? form.classify(boxOf(block, first, last)) : KeptKeys::all;
    if (kept == KeptKeys::none) {
      unseen.push_back({first, last});
    } else if (kept == KeptKeys::some && last - first > 1) {
      int64_t middle = first + (last - first) / 2;
      asked.append({{first, middle}, {middle, last}});
    }
  }
  llvm::sort(unseen);
  Span longest = {begin, begin}, run = longest;
  for (const Span &span : unseen) {
    run = {span.first == run.second ? run.first : span.first, span.second};
    if (run.second - run.first > longest.second - longest.first) {
      longest = run;
    }
  }
  return longest;
}

VisitedKeys::Range VisitedKeys::findTiles(const RowSpan &block) const {
  Range range;
  range.end = findLeast(
      0, tiles, [&](int64_t first) { return seesNone(block, first, tiles); });
  // The fewest tiles at the end in front of which no key is seen.
  range.begin = range.end - findLeast(0, range.end, [&](int64_t count) {
                  return seesNone(block, 0, range.end - count);
                });
  if (mayHaveGaps) {
    std::tie(range.gapBegin, range.gapEnd) =
        findGap(block, range.begin, range.end);
  }
  // Whole ones after the gap: around the middle, at the beginning or at the
  // end.
  int64_t start = std::max(range.begin, range.gapEnd);
  range.wholeBegin = range.wholeEnd = range.end;
  for (int64_t from : {(start + range.end) / 2, start, range.end}) {
    int64_t first = findLeast(start, from, [&](int64_t begin) {
      return seesAll(block, begin, from);
    });
    int64_t last =
        range.end - findLeast(0, range.end - from, [&](int64_t count) {
          return seesAll(block, from, range.end - count);
        });
    if (last - first > range.wholeEnd - range.wholeBegin) {
      range.wholeBegin = first;
      range.wholeEnd = last;
    }
  }
  return range;
}

bool VisitedKeys::areSome(const ScoreForm &form, const ScoreExtents &extents,
                          int64_t step, int64_t height) {
  bool decides = llvm::any_of(form.conditions, [&](Value condition) {
    return form.isOfIndices(condition);
  });
  if (!decides) {
    return false;
  }
  RowSpan blocks[] = {{0, height},
                      {std::max<int64_t>(extents.queries - height, 0), height}};
  VisitedKeys visited(form, extents, step, blocks);
  return llvm::any_of(blocks, [&](const RowSpan &block) {
    Range range = visited.findTiles(block);
    return range.count() < visited.tiles;
  });
}

bool keepsSlots(const ScoreForm &form, const ScoreExtents &extents) {
  if (extents.columns == extents.keys) {
    return false;
  }
  ScoreBox box = extents.box();
  box.key = {extents.keys, extents.columns - 1};
  ScoreForm::Ranges ranges = form.findRanges(box);
  auto isOutside = [&](Value index, int64_t size) {
    const ConstantIntRanges &range = ranges.find(index)->second;
    return range.smax().isNegative() || range.smin().sge(size);
  };
  for (auto element : form.region.getBlock().getOps<ElementOp>()) {
    auto shape =
        cast<RankedTensorType>(element.getTable().getType()).getShape();
    bool reads =
        llvm::none_of(llvm::zip(element.getIndices(), shape), [&](auto axis) {
          return isOutside(std::get<0>(axis), std::get<1>(axis));
        });
    if (reads && isa<FloatType>(element.getType())) {
      return false;
    }
  }
  return form.classify(box) == KeptKeys::all;
}

bool mayHaveEmptyRows(const ScoreForm &form, const ScoreExtents &extents) {
  if (keepsSlots(form, extents)) {
    return false;
  }
  // What is added to a score may be -inf, which masks.
  if (!form.isRaw()) {
    return true;
  }
  ScoreBox box = extents.box();
  for (int64_t query = 0; query < extents.queries; ++query) {
    int64_t diagonal = query + extents.keys - extents.queries;
    bool isKept = false;
    for (int64_t key : {std::clamp<int64_t>(diagonal, 0, extents.columns - 1),
                        extents.columns - 1, int64_t(0)}) {
      box.query = {query, query};
      box.key = {key, key};
      isKept |= form.classify(box) == KeptKeys::all;
    }
    if (!isKept) {
      return true;
    }
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// Between two blocks a bound may rise at any row; where it is found to rise,
/// steps are even more often, and a division finds their number.
VisitedKeys::Steps VisitedKeys::stepsOf(int64_t height,
                                        int64_t Range::*bound) const {
  const Ranges &ranges = byHeight.at(height);
  Steps steps{ranges.begin()->second.*bound, {}};
  int64_t value = steps.first, before = ranges.begin()->first;
  for (const auto &entry : ranges) {
    int64_t start = entry.first;
    for (; value < entry.second.*bound; ++value) {
      steps.rows.push_back(findLeast(before + 1, start, [&](int64_t row) {
        return row == start || findTiles({row, height}).*bound > value;
      }));
    }
    before = start;
  }
  return steps;
}

int64_t VisitedKeys::Steps::evenDistance() const {
  int64_t step = rows.empty() ? 0 : rows.front();
  for (size_t i = 1; i < rows.size(); ++i) {
    step = rows[1] - rows[0];
    if (rows[i] - rows[i - 1] != step) {
      return 0;
    }
  }
  return step;
}

Value countSteps(OpBuilder &builder, Location loc, Value row,
                 const VisitedKeys::Steps &steps) {
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  auto add = [&](Value a, Value b) {
    return builder.createOrFold<arith::AddIOp>(loc, a, b);
  };
  if (steps.rows.empty()) {
    return index(steps.first);
  }
  if (int64_t distance = steps.evenDistance()) {
    Value from = add(row, index(distance - steps.rows[0]));
    if (steps.rows[0] > distance) {
      from = arith::MaxSIOp::create(builder, loc, from, index(0));
    }
    Value taken = arith::DivUIOp::create(builder, loc, from, index(distance));
    Value most = index(static_cast<int64_t>(steps.rows.size()));
    return add(arith::MinUIOp::create(builder, loc, taken, most),
               index(steps.first));
  }
  Value sum = index(steps.first);
  for (int64_t first : steps.rows) {
    Value isTaken = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::sge, row, index(first));
    sum = add(sum, arith::SelectOp::create(builder, loc, isTaken, index(1),
                                           index(0)));
  }
  return sum;
}

VisitedTiles emitVisitedTiles(
    OpBuilder &builder, Location loc, const VisitedKeys &visited, bool hasWhole,
    llvm::function_ref<Value(int64_t VisitedKeys::Range::*)> boundOf) {
  using Range = VisitedKeys::Range;
  auto atMost = [&](Value a, Value b) -> Value {
    return arith::MinUIOp::create(builder, loc, a, b);
  };
  auto atLeast = [&](Value a, Value b) -> Value {
    return arith::MaxUIOp::create(builder, loc, a, b);
  };
  VisitedTiles tiles;
  tiles.begin = boundOf(&Range::begin);
  if (hasWhole) {
    tiles.wholeBegin = boundOf(&Range::wholeBegin);
    tiles.wholeEnd = boundOf(&Range::wholeEnd);
  }
  tiles.end = boundOf(&Range::end);
  // What was made to rise may have crossed.
  if (hasWhole) {
    tiles.wholeEnd = atMost(tiles.wholeEnd, tiles.end);
  }
  Value start = tiles.begin;
  if (visited.haveGaps()) {
    auto clamp = [&](Value bound, Value low) {
      return atMost(atLeast(bound, low), tiles.end);
    };
    tiles.gapBegin = clamp(boundOf(&Range::gapBegin), tiles.begin);
    start = clamp(boundOf(&Range::gapEnd), tiles.gapBegin);
    tiles.gapLength =
        arith::SubIOp::create(builder, loc, start, tiles.gapBegin);
  }
  if (hasWhole) {
    if (tiles.gapLength) {
      tiles.wholeEnd = atLeast(tiles.wholeEnd, start);
    }
    tiles.wholeBegin = atLeast(atMost(tiles.wholeBegin, tiles.wholeEnd), start);
  }
  if (tiles.gapLength) {
    for (Value *bound : {&tiles.wholeBegin, &tiles.wholeEnd, &tiles.end}) {
      if (*bound) {
        *bound = arith::SubIOp::create(builder, loc, *bound, tiles.gapLength);
      }
    }
  }
  return tiles;
}

Value VisitedTiles::tileAt(OpBuilder &builder, Location loc, Value turn,
                           bool isWhole) const {
  if (!gapLength) {
    return turn;
  }
  Value after = builder.createOrFold<arith::AddIOp>(loc, turn, gapLength);
  if (isWhole) {
    return after;
  }
  Value isBefore = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::ult, turn, gapBegin);
  return arith::SelectOp::create(builder, loc, isBefore, turn, after);
}

} // namespace hova
