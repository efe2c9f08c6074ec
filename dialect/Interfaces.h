//===- Interfaces.h - What passes may ask of an operation -----------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_DIALECT_INTERFACES_H
#define HOVA_DIALECT_INTERFACES_H

#include "dialect/HostTensor.h"
#include "dialect/IterationSpace.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/PatternMatch.h"

namespace hova {

/// Why an operation stays as it is where a pass asks for a part of it (`why`),
/// and what would change that (`firesIf`), as reports print it.
struct Decline {
  std::string why, firesIf;
};

/// What of an operation can be divided (SplitReductionOpInterface). Its result
/// is put together of terms, in their order, such as the products that a sum
/// adds up.
struct Reduction {
  int64_t terms;
  /// Parts begin at multiples of so many terms; it divides them.
  int64_t unit = 1;
  /// Whether all parts have equally many terms; else the last may have fewer.
  bool isEven = false;
  /// Whether nothing computes the operation whole, so that it is divided in any
  /// case, if only into one part.
  bool isAlwaysSplit = false;
  /// Whether parts are merged by a `hova.sum_parts` of f32, which what reads
  /// the result may have in its own kernel.
  bool isSum = false;
  /// Whether a row of the result is put together of some of the first terms,
  /// and computes again those of the part that it ends in: the work grows with
  /// the length of parts.
  bool isCausal = false;

  /// The longest parts that suit unit and evenness and have at most `most`
  /// terms, one at least; a unit, where there are none.
  int64_t fitLength(int64_t most) const;
};

/// On an operation: of how many even parts its kernel adds the sums.
inline constexpr llvm::StringLiteral kAddedPartsAttr = "hova.added_parts";

/// How the reduction of an operation is divided.
struct ReductionSplit {
  /// Terms of a part; the last may have fewer.
  int64_t length;
  /// Whether an operation of its own merges parts, where those that read them
  /// could, each for itself.
  bool mergesApart = false;
  /// Whether what the parts multiply is rounded to the type of the factors that
  /// are stored, of 16 bits, where it could stay f32.
  bool isNarrow = false;
  /// Whether the operation stays, and its kernel adds the sums of the parts in
  /// their order (kAddedPartsAttr).
  bool isInside = false;

  int64_t countParts(const Reduction &reduction) const {
    return (reduction.terms + length - 1) / length;
  }
};

/// How a result of an operation may be of the program's storage type.
enum class ResultStorage {
  /// It is not: what stores it converts it.
  wide,
  /// It is rounded when it is written: where a conversion to the type is the
  /// only reader, the operation gives what the conversion would.
  rounded,
  /// It has the type of the operands that are of the storage type
  /// (`isStored`): they are, and it is, only where that suits all readers.
  ofOperands,
};

/// What a tile must hold of operand 0 so that an operation computes its own,
/// from the least on. What else it reads has one place for each of its
/// elements.
enum class TileScope {
  element, ///< the element at the same place
  pair,    ///< also its neighbour in the pair of columns 2k and 2k + 1
  head,    ///< the columns of its head, and a tile holds one head
  row,     ///< all of its row
};

/// A clone of the operation that `operand` belongs to, with `rows` in its place
/// and `count` rows of result 0, [batch, rows, width].
mlir::Operation *cloneWithRows(mlir::RewriterBase &rewriter,
                               mlir::OpOperand &operand, mlir::Value rows,
                               int64_t count);

} // namespace hova

#include "dialect/Interfaces.h.inc"

namespace hova {

/// Of an operation that makes its operand anew for every item of a batch. What
/// depends on weights alone is computed once and stored, but a weight of a
/// batch would be stored as often as the batch has items, and would belong to
/// programs of that batch alone: such an operation stays in the program.
template <typename OpT>
class PerItem : public mlir::OpTrait::TraitBase<OpT, PerItem> {};

/// Whether an operation computes its tile of tiles of its operands, none of
/// which holds more than `most` says.
inline bool joinsTiles(mlir::Operation *op, TileScope most = TileScope::pair) {
  auto tile = llvm::dyn_cast_or_null<TileOpInterface>(op);
  return tile && tile.getScope() <= most;
}

/// Whether an element of the result is computed of those at its place alone.
inline bool isElementwise(mlir::Operation *op) {
  return joinsTiles(op, TileScope::element);
}

/// Multiply-accumulates of all kinds; nothing where they are not known.
inline std::optional<int64_t> macsOf(CostOpInterface op) {
  std::optional<int64_t> linear = op.getLinearMacs();
  std::optional<int64_t> attention = op.getAttentionMacs();
  return linear && attention ? std::optional(*linear + *attention)
                             : std::nullopt;
}

} // namespace hova

#endif // HOVA_DIALECT_INTERFACES_H
