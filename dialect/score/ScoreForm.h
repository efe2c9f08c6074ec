//===- ScoreForm.h - What passes and recipes ask of a score region --------===//
// SPDX-License-Identifier: Apache-2.0
//
// A recipe wants to know of a region what it would otherwise have to find by
// looking for a causal mask, a padding or a scale:
//
// - `score = factor * early`: a factor that is a positive constant joins the
//   change of base in front of the exponential and costs nothing;
// - `x / 7` is a product, constant factors are one, and a sum with a product is
//   one instruction, but where a jump is computed from it (`floor`, `ceil`, a
//   comparison of numbers): there one unit in the last place decides, and
//   numbers are those of f32, operation by operation;
// - `kept = c1 and c2 and ..`: a condition that asks neither query nor raw
// score
//   is a row of the keys, made once per head;
// - for ranges of batch entries, heads, queries and keys, whether all of the
// keys
//   are kept, none, or some. That is interval analysis of the region, and a
//   causal mask, a window or a prefix is nothing that it knows of.
//
// The evaluator does not use this.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_DIALECT_SCORE_SCOREFORM_H
#define HOVA_DIALECT_SCORE_SCOREFORM_H

#include "dialect/score/ScoreRegion.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace hova {

/// The integers from `first` to `last`.
struct ScoreSpan {
  int64_t first, last;
};

/// Ranges of the four indices of a region.
struct ScoreBox {
  ScoreSpan batch, head, query, key;
};

/// How many keys of a box are kept for its queries.
enum class KeptKeys { none, some, all };

/// `a * b + c`, or `c - a * b`.
struct MultiplyAdd {
  mlir::Value a, b, c;
  bool isDifference;
};

class ScoreForm {
public:
  /// What a value is computed from, as bits.
  enum Source : unsigned {
    raw = 1,
    batch = 2,
    head = 4,
    query = 8,
    key = 16,
    data = 32 ///< elements of captured tensors
  };

  explicit ScoreForm(ScoreRegion region);

  ScoreRegion region;
  /// The score is `factor * early`; the factor is finite and not zero.
  mlir::Value early;
  double factor = 1;
  /// Kept is where all of these hold; without any, everywhere.
  llvm::SmallVector<mlir::Value> conditions;

  bool isRaw() const { return early == region.getRaw(); }
  /// The greatest factor that an exponential takes on: it is to the base of
  /// two, and f32 holds the factor of that too.
  static constexpr double kMostFactor = 0x1p127;
  bool leavesFactor() const { return factor > 0 && factor <= kMostFactor; }
  unsigned sourcesOf(mlir::Value value) const { return sources.lookup(value); }
  /// A condition on keys alone, the same for all queries.
  bool isAboutKeys(mlir::Value condition) const {
    return !(sourcesOf(condition) & (raw | query));
  }
  /// A condition that indices alone decide: it is known while compiling.
  bool isOfIndices(mlir::Value condition) const {
    return !(sourcesOf(condition) & (raw | data));
  }
  /// Elements of a captured tensor are read that differ by query and key.
  bool readsPairs() const;

  /// A jump is computed from this number, so that each operation behind it is
  /// rounded to f32 as it stands.
  bool isExact(mlir::Value value) const { return exact.contains(value); }
  /// `value = factor * rest`, where all constants that the value is multiplied
  /// with and divided by are the factor, as far as f32 holds it. Of an exact
  /// value, a power of two that it is divided by.
  std::pair<mlir::Value, double> splitFactors(mlir::Value value) const;
  /// The sum of the region that has a product of its own as an operand, which
  /// machines compute in one instruction and without rounding the product;
  /// nothing where the sum is exact.
  std::optional<MultiplyAdd> multiplyAddOf(mlir::Operation *op) const;

  /// What is known of all integers and booleans of the region, in a box.
  using Ranges = llvm::DenseMap<mlir::Value, mlir::ConstantIntRanges>;
  Ranges findRanges(const ScoreBox &box) const;

  /// As far as indices decide it; `some` where anything else does. Where the
  /// conditions on keys alone are seen to elsewhere, they may count as holding.
  KeptKeys classify(const ScoreBox &box, bool keysAreValid = false) const;

private:
  void findExact();

  llvm::DenseMap<mlir::Value, unsigned> sources;
  llvm::DenseSet<mlir::Value> exact;
};

/// The number that a value of a region is, if it is a constant.
std::optional<double> constantOf(mlir::Value value);

/// `floor(a / divisor)` of what may be negative, where the divisor is positive:
/// scalars or vectors of integers.
mlir::Value divideDown(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value a, mlir::Value divisor);

} // namespace hova

#endif // HOVA_DIALECT_SCORE_SCOREFORM_H
