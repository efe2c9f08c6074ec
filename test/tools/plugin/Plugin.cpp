//===- Plugin.cpp - Passes that fail on purpose ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What the tests of plugins, of verification and of crashes load.

#include "codegen/cpu/TileOps.h"
#include "dialect/attention/AttentionOps.h"
#include "dialect/dense/DenseOps.h"
#include "dialect/program/ProgramOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include <csignal>
#include <unistd.h>

using namespace mlir;

namespace {

/// y = linear x  ->  y = 2 * linear x
struct DoubleLinearsPass
    : PassWrapper<DoubleLinearsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(DoubleLinearsPass)
  StringRef getArgument() const final { return "test-double-linears"; }
  StringRef getDescription() const final {
    return "Double what linears compute, which is wrong";
  }
  void runOnOperation() final {
    getOperation().walk([](hova::LinearOp op) {
      OpBuilder builder(op->getContext());
      builder.setInsertionPointAfter(op);
      auto doubled =
          hova::ScaleOp::create(builder, op.getLoc(), op.getType(),
                                op.getResult(), builder.getF64FloatAttr(2));
      op.getResult().replaceAllUsesExcept(doubled, doubled);
    });
  }
};

/// Mistakes as code generation could make them. Before `tile` they are after
/// everything that is evaluated; after it they are in loops over buffers.
struct PlantPass : PassWrapper<PlantPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlantPass)
  PlantPass() = default;
  PlantPass(const PlantPass &other) : PassWrapper(other) {}
  StringRef getArgument() const final { return "test-plant"; }
  StringRef getDescription() const final { return "Make one mistake"; }

  Option<std::string> bug{*this, "bug",
                          llvm::cl::desc("scale, mask, causal or rounding; "
                                         "after tile: depth or row, and after "
                                         "vectorize: fma")};

  void runOnOperation() final {
    getOperation().walk([this](hova::AttentionOp op) { plantInto(op); });
    getOperation().walk([this](hova::StoreWeightOp op) {
      if (bug == "rounding") {
        roundWeight(op);
      }
    });
    getOperation().walk([this](Operation *op) { plantIntoLoops(op); });
  }

  void plantIntoLoops(Operation *op) {
    OpBuilder builder(op);
    auto moved = [&](Value index, int64_t by) -> Value {
      return arith::AddIOp::create(
          builder, op->getLoc(), index,
          arith::ConstantIndexOp::create(builder, op->getLoc(), by));
    };
    auto product = dyn_cast<hova::TileProductOp>(op);
    auto store = dyn_cast<hova::TileStoreOp>(op);
    if (auto fma = dyn_cast<vector::FMAOp>(op); fma && bug == "fma") {
      // What a product has added up so far is added twice.
      fma.getAccMutable().assign(arith::AddFOp::create(
          builder, op->getLoc(), fma.getAcc(), fma.getAcc()));
    } else if (bug == "depth" && product) {
      // The last summand is left out.
      product.getDepthMutable().assign(moved(product.getDepth(), -1));
    } else if (bug == "row" && store) {
      // Every row becomes the next one.
      store.getRowMutable().assign(moved(store.getRow(), 1));
    }
  }

  void plantInto(hova::AttentionOp op) {
    hova::ScoreYieldOp yield = op.scoreRegion().getYield();
    OpBuilder builder(yield);
    if (bug == "scale") {
      // By one part in a thousand.
      Value factor =
          hova::NumberOp::create(builder, op.getLoc(), builder.getF32Type(),
                                 builder.getF64FloatAttr(1.001));
      yield.getScoreMutable().assign(arith::MulFOp::create(
          builder, op.getLoc(), yield.getScore(), factor));
    } else if (bug == "mask") {
      yield.getKeptMutable().assign(arith::ConstantOp::create(
          builder, op.getLoc(), builder.getBoolAttr(true)));
    } else if (bug == "causal") {
      // Every query sees what the next one should.
      Value query = op.scoreRegion().getQuery();
      builder.setInsertionPointToStart(&op.getScoreRegion().front());
      Value next = arith::AddIOp::create(
          builder, op.getLoc(), query,
          arith::ConstantIndexOp::create(builder, op.getLoc(), 1));
      query.replaceAllUsesExcept(next, next.getDefiningOp());
    }
  }

  /// f32 -> bf16 -> f32
  static void roundWeight(hova::StoreWeightOp op) {
    OpBuilder builder(op);
    auto type = cast<RankedTensorType>(op.getValue().getType());
    Value narrow = hova::ConvertOp::create(
        builder, op.getLoc(), type.clone(builder.getBF16Type()), op.getValue());
    op.getValueMutable().assign(
        hova::ConvertOp::create(builder, op.getLoc(), type, narrow));
  }
};

struct CrashPass : PassWrapper<CrashPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CrashPass)
  StringRef getArgument() const final { return "test-crash"; }
  StringRef getDescription() const final { return "Trap"; }
  void runOnOperation() final { __builtin_trap(); }
};

/// What somebody does who does not wait.
struct InterruptPass : PassWrapper<InterruptPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(InterruptPass)
  InterruptPass() = default;
  InterruptPass(const InterruptPass &other) : PassWrapper(other) {}
  StringRef getArgument() const final { return "test-interrupt"; }
  StringRef getDescription() const final { return "Send a signal"; }

  Option<int> number{*this, "signal", llvm::cl::desc("The signal's number")};

  void runOnOperation() final { kill(getpid(), number); }
};

/// A pass on functions, which are rewritten beside each other.
struct CrashFunctionsPass
    : PassWrapper<CrashFunctionsPass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CrashFunctionsPass)
  CrashFunctionsPass() = default;
  CrashFunctionsPass(const CrashFunctionsPass &other) : PassWrapper(other) {}
  StringRef getArgument() const final { return "test-crash-functions"; }
  StringRef getDescription() const final {
    return "Crash in every function at once";
  }

  Option<std::string> how{*this, "how", llvm::cl::init("null"),
                          llvm::cl::desc("null, abort, recurse or heap")};

  void runOnOperation() final {
    if (how == "recurse") {
      recurse();
    }
    if (how == "heap") {
      // The allocator finds it and gives up with its lock held.
      auto *bytes = static_cast<char *>(malloc(40));
      memset(bytes - 8, 0x41, 64);
      free(bytes);
    }
    if (how == "abort") {
      abort();
    }
    volatile int *nothing = nullptr;
    *nothing = 1;
  }

  int recurse() {
    volatile char room[256];
    room[0] = 1;
    return how.empty() ? 0 : recurse() + room[0];
  }
};

struct FailPass : PassWrapper<FailPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FailPass)
  StringRef getArgument() const final { return "test-fail"; }
  StringRef getDescription() const final { return "Report an error"; }
  void runOnOperation() final {
    getOperation().walk([&](hova::LinearOp op) {
      op.emitError("the test wants it so");
      signalPassFailure();
    });
  }
};

/// linear x  ->  linear x {test.mark}. A pass on functions.
struct MarkLinearsPass
    : PassWrapper<MarkLinearsPass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(MarkLinearsPass)
  StringRef getArgument() const final { return "test-mark-linears"; }
  StringRef getDescription() const final { return "Mark linears"; }
  void runOnOperation() final {
    getOperation().walk([](hova::LinearOp op) {
      op->setAttr("test.mark", UnitAttr::get(op->getContext()));
    });
  }
};

/// Removes the functions without a GELU.
struct EraseUnrelatedPass
    : PassWrapper<EraseUnrelatedPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(EraseUnrelatedPass)
  StringRef getArgument() const final { return "test-erase-unrelated"; }
  StringRef getDescription() const final {
    return "Remove functions without a GELU";
  }
  void runOnOperation() final {
    for (auto function :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      auto isGelu = [](hova::ActivationOp op) {
        return op.getKind() == hova::ActivationKind::gelu_erf;
      };
      if (llvm::none_of(function.getOps<hova::ActivationOp>(), isGelu)) {
        function.erase();
      }
    }
  }
};

void registerTestPasses() {
  PassRegistration<DoubleLinearsPass>();
  PassRegistration<PlantPass>();
  PassRegistration<CrashPass>();
  PassRegistration<CrashFunctionsPass>();
  PassRegistration<EraseUnrelatedPass>();
  PassRegistration<InterruptPass>();
  PassRegistration<FailPass>();
  PassRegistration<MarkLinearsPass>();
}

} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "hova-test-plugin", "1", registerTestPasses};
}
