//===- Elements.cpp - Element-wise operations on one element --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// An element-wise operation writes itself on tiles, vectors of f32. A thread
// has single elements, so each operation that it writes is made again with
// scalars.

#include "codegen/cuda/recipes/GroupEmitter.h"
#include "dialect/DenseOps.h"
#include "dialect/Interfaces.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace hova {

Value widen(OpBuilder &builder, Location loc, Value element) {
  Type f32 = builder.getF32Type();
  return element.getType().getIntOrFloatBitWidth() < 32
             ? arith::ExtFOp::create(builder, loc, f32, element)
             : element;
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

namespace {
/// f32 arithmetic on one element.
class Expression {
public:
  Expression(OpBuilder &builder, Location loc) : b(loc, builder) {}

  Value activation(ActivationKind kind, Value x) {
    switch (kind) {
    case ActivationKind::relu: {
      // NaN stays.
      Value negative =
          arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, x, number(0));
      return arith::SelectOp::create(b, negative, number(0), x);
    }
    case ActivationKind::gelu_erf: {
      Value e = math::ErfOp::create(b, mul(x, number(0.70710678118654752)));
      return mul(mul(x, number(0.5)), add(e, number(1)));
    }
    case ActivationKind::gelu_tanh: {
      // (1 + tanh y) / 2 = sigmoid(2 y).
      Value cube = fma(mul(x, x), number(0.044715), number(1));
      return mul(x, sigmoid(mul(mul(x, cube), number(1.5957691216057308))));
    }
    case ActivationKind::sigmoid:
      return sigmoid(x);
    case ActivationKind::tanh:
      return math::TanhOp::create(b, x);
    }
    llvm_unreachable("an activation of its own");
  }

private:
  Value number(double value) {
    return arith::ConstantOp::create(b, b.getF32FloatAttr(value));
  }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, x, y); }
  Value fma(Value x, Value y, Value z) {
    return math::FmaOp::create(b, x, y, z);
  }
  /// 1 / (1 + exp(-x))
  Value sigmoid(Value x) {
    Value power = math::Exp2Op::create(b, mul(x, number(-1.4426950408889634)));
    return arith::DivFOp::create(b, number(1), add(power, number(1)));
  }

  ImplicitLocOpBuilder b;
};
} // namespace

//===----------------------------------------------------------------------===//
// Operations on vectors
//===----------------------------------------------------------------------===//

/// What an operation on vectors does with one element of each operand; null if
/// it is none that works element by element.
static Value onElement(OpBuilder &builder, Operation *op,
                       const IRMapping &elements) {
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    operands.push_back(elements.lookupOrDefault(operand));
  }
  if (auto activation = dyn_cast<ActivationOp>(op)) {
    return Expression(builder, op->getLoc())
        .activation(activation.getKind(), operands[0]);
  }
  Type element = getElementTypeOrSelf(op->getResult(0).getType());
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto value = dyn_cast<SplatElementsAttr>(constant.getValue());
    return value ? arith::ConstantOp::create(
                       builder, op->getLoc(),
                       cast<TypedAttr>(value.getSplatValue<Attribute>()))
                 : Value();
  }
  if (!op->hasTrait<OpTrait::Elementwise>() || op->getNumRegions()) {
    return {};
  }
  OperationState state(op->getLoc(), op->getName(), operands, element,
                       op->getAttrs());
  return builder.create(state)->getResult(0);
}

FailureOr<Value> emitElement(OpBuilder &builder, Operation *op,
                             ValueRange elements) {
  auto own = cast<TileOpInterface>(op);
  Type tile = VectorType::get({1, 1}, builder.getF32Type());
  // Written on vectors where nobody sees it.
  Region region;
  Block *block = new Block;
  region.push_back(block);
  for (size_t i = 0; i < elements.size(); ++i) {
    block->addArgument(tile, op->getLoc());
  }
  OpBuilder aside(builder.getContext());
  aside.setInsertionPointToEnd(block);
  Value made = own.emitTile(aside, block->getArguments());
  IRMapping scalars;
  scalars.map(block->getArguments(), elements);
  for (Operation &inner : *block) {
    Value scalar = inner.getNumResults() == 1
                       ? onElement(builder, &inner, scalars)
                       : Value();
    if (!scalar) {
      return op->emitOpError("is written with '")
             << inner.getName() << "', which has no form on one element";
    }
    scalars.map(inner.getResult(0), scalar);
  }
  return scalars.lookup(made);
}

} // namespace hova
