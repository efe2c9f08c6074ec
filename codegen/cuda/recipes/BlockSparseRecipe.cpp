//===- BlockSparseRecipe.cpp - Attention to few blocks of keys, on a GPU --===//
// SPDX-License-Identifier: Apache-2.0
//
// A block of threads has rows of queries of one block of tokens: parts of
// blocks along x, heads along y, sequences along z. It takes the blocks of keys
// that its queries see one after the other, as the dense attention takes boxes:
//
//   entry  0  1  2    3        4              the others
//   block  the window 0        the last       a row of the table
//
// but for the first and the last block of queries, which see all. A block of
// the window is not seen again as the first or the last one.

#include "codegen/cuda/recipes/CudaKernels.h"
#include "codegen/cuda/recipes/Recipe.h"
#include "codegen/cuda/recipes/ScoreTiles.h"
#include "dialect/Shapes.h"
#include "dialect/SparseAttentionOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace hova {

static ScoreExtents extentsOf(BlockSparseAttentionOp op) {
  ArrayRef<int64_t> queries = shapeOf(op.getQuery());
  return {queries[0], static_cast<int64_t>(op.getHeads()), queries[1],
          queries[1], queries[1]};
}

namespace {
/// Which keys the queries of a block of tokens see.
class SeenBlocks {
public:
  SeenBlocks(GroupEmitter &e, BlockSparseAttentionOp op, Value own);
  KeyList list();

private:
  /// The block at a place in the list; any number where it is none.
  Value blockAt(Value entry);
  Value drawnBlock(Value place);
  KeyList::Box boxAt(Value box);

  GroupEmitter &e;
  KernelBuilder &b;
  BlockSparseAttentionOp op;
  int64_t tokens, size, blocks, drawn, boxesOfBlock;
  bool areWhole;
  Value own, last;
  Value isGlobal; ///< all blocks are seen
  Value ends;     ///< how many of the first and the last block are added
};
} // namespace

SeenBlocks::SeenBlocks(GroupEmitter &e, BlockSparseAttentionOp op, Value own)
    : e(e), b(e.b), op(op), tokens(shapeOf(op.getQuery())[1]),
      size(op.getBlock()), blocks(op.getBlocks()), drawn(op.getRandomCount()),
      boxesOfBlock(llvm::divideCeil(size, e.schedule.getStep())),
      areWhole(size % e.schedule.getStep() == 0 && tokens % size == 0),
      own(own), last(b.index(blocks - 1)) {
  isGlobal =
      arith::OrIOp::create(b, b.isEqual(own, b.index(0)), b.isEqual(own, last));
  Value seesEnd = arith::OrIOp::create(b, b.isEqual(own, b.index(1)),
                                       b.isEqual(own, b.index(blocks - 2)));
  ends = b.choose(seesEnd, b.index(1), b.index(2));
}

/// Of the row of the table that belongs to the block of queries.
Value SeenBlocks::drawnBlock(Value place) {
  Value row = b.choose(isGlobal, b.index(0), b.addIndex(own, -1));
  row = b.sum(b.mulIndex(e.block(1), blocks - 2), row);
  Value number =
      memref::LoadOp::create(b, e.matrix(op.getRandomBlocks()),
                             ValueRange{row, b.atMost(place, drawn - 1)});
  return arith::IndexCastOp::create(b, b.getIndexType(), number);
}

Value SeenBlocks::blockAt(Value entry) {
  Value window = b.addIndex(b.sum(own, entry), -1);
  Value place = b.addIndex(entry, -3), first = b.index(0);
  Value ownEnd = b.choose(b.isEqual(own, b.index(1)), last, first);
  Value found = b.choose(b.isEqual(place, first), ownEnd, last);
  if (drawn) {
    Value isDrawn =
        arith::CmpIOp::create(b, arith::CmpIPredicate::uge, place, ends);
    Value after = arith::SubIOp::create(b, place, ends);
    found = b.choose(isDrawn, drawnBlock(after), found);
  }
  Value isWindow = b.isBelow(entry, b.index(3));
  return b.choose(isGlobal, entry, b.choose(isWindow, window, found));
}

/// A number that is no block is one without keys.
KeyList::Box SeenBlocks::boxAt(Value box) {
  Value number = blockAt(b.divIndex(box, boxesOfBlock));
  Value isBlock =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ule, number, last);
  Value block = b.choose(isBlock, number, b.index(0));
  Value first = b.mulIndex(block, size);
  Value end = b.atMost(b.addIndex(first, size), tokens);
  int64_t step = e.schedule.getStep();
  Value key = b.sum(first, b.mulIndex(b.remIndex(box, boxesOfBlock), step));
  if (areWhole) {
    return {key, Value(), isBlock};
  }
  return {key, b.choose(isBlock, end, b.index(0))};
}

KeyList SeenBlocks::list() {
  Value few = b.addIndex(ends, 3 + drawn);
  Value count = b.choose(isGlobal, b.index(blocks), few);
  return {b.mulIndex(count, boxesOfBlock),
          [this](Value box) { return boxAt(box); }, areWhole};
}

namespace {
struct BlockSparseRecipe
    : CudaRecipeOpInterface::ExternalModel<BlockSparseRecipe,
                                           BlockSparseAttentionOp> {
  CudaScheduleAttr chooseSchedule(Operation *op) const {
    auto own = cast<BlockSparseAttentionOp>(op);
    ScoreForm form(own.scoreRegion());
    if (std::string lack = ScoreTiles::whatLacks(form, extentsOf(own));
        !lack.empty()) {
      op->emitOpError("has no code for a GPU yet with ")
          << lack << "; a CPU runs it (--target=cpu)";
      return {};
    }
    int64_t heads = own.getHeads();
    int64_t keyWidth = shapeOf(own.getQuery())[2] / heads;
    int64_t valueWidth = shapeOf(own.getResult())[2] / heads;
    if (failed(checkHeadWidths(op, {keyWidth, valueWidth}, kMostHeadColumns)) ||
        failed(checkSequences(op, shapeOf(own.getQuery())[0], heads))) {
      return {};
    }
    return scheduleAttention(getElementTypeOrSelf(own.getQuery()),
                             own.getBlock(), shapeOf(own.getKey())[1], keyWidth,
                             valueWidth, form.readsPairs());
  }
  Grid getGrid(Operation *op, CudaScheduleAttr schedule) const {
    auto own = cast<BlockSparseAttentionOp>(op);
    return {own.getBlocks() *
                llvm::divideCeilSigned(own.getBlock(), schedule.getRows()),
            static_cast<int64_t>(own.getHeads()), shapeOf(own.getQuery())[0]};
  }
  void emitGroup(Operation *op, GroupEmitter &e) const;
};
} // namespace

void BlockSparseRecipe::emitGroup(Operation *op, GroupEmitter &e) const {
  auto own = cast<BlockSparseAttentionOp>(op);
  KernelBuilder &b = e.b;
  int64_t heads = own.getHeads(), keyHeads = own.countKeyHeads();
  int64_t group = own.getGroup(), size = own.getBlock();
  int64_t tokens = shapeOf(own.getQuery())[1], rows = e.schedule.getRows();
  int64_t parts = llvm::divideCeil(size, rows);
  Value block = b.divIndex(e.block(0), parts);
  Value row = b.sum(b.mulIndex(block, size),
                    b.mulIndex(b.remIndex(e.block(0), parts), rows));
  HeadMatrices head{e.headOf(own.getQuery(), heads),
                    e.headOf(own.getKey(), keyHeads, group),
                    e.headOf(own.getValue(), keyHeads, group)};
  SeenBlocks seen(e, own, block);
  KeyList list = seen.list();
  Value tile = emitAttention(e, own.scoreRegion(), own.getCaptured(), head,
                             extentsOf(own), row, &list);
  // Rows after the block are another's. The last block may be shorter: what
  // ends with it begins earlier.
  Value first = b.atMost(b.mulIndex(block, size), tokens - size);
  Value of = e.headOf(own.getResult(), heads);
  int64_t width = cast<MemRefType>(of.getType()).getDimSize(1);
  Value to = e.view(of, first, size, b.getIndexAttr(0), width);
  b.storeRounded(tile, to, b.createOrFold<arith::SubIOp>(row, first),
                 b.index(0), parts * rows == size && tokens % size == 0,
                 width == e.schedule.getColumns());
}

void attachCudaBlockSparseRecipe(MLIRContext &context) {
  BlockSparseAttentionOp::attachInterface<BlockSparseRecipe>(context);
}

} // namespace hova
