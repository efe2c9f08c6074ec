//===- Verify.cpp - hova verify -------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Compares a program that nothing but this process sees with the reference
// evaluator.

#include "codegen/reference/ChangingPass.h"
#include "codegen/reference/VerifyReport.h"
#include "runtime/Machine.h"
#include "tools/hova/guard/Guard.h"
#include "tools/hova/output/Files.h"
#include "tools/hova/session/CompileSettings.h"
#include "tools/hova/session/TemporaryProgram.h"
#include "tools/hova/verbs/Verbs.h"
#include "tools/hova/verbs/VerifySizes.h"

using namespace mlir;

namespace hova::tool {

namespace {

constexpr uint64_t kMostCases = 1000000;
/// Floating-point operations of a program that is interpreted: some seconds.
constexpr uint64_t kMostInterpreted = 200000000;
/// Without this pass every operation is a kernel of its own.
constexpr llvm::StringLiteral kFuseKernels = "hova-fuse-kernels";

VerifyOptions readVerifyOptions(const Arguments &arguments) {
  VerifyOptions options;
  options.cases = arguments.number(OPT_cases, options.cases, 1, kMostCases);
  options.seed = arguments.number(OPT_seed, options.seed, 0, UINT32_MAX);
  if (arguments.has(OPT_case)) {
    options.onlyCase = arguments.number(OPT_case, 0, 0, kMostCases - 1);
    if (arguments.has(OPT_cases)) {
      arguments.usageError("options '--case' and '--cases' exclude each other");
    }
  }
  return options;
}

/// How mma.sync adds in the emulation.
hova_emulation_sums readSums(const Arguments &arguments) {
  llvm::StringRef name = arguments.word(OPT_mma_sums);
  return name == "a100"   ? HOVA_EMULATION_A100
         : name == "h100" ? HOVA_EMULATION_H100
                          : HOVA_EMULATION_IN_ORDER;
}

/// Where results of its `approx` instructions lie.
hova_emulation_approximations readApproximations(const Arguments &arguments) {
  llvm::StringRef name = arguments.word(OPT_approximations);
  return name == "above"    ? HOVA_EMULATION_ABOVE
         : name == "below"  ? HOVA_EMULATION_BELOW
         : name == "either" ? HOVA_EMULATION_EITHER
                            : HOVA_EMULATION_NEAREST;
}

/// What PTX leaves open, as an emulated GPU decides it.
struct Arithmetic {
  hova_emulation_sums sums;
  hova_emulation_approximations approximations;
};

/// One verification, from compiling to the verdict.
class Verification {
public:
  Verification(Session &session, CompileOptions &compileOptions,
               const VerifyOptions &options, bool guard, Arithmetic arithmetic,
               const SizeVerification &sizes)
      : session(session), compileOptions(compileOptions), options(options),
        guard(guard), arithmetic(arithmetic), sizes(sizes) {}

  /// The exit status.
  int run(bool json);

private:
  using Report = llvm::function_ref<void(const VerifiedCase &)>;

  llvm::Expected<VerifyResult> compare(CompiledModule &compiled,
                                       CompiledProgram &program,
                                       const VerifyOptions &how, Report report);
  Fault findFault(const VerifyResult &verdict, const CompiledProgram &program);
  int interpretBest(const hova_program &program);
  std::string lookInside(const VerifyResult &verdict);

  Session &session;
  CompileOptions &compileOptions;
  const VerifyOptions &options;
  bool guard;
  Arithmetic arithmetic;
  const SizeVerification &sizes;
  OwningOpRef<ModuleOp> plain;
};

llvm::Expected<VerifyResult> Verification::compare(CompiledModule &compiled,
                                                   CompiledProgram &program,
                                                   const VerifyOptions &how,
                                                   Report report) {
  VerifiedProgram reference =
      referenceOf(session, plain ? *plain : ModuleOp(), compiled);
  VerifyOptions options = how;
  std::vector<GuardedLaunch> launches;
  if (guard) {
    launches = planGuards(*compiled.tiled);
    options.guarded = launches;
  }
  return verifyProgram(reference, program, options, report);
}

/// What the same case says of the program in which every operation is a kernel
/// of its own.
std::string Verification::lookInside(const VerifyResult &verdict) {
  CompileOptions unfused = compileOptions;
  unfused.dumpDirectory.clear();
  unfused.passes.without.push_back(kFuseKernels.str());
  VerifyOptions one = options;
  one.onlyCase = verdict.caseIndex;
  CompiledModule compiled;
  TemporaryProgram program = compileForUse(session, unfused, &compiled);
  if (program.status != Ok) {
    return "";
  }
  auto single =
      compare(compiled, *program.program, one, [](const VerifiedCase &) {});
  if (!single) {
    llvm::consumeError(single.takeError());
    return "";
  }
  return single->difference
             ? "inside of it, the first layer that differs is " +
                   single->difference->name
             : "its operations are right as kernels of their own: what "
               "differs is how they are put together";
}

Fault Verification::findFault(const VerifyResult &verdict,
                              const CompiledProgram &program) {
  Fault fault;
  // Races and accesses out of bounds have no pass whose results differ, and of
  // a dump, it may be what was edited.
  if (!verdict.difference || session.dump() ||
      verdict.difference->check == Check::Threads ||
      verdict.difference->check == Check::Guard ||
      verdict.difference->check == Check::Sizes) {
    return fault;
  }
  const hova_program &description = program.description();
  SmallVector<HostTensor> inputs =
      makeInputs(description, options.seed, verdict.caseIndex, options.storage);
  PipelineOptions pipeline = compileOptions.pipeline();
  MeaningSummary passes =
      findChangingPass(session.module(), pipeline, session.weights(), inputs);
  fault.pass = passes.guiltyPass;
  fault.layer = passes.guiltyLayer;
  fault.recipes = passes.guiltyRecipes;
  int32_t kernel = verdict.difference->kernel;
  if (fault.pass.empty() && kernel >= 0) {
    fault.kernel = description.kernels[kernel].path;
    fault.function = description.kernels[kernel].symbol;
    fault.inside = lookInside(verdict);
  }
  return fault;
}

/// Where the processor has not what the best level of the program asks for, or
/// the system refuses it, so that the runs were those of another: interprets
/// the kernels of that level.
int Verification::interpretBest(const hova_program &program) {
  const hova_level &best = program.levels[0];
  if (session.dump() || best.features == 0 ||
      (best.features & ~hova_usable_features(&program)) == 0) {
    return Ok;
  }
  if (program.flops_executed > kMostInterpreted) {
    printNote("this machine cannot run level '" + llvm::Twine(best.name) +
              "', and the model is too large to be interpreted: what ran is "
              "another level");
    return Ok;
  }
  SmallVector<HostTensor> inputs = makeInputs(
      program, options.seed, options.onlyCase.value_or(0), options.storage);
  MeaningSummary found = findChangingPass(
      session.module(), compileOptions.pipeline(), session.weights(), inputs);
  if (!found.guiltyPass.empty()) {
    printError("level '" + llvm::Twine(best.name) +
               "', interpreted: the pass '" + found.guiltyPass +
               "' changes what " +
               (found.guiltyLayer.empty() ? "the program"
                                          : "'" + found.guiltyLayer + "'") +
               " computes");
    return Differs;
  }
  printNote("this machine cannot run level '" + llvm::Twine(best.name) +
            "': its kernels were interpreted, " +
            llvm::Twine(found.interpreted) + " runs, and are right");
  return Ok;
}

int Verification::run(bool json) {
  if (llvm::Error error =
          checkMemory(session.imported().lookupSymbol<func::FuncOp>("main"))) {
    return reportError(std::move(error));
  }
  if (options.storage != Storage::F32) {
    plain = makePlain(session);
    if (!plain) {
      return session.failureStatus();
    }
  }
  CompiledModule compiled;
  TemporaryProgram program = compileForUse(session, compileOptions, &compiled);
  if (program.status != Ok) {
    return program.status;
  }
  const TargetFacts &target = compileOptions.target->getFacts();
  auto writer = json ? makeVerifyJson(program.program->description(), target,
                                      llvm::outs())
                     : makeVerifyTable(target, llvm::outs());
  program.program->setSums(arithmetic.sums);
  program.program->setApproximations(arithmetic.approximations);
  bool begun = false;
  auto report = [&](const VerifiedCase &tried) {
    if (!begun) {
      writer->begin(options);
      begun = true;
    }
    writer->add(tried);
  };
  llvm::Expected<VerifyResult> verdict =
      compare(compiled, *program.program, options, report);
  bool isOfAnySize = program.program->description().ranges != nullptr;
  if (verdict && verdict->passed() && isOfAnySize && !options.onlyCase &&
      !session.dump()) {
    if (llvm::Error error = sizes.run(*program.program, *verdict, report)) {
      verdict = std::move(error);
    }
  }
  if (!verdict) {
    llvm::Error error = verdict.takeError();
    if (begun) {
      std::string why;
      llvm::raw_string_ostream(why) << error;
      writer->abandon(why);
    }
    return reportError(std::move(error));
  }
  program.program->stop();
  writer->end(*verdict, findFault(*verdict, *program.program));
  return verdict->passed() ? interpretBest(program.program->description())
                           : Differs;
}

} // namespace

int runVerify(Arguments &arguments) {
  Session session(arguments);
  frontend::ModelOptions modelOptions = readModelOptions(arguments);
  CompileOptions options = readCompileOptions(arguments);
  VerifyOptions verifyOptions = readVerifyOptions(arguments);
  // Programs are compared on what tells them apart best, and the seed of a
  // difference repeats all of it.
  if (modelOptions.weights.empty() && !arguments.has(OPT_init)) {
    modelOptions.drawing = frontend::Drawing::Varied;
    modelOptions.seed = verifyOptions.seed;
  }
  bool guard = arguments.has(OPT_guard);
  if (guard && !takeOneLevel(arguments, options)) {
    arguments.usageError("option '--guard' expects one level");
  }
  if (guard && session.isAfter("tile")) {
    arguments.usageError("option '--guard' expects a program of phase 'tile' "
                         "or before, whose buffers are still known");
  }
  Arithmetic arithmetic = {readSums(arguments), readApproximations(arguments)};
  bool json = arguments.word(OPT_format) == "json";
  verifyOptions.storage = options.storage;
  applyMemoryLimit(arguments);
  if (arguments.failed()) {
    return *arguments.failed();
  }
  FileUses uses(arguments, modelOptions);
  uses.writesReports(arguments, options);
  if (int status = uses.check()) {
    return status;
  }
  TimeTrace trace(arguments);
  if (int status = session.load(modelOptions, Session::Weights::Opened,
                                options.storage)) {
    return status;
  }
  for (const std::string &file : session.weightFiles()) {
    uses.reads(file, "of --weights");
  }
  if (int status = uses.check()) {
    return status;
  }
  describeModel(arguments, session, options);
  if (arguments.failed()) {
    return *arguments.failed();
  }
  SizeVerification sizes(arguments, modelOptions, options, verifyOptions);
  return trace.finish(
      Verification(session, options, verifyOptions, guard, arithmetic, sizes)
          .run(json));
}

} // namespace hova::tool
