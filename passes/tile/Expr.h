//===- Expr.h - Arithmetic of a kernel as C++ expressions -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Recipes compute with values of the program that they write. Operators on them
// write operations where the recipe stands, and choose these by the type:
//
//   Expr column = block * width + 1;                  index
//   Expr centred = chunk - mean;                      vector of f32 and f32
//   Expr own = select(token < count, score, 0);       masked elements
//
// - A constant takes the type of what it meets. Two constants meet in C++.
// - What is smaller is broadcast: a scalar to all elements of a vector, a row
// or
//   a column of a tile to the tile.
// - Indices have no sign: what would be below 0 is large. Other integers have.
// - A comparison of floats with a NaN is false, but for `!=`.
// - A condition that is null always holds.
//
// As a bool, an expression says whether it is null, not what it is. One that is
// made of a value alone has no builder: something it meets has to have one.

#ifndef HOVA_PASSES_TILE_EXPR_H
#define HOVA_PASSES_TILE_EXPR_H

#include "dialect/dense/DenseOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <variant>

namespace hova {

/// A value, a constant that has no type yet, or null.
class Expr {
public:
  using Builder = mlir::ImplicitLocOpBuilder;
  template <typename T>
  using IfInteger =
      std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, int>;

  Expr() = default;
  template <typename T, IfInteger<T> = 0>
  Expr(T number) : content(static_cast<int64_t>(number)) {}
  Expr(double number) : content(number) {}
  Expr(bool) = delete;
  /// Operations on it are written by `builder`, or else by that of the operand
  /// that they have besides.
  Expr(mlir::Value value, Builder *builder = nullptr) : builder(builder) {
    if (value) {
      content = value;
    }
  }

  /// Whether both are the same value or constant.
  bool isSame(const Expr &other) const { return content == other.content; }
  explicit operator bool() const { return content.index() != 0; }
  /// Not of a constant, for which `in` says the type.
  operator mlir::Value() const;
  mlir::Type getType() const { return mlir::Value(*this).getType(); }
  /// Whether it has no type yet.
  bool isConstant() const {
    return *this && !std::holds_alternative<mlir::Value>(content);
  }
  bool isFraction() const { return std::holds_alternative<double>(content); }
  /// The value; a constant becomes one of `type`, where that is null an index
  /// or f32.
  Expr in(Builder &builder, mlir::Type type = {}) const;
  /// The same in the shape of `type`, if that is a vector.
  Expr broadcast(mlir::Type type) const;
  /// An element of a vector, or a row of a tile.
  Expr operator[](int64_t i) const;

  friend Expr operator+(const Expr &x, const Expr &y);
  friend Expr operator-(const Expr &x, const Expr &y);
  friend Expr operator*(const Expr &x, const Expr &y);
  friend Expr operator/(const Expr &x, const Expr &y); ///< indices round down
  friend Expr operator%(const Expr &x, const Expr &y); ///< of indices
  friend Expr operator-(const Expr &x);                ///< of floats
  friend Expr operator==(const Expr &x, const Expr &y);
  friend Expr operator!=(const Expr &x, const Expr &y);
  friend Expr operator<(const Expr &x, const Expr &y);
  friend Expr operator<=(const Expr &x, const Expr &y);
  friend Expr operator>(const Expr &x, const Expr &y);
  friend Expr operator>=(const Expr &x, const Expr &y);
  friend Expr operator&(const Expr &x, const Expr &y); ///< of conditions
  friend Expr operator|(const Expr &x, const Expr &y);

  /// The lesser; of floats the number where one is NaN.
  friend Expr min(const Expr &x, const Expr &y);
  friend Expr max(const Expr &x, const Expr &y);
  /// x where the condition holds, else y; x where the condition is null.
  friend Expr select(const Expr &condition, const Expr &x, const Expr &y);
  /// x y + z, rounded once; of floats, as the next two.
  friend Expr fma(const Expr &x, const Expr &y, const Expr &z);
  friend Expr abs(const Expr &x);
  friend Expr sqrt(const Expr &x);
  /// `hova.exp2` of a vector or tile, 2^(x + offset), or of a scalar in all
  /// elements of a vector.
  friend Expr exp2(const Expr &x, int64_t offset, Accuracy accuracy);
  /// Integers as another type of them; a constant stays one.
  friend Expr toInteger(const Expr &x, mlir::Type element);
  friend Expr toIndex(const Expr &x);
  /// Element by element; null is neutral.
  friend Expr combine(mlir::vector::CombiningKind kind, const Expr &x,
                      const Expr &y);
  /// All elements of a vector, in any order.
  friend Expr reduceVector(mlir::vector::CombiningKind kind, const Expr &x);

private:
  template <typename Index, typename Signed, typename Float, typename Fold>
  static Expr apply(const Expr &x, const Expr &y, Fold fold);
  static Expr compare(const Expr &x, const Expr &y,
                      mlir::arith::CmpIPredicate index,
                      mlir::arith::CmpIPredicate integer,
                      mlir::arith::CmpFPredicate floats);
  static std::pair<Expr, Expr> match(const Expr &x, const Expr &y,
                                     Builder *other = nullptr);
  Builder &getBuilder() const;

  std::variant<std::monostate, int64_t, double, mlir::Value> content;
  Builder *builder = nullptr;
};

/// An operation. Constants among its arguments are indices, or f32.
template <typename OpT, typename... Args>
OpT write(Expr::Builder &b, Args &&...args) {
  auto typed = [&b](auto &&x) -> decltype(auto) {
    if constexpr (std::is_same_v<std::decay_t<decltype(x)>, Expr>) {
      return mlir::Value(x.in(b));
    } else {
      return std::forward<decltype(x)>(x);
    }
  };
  return OpT::create(b, typed(std::forward<Args>(args))...);
}
/// The one result of such an operation.
template <typename OpT, typename... Args>
Expr compute(Expr::Builder &b, Args &&...args) {
  return {write<OpT>(b, std::forward<Args>(args)...)->getResult(0), &b};
}

Expr min(const Expr &x, const Expr &y);
Expr max(const Expr &x, const Expr &y);
Expr select(const Expr &condition, const Expr &x, const Expr &y);
Expr toInteger(const Expr &x, mlir::Type element);
Expr exp2(const Expr &x, int64_t offset = 0, Accuracy accuracy = Accuracy::f32);

} // namespace hova

#endif // HOVA_PASSES_TILE_EXPR_H
