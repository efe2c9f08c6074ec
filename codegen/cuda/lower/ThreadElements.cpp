//===- ThreadElements.cpp - Reductions and functions of elements ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/facts/AllGpus.h"
#include "codegen/cuda/lower/ScalarFunctions.h"
#include "codegen/cuda/lower/ThreadEmitter.h"
#include "dialect/dense/DenseOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace hova {

Value ThreadEmitter::shuffle(Value x, int64_t distance) {
  return NVVM::ShflOp::create(b, x.getType(), i32(-1), x, i32(distance),
                              i32(kLanes - 1), NVVM::ShflKind::bfly,
                              UnitAttr());
}

LogicalResult ThreadEmitter::emitReduce(GroupReduceOp op) {
  TileType tile = op.getTile().getType(), result = op.getResult().getType();
  bool exchange = result.getDistribution() != TileDistribution::partial;
  if (tile.getColumnMembers() > 1 && exchange) {
    return op.emitOpError("expects columns that are not divided over members");
  }
  if (isPaired(tile)) {
    return emitSumByProducts(op);
  }
  if (!tile.getElementType().isF32()) {
    return op.emitOpError("expects elements of f32, got ")
           << tile.getElementType();
  }
  auto combine = [&](Value x, Value y) -> Value {
    if (op.getCombine() == Combine::add) {
      return arith::AddFOp::create(b, x, y);
    }
    return arith::MaxNumFOp::create(b, x, y);
  };
  Fragment held = fragment(tile);
  ArrayRef<Value> elements = parts[op.getTile()];
  bool row =
      (tile.getDistribution() == TileDistribution::partial ? result : tile)
          .getDistribution() == TileDistribution::row;
  Values results;
  for (size_t r = 0; r < held.rows.size(); ++r) {
    Values round(elements.slice(r * held.columns.size(), held.columns.size()));
    for (; round.size() > 1; round.resize((round.size() + 1) / 2)) {
      for (size_t i = 0; i < round.size() / 2; ++i) {
        round[i] = combine(round[i], round[round.size() - 1 - i]);
      }
    }
    int64_t distance = exchange ? (row ? kLanes : kLanesOfRow) / 2 : 0;
    for (; distance; distance /= 2) {
      round[0] = combine(round[0], shuffle(round[0], distance));
    }
    results.push_back(round[0]);
  }
  parts[op.getResult()] = results;
  return success();
}

/// Through shared memory: of the lanes that hold an element of the column one
/// writes it.
LogicalResult ThreadEmitter::emitTranspose(GroupTransposeOp op) {
  TileType tile = op.getTile().getType(), result = op.getResult().getType();
  if (!tile.getElementType().isF32()) {
    return op.emitOpError("expects elements of f32, got ")
           << tile.getElementType();
  }
  constexpr int64_t kBytes = 4;
  Fragment column = fragment(tile), row = fragment(result);
  Value start = offset(memory, columnOffset);
  Value to = offset(start, mul(column.row, kBytes));
  // Whoever reads what was exchanged before has read it.
  NVVM::Barrier0Op::create(b);
  {
    auto choice = scf::IfOp::create(b, isOwner(tile));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(choice.thenBlock());
    for (auto [place, element] : llvm::zip(column.rows, parts[op.getTile()])) {
      LLVM::StoreOp::create(b, element, offset(to, place * kBytes), kBytes);
    }
  }
  syncWarp();
  NVVM::Barrier0Op::create(b);
  Value begin = offset(start, mul(row.column, kBytes));
  Values elements;
  for (int64_t place : row.columns) {
    elements.push_back(LLVM::LoadOp::create(
        b, b.getF32Type(), offset(begin, place * kBytes), kBytes));
  }
  parts[op.getResult()] = elements;
  return success();
}

/// Two elements of 16 bits in a register, the first in the low half. Two that
/// were f32 before are rounded by one instruction.
Value ThreadEmitter::pack(Value low, Value high) {
  auto first = low.getDefiningOp<arith::TruncFOp>();
  auto second = high.getDefiningOp<arith::TruncFOp>();
  auto pair = VectorType::get({2}, low.getType());
  Value both;
  if (first && second && first.getIn().getType().isF32() &&
      second.getIn().getType().isF32()) {
    Value wide = vector::FromElementsOp::create(
        b, VectorType::get({2}, b.getF32Type()),
        ValueRange{first.getIn(), second.getIn()});
    both = arith::TruncFOp::create(b, pair, wide);
  } else {
    both = vector::FromElementsOp::create(b, pair, ValueRange{low, high});
  }
  return LLVM::BitcastOp::create(b, b.getI32Type(), both);
}

/// Element (r, c) of a thread's fragment of `tile`, or of the only row or
/// column.
Value ThreadEmitter::element(Value tile, size_t r, size_t c) {
  auto type = cast<TileType>(tile.getType());
  Fragment held = fragment(type);
  size_t index = (type.rows() == 1 ? 0 : r) * held.columns.size() +
                 (type.columns() == 1 ? 0 : c);
  if (!isPaired(type)) {
    return parts[tile][index];
  }
  Value pair = LLVM::BitcastOp::create(
      b, VectorType::get({2}, type.getElementType()), parts[tile][index / 2]);
  return vector::ExtractOp::create(b, pair, index % 2);
}

void ThreadEmitter::placeBody(Block &body, const Fragment &held, size_t r,
                              size_t c) {
  auto place = [&](BlockArgument argument, Value first, int64_t offset) {
    if (!argument.use_empty()) {
      map.map(argument, b.createOrFold<arith::IndexCastOp>(
                            b.getIndexType(), add(first, i32(offset))));
    }
  };
  place(body.getArguments().take_back(2)[0], held.row, held.rows[r]);
  place(body.getArguments().back(), held.column, held.columns[c]);
}

/// Operations that leave a single element what it is.
static bool movesOneElement(Operation &op) {
  return isa<vector::BroadcastOp, vector::ShapeCastOp, vector::TransposeOp,
             vector::ExtractOp, vector::InsertOp, vector::FromElementsOp,
             vector::ToElementsOp>(op);
}

/// Whether an operation on vectors of one element is one on scalars too.
static bool hasScalarForm(Operation &op) {
  auto hasOneElement = [](Type type) {
    auto vector = dyn_cast<VectorType>(type);
    return !vector || (vector.hasStaticShape() && vector.getNumElements() == 1);
  };
  return llvm::all_of(op.getOperandTypes(), hasOneElement) &&
         llvm::all_of(op.getResultTypes(), hasOneElement) &&
         (movesOneElement(op) || OpTrait::hasElementwiseMappableTraits(&op) ||
          isa<ActivationOp, Exp2Op, arith::ConstantOp>(op));
}

LogicalResult verifyBody(Block &body) {
  auto isVector = [](Type type) { return isa<VectorType>(type); };
  for (Operation &inner : body.without_terminator()) {
    bool hasVectors = llvm::any_of(inner.getOperandTypes(), isVector) ||
                      llvm::any_of(inner.getResultTypes(), isVector);
    if (inner.getNumRegions() || !isMemoryEffectFree(&inner) ||
        (hasVectors && !hasScalarForm(inner))) {
      return inner.emitOpError("has no lowering to threads inside '")
             << body.getParentOp()->getName()
             << "', which takes element-wise operations on scalars and on "
                "vectors of one element";
    }
  }
  return success();
}

/// The only element of a value from outside of a body or in it.
Value ThreadEmitter::scalar(Value value) {
  Value element = map.lookupOrDefault(value);
  auto vector = dyn_cast<VectorType>(element.getType());
  return vector ? Value(vector::ExtractOp::create(
                      b, element, SmallVector<int64_t>(vector.getRank())))
                : element;
}

/// The operations of a body, whose arguments are mapped. Vectors of one
/// element, which operations that join a kernel make, become scalars.
void ThreadEmitter::emitBody(Block &body) {
  for (Operation &inner : body.without_terminator()) {
    b.setLoc(inner.getLoc());
    Values operands;
    for (Value operand : inner.getOperands()) {
      operands.push_back(scalar(operand));
    }
    if (Value made = ScalarFunctions(b).emit(inner, operands)) {
      map.map(inner.getResult(0), made);
    } else if (movesOneElement(inner)) {
      map.map(inner.getResult(0), operands[0]);
    } else if (auto constant = dyn_cast<arith::ConstantOp>(inner);
               constant && isa<VectorType>(constant.getType())) {
      auto only = cast<DenseElementsAttr>(constant.getValue());
      map.map(constant.getResult(),
              arith::ConstantOp::create(b, only.getSplatValue<TypedAttr>()));
    } else {
      Operation *made = b.clone(inner, map);
      made->setOperands(operands);
      for (Value result : made->getResults()) {
        result.setType(getElementTypeOrSelf(result.getType()));
      }
    }
  }
  b.setLoc(body.getParentOp()->getLoc());
}

/// Registers of f32 hold an element each, those of a row beside each other.
LogicalResult ThreadEmitter::emitExchange(GroupExchangeOp op) {
  Fragment held = fragment(op.getTile().getType());
  if (held.run == 1 && op.getTile().getType().columns() > 1) {
    // Along the row, where neighbours are held by neighbours.
    Values &exchanged = parts[op.getResult()];
    for (Value element : parts.lookup(op.getTile())) {
      exchanged.push_back(shuffle(element, 1));
    }
    return success();
  }
  ArrayRef<int64_t> columns = held.columns;
  for (size_t c = 0; c < columns.size(); c += 2) {
    if (c + 1 == columns.size() || columns[c] % 2 != 0 ||
        columns[c + 1] != columns[c] + 1) {
      return op.emitOpError("expects neighbours in one thread");
    }
  }
  Values exchanged = parts.lookup(op.getTile());
  for (size_t i = 0; i < exchanged.size(); i += 2) {
    std::swap(exchanged[i], exchanged[i + 1]);
  }
  parts[op.getResult()] = exchanged;
  return success();
}

/// Those of a row that a thread has of a member's half lie beside each other.
LogicalResult ThreadEmitter::emitHalf(GroupHalfOp op) {
  size_t count = fragment(op.getResult().getType()).columns.size();
  ArrayRef<Value> registers = parts[op.getTile()];
  Values half;
  for (; !registers.empty(); registers = registers.drop_front(2 * count)) {
    llvm::append_range(half,
                       registers.slice(op.getSecond() ? count : 0, count));
  }
  parts[op.getResult()] = half;
  return success();
}

Value ThreadEmitter::mapElement(GroupMapOp op, const Fragment &held, size_t r,
                                size_t c) {
  Block &body = op.getBody().front();
  for (auto [operand, argument] :
       llvm::zip(op.getOperands(), body.getArguments())) {
    map.map(argument, element(operand, r, c));
  }
  placeBody(body, held, r, c);
  emitBody(body);
  return map.lookupOrDefault(body.getTerminator()->getOperand(0));
}

LogicalResult ThreadEmitter::emitMap(GroupMapOp op) {
  TileType type = op.getResult().getType();
  if (failed(verifyBody(op.getBody().front()))) {
    return failure();
  }
  Fragment held = fragment(type);
  Values results;
  bool paired = isPaired(type);
  for (size_t r = 0; r < held.rows.size(); ++r) {
    for (size_t c = 0; c < held.columns.size(); ++c) {
      Value made = mapElement(op, held, r, c);
      if (paired && c % 2) {
        results.back() = pack(results.back(), made);
      } else {
        results.push_back(made);
      }
    }
  }
  parts[op.getResult()] = results;
  return success();
}

} // namespace hova
