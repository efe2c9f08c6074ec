//===- ScoreLanes.cpp - The region of scores for vectors ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cpu/recipes/ScoreLanes.h"
#include "codegen/cpu/TileOps.h"
#include "dialect/Shapes.h"
#include "dialect/dense/DenseOps.h"
#include "dialect/ranges/RangeMistakes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/SaveAndRestore.h"
#include <cmath>
#include <limits>

using namespace mlir;

namespace hova {

/// Whether all integers of lanes are of 32 bits.
static bool fitsInto32(const ScoreForm::Ranges &ranges) {
  return llvm::all_of(ranges, [](const auto &entry) {
    const ConstantIntRanges &range = entry.second;
    return range.smin().getBitWidth() <= 32 ||
           (range.smin().isSignedIntN(32) && range.smax().isSignedIntN(32));
  });
}

/// Whether places in a tensor may leave 32 bits.
static bool areLarge(ValueRange tensors) {
  return llvm::any_of(tensors, [](Value tensor) {
    // Rows may be padded.
    return staticSize(shapeOf(tensor)) >
           std::numeric_limits<int32_t>::max() / 2;
  });
}

ScoreLanes::ScoreLanes(KernelEmitter &emitter, const ScoreForm &form,
                       ValueRange captured, const ScoreExtents &extents)
    : e(emitter), form(form), captured(captured),
      ranges(form.findRanges(extents.box())),
      hasSlots(extents.columns > extents.keys),
      laneInteger(e.builder.getIntegerType(
          fitsInto32(ranges) && !areLarge(captured) ? 32 : 64)),
      firstRows(captured.size()) {
  ScoreBox box = extents.box();
  box.key = {0, extents.keys - 1};
  tokenRanges = form.findRanges(box);
  box.key = {extents.keys, std::max(extents.columns - 1, extents.keys)};
  slotRanges = form.findRanges(box);
}

void ScoreLanes::setItem(Expr item) {
  for (auto [table, firstRow] : llvm::zip_equal(captured, firstRows)) {
    if (areTokens(extentOf(table))) {
      firstRow = e.rowsOfItem(item, /*tokens=*/0, table).first;
    }
  }
}

void ScoreLanes::hoist(unsigned sources) {
  // The tensors themselves are the kernel's.
  unsigned others = ~(sources | ScoreForm::data);
  for (Operation &op : form.region.getBlock().without_terminator()) {
    unsigned sources = form.sourcesOf(op.getResult(0));
    if (sources && !(sources & others)) {
      expand(op.getResult(0));
    }
  }
}

void ScoreLanes::beginLanes(Expr first, int64_t count, Expr insideLanes,
                            Expr tokenLanes) {
  lanes = count;
  inside = insideLanes;
  tokens = tokenLanes;
  laneKeys = {first.in(e.builder), 1};
  known[form.region.getKey()] = laneKeys;
  if (slotShift) {
    Expr numbers = asVector(laneKeys);
    known[form.region.getKey()] = {
        select(tokens, numbers, numbers + toInteger(slotShift, laneInteger))};
  }
}

Expr ScoreLanes::vectorOf(Value value) { return asVector(expand(value)); }

ScoreLanes::Lanes ScoreLanes::expand(Value value) {
  auto found = known.find(value);
  if (found != known.end()) {
    return found->second;
  }
  Lanes computed = compute(value);
  known[value] = computed;
  return computed;
}

Type ScoreLanes::laneType(Type type) const {
  return type.isIntOrIndex() && !type.isInteger(1) ? laneInteger : type;
}

Expr ScoreLanes::asVector(const Lanes &value) {
  if (value.isVector()) {
    return value.first;
  }
  Type element = laneType(value.first.getType());
  auto type = VectorType::get({lanes}, element);
  Expr first = value.first;
  if (element == laneInteger) {
    first = toInteger(first, element);
  }
  if (value.step == 0) {
    return first.broadcast(type);
  }
  return first + toInteger(e.iota(lanes), element) * value.step;
}

bool ScoreLanes::isNegative(Value value) const {
  auto found = ranges.find(value);
  return found == ranges.end() || found->second.smin().isNegative();
}

ScoreLanes::Lanes ScoreLanes::compute(Value value) {
  Operation *op = value.getDefiningOp();
  assert(op && "indices and raw scores are known");
  if (auto element = dyn_cast<ElementOp>(op)) {
    return read(element);
  }
  if (std::optional<double> number = constantOf(value)) {
    return {e.scalar(*number)};
  }
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    return {e.compute<arith::ConstantOp>(constant.getValue())};
  }
  // Constants are one factor, and none is divided by.
  auto [rest, factor] = form.splitFactors(value);
  if (rest != value) {
    return {expand(rest).first * factor};
  }
  SmallVector<Lanes> operands;
  for (Value operand : op->getOperands()) {
    operands.push_back(expand(operand));
  }
  bool isUniform = llvm::all_of(
      operands, [](const Lanes &operand) { return operand.isUniform(); });
  if (isUniform && isa<math::MathDialect>(op->getDialect())) {
    return {applyFunction(op, operands)};
  }
  if (!isUniform) {
    Lanes linear = computeLinear(op, operands);
    if (linear.first) {
      return linear;
    }
    if (Expr sum = computeMultiplyAdd(op)) {
      return {sum};
    }
  }
  SmallVector<Value> values;
  for (const Lanes &operand : operands) {
    values.push_back(isUniform ? operand.first : asVector(operand));
  }
  return {apply(op, values, isUniform)};
}

/// Null where `op` is no such sum.
Expr ScoreLanes::computeMultiplyAdd(Operation *op) {
  std::optional<MultiplyAdd> sum = form.multiplyAddOf(op);
  if (!sum) {
    return {};
  }
  Expr a = vectorOf(sum->a);
  return fma(sum->isDifference ? -a : a, vectorOf(sum->b), vectorOf(sum->c));
}

ScoreLanes::Lanes ScoreLanes::add(const Lanes &a, const Lanes &b) {
  if (a.isVector() || b.isVector()) {
    return {asVector(a) + asVector(b)};
  }
  return {a.first + b.first, a.step + b.step};
}

/// Sums and products with constants of what is linear; otherwise nothing.
ScoreLanes::Lanes ScoreLanes::computeLinear(Operation *op,
                                            ArrayRef<Lanes> operands) {
  bool areLinear = llvm::all_of(operands, [](const Lanes &operand) {
    return operand.first.getType().isIndex();
  });
  if (!areLinear) {
    return {};
  }
  if (isa<arith::AddIOp>(op)) {
    return add(operands[0], operands[1]);
  }
  if (isa<arith::SubIOp>(op)) {
    return {operands[0].first - operands[1].first,
            operands[0].step - operands[1].step};
  }
  if (isa<arith::MulIOp>(op)) {
    for (unsigned i : {0, 1}) {
      IntegerAttr factor;
      if (matchPattern(op->getOperand(1 - i), m_Constant(&factor))) {
        return operands[i] * factor.getInt();
      }
    }
  }
  return {};
}

/// A function of scalars. Functions have a form for vectors alone.
Expr ScoreLanes::applyFunction(Operation *op, ArrayRef<Lanes> operands) {
  llvm::SaveAndRestore ofVector(lanes, e.schedule.lanes);
  auto vectors = map_to_vector(
      operands, [&](const Lanes &lanes) -> Value { return asVector(lanes); });
  return apply(op, vectors, /*isUniform=*/false)[0];
}

/// The operation on scalars or vectors.
Expr ScoreLanes::apply(Operation *op, ValueRange operands, bool isUniform) {
  Type type = op->getResult(0).getType();
  if (!isUniform) {
    type = VectorType::get({lanes}, laneType(type));
  }
  if (isa<arith::IndexCastOp>(op) && !isUniform) {
    return e(operands[0]); // integers of lanes have one type
  }
  if (isa<arith::FloorDivSIOp>(op)) {
    return isNegative(op->getOperand(0))
               ? e(divideDown(e.builder, e.builder.getLoc(), operands[0],
                              operands[1]))
               : e.compute<arith::DivUIOp>(operands[0], operands[1]);
  }
  if (isa<arith::RemSIOp>(op) && isUniform && !isNegative(op->getOperand(0))) {
    return e.compute<arith::RemUIOp>(operands[0], operands[1]);
  }
  OperationState state(e.builder.getLoc(), op->getName(), operands, type,
                       op->getAttrs());
  return e(e.builder.create(state)->getResult(0));
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

static bool isWithin(const ScoreForm::Ranges &ranges, Value index,
                     int64_t size) {
  auto found = ranges.find(index);
  return found != ranges.end() && !found->second.smin().isNegative() &&
         found->second.smax().slt(size);
}

static bool isOutside(const ScoreForm::Ranges &ranges, Value index,
                      int64_t size) {
  auto found = ranges.find(index);
  return found != ranges.end() &&
         (found->second.smax().isNegative() || found->second.smin().sge(size));
}

ScoreLanes::Bounds ScoreLanes::boundsOf(ElementOp op) const {
  ArrayRef<int64_t> shape = shapeOf(op.getTable());
  auto areWithin = [&](const ScoreForm::Ranges &ranges) {
    return llvm::all_of(llvm::zip(op.getIndices(), shape), [&](auto axis) {
      return isWithin(ranges, std::get<0>(axis), std::get<1>(axis));
    });
  };
  if (areWithin(ranges)) {
    return Bounds::inside;
  }
  bool slotsAreOutside =
      hasSlots &&
      llvm::any_of(llvm::zip(op.getIndices(), shape), [&](auto axis) {
        return isOutside(slotRanges, std::get<0>(axis), std::get<1>(axis));
      });
  return slotsAreOutside && areWithin(tokenRanges) ? Bounds::insideOfTokens
                                                   : Bounds::unknown;
}

/// Row and column of an element in the matrix that holds the tensor.
ScoreLanes::Place ScoreLanes::placeOf(ElementOp op) {
  ArrayRef<int64_t> shape = shapeOf(op.getTable());
  Bounds bounds = boundsOf(op);
  Place place;
  place.row = {e.index(0)};
  for (auto [axis, index] : llvm::enumerate(op.getIndices())) {
    // Of lanes with tokens alone, which follow each other.
    bool isOfLane =
        index == form.region.getKey() && bounds == Bounds::insideOfTokens;
    Lanes position = isOfLane ? laneKeys : expand(index);
    if (bounds == Bounds::unknown && !isWithin(ranges, index, shape[axis])) {
      Expr number = position.isUniform() ? position.first : asVector(position);
      Expr size = Expr(shape[axis]).in(e.builder, number.getType());
      place.isInside =
          place.isInside &
          e.compute<arith::CmpIOp>(arith::CmpIPredicate::ult, number, size);
    }
    if (axis + 1 == shape.size()) {
      place.column = position;
    } else {
      place.row = axis == 0 ? position : add(place.row * shape[axis], position);
    }
  }
  unsigned table = cast<BlockArgument>(op.getTable()).getArgNumber();
  if (Expr firstRow = firstRows[table - ScoreRegion::kIndices]) {
    place.row = {e.index(0)};
    place.column = add({firstRow}, place.column);
  }
  if (!place.isUniform()) {
    place.isInside =
        bounds == Bounds::insideOfTokens ? tokens : place.isInside & inside;
  }
  return place;
}

/// Booleans are bytes in memory; integers are kept to their range.
ScoreLanes::Lanes ScoreLanes::read(ElementOp op) {
  unsigned table = cast<BlockArgument>(op.getTable()).getArgNumber();
  Value memref = e.buffer(captured[table - ScoreRegion::kIndices]);
  Place place = placeOf(op);
  bool isUniform = place.isUniform();
  Expr value =
      isUniform ? loadUniform(memref, place) : loadLanes(memref, place);
  Type type = op.getType();
  if (type.isInteger(1)) {
    return {value != 0};
  }
  if (std::optional<ArrayRef<int64_t>> range = op.getRange();
      range && type.isInteger()) {
    value = min(max(value, (*range)[0]), (*range)[1] - 1);
  }
  return {isUniform || !type.isInteger() ? value
                                         : toInteger(value, laneInteger)};
}

Expr ScoreLanes::loadUniform(Value memref, const Place &place) {
  Expr element = e.load(memref, select(place.isInside, place.row.first, 0),
                        select(place.isInside, place.column.first, 0));
  return select(place.isInside, element, 0);
}

Expr ScoreLanes::reverse(Expr vector) {
  auto order = llvm::to_vector(llvm::reverse(llvm::seq(lanes)));
  return vector ? e.compute<vector::ShuffleOp>(vector, vector, order) : vector;
}

Expr ScoreLanes::loadLanes(Value memref, const Place &place) {
  auto ofLanes = VectorType::get({lanes}, e.builder.getI1Type());
  Expr mask = place.isInside ? place.isInside.broadcast(ofLanes) : Expr();
  Expr row = place.row.first, column = place.column.first;
  bool isRow = place.row.isUniform() && !place.column.isVector();
  if (isRow && place.column.step == 1) {
    return e.load({memref, {row, column}}, lanes, mask);
  }
  if (isRow && place.column.step == -1) {
    return reverse(
        e.load({memref, {row, column - (lanes - 1)}}, lanes, reverse(mask)));
  }
  auto memory = cast<MemRefType>(memref.getType());
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  [[maybe_unused]] LogicalResult known =
      memory.getStridesAndOffset(strides, offset);
  assert(succeeded(known) && !ShapedType::isDynamic(strides[0]) &&
         "buffers have rows of one length");
  Expr offsets = asVector(add(place.row * strides[0], place.column));
  auto type = VectorType::get({lanes}, memory.getElementType());
  return e.compute<vector::GatherOp>(type, memref, e.valuesOf({0, 0}), offsets,
                                     mask ? mask
                                          : Expr(1).in(e.builder, ofLanes),
                                     Expr(0).in(e.builder, type));
}

} // namespace hova
