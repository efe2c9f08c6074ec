//===- ReferenceModel.cpp - What a compiled model should compute ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/reference/ReferenceModel.h"

using namespace mlir;
using namespace hova;

WeightLookup hova::loadOnce(const WeightLookup &load) {
  auto loaded = std::make_shared<llvm::StringMap<HostTensor>>();
  return [=](WeightOp op) -> FailureOr<HostTensor> {
    auto known = loaded->find(op.getName());
    ArrayRef<int64_t> shape = op.getResult().getType().getShape();
    if (known != loaded->end() && known->second.getShape() == shape) {
      return known->second;
    }
    FailureOr<HostTensor> value = load(op);
    if (succeeded(value)) {
      loaded->try_emplace(op.getName(), *value);
    }
    return value;
  };
}

static llvm::Error evaluationFailed() {
  return llvm::createStringError("the reference evaluation failed");
}

llvm::Error ReferenceModel::foldWeights() {
  func::FuncOp weights = program.foldingFunction;
  if (weights && failed(evaluator.foldWeights(weights))) {
    return evaluationFailed();
  }
  return llvm::Error::success();
}

/// The number of a kernel in a program: its place in `main`.
static llvm::DenseMap<Operation *, int32_t> numberKernels(func::FuncOp main) {
  llvm::DenseMap<Operation *, int32_t> numbers;
  main.walk(
      [&](KernelOp kernel) { numbers.try_emplace(kernel, numbers.size()); });
  return numbers;
}

int32_t ReferenceModel::kernelOfOutput(uint32_t output) const {
  func::FuncOp main = program.kernels;
  Operation *producer = main.getBody()
                            .front()
                            .getTerminator()
                            ->getOperand(output)
                            .getDefiningOp();
  auto numbers = numberKernels(main);
  auto found = numbers.find(producer);
  return found == numbers.end() ? -1 : found->second;
}

/// Whether values of this tensor type are stored in a program as `dtype`.
static bool isStoredAs(Type type, int32_t dtype) {
  Type element = getElementTypeOrSelf(type);
  switch (dtype) {
  case HOVA_F32:
    return element.isF32();
  case HOVA_F64:
    return element.isF64();
  case HOVA_BF16:
    return element.isBF16();
  case HOVA_F16:
    return element.isF16();
  case HOVA_BOOL:
    return element.isInteger(1);
  case HOVA_I32:
    return element.isInteger(32);
  }
  return dtype == HOVA_I64 && element.isInteger();
}

llvm::Expected<ReferenceRun>
ReferenceModel::run(Precision precision, llvm::ArrayRef<HostTensor> inputs) {
  ReferenceRun result;
  evaluator.setPrecision(precision);
  evaluator.setObserver(nullptr);
  auto outputs = evaluator.run(precision == Precision::Double ? program.imported
                                                              : program.plain,
                               inputs);
  auto numbers = numberKernels(program.kernels);
  // Values are matched by kernel, layer path, type and shape; where a kernel
  // keeps several that agree in all of them, by their order. The type tells the
  // rounded copy of a layer that a product reads from the layer itself.
  evaluator.setObserver([&](OpResult of, const HostTensor &value) {
    auto kernel = dyn_cast<KernelOp>(of.getOwner());
    // What the function returns is an output and lies with the caller.
    if (!kernel || llvm::any_of(of.getUsers(), [](Operation *user) {
          return user->hasTrait<OpTrait::IsTerminator>();
        })) {
      return;
    }
    llvm::StringRef path = resultPath(kernel, of.getResultNumber());
    for (uint32_t i = 0; i < description.num_values; ++i) {
      const hova_value_info &info = description.values[i];
      if (info.kernel == numbers.lookup(kernel) && path == info.path &&
          isStoredAs(of.getType(), info.dtype) &&
          llvm::ArrayRef<int64_t>(info.dims, info.rank) == value.getShape() &&
          result.values.try_emplace(i, value).second) {
        return;
      }
    }
  });
  auto kernelOutputs = evaluator.run(program.kernels, inputs);
  if (failed(outputs) || failed(kernelOutputs)) {
    return evaluationFailed();
  }
  result.outputs = *outputs;
  result.kernelOutputs = *kernelOutputs;
  return result;
}
