//===- ScoreLanes.cpp - The region of scores for vectors ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cpu/recipes/ScoreLanes.h"
#include "codegen/cpu/TileOps.h"
#include "dialect/DenseOps.h"
#include "dialect/Shapes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/MathExtras.h"
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
    : e(emitter), b(emitter.builder), loc(emitter.loc), form(form),
      captured(captured), ranges(form.findRanges(extents.box())),
      hasSlots(extents.columns > extents.keys),
      isWide(!fitsInto32(ranges) || areLarge(captured)) {
  ScoreBox box = extents.box();
  box.key = {0, extents.keys - 1};
  tokenRanges = form.findRanges(box);
  box.key = {extents.keys, std::max(extents.columns - 1, extents.keys)};
  slotRanges = form.findRanges(box);
}

void ScoreLanes::hoist(unsigned sources) {
  // The tensors themselves are the kernel's.
  unsigned others = ~(sources | ScoreForm::data);
  // Functions are written for vectors, and so is what they are part of.
  llvm::SmallDenseSet<Value> ofVectors;
  for (Operation &op : form.region.getBlock().without_terminator()) {
    Value result = op.getResult(0);
    unsigned own = form.sourcesOf(result);
    if (isa<math::MathDialect>(op.getDialect()) ||
        llvm::any_of(op.getOperands(), [&](Value operand) {
          return ofVectors.contains(operand);
        })) {
      ofVectors.insert(result);
    } else if (own && !(own & others)) {
      expand(result);
    }
  }
}

void ScoreLanes::beginLanes(Value first, int64_t count, Value insideLanes,
                            Value tokenLanes) {
  lanes = count;
  inside = insideLanes;
  tokens = tokenLanes;
  known[form.region.getKey()] = {first, 1, {}};
}

Value ScoreLanes::vectorOf(Value value) { return asVector(expand(value)); }

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
  bool isInteger = type.isIntOrIndex() && !type.isInteger(1);
  return !isInteger ? type : isWide ? Type(b.getI64Type()) : b.getI32Type();
}

Value ScoreLanes::splat(Value scalar) {
  Type element = laneType(scalar.getType());
  if (scalar.getType().isIndex()) {
    scalar = make<arith::IndexCastOp>(element, scalar);
  } else if (element.isInteger(32) && scalar.getType().isInteger(64)) {
    scalar = make<arith::TruncIOp>(element, scalar);
  } else if (element.isInteger(64) && scalar.getType().isInteger(32)) {
    scalar = make<arith::ExtSIOp>(element, scalar);
  }
  return make<vector::BroadcastOp>(VectorType::get({lanes}, element), scalar);
}

Value ScoreLanes::asVector(const Lanes &value) {
  if (value.vector) {
    return value.vector;
  }
  if (value.step == 0) {
    return splat(value.base);
  }
  auto type = VectorType::get({lanes}, laneType(b.getIndexType()));
  SmallVector<Attribute> steps;
  for (int64_t i = 0; i < lanes; ++i) {
    steps.push_back(b.getIntegerAttr(type.getElementType(), i * value.step));
  }
  Value iota = make<arith::ConstantOp>(DenseElementsAttr::get(type, steps));
  return make<arith::AddIOp>(iota, splat(value.base));
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
    return {e.scalar(*number), 0, {}};
  }
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto integer = cast<IntegerAttr>(constant.getValue());
    bool isIndex = integer.getType().isIndex();
    return {isIndex ? e.index(integer.getInt())
                    : make<arith::ConstantOp>(integer).getResult(),
            0,
            {}};
  }
  // Constants are one factor, and none is divided by.
  auto [rest, factor] = splitFactors(value);
  if (rest != value) {
    Lanes own = expand(rest);
    return own.isUniform()
               ? Lanes{make<arith::MulFOp>(own.base, e.scalar(factor)), 0, {}}
               : Lanes{{},
                       0,
                       make<arith::MulFOp>(own.vector, e.splat(factor, lanes))};
  }
  SmallVector<Lanes> operands;
  for (Value operand : op->getOperands()) {
    operands.push_back(expand(operand));
  }
  bool areUniform = llvm::all_of(
      operands, [](const Lanes &operand) { return operand.isUniform(); });
  // Functions have a form for vectors alone.
  if (areUniform && !isa<math::MathDialect>(op->getDialect())) {
    return {computeUniform(op, operands), 0, {}};
  }
  Lanes linear = computeLinear(op, operands);
  if (linear.base) {
    return linear;
  }
  if (Value sum = computeMultiplyAdd(op)) {
    return {{}, 0, sum};
  }
  SmallVector<Value> vectors;
  for (const Lanes &operand : operands) {
    vectors.push_back(asVector(operand));
  }
  return {{}, 0, computeVector(op, vectors)};
}

/// Null where `op` is no such sum.
Value ScoreLanes::computeMultiplyAdd(Operation *op) {
  std::optional<MultiplyAdd> sum = multiplyAddOf(op);
  if (!sum) {
    return {};
  }
  Value a = vectorOf(sum->a);
  if (sum->isDifference) {
    a = make<arith::NegFOp>(a);
  }
  return make<math::FmaOp>(a, vectorOf(sum->b), vectorOf(sum->c));
}

ScoreLanes::Lanes ScoreLanes::add(const Lanes &a, const Lanes &c) {
  if (a.vector || c.vector) {
    return {{}, 0, make<arith::AddIOp>(asVector(a), asVector(c))};
  }
  return {e.add(a.base, c.base), a.step + c.step, {}};
}

ScoreLanes::Lanes ScoreLanes::times(const Lanes &a, int64_t factor) {
  if (a.vector) {
    return {{}, 0, make<arith::MulIOp>(a.vector, splat(e.index(factor)))};
  }
  return {e.mul(a.base, factor), a.step * factor, {}};
}

/// Sums and products with constants of what is linear; otherwise nothing.
ScoreLanes::Lanes ScoreLanes::computeLinear(Operation *op,
                                            ArrayRef<Lanes> operands) {
  bool areLinear = llvm::all_of(operands, [](const Lanes &operand) {
    return !operand.vector && operand.base.getType().isIndex();
  });
  if (!areLinear) {
    return {};
  }
  if (isa<arith::AddIOp>(op)) {
    return add(operands[0], operands[1]);
  }
  if (isa<arith::SubIOp>(op)) {
    return {make<arith::SubIOp>(operands[0].base, operands[1].base),
            operands[0].step - operands[1].step,
            {}};
  }
  if (isa<arith::MulIOp>(op)) {
    for (unsigned i : {0, 1}) {
      IntegerAttr factor;
      if (matchPattern(op->getOperand(1 - i), m_Constant(&factor))) {
        return times(operands[i], factor.getInt());
      }
    }
  }
  return {};
}

Value ScoreLanes::computeUniform(Operation *op, ArrayRef<Lanes> operands) {
  SmallVector<Value> scalars;
  for (const Lanes &operand : operands) {
    scalars.push_back(operand.base);
  }
  bool areIndices = llvm::all_of(
      scalars, [](Value scalar) { return scalar.getType().isIndex(); });
  if (areIndices && isa<arith::AddIOp>(op)) {
    return e.add(scalars[0], scalars[1]);
  }
  if (isa<arith::RemSIOp>(op) && !isNegative(op->getOperand(0))) {
    return make<arith::RemUIOp>(scalars[0], scalars[1]);
  }
  if (isa<arith::FloorDivSIOp>(op)) {
    return isNegative(op->getOperand(0))
               ? divideDown(b, loc, scalars[0], scalars[1])
               : make<arith::DivUIOp>(scalars[0], scalars[1]).getResult();
  }
  IRMapping scalarOf;
  scalarOf.map(op->getOperands(), scalars);
  Operation *own = b.clone(*op, scalarOf);
  own->setLoc(loc);
  return own->getResult(0);
}

Value ScoreLanes::computeVector(Operation *op, ValueRange operands) {
  Type type = VectorType::get({lanes}, laneType(op->getResult(0).getType()));
  if (isa<arith::IndexCastOp>(op)) {
    return operands[0]; // integers of lanes have one type
  }
  if (isa<arith::FloorDivSIOp>(op)) {
    return isNegative(op->getOperand(0))
               ? divideDown(b, loc, operands[0], operands[1])
               : make<arith::DivUIOp>(operands[0], operands[1]).getResult();
  }
  OperationState state(loc, op->getName());
  state.addOperands(operands);
  state.addTypes(type);
  state.addAttributes(op->getAttrs());
  return b.create(state)->getResult(0);
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
  auto areWithin = [&](const ScoreForm::Ranges &own) {
    return llvm::all_of(llvm::zip(op.getIndices(), shape), [&](auto axis) {
      return isWithin(own, std::get<0>(axis), std::get<1>(axis));
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

Value ScoreLanes::combineMasks(Value a, Value c) {
  if (!a || !c) {
    return a ? a : c;
  }
  auto widen = [&](Value mask) {
    return isa<VectorType>(mask.getType()) ? mask : splat(mask);
  };
  if (a.getType() != c.getType()) {
    a = widen(a);
    c = widen(c);
  }
  return make<arith::AndIOp>(a, c);
}

/// Row and column of an element in the matrix that holds the tensor.
ScoreLanes::Place ScoreLanes::placeOf(ElementOp op) {
  ArrayRef<int64_t> shape = shapeOf(op.getTable());
  Bounds bounds = boundsOf(op);
  Place place;
  for (auto [axis, index] : llvm::enumerate(op.getIndices())) {
    Lanes own = expand(index);
    if (bounds == Bounds::unknown && !isWithin(ranges, index, shape[axis])) {
      Value size = e.index(shape[axis]);
      Value value = own.isUniform() ? own.base : asVector(own);
      Value isBelow = make<arith::CmpIOp>(arith::CmpIPredicate::ult, value,
                                          own.isUniform() ? size : splat(size));
      place.isInside = combineMasks(place.isInside, isBelow);
    }
    if (axis + 1 == shape.size()) {
      place.column = own;
    } else {
      place.row = axis == 0 ? own : add(times(place.row, shape[axis]), own);
    }
  }
  if (shape.size() == 1) {
    place.row = {e.index(0), 0, {}};
  }
  bool isUniform = place.row.isUniform() && place.column.isUniform();
  if (!isUniform && bounds != Bounds::unknown) {
    place.isInside = bounds == Bounds::inside ? inside : tokens;
  } else if (!isUniform) {
    place.isInside = combineMasks(place.isInside, inside);
  }
  return place;
}

ScoreLanes::Lanes ScoreLanes::read(ElementOp op) {
  Place place = placeOf(op);
  bool isUniform = place.row.isUniform() && place.column.isUniform();
  return finish(op, isUniform ? loadUniform(op, place)
                              : Lanes{{}, 0, loadLanes(op, place)});
}

static BlockArgument tableOf(ElementOp op) {
  return cast<BlockArgument>(op.getTable());
}

ScoreLanes::Lanes ScoreLanes::loadUniform(ElementOp op, const Place &place) {
  Value memref =
      e.buffer(captured[tableOf(op).getArgNumber() - ScoreRegion::kIndices]);
  Value row = place.row.base, column = place.column.base;
  if (!place.isInside) {
    return {e.loadScalar(memref, row, column), 0, {}};
  }
  auto orFirst = [&](Value index) -> Value {
    return make<arith::SelectOp>(place.isInside, index, e.index(0));
  };
  Value element = e.loadScalar(memref, orFirst(row), orFirst(column));
  Value zero = make<arith::ConstantOp>(b.getZeroAttr(element.getType()));
  return {make<arith::SelectOp>(place.isInside, element, zero), 0, {}};
}

Value ScoreLanes::load(Value memref, Value row, Value column, Value mask) {
  auto type = VectorType::get(
      {lanes}, cast<MemRefType>(memref.getType()).getElementType());
  Value place[] = {row, column};
  if (!mask) {
    return make<vector::LoadOp>(type, memref, ValueRange(place));
  }
  Value zero = make<arith::ConstantOp>(b.getZeroAttr(type));
  return make<vector::MaskedLoadOp>(type, memref, ValueRange(place), mask,
                                    zero);
}

Value ScoreLanes::reverse(Value vector) {
  SmallVector<int64_t> order;
  for (int64_t i = lanes; i-- > 0;) {
    order.push_back(i);
  }
  return make<vector::ShuffleOp>(vector, vector, order);
}

Value ScoreLanes::loadLanes(ElementOp op, const Place &place) {
  Value memref =
      e.buffer(captured[tableOf(op).getArgNumber() - ScoreRegion::kIndices]);
  Value mask = place.isInside;
  if (mask && !isa<VectorType>(mask.getType())) {
    mask = splat(mask);
  }
  bool isRow = place.row.isUniform() && !place.column.vector;
  if (isRow && place.column.step == 1) {
    return load(memref, place.row.base, place.column.base, mask);
  }
  if (isRow && place.column.step == -1) {
    Value first = e.add(place.column.base, -(lanes - 1));
    return reverse(
        load(memref, place.row.base, first, mask ? reverse(mask) : Value()));
  }
  auto memory = cast<MemRefType>(memref.getType());
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  [[maybe_unused]] LogicalResult known =
      memory.getStridesAndOffset(strides, offset);
  assert(succeeded(known) && !ShapedType::isDynamic(strides[0]) &&
         "buffers have rows of one length");
  Value offsets = asVector(add(times(place.row, strides[0]), place.column));
  auto type = VectorType::get({lanes}, memory.getElementType());
  Value all = mask ? mask : splat(make<arith::ConstantOp>(b.getBoolAttr(true)));
  Value zero = make<arith::ConstantOp>(b.getZeroAttr(type));
  return make<vector::GatherOp>(
      type, memref, ValueRange{e.index(0), e.index(0)}, offsets, all, zero);
}

/// Booleans are bytes in memory; integers are kept to their range.
ScoreLanes::Lanes ScoreLanes::finish(ElementOp op, Lanes element) {
  bool isUniform = element.isUniform();
  Value value = isUniform ? element.base : element.vector;
  auto constant = [&](int64_t number) -> Value {
    Type type = value.getType();
    if (auto vector = dyn_cast<VectorType>(type)) {
      return make<arith::ConstantOp>(DenseElementsAttr::get(
          vector, b.getIntegerAttr(vector.getElementType(), number)));
    }
    return make<arith::ConstantOp>(b.getIntegerAttr(type, number));
  };
  Type type = op.getType();
  if (type.isInteger(1)) {
    value = make<arith::CmpIOp>(arith::CmpIPredicate::ne, value, constant(0));
  } else if (type.isInteger()) {
    if (std::optional<ArrayRef<int64_t>> range = op.getRange()) {
      value = make<arith::MaxSIOp>(value, constant((*range)[0]));
      value = make<arith::MinSIOp>(value, constant((*range)[1] - 1));
    }
    Type wanted = laneType(type);
    if (!isUniform && wanted != type) {
      Type lanesType = VectorType::get({lanes}, wanted);
      value = isWide ? make<arith::ExtSIOp>(lanesType, value).getResult()
                     : make<arith::TruncIOp>(lanesType, value).getResult();
    }
  }
  return isUniform ? Lanes{value, 0, {}} : Lanes{{}, 0, value};
}

} // namespace hova
