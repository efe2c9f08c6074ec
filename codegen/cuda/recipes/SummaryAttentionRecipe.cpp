//===- SummaryAttentionRecipe.cpp - Queries of sums over keys, on a GPU ---===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/recipes/Recipe.h"
#include "codegen/cuda/recipes/SummaryAttentionWriter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

using namespace mlir;

namespace hova {

SummaryAttentionWriter::SummaryAttentionWriter(GroupEmitter &e,
                                               SummaryAttentionOp op)
    : FeatureWriter(e, op, shapeOf(op.getQuery())[2] / op.getHeads(),
                    shapeOf(op.getSummary())[4] - 1),
      op(op), eps(op.getEps().convertToDouble()) {
  ArrayRef<int64_t> shape = shapeOf(op.getSummary());
  zero = b.index(0);
  row = b.mulIndex(e.block(0), own.getRows());
  queries = rowsOf(e.headOf(op.getQuery(), op.getHeads()));
  Value keyHead =
      op.getGroup() == 1 ? e.block(1) : b.divIndex(e.block(1), op.getGroup());
  Value head = b.sum(b.mulIndex(e.block(2), shape[1]), keyHead);
  Value slot = b.mulIndex(head, shape[2]);
  if (op.getMerged()) {
    slot = b.sum(slot, e.block(0));
  }
  sums = e.view(e.matrix(op.getSummary()), b.mulIndex(slot, rows), rows,
                b.getIndexAttr(0), shape[4]);
  if (weight) {
    ws = slots(2, kSumsStep, boxColumns(keyWidth));
  }
  ss = slots(2, kSumsStep, own.getColumns());
}

SummaryAttentionWriter::Rows SummaryAttentionWriter::rowsOf(Value matrix) {
  return {matrix, weight ? slots(1, own.getRows(), boxColumns(keyWidth))
                         : slots(llvm::divideCeil(count, kSumsStep),
                                 own.getRows(), kSumsStep)};
}

SummaryAttentionWriter::Values
SummaryAttentionWriter::copyRows(const Rows &from) {
  SlotsType box = cast<SlotsType>(from.box.getType());
  Values copies;
  for (int64_t slot = 0; slot < box.count(); ++slot) {
    copies.push_back(b.copy(from.matrix, row, b.index(slot * box.columns()),
                            from.box, b.index(slot), rowsInside(),
                            keyWidth == box.count() * box.columns()));
  }
  return copies;
}

SummaryAttentionWriter::Values
SummaryAttentionWriter::copyBoxes(Value turn, Value slot, bool withSums) {
  Values copies;
  Value feature = b.mulIndex(turn, kSumsStep);
  if (weight) {
    copies.push_back(b.copy(weight, feature, zero, ws, slot, false,
                            keyWidth == boxColumns(keyWidth)));
  }
  if (withSums) {
    Value view =
        e.view(sums, b.getIndexAttr(0), count, b.getIndexAttr(0), valueWidth);
    copies.push_back(b.copy(view, feature, zero, ss, slot, false,
                            valueWidth == own.getColumns()));
  }
  return copies;
}

Value SummaryAttentionWriter::multiply(const Rows &from, Value turn,
                                       Value slot) {
  if (weight) {
    return GroupProductOp::create(b, from.box, ws, slot,
                                  b.fill(tile(kSumsStep), 0), zero, true);
  }
  return GroupLoadOp::create(b, tile(kSumsStep), from.box, turn,
                             {false, false});
}

Value SummaryAttentionWriter::halfNormsOf(const Rows &from) {
  SlotsType box = cast<SlotsType>(from.box.getType());
  Value half;
  for (int64_t slot = 0; slot < box.count(); ++slot) {
    Value own = halfNorms(GroupLoadOp::create(b, tile(box.columns()), from.box,
                                              b.index(slot), {false, false}));
    half = !half ? own
                 : b.map(own.getType(), {half, own},
                         [&](ValueRange t, Value, Value) {
                           return b.add(t[0], t[1]);
                         });
  }
  return half;
}

SummaryAttentionWriter::Values
SummaryAttentionWriter::findMaxima(ArrayRef<Rows> of) {
  Value all = b.index(count), least = b.number(-INFINITY);
  Values found = takeTurns(
      llvm::divideCeil(count, kSumsStep), {},
      Values(of.size(), b.fill(tile(1, TileDistribution::partial), -INFINITY)),
      [&](Value turn, Value slot) { return copyBoxes(turn, slot, false); },
      [&](Value turn, Value slot, ValueRange state) -> Values {
        Values next;
        for (auto [own, before] : llvm::zip(of, state)) {
          Value counted = b.map(
              tile(kSumsStep), multiply(own, turn, slot),
              [&](ValueRange t, Value, Value j) {
                Value there = b.isBelow(featureOf(turn, j), all);
                return b.choose(there, b.mul(t[0], b.number(factor())), least);
              });
          next.push_back(raiseRows(before, counted));
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
Value SummaryAttentionWriter::weigh(Value products, Value turn) {
  SmallVector<Value> operands{products};
  if (most) {
    operands.append({most, half});
  }
  Value all = b.index(count);
  return b.map(tile(kSumsStep), operands, [&](ValueRange t, Value, Value j) {
    Value own = b.mul(t[0], b.number(factor()));
    if (hasExponentials()) {
      Value far = b.subtract(own, t[1]);
      own = power(hasMaximum() ? b.subtract(far, t[2]) : far);
    } else {
      own = rectified(own);
    }
    if (eps != 0) {
      own = b.add(own, b.number(eps));
    }
    return b.choose(b.isBelow(featureOf(turn, j), all), own, b.number(0));
  });
}

SummaryAttentionWriter::Values SummaryAttentionWriter::startSums() {
  Value none = b.fill(tile(1, TileDistribution::partial), 0);
  Values state{b.fill(tile(own.getColumns()), 0), none};
  if (addsFeatures()) {
    state.push_back(none);
  }
  return state;
}

SummaryAttentionWriter::Values
SummaryAttentionWriter::addSums(Value weights, Value turn, Value slot,
                                ValueRange before) {
  // Of each row the last column is 4 bytes of a sector: one member reads it for
  // all, while they multiply.
  Value ones = b.load(
      rowTile(kSumsStep).with({kSumsStep, 1}, b.f32(), TileDistribution::row),
      e.view(sums, b.getIndexAttr(0), count, b.getIndexAttr(valueWidth), 1),
      featureOf(turn, zero), zero, false, true);
  Value result =
      GroupProductOp::create(b, weights, ss, slot, before[0], Value(), false);
  ones = GroupTransposeOp::create(b, rowTile(kSumsStep), ones);
  Value terms =
      b.map(tile(kSumsStep), {weights, ones},
            [&](ValueRange t, Value, Value) { return b.mul(t[0], t[1]); });
  Values next{result, addRows(before[1], terms)};
  if (addsFeatures()) {
    next.push_back(addRows(before[2], weights));
  }
  return next;
}

SummaryAttentionWriter::Sums
SummaryAttentionWriter::finishSums(ValueRange state) {
  Sums made{state[0],
            b.reduce(Combine::add, state[1], TileDistribution::product),
            {}};
  if (addsFeatures()) {
    made.features = b.reduce(Combine::add, state[2], TileDistribution::product);
  }
  return made;
}

void SummaryAttentionWriter::addPlain(Sums &all) {
  auto add = [&](Value sum, int64_t column, int64_t width) {
    auto type = cast<TileType>(sum.getType());
    Value plain = b.load(
        rowTile(type.columns()),
        e.view(sums, b.getIndexAttr(0), rows, b.getIndexAttr(column), width),
        b.index(count), zero, true, type.columns() == width);
    return b.map(type, {sum, plain, all.features},
                 [&](ValueRange t, Value, Value) {
                   return b.fma(b.mul(t[2], b.number(eps)), t[1], t[0]);
                 });
  };
  all.result = add(all.result, 0, valueWidth);
  all.denominator = add(all.denominator, valueWidth, 1);
}

Value SummaryAttentionWriter::divide(const Sums &all) {
  double stabilizer = op.getStabilizer().convertToDouble();
  double constant = op.getDenominatorEps().convertToDouble();
  Value share = b.number(1.0 / featureNormalizer(map, count));
  bool isRelative =
      map == FeatureMap::exp && (stabilizer != 0 || constant != 0);
  SmallVector<Value> operands{all.denominator};
  if (isRelative) {
    operands.append({most, half});
  }
  Value denominator = b.map(
      all.denominator.getType(), operands,
      [&](ValueRange t, Value, Value) -> Value {
        Value own = b.mul(t[0], share), factor;
        if (isRelative) {
          Value far = b.subtract(t[2], t[1]);
          factor = power(b.add(far, b.number(shift())));
        }
        auto relative = [&](double number) {
          Value constant = b.number(number);
          return factor ? b.mul(constant, factor) : constant;
        };
        if (stabilizer != 0) {
          Value isSmall = arith::CmpFOp::create(b, arith::CmpFPredicate::OLE,
                                                math::AbsFOp::create(b, own),
                                                relative(stabilizer));
          own = b.add(own,
                      b.choose(isSmall, relative(2 * stabilizer), b.number(0)));
        }
        return constant != 0 ? b.add(own, relative(constant)) : own;
      });
  return b.map(all.result.getType(), {all.result, denominator},
               [&](ValueRange t, Value, Value) {
                 Value none = arith::CmpFOp::create(
                     b, arith::CmpFPredicate::OEQ, t[1], b.number(0));
                 Value own = arith::DivFOp::create(b, b.mul(t[0], share), t[1]);
                 return b.choose(none, b.number(0), own);
               });
}

void SummaryAttentionWriter::divideAndStore(const Sums &all) {
  Value to = e.headOf(op.getResult(), op.getHeads());
  b.storeRounded(divide(all), to, row, zero, rowsInside(),
                 valueWidth == own.getColumns());
}

void SummaryAttentionWriter::write() {
  Values resident = copyRows(queries);
  if (hasExponentials()) {
    GroupWaitOp::create(b, resident);
    resident.clear(); // they are there
    half = halfNormsOf(queries);
    most = findMaxima(queries)[0];
  }
  Values state = takeTurns(
      llvm::divideCeil(count, kSumsStep), resident, startSums(),
      [&](Value turn, Value slot) { return copyBoxes(turn, slot, true); },
      [&](Value turn, Value slot, ValueRange before) {
        Value weights = weigh(multiply(queries, turn, slot), turn);
        return addSums(weights, turn, slot, before);
      });
  Sums made = finishSums(state);
  if (made.features) {
    addPlain(made);
  }
  divideAndStore(made);
}

namespace {
struct SummaryAttentionRecipe
    : CudaRecipeOpInterface::ExternalModel<SummaryAttentionRecipe,
                                           SummaryAttentionOp> {
  CudaScheduleAttr chooseSchedule(Operation *op) const {
    auto own = cast<SummaryAttentionOp>(op);
    int64_t heads = own.getHeads();
    ArrayRef<int64_t> query = shapeOf(own.getQuery());
    ArrayRef<int64_t> summary = shapeOf(own.getSummary());
    bool reads = own.getKey() ? own.getMerged() && (summary[2] == 1 ||
                                                    own.getBlock() == kSumsRows)
                              : summary[2] == 1;
    if (!reads) {
      op->emitOpError("has code for a GPU for a summary that is merged, ")
          << (own.getKey()
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
    return scheduleSums(op->getContext(), summary[4] - 1);
  }
  Grid getGrid(Operation *op, CudaScheduleAttr schedule) const {
    auto own = cast<SummaryAttentionOp>(op);
    ArrayRef<int64_t> query = shapeOf(own.getQuery());
    return {llvm::divideCeilSigned(query[1], schedule.getRows()),
            static_cast<int64_t>(own.getHeads()), query[0]};
  }
  void emitGroup(Operation *op, GroupEmitter &e) const {
    auto own = cast<SummaryAttentionOp>(op);
    if (own.getKey()) {
      CausalSummaryWriter(e, own).write();
    } else {
      SummaryAttentionWriter(e, own).write();
    }
  }
  bool readsTransposed(Operation *op, unsigned index) const {
    return op->getOperand(index) == cast<SummaryAttentionOp>(op).getFeatures();
  }
};
} // namespace

void attachCudaSummaryAttentionRecipe(MLIRContext &context) {
  SummaryAttentionOp::attachInterface<SummaryAttentionRecipe>(context);
}

} // namespace hova
