//===- Compile.cpp - hova compile -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/OutputFile.h"
#include "codegen/targets/Targets.h"
#include "tools/hova/guard/Guard.h"
#include "tools/hova/output/Closing.h"
#include "tools/hova/output/Files.h"
#include "tools/hova/output/Progress.h"
#include "tools/hova/session/CompileSettings.h"
#include "tools/hova/session/Plugins.h"
#include "tools/hova/session/Reproduce.h"
#include "tools/hova/verbs/Verbs.h"
#include "tools/inspect/DeviceReports.h"
#include "tools/inspect/Verdicts.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace hova::tool {

namespace {

/// What `--emit` may ask for.
struct Product {
  llvm::StringLiteral name;
  /// None: the text of the IR, which needs no code generation.
  std::optional<EmitKind> kind;
  /// Of the default output; text goes to standard output instead.
  llvm::StringLiteral extension;
  bool isText;
  bool oneLevel;
};

constexpr Product products[] = {
    {"exe", EmitKind::Executable, "", false, false},
    {"lib", EmitKind::Library, "", false, false},
    {"obj", EmitKind::Object, ".o", false, false},
    {"asm", EmitKind::Assembly, ".s", true, true},
    {"llvm", EmitKind::LLVM, ".ll", true, true},
    {"ptx", EmitKind::Assembly, ".ptx", true, true},
    {"cubin", EmitKind::MachineCode, ".cubin", false, true},
    {"mlir", std::nullopt, ".mlir", true, false},
};

class Compilation {
public:
  explicit Compilation(Arguments &arguments)
      : closing(arguments), arguments(arguments), session(arguments) {}

  int run();

private:
  bool explains() const {
    return arguments.has(OPT_explain) || arguments.has(OPT_explain_file);
  }
  void refuseIdleOptions();
  void refuseForeignProduct();
  void readProduct();
  void nameFiles();
  void addPackage();
  int checkFiles(const frontend::ModelOptions &modelOptions,
                 llvm::ArrayRef<std::string> weightFiles);
  int emitModule();
  int emitCode();
  int explain(CompiledModule &compiled);
  int prepareBill();
  llvm::Expected<std::string> makeBill(const CompiledModule &compiled);
  std::string modelName() const;
  void tellAssembler(const DeviceReport &report);

  Closing closing;
  Arguments &arguments;
  Session session;
  const Product *product = nullptr;
  /// The description of the folder that is compiled; empty: it is none.
  std::string folderModel;
  CompileOptions options;
  FileHashes weights;
};

} // namespace

/// The files beside the output, and those of a library.
void Compilation::nameFiles() {
  if (options.emit == EmitKind::Library) {
    llvm::StringRef stem = options.output;
    stem.consume_back(".so");
    options.header = (stem + ".h").str();
    options.output = (stem + ".so").str();
  }
  bool beside = arguments.word(OPT_weights_mode) == "file";
  if (beside && (product->kind == EmitKind::Library ||
                 product->kind == EmitKind::Executable)) {
    options.weights = options.output + ".weights";
  }
}

/// What `--package` writes beside a library; needs the model's prefix.
void Compilation::addPackage() {
  if (arguments.has(OPT_package)) {
    ModelPackage package{options.output, options.weights, options.prefix,
                         hovaVersion().str()};
    auto files = makePackageFiles(package);
    options.companions.assign(files.begin(), files.end());
  }
}

/// What is written is no input and no other output, and can be written.
int Compilation::checkFiles(const frontend::ModelOptions &modelOptions,
                            llvm::ArrayRef<std::string> weightFiles) {
  FileUses uses(arguments, modelOptions);
  for (const std::string &file : weightFiles) {
    uses.reads(file, "of --weights");
  }
  uses.reads(arguments.value(OPT_reproduce), "--reproduce");
  llvm::StringRef what =
      arguments.has(OPT_o) ? "-o" : "the output, as there is no -o";
  uses.writes(options.output, what);
  uses.writes(options.header, what);
  uses.writes(options.weights, what);
  for (const TextFile &companion : options.companions) {
    uses.writes(companion.path, "--package");
  }
  uses.writesReports(arguments, options);
  return uses.check();
}

/// An option without an effect is a mistake in the command.
void Compilation::refuseIdleOptions() {
  auto refuse = [&](OptionID id, llvm::StringRef flag) {
    if (arguments.has(id)) {
      arguments.usageError("option '" + flag + "' has no effect with '--emit=" +
                           product->name + "'");
    }
  };
  if (!product->kind) {
    refuse(OPT_explain, "--explain");
    refuse(OPT_explain_file, "--explain");
    refuse(OPT_O, "-O");
  }
  if (!product->kind || product->isText) {
    refuse(OPT_debug_lines, "--debug-lines");
  }
  if (!product->kind || (product->isText && !explains())) {
    refuse(OPT_ptxas, "--ptxas");
  }
  if (product->kind != EmitKind::Executable &&
      product->kind != EmitKind::Library) {
    refuse(OPT_weights_mode, "--weights-mode");
  }
  if (product->kind != EmitKind::Library) {
    refuse(OPT_package, "--package");
  } else if (arguments.has(OPT_package) &&
             getPackageName(options.output).empty()) {
    arguments.usageError(
        "option '--package' makes a name of that of the library, in letters, "
        "digits and _ . + -, got '" +
        llvm::sys::path::filename(options.output) + "'");
  }
}

/// Some products are of one target, and only a whole program is for several.
void Compilation::refuseForeignProduct() {
  llvm::StringRef target = arguments.target();
  auto makes = [&](const TargetFacts *facts) {
    return llvm::is_contained(facts->products, product->name);
  };
  llvm::SmallVector<const TargetFacts *> targets = getTargets();
  const auto *maker = llvm::find_if(targets, makes);
  bool isJoined = product->kind == EmitKind::Executable ||
                  product->kind == EmitKind::Library;
  if (maker != targets.end() && target != (*maker)->name) {
    arguments.usageError("--emit=" + product->name + " is for --target=" +
                         (*maker)->name + ", got --target=" + target);
  } else if (!isJoined && target.contains(',')) {
    arguments.usageError("--emit=" + product->name +
                         " expects one target, got --target=" + target);
  }
  if (product->kind == EmitKind::MachineCode &&
      arguments.value(OPT_ptxas) == "none") {
    arguments.usageError("--emit=cubin is what ptxas makes, and --ptxas=none "
                         "leaves it out");
  }
}

/// Of a program that is made again without its description, as it was called;
/// of a folder, which takes its own name, as the description.
std::string Compilation::modelName() const {
  if (!folderModel.empty()) {
    return folderModel;
  }
  bool isCarried = session.record() && arguments.model().empty();
  return isCarried ? session.record()->description.name : arguments.model();
}

void Compilation::readProduct() {
  llvm::StringRef kind = arguments.word(OPT_emit);
  product = llvm::find_if(
      products, [&](const Product &entry) { return entry.name == kind; });
  if (product->kind) {
    options.emit = *product->kind;
  }
  bool isNameless = arguments.model() == kStandardInput;
  if (isNameless && !product->isText && !arguments.has(OPT_o)) {
    arguments.usageError("a description from standard input has no name for "
                         "the output: give one with '-o'");
  }
  std::string stem = llvm::sys::path::stem(modelName()).str();
  options.output =
      arguments
          .value(OPT_o,
                 product->isText ? "-" : (stem += product->extension.str()))
          .str();
  if (!arguments.has(OPT_o) && llvm::sys::fs::is_directory(options.output)) {
    arguments.usageError("without '-o' the output would be '" + options.output +
                         "', which is a folder: give it a name with '-o'");
  }
  if (options.output == "-" && !product->isText) {
    arguments.usageError("--emit=" + product->name +
                         " is no text: give it a file with '-o'");
  }
  nameFiles();
  bool isRead = session.record() && llvm::sys::fs::exists(options.output);
  if (isRead && !llvm::sys::fs::is_regular_file(options.output)) {
    arguments.usageError("--reproduce compares what it has written, so it "
                         "writes a regular file, which '" +
                         options.output + "' is not");
  }
  refuseIdleOptions();
  refuseForeignProduct();
  if (product->oneLevel && !takeOneLevel(arguments, options)) {
    arguments.usageError("--emit=" + product->name + " takes one level, got " +
                         llvm::Twine(options.countLevels()));
  }
  if (!arguments.has(OPT_stop_after)) {
    return;
  }
  std::vector<std::string> names;
  for (const Phase &phase : getPhases()) {
    // `emit` makes no IR.
    if (phase.name != "emit") {
      names.push_back(phase.name.str());
    }
  }
  llvm::StringRef phase = arguments.value(OPT_stop_after);
  if (product->kind) {
    arguments.usageError("option '--stop-after' needs '--emit=mlir'");
  } else if (!llvm::is_contained(names, phase)) {
    arguments.usageError("unknown phase '" + phase + "'" +
                         suggestionFrom(phase, names));
  } else if (session.isAfter(phase)) {
    arguments.usageError(arguments.model() + " is after phase '" + phase +
                         "' already");
  }
}

/// --emit=mlir: the phases of the first level.
int Compilation::emitModule() {
  PhaseRange range;
  range.stopAfter = arguments.value(OPT_stop_after, "target").str();
  range.dumpDirectory = options.dumpDirectory;
  range.origin = options.origin;
  range.plugins = options.plugins;
  range.configure = options.configure;
  range.onPhase = options.onPhase;
  PipelineOptions pipeline = options.pipeline();
  ModuleOp module = session.module();
  if (range.stopAfter != "import") {
    int status = compileStatus(runPhases(module, pipeline, range), session);
    if (status != Ok) {
      return status;
    }
  }
  llvm::Error error =
      writeFileWhole(options.output, 0666, [&](llvm::raw_ostream &os) {
        printModule(module, options.origin, os);
        return llvm::Error::success();
      });
  return error ? reportError(std::move(error)) : Ok;
}

/// Verdicts are still on the sites after `assign`.
int Compilation::explain(CompiledModule &compiled) {
  inspect::Scope scope{"", &session.program(), session.imported()};
  auto print = [&](llvm::raw_ostream &os) {
    inspect::printVerdicts(*compiled.assigned, scope, os);
    if (compiled.report) {
      inspect::printDeviceReport(*compiled.report, os);
    }
  };
  if (arguments.has(OPT_explain)) {
    print(llvm::errs());
  }
  if (!arguments.has(OPT_explain_file)) {
    return Ok;
  }
  llvm::Error error = writeFileWhole(arguments.value(OPT_explain_file), 0666,
                                     [&](llvm::raw_ostream &os) {
                                       print(os);
                                       return llvm::Error::success();
                                     });
  return error ? reportError(std::move(error)) : Ok;
}

/// Another assembler would have made another file of the same description.
void Compilation::tellAssembler(const DeviceReport &report) {
  if (!report.assembler.empty() && !arguments.has(OPT_ptxas)) {
    printNote("machine code for " + report.arch + " by " + report.assembler +
              ", " + report.assemblerPath + "; --ptxas=none leaves it out");
  }
}

/// Starts what the bill needs, and holds what is given to the one of a program
/// that is made again.
int Compilation::prepareBill() {
  if (!product->kind || product->isText ||
      product->kind == EmitKind::MachineCode) {
    return Ok;
  }
  const Bill *record = session.record();
  // Threads take stacks.
  weights.start(session.weightFiles(), record || arguments.has(OPT_max_memory));
  options.makeBill = [this](const CompiledModule &compiled) {
    return makeBill(compiled);
  };
  if (!record) {
    return Ok;
  }
  if (product->kind == EmitKind::Library) {
    auto soname = readSoname(arguments.value(OPT_reproduce));
    if (!soname) {
      return reportError(soname.takeError());
    }
    options.soname = std::move(*soname);
  }
  auto hashes = weights.wait();
  if (!hashes) {
    return reportError(hashes.takeError());
  }
  return checkRecordedWeights(arguments, *record, *hashes);
}

llvm::Expected<std::string>
Compilation::makeBill(const CompiledModule &compiled) {
  auto hashes = weights.wait();
  if (!hashes) {
    return hashes.takeError();
  }
  auto bill = billOf(arguments, options, product->name, *hashes,
                     session.record(), compiled);
  return bill ? llvm::Expected<std::string>(writeBill(*bill))
              : bill.takeError();
}

int Compilation::emitCode() {
  CompiledModule compiled;
  options.report = !product->isText || explains();
  options.reportLoops = explains();
  int status = compileStatus(
      compileModule(session.imported(), options, session.weights(), &compiled),
      session);
  if (status == Ok && compiled.report) {
    tellAssembler(*compiled.report);
  }
  return status == Ok ? explain(compiled) : status;
}

int Compilation::run() {
  frontend::ModelOptions modelOptions = readModelOptions(arguments);
  folderModel = modelOptions.folder ? modelOptions.path : "";
  if (int status = session.openStatus()) {
    return status;
  }
  options = readCompileOptions(arguments);
  if (const Bill *record = session.record(); record && !arguments.failed()) {
    if (int status = checkRecord(arguments, *record, options)) {
      return status;
    }
  }
  readProduct();
  // Their names alone matter to what is checked first.
  addPackage();
  applyMemoryLimit(arguments);
  ProgressFormat progressFormat = readProgressFormat(arguments);
  if (arguments.failed()) {
    return *arguments.failed();
  }
  if (int status = checkFiles(modelOptions, {})) {
    return status;
  }
  TimeTrace trace(arguments);
  Progress progress(progressFormat);
  options.onPhase = [&](llvm::StringRef phase) { progress.enter(phase); };
  bool needsWeights = product->kind.has_value();
  if (int status = session.load(modelOptions,
                                needsWeights ? Session::Weights::Opened
                                             : Session::Weights::IfGiven,
                                options.storage)) {
    return status;
  }
  // Shards are known only now.
  if (int status = checkFiles(modelOptions, session.weightFiles())) {
    return status;
  }
  describeModel(arguments, session, options);
  if (arguments.failed()) {
    return *arguments.failed();
  }
  addPackage();
  if (int status = prepareBill()) {
    return status;
  }
  int status = trace.finish(product->kind ? emitCode() : emitModule());
  progress.end();
  if (status == Ok) {
    closing.wrote(options.output);
  }
  if (status == Ok && session.record()) {
    return compareWithProgram(options.output, arguments.value(OPT_reproduce));
  }
  return status;
}

int runCompile(Arguments &arguments) { return Compilation(arguments).run(); }

} // namespace hova::tool
