//===- KernelCheck.cpp - Kernel functions keep what kernels compute -------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/reference/KernelCheck.h"
#include "codegen/reference/Inputs.h"
#include "codegen/reference/ReferenceModel.h"
#include "codegen/reference/interpret/Numbers.h"
#include "dialect/Ranges.h"
#include "passes/tile/ProgramAttrs.h"
#include "llvm/ADT/StringSet.h"
#include <cmath>

using namespace mlir;
using namespace hova;

using Element = HostTensor::Element;
using Results = llvm::SmallVector<HostTensor>;

/// What memory holds before it is written: NaN in every type of numbers.
static constexpr uint8_t kPoison = 0xff;

/// Work of one interpreted function, in floating-point operations: a second or
/// so where tiles have become vectors.
static constexpr int64_t kMostFlops = 500'000'000;

/// Plain runs of neighbouring inputs, beside that of the inputs themselves.
static constexpr int64_t kNeighbours = 16;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Calls `visit(index, byte)` for every element of a buffer, row by row.
static void forEachElement(MemRefType type,
                           llvm::function_ref<void(int64_t, int64_t)> visit) {
  auto [strides, offset] = type.getStridesAndOffset();
  ArrayRef<int64_t> shape = type.getShape();
  int64_t bytes = bytesOf(kindOf(type));
  for (int64_t index = 0, e = type.getNumElements(); index < e; ++index) {
    int64_t rest = index, at = offset;
    for (size_t d = shape.size(); d-- > 0;) {
      at += rest % shape[d] * strides[d];
      rest /= shape[d];
    }
    visit(index, at * bytes);
  }
}

/// With all of its last row.
static int64_t sizeOf(MemRefType type) {
  auto [strides, offset] = type.getStridesAndOffset();
  int64_t elements = type.getRank() ? type.getShape()[0] * strides[0] : 1;
  return (offset + elements) * bytesOf(kindOf(type));
}

static void write(const HostTensor &tensor, MemRefType type, Memory &memory) {
  Kind kind = kindOf(type);
  forEachElement(type, [&](int64_t index, int64_t byte) {
    Lane lane;
    if (isFloat(kind)) {
      lane.number = tensor.at(index);
    } else {
      lane.integer = static_cast<int64_t>(tensor.at(index));
    }
    writeElement(kind, lane, &memory[byte]);
  });
}

namespace {
/// The elements of a buffer that have been written, and what they should be.
struct Written {
  int64_t count = 0;
  /// Without those of which a plain run knows nothing, as its own type
  /// overflows.
  HostTensor got, want, plain;
};
} // namespace

static Written readWritten(const Memory &memory, MemRefType type,
                           const HostTensor &want, const HostTensor &plain) {
  Written result;
  Kind kind = kindOf(type);
  int64_t bytes = bytesOf(kind);
  std::vector<double> values[3];
  forEachElement(type, [&](int64_t index, int64_t byte) {
    auto begin = memory.begin() + byte;
    if (std::all_of(begin, begin + bytes,
                    [](uint8_t value) { return value == kPoison; })) {
      return;
    }
    ++result.count;
    if (std::isfinite(want.at(index)) && !std::isfinite(plain.at(index))) {
      return;
    }
    Lane lane = readElement(kind, &memory[byte]);
    values[0].push_back(isFloat(kind) ? lane.number : lane.integer);
    values[1].push_back(want.at(index));
    values[2].push_back(plain.at(index));
  });
  HostTensor *tensors[] = {&result.got, &result.want, &result.plain};
  for (auto [tensor, numbers] : llvm::zip(tensors, values)) {
    *tensor = HostTensor(Element::F64, static_cast<int64_t>(numbers.size()));
    llvm::copy(numbers, tensor->mutableAs<double>());
  }
  return result;
}

//===----------------------------------------------------------------------===//
// What kernels compute
//===----------------------------------------------------------------------===//

KernelCheck::KernelCheck(ModuleOp module, const WeightLookup &weights)
    : assigned(cast<ModuleOp>(module->clone())), weights(loadOnce(weights)) {}

FailureOr<KernelCheck> KernelCheck::make(ModuleOp assigned,
                                         const WeightLookup &weights,
                                         ArrayRef<HostTensor> inputs) {
  KernelCheck check(assigned, weights);
  if (failed(check.run(inputs))) {
    return failure();
  }
  return check;
}

LogicalResult KernelCheck::run(ArrayRef<HostTensor> inputs) {
  auto main = assigned->lookupSymbol<func::FuncOp>("main");
  if (!main) {
    return assigned->emitError("there is no function 'main'");
  }
  Evaluator evaluator(weights, Precision::Single);
  auto program = assigned->lookupSymbol<func::FuncOp>("weights");
  if (program && failed(evaluator.foldWeights(program))) {
    return failure();
  }
  evaluator.setObserver([&](OpResult result, const HostTensor &value) {
    if (result.getOwner()->getParentOp() == main) {
      values[result] = value;
    }
  });
  for (auto [argument, value] : llvm::zip(main.getArguments(), inputs)) {
    values[argument] = value;
  }
  return success(succeeded(evaluator.run(main, inputs)));
}

/// Fills in what the kernel computes.
LogicalResult KernelCheck::evaluateKernel(KernelOp kernel) {
  if (expectations.count(kernel)) {
    return success();
  }
  Results operands;
  for (Value operand : kernel.getInputs()) {
    operands.push_back(values.lookup(operand));
  }
  Evaluator evaluator(weights);
  auto evaluate = [&](ArrayRef<HostTensor> numbers, Precision precision) {
    evaluator.setPrecision(precision);
    return evaluator.run(kernel, numbers);
  };
  FailureOr<Results> exact = evaluate(operands, Precision::Double);
  FailureOr<Results> plain = evaluate(operands, Precision::Single);
  if (failed(exact) || failed(plain)) {
    return failure();
  }
  expectations[kernel] = Expectation{operands, *exact, *plain, {}};
  return success();
}

/// Fills in the errors of plain runs on neighbouring inputs.
LogicalResult KernelCheck::runNeighbours(KernelOp kernel) {
  Expectation &expectation = expectations[kernel];
  if (!expectation.others.empty()) {
    return success();
  }
  expectation.others.resize(expectation.results.size());
  Evaluator evaluator(weights);
  for (int64_t seed = 1; seed <= kNeighbours; ++seed) {
    Results moved;
    for (auto [operand, value] :
         llvm::zip(kernel.getInputs(), expectation.operands)) {
      Type element = getElementTypeOrSelf(operand.getType());
      if (element.isInteger()) {
        moved.push_back(value); // ids, masks and rows have no neighbours
        continue;
      }
      Storage storage = storageOf(element);
      Moves moves = seed % 2 ? Moves::Each : Moves::Alike;
      moved.push_back(
          roundTo(moveByUnits(value, seed, storage, moves), storage));
    }
    evaluator.setPrecision(Precision::Double);
    FailureOr<Results> want = evaluator.run(kernel, moved);
    evaluator.setPrecision(Precision::Single);
    FailureOr<Results> got = evaluator.run(kernel, moved);
    if (failed(want) || failed(got)) {
      return failure();
    }
    for (auto [i, error] : llvm::enumerate(expectation.others)) {
      error.addRun((*got)[i], (*want)[i]);
    }
  }
  return success();
}

/// Numbers in the bytes of their type.
static Memory packed(const HostTensor &value, Type element) {
  Kind kind = kindOf(element);
  int64_t bytes = bytesOf(kind);
  Memory memory(value.size() * bytes);
  for (int64_t i = 0, e = value.size(); i < e; ++i) {
    Lane lane;
    if (element.isInteger()) {
      lane.integer = value.as<int64_t>()[i];
    } else {
      lane.number = value.at(i);
    }
    writeElement(kind, lane, &memory[i * bytes]);
  }
  return memory;
}

LogicalResult KernelCheck::pack(func::FuncOp program, Image &stored) {
  if (!program || !stored.empty()) {
    return success();
  }
  Evaluator evaluator(weights);
  return evaluator.foldWeights(
      program,
      [&](StoreWeightOp store, const HostTensor &value) -> LogicalResult {
        auto offset = store->getAttrOfType<IntegerAttr>(kOffsetAttr);
        if (!offset) {
          return store.emitError("has no place in the image");
        }
        Type element = getElementTypeOrSelf(store.getValue().getType());
        stored[offset.getInt()] = packed(value, element);
        return success();
      });
}

//===----------------------------------------------------------------------===//
// Interpretation
//===----------------------------------------------------------------------===//

/// Parts of a kernel's units, as threads would divide them, or a few of many.
static SmallVector<std::pair<int64_t, int64_t>> chunksOf(LaunchOp launch,
                                                         UnitRanges ranges) {
  int64_t units = ranges.units, grain = ranges.least;
  int64_t flops = std::max<int64_t>(launch.getFlops(), 1);
  SmallVector<std::pair<int64_t, int64_t>> chunks;
  // Of fewer than three there is no start, middle and end.
  if (flops <= kMostFlops || units < 3) {
    int64_t parts = std::clamp<int64_t>(units / grain, 1, 3);
    for (int64_t i = 0; i < parts; ++i) {
      chunks.push_back({units * i / parts, units * (i + 1) / parts});
    }
    return chunks;
  }
  double unit = static_cast<double>(flops) / units;
  int64_t chunk = std::max<int64_t>(grain, kMostFlops / unit / 3);
  chunk = std::min(chunk, units / 3);
  for (int64_t begin : {int64_t(0), (units - chunk) / 2, units - chunk}) {
    chunks.push_back({begin, begin + chunk});
  }
  return chunks;
}

/// A buffer for every value that the launch hands over, however often it is an
/// operand: inputs filled, everything else poison.
KernelCheck::Buffers KernelCheck::buffersOf(LaunchOp launch, KernelOp kernel) {
  Buffers buffers;
  size_t inputs = kernel.getInputs().size();
  for (auto [i, buffer] : llvm::enumerate(launch.getBuffers())) {
    auto [entry, isNew] = buffers.insert({buffer, Memory()});
    if (!isNew) {
      continue;
    }
    if (auto weight = buffer.getDefiningOp<ImageBufferOp>()) {
      entry->second = image[weight.getOffset()];
      continue;
    }
    if (auto table = buffer.getDefiningOp<TableBufferOp>()) {
      entry->second = tables[table.getOffset()];
      continue;
    }
    if (buffer.getDefiningOp<SequenceBufferOp>()) {
      // What a kernel means is what it does to the largest sizes.
      SmallVector<int32_t> table =
          SequenceRanges::readFrom(launch)->makeLargestTable();
      auto *bytes = reinterpret_cast<const uint8_t *>(table.data());
      entry->second.assign(bytes, bytes + table.size() * sizeof(int32_t));
      continue;
    }
    Operation *place = buffer.getDefiningOp();
    if (auto given =
            place ? place->getAttrOfType<DenseI64ArrayAttr>(kContentsAttr)
                  : DenseI64ArrayAttr()) {
      ArrayRef<char> bytes = given.getRawData();
      entry->second.assign(bytes.begin(), bytes.end());
      entry->second.resize(sizeOf(cast<MemRefType>(buffer.getType())));
      continue;
    }
    auto type = cast<MemRefType>(buffer.getType());
    entry->second.assign(sizeOf(type), kPoison);
    if (i < inputs) {
      write(values.lookup(kernel.getInputs()[i]), type, entry->second);
    }
  }
  return buffers;
}

/// Calls the function for chunks of the units; the number of units.
static FailureOr<int64_t>
callInChunks(Interpreter &interpreter, LaunchOp launch, UnitRanges ranges,
             MemRefType scratchType, llvm::MapVector<Value, Memory> &memories) {
  Memory scratch;
  SmallVector<Memory *> arguments;
  for (Value buffer : launch.getBuffers()) {
    arguments.push_back(&memories[buffer]);
  }
  arguments.push_back(&scratch);
  int64_t units = 0;
  for (auto [begin, end] : chunksOf(launch, ranges)) {
    scratch.assign(sizeOf(scratchType), kPoison);
    if (failed(interpreter.run(arguments, {begin, end}))) {
      return failure();
    }
    units += end - begin;
  }
  return units;
}

/// What differs about result `index`; empty: nothing.
std::string KernelCheck::differenceOf(KernelOp kernel, unsigned index,
                                      const Memory &memory, MemRefType type,
                                      bool isWhole) {
  const Expectation &expected = expectations[kernel];
  Written written =
      readWritten(memory, type, expected.results[index], expected.plain[index]);
  std::string name = "result " + std::to_string(index);
  int64_t elements = type.getNumElements();
  if (written.count == 0 || (isWhole && written.count != elements)) {
    return name + ": " + std::to_string(written.count) + " of " +
           std::to_string(elements) + " elements are written";
  }
  Storage storage =
      storageOf(getElementTypeOrSelf(kernel.getResult(index).getType()));
  if (getElementTypeOrSelf(kernel.getResult(index).getType()).isInteger()) {
    Comparison exact = compareExact(written.got, written.want);
    return exact.within ? "" : name + ": " + exact.reason;
  }
  Comparison comparison =
      compareModel(written.got, written.plain, written.want, storage);
  // One plain run may have been lucky.
  if (!comparison.within && std::isfinite(comparison.maxError) &&
      succeeded(runNeighbours(kernel))) {
    comparison = compareModel(written.got, written.plain, written.want, storage,
                              expectations[kernel].others[index]);
  }
  return comparison.within ? "" : name + ": " + comparison.reason;
}

CheckedKernel KernelCheck::checkLaunch(LaunchOp launch, KernelOp kernel) {
  CheckedKernel checked;
  checked.function = launch.getCallee().str();
  checked.path = launch.getName().str();
  std::optional<UnitRanges> ranges = launch.getShape().getUnitRanges();
  if (!ranges) {
    llvm::raw_string_ostream(checked.obstacle)
        << "a launch of the shape " << launch.getShape()
        << " does not call it for a range of units";
    return checked;
  }
  checked.ofUnits = ranges->units;
  // A sentence of the result, not an error of the program.
  std::string said;
  ScopedDiagnosticHandler heard(launch.getContext(),
                                [&](Diagnostic &diagnostic) {
                                  said = diagnostic.str();
                                  return success();
                                });
  auto function =
      launch->getParentOfType<ModuleOp>().lookupSymbol<func::FuncOp>(
          launch.getCallee());
  Interpreter interpreter(function);
  if (failed(evaluateKernel(kernel)) || failed(interpreter.prepare())) {
    checked.obstacle = said;
    return checked;
  }
  Buffers buffers = buffersOf(launch, kernel);
  size_t count = launch.getBuffers().size();
  auto scratch = cast<MemRefType>(function.getArgumentTypes()[count]);
  FailureOr<int64_t> units =
      callInChunks(interpreter, launch, *ranges, scratch, buffers);
  if (failed(units)) {
    checked.difference = said;
    return checked;
  }
  checked.units = *units;
  size_t first = kernel.getInputs().size();
  for (unsigned i = 0; i < kernel.getNumResults(); ++i) {
    Value buffer = launch.getBuffers()[first + i];
    ++checked.results;
    checked.difference = differenceOf(kernel, i, buffers[buffer],
                                      cast<MemRefType>(buffer.getType()),
                                      checked.units == checked.ofUnits);
    if (!checked.difference.empty()) {
      break;
    }
  }
  return checked;
}

FailureOr<std::vector<CheckedKernel>>
KernelCheck::check(ModuleOp tiled, StringRef onlyFunction) {
  auto main = tiled.lookupSymbol<func::FuncOp>("main");
  SmallVector<LaunchOp> launches;
  if (main && !main.isExternal()) {
    llvm::append_range(launches, main.getOps<LaunchOp>());
  }
  auto before = assigned->lookupSymbol<func::FuncOp>("main");
  SmallVector<KernelOp> kernels(before.getOps<KernelOp>());
  if (launches.size() != kernels.size()) {
    return tiled.emitError("'main' launches ")
           << launches.size() << " functions for " << kernels.size()
           << " kernels";
  }
  if (failed(pack(tiled.lookupSymbol<func::FuncOp>(kFoldingFunction), image)) ||
      failed(pack(tiled.lookupSymbol<func::FuncOp>(kTableProgram), tables))) {
    return failure();
  }
  std::vector<CheckedKernel> result;
  llvm::StringSet<> done;
  for (auto [launch, kernel] : llvm::zip(launches, kernels)) {
    StringRef callee = launch.getCallee();
    bool isAsked = onlyFunction.empty() || onlyFunction == callee;
    if (!isAsked || !done.insert(callee).second) {
      continue;
    }
    // Most passes leave most functions as they are.
    OperationFingerPrint now(tiled.lookupSymbol(callee));
    auto [known, isNew] = lastSeen.try_emplace(callee, now);
    if (isNew || known->second != now) {
      known->second = now;
      result.push_back(checkLaunch(launch, kernel));
    }
  }
  return result;
}
