//===- Session.cpp - A description on its way through hova ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/hova/session/Session.h"
#include "codegen/PassWatch.h"
#include "codegen/Pipeline.h"
#include "codegen/program/CheckDump.h"
#include "codegen/targets/Targets.h"
#include "dialect/Site.h"
#include "frontend/Import.h"
#include "frontend/weights/TensorFile.h"
#include "mlir/Pass/PassManager.h"
#include "passes/normalize/Passes.h"
#include "tools/hova/guard/Guard.h"
#include "tools/hova/session/Folders.h"
#include "tools/hova/session/Plugins.h"
#include "tools/hova/session/Reproduce.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace hova::tool {

frontend::ModelOptions readModelOptions(const Arguments &arguments) {
  frontend::ModelOptions options;
  options.path = arguments.model();
  for (const std::string &text : arguments.values(OPT_set)) {
    auto given = frontend::parseOverride(text);
    if (!given) {
      arguments.usageError("option '--set' expects NAME=VALUE, got '" + text +
                           "'");
      continue;
    }
    auto isSame = [&](const frontend::ParameterOverride &other) {
      return other.name == given->name;
    };
    auto earlier = llvm::find_if(options.overrides, isSame);
    if (earlier != options.overrides.end()) {
      arguments.usageError("option '--set' gives '" + given->name +
                           "' twice: '" + earlier->text + "' and '" +
                           given->text + "'");
      continue;
    }
    options.overrides.push_back(*given);
  }
  arguments.word(OPT_color);
  options.color = messageColor();
  arguments.word(OPT_diagnostics);
  options.format = messageFormat();
  options.warningsAreErrors = arguments.has(OPT_werror);
  options.tensors = arguments.word(OPT_tensors).str();
  options.weights = arguments.value(OPT_weights).str();
  options.checkpoint = arguments.value(OPT_checkpoint).str();
  options.seed = arguments.number(OPT_init, 0, 0, UINT64_MAX);
  if (options.weights.empty() && arguments.has(OPT_checkpoint)) {
    arguments.usageError("option '--checkpoint' needs '--weights'");
  }
  if (!options.weights.empty() && arguments.has(OPT_init)) {
    arguments.usageError("options '--weights' and '--init' exclude each other");
  }
  openFolder(arguments, options);
  if (!options.weights.empty() && !options.modules) {
    options.modules = std::make_shared<frontend::SentenceModules>(
        llvm::sys::path::parent_path(options.weights).str());
  }
  return options;
}

int reportError(llvm::Error error) {
  int status = Ok;
  llvm::handleAllErrors(std::move(error), [&](const llvm::ErrorInfoBase &info) {
    std::error_code code = info.convertToErrorCode();
    if (code == std::errc::not_enough_memory ||
        code == std::errc::resource_unavailable_try_again) {
      printError(info.message());
      status = outOfMemory();
      return;
    }
    if (code == std::errc::executable_format_error) {
      status = internalError(info.message());
      return;
    }
    bool rejected = code == std::errc::invalid_argument ||
                    code == llvm::inconvertibleErrorCode();
    status = std::max<int>(status, rejected ? Rejected : InputOutput);
    printError(info.message());
  });
  return status;
}

/// Weights pass through memory one at a time, as f32: the largest must fit.
static int checkWeights(const frontend::Program &program,
                        std::optional<uint64_t> limit) {
  for (const frontend::ProgramWeight &weight : program.weights) {
    uint64_t bytes = sizeof(float);
    for (int64_t dimension :
         program.values[static_cast<size_t>(weight.value)].type.shape) {
      bytes *= static_cast<uint64_t>(dimension);
    }
    if (limit && bytes > *limit) {
      printError("weight " + reader::inQuotes(weight.name) + " takes " +
                 llvm::Twine(bytes >> 20) + " MiB of memory");
      return outOfMemory();
    }
  }
  return Ok;
}

static bool isDump(llvm::StringRef path) {
  return llvm::sys::path::extension(path) == ".mlir";
}

Session::Session(Arguments &arguments)
    : arguments(arguments), mlirContext(makeDialectRegistry()),
      path(arguments.model()), memory(memoryLimit(arguments)) {
  mlirContext.loadDialect<HovaDialect, func::FuncDialect>();
  if (arguments.has(OPT_max_memory)) {
    // Threads take stacks, as many as the machine has processors.
    mlirContext.disableMultithreading();
  }
  // The place in the description says more to its author than the IR.
  mlirContext.printOpOnDiagnostic(false);
  mlirContext.getDiagEngine().registerHandler(
      [this](Diagnostic &diagnostic) { return report(diagnostic); });
  if (arguments.has(OPT_reproduce)) {
    openRecord();
  }
  if (dumpStatus == Ok && isDump(path)) {
    openDump();
  }
}

//===----------------------------------------------------------------------===//
// Programs to reproduce
//===----------------------------------------------------------------------===//

void Session::openRecord() {
  std::string program = arguments.value(OPT_reproduce).str();
  llvm::Expected<Bill> bill = readBill(program, refuseBilled);
  if (!bill) {
    dumpStatus = reportError(bill.takeError());
    return;
  }
  recorded = std::move(*bill);
  if (arguments.has(OPT_weights) != !recorded->weights.empty()) {
    dumpStatus = arguments.usageError(
        recorded->weights.empty()
            ? program + " was made with random weights, so it takes no "
                        "--weights"
            : program + " was made with the weights of '" +
                  recorded->weightsName + "': give them with '--weights'");
    return;
  }
  // A program of another version says so first (checkRecord).
  arguments.inherit(recorded->options,
                    {OPT_set, OPT_target, OPT_gpu_arch, OPT_march, OPT_dtype,
                     OPT_tensors, OPT_strict, OPT_without, OPT_init, OPT_emit,
                     OPT_O, OPT_weights_mode, OPT_pass_pipeline, OPT_ptxas},
                    program);
  if (path.empty()) {
    path = recorded->description.name;
    dumped.origin.file = path;
    dumped.origin.description = recorded->text;
    dumped.origin.weights = recorded->weightsName;
  }
}

//===----------------------------------------------------------------------===//
// Dumps
//===----------------------------------------------------------------------===//

void Session::openDump() {
  llvm::Expected<ReadModule> read =
      readModule(path, mlirContext, [](llvm::StringRef word) {
        return Arguments::refuseRecorded(word);
      });
  if (!read) {
    dumpStatus = reportError(read.takeError());
    return;
  }
  dumped = std::move(*read);
  if (!dumped.module) {
    dumpStatus = Rejected;
    return;
  }
  ModuleOrigin &origin = dumped.origin;
  if (origin.description.empty()) {
    printError(path + ": no description stands after the program; dumps of "
                      "'hova compile' have one");
    dumpStatus = Rejected;
    return;
  }
  if (arguments.has(OPT_weights)) {
    llvm::erase_if(origin.arguments, [](llvm::StringRef word) {
      return word.starts_with("--init");
    });
  }
  SmallVector<OptionID> settled = {OPT_set, OPT_dtype, OPT_tensors};
  if (isAfter("import")) {
    settled.append({OPT_strict, OPT_without});
  }
  if (isAfter("normalize")) {
    settled.append({OPT_target, OPT_gpu_arch});
  }
  arguments.inherit(origin.arguments, settled, path);
}

bool Session::isAfter(llvm::StringRef phase) {
  return dump() && &phaseOf(dump()) > findPhase(phase);
}

llvm::StringRef Session::dumpedLevel() {
  return isAfter("fuse") ? dumped.origin.level : llvm::StringRef();
}

/// The words of the command line that say what code is for, the default of a
/// machine written out.
static std::vector<std::string> targetArguments(const Arguments &arguments) {
  llvm::SmallVector<llvm::StringRef> targets = arguments.targets();
  std::string march =
      "--march=" + arguments.value(OPT_march, TargetChoice().march).str();
  if (targets == llvm::SmallVector<llvm::StringRef>{getDefaultFacts().name}) {
    return {march};
  }
  std::vector<std::string> words{"--target=" + llvm::join(targets, ",")};
  if (arguments.has(OPT_gpu_arch)) {
    words.push_back("--gpu-arch=" + arguments.value(OPT_gpu_arch).str());
  }
  if (llvm::is_contained(targets, getDefaultFacts().name)) {
    words.push_back(march);
  }
  return words;
}

/// Its name and a slash, which stand before that of the description.
std::string Session::folderName() const {
  if (!imports) {
    return "";
  }
  llvm::SmallString<256> whole;
  // "." has a name too.
  if (llvm::sys::fs::real_path(imports->path, whole)) {
    whole = imports->path;
  }
  return (llvm::sys::path::filename(whole) + "/").str();
}

ModuleOrigin Session::origin(llvm::StringRef level) const {
  ModuleOrigin origin = dumped.origin;
  if (origin.description.empty()) {
    origin.description = model.spec->source->text();
    origin.file = folderName() + llvm::sys::path::filename(path).str();
  }
  origin.level = level.str();
  origin.arguments = targetArguments(arguments);
  origin.arguments.push_back("--dtype=" +
                             arguments.value(OPT_dtype, "f32").str());
  if (arguments.has(OPT_tensors)) {
    origin.arguments.push_back("--tensors=" +
                               arguments.value(OPT_tensors).str());
  }
  for (const std::string &text : arguments.values(OPT_set)) {
    origin.arguments.push_back("--set=" + text);
  }
  // What a configuration decides is not to be looked for again.
  for (const frontend::ParameterOverride &value : model.configured) {
    std::string word = "--set=" + value.name + "=" + value.text;
    if (!llvm::is_contained(origin.arguments, word)) {
      origin.arguments.push_back(std::move(word));
    }
  }
  if (arguments.has(OPT_strict)) {
    origin.arguments.push_back("--strict");
  }
  for (const std::string &names : arguments.values(OPT_without)) {
    origin.arguments.push_back("--without=" + names);
  }
  if (!weightsPath.empty()) {
    origin.weights = llvm::sys::path::filename(weightsPath).str();
    origin.checkpoint = model.checkpoint;
  } else if (arguments.has(OPT_init)) {
    origin.weights.clear();
    origin.arguments.push_back("--init=" + arguments.value(OPT_init).str());
  }
  if (recorded) {
    // What is given again may have other names.
    origin.file = recorded->description.name;
    origin.weights = recorded->weightsName;
  }
  return origin;
}

std::string Session::foreignOperationAt(llvm::StringRef path) const {
  if (!model.program || path.empty()) {
    return "";
  }
  for (const frontend::ProgramOperation &op : model.program->operations) {
    auto [dialect, rest] = llvm::StringRef(op.mnemonic).split('.');
    std::string plugin =
        rest.empty() || op.path != path ? "" : pluginOfDialect(dialect);
    if (!plugin.empty()) {
      return "operation '" + op.mnemonic + "' of plugin '" + plugin + "'";
    }
  }
  return "";
}

/// "model.json:14:5: error: ..." and the path of the layer.
LogicalResult Session::report(Diagnostic &diagnostic) {
  auto layerOf = [](Diagnostic &message) {
    llvm::StringRef layer = pathOf(message.getLocation());
    return layer.empty() ? std::string() : "in layer " + layer.str();
  };
  DiagnosticSeverity severity = diagnostic.getSeverity();
  reader::Message message;
  message.severity =
      severity == DiagnosticSeverity::Error     ? reader::Severity::Error
      : severity == DiagnosticSeverity::Warning ? reader::Severity::Warning
                                                : reader::Severity::Note;
  message.file = path;
  message.message = diagnostic.str();
  if (auto place = diagnostic.getLocation()->findInstanceOf<FileLineColLoc>()) {
    // A dump has places of its own and those of its description.
    if (isDump(path)) {
      message.file = place.getFilename().str();
    }
    // The module of a dump without locations begins before the first line.
    if (place.getLine() != 0) {
      message.place = reader::Position{place.getLine(), place.getColumn()};
    }
  }
  if (std::string layer = layerOf(diagnostic); !layer.empty()) {
    message.notes.push_back(layer);
  }
  if (severity == DiagnosticSeverity::Error && blamed.empty()) {
    blamed = foreignOperationAt(pathOf(diagnostic.getLocation()));
  }
  for (Diagnostic &note : diagnostic.getNotes()) {
    std::string layer = layerOf(note);
    message.notes.push_back(note.str() + (layer.empty() ? "" : ", " + layer));
  }
  if (model.spec && !isDump(path)) {
    printAt(*model.spec->source, std::move(message));
  } else {
    print(message);
  }
  return success();
}

/// Which numbers the model has is part of what is imported.
LogicalResult Session::setStorage(Storage storage) {
  imported()->setAttr(kStorageAttr,
                      TypeAttr::get(storageType(&mlirContext, storage)));
  PassManager manager(&mlirContext);
  manager.addNestedPass<func::FuncOp>(createNormalizeStoragePass());
  return manager.run(imported());
}

int Session::readModel(frontend::ModelOptions options, Weights weights) {
  bool open = weights == Weights::Opened ||
              (weights == Weights::IfGiven && !options.weights.empty());
  const ModuleOrigin &origin = dumped.origin;
  if (recorded && options.checkpoint.empty()) {
    options.checkpoint = recorded->checkpoint;
  }
  if (!origin.description.empty()) {
    options.path = origin.file;
    options.text = origin.description;
    if (options.checkpoint.empty()) {
      options.checkpoint = origin.checkpoint;
    }
    if (open && options.weights.empty() && !origin.weights.empty() &&
        !arguments.has(OPT_init)) {
      return arguments.usageError(
          path + " was made with the weights of '" + origin.weights +
          "': give them with '--weights', or draw others with '--init'");
    }
  }
  if (options.folder) {
    path = options.path;
  }
  weightsPath = options.weights;
  imports = options.folder;
  frontend::ModelStatus status =
      frontend::readModel(options, model, llvm::errs());
  if (status != frontend::ModelStatus::Ok || !open) {
    return static_cast<int>(status);
  }
  auto parameters = model.program->parameters;
  status = frontend::openWeights(options, model, llvm::errs());
  if (status == frontend::ModelStatus::Ok && dump() &&
      model.checkpoint != origin.checkpoint &&
      model.program->parameters != parameters) {
    printError("the weights have the names of '" + model.checkpoint +
               "', which sets other parameters than " + path +
               " was made with; make it again with these weights");
    return Rejected;
  }
  return static_cast<int>(status);
}

int Session::load(const frontend::ModelOptions &options, Weights weights,
                  Storage storage) {
  if (dumpStatus != Ok) {
    return dumpStatus;
  }
  if (int status = readModel(options, weights)) {
    return status;
  }
  if (!model.note.empty()) {
    printNote(model.note);
  }
  if (int refused = model.weights ? checkWeights(*model.program, memory) : Ok) {
    return refused;
  }
  frontend::ImportedProgram imported =
      frontend::importProgram(*model.program, mlirContext);
  if (imported.mistake) {
    printAt(*model.spec->source, imported.mistake->message);
    return imported.mistake->isRejected
               ? int(Rejected)
               : internalError("the description was accepted, but an operator "
                               "made no valid operation of it");
  }
  importedModule = std::move(imported.module);
  if (storage != Storage::F32 && failed(setStorage(storage))) {
    return internalError("the storage type was not accepted");
  }
  if (!dump()) {
    return Ok;
  }
  auto target = getDefaultTarget(arguments.target());
  return succeeded(checkDump(dump(), this->imported(), *target)) ? Ok
                                                                 : Rejected;
}

std::vector<std::string> Session::weightFiles() const {
  return model.file ? model.file->files() : std::vector<std::string>();
}

WeightLookup Session::weights() {
  return [this](WeightOp op) -> FailureOr<HostTensor> {
    llvm::Expected<HostTensor> value = model.weights->load(op.getName());
    if (value) {
      return std::move(*value);
    }
    weightsRejected = true;
    return op.emitError(llvm::toString(value.takeError()));
  };
}

int Session::failureStatus() {
  std::string pass = getLastFailedPass();
  // What these refuse is the description, or that there is no code for it yet.
  auto refuses = [&](const TargetFacts *target) {
    return !pass.empty() && pass == target->refusingPass;
  };
  if (weightsRejected || pass == "hova-verify-demands" ||
      llvm::any_of(getTargets(), refuses)) {
    return Rejected;
  }
  if (dump()) {
    // Whatever was edited in it, its messages say what does not fit.
    return Rejected;
  }
  std::string plugin = pluginOfLibrary(getLastFailedLibrary());
  if (!plugin.empty()) {
    return pluginError("pass '" + pass + "' of plugin '" + plugin +
                       "' failed; --dump-ir=DIR keeps the program before it");
  }
  if (!pass.empty() && arguments.has(OPT_pass_pipeline)) {
    return pluginError("pass '" + pass +
                       "' failed, and '--pass-pipeline' adds passes to the "
                       "compiler's own; if none of them left what it refuses, "
                       "please report it; --dump-ir=DIR keeps the program "
                       "before it");
  }
  if (!blamed.empty()) {
    return pluginError(blamed + " is not compiled: pass '" + pass +
                       "' refuses it, for the reason above; --dump-ir=DIR "
                       "keeps the program before it");
  }
  if (pass.empty()) {
    return internalError("the description was accepted, but not compiled");
  }
  return internalError("the description was accepted, but pass '" + pass +
                       "' failed; --dump-ir=DIR keeps the program before it");
}

} // namespace hova::tool
