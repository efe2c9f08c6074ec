//===- SummaryAttentionRecipe.cpp - Loops of queries that read sums -------===//
// SPDX-License-Identifier: Apache-2.0
//
// A unit is a block of queries of one head. A thread merges the slots of a head
// when it begins its first block, in their order, and again when the head
// changes; slots that a causal block may read besides are merged when it
// begins. The additions are the same wherever a thread begins.
//
//   S = ((0 + slot 0) + slot 1) + ..           (scratch)
//   F = features of the block's queries        (scratch)
//   O = F S / (F . sums of ones)               (tiles)
//
// Softmax adds eps to the features of keys: S has one row more, the sum of the
// values, and F one column more, eps times the sum of the query's features.

#include "codegen/cpu/TileOps.h"
#include "codegen/cpu/recipes/AttentionTokenLanes.h"
#include "codegen/cpu/recipes/ProductPanels.h"
#include "codegen/cpu/recipes/Recipe.h"
#include "codegen/cpu/recipes/RowBlocks.h"
#include "codegen/cpu/recipes/SummaryAttentionEmitter.h"
#include "dialect/DenseOps.h"

using namespace mlir;

namespace hova {

/// The scratch that is no row of features, in its order.
static SmallVector<SmallVector<int64_t>>
scratchShapes(const SummaryAttentionLayout &l) {
  SmallVector<SmallVector<int64_t>> shapes = {
      {l.depth, l.stateStride}, {1, l.depth}, {1, 1}, {l.sizes.block, 1}};
  if (l.isCausal) {
    shapes.push_back({l.sizes.count, l.paddedTokens});
    shapes.push_back({1, l.paddedTokens});
    shapes.push_back({1, l.paddedTokens});
    shapes.push_back({l.tileRows, paddedStride(l.paddedTokens, 4)});
    shapes.push_back({1, l.sizes.stride});
  }
  return shapes;
}

SummaryAttentionEmitter::SummaryAttentionEmitter(KernelEmitter &emitter,
                                                 SummaryAttentionOp op,
                                                 Value weight)
    : e(emitter), b(emitter.builder), loc(emitter.loc), op(op),
      layout(op, emitter.schedule),
      queries(emitter, sizes, scratch, op.getQuery(), weight),
      slots(emitter.buffer(op.getSummary())),
      result(emitter.buffer(op.getResult())) {
  if (layout.isCausal) {
    keys.emplace(emitter, sizes, scratch, op.getKey(), weight);
  }
  Value *buffers[] = {&state, &ones,  &peak,   &inverse, &packed,
                      &peaks, &valid, &scores, &saved};
  for (auto [buffer, shape] : llvm::zip(buffers, scratchShapes(layout))) {
    *buffer =
        e.scratchView(scratch.take(staticSize(shape)), shape, b.getF32Type());
  }
}

int64_t SummaryAttentionEmitter::scratchBytes(SummaryAttentionOp op,
                                              const CpuSchedule &schedule) {
  SummaryAttentionLayout layout(op, schedule);
  ScratchLayout scratch;
  for (int i = 0; i <= layout.isCausal; ++i) {
    FeatureRows::takeScratch(layout.sizes, scratch);
  }
  for (ArrayRef<int64_t> shape : scratchShapes(layout)) {
    scratch.take(staticSize(shape));
  }
  return scratch.bytes;
}

void SummaryAttentionEmitter::emit() {
  e.forLoop("query_block", e.begin, e.end, 1, [&](Value unit) {
    Value block = e.rem(unit, sizes.blocks), pair = e.div(unit, sizes.blocks);
    batch = e.div(pair, sizes.heads);
    head = e.rem(pair, sizes.heads);
    keyHead = layout.group == 1 ? head : e.div(head, layout.group);
    token = e.mul(block, sizes.block);
    queryRow = e.add(e.mul(batch, sizes.tokens), token);
    mergeBefore(unit, block);
    if (sizes.last == sizes.block) {
      return emitBlock(sizes.block);
    }
    // A body for each length, whose loops have constant bounds.
    Value last = e.index(sizes.blocks - 1);
    for (auto [predicate, tokens] :
         {std::pair(arith::CmpIPredicate::ne, sizes.block),
          std::pair(arith::CmpIPredicate::eq, sizes.last)}) {
      Value is = make<arith::CmpIOp>(predicate, block, last);
      int64_t own = tokens;
      e.ifThen(is, [&] { emitBlock(own); });
    }
  });
}

//===----------------------------------------------------------------------===//
// Merged sums
//===----------------------------------------------------------------------===//

/// The slots that the block reads and the thread has not merged yet.
void SummaryAttentionEmitter::mergeBefore(Value unit, Value block) {
  Value pair = e.div(unit, sizes.blocks);
  if (layout.group > 1) {
    // Heads that share one of keys follow each other, and divide all heads.
    pair = e.div(pair, layout.group);
  }
  Value firstSlot = e.mul(pair, layout.merged);
  auto equal = arith::CmpIPredicate::eq;
  Value isFirst = make<arith::CmpIOp>(equal, unit, e.begin);
  Value isNew = make<arith::OrIOp>(
      isFirst, make<arith::CmpIOp>(equal, block, e.index(0)));
  e.ifThen(isNew, [&] { clearState(); });
  Value zero = e.index(0), from, to;
  if (layout.isCausal) {
    // Of a block that follows, the one before it.
    to = block;
    Value before = make<arith::MaxUIOp>(block, e.index(1));
    from = make<arith::SelectOp>(isNew, zero, e.add(before, -1));
  } else {
    from = zero;
    to = make<arith::SelectOp>(isNew, e.index(layout.merged), zero);
  }
  e.forLoop("token_block", from, to, 1,
            [&](Value slot) { mergeSlot(e.add(firstSlot, slot)); });
}

void SummaryAttentionEmitter::clearState() {
  auto clear = [&](Value matrix, Value row, int64_t width) {
    e.forEachChunk(width, [&](Value column, int64_t lanes, int64_t inside) {
      e.storeRow(e.splat(0, lanes), matrix, row, column, inside);
    });
  };
  e.forLoop("features", e.index(0), e.index(layout.depth), 1,
            [&](Value row) { clear(state, row, sizes.valueWidth); });
  clear(ones, e.index(0), layout.depth);
  make<memref::StoreOp>(e.scalar(kNoKeyMaximum), peak,
                        ValueRange{e.index(0), e.index(0)});
}

/// Two to the power of a scalar.
Value SummaryAttentionEmitter::exponential(Value exponent) {
  return make<vector::ExtractOp>(make<Exp2Op>(e.splat(exponent, 16)), 0);
}

/// state = state 2^(peak - new peak) + slot 2^(maximum - new peak), but for the
/// plain values, which are relative to nothing.
void SummaryAttentionEmitter::mergeSlot(Value slot) {
  Value zero = e.index(0), width = e.index(sizes.valueWidth);
  Value first = e.mul(slot, sizes.count + summaryExtraRows(sizes.map));
  Value before, own;
  if (sizes.hasMaximum()) {
    Value old = e.loadScalar(peak, zero, zero);
    Value maximum = e.loadScalar(slots, e.add(first, sizes.count + 1), zero);
    Value next = make<arith::MaxNumFOp>(old, maximum);
    before = exponential(make<arith::SubFOp>(old, next));
    own = exponential(make<arith::SubFOp>(maximum, next));
    make<memref::StoreOp>(next, peak, ValueRange{zero, zero});
  }
  auto mergeRows = [&](int64_t from, int64_t to, bool scales) {
    e.forLoop("features", e.index(from), e.index(to), 1, [&](Value r) {
      Value slotRow = e.add(first, r);
      e.forEachChunk(
          sizes.valueWidth, [&](Value column, int64_t lanes, int64_t inside) {
            Value sum = e.loadRow(state, r, column, lanes, inside);
            Value part = e.loadRow(slots, slotRow, column, lanes, inside);
            if (scales) {
              part = make<arith::MulFOp>(part, e.splat(own, lanes));
              sum = make<math::FmaOp>(sum, e.splat(before, lanes), part);
            } else {
              sum = make<arith::AddFOp>(sum, part);
            }
            e.storeRow(sum, state, r, column, inside);
          });
      Value sum = e.loadScalar(ones, zero, r);
      Value part = e.loadScalar(slots, slotRow, width);
      if (scales) {
        part = make<arith::MulFOp>(part, own);
        sum = make<math::FmaOp>(sum, before, part);
      } else {
        sum = make<arith::AddFOp>(sum, part);
      }
      make<memref::StoreOp>(sum, ones, ValueRange{zero, r});
    });
  };
  mergeRows(0, sizes.count, sizes.hasMaximum());
  if (sizes.hasMaximum()) {
    mergeRows(sizes.count, layout.depth, /*scales=*/false);
  }
}

//===----------------------------------------------------------------------===//
// Queries
//===----------------------------------------------------------------------===//

void SummaryAttentionEmitter::emitBlock(int64_t tokens) {
  queries.emitProducts(queryRow, head, tokens);
  emitQueryFeatures(tokens);
  if (layout.isCausal) {
    emitKeyFeatures(tokens);
    return emitCausalRows(tokens);
  }
  e.forLoop("queries", e.index(0), e.index(tokens), 1, [&](Value i) {
    writeInverse(
        i, [&] { return queries.dot(i, ones, layout.depth); },
        [&](Value factor) { queries.enlarge(i, factor, queries.matrix(), i); });
  });
  forEachEvenBlock(
      e, "queries", tokens, e.schedule.tileRows,
      [&](Value row, int64_t height) { emitResults(row, height, Value()); });
}

void SummaryAttentionEmitter::emitQueryFeatures(int64_t tokens) {
  if (!sizes.hasExponentials()) {
    return;
  }
  e.forLoop("queries", e.index(0), e.index(tokens), 1, [&](Value i) {
    if (!sizes.hasMaximum()) {
      return queries.exponentiate(i, e.scalar(sizes.shift()), 0);
    }
    Value shift = make<arith::NegFOp>(queries.maximum(i));
    queries.exponentiate(i, shift, sizes.eps);
    Value weight = make<arith::MulFOp>(queries.sum(i), e.scalar(sizes.eps));
    make<memref::StoreOp>(weight, queries.matrix(),
                          ValueRange{i, e.index(sizes.count)});
  });
}

/// Where nothing is added that keeps it away from 0. Features are not negative,
/// and those of a key that counts are eps at least.
bool SummaryAttentionEmitter::canVanish() {
  double least = std::max({op.getStabilizer().convertToDouble(),
                           op.getDenominatorEps().convertToDouble(),
                           sizes.eps * sizes.eps});
  return least < kLeastDenominator;
}

/// n R of a row, with what is added to it; `factor`, unless it is null, is what
/// the row's features were enlarged by.
Value SummaryAttentionEmitter::denominatorOf(Value sum, Value factor) {
  double normalizer =
      static_cast<double>(featureNormalizer(sizes.map, sizes.count));
  auto enlarged = [&](double constant) -> Value {
    Value own = e.scalar(constant);
    return factor ? make<arith::MulFOp>(own, factor).getResult() : own;
  };
  Value own = make<arith::MulFOp>(sum, e.scalar(1.0 / normalizer));
  double stabilizer = op.getStabilizer().convertToDouble();
  if (stabilizer > 0) {
    Value isSmall =
        make<arith::CmpFOp>(arith::CmpFPredicate::OLE, make<math::AbsFOp>(own),
                            enlarged(stabilizer));
    own = make<arith::SelectOp>(
        isSmall, make<arith::AddFOp>(own, enlarged(2 * stabilizer)), own);
  }
  double eps = op.getDenominatorEps().convertToDouble();
  return eps > 0 ? make<arith::AddFOp>(own, enlarged(eps)).getResult() : own;
}

/// Stores what the sums of the row at `place` are multiplied with: 1 / (n R), 0
/// where R is 0. `sum` makes the row's sum of products; where R is so small
/// that its reciprocal may leave f32, `enlarge` multiplies the features of the
/// query first.
void SummaryAttentionEmitter::writeInverse(
    Value place, llvm::function_ref<Value()> sum,
    llvm::function_ref<void(Value)> enlarge) {
  double normalizer =
      static_cast<double>(featureNormalizer(sizes.map, sizes.count));
  auto isZero = [&](Value own) {
    return make<arith::CmpFOp>(arith::CmpFPredicate::OEQ, own, e.scalar(0));
  };
  auto store = [&](Value own) {
    Value inverted = make<arith::DivFOp>(e.scalar(1.0 / normalizer), own);
    Value factor = make<arith::SelectOp>(isZero(own), e.scalar(0), inverted);
    make<memref::StoreOp>(factor, inverse, ValueRange{place, e.index(0)});
  };
  Value own = denominatorOf(sum(), Value());
  store(own);
  if (!canVanish()) {
    return;
  }
  Value isSmall =
      make<arith::CmpFOp>(arith::CmpFPredicate::OLE, make<math::AbsFOp>(own),
                          e.scalar(kLeastDenominator));
  e.ifThen(isSmall, [&] {
    Value factor = make<arith::SelectOp>(
        isZero(own), e.scalar(kLargestFactor),
        make<arith::DivFOp>(e.scalar(kEnlargedDenominator), own));
    enlarge(factor);
    store(denominatorOf(sum(), factor));
  });
}

/// The results of `height` queries; `limit` keys of the block are read besides
/// the merged sums, unless it is null.
void SummaryAttentionEmitter::emitResults(Value row, int64_t height,
                                          Value limit) {
  Value zero = e.index(0), outRow = e.add(queryRow, row);
  Value factorRow = limit ? zero : row;
  forEachTileColumn(
      e, sizes.valueWidth, [&](Value column, int64_t lanes, int64_t inside) {
        IntegerAttr columns;
        if (inside < lanes) {
          columns = b.getI64IntegerAttr(inside);
        }
        auto type = VectorType::get({height, lanes}, b.getF32Type());
        auto columnOf = [&](Value own) {
          return e.add(e.mul(own, sizes.valueWidth), column);
        };
        Value sum = make<TileProductOp>(type, queries.matrix(), row, zero,
                                        state, ValueRange{zero, column},
                                        e.index(layout.depth), columns);
        if (limit) {
          sum = make<TileProductOp>(
              type, scores, zero, zero, e.buffer(op.getValue()),
              ValueRange{queryRow, columnOf(keyHead)}, limit, columns,
              /*init=*/sum);
        }
        Value factor =
            make<TileLoadOp>(VectorType::get({height, 1}, b.getF32Type()),
                             inverse, factorRow, zero, IntegerAttr());
        Value scaled =
            make<arith::MulFOp>(sum, make<vector::BroadcastOp>(type, factor));
        make<TileStoreOp>(scaled, result, outRow, columnOf(head), columns);
      });
}

//===----------------------------------------------------------------------===//
// The recipe
//===----------------------------------------------------------------------===//

static int64_t scratchBytes(SummaryAttentionOp op,
                            const CpuSchedule &schedule) {
  return SummaryAttentionEmitter::scratchBytes(op, schedule);
}

static LogicalResult emit(KernelEmitter &emitter, SummaryAttentionOp op) {
  if (op.getMerged()) {
    return op.emitOpError("expects blocks that are not merged: on a CPU each "
                          "thread merges those that it reads");
  }
  Value weight;
  if (op.getFeatures()) {
    weight = packedWeight(emitter, op, op.getFeatures());
    if (!weight) {
      return failure();
    }
  }
  SummaryAttentionEmitter(emitter, op, weight).emit();
  return success();
}

namespace {
struct SummaryAttentionRecipe
    : CpuRecipe<SummaryAttentionRecipe, SummaryAttentionOp, emit,
                scratchBytes> {
  bool readsPanels(Operation *op, unsigned index) const {
    return op->getOperand(index) == cast<SummaryAttentionOp>(op).getFeatures();
  }
  bool takesJoins(Operation *) const { return false; }
  std::string getTokensInLanesCondition(Operation *) const {
    return kTokensInLanesCondition.str();
  }
};
} // namespace

void attachSummaryAttentionRecipe(MLIRContext &context) {
  SummaryAttentionOp::attachInterface<SummaryAttentionRecipe>(context);
}

} // namespace hova
