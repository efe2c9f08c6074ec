//===- CompileSettings.cpp - The options of code generation ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/hova/session/CompileSettings.h"
#include "codegen/OutputFile.h"
#include "codegen/ShellWord.h"
#include "codegen/targets/Extensions.h"
#include "codegen/targets/Targets.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "runtime/cuda/DriverCalls.h"
#include "tools/hova/guard/Crash.h"
#include "tools/hova/options/Messages.h"
#include "tools/hova/session/Plugins.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/TimeProfiler.h"

using namespace mlir;

namespace hova::tool {

std::string versionText() {
  return ("hova " + hovaVersion() + " (LLVM " LLVM_VERSION_STRING ")").str();
}

//===----------------------------------------------------------------------===//
// Extension points
//===----------------------------------------------------------------------===//

namespace {

/// Passes that crash are reported from whatever thread they run on.
struct CrashInstrumentation : PassInstrumentation {
  void runBeforePass(Pass *, Operation *) override { prepareThread(); }
};

/// Draws a pass as a span of the time trace. Passes that run on other threads
/// of the context are inside the span of their parent.
struct TimeTraceInstrumentation : PassInstrumentation {
  void runBeforePass(Pass *pass, Operation *op) override {
    if (llvm::timeTraceProfilerEnabled()) {
      llvm::timeTraceProfilerBegin(pass->getName(),
                                   op->getName().getStringRef());
    }
  }
  void runAfterPass(Pass *, Operation *) override {
    if (llvm::timeTraceProfilerEnabled()) {
      llvm::timeTraceProfilerEnd();
    }
  }
  void runAfterPassFailed(Pass *pass, Operation *op) override {
    runAfterPass(pass, op);
  }
};

} // namespace

/// `before-fuse(PASSES)`; the passes are parsed, so that later nothing can
/// fail.
static std::optional<Extension> readExtension(const Arguments &arguments,
                                              llvm::StringRef text) {
  auto fail = [&](const llvm::Twine &why) {
    arguments.usageError("option '--pass-pipeline': " + why);
    return std::nullopt;
  };
  SmallVector<std::string> targets;
  for (llvm::StringRef target : arguments.targets()) {
    targets.push_back(target.str());
  }
  std::vector<std::string> points = getExtensionPoints(targets);
  auto [point, rest] = text.split('(');
  if (!rest.consume_back(")")) {
    return fail("expected POINT(PASSES) such as 'before-fuse(my-pass)', got '" +
                text + "'");
  }
  if (!llvm::is_contained(points, point)) {
    return fail("unknown extension point '" + point + "'" +
                suggestion(point, points) + "; 'hova --list-phases --target=" +
                llvm::join(targets, "' and '--target=") +
                "' shows what there is");
  }
  llvm::Expected<Extension> nested = nestPasses({point.str(), rest.str()});
  if (!nested) {
    return fail(llvm::toString(nested.takeError()));
  }
  return *nested;
}

static ExtendPipeline readExtensions(const Arguments &arguments,
                                     const PassSelection &selection) {
  llvm::Expected<std::vector<Extension>> extensions =
      nestRegisteredExtensions(selection);
  if (!extensions) {
    arguments.usageError("option '--pass-plugin': " +
                         llvm::toString(extensions.takeError()));
    return {};
  }
  for (const std::string &text : arguments.values(OPT_pass_pipeline)) {
    if (auto extension = readExtension(arguments, text)) {
      extensions->push_back(*extension);
    }
  }
  return extendBy(std::move(*extensions));
}

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

/// What only some targets have an option for.
static void checkForeignOption(const Arguments &arguments, OptionID option) {
  std::string spelling = Arguments::spelling(option);
  StringRef name = StringRef(spelling).ltrim('-');
  llvm::SmallVector<llvm::StringRef> named = arguments.targets();
  auto isKnown = [](StringRef target) { return findTarget(target); };
  auto applies = [&](StringRef target) {
    return llvm::is_contained(findTarget(target)->options, name);
  };
  if (arguments.has(option) && llvm::all_of(named, isKnown) &&
      llvm::none_of(named, applies)) {
    arguments.usageError("option '" + spelling +
                         "' does not apply to --target=" + arguments.target());
  }
}

/// What looks into code looks into that of one target.
static void checkSingleTarget(const Arguments &arguments) {
  if (arguments.targets().size() == 1) {
    return;
  }
  std::string target = arguments.value(OPT_target).str();
  auto visibility = arguments.verb().visibility;
  if (visibility != CompileVerb && visibility != PackVerb) {
    arguments.usageError("'hova " + arguments.verb().name +
                         "' expects one target, got --target=" + target);
  }
  for (OptionID option :
       {OPT_explain, OPT_explain_file, OPT_dump_ir, OPT_debug_lines}) {
    if (arguments.has(option)) {
      arguments.usageError("option '" + Arguments::spelling(option) +
                           "' expects one target, got --target=" + target);
    }
  }
}

/// The target itself, or where its machine is missing, what emulates it.
static llvm::StringRef targetToVerify(const TargetFacts &target) {
  hova_driver driver;
  hova_error error = {};
  int count = 0;
  bool found = hova_driver_open(&driver, &error) == HOVA_OK &&
               driver.count_devices(&count) == 0 && count > 0;
  hova_driver_close(&driver);
  if (found) {
    return target.name;
  }
  printNote("kernels are emulated, as by --target=" + target.emulation +
            ", since no GPU can run them: " +
            llvm::Twine(*error.text ? error.text : "found no NVIDIA GPU"));
  return target.emulation;
}

using Programs = std::vector<std::shared_ptr<const ProgramTarget>>;

/// What programs are made for; empty where the command line says it wrongly.
static Programs readTargets(const Arguments &arguments, Storage storage) {
  for (OptionID option : {OPT_march, OPT_gpu_arch, OPT_ptxas, OPT_mma_sums,
                          OPT_approximations, OPT_debug_lines, OPT_guard}) {
    checkForeignOption(arguments, option);
  }
  TargetChoice choice;
  choice.name = arguments.target().str();
  const TargetFacts *facts = findTarget(choice.name);
  if (arguments.verb().visibility == VerifyVerb && facts &&
      !facts->emulation.empty()) {
    choice.name = targetToVerify(*facts).str();
  }
  choice.march = arguments.value(OPT_march, "native").str();
  choice.hasBf16 = storage == Storage::BF16;
  choice.gpuArch = arguments.value(OPT_gpu_arch, choice.gpuArch).str();
  choice.ptxas = arguments.value(OPT_ptxas).str();
  auto programs = makePrograms(choice);
  if (!programs) {
    arguments.usageError(llvm::toString(programs.takeError()));
    return {};
  }
  checkSingleTarget(arguments);
  return std::move(*programs);
}

Storage readStorage(const Arguments &arguments) {
  llvm::StringRef name = arguments.word(OPT_dtype);
  return name == "bf16"  ? Storage::BF16
         : name == "f16" ? Storage::F16
                         : Storage::F32;
}

PassSelection readPassSelection(const Arguments &arguments) {
  std::string names = llvm::join(arguments.values(OPT_without), ",");
  auto selection = makePassSelection(arguments.has(OPT_strict), names);
  if (!selection) {
    arguments.usageError("option '--without': " +
                         llvm::toString(selection.takeError()));
    return PassSelection();
  }
  return *selection;
}

CompileOptions readCompileOptions(const Arguments &arguments) {
  CompileOptions options;
  options.storage = readStorage(arguments);
  Programs programs = readTargets(arguments, options.storage);
  if (!programs.empty()) {
    options.target = programs.front();
    options.alternatives.assign(programs.begin() + 1, programs.end());
  }
  options.passes = readPassSelection(arguments);
  if (arguments.verb().visibility != PackVerb) {
    options.optimization = arguments.number(OPT_O, 2, 0, 3);
  }
  options.dumpDirectory = arguments.value(OPT_dump_ir).str();
  options.debugLines = arguments.value(OPT_debug_lines).str();
  options.compilerVersion = versionText();
  if (!arguments.failed()) {
    options.extend = readExtensions(arguments, options.passes);
  }
  for (llvm::StringRef plugin : arguments.values(OPT_pass_plugin)) {
    // The loader of another tool looks for a bare name elsewhere.
    options.plugins.push_back((plugin.contains('/') ? "" : "./") +
                              plugin.str());
  }
  bool traced = arguments.has(OPT_time_trace);
  options.configure = [traced](PassManager &manager) {
    manager.addInstrumentation(std::make_unique<CrashInstrumentation>());
    if (traced) {
      manager.addInstrumentation(std::make_unique<TimeTraceInstrumentation>());
    }
  };
  return options;
}

/// `name` as a C identifier; functions that begin with `hova_` are the
/// runtime's.
static std::string identifier(llvm::StringRef name) {
  std::string result;
  for (char c : name) {
    result += llvm::isAlnum(c) ? c : '_';
  }
  if (result == "hova" || llvm::StringRef(result).starts_with("hova_")) {
    return "m_" + result;
  }
  return result.empty() || llvm::isDigit(result[0]) ? "m" + result : result;
}

bool takeOneLevel(const Arguments &arguments, CompileOptions &options) {
  // One level of a CPU may bring a second one.
  bool isOne =
      !arguments.value(OPT_march).contains(',') && !arguments.has(OPT_gpu_arch);
  if (isOne && options.target) {
    options.target = options.target->withFirstLevel();
  }
  return options.countLevels() <= 1;
}

/// The option that names the levels of a target.
static llvm::StringRef levelOption(const ProgramTarget &target) {
  return llvm::is_contained(target.getFacts().options, "march") ? "--march"
                                                                : "--gpu-arch";
}

/// From `assign` on a dump is for one level, the first of those it was made
/// with.
static void takeLevelOfDump(const Arguments &arguments, Session &session,
                            CompileOptions &options) {
  llvm::StringRef level = session.dumpedLevel();
  if (level.empty()) {
    return;
  }
  std::string first = options.target->getLevels().front();
  if (first != level) {
    arguments.usageError("option '" + levelOption(*options.target) +
                         "': " + arguments.model() + " is for level '" + level +
                         "' alone, got '" + first + "'");
  }
  options.target = options.target->withFirstLevel();
}

void describeModel(const Arguments &arguments, Session &session,
                   CompileOptions &options) {
  options.prefix = identifier(session.program().name);
  options.resumed = session.dump();
  takeLevelOfDump(arguments, session, options);
  std::vector<std::string> levels = options.target->getLevels();
  options.origin = session.origin(levels.front());
  // Enough to make an image of the same layout; no folders, because the same
  // input gives the same program anywhere.
  llvm::raw_string_ostream os(options.packArguments);
  auto add = [&](llvm::StringRef word) { os << shellWord(word); };
  // A description out of a folder has those of its tensors.
  auto [folder, description] = llvm::StringRef(options.origin.file).rsplit('/');
  add(folder);
  const auto &parameters = session.program().parameters;
  auto task = llvm::find_if(
      parameters, [](const auto &entry) { return entry.first == "task"; });
  if (!description.empty() && task != parameters.end()) {
    os << " --task=";
    add(task->second.str());
  }
  for (const std::string &set : arguments.values(OPT_set)) {
    os << " --set ";
    add(set);
  }
  llvm::SmallVector<llvm::StringRef> targets = arguments.targets();
  if (targets != llvm::SmallVector<llvm::StringRef>{getDefaultFacts().name}) {
    os << " --target=" << llvm::join(targets, ",");
  }
  Programs programs = options.alternatives;
  programs.insert(programs.begin(), options.target);
  for (const auto &program : programs) {
    if (llvm::is_contained(program->getFacts().options, "march")) {
      os << " --march=" << llvm::join(program->getLevels(), ",");
    } else if (arguments.has(OPT_gpu_arch)) {
      os << " --gpu-arch=" << llvm::join(program->getLevels(), ",");
    }
  }
  if (options.storage != Storage::F32) {
    os << " --dtype=" << nameOf(options.storage);
  }
  if (arguments.has(OPT_tensors)) {
    os << " --tensors=" << arguments.value(OPT_tensors);
  }
  if (options.passes.strict) {
    os << " --strict";
  }
  for (const std::string &name : options.passes.without) {
    os << " --without=" << name;
  }
  if (description.empty()) {
    // Of weights in several files, one file is none.
    llvm::StringRef weights = options.origin.weights;
    os << " --weights ";
    add(weights.ends_with(".json") ? weights : "FILE");
  }
}

int compileStatus(llvm::Expected<LogicalResult> result, Session &session) {
  if (!result) {
    if (session.failedOnWeights()) {
      llvm::consumeError(result.takeError());
      return Rejected;
    }
    return reportError(result.takeError());
  }
  return succeeded(*result) ? Ok : session.failureStatus();
}

//===----------------------------------------------------------------------===//
// Time trace
//===----------------------------------------------------------------------===//

TimeTrace::TimeTrace(const Arguments &arguments)
    : path(arguments.value(OPT_time_trace).str()) {
  if (!path.empty()) {
    llvm::timeTraceProfilerInitialize(kTraceMicroseconds, "hova");
  }
}

TimeTrace::~TimeTrace() {
  if (!path.empty()) {
    llvm::timeTraceProfilerCleanup();
  }
}

int TimeTrace::finish(int status) {
  if (path.empty()) {
    return status;
  }
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::timeTraceProfilerWrite(stream);
  llvm::Error error = writeFileWhole(path, 0666, [&](llvm::raw_ostream &os) {
    os << text;
    return llvm::Error::success();
  });
  return error ? std::max(status, reportError(std::move(error))) : status;
}

} // namespace hova::tool
