//===- Verify.cpp - A compiled program against the reference evaluator ----===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/reference/Verify.h"
#include "codegen/reference/Compare.h"
#include "codegen/reference/Inputs.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace hova;

/// Weights may be drawn or converted when asked for; verification evaluates the
/// program several times.
static WeightLookup loadOnce(WeightLookup load) {
  auto loaded = std::make_shared<llvm::StringMap<HostTensor>>();
  return [=](WeightOp op) -> FailureOr<HostTensor> {
    auto known = loaded->find(op.getName());
    if (known != loaded->end()) {
      return known->second;
    }
    FailureOr<HostTensor> value = load(op);
    if (succeeded(value)) {
      loaded->try_emplace(op.getName(), *value);
    }
    return value;
  };
}

/// Tensors of fewer elements are small: the error of one plain run in them is
/// luck.
static constexpr int64_t kFew = 256;

namespace {
using Tensors = llvm::SmallVector<HostTensor>;
using Values = std::map<uint32_t, HostTensor>;

/// One evaluation of the kernels: outputs and the values the program keeps.
struct KernelRun {
  Tensors outputs;
  Values values;
};

/// Errors of plain runs on neighbouring inputs, zero for large tensors.
struct Neighbours {
  llvm::SmallVector<PlainError> outputs;
  std::map<uint32_t, PlainError> values; ///< by index in the program
};

class Verifier {
public:
  Verifier(const VerifiedProgram &reference, CompiledProgram &compiled,
           const VerifyOptions &options, llvm::raw_ostream &os)
      : reference(reference), compiled(compiled), options(options), os(os),
        evaluator(loadOnce(reference.weights)) {}

  llvm::Error runWeightProgram();
  llvm::Error runCase(int64_t index);
  bool passed() const { return firstDifference.empty(); }
  llvm::StringRef getFirstDifference() const { return firstDifference; }

private:
  llvm::Expected<Tensors> evaluate(func::FuncOp main, Precision precision,
                                   llvm::ArrayRef<HostTensor> inputs);
  llvm::Expected<KernelRun> evaluateKernels(Precision precision,
                                            llvm::ArrayRef<HostTensor> inputs);
  llvm::Expected<Neighbours>
  measureNeighbours(llvm::ArrayRef<HostTensor> inputs);
  void compareValues(const Values &got, const Values &plain, const Values &want,
                     Neighbours &neighbours);
  void compareMeaning(const Tensors &got, const Tensors &want);
  /// Whose units in the last place are granted besides the plain run's error:
  /// where there are many numbers that error says enough.
  Storage marginOf(const HostTensor &value) const {
    return value.size() < kFew ? options.storage : Storage::F32;
  }
  void report(llvm::StringRef what, const Comparison &comparison,
              llvm::ArrayRef<int64_t> shape);
  void row(llvm::StringRef what, const Comparison &comparison);

  const VerifiedProgram &reference;
  CompiledProgram &compiled;
  const VerifyOptions &options;
  llvm::raw_ostream &os;
  Evaluator evaluator;
  llvm::StringRef caseName;
  std::string firstDifference;
};
} // namespace

llvm::SmallVector<HostTensor> hova::makeInputs(const hova_program &program,
                                               uint64_t seed, int64_t index,
                                               Storage storage) {
  InputKind kind = index == 1   ? InputKind::Edges
                   : index == 2 ? InputKind::Zeros
                   : index == 3 ? InputKind::Large
                                : InputKind::Random;
  Tensors inputs;
  for (uint32_t i = 0; i < program.num_inputs; ++i) {
    const hova_tensor_info &info = program.inputs[i];
    llvm::ArrayRef<int64_t> shape(info.dims, info.rank);
    uint64_t own = seed * 1000003 + static_cast<uint64_t>(index) * 1009 + i;
    if (info.dtype == HOVA_BOOL) {
      inputs.push_back(makeMask(shape, kind, own));
    } else if (info.dtype == HOVA_I32 || info.dtype == HOVA_I64) {
      inputs.push_back(makeIds(shape, info.lower, info.upper, kind, own));
    } else {
      inputs.push_back(
          roundTo(makeNumbers(shape, kind, own, storage), storage));
    }
  }
  return inputs;
}

static llvm::Error evaluationFailed() {
  return llvm::createStringError("the reference evaluation failed");
}

llvm::Expected<Tensors> Verifier::evaluate(func::FuncOp main,
                                           Precision precision,
                                           llvm::ArrayRef<HostTensor> inputs) {
  evaluator.setPrecision(precision);
  evaluator.setObserver(nullptr);
  FailureOr<Tensors> outputs = evaluator.run(main, inputs);
  if (failed(outputs)) {
    return evaluationFailed();
  }
  return *outputs;
}

llvm::Error Verifier::runWeightProgram() {
  func::FuncOp program = reference.weightProgram;
  if (program && failed(evaluator.runWeightProgram(program))) {
    return evaluationFailed();
  }
  return llvm::Error::success();
}

/// Values are matched by kernel, layer path and shape; where a kernel keeps
/// several that agree in all three, by their order.
llvm::Expected<KernelRun>
Verifier::evaluateKernels(Precision precision,
                          llvm::ArrayRef<HostTensor> inputs) {
  llvm::DenseMap<Operation *, int32_t> kernelIndex;
  func::FuncOp main = reference.kernels;
  main.walk([&](KernelOp kernel) {
    kernelIndex.try_emplace(kernel, kernelIndex.size());
  });
  KernelRun run;
  evaluator.setPrecision(precision);
  evaluator.setObserver([&](OpResult result, const HostTensor &value) {
    auto kernel = dyn_cast<KernelOp>(result.getOwner());
    if (!kernel) {
      return;
    }
    llvm::StringRef path = resultPath(kernel, result.getResultNumber());
    const hova_program &program = compiled.description();
    for (uint32_t i = 0; i < program.num_values; ++i) {
      const hova_value_info &info = program.values[i];
      if (info.kernel == kernelIndex.lookup(kernel) && path == info.path &&
          llvm::ArrayRef<int64_t>(info.dims, info.rank) == value.getShape() &&
          run.values.try_emplace(i, value).second) {
        return;
      }
    }
  });
  FailureOr<Tensors> outputs = evaluator.run(main, inputs);
  if (failed(outputs)) {
    return evaluationFailed();
  }
  run.outputs = *outputs;
  return run;
}

void Verifier::row(llvm::StringRef what, const Comparison &comparison) {
  os << llvm::format("%-7s %-36s %9lld  %9.2e %9.2e  %9.2e %9.2e  %s\n",
                     caseName.str().c_str(), what.str().c_str(),
                     static_cast<long long>(comparison.elements),
                     comparison.maxError, comparison.maxBound,
                     comparison.rmsError, comparison.rmsBound,
                     comparison.within ? "ok" : "DIFFERS");
}

void Verifier::report(llvm::StringRef what, const Comparison &comparison,
                      llvm::ArrayRef<int64_t> shape) {
  row(what, comparison);
  if (comparison.within) {
    return;
  }
  os << "  " << comparison.reason << "\n";
  printWorst(comparison, shape, os);
  if (firstDifference.empty()) {
    firstDifference = what.str();
  }
}

/// Kernels in the order they run, so that the first failure is where a
/// difference enters. Of the values that are right only the worst is printed.
void Verifier::compareValues(const Values &got, const Values &plain,
                             const Values &want, Neighbours &neighbours) {
  const hova_program &program = compiled.description();
  std::vector<uint32_t> order;
  for (auto &[index, value] : got) {
    if (want.count(index)) {
      order.push_back(index);
    }
  }
  llvm::sort(order, [&](uint32_t a, uint32_t b) {
    return std::make_pair(program.values[a].kernel, a) <
           std::make_pair(program.values[b].kernel, b);
  });
  Comparison worst;
  double worstShare = -1;
  for (uint32_t index : order) {
    Comparison comparison =
        compareModel(got.at(index), plain.at(index), want.at(index),
                     marginOf(want.at(index)), neighbours.values[index]);
    if (!comparison.within) {
      report(program.values[index].path, comparison, want.at(index).getShape());
      continue;
    }
    double share =
        comparison.maxBound > 0 ? comparison.maxError / comparison.maxBound : 0;
    if (share > worstShare) {
      worstShare = share;
      worst = comparison;
    }
  }
  if (worstShare >= 0) {
    row(("worst of " + llvm::Twine(order.size()) + " values between kernels")
            .str(),
        worst);
  }
}

/// Passes may reassociate, never more: float64 keeps ten digits through that.
void Verifier::compareMeaning(const Tensors &got, const Tensors &want) {
  const hova_program &program = compiled.description();
  for (auto [index, value] : llvm::enumerate(want)) {
    Comparison comparison = compareModel(got[index], value, value);
    if (!comparison.within) {
      report(("kernels of " + llvm::Twine(program.outputs[index].name)).str(),
             comparison, value.getShape());
    }
  }
}

/// `inputs` with every number moved by at most four units in the last place of
/// the storage type.
static Tensors moveInputs(llvm::ArrayRef<HostTensor> inputs, uint64_t seed,
                          Storage storage) {
  Tensors moved;
  for (auto [i, input] : llvm::enumerate(inputs)) {
    if (input.getElement() != HostTensor::Element::F64 &&
        input.getElement() != HostTensor::Element::F32) {
      moved.push_back(input);
      continue;
    }
    HostTensor noise = makeNumbers(input.getShape(), InputKind::Random,
                                   seed * 7919 + static_cast<uint64_t>(i));
    HostTensor own(HostTensor::Element::F32, input.getShape());
    double unit = 2 * unitRoundoff(storage);
    for (int64_t k = 0, e = own.size(); k < e; ++k) {
      double share = std::clamp(noise.at(k), -4.0, 4.0) * unit;
      own.mutableAs<float>()[k] = static_cast<float>(input.at(k) * (1 + share));
    }
    moved.push_back(roundTo(own, storage));
  }
  return moved;
}

/// A plain run's error in a few numbers is luck: the rounding errors behind
/// them may just cancel. For small tensors it is the worst of several runs on
/// inputs that hardly differ.
llvm::Expected<Neighbours>
Verifier::measureNeighbours(llvm::ArrayRef<HostTensor> inputs) {
  constexpr int64_t runs = 4;
  const hova_program &program = compiled.description();
  auto isSmall = [&](int32_t rank, const int64_t *dims) {
    int64_t size = 1;
    for (int32_t axis = 0; axis < rank; ++axis) {
      size *= dims[axis];
    }
    return size < kFew;
  };
  auto isSmallOutput = [&](uint32_t i) {
    return isSmall(program.outputs[i].rank, program.outputs[i].dims);
  };
  auto isSmallValue = [&](uint32_t i) {
    return isSmall(program.values[i].rank, program.values[i].dims);
  };
  Neighbours errors;
  errors.outputs.resize(program.num_outputs);
  if (llvm::none_of(llvm::seq(program.num_outputs), isSmallOutput) &&
      llvm::none_of(llvm::seq(program.num_values), isSmallValue)) {
    return errors;
  }
  for (uint64_t run = 1; run <= runs; ++run) {
    Tensors moved = moveInputs(inputs, run, options.storage);
    auto want = evaluateKernels(Precision::Double, moved);
    auto plain = evaluateKernels(Precision::Single, moved);
    if (!want || !plain) {
      return llvm::joinErrors(want.takeError(), plain.takeError());
    }
    for (uint32_t i = 0; i < program.num_outputs; ++i) {
      if (isSmallOutput(i)) {
        errors.outputs[i] = errors.outputs[i].worse(
            measurePlain(plain->outputs[i], want->outputs[i]));
      }
    }
    for (auto &[i, value] : want->values) {
      if (isSmallValue(i)) {
        errors.values[i] =
            errors.values[i].worse(measurePlain(plain->values.at(i), value));
      }
    }
  }
  return errors;
}

llvm::Error Verifier::runCase(int64_t index) {
  static const char *const names[] = {"random", "edges", "zeros", "large"};
  caseName = index < 4 ? names[index] : "random";
  const hova_program &program = compiled.description();
  Tensors inputs = makeInputs(program, options.seed, index, options.storage);
  Values got;
  RunHooks hooks;
  hooks.values = &got;
  auto outputs = compiled.run(inputs, 1, hooks);
  if (!outputs) {
    return outputs.takeError();
  }
  auto again = compiled.run(inputs, options.threads);
  if (!again) {
    return again.takeError();
  }
  auto want = evaluate(reference.imported, Precision::Double, inputs);
  auto plain = evaluate(reference.plain, Precision::Single, inputs);
  auto kernels = evaluateKernels(Precision::Double, inputs);
  auto plainKernels = evaluateKernels(Precision::Single, inputs);
  if (!want || !plain || !kernels || !plainKernels) {
    return llvm::joinErrors(
        llvm::joinErrors(want.takeError(), plain.takeError()),
        llvm::joinErrors(kernels.takeError(), plainKernels.takeError()));
  }
  auto neighbours = measureNeighbours(inputs);
  if (!neighbours) {
    return neighbours.takeError();
  }
  compareValues(got, plainKernels->values, kernels->values, *neighbours);
  for (uint32_t i = 0; i < program.num_outputs; ++i) {
    report((llvm::Twine("output ") + program.outputs[i].name).str(),
           compareModel((*outputs)[i], (*plain)[i], (*want)[i],
                        marginOf((*want)[i]), neighbours->outputs[i]),
           (*want)[i].getShape());
    Comparison threads = compareExact((*again)[i], (*outputs)[i]);
    if (!threads.within) {
      report((llvm::Twine(options.threads) + " threads, " +
              program.outputs[i].name)
                 .str(),
             threads, (*want)[i].getShape());
    }
  }
  compareMeaning(kernels->outputs, *want);
  return llvm::Error::success();
}

llvm::Expected<bool> hova::verifyProgram(const VerifiedProgram &reference,
                                         CompiledProgram &compiled,
                                         const VerifyOptions &options,
                                         llvm::raw_ostream &os) {
  os << "inputs  value                                 elements  max error  "
        "   bound  rms error     bound\n";
  Verifier verifier(reference, compiled, options, os);
  if (llvm::Error error = verifier.runWeightProgram()) {
    return std::move(error);
  }
  for (int64_t index = 0; index < options.cases; ++index) {
    if (llvm::Error error = verifier.runCase(index)) {
      return std::move(error);
    }
  }
  if (verifier.passed()) {
    os << "verified: " << options.cases
       << " cases are within the numeric policy\n";
    return true;
  }
  os << "differs: " << verifier.getFirstDifference() << "\n";
  return false;
}
