//===- VerifyTiled.cpp - The promise of tile ------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/program/ProgramOps.h"
#include "passes/tile/Passes.h"
#include "passes/tile/ProgramAttrs.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_VERIFYTILEDPASS
#include "passes/tile/Passes.h.inc"

/// Bytes from the first to after the last element of a strided matrix.
static int64_t extentOf(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset, last = 0;
  if (failed(type.getStridesAndOffset(strides, offset))) {
    return -1;
  }
  for (auto [size, stride] : llvm::zip(type.getShape(), strides)) {
    int64_t step = 0;
    if (size < 1 || stride < 0 || llvm::MulOverflow(size - 1, stride, step) ||
        llvm::AddOverflow(last, step, last)) {
      return -1;
    }
  }
  int64_t element = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  int64_t bytes = 0;
  bool tooMany = llvm::AddOverflow(last, int64_t(1), last) ||
                 llvm::MulOverflow(last, element, bytes);
  return tooMany ? -1 : bytes;
}

/// Whether the target has made `op` as a buffer of a launch.
static bool isBuffer(Operation *op) {
  return op->getNumOperands() == 0 && op->getNumRegions() == 0 &&
         op->getNumResults() == 1 &&
         isa<MemRefType>(op->getResult(0).getType());
}

namespace {
struct VerifyTiledPass final : impl::VerifyTiledPassBase<VerifyTiledPass> {
  using Base::Base;

  LogicalResult checkPlace(Operation *op, int64_t offset, StringRef limit,
                           func::FuncOp main) {
    auto bytes = main->getAttrOfType<IntegerAttr>(limit);
    auto type = cast<MemRefType>(op->getResult(0).getType());
    int64_t extent = extentOf(type);
    if (!bytes || extent < 0 || extent > bytes.getInt() ||
        offset > bytes.getInt() - extent) {
      return op->emitError("buffer ends after ")
             << limit << " of the program, at "
             << static_cast<uint64_t>(offset) + static_cast<uint64_t>(extent);
    }
    return success();
  }

  LogicalResult checkMain(func::FuncOp main) {
    for (Operation &op : main.getBody().front().without_terminator()) {
      LogicalResult result = success();
      if (auto arena = dyn_cast<ArenaBufferOp>(op)) {
        result = checkPlace(&op, arena.getOffset(), kArenaBytesAttr, main);
      } else if (auto image = dyn_cast<ImageBufferOp>(op)) {
        result = checkPlace(&op, image.getOffset(), kImageBytesAttr, main);
      } else if (auto table = dyn_cast<TableBufferOp>(op)) {
        result = checkPlace(&op, table.getOffset(), kTableBytesAttr, main);
      } else if (!isa<LaunchOp>(op) && !isBuffer(&op)) {
        result = op.emitError("tiled program still holds '")
                 << op.getName() << "'";
      }
      if (failed(result)) {
        return failure();
      }
    }
    return success();
  }

  void runOnOperation() override {
    markAllAnalysesPreserved();
    auto main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (main && !main.isExternal() && failed(checkMain(main))) {
      return signalPassFailure();
    }
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.getName() == kFoldingFunction ||
          function.getName() == kTableProgram) {
        continue;
      }
      WalkResult walked = function.walk([](Operation *op) {
        if (llvm::any_of(op->getResultTypes(), llvm::IsaPred<TensorType>)) {
          op->emitError("tiled function still computes a tensor");
          return WalkResult::interrupt();
        }
        return WalkResult::advance();
      });
      if (walked.wasInterrupted()) {
        return signalPassFailure();
      }
    }
  }
};
} // namespace
} // namespace hova
