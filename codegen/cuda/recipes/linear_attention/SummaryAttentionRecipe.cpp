//===- SummaryAttentionRecipe.cpp - Queries of sums over keys, on a GPU ---===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/Recipe.h"
#include "codegen/cuda/recipes/linear_attention/NarrowSums.h"
#include "codegen/cuda/recipes/linear_attention/SummaryAttentionWriter.h"
#include <cmath>

using namespace mlir;

namespace hova {

SummaryAttentionWriter::SummaryAttentionWriter(GroupEmitter &e,
                                               SummaryAttentionOp op)
    : FeatureWriter(e, op, shapeOf(op.getQuery())[2] / op.getHeads(),
                    shapeOf(op.getSummary())[4] - 1),
      op(op), tokens(shapeOf(op.getQuery())[1]) {
  row = e.block(0) * chosen.getRows();
  queries = rowsOf(e.headOf(op.getQuery(), op.getHeads()));
  sums = sumsOf(op);
  if (weight) {
    ws = slots(2, kSumsStep, boxColumns(keyWidth));
  }
  ss = slots(2, kSumsStep, chosen.getColumns());
}

SummaryAttentionWriter::Rows SummaryAttentionWriter::rowsOf(Value matrix) {
  return {matrix, weight ? slots(1, chosen.getRows(), boxColumns(keyWidth))
                         : slots(llvm::divideCeil(count, kSumsStep),
                                 chosen.getRows(), kSumsStep)};
}

SummaryAttentionWriter::Values
SummaryAttentionWriter::takeFeatures(ValueRange resident, bool withSums,
                                     ValueRange state, Take take) {
  auto copy = [&](Expr turn, Expr slot) {
    Values copies;
    Expr feature = turn * kSumsStep;
    if (weight) {
      copies.push_back(copyBox(weight, feature, ws, slot));
    }
    if (withSums) {
      copies.push_back(
          copyBox(e.view(sums, 0, count, 0, valueWidth), feature, ss, slot));
    }
    return copies;
  };
  TurnCount turns{llvm::divideCeilSigned(count, kSumsStep), {}};
  return takeTurns(turns, resident, state, copy, take);
}

Value SummaryAttentionWriter::multiply(const Rows &from, Expr turn, Expr slot) {
  if (!weight) {
    return GroupLoadOp::create(b, tile(kSumsStep), from.box, Value(turn),
                               {false, false});
  }
  return GroupProductOp::create(b, from.box, ws, slot,
                                b.fill(tile(kSumsStep), 0), b.index(0), true);
}

Value SummaryAttentionWriter::halfNormsOf(const Rows &from) {
  SlotsType box = cast<SlotsType>(from.box.getType());
  Value half;
  for (int64_t slot = 0; slot < box.count(); ++slot) {
    Value place = b.index(slot);
    Value norms = halfNorms(GroupLoadOp::create(
        b, tile(box.columns()), from.box, place, {false, false}));
    half = half ? b.combine(Combine::add, half, norms) : norms;
  }
  return half;
}

SummaryAttentionWriter::Values
SummaryAttentionWriter::findMaxima(ArrayRef<Rows> of) {
  Values found = takeFeatures(
      {}, /*withSums=*/false,
      Values(of.size(), b.fill(tile(1, TileDistribution::partial), -INFINITY)),
      [&](Expr turn, Expr slot, ValueRange state) -> Values {
        Values next;
        for (auto [now, before] : llvm::zip(of, state)) {
          Value counted = b.map(tile(kSumsStep), multiply(now, turn, slot),
                                [&](Elements x, Expr, Expr j) {
                                  return select(isFeature(turn, j),
                                                x[0] * factor(), -INFINITY);
                                });
          next.push_back(b.combineRows(Combine::max, before, counted));
        }
        return next;
      });
  for (Value &most : found) {
    most = b.reduce(Combine::max, most, TileDistribution::product);
  }
  return found;
}

/// Exponentials are relative to the query's largest. Of softmax that is what
/// they mean; of exp the quotient is the same, and what is added to the
/// denominator is made relative too.
Value SummaryAttentionWriter::weigh(Value products, Expr turn) {
  return b.map(tile(kSumsStep), {products, most, half},
               [&](Elements x, Expr, Expr j) {
                 Expr feature = x[0] * factor();
                 if (hasExponentials()) {
                   Expr far = feature - x[1];
                   feature = b.power(hasMaximum() ? far - x[2] : far);
                 } else {
                   feature = rectified(feature);
                 }
                 if (eps != 0) {
                   feature = feature + eps;
                 }
                 return select(isFeature(turn, j), feature, 0);
               });
}

SummaryAttentionWriter::Values SummaryAttentionWriter::startSums() {
  Value none = b.fill(tile(1, TileDistribution::partial), 0);
  Values state{b.fill(tile(chosen.getColumns()), 0), none};
  if (addsFeatures()) {
    state.push_back(none);
  }
  return state;
}

SummaryAttentionWriter::Values
SummaryAttentionWriter::addSums(Value weights, Expr turn, Expr slot,
                                ValueRange before) {
  // Of each row the last column is 4 bytes of a sector: one member reads it for
  // all, while they multiply.
  Value ones = b.load(
      tile(1).with({kSumsStep, 1}, b.f32(), TileDistribution::row),
      e.view(sums, 0, count, valueWidth, 1), turn * kSumsStep, 0, false, true);
  Value result =
      GroupProductOp::create(b, weights, ss, slot, before[0], Value(), false);
  ones = GroupTransposeOp::create(b, rowTile(kSumsStep), ones);
  Value terms = b.map(tile(kSumsStep), {weights, ones},
                      [](Elements x, Expr, Expr) { return x[0] * x[1]; });
  Values next{result, b.combineRows(Combine::add, before[1], terms)};
  if (addsFeatures()) {
    next.push_back(b.combineRows(Combine::add, before[2], weights));
  }
  return next;
}

SummaryAttentionWriter::Sums
SummaryAttentionWriter::finishSums(ValueRange state) {
  auto total = [&](Value sum) {
    return b.reduce(Combine::add, sum, TileDistribution::product);
  };
  return {state[0], total(state[1]),
          addsFeatures() ? total(state[2]) : Value()};
}

void SummaryAttentionWriter::write() {
  Values resident = copyRows(queries);
  if (hasExponentials()) {
    GroupWaitOp::create(b, resident);
    resident.clear(); // they are there
    half = halfNormsOf(queries);
    most = findMaxima(queries)[0];
  }
  Values state =
      takeFeatures(resident, /*withSums=*/true, startSums(),
                   [&](Expr turn, Expr slot, ValueRange before) {
                     Value products = multiply(queries, turn, slot);
                     return addSums(weigh(products, turn), turn, slot, before);
                   });
  Sums made = finishSums(state);
  if (made.features) {
    addPlain(made, sums);
  }
  divideAndStore(op, row, made, most, half);
}

namespace {
struct SummaryAttentionRecipe
    : CudaRecipeOpInterface::ExternalModel<SummaryAttentionRecipe,
                                           SummaryAttentionOp> {
  CudaScheduleAttr chooseSchedule(Operation *op) const {
    auto attention = cast<SummaryAttentionOp>(op);
    int64_t heads = attention.getHeads();
    ArrayRef<int64_t> query = shapeOf(attention.getQuery());
    ArrayRef<int64_t> summary = shapeOf(attention.getSummary());
    bool reads = attention.getKey() ? attention.getMerged() &&
                                          (summary[2] == 1 ||
                                           attention.getBlock() == kSumsRows)
                                    : summary[2] == 1;
    if (!reads) {
      op->emitOpError("has code for a GPU for a summary that is merged, ")
          << (attention.getKey()
                  ? "in blocks of " + std::to_string(kSumsRows) + " queries"
                  : "of one block")
          << "; a CPU runs it (--target=cpu)";
      return {};
    }
    if (failed(checkHeadWidths(op, {query[2] / heads, summary[4] - 1},
                               kMostLinearColumns)) ||
        failed(checkSequences(op, query[0], heads))) {
      return {};
    }
    return attention.getNarrow()
               ? scheduleNarrowQueries(op->getContext(), query[1],
                                       attention.getKey() != nullptr,
                                       query[2] / heads, summary[4] - 1)
               : scheduleSums(op->getContext(), summary[4] - 1);
  }
  Grid getGrid(Operation *op, CudaScheduleAttr schedule) const {
    auto attention = cast<SummaryAttentionOp>(op);
    ArrayRef<int64_t> query = shapeOf(attention.getQuery());
    return {llvm::divideCeilSigned(query[1], schedule.getRows()),
            static_cast<int64_t>(attention.getHeads()), query[0], /*units=*/0,
            schedule.getRows()};
  }
  void emitGroup(Operation *op, GroupEmitter &e) const {
    auto attention = cast<SummaryAttentionOp>(op);
    if (attention.getNarrow()) {
      return emitNarrowQueries(e, attention);
    }
    if (attention.getKey()) {
      CausalSummaryWriter(e, attention).write();
    } else {
      SummaryAttentionWriter(e, attention).write();
    }
  }
  OperandReads getReads(Operation *op, unsigned index) const {
    bool isTable =
        op->getOperand(index) == cast<SummaryAttentionOp>(op).getFeatures();
    return isTable ? OperandReads::packed : OperandReads::rows;
  }
};
} // namespace

void attachCudaSummaryAttentionRecipe(MLIRContext &context) {
  SummaryAttentionOp::attachInterface<SummaryAttentionRecipe>(context);
}

} // namespace hova
