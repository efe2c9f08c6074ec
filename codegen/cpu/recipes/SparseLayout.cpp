//===- SparseLayout.cpp - Sizes of attention to few blocks ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cpu/recipes/SparseLayout.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace hova {

SparseLayout::SparseLayout(BlockSparseAttentionOp op,
                           const CpuSchedule &schedule, const ScoreForm &form)
    : batch(shapeOf(op.getQuery())[0]), heads(op.getHeads()),
      tokens(shapeOf(op.getQuery())[1]), group(op.getGroup()),
      keyWidth(shapeOf(op.getQuery())[2] / heads),
      valueWidth(shapeOf(op.getResult())[2] / heads), block(op.getBlock()),
      blocks(op.getBlocks()), random(op.getRandomCount()),
      tileRows(schedule.tileRows),
      lanes(std::min<int64_t>(schedule.tileColumns,
                              llvm::alignTo(block, kTransposed))),
      groupKeys(std::min(block, kMostKeys)) {
  skipsBlocks = VisitedKeys::areSome(form, extents(), block, groupRows());
  hasLimits = tokens % block || block % groupKeys ||
              llvm::any_of(form.conditions, [&](Value condition) {
                return form.isAboutKeys(condition);
              });
}

SmallVector<RowSpan> SparseLayout::groups() const {
  SmallVector<RowSpan> groups;
  for (int64_t own = 0; own < blocks; ++own) {
    for (int64_t from = 0; from < lengthOf(own); from += lanes) {
      groups.push_back({own * block + from, std::min(block - from, lanes)});
    }
  }
  return groups;
}

void VisitedBlocks::begin(KernelEmitter &e, Value row, Value block) {
  bounds.clear();
  if (!layout.skipsBlocks) {
    return;
  }
  bounds.push_back(emitPanelBounds(e, visited, row, layout.groupRows()));
  if (int64_t rows = layout.restRows()) {
    bounds.push_back(emitPanelBounds(e, visited, row, rows));
    Value first = e.add(e.mul(block, layout.block), layout.block - rows);
    isRest = arith::CmpIOp::create(e.builder, e.loc, arith::CmpIPredicate::eq,
                                   row, first);
  }
}

Value VisitedBlocks::contain(KernelEmitter &e, Value seen) const {
  SmallVector<Value, 2> are;
  for (const PanelBounds &own : bounds) {
    are.push_back(isVisited(e, own, seen, layout.blocks));
  }
  if (llvm::all_of(are, [](Value own) { return !own; })) {
    return {};
  }
  if (are.size() == 1) {
    return are.front();
  }
  for (Value &own : are) {
    if (!own) {
      own = arith::ConstantOp::create(e.builder, e.loc,
                                      e.builder.getBoolAttr(true));
    }
  }
  return arith::SelectOp::create(e.builder, e.loc, isRest, are[1], are[0]);
}

SparsePairs::SparsePairs(BlockSparseAttentionOp op, const CpuSchedule &schedule)
    : form(op.scoreRegion()), layout(op, schedule, form),
      visited(layout.visitedBlocks(form)) {}

int64_t SparsePairs::countKeys(int64_t own,
                               const VisitedKeys::Range &range) const {
  bool isGlobal = own == 0 || own == layout.blocks - 1;
  int64_t keys = 0, drawn = range.count();
  for (int64_t seen : alwaysSeenBlocks(own, layout.blocks)) {
    if (range.visits(seen)) {
      keys += layout.lengthOf(seen);
      --drawn;
    }
  }
  drawn = layout.skipsBlocks ? std::min(layout.random, drawn) : layout.random;
  return keys + (isGlobal ? 0 : drawn * layout.block);
}

int64_t SparsePairs::count(int64_t own) const {
  int64_t pairs = 0, length = layout.lengthOf(own);
  for (int64_t from = 0; from < length; from += layout.lanes) {
    VisitedKeys::Range range{0, 0, 0, layout.blocks};
    if (layout.skipsBlocks) {
      range = visited.at({own * layout.block + from,
                          std::min(layout.block - from, layout.lanes)});
    }
    pairs += std::min(length - from, layout.lanes) * countKeys(own, range);
  }
  return pairs;
}

} // namespace hova
