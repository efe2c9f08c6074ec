//===- ThreadElements.cpp - Reductions and functions of elements ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/Sm80.h"
#include "codegen/cuda/lower/ThreadEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace hova {

Value ThreadEmitter::shuffle(Value x, int64_t distance) {
  return NVVM::ShflOp::create(b, b.getF32Type(), i32(-1), x, i32(distance),
                              i32(kLanes - 1), NVVM::ShflKind::bfly,
                              UnitAttr());
}

LogicalResult ThreadEmitter::emitReduce(GroupReduceOp op) {
  TileType tile = op.getTile().getType(), result = op.getResult().getType();
  bool exchange = result.getLanes() != TileLanes::partial;
  if (tile.getColumnMembers() > 1 && exchange) {
    return op.emitOpError("expects columns that are not divided over members");
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
  Fragment own = fragment(tile);
  ArrayRef<Value> elements = parts[op.getTile()];
  bool row =
      (tile.getLanes() == TileLanes::partial ? result : tile).getLanes() ==
      TileLanes::row;
  Values results;
  for (size_t r = 0; r < own.rows.size(); ++r) {
    Values round(elements.slice(r * own.columns.size(), own.columns.size()));
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
  Fragment own = fragment(type);
  size_t index = (type.rows() == 1 ? 0 : r) * own.columns.size() +
                 (type.columns() == 1 ? 0 : c);
  if (!isPaired(type)) {
    return parts[tile][index];
  }
  Value pair = LLVM::BitcastOp::create(
      b, VectorType::get({2}, type.getElementType()), parts[tile][index / 2]);
  return vector::ExtractOp::create(b, pair, index % 2);
}

void ThreadEmitter::placeBody(Block &body, const Fragment &own, size_t r,
                              size_t c) {
  auto place = [&](BlockArgument argument, Value first, int64_t offset) {
    if (!argument.use_empty()) {
      map.map(argument, b.createOrFold<arith::IndexCastOp>(
                            b.getIndexType(), add(first, i32(offset))));
    }
  };
  place(body.getArguments().take_back(2)[0], own.row, own.rows[r]);
  place(body.getArguments().back(), own.column, own.columns[c]);
}

LogicalResult verifyBody(Block &body) {
  for (Operation &inner : body.without_terminator()) {
    if (inner.getNumRegions() || !isMemoryEffectFree(&inner)) {
      return inner.emitOpError("has no lowering to threads inside '")
             << body.getParentOp()->getName() << "'";
    }
  }
  return success();
}

/// The operations of a body, whose arguments are mapped.
void ThreadEmitter::emitBody(Block &body) {
  for (Operation &inner : body.without_terminator()) {
    b.setLoc(inner.getLoc());
    if (Value made = emitScalar(inner)) {
      map.map(inner.getResult(0), made);
    } else {
      b.clone(inner, map);
    }
  }
  b.setLoc(body.getParentOp()->getLoc());
}

Value ThreadEmitter::mapElement(GroupMapOp op, const Fragment &own, size_t r,
                                size_t c) {
  Block &body = op.getBody().front();
  for (auto [operand, argument] :
       llvm::zip(op.getOperands(), body.getArguments())) {
    map.map(argument, element(operand, r, c));
  }
  placeBody(body, own, r, c);
  emitBody(body);
  return map.lookupOrDefault(body.getTerminator()->getOperand(0));
}

LogicalResult ThreadEmitter::emitMap(GroupMapOp op) {
  TileType type = op.getResult().getType();
  if (failed(verifyBody(op.getBody().front()))) {
    return failure();
  }
  Fragment own = fragment(type);
  Values results;
  bool paired = isPaired(type);
  for (size_t r = 0; r < own.rows.size(); ++r) {
    for (size_t c = 0; c < own.columns.size(); ++c) {
      Value made = mapElement(op, own, r, c);
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

//===----------------------------------------------------------------------===//
// Functions that the hardware approximates
//===----------------------------------------------------------------------===//

Value ThreadEmitter::intrinsic(StringRef name, Value x) {
  return LLVM::CallIntrinsicOp::create(b, x.getType(), b.getStringAttr(name),
                                       ValueRange{x})
      .getResult(0);
}

/// What stands for an operation on f32 here; null for one that stays.
Value ThreadEmitter::emitScalar(Operation &op) {
  if (op.getNumResults() != 1 || !op.getResult(0).getType().isF32()) {
    return {};
  }
  auto operand = [&](unsigned i) {
    return map.lookupOrDefault(op.getOperand(i));
  };
  return TypeSwitch<Operation *, Value>(&op)
      .Case<math::Exp2Op>([&](Operation *) {
        return intrinsic("llvm.nvvm.ex2.approx.ftz.f", operand(0));
      })
      .Case<math::RsqrtOp>([&](Operation *) {
        return intrinsic("llvm.nvvm.rsqrt.approx.ftz.f", operand(0));
      })
      .Case<math::ErfOp>([&](Operation *) { return erf(operand(0)); })
      .Case<arith::DivFOp>([&](arith::DivFOp div) -> Value {
        FloatAttr one;
        if (!matchPattern(div.getLhs(), m_Constant(&one)) ||
            !one.getValue().isExactlyValue(1.0)) {
          return {};
        }
        return intrinsic("llvm.nvvm.rcp.approx.ftz.f", operand(1));
      })
      .Default([](Operation *) { return Value(); });
}

/// Abramowitz and Stegun 7.1.26, absolute error 1.5e-7:
/// 1 - t p(t) exp(-x^2), t = 1 / (1 + 0.3275911 |x|), with the sign of x.
Value ThreadEmitter::erf(Value x) {
  auto fma = [&](Value p, Value q, double r) -> Value {
    return math::FmaOp::create(b, p, q, f32(r));
  };
  auto times = [&](Value p, Value q) -> Value {
    return arith::MulFOp::create(b, p, q);
  };
  Value size = math::AbsFOp::create(b, x);
  Value t =
      intrinsic("llvm.nvvm.rcp.approx.ftz.f", fma(size, f32(0.3275911), 1));
  Value p = f32(1.061405429);
  for (double c : {-1.453152027, 1.421413741, -0.284496736, 0.254829592}) {
    p = fma(p, t, c);
  }
  Value power = intrinsic("llvm.nvvm.ex2.approx.ftz.f",
                          times(times(x, x), f32(-1.4426950408889634)));
  Value rest = times(times(p, t), power);
  return math::CopySignOp::create(b, arith::SubFOp::create(b, f32(1), rest), x);
}

} // namespace hova
