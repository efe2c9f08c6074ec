//===- Verify.cpp - A compiled program against the reference evaluator ----===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/reference/Verify.h"
#include "codegen/reference/Inputs.h"
#include "codegen/reference/PlainRuns.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <cmath>
#include <unistd.h>

using namespace mlir;
using namespace hova;

using Tensors = llvm::SmallVector<HostTensor>;

/// Tensors of fewer elements are small.
static constexpr int64_t kFew = 256;

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

static InputKind kindOfCase(int64_t index) {
  return index == 1   ? InputKind::Edges
         : index == 2 ? InputKind::Zeros
         : index == 3 ? InputKind::Large
                      : InputKind::Random;
}

static llvm::StringRef nameOf(InputKind kind) {
  switch (kind) {
  case InputKind::Edges:
    return "edges";
  case InputKind::Zeros:
    return "zeros";
  case InputKind::Large:
    return "large";
  case InputKind::Random:
    break;
  }
  return "random";
}

llvm::SmallVector<HostTensor> hova::makeInputs(const hova_program &program,
                                               uint64_t seed, int64_t index,
                                               Storage storage) {
  InputKind kind = kindOfCase(index);
  Tensors inputs;
  for (uint32_t i = 0; i < program.num_inputs; ++i) {
    const hova_tensor_info &info = program.inputs[i];
    llvm::ArrayRef<int64_t> shape(info.dims, info.rank);
    uint64_t draw = seed * 1000003 + static_cast<uint64_t>(index) * 1009 + i;
    if (info.dtype == HOVA_BOOL) {
      inputs.push_back(makeMask(shape, kind, draw));
    } else if (info.dtype == HOVA_I32 || info.dtype == HOVA_I64) {
      inputs.push_back(makeIds(shape, info.lower, info.upper, kind, draw));
    } else {
      Storage given = storageOf(info.dtype);
      given = given == Storage::F32 ? storage : given;
      inputs.push_back(roundTo(makeNumbers(shape, kind, draw, given), given));
    }
  }
  return inputs;
}

std::string VerifiedValue::title() const {
  switch (check) {
  case Check::Value:
    return name;
  case Check::Output:
    return "output " + name;
  case Check::Threads:
    return "threads of " + name;
  case Check::Guard:
    return "guard of " + name;
  case Check::Meaning:
    return "kernels of " + name;
  case Check::Sizes:
    return "output " + name;
  }
  return name;
}

//===----------------------------------------------------------------------===//
// Cases
//===----------------------------------------------------------------------===//

namespace {
/// A value of the compiled program and what it is measured by.
struct Subject {
  Check check;    ///< Value or Output
  uint32_t index; ///< in the program's list of them
  int32_t kernel;
  const HostTensor &got, &plain, &want;
  /// Of a plain run in any order, where one was needed.
  const HostTensor *anyOrder = nullptr;
};

class Verifier {
public:
  Verifier(const VerifiedProgram &reference, CompiledProgram &compiled,
           const VerifyOptions &options)
      : reference(reference), compiled(compiled),
        program(compiled.description()), options(options),
        weights(loadOnce(reference.weights)),
        model(reference, program, weights) {}

  llvm::Error foldWeights() { return model.foldWeights(); }
  llvm::Expected<VerifiedCase> runCase(int64_t index);

private:
  VerifiedValue describe(Check check, uint32_t index, int32_t kernel,
                         Comparison comparison) const;
  Comparison compare(const Subject &subject, const PlainError &others) const;
  /// The outputs of runs on one thread and on several, with both ends of every
  /// buffer at a page. A fault ends them and is the one of `faults`.
  llvm::Expected<std::vector<Tensors>>
  runBetweenGuards(llvm::ArrayRef<HostTensor> inputs,
                   std::vector<VerifiedValue> &faults);
  void compareGuarded(llvm::ArrayRef<Tensors> runs,
                      llvm::ArrayRef<HostTensor> outputs,
                      std::vector<VerifiedValue> &values);
  llvm::Error compareAll(llvm::MutableArrayRef<Subject> subjects,
                         llvm::ArrayRef<HostTensor> inputs,
                         const ReferenceRun &want,
                         std::vector<VerifiedValue> &values);
  llvm::Error compareInAnyOrder(llvm::MutableArrayRef<Subject> subjects,
                                llvm::ArrayRef<HostTensor> inputs,
                                llvm::MutableArrayRef<VerifiedValue> values);

  const VerifiedProgram &reference;
  CompiledProgram &compiled;
  const hova_program &program;
  const VerifyOptions &options;
  WeightLookup weights;
  ReferenceModel model;
  /// Of the case at hand, where it was needed.
  ReferenceRun anyOrder;
};
} // namespace

VerifiedValue Verifier::describe(Check check, uint32_t index, int32_t kernel,
                                 Comparison comparison) const {
  VerifiedValue value{check, "", kernel, {}, std::move(comparison)};
  if (check == Check::Value) {
    const hova_value_info &info = program.values[index];
    value.name = info.path;
    value.shape.assign(info.dims, info.dims + info.rank);
  } else {
    const hova_tensor_info &info = program.outputs[index];
    value.name = info.name;
    value.shape.assign(info.dims, info.dims + info.rank);
  }
  return value;
}

Comparison Verifier::compare(const Subject &subject,
                             const PlainError &others) const {
  // Where there are many numbers, the plain run's error says enough; few are
  // granted units in the last place of the program's own type.
  Storage margin = subject.want.size() < kFew ? options.storage : Storage::F32;
  return compareModel(subject.got, subject.plain, subject.want, margin, others,
                      subject.anyOrder);
}

/// How many times the bound the error is; 0 where more runs change nothing.
static double excessOf(const Comparison &comparison) {
  if (comparison.within || !std::isfinite(comparison.maxError)) {
    return 0;
  }
  return std::max(comparison.maxError / comparison.maxBound,
                  comparison.rmsError / comparison.rmsBound);
}

/// Where the program has infinities and the plain run has numbers: compares
/// again, without sums that only some orders of their additions can hold.
llvm::Error
Verifier::compareInAnyOrder(llvm::MutableArrayRef<Subject> subjects,
                            llvm::ArrayRef<HostTensor> inputs,
                            llvm::MutableArrayRef<VerifiedValue> values) {
  if (llvm::none_of(values, [](const VerifiedValue &value) {
        return std::isinf(value.comparison.maxError);
      })) {
    return llvm::Error::success();
  }
  auto run = model.run(Precision::AnyOrder, inputs);
  if (!run) {
    return run.takeError();
  }
  anyOrder = std::move(*run);
  for (auto [subject, value] : llvm::zip_equal(subjects, values)) {
    if (std::isinf(value.comparison.maxError)) {
      subject.anyOrder = subject.check == Check::Value
                             ? &anyOrder.values.at(subject.index)
                             : &anyOrder.kernelOutputs[subject.index];
      value.comparison = compare(subject, {});
    }
  }
  return llvm::Error::success();
}

/// Judges by one plain run, and by more where that one may have been lucky.
llvm::Error Verifier::compareAll(llvm::MutableArrayRef<Subject> subjects,
                                 llvm::ArrayRef<HostTensor> inputs,
                                 const ReferenceRun &want,
                                 std::vector<VerifiedValue> &values) {
  for (const Subject &subject : subjects) {
    values.push_back(describe(subject.check, subject.index, subject.kernel,
                              compare(subject, {})));
  }
  if (llvm::Error error = compareInAnyOrder(subjects, inputs, values)) {
    return error;
  }
  PlainRuns neighbours(reference, program, weights, inputs, want,
                       options.storage);
  for (const PlainRunStep &step : plainRunSteps()) {
    std::vector<size_t> doubtful;
    for (auto [i, value] : llvm::enumerate(values)) {
      double excess = excessOf(value.comparison);
      if (excess > 0 && excess <= step.mostExcess) {
        doubtful.push_back(i);
      }
    }
    if (doubtful.empty()) {
      break;
    }
    if (llvm::Error error = neighbours.reach(step.neighbours)) {
      return error;
    }
    for (size_t i : doubtful) {
      const Subject &subject = subjects[i];
      values[i].comparison =
          compare(subject, subject.check == Check::Value
                               ? neighbours.ofValue(subject.index)
                               : neighbours.ofOutput(subject.index));
    }
  }
  return llvm::Error::success();
}

llvm::Expected<std::vector<Tensors>>
Verifier::runBetweenGuards(llvm::ArrayRef<HostTensor> inputs,
                           std::vector<VerifiedValue> &faults) {
  using Flush = GuardedMemory::Flush;
  std::vector<Tensors> runs;
  if (options.guarded.empty()) {
    return runs;
  }
  for (int32_t threads : {1, options.threads}) {
    for (Flush flush : {Flush::Back, Flush::Front}) {
      auto run = runGuarded(compiled, options.guarded, inputs, threads, flush);
      if (!run) {
        return run.takeError();
      }
      if (!run->fault.empty()) {
        Comparison broken;
        broken.reason = run->fault;
        faults.push_back({Check::Guard,
                          program.kernels[run->kernel].path,
                          run->kernel,
                          {},
                          std::move(broken)});
        return runs;
      }
      runs.push_back(std::move(run->outputs));
    }
  }
  return runs;
}

void Verifier::compareGuarded(llvm::ArrayRef<Tensors> runs,
                              llvm::ArrayRef<HostTensor> outputs,
                              std::vector<VerifiedValue> &values) {
  for (const Tensors &run : runs) {
    for (auto [i, output] : llvm::enumerate(run)) {
      Comparison same = compareExact(output, outputs[i]);
      if (!same.within) {
        same.reason += ": the program reads what it has not written";
      }
      values.push_back(
          describe(Check::Guard, i, model.kernelOfOutput(i), std::move(same)));
    }
  }
}

llvm::Expected<VerifiedCase> Verifier::runCase(int64_t index) {
  VerifiedCase result{index, nameOf(kindOfCase(index)), {}, {}};
  Tensors inputs = makeInputs(program, options.seed, index, options.storage);
  // First of all: what faults there would damage this process here.
  auto guarded = runBetweenGuards(inputs, result.values);
  if (!guarded) {
    return guarded.takeError();
  }
  if (!result.values.empty()) {
    return result;
  }
  std::map<uint32_t, HostTensor> got;
  RunHooks hooks;
  hooks.values = &got;
  auto outputs = compiled.run(inputs, 1, hooks);
  if (!outputs) {
    return outputs.takeError();
  }
  // An even number of heads or rows divides among two threads at the border of
  // one; among three, a thread begins inside.
  std::vector<Tensors> again;
  for (int32_t threads : {options.threads, options.threads + 1}) {
    auto run = compiled.run(inputs, threads);
    if (!run) {
      return run.takeError();
    }
    again.push_back(std::move(*run));
  }
  auto want = model.run(Precision::Double, inputs);
  auto plain = model.run(Precision::Single, inputs);
  if (!want || !plain) {
    return llvm::joinErrors(want.takeError(), plain.takeError());
  }
  // Values are numbered in the order of their kernels: the first that fails is
  // where a difference enters.
  std::vector<Subject> subjects;
  for (auto &[i, value] : want->values) {
    auto found = got.find(i);
    if (found != got.end()) {
      subjects.push_back({Check::Value, i, program.values[i].kernel,
                          found->second, plain->values.at(i), value});
    }
  }
  for (uint32_t i = 0; i < program.num_outputs; ++i) {
    subjects.push_back({Check::Output, i, model.kernelOfOutput(i),
                        (*outputs)[i], plain->outputs[i], want->outputs[i]});
  }
  Tensors ofAnySize;
  if (options.ranged) {
    auto run = options.ranged->run(inputs, options.threads);
    if (!run) {
      return run.takeError();
    }
    ofAnySize = std::move(*run);
    for (uint32_t i = 0; i < program.num_outputs; ++i) {
      subjects.push_back({Check::Sizes, i, -1, ofAnySize[i], plain->outputs[i],
                          want->outputs[i]});
    }
  }
  if (llvm::Error error = compareAll(subjects, inputs, *want, result.values)) {
    return std::move(error);
  }
  for (uint32_t i = 0; i < program.num_outputs; ++i) {
    int32_t kernel = model.kernelOfOutput(i);
    Comparison same = compareExact(again[0][i], (*outputs)[i]);
    if (same.within) {
      same = compareExact(again[1][i], (*outputs)[i]);
    }
    result.values.push_back(
        describe(Check::Threads, i, kernel, std::move(same)));
    // Passes may reassociate, never more: float64 keeps ten digits through it.
    result.values.push_back(
        describe(Check::Meaning, i, kernel,
                 compareModel(want->kernelOutputs[i], want->outputs[i],
                              want->outputs[i])));
  }
  compareGuarded(*guarded, *outputs, result.values);
  return result;
}

//===----------------------------------------------------------------------===//
// The verdict
//===----------------------------------------------------------------------===//

void hova::addCase(VerifyResult &verdict, const VerifiedCase &tried) {
  ++verdict.cases;
  for (const VerifiedValue &value : tried.values) {
    if (!value.comparison.within && !verdict.difference) {
      verdict.difference = value;
      verdict.caseIndex = tried.index;
      verdict.inputs = tried.inputs;
      verdict.sizes = tried.sizes;
    }
  }
}

/// Adds a case to the verdict; `compared` counts elements by title.
static void judge(VerifyResult &verdict, const VerifiedCase &tried,
                  std::map<std::string, int64_t> &compared) {
  addCase(verdict, tried);
  for (const VerifiedValue &value : tried.values) {
    bool measured = value.check == Check::Value || value.check == Check::Output;
    if (measured && value.comparison.elements > 0) {
      compared[value.title()] += value.comparison.compared;
    }
  }
}

/// Of three digits, as 1.66 TB.
static std::string memoryText(double bytes) {
  static constexpr const char *units[] = {"GB", "TB", "PB", "EB"};
  double number = bytes * 1e-9;
  const char *const *unit = units;
  // What would print as 1000 is 1 of the next.
  for (; number >= 999.5 && unit + 1 != std::end(units); ++unit) {
    number /= 1000;
  }
  return llvm::formatv(number < 9.995   ? "{0:F2} {1}"
                       : number < 99.95 ? "{0:F1} {1}"
                                        : "{0:F0} {1}",
                       number, *unit)
      .str();
}

/// Fails where this machine has less memory than `elements` in float64.
static llvm::Error checkElements(double elements, const char *what) {
  double bytes = elements * sizeof(double);
  double most = static_cast<double>(sysconf(_SC_PHYS_PAGES)) *
                static_cast<double>(sysconf(_SC_PAGESIZE));
  return bytes <= most
             ? llvm::Error::success()
             : llvm::createStringError(
                   std::errc::not_enough_memory,
                   "%s take %s in float64, and this machine has %s of memory",
                   what, memoryText(bytes).c_str(), memoryText(most).c_str());
}

static double elementsOf(llvm::ArrayRef<int64_t> shape) {
  double elements = 1;
  for (int64_t axis : shape) {
    elements *= static_cast<double>(axis);
  }
  return elements;
}

llvm::Error hova::checkMemory(func::FuncOp main) {
  double elements = 0;
  for (Type type : llvm::concat<const Type>(main.getArgumentTypes(),
                                            main.getResultTypes())) {
    elements += elementsOf(cast<ShapedType>(type).getShape());
  }
  return checkElements(elements, "inputs and outputs");
}

/// What one evaluation has at once: all that it is compared by.
static llvm::Error checkMemory(const hova_program &program) {
  double elements = 0;
  auto add = [&](const auto &info) {
    elements += elementsOf(llvm::ArrayRef<int64_t>(info.dims, info.rank));
  };
  std::for_each_n(program.inputs, program.num_inputs, add);
  std::for_each_n(program.outputs, program.num_outputs, add);
  std::for_each_n(program.values, program.num_values, add);
  return checkElements(elements,
                       "inputs, outputs and what stands between kernels");
}

llvm::Expected<VerifyResult>
hova::verifyProgram(const VerifiedProgram &reference, CompiledProgram &compiled,
                    const VerifyOptions &options,
                    llvm::function_ref<void(const VerifiedCase &)> report) {
  if (llvm::Error error = checkMemory(compiled.description())) {
    return std::move(error);
  }
  Verifier verifier(reference, compiled, options);
  if (llvm::Error error = verifier.foldWeights()) {
    return std::move(error);
  }
  VerifyResult verdict;
  std::map<std::string, int64_t> compared;
  int64_t first = options.onlyCase.value_or(0);
  int64_t end = options.onlyCase ? first + 1 : options.cases;
  for (int64_t index = first; index < end; ++index) {
    auto tried = verifier.runCase(index);
    if (!tried) {
      return tried.takeError();
    }
    judge(verdict, *tried, compared);
    report(*tried);
  }
  for (auto &[title, elements] : compared) {
    if (elements == 0) {
      verdict.neverCompared.push_back(title);
    }
  }
  return verdict;
}
