//===- ProgramTiler.cpp - Kernels as functions over buffers ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/tile/ProgramTiler.h"
#include "dialect/Shapes.h"
#include "dialect/dense/DenseOps.h"
#include "dialect/token/TokenOps.h"
#include "passes/tile/Arena.h"
#include "passes/tile/CheckKernels.h"
#include "passes/tile/KernelParts.h"
#include "passes/tile/ProgramAttrs.h"
#include "passes/tile/RangedLaunches.h"
#include "passes/tile/WeightPlaces.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace hova {
namespace {
/// Where a value of `main` lives.
struct Place {
  enum Kind { Argument, Image, Table, Arena } kind = Arena;
  MemRefType type;
  int64_t index = 0;   ///< argument number, image offset, or block
  int64_t bytes = 0;   ///< from the start of the arena block
  bool isPart = false; ///< of the value that the arena block is
};

/// Where a value stands in another that it is a part of.
struct Part {
  Value whole;
  RowSteps rows;
};

class ProgramTiler {
public:
  ProgramTiler(ModuleOp module, func::FuncOp main, const KernelCode &code)
      : module(module), main(main), code(code), builder(module.getContext()),
        weights(module, main) {}

  LogicalResult run();

private:
  void placeArguments();
  void findParts();
  /// The place of what is no work: what others compute, under another name.
  void placeReshaped(ReshapeOp reshape);
  LogicalResult placeRows(RowViewOpInterface view);
  Place newBlock(RankedTensorType type, LayoutAttr layout);
  Place placeResult(OpResult result, LayoutAttr layout, KernelBuffers &buffers);
  std::optional<Place> placeOver(OpResult result, LayoutAttr layout,
                                 KernelBuffers &buffers);
  LogicalResult describeKernels(), emitFunctions();
  LogicalResult describeKernel(KernelBuffers &buffers);
  LogicalResult rewriteMain();
  ArrayAttr describeValues();
  StringRef nameFunction(const KernelBuffers &buffers);

  ModuleOp module;
  func::FuncOp main;
  const KernelCode &code;
  OpBuilder builder;
  /// Of values of `main`, and of region values that only one kernel sees.
  DenseMap<Value, Place> places;
  DenseMap<Value, Part> parts;
  SmallVector<ArenaBlock> blocks;
  SmallVector<KernelBuffers, 0> kernels;
  SmallVector<std::string> callees;
  llvm::StringMap<int> names;
  WeightPlaces weights;
};
} // namespace

void ProgramTiler::placeArguments() {
  int64_t index = 0;
  for (Value argument : main.getArguments()) {
    auto type = cast<RankedTensorType>(argument.getType());
    places[argument] = {Place::Argument, bufferType(type, 0), index++};
  }
  for (Value result : main.getBody().front().getTerminator()->getOperands()) {
    auto type = cast<RankedTensorType>(result.getType());
    places[result] = {Place::Argument, bufferType(type, 0), index++};
  }
}

void ProgramTiler::findParts() {
  for (auto assembly : main.getOps<AssembleOpInterface>()) {
    for (OpOperand &operand : assembly->getOpOperands()) {
      parts[operand.get()] = {
          assembly->getResult(0),
          *assembly.getOperandRows(operand.getOperandNumber())};
    }
  }
}

/// A block that is alive in the kernel that is described.
Place ProgramTiler::newBlock(RankedTensorType type, LayoutAttr layout) {
  int64_t index = kernels.size();
  MemRefType buffer = bufferType(type, layout.getSize());
  blocks.push_back({bytesOf(buffer), index, index, 0});
  return Place{Place::Arena, buffer, static_cast<int64_t>(blocks.size()) - 1};
}

/// The place of an input that nothing reads after the kernel, where the result
/// may stand instead; nothing where it needs one of its own.
std::optional<Place> ProgramTiler::placeOver(OpResult result, LayoutAttr layout,
                                             KernelBuffers &buffers) {
  KernelOp kernel = buffers.kernel;
  std::optional<unsigned> index =
      code.getOverwritable(kernel, result.getResultNumber());
  if (!index || !isLastReader(kernel, *index)) {
    return std::nullopt;
  }
  Place place = places.lookup(kernel.getInputs()[*index]);
  auto type = cast<RankedTensorType>(result.getType());
  if (place.kind != Place::Arena || place.isPart ||
      place.type != bufferType(type, layout.getSize())) {
    return std::nullopt;
  }
  unsigned first = kernel.getInputs().size();
  buffers.overwritten.append({*index, first + result.getResultNumber()});
  return place;
}

/// The place of what a kernel computes: its own, or rows of a value that it is
/// a part of, which has the same layout.
Place ProgramTiler::placeResult(OpResult result, LayoutAttr layout,
                                KernelBuffers &buffers) {
  auto type = cast<RankedTensorType>(result.getType());
  auto part = parts.find(result);
  if (part == parts.end()) {
    std::optional<Place> over = placeOver(result, layout, buffers);
    return over ? *over : newBlock(type, layout);
  }
  auto [whole, rows] = part->second;
  if (!places.count(whole)) {
    places[whole] = newBlock(cast<RankedTensorType>(whole.getType()), layout);
  }
  Place place = places[whole];
  int64_t stride = place.type.getStridesAndOffset().first.front();
  place.bytes = rows.first * stride * elementBytes(place.type);
  place.type = bufferType(type, rows.step * stride);
  place.isPart = true;
  return place;
}

LogicalResult ProgramTiler::describeKernel(KernelBuffers &buffers) {
  KernelOp kernel = buffers.kernel;
  int64_t index = kernels.size();
  auto use = [&](Value value, Value placed) {
    // A copy: the map may grow below.
    Place place = places[placed];
    if (place.kind == Place::Arena) {
      blocks[place.index].lastUse = index;
    }
    buffers.values.push_back(value);
    buffers.types.push_back(place.type);
    places[value] = place;
  };
  for (auto [argument, input] :
       llvm::zip(kernel.getBody().getArguments(), kernel.getInputs())) {
    use(argument, input);
  }
  auto yield = cast<YieldOp>(kernel.getBody().front().getTerminator());
  for (auto [value, result] :
       llvm::zip(yield.getValues(), kernel.getResults())) {
    if (!places.count(result)) {
      // A call that may make the map grow.
      Place place = placeResult(result, layoutOf(value), buffers);
      places[result] = place;
    }
    use(value, result);
  }
  for (Value value : code.getStageBuffers(kernel)) {
    auto type = cast<RankedTensorType>(value.getType());
    buffers.values.push_back(value);
    buffers.types.push_back(bufferType(type, layoutOf(value).getSize()));
  }
  buffers.shape = kernel.getScheduleAttr().getLaunchShape(kernel);
  buffers.flops = countFlops(code, buffers);
  return success(buffers.shape != nullptr);
}

void ProgramTiler::placeReshaped(ReshapeOp reshape) {
  Place place = places[reshape.getX()]; // which is dense
  place.type = bufferType(reshape.getResult().getType(), 0);
  places[reshape.getResult()] = place;
}

LogicalResult ProgramTiler::placeRows(RowViewOpInterface view) {
  Place place = places[view->getOperand(0)];
  RowSteps rows = *view.getSourceRows();
  int64_t stride = place.type.getStridesAndOffset().first.front();
  place.bytes += rows.first * stride * elementBytes(place.type);
  if (place.bytes % kArenaAlignment != 0) {
    return view->emitOpError("reads rows from byte ")
           << place.bytes << " of a value on, expects a multiple of "
           << kArenaAlignment;
  }
  place.type = bufferType(cast<RankedTensorType>(view->getResult(0).getType()),
                          rows.step * stride);
  place.isPart = true;
  places[view->getResult(0)] = place;
  return success();
}

LogicalResult ProgramTiler::describeKernels() {
  findParts();
  for (Operation &op : main.getBody().front()) {
    if (auto reshape = dyn_cast<ReshapeOp>(op)) {
      placeReshaped(reshape);
    } else if (auto view = dyn_cast<RowViewOpInterface>(op);
               view && failed(placeRows(view))) {
      return failure();
    }
    auto kernel = dyn_cast<KernelOp>(op);
    if (!kernel) {
      continue;
    }
    KernelBuffers buffers;
    buffers.kernel = kernel;
    if (failed(code.checkSchedule(kernel)) || failed(describeKernel(buffers))) {
      return failure();
    }
    kernels.push_back(std::move(buffers));
  }
  return success();
}

/// `attn_query`, from the last part of the path, numbered where taken.
StringRef ProgramTiler::nameFunction(const KernelBuffers &buffers) {
  std::string name = "kernel";
  KernelOp kernel = buffers.kernel;
  SmallVector<StringRef> parts;
  kernel.getName().split(parts, '.');
  for (StringRef part : parts) {
    if (!part.empty() && !llvm::all_of(part, llvm::isDigit)) {
      name += "_" + part.str();
    }
  }
  for (char &c : name) {
    c = llvm::isAlnum(c) ? c : '_';
  }
  int count = names[name]++;
  callees.push_back(count ? name + "_" + std::to_string(count) : name);
  return callees.back();
}

LogicalResult ProgramTiler::emitFunctions() {
  llvm::StringMap<std::string> emitted;
  builder.setInsertionPointToEnd(module.getBody());
  for (const KernelBuffers &buffers : kernels) {
    std::string &callee = emitted[structureOf(buffers)];
    if (callee.empty()) {
      callee = nameFunction(buffers).str();
      if (failed(code.emitFunction(builder, callee, buffers))) {
        return failure();
      }
    } else {
      callees.push_back(callee);
    }
  }
  return success();
}

ArrayAttr ProgramTiler::describeValues() {
  SmallVector<Attribute> values;
  DenseMap<Operation *, int64_t> numbers = numberKernels(kernels);
  for (auto [index, buffers] : llvm::enumerate(kernels)) {
    KernelOp kernel = buffers.kernel;
    for (Value result : kernel.getResults()) {
      const Place &place = places[result];
      if (place.kind != Place::Arena) {
        continue;
      }
      auto name = originOf(result)->findInstanceOf<NameLoc>();
      StringRef path = name ? name.getName().strref() : kernel.getName();
      values.push_back(describeArenaValue(
          path, index, lastReaderOf(result, index, numbers), result.getType(),
          place.type, blocks[place.index].offset + place.bytes));
    }
  }
  return builder.getArrayAttr(values);
}

LogicalResult ProgramTiler::rewriteMain() {
  int64_t arenaBytes = placeBlocks(blocks);
  SmallVector<Type> arguments;
  SmallVector<Value> values;
  SmallVector<Attribute> types;
  SmallVector<DictionaryAttr> attributes;
  auto addArgument = [&](Value value, DictionaryAttr attribute) {
    values.push_back(value);
    arguments.push_back(bufferType(cast<RankedTensorType>(value.getType()), 0));
    types.push_back(TypeAttr::get(value.getType()));
    attributes.push_back(attribute ? attribute : builder.getDictionaryAttr({}));
  };
  for (BlockArgument argument : main.getArguments()) {
    addArgument(argument, main.getArgAttrDict(argument.getArgNumber()));
  }
  Operation *terminator = main.getBody().front().getTerminator();
  for (OpOperand &operand : terminator->getOpOperands()) {
    addArgument(operand.get(),
                main.getResultAttrDict(operand.getOperandNumber()));
  }
  builder.setInsertionPoint(main);
  auto tiled = func::FuncOp::create(builder, main.getLoc(), "main",
                                    builder.getFunctionType(arguments, {}));
  tiled.setAllArgAttrs(attributes);
  Block *entry = tiled.addEntryBlock();
  nameBuffers(*entry, values);
  builder.setInsertionPointToStart(entry);
  // One place has a buffer for every value that lives there, with its name.
  DenseMap<std::tuple<int64_t, Type, Attribute>, Value> arena;
  auto bufferOf = [&](Value value) -> Value {
    const Place &place = places[value];
    if (place.kind == Place::Argument) {
      return entry->getArgument(place.index);
    }
    Location origin = originOf(value);
    if (place.kind == Place::Image || place.kind == Place::Table) {
      return weights.getBuffer(builder, origin, place.type, place.index,
                               place.kind == Place::Table);
    }
    int64_t offset = blocks[place.index].offset + place.bytes;
    Value &buffer = arena[{offset, place.type, origin}];
    if (!buffer) {
      auto op = ArenaBufferOp::create(builder, origin, place.type, offset);
      if (place.isPart) {
        const ArenaBlock &block = blocks[place.index];
        op->setAttr(kWholeAttr,
                    builder.getDenseI64ArrayAttr({block.offset, block.bytes}));
      }
      buffer = op;
    }
    return buffer;
  };
  for (auto [number, buffers] : llvm::enumerate(kernels)) {
    KernelOp kernel = buffers.kernel;
    SmallVector<Value> operands;
    for (Value value :
         ArrayRef(buffers.values).take_front(buffers.countArguments())) {
      operands.push_back(bufferOf(value));
    }
    llvm::append_range(
        operands, code.createStageBuffers(builder, buffers, blocks, number));
    LaunchOp::create(builder, kernel.getLoc(), callees[number], operands,
                     kernel.getName(), buffers.flops, buffers.shape);
  }
  func::ReturnOp::create(builder, main.getLoc());
  auto set = [&](StringRef name, int64_t value) {
    tiled->setAttr(name, builder.getI64IntegerAttr(value));
  };
  set(kArenaBytesAttr, arenaBytes);
  set(kImageBytesAttr, weights.getBytes());
  if (weights.getTableBytes() > 0) {
    set(kTableBytesAttr, weights.getTableBytes());
  }
  set(kInputsAttr, main.getNumArguments());
  LogicalResult haveRanges = copyRanges(main, tiled);
  tiled->setAttr(kTypesAttr, builder.getArrayAttr(types));
  tiled->setAttr(kValuesAttr, describeValues());
  tiled->setAttr(kPartsAttr, describeParts(builder, code, kernels));
  main.erase();
  return haveRanges;
}

LogicalResult ProgramTiler::run() {
  if (failed(checkKernels(main, code))) {
    return failure();
  }
  placeArguments();
  auto place = [&](Value value, MemRefType type, int64_t offset, bool isTable) {
    places[value] = {isTable ? Place::Table : Place::Image, type, offset};
  };
  if (failed(weights.assign(place)) || failed(describeKernels()) ||
      failed(emitFunctions())) {
    return failure();
  }
  return rewriteMain();
}

LogicalResult tileProgram(ModuleOp module, const KernelCode &code) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main || main.isExternal() || main->hasAttr(kArenaBytesAttr)) {
    return success();
  }
  return ProgramTiler(module, main, code).run();
}

} // namespace hova
