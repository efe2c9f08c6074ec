//===- Pipeline.cpp - The phases of a compilation -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The one file to read for the whole flow: the table of phases, and the loop
// that walks it. `import` and `emit` are rows without passes: the front end
// makes the IR that the first promises, and Compile.cpp turns what `target`
// leaves into files.

#include "codegen/Pipeline.h"
#include "codegen/OutputFile.h"
#include "codegen/PassWatch.h"
#include "codegen/Passes.h"
#include "codegen/ShellWord.h"
#include "passes/fuse/Phase.h"
#include "passes/normalize/Phase.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/TimeProfiler.h"

using namespace mlir;

namespace hova {

namespace {

void buildNormalize(PhaseBuilder &phase, const Target &target) {
  buildNormalizePhase(phase, target.getFuseOptions());
}

void buildFuse(PhaseBuilder &phase, const Target &target) {
  target.addKernelForms(phase);
  buildFusePhase(phase, target.getFuseOptions());
}

/// A phase that the target builds.
template <void (Target::*build)(PhaseBuilder &) const>
void ofTarget(PhaseBuilder &phase, const Target &target) {
  (target.*build)(phase);
}

constexpr Phase phases[] = {
    {"import",
     "hova operations on tensors, one per sentence of the paper, each located "
     "at its path in the description",
     nullptr},
    {"normalize",
     "one spelling per idea: masks, scale and bias sit on the attention, "
     "projections of one input are one, and what depends on weights alone is "
     "in the folding function",
     buildNormalize},
    {"fuse",
     "a straight list of kernels, each one unit of code generation, and a "
     "verdict on every site",
     buildFuse},
    {"assign",
     "every kernel is a list of stages, whose results have layouts, and "
     "carries "
     "its schedule; the mathematics did not change",
     ofTarget<&Target::buildAssignPhase>},
    {"tile",
     "loops over buffers in destination-passing form that obey the schedule; "
     "equal kernels are one function, and every value has its place in the "
     "arena, in the packed weights or in a table of the program",
     ofTarget<&Target::buildTilePhase>},
    {"vectorize",
     "vector code in which every loop-carried value is a scalar or a "
     "one-dimensional vector, or on a GPU a tile in registers",
     ofTarget<&Target::buildVectorizePhase>},
    {"target",
     "the LLVM dialect alone in the module @code; beside it main and the "
     "folding function, which describe the program and its weights",
     ofTarget<&Target::buildTargetPhase>, /*onCode=*/true},
    {"emit", "object code, an executable or a library", nullptr},
};

/// What a failed phase adds to the name of its dump.
constexpr llvm::StringLiteral kFailed = "-failed";

/// A file of a dump: `02-normalize.mlir`, `02-normalize-failed.mlir`.
std::string dumpName(size_t index, StringRef suffix = "") {
  return llvm::formatv("{0,0+2}-{1}{2}.mlir", index + 1, phases[index].name,
                       suffix);
}

std::string dumpPath(const PhaseRange &range, size_t index,
                     StringRef suffix = "") {
  SmallString<256> path(range.dumpDirectory);
  llvm::sys::path::append(path, dumpName(index, suffix));
  return path.str().str();
}

/// Writes the dumps of a walk and tells those that changed nothing.
class Dumper {
public:
  /// `module` is what the walk starts from.
  Dumper(const PhaseRange &range, ModuleOp module) : range(range) {
    if (isOn()) {
      previous = print(module);
    }
  }

  bool isOn() const { return isWritten() || range.onDump; }

  llvm::Error writeImport() {
    return isOn() ? write(0) : llvm::Error::success();
  }

  llvm::Error write(size_t index, ModuleOp module) {
    if (!isOn()) {
      return llvm::Error::success();
    }
    std::string text = print(module);
    bool changed = withoutPhase(text) != withoutPhase(previous);
    previous = std::move(text);
    return write(index, changed);
  }

  /// What the pass that failed in this phase, or crashed, began with.
  llvm::Error writeFailure(size_t index, PassFailure &failure, StringRef end) {
    if (!isWritten() || !failure.before) {
      return llvm::Error::success();
    }
    std::string path = dumpPath(range, index, kFailed);
    return writeFile(path, [&](llvm::raw_ostream &os) {
      os << "// " << phases[index].name << ": the program before '"
         << failure.pass << "', which " << end
         << ". This shows it again:\n// hova-opt " << shellWord(path);
      for (const std::string &plugin : range.plugins) {
        os << " --load-pass-plugin=" << shellWord(plugin);
      }
      os << " --pass-pipeline="
         << shellWord("builtin.module(" + failure.pipeline + ")") << "\n";
      printModule(*failure.before, range.origin, os);
    });
  }

  /// The same from a handler of crashes: its path, empty if there is no file.
  std::string keepCrash(size_t index, PassFailure &failure, StringRef pass) {
    failure.pass = pass.str();
    if (llvm::Error error = writeFailure(index, failure, "crashed")) {
      // Of the two, the crash is what there is to report.
      llvm::consumeError(std::move(error));
      return "";
    }
    return isWritten() && failure.before ? dumpPath(range, index, kFailed) : "";
  }

private:
  bool isWritten() const { return !range.dumpDirectory.empty(); }

  std::string print(ModuleOp module) {
    std::string text;
    llvm::raw_string_ostream os(text);
    printModule(module, range.origin, os);
    return text;
  }

  /// That a phase ran is no change of the program.
  static std::string withoutPhase(StringRef text) {
    for (const Phase &phase : phases) {
      std::string note =
          (", " + kPhaseAttr + " = \"" + phase.name + "\"").str();
      size_t place = text.find(note);
      if (place != StringRef::npos) {
        return (text.take_front(place) + text.drop_front(place + note.size()))
            .str();
      }
    }
    return text.str();
  }

  llvm::Error write(size_t index, bool changed = true) {
    std::string text =
        ("// " + phases[index].name + ": " + phases[index].promise + "\n" +
         (changed ? "" : "// This phase changed nothing.\n") + previous)
            .str();
    if (range.onDump) {
      range.onDump(phases[index].name, text);
    }
    return isWritten() ? writeFile(dumpPath(range, index),
                                   [&](llvm::raw_ostream &os) { os << text; })
                       : llvm::Error::success();
  }

  llvm::Error writeFile(StringRef path,
                        function_ref<void(llvm::raw_ostream &)> print) {
    if (std::error_code code = llvm::sys::fs::create_directories(
            range.dumpDirectory,
            /*IgnoreExisting=*/true, llvm::sys::fs::all_all)) {
      return llvm::createFileError(range.dumpDirectory, code);
    }
    return writeFileWhole(path, 0666, [&](llvm::raw_ostream &os) {
      print(os);
      return llvm::Error::success();
    });
  }

  const PhaseRange &range;
  std::string previous;
};

LogicalResult runPhase(const Phase &phase, ModuleOp module,
                       const PipelineOptions &options, const PhaseRange &range,
                       PassFailure &failure) {
  llvm::TimeTraceScope scope("phase", phase.name);
  PassManager manager(module.getContext(), ModuleOp::getOperationName());
  manager.addInstrumentation(std::make_unique<PassWatch>(
      failure, /*keepsProgram=*/!range.dumpDirectory.empty()));
  if (range.configure) {
    range.configure(manager);
  }
  buildPhase(phase, manager, options);
  return manager.run(module);
}

} // namespace

ArrayRef<Phase> getPhases() { return phases; }

std::vector<std::string> dumpNames() {
  std::vector<std::string> names;
  for (size_t i = 0; i < std::size(phases); ++i) {
    names.push_back(dumpName(i));
    names.push_back(dumpName(i, kFailed));
  }
  return names;
}

const Phase *findPhase(StringRef name) {
  const Phase *found = llvm::find_if(
      phases, [&](const Phase &phase) { return phase.name == name; });
  return found == std::end(phases) ? nullptr : found;
}

const Phase &phaseOf(ModuleOp module) {
  auto name = module->getAttrOfType<StringAttr>(kPhaseAttr);
  const Phase *phase = name ? findPhase(name.getValue()) : nullptr;
  return phase ? *phase : phases[0];
}

void buildPhase(const Phase &phase, OpPassManager &manager,
                const PipelineOptions &options) {
  if (phase.onCode) {
    manager.addPass(createDecomposeProgramPass());
  }
  PhaseBuilder builder(phase.onCode ? manager.nest<ModuleOp>() : manager,
                       phase.name, options.passes, options.extend);
  phase.build(builder, *options.target);
  manager.addPass(createAssignPhaseNamePass({phase.name.str()}));
}

void buildCheck(const Phase &phase, OpPassManager &manager,
                const Target &target) {
  PassSelection all;
  ExtendPipeline none;
  PhaseBuilder builder(phase.onCode ? manager.nest<ModuleOp>() : manager,
                       phase.name, all, none, PhasePart::Check);
  phase.build(builder, target);
}

std::vector<std::string> getPassNames(const Phase &phase,
                                      std::shared_ptr<const Target> target) {
  std::vector<std::string> names;
  PipelineOptions options;
  options.target = std::move(target);
  options.extend = [&](StringRef point, OpPassManager &) {
    if (point.consume_front("before-") && point != phase.name &&
        !llvm::is_contained(names, point)) {
      names.push_back(point.str());
    }
  };
  OpPassManager unused(ModuleOp::getOperationName());
  if (phase.build) {
    buildPhase(phase, unused, options);
  }
  return names;
}

llvm::Expected<LogicalResult> runPhases(ModuleOp module,
                                        const PipelineOptions &options,
                                        const PhaseRange &range) {
  size_t first = &phaseOf(module) - phases + 1, last = std::size(phases) - 1;
  if (const Phase *phase = findPhase(range.stopAfter)) {
    last = phase - phases;
  }
  Dumper dumper(range, module);
  if (first == 1) {
    if (llvm::Error error = dumper.writeImport()) {
      return std::move(error);
    }
  }
  for (size_t i = first; i <= last; ++i) {
    if (!phases[i].build) {
      continue;
    }
    if (range.onPhase) {
      range.onPhase(phases[i].name);
    }
    PassFailure failed;
    CrashKeeper keeper(
        [&](StringRef pass) { return dumper.keepCrash(i, failed, pass); });
    if (runPhase(phases[i], module, options, range, failed).failed()) {
      if (llvm::Error error = dumper.writeFailure(i, failed, "failed")) {
        return std::move(error);
      }
      return failure();
    }
    if (llvm::Error error = dumper.write(i, module)) {
      return std::move(error);
    }
  }
  return success();
}

} // namespace hova
