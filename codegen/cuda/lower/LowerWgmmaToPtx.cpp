//===- LowerWgmmaToPtx.cpp - Products of warp groups as pieces of PTX -----===//
// SPDX-License-Identifier: Apache-2.0
//
// Upstream has an operation for each instruction, between which sums are values
// of their own: ptxas then finds registers that are touched while products add
// to them, and waits. Here a turn is one piece of text whose sums are tied, in
// and out, to the same registers.

#include "codegen/cuda/Passes.h"
#include "codegen/cuda/WgmmaFacts.h"
#include "codegen/cuda/WgmmaOps.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_LOWERWGMMATOPTXPASS
#include "codegen/cuda/Passes.h.inc"

namespace {
/// One piece of text, whose first outputs and last inputs are sums.
class Piece {
public:
  Piece(Operation *op, ValueRange sums) : b(op->getLoc(), op), sums(sums) {}

  /// Adds an operand, which the text calls by the name returned.
  std::string input(Value value) {
    if (isa<LLVM::LLVMPointerType>(value.getType())) {
      value = LLVM::PtrToIntOp::create(b, b.getI32Type(), value);
    }
    inputs.push_back(value);
    return "$" + std::to_string(sums.size() + inputs.size() - 1);
  }
  /// The sums, as an instruction takes them.
  std::string sumNames() const {
    std::string names;
    for (size_t i = 0; i < sums.size(); ++i) {
      names += (i ? ", $" : "{$") + std::to_string(i);
    }
    return names + "}";
  }
  /// What becomes of the sums.
  SmallVector<Value> make(StringRef text) {
    SmallVector<std::string> constraints(sums.size(), "=f");
    constraints.append(inputs.size(), "r");
    for (size_t i = 0; i < sums.size(); ++i) {
      constraints.push_back(std::to_string(i));
    }
    SmallVector<Value> operands(inputs);
    llvm::append_range(operands, sums);
    bool isOne = sums.size() == 1;
    Type made = isOne ? sums.front().getType()
                      : LLVM::LLVMStructType::getLiteral(
                            b.getContext(), llvm::to_vector(sums.getTypes()));
    auto piece = LLVM::InlineAsmOp::create(
        b, made, operands, text, llvm::join(constraints, ","),
        /*has_side_effects=*/true, /*is_align_stack=*/false,
        LLVM::TailCallKind::None,
        LLVM::AsmDialectAttr::get(b.getContext(), LLVM::AsmDialect::AD_ATT),
        ArrayAttr());
    if (isOne) {
      return {piece.getRes()};
    }
    SmallVector<Value> results;
    for (size_t i = 0; i < sums.size(); ++i) {
      results.push_back(LLVM::ExtractValueOp::create(b, piece.getRes(), i));
    }
    return results;
  }

private:
  ImplicitLocOpBuilder b;
  ValueRange sums;
  SmallVector<Value> inputs;
};
} // namespace

/// The upper half of a matrix descriptor (PTX ISA, "Matrix Descriptor"): from
/// bit 32 the distance of groups of eight rows in units of 16 bytes, from bit
/// 62 the way in which chunks are exchanged, 1 for rows of 128 and 2 for rows
/// of 64 bytes.
static int64_t upperHalf(int64_t rowBytes) {
  int64_t exchange = rowBytes == 128 ? 1 : 2;
  return kWgmmaPatternRows * rowBytes / 16 | exchange << 30;
}

static void lowerProduct(WgmmaOp op) {
  Piece piece(op, op.getSums());
  std::string text = "{ .reg .b32 %wa, %wb; .reg .b64 %wx, %wy; "
                     "wgmma.fence.sync.aligned; ";
  // The lower half: the address in units of 16 bytes, and from bit 16 a
  // distance that no exchanged row has.
  auto begin = [&](StringRef name, Value pointer) {
    std::string address = piece.input(pointer);
    text += llvm::formatv("shr.u32 {0}, {1}, 4; or.b32 {0}, {0}, 65536; ", name,
                          address);
  };
  auto describe = [&](StringRef name, StringRef lower) {
    text += llvm::formatv("mov.b64 {0}, {{{1}, {2}}; ", name, lower,
                          upperHalf(op.getRowBytes()));
  };
  SmallVector<std::string> words;
  if (op.takesWords()) {
    for (Value word : op.getLhs()) {
      words.push_back(piece.input(word));
    }
  } else {
    begin("%wa", op.getLhs().front());
  }
  begin("%wb", op.getRhs());
  StringRef type = op.getElement().isF16() ? "f16" : "bf16";
  for (int64_t step = 0; step < op.getSteps(); ++step) {
    // Both are K-major: a step is 16 elements of each row further.
    std::string left = "%wx";
    if (op.takesWords()) {
      left = "{" +
             llvm::join(
                 ArrayRef(words).slice(kWgmmaLeftWords * step, kWgmmaLeftWords),
                 ", ") +
             "}";
    } else {
      text += step ? "add.u32 %wa, %wa, 2; " : "";
      describe("%wx", "%wa");
    }
    text += step ? "add.u32 %wb, %wb, 2; " : "";
    describe("%wy", "%wb");
    text += llvm::formatv(
        "wgmma.mma_async.sync.aligned.m64n{0}k16.f32.{1}.{1} {2}, {3}, %wy, 1, "
        "1, 1, {4}; ",
        op.getColumns(), type, piece.sumNames(), left,
        op.takesWords() ? "0" : "0, 0");
  }
  text += "wgmma.commit_group.sync.aligned; }";
  op.replaceAllUsesWith(piece.make(text));
  op.erase();
}

static void lowerWait(WgmmaWaitOp op) {
  Piece piece(op, op.getSums());
  std::string text =
      "wgmma.wait_group.sync.aligned " + std::to_string(op.getUnderWay()) + ";";
  op.replaceAllUsesWith(piece.make(text));
  op.erase();
}

namespace {
struct LowerWgmmaToPtxPass final
    : impl::LowerWgmmaToPtxPassBase<LowerWgmmaToPtxPass> {
  using Base::Base;
  void runOnOperation() override {
    SmallVector<Operation *> products;
    getOperation().walk([&](Operation *op) {
      if (isa<WgmmaOp, WgmmaWaitOp>(op)) {
        products.push_back(op);
      }
    });
    for (Operation *op : products) {
      if (auto product = dyn_cast<WgmmaOp>(op)) {
        lowerProduct(product);
      } else {
        lowerWait(cast<WgmmaWaitOp>(op));
      }
    }
  }
};
} // namespace
} // namespace hova
