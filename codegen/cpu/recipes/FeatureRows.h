//===- FeatureRows.h - Features of tokens in scratch ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Linear attention computes with the features of a block of queries or keys: a
// matrix in scratch, one row per token. Products with the weight of the
// features are tiles; maxima, exponentials and sums then work row by row.
// Exponents are of base two, change of base and scale being one factor of the
// products.
//
// By a matrix unit for bf16, tokens are factors as they are. The weight, and
// features where they are factors, are f32 and stay so: they are three factors
// each (SplitFactor).

#ifndef HOVA_CODEGEN_CPU_RECIPES_FEATUREROWS_H
#define HOVA_CODEGEN_CPU_RECIPES_FEATUREROWS_H

#include "codegen/cpu/Recipe.h"
#include "codegen/cpu/recipes/BlockProducts.h"
#include "codegen/cpu/recipes/KernelEmitter.h"
#include "dialect/Shapes.h"
#include "dialect/linear_attention/LinearAttentionOps.h"
#include "llvm/Support/MathExtras.h"

namespace hova {

/// What an operation on features is asked to compute.
struct FeatureSizes {
  template <typename OpT>
  FeatureSizes(OpT op, mlir::Value tokens, mlir::Value summary,
               const CpuSchedule &schedule)
      : ofTokens(tokens), map(op.getMap()), heads(op.getHeads()),
        tokens(shapeOf(tokens)[1]), keyWidth(shapeOf(tokens)[2] / heads),
        valueWidth(shapeOf(summary)[4] - 1),
        count(op.getFeatures() ? shapeOf(op.getFeatures())[1] : keyWidth),
        scale(op.getScale().convertToDouble()),
        eps(op.getEps().convertToDouble()),
        block(std::min<int64_t>(op.getBlock(), this->tokens)),
        blocks(llvm::divideCeil(this->tokens, block)),
        last(this->tokens - (blocks - 1) * block),
        usesUnit(schedule.matrixUnit && isFired(judgeUnit(op))),
        // A column more: what the sum of the plain values is multiplied with.
        stride(paddedStride(
            std::max(count + 1, usesUnit ? wholeSteps(count) : 0), 4)) {}

  mlir::Value ofTokens; ///< queries or keys
  FeatureMap map;
  int64_t heads, tokens, keyWidth, valueWidth;
  int64_t count; ///< features
  double scale, eps;
  int64_t block, blocks, last; ///< tokens of a block and of the last
  bool usesUnit;               ///< whether products are those of a matrix unit
  int64_t stride;              ///< of rows in scratch

  /// Whether the products pay on the matrix unit; nothing where what they
  /// multiply with f32 is not of bf16.
  template <typename OpT> std::optional<Verdict> judgeUnit(OpT op) const {
    for (mlir::Value operand : op->getOperands()) {
      // Beside tokens there are masks, sums and the weight.
      bool isOther =
          operand == op.getFeatures() || shapeOf(operand).size() != 3;
      if (!isOther && !mlir::getElementTypeOrSelf(operand).isBF16()) {
        return std::nullopt;
      }
    }
    Verdict products = judgeUnitProduct(count, valueWidth, "features");
    return op.getFeatures() && products.fired
               ? judgeUnitProduct(keyWidth, count)
               : products;
  }

  bool hasMaximum() const { return map == FeatureMap::softmax; }
  bool hasExponentials() const { return map != FeatureMap::relu; }
  /// What a product of two features counts.
  double productWeight() const {
    return 1.0 / static_cast<double>(featureNormalizer(map, count));
  }
  /// What is added to exponents, of base two, that are relative to no maximum.
  double shift() const {
    return -llvm::numbers::log2e * featureExponentShift(map, count);
  }

private:
  static bool isFired(const std::optional<Verdict> &verdict) {
    return verdict && verdict->fired;
  }
};

/// The unit of a kernel: a block of the tokens of one head.
struct TokenBlock {
  Expr number, batch, head;
  Expr token;  ///< the first, in its batch entry
  Expr row;    ///< the same in the matrix of all tokens
  Expr length; ///< tokens that it has; null where sizes say it
};

TokenBlock tokenBlockOf(KernelEmitter &e, Expr unit, const FeatureSizes &sizes);

/// Blocks of keys that its item has sums over, which may be of another
/// sequence.
Expr countBlocks(KernelEmitter &e, const TokenBlock &block, mlir::Value sums,
                 const FeatureSizes &sizes);

/// How many tokens of a block some code is for.
struct BlockLength {
  BlockLength(int64_t known) : count(known), known(known) {}
  explicit BlockLength(Expr count) : count(count) {}

  Expr count;
  std::optional<int64_t> known; ///< nothing where a run says it
};

/// A body for each length of a block, whose loops have constant bounds. With a
/// range of tokens, one for whole blocks and one for any number of tokens; none
/// runs for a block behind the end of its item.
void forEachLength(KernelEmitter &e, const TokenBlock &block,
                   const FeatureSizes &sizes,
                   llvm::function_ref<void(const BlockLength &)> body);
/// Every token of a block once, some at a time: even blocks of rows where its
/// length is known, else as many of a tile's height as there are, and rows of
/// which the last heights have half as many each time.
void forEachTokenRows(KernelEmitter &e, llvm::StringRef name,
                      const BlockLength &length,
                      llvm::function_ref<void(Expr row, int64_t height)> body);

/// Which keys of a block count, in a row of ones and zeros: [1][tokens].
class KeyMask {
public:
  /// `keyValid [batch, tokens]` is null where all keys count.
  KeyMask(KernelEmitter &e, mlir::Value ones, mlir::Value keyValid)
      : e(e), ones(ones), bytes(keyValid ? e.buffer(keyValid) : keyValid) {}

  explicit operator bool() const { return bool(bytes); }
  void write(const TokenBlock &block, const BlockLength &length);
  /// Whether a key counts, or those of a chunk; null where all do.
  template <typename Place> Expr counts(const Place &keys) {
    return bytes ? e.load(ones, 0, keys) != 0 : Expr();
  }

private:
  KernelEmitter &e;
  mlir::Value ones, bytes;
};

/// What the products of features by the matrix unit read, in scratch; null
/// without it.
struct UnitFeatures {
  /// `rows` is the most that a left operand of the kernel has, of which a
  /// block of tokens is one.
  UnitFeatures(const FeatureSizes &sizes, ScratchLayout &layout, int64_t rows,
               mlir::Operation *op);

  int64_t height = 0; ///< rows of a tile
  int64_t mostRows;   ///< of a block of tokens and the tiles that compute it
  int64_t depth;      ///< channels of a head, as far as they are whole steps
  SplitFactor weight; ///< times the factor of products, as pairs
  /// Tokens that are fewer than a tile has rows, or any number.
  mlir::Value copied;
};

class FeatureRows {
public:
  struct Scratch {
    Scratch() = default;
    /// Of a block; `moreRows` behind it hold whatever was there.
    Scratch(const FeatureSizes &sizes, ScratchLayout &layout,
            int64_t moreRows = 0)
        : rows(layout.take({sizes.block + moreRows, sizes.stride})),
          halfNorms(layout.take({sizes.block, 1})) {}

    mlir::Value rows;
    mlir::Value halfNorms; ///< log2(e) |scale x|^2 / 2
  };

  /// `tokens` is the operand that has heads, null if there are no rows;
  /// `weight` null or that of the features.
  FeatureRows(KernelEmitter &e, const FeatureSizes &sizes,
              const Scratch &scratch, mlir::Value tokens, mlir::Value weight,
              const UnitFeatures &unit)
      : rows(scratch.rows), e(e), sizes(sizes), halfNorms(scratch.halfNorms),
        source(tokens ? e.buffer(tokens) : tokens), weight(weight), unit(unit) {
  }

  /// The features [block][stride].
  const mlir::Value rows;

  /// Makes the weight factors of the matrix unit, once for all blocks.
  void splitWeight();

  /// Rows 0 to `length` from row `first` of the operand: what exponents are
  /// made of, or rectified features, which are final.
  void emitProducts(Expr first, Expr head, const BlockLength &length);
  /// The largest product of row `i`.
  Expr maximum(Expr i) { return reduce(Kind::MAXNUMF, i, sizes.count); }
  Expr sum(Expr i) { return reduce(Kind::ADD, i, sizes.count); }
  /// The sum over the first `count` elements of row `i` times those of `other`,
  /// a matrix of one row.
  Expr dot(Expr i, mlir::Value other, int64_t count) {
    return reduce(Kind::ADD, i, count, other);
  }
  /// The features of row `i` become what `body` makes of them, in pieces.
  void rewrite(Expr i, llvm::function_ref<Expr(Expr)> body) {
    rewrite(i, sizes.count, rows, i, body);
  }
  /// Products of row `i` become 2^(product + shift - half norm) + eps, if they
  /// are exponents.
  void exponentiate(Expr i, Expr shift, double eps = 0);
  /// The same for a key, whose features are 0 unless it `counts`.
  void finishKey(Expr i, Expr shift, Expr counts);
  /// Row `i`, with the column after the features, becomes row `j` of `from`
  /// times `factor`; what is finite stays so.
  void enlarge(Expr i, Expr factor, mlir::Value from, Expr j);

private:
  using Kind = mlir::vector::CombiningKind;
  Expr computeHalfNorms(Expr row, Expr left, int64_t height);
  Expr computeTile(Expr row, Expr left, int64_t height, const Chunk &at);
  double productFactor() const {
    return sizes.scale * (sizes.hasExponentials() ? llvm::numbers::log2e : 1);
  }
  Expr rectified(Expr tile);
  MatrixPlace unitTokens(Expr row, Expr left, const BlockLength &length);
  void emitUnitProducts(Expr first, Expr left, const BlockLength &length);
  Expr reduce(Kind kind, Expr i, int64_t width, mlir::Value factors = {});
  void rewrite(Expr i, int64_t width, mlir::Value from, Expr j,
               llvm::function_ref<Expr(Expr)> body);

  KernelEmitter &e;
  const FeatureSizes &sizes;
  const mlir::Value halfNorms, source, weight;
  const UnitFeatures &unit;
};

/// Of an operation that multiplies tokens with a table, `getFeatures`. `judge`
/// says whether by the matrix unit.
template <typename OpT, auto emit, auto scratch, auto judge>
struct FeatureRecipe
    : StoringCpuRecipe<FeatureRecipe<OpT, emit, scratch, judge>, OpT, emit,
                       scratch> {
  OperandReads getReads(mlir::Operation *op, unsigned index) const {
    bool isTable = op->getOperand(index) == llvm::cast<OpT>(op).getFeatures();
    return isTable ? OperandReads::packed : OperandReads::rows;
  }
  std::optional<Verdict> judgeUnit(mlir::Operation *op) const {
    return judge(llvm::cast<OpT>(op));
  }
};

} // namespace hova

#endif // HOVA_CODEGEN_CPU_RECIPES_FEATUREROWS_H
