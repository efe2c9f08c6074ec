//===- Pipeline.cpp - The phases of a compilation -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The one file to read for the whole flow: the table of phases, and the loop
// that walks it. `import` and `emit` are rows without passes: the front end
// makes the IR that the first promises, and Compile.cpp turns what `target`
// leaves into files.

#include "codegen/Pipeline.h"
#include "codegen/cpu/OutputFile.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace hova {

namespace {

/// A builder of a phase that is the same for every target.
template <void (*build)(OpPassManager &)>
void anyTarget(OpPassManager &manager, const PipelineOptions &) {
  build(manager);
}

constexpr Phase phases[] = {
    {"import",
     "hova operations on tensors, one per sentence of the paper, each located "
     "at its path in the description",
     nullptr},
    {"normalize",
     "one spelling per idea: masks, scale and bias sit on the attention, "
     "projections of one input are one, and what depends on weights alone is "
     "in the weight program",
     anyTarget<buildNormalizePhase>},
    {"fuse",
     "a straight list of kernels, each one unit of code generation, and a "
     "verdict on every attention site",
     anyTarget<buildFusePhase>},
};

/// A file of a dump: `02-normalize.mlir`, and `05-tile.znver4.mlir` for one of
/// several levels.
std::string dumpPath(const PhaseRange &range, size_t index, StringRef suffix) {
  std::string level = suffix.empty() ? "" : "." + suffix.ltrim("._").str();
  SmallString<256> path(range.dumpDirectory);
  llvm::sys::path::append(path, llvm::formatv("{0:02}-{1}{2}.mlir", index + 1,
                                              phases[index].name, level)
                                    .str());
  return path.str().str();
}

/// Writes the dumps of a walk and tells those that changed nothing.
class Dumper {
public:
  Dumper(const PhaseRange &range, StringRef suffix)
      : range(range), suffix(suffix) {}

  llvm::Error write(size_t index, ModuleOp module) {
    if (range.dumpDirectory.empty()) {
      return llvm::Error::success();
    }
    if (std::error_code code =
            llvm::sys::fs::create_directories(range.dumpDirectory)) {
      return llvm::createFileError(range.dumpDirectory, code);
    }
    std::string text;
    llvm::raw_string_ostream(text) << llvm::formatv(
        "// {0}: {1}\n", phases[index].name, phases[index].promise);
    std::string body;
    llvm::raw_string_ostream stream(body);
    printModule(module, stream);
    if (body == previous) {
      text += "// This phase changed nothing.\n";
    }
    previous = std::move(body);
    return writeFileWhole(dumpPath(range, index, suffix), 0666,
                          [&](llvm::raw_ostream &os) {
                            os << text << previous;
                            return llvm::Error::success();
                          });
  }

private:
  const PhaseRange &range;
  StringRef suffix;
  std::string previous;
};

LogicalResult runPhase(const Phase &phase, ModuleOp module,
                       const PipelineOptions &options,
                       const PhaseRange &range) {
  PassManager manager(module.getContext(), ModuleOp::getOperationName());
  if (range.configure) {
    range.configure(manager);
  }
  phase.build(manager, options);
  return manager.run(module);
}

} // namespace

ArrayRef<Phase> getPhases() { return phases; }

const Phase *findPhase(StringRef name) {
  const Phase *found = llvm::find_if(
      phases, [&](const Phase &phase) { return phase.name == name; });
  return found == std::end(phases) ? nullptr : found;
}

llvm::Expected<LogicalResult> runPhases(ModuleOp module,
                                        const PipelineOptions &options,
                                        const PhaseRange &range) {
  size_t first = 1, last = std::size(phases) - 1;
  if (const Phase *phase = findPhase(range.startAt)) {
    first = phase - phases;
  }
  if (const Phase *phase = findPhase(range.stopAfter)) {
    last = phase - phases;
  }
  Dumper dumper(range, options.symbolSuffix);
  if (first == 1) {
    if (llvm::Error error = dumper.write(0, module)) {
      return std::move(error);
    }
  }
  for (size_t i = first; i <= last; ++i) {
    if (!phases[i].build) {
      continue;
    }
    if (failed(runPhase(phases[i], module, options, range))) {
      return failure();
    }
    if (llvm::Error error = dumper.write(i, module)) {
      return std::move(error);
    }
  }
  return success();
}

void printModule(ModuleOp module, llvm::raw_ostream &os) {
  OpPrintingFlags flags;
  // Locations are part of the text: what starts from it names the same layers.
  flags.enableDebugInfo(/*enable=*/true, /*prettyForm=*/false);
  flags.printNameLocAsPrefix();
  module.print(os, flags);
}

void registerDialects(DialectRegistry &registry) {
  registry
      .insert<HovaDialect, affine::AffineDialect, arith::ArithDialect,
              cf::ControlFlowDialect, func::FuncDialect, LLVM::LLVMDialect,
              math::MathDialect, memref::MemRefDialect, scf::SCFDialect,
              tensor::TensorDialect, ub::UBDialect, vector::VectorDialect>();
}

namespace {

/// Registers `hova-NAME-phase`.
void registerPhase(const Phase &phase) {
  std::string name = "hova-" + phase.name.str() + "-phase";
  std::string summary = "After it: " + phase.promise.str();
  registerPassPipeline(
      name, summary,
      [&phase](OpPassManager &manager, StringRef options,
               function_ref<LogicalResult(const Twine &)> error) {
        if (!options.empty()) {
          return error("a phase takes no options here");
        }
        phase.build(manager, PipelineOptions());
        return success();
      },
      [](function_ref<void(const mlir::detail::PassOptions &)>) {});
}

} // namespace

void registerPipelines() {
  registerDecomposeCompoundPass();
  registerFuseKernelsPass();
  registerNormalizeProjectionsPass();
  registerNormalizeWeightsPass();
  registerVerifyFusedPass();
  registerVerifyNormalizedPass();
  // What the phases use of upstream, for pipelines written by hand.
  registerTransformsPasses();
  for (const Phase &phase : phases) {
    if (phase.build) {
      registerPhase(phase);
    }
  }
}

} // namespace hova
