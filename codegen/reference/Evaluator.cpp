//===- Evaluator.cpp - Executes hova IR on host tensors -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/reference/Evaluator.h"
#include "dialect/Storage.h"
#include "dialect/dense/DenseOps.h"
#include "dialect/evaluate/Evaluate.h"
#include "dialect/placement/PlacementOps.h"
#include "dialect/token/TokenOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace hova;

using Element = HostTensor::Element;

static bool isFloat(const HostTensor &tensor) {
  return tensor.getElement() == Element::F64 ||
         tensor.getElement() == Element::F32;
}

/// Results are elements of the operands: of float32 ones they need no float64.
/// Not where an operation makes activations of weights (PerItem).
static bool movesData(Operation *op) {
  auto move = dyn_cast<MoveOpInterface>(op);
  return move && move.movesData() && !op->hasTrait<PerItem>();
}

/// The results of `op` with the absolute values of its summands; they compute
/// in `element`. None where nothing is known of summands.
static FailureOr<SmallVector<HostTensor>>
evaluateMagnitudes(ReferenceOpInterface op, ArrayRef<HostTensor> operands,
                   Element element) {
  SmallVector<HostTensor> absolute(operands), results;
  SmallVector<OpOperand *> summands = op.getSummands();
  for (OpOperand *summand : summands) {
    HostTensor &value = absolute[summand->getOperandNumber()];
    value = castTo(value, element);
    HostTensor magnitudes(element, value.getShape());
    withNumberType(element, [&](auto zero) {
      using T = decltype(zero);
      for (int64_t i = 0, e = value.size(); i < e; ++i) {
        magnitudes.mutableAs<T>()[i] = std::abs(value.as<T>()[i]);
      }
    });
    value = magnitudes;
  }
  if (!summands.empty() && failed(op.evaluate(absolute, results))) {
    return failure();
  }
  return results;
}

FailureOr<HostTensor>
hova::contractionMagnitudes(ReferenceOpInterface op,
                            ArrayRef<HostTensor> operands) {
  FailureOr<SmallVector<HostTensor>> magnitudes =
      evaluateMagnitudes(op, operands, Element::F64);
  if (succeeded(magnitudes) && magnitudes->empty()) {
    return op->emitOpError("is no contraction");
  }
  return succeeded(magnitudes) ? magnitudes->front() : FailureOr<HostTensor>();
}

/// NaN in the place of sums that leave float32 in some order of their
/// additions: those whose magnitudes do.
static LogicalResult loseOverflows(ReferenceOpInterface op,
                                   ArrayRef<HostTensor> operands,
                                   MutableArrayRef<HostTensor> results) {
  FailureOr<SmallVector<HostTensor>> magnitudes =
      evaluateMagnitudes(op, operands, Element::F32);
  if (failed(magnitudes)) {
    return failure();
  }
  // Nothing where there are none.
  for (auto [result, magnitude] : llvm::zip(results, *magnitudes)) {
    bool isNumber = result.getElement() == Element::F32;
    for (int64_t i = 0, e = isNumber ? result.size() : 0; i < e; ++i) {
      if (!std::isfinite(magnitude.at(i))) {
        result.mutableAs<float>()[i] = std::numeric_limits<float>::quiet_NaN();
      }
    }
  }
  return success();
}

StringRef hova::resultPath(KernelOp kernel, unsigned index) {
  Operation *producer = kernel.getComputed(index).getDefiningOp();
  StringRef path = producer ? pathOf(producer->getLoc()) : StringRef();
  return path.empty() ? kernel.getName() : path;
}

/// Float32 values of a 16-bit type are rounded to it.
static HostTensor inStorage(const HostTensor &value, Type type) {
  Storage storage = storageOf(getElementTypeOrSelf(type));
  return value.getElement() == Element::F32 ? roundTo(value, storage) : value;
}

/// Rounds the weights among the operands, in float64: what nothing has computed
/// with is still float32. Matrices and tables have two axes; learned values
/// with more are tokens, whatever makes them.
static void roundWeights(Operation *op, MutableArrayRef<HostTensor> operands) {
  // Columns beside computed ones become float64, as those are.
  bool isJoined = llvm::any_of(operands, [](const HostTensor &operand) {
    return operand.getElement() == Element::F64;
  });
  for (auto [index, operand] : llvm::enumerate(operands)) {
    Type type = op->getOperand(index).getType();
    bool staysStored =
        movesData(op) && !isJoined &&
        getElementTypeOrSelf(op->getResult(0)) == getElementTypeOrSelf(type);
    if (!staysStored && operand.getRank() <= 2) {
      operand = inStorage(operand, type);
    }
  }
}

static FailureOr<HostTensor> constantValue(arith::ConstantOp op) {
  auto values = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!values) {
    return op.emitOpError("has no reference evaluation for this type");
  }
  ArrayRef<int64_t> shape = values.getType().getShape();
  if (isa<FloatType>(values.getElementType())) {
    HostTensor result(Element::F64, shape);
    for (auto [index, value] : llvm::enumerate(values.getValues<APFloat>())) {
      result.mutableAs<double>()[index] = value.convertToDouble();
    }
    return result;
  }
  bool mask = values.getElementType().isInteger(1);
  HostTensor result(mask ? Element::I1 : Element::I64, shape);
  for (auto [index, value] : llvm::enumerate(values.getValues<APInt>())) {
    if (mask) {
      result.mutableAs<uint8_t>()[index] = !value.isZero();
    } else {
      result.mutableAs<int64_t>()[index] = value.getSExtValue();
    }
  }
  return result;
}

LogicalResult Evaluator::loadWeight(Operation *op,
                                    SmallVectorImpl<HostTensor> &results) {
  if (auto weight = dyn_cast<WeightOp>(op)) {
    FailureOr<HostTensor> value = weights(weight);
    if (failed(value)) {
      return failure();
    }
    results.push_back(*value);
    return success();
  }
  auto weight = cast<ImageWeightOp>(op);
  auto stored = image.find(weight.getName());
  if (stored == image.end()) {
    return weight.emitOpError(
               "names a tensor that the folding function did not store: '")
           << weight.getName() << "'";
  }
  HostTensor matrix = stored->second;
  // A plain run reads what is stored.
  if (precision != Precision::Double && isFloat(matrix)) {
    matrix =
        inStorage(castTo(matrix, Element::F32), weight.getResult().getType());
  }
  results.push_back(matrix);
  return success();
}

/// A view of the same elements with the shape of the result.
static HostTensor reshaped(const HostTensor &tensor, Type type) {
  auto keep = std::make_shared<HostTensor>(tensor);
  return HostTensor::view(tensor.getElement(),
                          cast<ShapedType>(type).getShape(), keep->data(),
                          keep);
}

LogicalResult Evaluator::runOperation(Operation *op,
                                      MutableArrayRef<HostTensor> operands,
                                      SmallVectorImpl<HostTensor> &results) {
  if (isa<WeightOp, ImageWeightOp>(op)) {
    return loadWeight(op, results);
  }
  if (auto target = dyn_cast<StoreWeightOp>(op)) {
    return store(target, operands.front());
  }
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    FailureOr<HostTensor> value = constantValue(constant);
    if (failed(value)) {
      return failure();
    }
    results.push_back(precision != Precision::Double && isFloat(*value)
                          ? castTo(*value, Element::F32)
                          : *value);
    return success();
  }
  if (auto kernel = dyn_cast<KernelOp>(op)) {
    FailureOr<Results> yielded = runKernel(kernel, operands);
    if (failed(yielded)) {
      return failure();
    }
    results.append(yielded->begin(), yielded->end());
    return success();
  }
  // Named by text, so that the tensor dialect is not linked for its reshapes.
  StringRef name = op->getName().getStringRef();
  if (name == "tensor.expand_shape" || name == "tensor.collapse_shape" ||
      name == "tensor.cast") {
    results.push_back(reshaped(operands.front(), op->getResult(0).getType()));
    return success();
  }
  auto table = dyn_cast<TableOpInterface>(op);
  if (table && makesImage) {
    table.tabulate(operands, results);
    return success();
  }
  auto reference = dyn_cast<ReferenceOpInterface>(op);
  if (!reference) {
    return op->emitOpError("has no reference evaluation");
  }
  bool isDouble = precision == Precision::Double;
  if (isDouble) {
    roundWeights(op, operands);
  }
  // One float64 operand makes an operation compute in float64.
  if (isDouble && !movesData(op)) {
    for (HostTensor &operand : operands) {
      if (isFloat(operand)) {
        operand = castTo(operand, Element::F64);
        break;
      }
    }
  }
  if (failed(reference.evaluate(operands, results)) ||
      (precision == Precision::AnyOrder &&
       failed(loseOverflows(reference, operands, results)))) {
    return failure();
  }
  for (auto [result, value] : llvm::zip(op->getResults(), results)) {
    value = isDouble ? value : inStorage(value, result.getType());
  }
  return success();
}

/// Evaluation computes shapes from its operands: they must be the declared
/// ones.
static LogicalResult checkShapes(Operation *op, ArrayRef<HostTensor> results) {
  for (auto [result, value] : llvm::zip_equal(op->getResults(), results)) {
    auto type = cast<ShapedType>(result.getType());
    if (failed(verifyCompatibleShape(type.getShape(), value.getShape()))) {
      return op->emitOpError("expects a value of type ")
             << type << ", evaluation gave another shape";
    }
  }
  return success();
}

LogicalResult Evaluator::runInto(Values &values, Operation *op,
                                 MutableArrayRef<HostTensor> operands) {
  Results results;
  if (failed(runOperation(op, operands, results)) ||
      failed(checkShapes(op, results))) {
    return failure();
  }
  for (auto [result, value] : llvm::zip_equal(op->getResults(), results)) {
    if (observer) {
      observer(result, value);
    }
    if (!result.use_empty()) {
      values[result] = value;
    }
  }
  return success();
}

FailureOr<SmallVector<HostTensor>>
Evaluator::runBlock(Block &block, ArrayRef<HostTensor> arguments) {
  Frame frame;
  for (auto [argument, value] :
       llvm::zip_equal(block.getArguments(), arguments)) {
    frame.values[argument] = value;
  }
  return runOperations(block, frame);
}

FailureOr<SmallVector<HostTensor>> Evaluator::runOperations(Block &block,
                                                            Frame &frame) {
  auto &[values, remaining] = frame;
  for (Operation &op : block) {
    // They stand together at the top; all at once may not fit into memory.
    if (isa<WeightOp>(op)) {
      continue;
    }
    if (auto stage = dyn_cast<StageOp>(op)) {
      FailureOr<Results> results =
          runOperations(stage.getBody().front(), frame);
      if (failed(results)) {
        return failure();
      }
      for (auto [result, value] : llvm::zip(stage.getResults(), *results)) {
        values[result] = value;
      }
      continue;
    }
    Results operands;
    for (Value operand : op.getOperands()) {
      auto weight = operand.getDefiningOp<WeightOp>();
      if (weight && !values.contains(operand) &&
          failed(runInto(values, weight, {}))) {
        return failure();
      }
      operands.push_back(values.lookup(operand));
    }
    // Last uses free their values before the operation makes new ones.
    for (Value operand : op.getOperands()) {
      auto [uses, first] = remaining.try_emplace(operand, 0);
      if (first) {
        uses->second = std::distance(operand.use_begin(), operand.use_end());
      }
      if (--uses->second == 0) {
        values.erase(operand);
      }
    }
    if (op.hasTrait<OpTrait::IsTerminator>()) {
      return operands;
    }
    if (failed(runInto(values, &op, operands))) {
      return failure();
    }
  }
  return Results();
}

FailureOr<SmallVector<HostTensor>>
Evaluator::runKernel(KernelOp kernel, ArrayRef<HostTensor> inputs) {
  Results arguments;
  for (auto [index, input] : llvm::enumerate(inputs)) {
    PlacementAttrInterface placement = kernel.getInputPlacement(index);
    arguments.push_back(placement ? placement.evaluate(input) : input);
  }
  FailureOr<Results> results = runBlock(kernel.getBody().front(), arguments);
  if (succeeded(results)) {
    for (auto [index, result] : llvm::enumerate(*results)) {
      PlacementAttrInterface placement = kernel.getResultPlacement(index);
      result = placement ? placement.evaluateInverse(result) : result;
    }
  }
  return results;
}

LogicalResult Evaluator::runStores(func::FuncOp program,
                                   StoreFunction newStore) {
  store = newStore;
  bool ran = succeeded(runBlock(program.getBody().front(), {}));
  store = nullptr;
  return success(ran);
}

LogicalResult Evaluator::foldWeights(func::FuncOp program,
                                     StoreFunction newStore) {
  makesImage = true;
  LogicalResult done =
      runStores(program, [&](StoreWeightOp op, const HostTensor &value) {
        HostTensor number =
            isFloat(value) ? castTo(value, Element::F32) : value;
        return newStore(op, inStorage(number, op.getValue().getType()));
      });
  makesImage = false;
  return done;
}

LogicalResult Evaluator::foldWeights(func::FuncOp program) {
  return runStores(program, [&](StoreWeightOp op, const HostTensor &value) {
    // How a weight lies in the image is no concern of who reads it.
    auto pack = op.getValue().getDefiningOp<PackOp>();
    image[op.getName()] =
        pack ? pack.getLayoutAttr().evaluateInverse(
                   value, cast<ShapedType>(pack.getX().getType()).getShape())
             : value;
    return success();
  });
}

/// Numbers as this evaluation computes with them.
SmallVector<HostTensor>
Evaluator::inPrecision(ArrayRef<HostTensor> inputs) const {
  Results converted(inputs.begin(), inputs.end());
  for (HostTensor &input : converted) {
    if (isFloat(input)) {
      input = castTo(input, precision == Precision::Double ? Element::F64
                                                           : Element::F32);
    }
  }
  return converted;
}

FailureOr<SmallVector<HostTensor>> Evaluator::run(func::FuncOp function,
                                                  ArrayRef<HostTensor> inputs) {
  if (inputs.size() != function.getNumArguments()) {
    return function.emitOpError("expects ")
           << function.getNumArguments() << " inputs, got " << inputs.size();
  }
  return runBlock(function.getBody().front(), inPrecision(inputs));
}

FailureOr<SmallVector<HostTensor>> Evaluator::run(KernelOp kernel,
                                                  ArrayRef<HostTensor> inputs) {
  return runKernel(kernel, inPrecision(inputs));
}
