//===- KernelCode.cpp - Kernels as functions, and their memory ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/inspect/KernelCode.h"
#include "codegen/program/BlockNames.h"
#include "dialect/program/ProgramOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "passes/tile/ProgramAttrs.h"

using namespace mlir;

namespace hova::inspect {

using llvm::json::Array;
using llvm::json::Object;

static int64_t bytesOf(ShapedType type) {
  return llvm::divideCeil(type.getNumElements() * type.getElementTypeBitWidth(),
                          8);
}

static func::FuncOp mainOf(ModuleOp tiled) {
  return tiled.lookupSymbol<func::FuncOp>("main");
}

Array launchesJson(ModuleOp tiled) {
  Array launches;
  for (LaunchOp launch : mainOf(tiled).getOps<LaunchOp>()) {
    int64_t bytes = 0;
    for (Value buffer : launch.getBuffers()) {
      bytes += bytesOf(cast<MemRefType>(buffer.getType()));
    }
    launches.push_back(
        Object{{"kernel", static_cast<int64_t>(launches.size())},
               {"path", launch.getName()},
               {"symbol", launch.getCallee()},
               {"flops", static_cast<int64_t>(launch.getFlops())},
               {"bytes", bytes}});
  }
  return launches;
}

/// How often a loop runs; nothing where its bounds are found at run time.
static std::optional<int64_t> tripsOf(LoopLikeOpInterface loop) {
  auto only = [](std::optional<SmallVector<OpFoldResult>> bounds) {
    return bounds && bounds->size() == 1 ? getConstantIntValue(bounds->front())
                                         : std::nullopt;
  };
  std::optional<int64_t> lower = only(loop.getLoopLowerBounds()),
                         upper = only(loop.getLoopUpperBounds()),
                         step = only(loop.getLoopSteps());
  if (!lower || !upper || !step || *step <= 0) {
    return std::nullopt;
  }
  return llvm::divideCeil(std::max<int64_t>(*upper - *lower, 0), *step);
}

static Array loopsIn(Region &region);

static void addLoops(Operation &op, Array &loops) {
  auto loop = dyn_cast<LoopLikeOpInterface>(op);
  auto variables = loop ? loop.getLoopInductionVars() : std::nullopt;
  Array inside;
  for (Region &region : op.getRegions()) {
    for (llvm::json::Value &found : loopsIn(region)) {
      inside.push_back(std::move(found));
    }
  }
  if (!variables || variables->empty()) {
    for (llvm::json::Value &found : inside) {
      loops.push_back(std::move(found));
    }
    return;
  }
  CodeOrigin origin = originOf(variables->front().getLoc());
  Object entry{{"over", origin.loop},
               {"path", origin.path},
               {"stage", originOf(op.getLoc()).stage},
               {"loops", std::move(inside)}};
  if (std::optional<int64_t> trips = tripsOf(loop)) {
    entry["trips"] = *trips;
  }
  loops.push_back(std::move(entry));
}

static Array loopsIn(Region &region) {
  Array loops;
  for (Block &block : region) {
    for (Operation &op : block) {
      addLoops(op, loops);
    }
  }
  return loops;
}

Object loopsJson(ModuleOp tiled) {
  Object loops;
  for (LaunchOp launch : mainOf(tiled).getOps<LaunchOp>()) {
    Operation *callee =
        SymbolTable::lookupNearestSymbolFrom(launch, launch.getCalleeAttr());
    auto function = dyn_cast_or_null<FunctionOpInterface>(callee);
    if (function && !loops.get(launch.getCallee())) {
      loops[launch.getCallee()] = loopsIn(function.getFunctionBody());
    }
  }
  return loops;
}

/// Of a dictionary that `tile` has left on `main`.
static int64_t integerOf(DictionaryAttr entry, StringRef name) {
  return entry.getAs<IntegerAttr>(name).getInt();
}

static Array arenaJson(func::FuncOp main) {
  Array arena;
  for (auto value : main->getAttrOfType<ArrayAttr>(kValuesAttr)
                        .getAsRange<DictionaryAttr>()) {
    auto type =
        cast<RankedTensorType>(value.getAs<TypeAttr>("type").getValue());
    int64_t element = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
    int64_t row = type.getRank() ? type.getShape().back() : 1;
    int64_t rows = row ? type.getNumElements() / row : 0;
    int64_t stride = integerOf(value, "row_stride");
    arena.push_back(
        Object{{"path", value.getAs<StringAttr>("path").getValue()},
               {"offset", integerOf(value, "offset")},
               {"bytes", rows ? ((rows - 1) * stride + row) * element : 0},
               {"first_kernel", integerOf(value, "kernel")},
               {"last_kernel", integerOf(value, "last")}});
  }
  return arena;
}

static Array partsJson(func::FuncOp main, int64_t flopsPerByte) {
  Array parts;
  auto counted = main->getAttrOfType<ArrayAttr>(kPartsAttr);
  // A dump that was written by hand may be without.
  if (!counted) {
    return parts;
  }
  for (auto part : counted.getAsRange<DictionaryAttr>()) {
    int64_t flops = integerOf(part, "flops");
    parts.push_back(
        Object{{"kernel", integerOf(part, "kernel")},
               {"stage", integerOf(part, "stage")},
               {"path", part.getAs<StringAttr>("path").getValue()},
               {"flops", flops},
               {"work", flops + integerOf(part, "bytes") * flopsPerByte}});
  }
  return parts;
}

Object memoryJson(ModuleOp tiled, int64_t flopsPerByte) {
  func::FuncOp main = mainOf(tiled);
  Array weights;
  if (auto program = tiled.lookupSymbol<func::FuncOp>(kFoldingFunction)) {
    for (StoreWeightOp store : program.getOps<StoreWeightOp>()) {
      weights.push_back(Object{
          {"name", store.getName()},
          {"offset", store->getAttrOfType<IntegerAttr>(kOffsetAttr).getInt()},
          {"bytes", bytesOf(cast<ShapedType>(store.getValue().getType()))}});
    }
  }
  auto bytes = [&](StringRef name) {
    return main->getAttrOfType<IntegerAttr>(name).getInt();
  };
  return Object{{"arena_bytes", bytes(kArenaBytesAttr)},
                {"weight_bytes", bytes(kImageBytesAttr)},
                {"arena", arenaJson(main)},
                {"weights", std::move(weights)},
                {"parts", partsJson(main, flopsPerByte)}};
}

} // namespace hova::inspect
