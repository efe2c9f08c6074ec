//===- Registration.cpp - Dialects, passes and pipelines by name ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/targets/Registration.h"
#include "codegen/Passes.h"
#include "codegen/Pipeline.h"
#include "codegen/targets/Targets.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "passes/OptionalPasses.h"
#include "passes/fuse/Phase.h"
#include "passes/normalize/Phase.h"
#include "passes/tile/Phase.h"

using namespace mlir;

namespace hova {

void registerDialects(DialectRegistry &registry) {
  registry
      .insert<HovaDialect, affine::AffineDialect, arith::ArithDialect,
              cf::ControlFlowDialect, func::FuncDialect, LLVM::LLVMDialect,
              math::MathDialect, memref::MemRefDialect, scf::SCFDialect,
              tensor::TensorDialect, ub::UBDialect, vector::VectorDialect>();
  registerTargets(registry);
}

namespace {

/// The options of a phase in a textual pipeline.
struct PhasePipelineOptions : public PassPipelineOptions<PhasePipelineOptions> {
  Option<std::string> target{*this, "target",
                             llvm::cl::init(TargetChoice().name),
                             llvm::cl::desc("What the program runs on")};
  Option<std::string> march{
      *this, "march", llvm::cl::init("native"),
      llvm::cl::desc("ISA levels of the program, with + between them")};
  Option<bool> strict{
      *this, "strict", llvm::cl::init(false),
      llvm::cl::desc("Leave out the passes that reassociate sums")};
  Option<std::string> without{
      *this, "without",
      llvm::cl::desc("Optional passes to leave out, with + between them")};
};

/// Registers `hova-NAME-phase`.
void registerPhase(const Phase &phase) {
  registerPassPipeline(
      "hova-" + phase.name.str() + "-phase",
      "Afterwards: " + phase.promise.str(),
      [&phase](OpPassManager &manager, StringRef text,
               function_ref<LogicalResult(const Twine &)> error) {
        PhasePipelineOptions parsed;
        if (failed(parsed.parseFromString(text))) {
          return failure();
        }
        // In a pipeline, commas separate passes.
        std::string levels = parsed.march, without = parsed.without;
        llvm::replace(levels, '+', ',');
        llvm::replace(without, '+', ',');
        auto target = makeTarget({parsed.target, levels});
        if (!target) {
          return error(llvm::toString(target.takeError()));
        }
        auto selection = makePassSelection(parsed.strict, without);
        if (!selection) {
          return error(llvm::toString(selection.takeError()));
        }
        buildPhase(phase, manager, {*target, *selection, nullptr});
        return success();
      },
      [](function_ref<void(const mlir::detail::PassOptions &)> show) {
        show(PhasePipelineOptions());
      });
}

} // namespace

void registerPipelines() {
  registerNormalizePhase();
  registerFusePhase();
  registerTilePhase();
  registerHovaPipelinePasses();
  registerTargetPasses();
  // What the phases use of upstream, for pipelines written by hand.
  registerTransformsPasses();
  for (const Phase &phase : getPhases()) {
    if (phase.build) {
      registerPhase(phase);
    }
  }
}

} // namespace hova
