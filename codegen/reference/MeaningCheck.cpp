//===- MeaningCheck.cpp - Passes keep what the program computes -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/reference/MeaningCheck.h"
#include "codegen/reference/Compare.h"
#include "codegen/reference/Evaluator.h"
#include "codegen/reference/Inputs.h"
#include "mlir/Pass/Pass.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace hova;

/// A weight's values follow from its name alone, so that they are the same
/// wherever a pass has moved it.
static FailureOr<HostTensor> weightByName(WeightOp op) {
  return makeNumbers(op.getResult().getType().getShape(), InputKind::Random,
                     llvm::xxh3_64bits(op.getName()));
}

/// Inputs that depend on the position and type of the argument only.
static FailureOr<SmallVector<HostTensor>> makeArguments(func::FuncOp function,
                                                        uint64_t seed) {
  SmallVector<HostTensor> arguments;
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes())) {
    auto shaped = dyn_cast<RankedTensorType>(type);
    if (!shaped || !shaped.hasStaticShape()) {
      return failure();
    }
    Type element = shaped.getElementType();
    uint64_t own = seed * 1000003 + index;
    if (element.isInteger(1)) {
      arguments.push_back(makeMask(shaped.getShape(), InputKind::Random, own));
    } else if (isa<IntegerType>(element)) {
      auto range =
          function.getArgAttrOfType<DenseI64ArrayAttr>(index, "hova.range");
      arguments.push_back(makeIds(shaped.getShape(), range ? range[0] : 0,
                                  range ? range[1] : 2, InputKind::Random,
                                  own));
    } else {
      arguments.push_back(
          makeNumbers(shaped.getShape(), InputKind::Random, own));
    }
  }
  return arguments;
}

MeaningCheck::Meaning MeaningCheck::evaluate(ModuleOp module) const {
  // What has no reference evaluation is no error here, only out of range.
  ScopedDiagnosticHandler silent(module.getContext(),
                                 [](Diagnostic &) { return success(); });
  Evaluator evaluator(weightByName);
  for (auto function : module.getOps<func::FuncOp>()) {
    bool stores = !function.isExternal() &&
                  !function.getBody().getOps<StoreWeightOp>().empty();
    if (stores && failed(evaluator.runWeightProgram(function))) {
      return {};
    }
  }
  Meaning result;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal() || function.getNumResults() == 0) {
      continue;
    }
    FailureOr<SmallVector<HostTensor>> arguments =
        makeArguments(function, seed);
    if (failed(arguments)) {
      continue;
    }
    FailureOr<SmallVector<HostTensor>> outputs =
        evaluator.run(function, *arguments);
    if (succeeded(outputs)) {
      result[function.getName()] = *outputs;
    }
  }
  return result;
}

static ModuleOp moduleOf(Operation *op) {
  auto module = dyn_cast<ModuleOp>(op);
  return module ? module : op->getParentOfType<ModuleOp>();
}

void MeaningCheck::runBeforePass(Pass *pass, Operation *op) {
  ModuleOp module = moduleOf(op);
  if (!started && module) {
    started = true;
    meaning = evaluate(module);
  }
}

void MeaningCheck::compare(Operation *function, StringRef pass,
                           ArrayRef<HostTensor> got,
                           ArrayRef<HostTensor> want) {
  if (got.size() != want.size()) {
    difference = true;
    function->emitError() << "pass '" << pass << "' changes the number of "
                          << "results";
    return;
  }
  for (auto [index, value] : llvm::enumerate(want)) {
    Comparison comparison = compareModel(got[index], value, value);
    if (!comparison.within) {
      difference = true;
      function->emitError()
          << "pass '" << pass << "' changes result " << index << " by up to "
          << llvm::formatv("{0:e2}", comparison.maxError).str();
    }
  }
}

void MeaningCheck::runAfterPass(Pass *pass, Operation *op) {
  ModuleOp module = moduleOf(op);
  // Other functions may be changing while a function's pass ends.
  bool alone =
      isa<ModuleOp>(op) || !op->getContext()->isMultithreadingEnabled();
  if (!module || !alone || meaning.empty()) {
    return;
  }
  Meaning now = evaluate(module);
  for (auto &entry : now) {
    auto before = meaning.find(entry.getKey());
    if (before != meaning.end()) {
      compare(module.lookupSymbol(entry.getKey()), pass->getName(),
              entry.getValue(), before->getValue());
    }
  }
  // The next pass is compared with this one's result: each difference once.
  meaning = std::move(now);
}
