//===- Expr.cpp - Arithmetic of a kernel as C++ expressions ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/tile/Expr.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace hova {

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

Expr::operator Value() const {
  if (!*this) {
    return {};
  }
  const Value *value = std::get_if<Value>(&content);
  if (!value) {
    llvm::report_fatal_error("a constant of a recipe has no type yet");
  }
  return *value;
}

Expr Expr::in(Builder &builder, Type type) const {
  if (!isConstant()) {
    return {*this, &builder};
  }
  const int64_t *integer = std::get_if<int64_t>(&content);
  if (!type) {
    type = integer ? Type(builder.getIndexType()) : builder.getF32Type();
  }
  Type element = getElementTypeOrSelf(type);
  TypedAttr one;
  if (isa<FloatType>(element)) {
    one = builder.getFloatAttr(element, integer ? static_cast<double>(*integer)
                                                : std::get<double>(content));
  } else if (integer) {
    one = builder.getIntegerAttr(element, *integer);
  } else {
    llvm::report_fatal_error("a fraction of a recipe meets integers");
  }
  if (auto vector = dyn_cast<VectorType>(type)) {
    one = DenseElementsAttr::get(vector, Attribute(one));
  }
  return compute<arith::ConstantOp>(builder, one);
}

Expr::Builder &Expr::getBuilder() const {
  if (!builder) {
    llvm::report_fatal_error("an operand is not a recipe's");
  }
  return *builder;
}

/// The axes of a vector, none of a scalar.
static ArrayRef<int64_t> axesOf(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? vector.getShape() : ArrayRef<int64_t>();
}

Expr Expr::broadcast(Type type) const {
  auto vector = dyn_cast<VectorType>(type);
  Type given = getType();
  if (!vector || axesOf(given) == vector.getShape()) {
    return *this;
  }
  return compute<vector::BroadcastOp>(
      getBuilder(), vector.clone(getElementTypeOrSelf(given)), *this);
}

/// What is larger is not broadcast.
static std::pair<size_t, int64_t> extentOf(const Expr &x) {
  ArrayRef<int64_t> axes = axesOf(x.getType());
  return {axes.size(), llvm::product_of(axes)};
}

/// Both with one builder, that of an operand or the other, and in one shape.
std::pair<Expr, Expr> Expr::match(const Expr &x, const Expr &y,
                                  Builder *other) {
  Builder *shared = x.builder ? x.builder : y.builder ? y.builder : other;
  if (!shared) {
    llvm::report_fatal_error("neither operand is a recipe's");
  }
  if (!x || !y) {
    llvm::report_fatal_error("an operand of a recipe is null");
  }
  Type type =
      x.isConstant() ? y.isConstant() ? Type() : y.getType() : x.getType();
  if (!type && (x.isFraction() || y.isFraction())) {
    type = shared->getF32Type();
  }
  Expr a = x.in(*shared, type), b = y.in(*shared, type);
  if (extentOf(a) < extentOf(b)) {
    a = a.broadcast(b.getType());
  } else {
    b = b.broadcast(a.getType());
  }
  return {a, b};
}

static bool isOfFloats(const Expr &x) {
  return isa<FloatType>(getElementTypeOrSelf(x.getType()));
}

static bool isOfIndices(const Expr &x) {
  return getElementTypeOrSelf(x.getType()).isIndex();
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

/// `fold` is the operation on constants.
template <typename Index, typename Signed, typename Float, typename Fold>
Expr Expr::apply(const Expr &x, const Expr &y, Fold fold) {
  const int64_t *constantX = std::get_if<int64_t>(&x.content);
  const int64_t *constantY = std::get_if<int64_t>(&y.content);
  if (constantX && constantY) {
    return static_cast<int64_t>(fold(*constantX, *constantY));
  }
  auto [a, b] = match(x, y);
  Builder &builder = *a.builder;
  if (isOfFloats(a)) {
    return compute<Float>(builder, a, b);
  }
  Value made = isOfIndices(a)
                   ? builder.createOrFold<Index>(Value(a), Value(b))
                   : builder.createOrFold<Signed>(Value(a), Value(b));
  return {made, &builder};
}

Expr operator+(const Expr &x, const Expr &y) {
  return Expr::apply<arith::AddIOp, arith::AddIOp, arith::AddFOp>(
      x, y, std::plus<>());
}

Expr operator-(const Expr &x, const Expr &y) {
  return Expr::apply<arith::SubIOp, arith::SubIOp, arith::SubFOp>(
      x, y, std::minus<>());
}

Expr operator*(const Expr &x, const Expr &y) {
  return Expr::apply<arith::MulIOp, arith::MulIOp, arith::MulFOp>(
      x, y, std::multiplies<>());
}

Expr operator/(const Expr &x, const Expr &y) {
  return Expr::apply<arith::DivUIOp, arith::DivSIOp, arith::DivFOp>(
      x, y, std::divides<>());
}

Expr operator%(const Expr &x, const Expr &y) {
  return Expr::apply<arith::RemUIOp, arith::RemSIOp, arith::RemFOp>(
      x, y, std::modulus<>());
}

Expr operator-(const Expr &x) {
  return compute<arith::NegFOp>(x.getBuilder(), x);
}

Expr Expr::compare(const Expr &x, const Expr &y, arith::CmpIPredicate index,
                   arith::CmpIPredicate integer, arith::CmpFPredicate floats) {
  auto [a, b] = match(x, y);
  return isOfFloats(a)
             ? compute<arith::CmpFOp>(*a.builder, floats, a, b)
             : compute<arith::CmpIOp>(*a.builder,
                                      isOfIndices(a) ? index : integer, a, b);
}

Expr operator==(const Expr &x, const Expr &y) {
  constexpr auto equal = arith::CmpIPredicate::eq;
  return Expr::compare(x, y, equal, equal, arith::CmpFPredicate::OEQ);
}

Expr operator!=(const Expr &x, const Expr &y) {
  constexpr auto differ = arith::CmpIPredicate::ne;
  return Expr::compare(x, y, differ, differ, arith::CmpFPredicate::UNE);
}

Expr operator<(const Expr &x, const Expr &y) {
  return Expr::compare(x, y, arith::CmpIPredicate::ult,
                       arith::CmpIPredicate::slt, arith::CmpFPredicate::OLT);
}

Expr operator<=(const Expr &x, const Expr &y) {
  return Expr::compare(x, y, arith::CmpIPredicate::ule,
                       arith::CmpIPredicate::sle, arith::CmpFPredicate::OLE);
}

Expr operator>(const Expr &x, const Expr &y) {
  return Expr::compare(x, y, arith::CmpIPredicate::ugt,
                       arith::CmpIPredicate::sgt, arith::CmpFPredicate::OGT);
}

Expr operator>=(const Expr &x, const Expr &y) {
  return Expr::compare(x, y, arith::CmpIPredicate::uge,
                       arith::CmpIPredicate::sge, arith::CmpFPredicate::OGE);
}

Expr operator&(const Expr &x, const Expr &y) {
  return x && y ? Expr::apply<arith::AndIOp, arith::AndIOp, arith::AndIOp>(
                      x, y, std::bit_and<>())
         : x    ? x
                : y;
}

Expr operator|(const Expr &x, const Expr &y) {
  return x && y ? Expr::apply<arith::OrIOp, arith::OrIOp, arith::OrIOp>(
                      x, y, std::bit_or<>())
                : Expr();
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

Expr min(const Expr &x, const Expr &y) {
  return Expr::apply<arith::MinUIOp, arith::MinSIOp, arith::MinNumFOp>(
      x, y, [](int64_t a, int64_t b) { return std::min(a, b); });
}

Expr max(const Expr &x, const Expr &y) {
  return Expr::apply<arith::MaxUIOp, arith::MaxSIOp, arith::MaxNumFOp>(
      x, y, [](int64_t a, int64_t b) { return std::max(a, b); });
}

Expr select(const Expr &condition, const Expr &x, const Expr &y) {
  if (!condition) {
    return x;
  }
  auto [a, b] = Expr::match(x, y, condition.builder);
  Expr chosen = condition.in(*a.builder);
  if (isa<VectorType>(chosen.getType())) {
    if (extentOf(chosen) < extentOf(a)) {
      chosen = chosen.broadcast(a.getType());
    }
    a = a.broadcast(chosen.getType());
    b = b.broadcast(chosen.getType());
  }
  return compute<arith::SelectOp>(*a.builder, chosen, a, b);
}

Expr fma(const Expr &x, const Expr &y, const Expr &z) {
  auto [a, b] = Expr::match(x, y, z.builder);
  auto [c, d] = Expr::match(a, z);
  return compute<math::FmaOp>(*c.builder, c, b.broadcast(c.getType()), d);
}

Expr abs(const Expr &x) { return compute<math::AbsFOp>(x.getBuilder(), x); }

Expr sqrt(const Expr &x) { return compute<math::SqrtOp>(x.getBuilder(), x); }

Expr exp2(const Expr &x, int64_t offset, Accuracy accuracy) {
  Expr::Builder &b = x.getBuilder();
  if (!isa<VectorType>(x.getType())) {
    auto vector = VectorType::get({16}, x.getType());
    return exp2(x.broadcast(vector), offset, accuracy)[0];
  }
  return compute<Exp2Op>(b, x, offset, accuracy);
}

Expr toInteger(const Expr &x, Type element) {
  if (x.isConstant()) {
    return x;
  }
  Expr::Builder &b = x.getBuilder();
  Type from = getElementTypeOrSelf(x.getType());
  auto vector = dyn_cast<VectorType>(x.getType());
  Type type = vector ? Type(vector.clone(element)) : element;
  if (from == element) {
    return x;
  }
  if (from.isIndex() || element.isIndex()) {
    return compute<arith::IndexCastOp>(b, type, x);
  }
  return from.getIntOrFloatBitWidth() < element.getIntOrFloatBitWidth()
             ? compute<arith::ExtSIOp>(b, type, x)
             : compute<arith::TruncIOp>(b, type, x);
}

Expr toIndex(const Expr &x) {
  return toInteger(x, x.getBuilder().getIndexType());
}

Expr Expr::operator[](int64_t i) const {
  return compute<vector::ExtractOp>(getBuilder(), *this, i);
}

static arith::FastMathFlags flagsOf(vector::CombiningKind kind) {
  using arith::FastMathFlags;
  return kind == vector::CombiningKind::ADD
             ? FastMathFlags::reassoc
             : FastMathFlags::nnan | FastMathFlags::nsz;
}

Expr combine(vector::CombiningKind kind, const Expr &x, const Expr &y) {
  if (!x || !y) {
    return x ? x : y;
  }
  Expr::Builder &b = (x.builder ? x : y).getBuilder();
  auto flags = arith::FastMathFlagsAttr::get(b.getContext(), flagsOf(kind));
  return {vector::makeArithReduction(b, b.getLoc(), kind, x, y, flags), &b};
}

Expr reduceVector(vector::CombiningKind kind, const Expr &x) {
  return compute<vector::ReductionOp>(x.getBuilder(), kind, x, flagsOf(kind));
}

} // namespace hova
