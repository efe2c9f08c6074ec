//===- MeaningCheck.cpp - Passes keep what the program computes -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/reference/MeaningCheck.h"
#include "codegen/reference/Compare.h"
#include "codegen/reference/Inputs.h"
#include "codegen/reference/ReferenceModel.h"
#include "dialect/Site.h"
#include "dialect/attention/AttentionOps.h"
#include "dialect/program/ProgramOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/xxhash.h"
#include <cmath>

using namespace mlir;
using namespace hova;

void MeaningSummary::add(const MeaningSummary &later) {
  passes += later.passes;
  compared += later.compared;
  values += later.values;
  interpreted += later.interpreted;
  inPart += later.inPart;
  llvm::append_range(notInterpreted, later.notInterpreted);
  if (obstacle.empty()) {
    obstacle = later.obstacle;
  }
  if (guiltyPass.empty()) {
    guiltyPass = later.guiltyPass;
    guiltyLayer = later.guiltyLayer;
    guiltyRecipes = later.guiltyRecipes;
  }
}

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

/// A weight's values follow from its name alone, so that they are the same
/// wherever a pass has moved it. Matrices keep the size of what they multiply:
/// a deep model would overflow otherwise.
static FailureOr<HostTensor> weightByName(WeightOp op) {
  ArrayRef<int64_t> shape = op.getResult().getType().getShape();
  uint64_t seed = llvm::xxh3_64bits(op.getName());
  // Numbers of blocks, for `[heads, blocks - 2, count]` of them.
  bool isTable = llvm::any_of(
      op->getUsers(), [](Operation *user) { return isa<IndexTableOp>(user); });
  if (isTable && shape.size() == 3) {
    HostTensor ids = makeIds(shape, -1, shape[1] + 2, InputKind::Random, seed);
    HostTensor value(HostTensor::Element::F32, shape);
    for (int64_t i = 0, e = value.size(); i < e; ++i) {
      value.mutableAs<float>()[i] = static_cast<float>(ids.at(i));
    }
    return value;
  }
  HostTensor value = makeNumbers(shape, InputKind::Random, seed);
  if (shape.size() > 1) {
    float factor = 1 / std::sqrt(static_cast<float>(shape.front()));
    for (int64_t i = 0, e = value.size(); i < e; ++i) {
      value.mutableAs<float>()[i] *= factor;
    }
  }
  return value;
}

MeaningCheck::MeaningCheck(uint64_t seed)
    : seed(seed), weights(loadOnce(weightByName)) {}

/// Inputs that depend on the position and type of the argument only.
FailureOr<SmallVector<HostTensor>>
MeaningCheck::makeArguments(func::FuncOp function) {
  if (!inputs.empty()) {
    return SmallVector<HostTensor>(inputs);
  }
  SmallVector<HostTensor> arguments;
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes())) {
    auto shaped = dyn_cast<RankedTensorType>(type);
    if (!shaped || !shaped.hasStaticShape()) {
      return function.emitError()
             << "argument " << index << " of '" << function.getName()
             << "' is no tensor of static shape, but " << type;
    }
    Type element = shaped.getElementType();
    uint64_t drawn = seed * 1000003 + index;
    if (element.isInteger(1)) {
      arguments.push_back(
          makeMask(shaped.getShape(), InputKind::Random, drawn));
    } else if (isa<IntegerType>(element)) {
      auto range =
          function.getArgAttrOfType<DenseI64ArrayAttr>(index, "hova.range");
      arguments.push_back(makeIds(shaped.getShape(), range ? range[0] : 0,
                                  range ? range[1] : 2, InputKind::Random,
                                  drawn));
    } else {
      arguments.push_back(
          makeNumbers(shaped.getShape(), InputKind::Random, drawn));
    }
  }
  return arguments;
}

MeaningCheck::Meaning MeaningCheck::evaluate(ModuleOp module,
                                             ValueObserver observer) {
  // What has no reference evaluation is no error here, only out of range.
  ScopedDiagnosticHandler silent(module.getContext(),
                                 [this](Diagnostic &diagnostic) {
                                   if (summary.obstacle.empty()) {
                                     summary.obstacle = diagnostic.str();
                                   }
                                   return success();
                                 });
  Evaluator evaluator(weights);
  for (auto function : module.getOps<func::FuncOp>()) {
    bool stores = !function.isExternal() &&
                  !function.getBody().getOps<StoreWeightOp>().empty();
    if (stores && failed(evaluator.foldWeights(function))) {
      return {};
    }
  }
  evaluator.setObserver(std::move(observer));
  Meaning result;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal() || function.getNumResults() == 0) {
      continue;
    }
    FailureOr<Results> arguments = makeArguments(function);
    if (failed(arguments)) {
      continue;
    }
    FailureOr<Results> outputs = evaluator.run(function, *arguments);
    if (succeeded(outputs)) {
      result[function.getName()] = *outputs;
    }
  }
  if (result.empty() && summary.obstacle.empty()) {
    summary.obstacle = "no function has results";
  }
  return result;
}

static ModuleOp moduleOf(Operation *op) {
  auto module = dyn_cast<ModuleOp>(op);
  return module ? module : op->getParentOfType<ModuleOp>();
}

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

/// What is other about the results of a function; empty: nothing.
std::string MeaningCheck::differenceOf(StringRef function,
                                       ArrayRef<HostTensor> got,
                                       ArrayRef<HostTensor> want) {
  if (got.size() != want.size()) {
    return llvm::formatv("the number of results of '{0}'", function);
  }
  for (auto [index, value] : llvm::enumerate(want)) {
    Comparison comparison = compareModel(got[index], value, value);
    summary.values += comparison.compared > 0 || !comparison.within;
    if (!comparison.within) {
      return llvm::formatv("result {0} of '{1}' by up to {2:e2}", index,
                           function, comparison.maxError);
    }
  }
  return "";
}

/// The first operation whose value none of those has that had its layer path
/// and shape before, or null. A path that is new tells nothing.
Operation *MeaningCheck::findFirstDifference(ModuleOp now) {
  llvm::StringMap<Results> before;
  evaluate(*previous, [&](OpResult result, const HostTensor &value) {
    before[pathOf(result.getLoc())].push_back(value);
  });
  Operation *first = nullptr;
  evaluate(now, [&](OpResult result, const HostTensor &value) {
    auto known = before.find(pathOf(result.getLoc()));
    if (first || known == before.end()) {
      return;
    }
    bool sameShape = false;
    for (const HostTensor &other : known->second) {
      if (other.getShape() == value.getShape()) {
        sameShape = true;
        if (compareModel(value, other, other).within) {
          return;
        }
      }
    }
    first = sameShape ? result.getOwner() : nullptr;
  });
  return first;
}

void MeaningCheck::blame(StringRef pass, StringRef layer) {
  if (summary.guiltyPass.empty()) {
    summary.guiltyPass = pass.str();
    summary.guiltyLayer = layer.str();
  }
}

void MeaningCheck::report(ModuleOp now, StringRef function, StringRef pass,
                          StringRef what) {
  Operation *op = findFirstDifference(now);
  StringRef layer = op ? pathOf(op->getLoc()) : StringRef();
  blame(pass, layer);
  // At the place alone: the whole function would hide the sentence.
  InFlightDiagnostic error =
      emitError(op ? op->getLoc() : now.lookupSymbol(function)->getLoc());
  error << "pass '" << pass << "' changes " << what;
  if (op) {
    error << "; the first value that differs is that of '"
          << op->getName().getStringRef() << "'";
    if (!layer.empty()) {
      error << " at " << layer;
    }
  }
}

//===----------------------------------------------------------------------===//
// Kernel functions
//===----------------------------------------------------------------------===//

/// Whether `main` launches kernel functions that are there. In the phase
/// `target` they leave the module.
static bool hasLaunches(ModuleOp module) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main || main.isExternal() || main.getOps<LaunchOp>().empty()) {
    return false;
  }
  LaunchOp first = *main.getOps<LaunchOp>().begin();
  auto callee = module.lookupSymbol<func::FuncOp>(first.getCallee());
  return callee && !callee.isExternal();
}

LogicalResult MeaningCheck::startKernels() {
  if (kernels) {
    return success();
  }
  auto main = previous->lookupSymbol<func::FuncOp>("main");
  if (!main) {
    return previous->emitError("there is no function 'main'");
  }
  FailureOr<Results> arguments = makeArguments(main);
  if (failed(arguments)) {
    return failure();
  }
  FailureOr<KernelCheck> made =
      KernelCheck::make(*previous, weights, *arguments);
  if (failed(made)) {
    return failure();
  }
  kernels.emplace(std::move(*made));
  return success();
}

/// The operations of the kernel at `path` that begin its stages: those whose
/// recipes its loops are.
static std::string anchorsOf(ModuleOp module, StringRef path) {
  SmallVector<std::string> names;
  module.walk([&](KernelOp kernel) {
    if (pathOf(kernel.getLoc()) != path) {
      return;
    }
    for (StageOp stage : kernel.getBody().getOps<StageOp>()) {
      std::string name = stage.getAnchor()->getName().getStringRef().str();
      if (!llvm::is_contained(names, name)) {
        names.push_back(name);
      }
    }
  });
  return names.empty() ? "" : "'" + llvm::join(names, "', '") + "'";
}

void MeaningCheck::compareKernels(ModuleOp now, StringRef pass,
                                  StringRef onlyFunction) {
  // The first functions are as the recipes have written them.
  bool areNew = !kernels;
  FailureOr<std::vector<CheckedKernel>> checked = failure();
  {
    ScopedDiagnosticHandler silent(now.getContext(),
                                   [this](Diagnostic &diagnostic) {
                                     if (summary.obstacle.empty()) {
                                       summary.obstacle = diagnostic.str();
                                     }
                                     return success();
                                   });
    if (succeeded(startKernels())) {
      checked = kernels->check(now, onlyFunction);
    }
  }
  if (failed(checked)) {
    return;
  }
  int64_t before = summary.values;
  for (const CheckedKernel &kernel : *checked) {
    std::string name = kernel.function + " (" + kernel.path + ")";
    if (!kernel.obstacle.empty()) {
      summary.notInterpreted.push_back(name + " after " + pass.str() + ": " +
                                       kernel.obstacle);
      continue;
    }
    summary.values += kernel.results;
    ++summary.interpreted;
    summary.inPart += kernel.units < kernel.ofUnits;
    if (!kernel.difference.empty() &&
        different.insert(kernel.function).second) {
      if (areNew && summary.guiltyPass.empty()) {
        summary.guiltyRecipes = anchorsOf(*previous, kernel.path);
      }
      blame(pass, kernel.path);
      emitError(now.lookupSymbol(kernel.function)->getLoc())
          << "pass '" << pass << "' changes " << name << ": "
          << kernel.difference;
    }
  }
  summary.compared += summary.values > before;
}

//===----------------------------------------------------------------------===//
// Instrumentation
//===----------------------------------------------------------------------===//

/// What people call a pass.
static StringRef argumentOf(Pass *pass) {
  return pass->getArgument().empty() ? pass->getName() : pass->getArgument();
}

void MeaningCheck::runBeforePass(Pass *pass, Operation *op) {
  ModuleOp module = moduleOf(op);
  if (!started && module) {
    started = true;
    meaning = evaluate(module);
    previous = meaning.empty() ? nullptr : cast<ModuleOp>(module->clone());
  }
}

void MeaningCheck::runAfterPass(Pass *pass, Operation *op) {
  ModuleOp module = moduleOf(op);
  // Other functions may be changing while a function's pass ends.
  bool alone =
      isa<ModuleOp>(op) || !op->getContext()->isMultithreadingEnabled();
  // A pass manager in a pass manager is a pass itself.
  bool isAdaptor = pass->getName().contains("OpToOpPassAdaptor");
  if (!module || !alone || isAdaptor) {
    return;
  }
  ++summary.passes;
  if (meaning.empty()) {
    return;
  }
  if (hasLaunches(module)) {
    auto function = dyn_cast<func::FuncOp>(op);
    compareKernels(module, argumentOf(pass),
                   function ? function.getName() : StringRef());
    return;
  }
  if (kernels) {
    // The functions have gone where code is made of them.
    meaning.clear();
    return;
  }
  int64_t before = summary.values;
  Meaning now = evaluate(module);
  for (auto &entry : now) {
    auto known = meaning.find(entry.getKey());
    if (known == meaning.end()) {
      continue;
    }
    std::string what =
        differenceOf(entry.getKey(), entry.getValue(), known->second);
    if (!what.empty()) {
      report(module, entry.getKey(), argumentOf(pass), what);
    }
  }
  summary.compared += summary.values > before;
  // The next pass is compared with this one's result: each difference once.
  meaning = std::move(now);
  previous = meaning.empty() ? nullptr : cast<ModuleOp>(module->clone());
}
