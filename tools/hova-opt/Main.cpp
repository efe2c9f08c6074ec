//===- Main.cpp - mlir-opt with hova's dialect, passes and phases ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// Everything of mlir-opt, and four options: `--start-at` and `--stop-after`
// run phases of a compilation, `--check-meaning` evaluates the program after
// every pass, and `--debug-only` tells what passes consider.

#include "codegen/OutputFile.h"
#include "codegen/Pipeline.h"
#include "codegen/reference/MeaningCheck.h"
#include "codegen/targets/Extensions.h"
#include "codegen/targets/Registration.h"
#include "codegen/targets/Targets.h"
#include "dialect/HovaDialect.h"
#include "dialect/PhaseNames.h"
#include "mlir/IR/AsmState.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "tools/plugins/PluginFile.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Debug.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace hova;

namespace {

/// What the checks of all modules of the input did and found.
MeaningSummary checked;

/// Remembers its verdict beyond the life of the pass manager.
class RememberedCheck : public MeaningCheck {
public:
  ~RememberedCheck() override { checked.add(getSummary()); }
};

/// Says how much `--check-meaning` has compared; the exit status.
int concludeCheck() {
  bool nothing = checked.values == 0;
  llvm::errs() << "hova-opt: " << (nothing ? "error: " : "")
               << "--check-meaning compared " << checked.values
               << " results after " << checked.compared << " of "
               << checked.passes << " passes";
  if (checked.interpreted) {
    llvm::errs() << ", and interpreted " << checked.interpreted
                 << " kernel functions, " << checked.inPart
                 << " of them in part";
  }
  if (checked.compared < checked.passes) {
    llvm::errs() << "; there is nothing to compare where "
                 << (checked.obstacle.empty() ? "the IR has no result"
                                              : checked.obstacle);
  }
  llvm::errs() << "\n";
  for (const std::string &function : checked.notInterpreted) {
    llvm::errs() << "hova-opt: --check-meaning did not interpret " << function
                 << "\n";
  }
  return nothing ? 1 : checked.guiltyPass.empty() ? 0 : 3;
}

struct PhaseFlags {
  llvm::cl::OptionCategory category{"Phases"};
  llvm::cl::opt<std::string> startAt{
      "start-at", llvm::cl::cat(category), llvm::cl::value_desc("phase"),
      llvm::cl::desc("Run phases from this one on, on IR that an earlier "
                     "--stop-after has left")};
  llvm::cl::opt<std::string> stopAfter{
      "stop-after", llvm::cl::cat(category), llvm::cl::value_desc("phase"),
      llvm::cl::desc("Run phases up to and with this one")};
  llvm::cl::opt<std::string> target{"target", llvm::cl::cat(category),
                                    llvm::cl::value_desc("name"),
                                    llvm::cl::init(TargetChoice().name),
                                    llvm::cl::desc("What the program runs on")};
  llvm::cl::opt<std::string> march{
      "march", llvm::cl::cat(category), llvm::cl::value_desc("level,..."),
      llvm::cl::init("native"), llvm::cl::desc("ISA levels of the program")};
  llvm::cl::opt<bool> strict{
      "strict", llvm::cl::cat(category),
      llvm::cl::desc("Leave out the passes that reassociate sums")};
  llvm::cl::opt<std::string> without{
      "without", llvm::cl::cat(category), llvm::cl::value_desc("pass,..."),
      llvm::cl::desc("Optional passes to leave out")};
  llvm::cl::opt<bool> checkMeaning{
      "check-meaning", llvm::cl::cat(category),
      llvm::cl::desc("Evaluate the program after every pass and report the one "
                     "that changes its results (exit status 3); comparing "
                     "nothing is an error")};

  llvm::cl::list<std::string> debugOnly{
      "debug-only", llvm::cl::cat(category), llvm::cl::CommaSeparated,
      llvm::cl::value_desc("pass,..."),
      llvm::cl::desc("Write what these passes consider and decide to stderr")};

  bool given() const { return !startAt.empty() || !stopAfter.empty(); }
};

/// Appends the phases that the flags ask for; `module` has none of them yet.
LogicalResult addPhases(PassManager &manager, const PhaseFlags &flags) {
  Location unknown = UnknownLoc::get(manager.getContext());
  ArrayRef<Phase> phases = getPhases();
  size_t first = 1, last = phases.size() - 1;
  for (auto [flag, index] : {std::pair(&flags.startAt, &first),
                             std::pair(&flags.stopAfter, &last)}) {
    if (flag->empty()) {
      continue;
    }
    const Phase *phase = findPhase(flag->getValue());
    if (!phase || !phase->build) {
      return emitError(unknown)
             << "no phase '" << flag->getValue() << "' is made of passes";
    }
    *index = phase - phases.data();
  }
  if (first > last) {
    return emitError(unknown)
           << "phase '" << flags.startAt.getValue() << "' comes after '"
           << flags.stopAfter.getValue() << "'";
  }
  auto target = makeTarget({flags.target, flags.march, /*hasBf16=*/true});
  if (!target) {
    return emitError(unknown) << llvm::toString(target.takeError());
  }
  llvm::Expected<PassSelection> selection =
      makePassSelection(flags.strict, flags.without);
  if (!selection) {
    return emitError(unknown) << llvm::toString(selection.takeError());
  }
  llvm::Expected<std::vector<Extension>> extensions =
      nestRegisteredExtensions(*selection);
  if (!extensions) {
    return emitError(unknown) << llvm::toString(extensions.takeError());
  }
  PipelineOptions options = {*target, *selection,
                             extendBy(std::move(*extensions))};
  for (const Phase &phase : phases.slice(first, last - first + 1)) {
    if (phase.build) {
      buildPhase(phase, manager, options);
    }
  }
  return success();
}

/// Values are named by the places in the description that they come from,
/// unless --mlir-use-nameloc-as-prefix=false.
void nameValuesByDefault() {
  registerAsmPrinterCLOptions();
  llvm::cl::Option *names =
      llvm::cl::getRegisteredOptions().lookup("mlir-use-nameloc-as-prefix");
  if (names) {
    static_cast<llvm::cl::opt<bool> *>(names)->setInitialValue(true);
  }
}

/// Makes the dialect refuse a `hova.phase` that is none, as `hova compile`
/// does.
void registerPhaseNames(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *, HovaDialect *dialect) {
    std::vector<std::string> names;
    for (const Phase &phase : getPhases()) {
      names.push_back(phase.name.str());
    }
    dialect->addInterface<PhaseNames>(std::move(names));
  });
}

/// Takes a name back from LLVM's code generator, which registers it in every
/// program that links LLVM and which hova-opt does not run.
void releaseOption(StringRef name) {
  if (llvm::cl::Option *taken = llvm::cl::getRegisteredOptions().lookup(name)) {
    taken->removeArgument();
  }
}

/// Makes the LDBG() of the passes speak; false where there is no such pass.
bool listenTo(const llvm::cl::list<std::string> &passes) {
  static SmallVector<const char *> types;
  for (const std::string &pass : passes) {
    if (!PassInfo::lookup(pass)) {
      llvm::errs() << "hova-opt: error: --debug-only: there is no pass '"
                   << pass << "'; --list-passes lists them\n";
      return false;
    }
    types.push_back(pass.c_str());
  }
  if (!types.empty()) {
    llvm::DebugFlag = true;
    llvm::setCurrentDebugTypes(types.data(), types.size());
  }
  return true;
}

LogicalResult setUp(PassManager &manager, const MlirOptMainConfig &written,
                    const PhaseFlags &flags) {
  if (failed(written.setupPassPipeline(manager))) {
    return failure();
  }
  if (flags.checkMeaning) {
    // Functions can only be compared while no other changes.
    manager.getContext()->disableMultithreading();
    manager.addInstrumentation(std::make_unique<RememberedCheck>());
  }
  if (!flags.given()) {
    return success();
  }
  if (!manager.empty()) {
    return emitError(UnknownLoc::get(manager.getContext()))
           << "phases and passes exclude each other: leave out --start-at and "
              "--stop-after, or the passes";
  }
  return addPhases(manager, flags);
}

/// Writes what the passes make of `input` to `output`. A file appears whole or
/// not at all, after the last read of the input, which may be the same file.
int optimize(std::unique_ptr<llvm::MemoryBuffer> input, StringRef output,
             DialectRegistry &registry, const MlirOptMainConfig &config) {
  if (output == "-") {
    return failed(
        MlirOptMain(llvm::outs(), std::move(input), registry, config));
  }
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (failed(MlirOptMain(stream, std::move(input), registry, config))) {
    return 1;
  }
  llvm::Error error = writeFileWhole(output, 0666, [&](llvm::raw_ostream &os) {
    os << text;
    return llvm::Error::success();
  });
  if (error) {
    llvm::errs() << "hova-opt: " << llvm::toString(std::move(error)) << "\n";
    return 74; // as hova's ExitCode::InputOutput
  }
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  if (llvm::Error error = loadPluginsOfOptions(argc, argv)) {
    llvm::errs() << "hova-opt: error: " << toString(std::move(error)) << "\n";
    return 2;
  }
  registerPipelines();
  DialectRegistry registry;
  registerDialects(registry);
  registerPhaseNames(registry);
  releaseOption("stop-after");
  releaseOption("debug-only"); // of an LLVM with assertions, which has it too
  nameValuesByDefault();
  PhaseFlags flags;
  auto [input, output] = registerAndParseCLIOptions(
      argc, argv, "hova's modular optimizer driver", registry);
  MlirOptMainConfig written = MlirOptMainConfig::createFromCLOptions();
  if (!listenTo(flags.debugOnly)) {
    return 2;
  }
  if (written.shouldListPasses()) {
    printRegisteredPasses();
    return 0;
  }
  if (written.shouldShowDialects()) {
    llvm::interleaveComma(registry.getDialectNames(), llvm::outs());
    llvm::outs() << "\n";
    return 0;
  }
  MlirOptMainConfig config = written;
  config.setPassPipelineSetupFn(
      [&](PassManager &manager) { return setUp(manager, written, flags); });
  std::string message;
  auto file = openInputFile(input, &message);
  if (!file) {
    llvm::errs() << message << "\n";
    return 1;
  }
  if (int status = optimize(std::move(file), output, registry, config)) {
    return status;
  }
  return flags.checkMeaning ? concludeCheck() : 0;
}
