//===- LowerStorage.cpp - Choose instructions for numbers of bf16 ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// bf16 is the upper half of f32, so that without instructions of its own a
// shift or a mask widens it, and integer arithmetic rounds to it; LLVM would
// call a function for every rounding. Does nothing to kernels of f32.

#include "codegen/cpu/Passes.h"
#include "codegen/cpu/TileOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_LOWERSTORAGEPASS
#include "codegen/cpu/Passes.h.inc"

namespace {
/// Builds element-wise integer arithmetic on vectors.
struct Bits {
  OpBuilder &builder;
  Location loc;

  Value constant(Type type, int64_t value) {
    auto element = builder.getIntegerAttr(getElementTypeOrSelf(type), value);
    if (auto vector = dyn_cast<VectorType>(type)) {
      return arith::ConstantOp::create(
          builder, loc, DenseElementsAttr::get(vector, Attribute(element)));
    }
    return arith::ConstantOp::create(builder, loc, element);
  }
  /// The same shape with other elements.
  static Type like(Type type, Type element) {
    auto vector = dyn_cast<VectorType>(type);
    return vector ? Type(vector.clone(element)) : element;
  }
};
} // namespace

/// The first or second elements of pairs as f32.
static Value halfOfPairs(RewriterBase &rewriter, Location loc, Value pairs,
                         bool second) {
  Bits bits{rewriter, loc};
  int64_t count = cast<VectorType>(pairs.getType()).getNumElements() / 2;
  auto words = VectorType::get({count}, rewriter.getI32Type());
  Value word = vector::BitCastOp::create(rewriter, loc, words, pairs);
  Value upper =
      second ? Value(arith::AndIOp::create(
                   rewriter, loc, word,
                   bits.constant(words, static_cast<int32_t>(0xffff0000))))
             : Value(arith::ShLIOp::create(rewriter, loc, word,
                                           bits.constant(words, 16)));
  return arith::BitcastOp::create(rewriter, loc,
                                  words.clone(rewriter.getF32Type()), upper);
}

/// pair_dot -> fma (a << 16), (b << 16) ; fma (a & mask), (b & mask)
static Value dotByHalves(RewriterBase &rewriter, PairDotOp op) {
  Value sum = op.getSum();
  for (bool second : {false, true}) {
    sum = vector::FMAOp::create(
        rewriter, op.getLoc(),
        halfOfPairs(rewriter, op.getLoc(), op.getA(), second),
        halfOfPairs(rewriter, op.getLoc(), op.getB(), second), sum);
  }
  return sum;
}

/// Elements `from .. from + size` of a vector of one dimension.
static Value partOf(RewriterBase &rewriter, Location loc, Value whole,
                    int64_t from, int64_t size) {
  if (cast<VectorType>(whole.getType()).getNumElements() == size) {
    return whole;
  }
  return vector::ExtractStridedSliceOp::create(
      rewriter, loc, whole, ArrayRef<int64_t>{from}, ArrayRef<int64_t>{size},
      ArrayRef<int64_t>{1});
}

/// pair_dot -> vdpbf16ps on each 512 bits, or all of fewer.
static Value dotByInstruction(RewriterBase &rewriter, PairDotOp op) {
  auto type = cast<VectorType>(op.getSum().getType());
  int64_t lanes = std::min<int64_t>(type.getNumElements(), 16);
  std::string name =
      "llvm.x86.avx512bf16.dpbf16ps." + std::to_string(32 * lanes);
  Location loc = op.getLoc();
  auto part = [&](Value whole, int64_t from, int64_t size) {
    return partOf(rewriter, loc, whole, from, size);
  };
  Value result = op.getSum();
  for (int64_t i = 0; i < type.getNumElements(); i += lanes) {
    SmallVector<Value> operands = {part(op.getSum(), i, lanes),
                                   part(op.getA(), 2 * i, 2 * lanes),
                                   part(op.getB(), 2 * i, 2 * lanes)};
    auto call =
        LLVM::CallIntrinsicOp::create(rewriter, loc, operands[0].getType(),
                                      rewriter.getStringAttr(name), operands);
    result = lanes == type.getNumElements()
                 ? call.getResult(0)
                 : Value(vector::InsertStridedSliceOp::create(
                       rewriter, loc, call.getResult(0), result,
                       ArrayRef<int64_t>{i}, ArrayRef<int64_t>{1}));
  }
  return result;
}

namespace {
struct PairDotAsInstructions final : OpRewritePattern<PairDotOp> {
  PairDotAsInstructions(MLIRContext *context, bool bf16)
      : OpRewritePattern(context), bf16(bf16) {}

  LogicalResult matchAndRewrite(PairDotOp op,
                                PatternRewriter &rewriter) const override {
    // The instruction exists for 4, 8 and 16 sums.
    int64_t lanes = cast<VectorType>(op.getSum().getType()).getNumElements();
    bool fits = lanes == 4 || lanes == 8 || lanes % 16 == 0;
    rewriter.replaceOp(op, bf16 && fits ? dotByInstruction(rewriter, op)
                                        : dotByHalves(rewriter, op));
    return success();
  }

  bool bf16;
};

/// truncf %x -> (bits + 0x7fff + bit 16) >> 16, NaN staying one.
struct RoundingAsArithmetic final : OpRewritePattern<arith::TruncFOp> {
  using Base::Base;
  LogicalResult matchAndRewrite(arith::TruncFOp op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getIn().getType();
    if (!getElementTypeOrSelf(type).isF32() ||
        !getElementTypeOrSelf(op.getType()).isBF16()) {
      return rewriter.notifyMatchFailure(op, "does not round f32 to bf16");
    }
    Location loc = op.getLoc();
    Bits bits{rewriter, loc};
    Type words = Bits::like(type, rewriter.getI32Type());
    Value word = arith::BitcastOp::create(rewriter, loc, words, op.getIn());
    Value sixteen = bits.constant(words, 16);
    Value last = arith::AndIOp::create(
        rewriter, loc, arith::ShRUIOp::create(rewriter, loc, word, sixteen),
        bits.constant(words, 1));
    Value rounded = arith::AddIOp::create(
        rewriter, loc, word,
        arith::AddIOp::create(rewriter, loc, last,
                              bits.constant(words, 0x7fff)));
    Value quiet = arith::OrIOp::create(rewriter, loc, word,
                                       bits.constant(words, 0x400000));
    Value isNaN = arith::CmpFOp::create(
        rewriter, loc, arith::CmpFPredicate::UNO, op.getIn(), op.getIn());
    Value chosen =
        arith::SelectOp::create(rewriter, loc, isNaN, quiet, rounded);
    Value upper = arith::TruncIOp::create(
        rewriter, loc, Bits::like(type, rewriter.getI16Type()),
        arith::ShRUIOp::create(rewriter, loc, chosen, sixteen));
    rewriter.replaceOpWithNewOp<arith::BitcastOp>(op, op.getType(), upper);
    return success();
  }
};

/// truncf %x -> vcvtne2ps2bf16 of each two registers, where LLVM rounds one
/// after the other and joins the halves.
struct RoundingOfTwoRegisters final : OpRewritePattern<arith::TruncFOp> {
  using Base::Base;
  LogicalResult matchAndRewrite(arith::TruncFOp op,
                                PatternRewriter &rewriter) const override {
    auto type = dyn_cast<VectorType>(op.getType());
    if (!type || type.getRank() != 1 || !type.getElementType().isBF16() ||
        type.getNumElements() % 32 != 0 ||
        !getElementTypeOrSelf(op.getIn().getType()).isF32()) {
      return rewriter.notifyMatchFailure(
          op, "does not round pairs of registers to bf16");
    }
    Location loc = op.getLoc();
    auto whole = VectorType::get({32}, type.getElementType());
    Value result;
    for (int64_t from = 0; from < type.getNumElements(); from += 32) {
      // The second half comes first.
      Value operands[] = {partOf(rewriter, loc, op.getIn(), from + 16, 16),
                          partOf(rewriter, loc, op.getIn(), from, 16)};
      Value rounded =
          LLVM::CallIntrinsicOp::create(
              rewriter, loc, whole,
              rewriter.getStringAttr("llvm.x86.avx512bf16.cvtne2ps2bf16.512"),
              operands)
              .getResult(0);
      if (type == whole) {
        result = rounded;
        break;
      }
      result = vector::InsertStridedSliceOp::create(
          rewriter, loc, rounded,
          result ? result
                 : arith::ConstantOp::create(rewriter, loc,
                                             rewriter.getZeroAttr(type)),
          ArrayRef<int64_t>{from}, ArrayRef<int64_t>{1});
    }
    rewriter.replaceOp(op, result);
    return success();
  }
};

/// maskedstore of the first lanes -> stores of 32, 16, .., 1 lanes. LLVM makes
/// a scalar store of a mask of one lane, which it then has no instruction for.
struct FirstLanesInParts final : OpRewritePattern<vector::MaskedStoreOp> {
  using Base::Base;
  LogicalResult matchAndRewrite(vector::MaskedStoreOp op,
                                PatternRewriter &rewriter) const override {
    VectorType type = op.getVectorType();
    DenseElementsAttr mask;
    if (type.getElementTypeBitWidth() != 16 ||
        !matchPattern(op.getMask(), m_Constant(&mask))) {
      return rewriter.notifyMatchFailure(op, "stores no 16 bits, or any lanes");
    }
    SmallVector<bool> lanes(mask.getValues<bool>());
    int64_t valid = llvm::find(lanes, false) - lanes.begin();
    if (llvm::is_contained(ArrayRef(lanes).drop_front(valid), true)) {
      return rewriter.notifyMatchFailure(op, "stores other lanes");
    }
    Location loc = op.getLoc();
    SmallVector<Value> indices(op.getIndices());
    Value last = indices.back();
    for (int64_t at = 0; at < valid;) {
      int64_t size = llvm::bit_floor(static_cast<uint64_t>(valid - at));
      Value part = vector::ExtractStridedSliceOp::create(
          rewriter, loc, op.getValueToStore(), ArrayRef<int64_t>{at},
          ArrayRef<int64_t>{size}, ArrayRef<int64_t>{1});
      indices.back() = arith::AddIOp::create(
          rewriter, loc, last,
          arith::ConstantIndexOp::create(rewriter, loc, at));
      vector::StoreOp::create(rewriter, loc, part, op.getBase(), indices);
      at += size;
    }
    rewriter.eraseOp(op);
    return success();
  }
};

struct LowerStoragePass final : impl::LowerStoragePassBase<LowerStoragePass> {
  using Base::Base;
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<PairDotAsInstructions>(&getContext(), bf16 && !slowPairs);
    patterns.add<FirstLanesInParts>(&getContext());
    if (bf16) {
      patterns.add<RoundingOfTwoRegisters>(&getContext());
    } else {
      patterns.add<RoundingAsArithmetic>(&getContext());
    }
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns)))) {
      getOperation().emitError("storage did not lower");
      signalPassFailure();
    }
  }
};
} // namespace
} // namespace hova
