//===- CpuKernelCode.cpp - The function of one kernel on a CPU ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Stages in their order, each handed to the recipe of its anchor.

#include "codegen/cpu/recipes/CpuKernelCode.h"
#include "codegen/cpu/HovaCpuDialect.h"
#include "codegen/cpu/Recipe.h"
#include "codegen/cpu/StageSteps.h"
#include "codegen/cpu/ThreadChunks.h"
#include "codegen/cpu/TileOps.h"
#include "codegen/cpu/recipes/BlockProducts.h"
#include "codegen/cpu/recipes/KernelEmitter.h"
#include "codegen/cpu/recipes/TokenLanes.h"
#include "dialect/Shapes.h"
#include "dialect/dense/DenseOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "passes/RowTables.h"
#include "passes/tile/ProgramAttrs.h"
#include "runtime/hova_runtime.h"
#include <limits>

using namespace mlir;

namespace hova {

/// An element-wise operation that begins a stage: chunks of rows, whose tiles
/// `finishAndStoreTile` makes of the operands.
static void emitElementwiseLoops(KernelEmitter &emitter, Operation *op) {
  ArrayRef<int64_t> shape = shapeOf(op->getResult(0));
  int64_t width = shape.empty() ? 1 : shape.back();
  emitter.forEachRow([&](Expr row) {
    emitter.forEachChunk(width, [&](const Chunk &at) {
      emitter.finishAndStoreTile({row, at}, {});
    });
  });
}

static LogicalResult emitStage(KernelEmitter &emitter, Operation *anchor) {
  if (auto recipe = dyn_cast<CpuRecipeOpInterface>(anchor)) {
    return recipe.emitLoops(emitter);
  }
  if (!joinsTiles(anchor)) {
    return anchor->emitOpError("has no recipe for a CPU: attach one with "
                               "attachRecipe, or implement TileOpInterface if "
                               "it is element-wise");
  }
  emitElementwiseLoops(emitter, anchor);
  return success();
}

/// The place of a stage: its anchor's, with the number beside it for whoever
/// reads dumps and assembly.
static Location placeOf(int64_t stage, Operation *anchor) {
  MLIRContext *context = anchor->getContext();
  auto number = StringAttr::get(context, "stage " + Twine(stage));
  return FusedLoc::get(context, anchor->getLoc(), number);
}

namespace {
/// What a call of a kernel does: on which units, and where it may be a step of
/// a launch, which stages and strips of columns. The rest is null otherwise.
struct CallLimits {
  Value begin, end, firstStage, endStage, beginStrip, endStrip;
};
} // namespace

/// Reads the words of a call's step (`hova_cpu.step_buffer`); null: it has
/// none.
static CallLimits readLimits(ImplicitLocOpBuilder b, Value step, Value begin,
                             Value end) {
  if (!step) {
    return {begin, end, {}, {}, {}, {}};
  }
  auto word = [&](int64_t number) {
    SmallVector<Value> place = {Expr(0).in(b), Expr(number).in(b)};
    return toIndex(compute<memref::LoadOp>(b, step, place));
  };
  // Who divides strips has all rows, and who divides rows all strips.
  Expr ofStrips = word(2) != 0, from(begin, &b), to(end, &b);
  return {select(ofStrips, 0, from),
          select(ofStrips, word(3), to),
          word(0),
          word(1),
          select(ofStrips, from, 0),
          select(ofStrips, to, std::numeric_limits<int32_t>::max())};
}

static LogicalResult emitBody(KernelEmitter &emitter, KernelOp kernel,
                              const CallLimits &limits) {
  if (limits.endStrip) {
    emitter.strips =
        Strips{emitter(limits.beginStrip), emitter(limits.endStrip)};
  }
  auto stages = llvm::to_vector(kernel.getBody().getOps<StageOp>());
  bool mayLeaveOut = limits.endStage && stages.size() > 1;
  for (auto [number, stage] : llvm::enumerate(stages)) {
    emitter.builder.setLoc(placeOf(number, stage.getAnchor()));
    emitter.beginStage(stage);
    LogicalResult emitted = success();
    auto emit = [&, anchor = stage.getAnchor()] {
      emitted = emitStage(emitter, anchor);
    };
    if (mayLeaveOut) {
      Expr isAfter = emitter(limits.firstStage) <= int64_t(number);
      emitter.ifThen(isAfter & (emitter(limits.endStage) > int64_t(number)),
                     emit);
    } else {
      emit();
    }
    if (failed(emitted)) {
      return failure();
    }
  }
  return success();
}

/// Even blocks of at most `schedule.block` units, all stages on each: what one
/// stage writes is in the caches when the next reads it.
static LogicalResult
forEachUnitBlock(OpBuilder &builder, Location loc, const CpuSchedule &schedule,
                 int64_t count, Value begin, Value end,
                 llvm::function_ref<LogicalResult(Value, Value)> body) {
  int64_t top = schedule.block;
  if (schedule.division != Division::rows || count <= top) {
    return body(begin, end);
  }
  ImplicitLocOpBuilder b(loc, builder);
  Expr first(begin, &b), units = Expr(end, &b) - first;
  auto loop = scf::ForOp::create(b, Expr(0).in(b), (units + (top - 1)) / top,
                                 Expr(1).in(b));
  nameLoop(loop, "blocks");
  OpBuilder::InsertionGuard guard(builder);
  b.setInsertionPointToStart(loop.getBody());
  // Block i: from units * i / blocks up to units * (i + 1) / blocks.
  Expr number(loop.getInductionVar(), &b);
  auto bound = [&](const Expr &i) -> Value {
    return first + units * i / loop.getUpperBound();
  };
  Value from = bound(number), to = bound(number + 1);
  builder.restoreInsertionPoint(b.saveInsertionPoint());
  return body(from, to);
}

/// The height of the matrix unit's tiles, of which a function has one: for the
/// rows of each block of the units from `begin` to `end`. Null where a call
/// does not have rows of its own.
static Value unitHeightOfRows(ImplicitLocOpBuilder b,
                              const CpuSchedule &schedule, Value begin,
                              Value end) {
  if (!schedule.matrixUnit || schedule.division != Division::rows) {
    return {};
  }
  Expr units = Expr(end, &b) - begin;
  Expr blocks = max((units + (schedule.block - 1)) / schedule.block, 1);
  return unitHeightOf(max((units + (blocks - 1)) / blocks, 1));
}

/// Sets that height, or where a call has all rows of the products one for the
/// rows of the run.
static void setUnitHeight(KernelEmitter &emitter, KernelOp kernel,
                          Value ofRows) {
  if (ofRows) {
    emitter.unitHeight = emitter(ofRows);
  } else if (emitter.schedule.matrixUnit &&
             emitter.schedule.division == Division::columnStrips) {
    Value result = firstOf(kernel)->getResult(0);
    int64_t rows = staticSize(shapeOf(result).drop_back());
    emitter.unitHeight = unitHeightOf(max(emitter.countRows(result, rows), 1))
                             .in(emitter.builder);
  }
}

/// A view of a matrix whose row `from` is row `to` of it.
static Value moveRows(OpBuilder &builder, Location loc, Value matrix,
                      Value from, Value to) {
  ImplicitLocOpBuilder b(loc, builder);
  auto type = cast<MemRefType>(matrix.getType());
  SmallVector<int64_t> strides = type.getStridesAndOffset().first;
  Value moved = (Expr(to, &b) - from) * strides[0];
  auto view = MemRefType::get(
      type.getShape(), type.getElementType(),
      StridedLayoutAttr::get(type.getContext(), ShapedType::kDynamic, strides));
  return memref::ReinterpretCastOp::create(
      b, view, matrix, OpFoldResult(moved),
      getAsIndexOpFoldResult(type.getContext(), type.getShape()),
      getAsIndexOpFoldResult(type.getContext(), strides));
}

/// Bytes of scratch that each thread of the kernel needs: at least a line, so
/// that there is an address.
static int64_t scratchBytesOf(KernelOp kernel, const CpuSchedule &schedule) {
  int64_t most = CpuFacts::lineBytes;
  if (schedule.division == Division::sequences) {
    return std::max(most, TokenLanesLayout(kernel, schedule).bytes);
  }
  kernel.walk([&](CpuRecipeOpInterface recipe) {
    most = std::max(most, recipe.getScratchBytes(schedule));
  });
  return most;
}

/// A tile reads columns of a table that repeat at once: they begin at multiples
/// of its columns, so it never lies in two periods. Those of a product are
/// parts of a strip of its weight.
static LogicalResult checkPeriods(Operation *op, StageOp stage,
                                  const CpuSchedule &schedule) {
  ArrayRef<int64_t> shape = shapeOf(op->getResult(0));
  auto product = dyn_cast<LinearOp>(stage.getAnchor());
  auto strip = product ? columnStripOf(product) : std::nullopt;
  int64_t most = schedule.tileColumns;
  int64_t tile =
      strip ? std::min(most, *strip) : std::max(most, schedule.lanes);
  bool areAligned = llvm::isPowerOf2_64(most) && llvm::isPowerOf2_64(tile) &&
                    strip.value_or(tile) % tile == 0;
  for (auto [number, operand] : llvm::enumerate(op->getOperands())) {
    ArrayRef<int64_t> dims = shapeOf(operand);
    bool repeats = !shape.empty() && !dims.empty() && dims.back() != 1 &&
                   dims.back() != shape.back();
    if (repeats && (!areAligned || dims.back() % tile != 0)) {
      return op->emitOpError("expects tiles whose columns divide the ")
             << dims.back() << " columns of operand " << number
             << ", which repeat, got tiles of " << most << " and "
             << schedule.lanes << " columns";
    }
  }
  return success();
}

/// Whether the tiles of a stage hold what its operations need.
static LogicalResult checkStage(StageOp stage, const CpuSchedule &schedule) {
  Operation *anchor = stage.getAnchor();
  // Neighbours in a vector are tokens there.
  bool inLanes = schedule.division == Division::sequences;
  TileScope most = inLanes ? TileScope::element : TileScope::pair;
  if (inLanes && !tokenLanesOf(anchor) && !isElementwise(anchor)) {
    return anchor->emitOpError("has no loops for tokens in lanes, which those "
                               "of a kernel of sequences are");
  }
  for (Operation *op : stage.getComputeOps()) {
    bool joins = joinsTiles(op, most);
    if (op != anchor && !heldScopeOf(anchor)) {
      return op->emitOpError("shares the stage of '")
             << anchor->getName() << "', which hands on no tiles";
    }
    if (op != anchor && !joins && !isColumnSlice(op)) {
      return op->emitOpError("is not element-wise on the tile of '")
             << anchor->getName() << "', whose stage it shares";
    }
    if (joins && failed(checkPeriods(op, stage, schedule))) {
      return failure();
    }
  }
  return success();
}

LogicalResult CpuKernelCode::checkSchedule(KernelOp kernel) const {
  FailureOr<CpuSchedule> schedule = CpuSchedule::of(kernel);
  if (failed(schedule)) {
    return failure();
  }
  for (StageOp stage : kernel.getBody().getOps<StageOp>()) {
    if (failed(checkStage(stage, *schedule))) {
      return failure();
    }
  }
  return success();
}

int64_t CpuKernelCode::getExecutedMacs(Operation *op) const {
  if (auto recipe = dyn_cast<CpuRecipeOpInterface>(op)) {
    auto kernel = op->getParentOfType<KernelOp>();
    return recipe.getExecutedMacs(CpuSchedule::read(kernel));
  }
  auto cost = dyn_cast<CostOpInterface>(op);
  return cost ? *macsOf(cost) : 0;
}

std::optional<unsigned> CpuKernelCode::getOverwritable(KernelOp kernel,
                                                       unsigned result) const {
  auto computed = dyn_cast<OpResult>(kernel.getComputed(result));
  auto recipe = computed ? dyn_cast<CpuRecipeOpInterface>(computed.getOwner())
                         : CpuRecipeOpInterface();
  std::optional<unsigned> operand =
      recipe ? recipe.getOverwritable(computed.getResultNumber())
             : std::nullopt;
  auto input =
      operand
          ? dyn_cast<BlockArgument>(computed.getOwner()->getOperand(*operand))
          : BlockArgument();
  // Nothing else of the kernel reads it.
  return input && input.hasOneUse() ? std::optional(input.getArgNumber())
                                    : std::nullopt;
}

SmallVector<Value> CpuKernelCode::getStageBuffers(KernelOp kernel) const {
  return chunkValuesOf(kernel);
}

/// The words of a step that a kernel sees.
static MemRefType stepType(MLIRContext *context) {
  return MemRefType::get({1, 4}, IntegerType::get(context, 64));
}

SmallVector<Value> CpuKernelCode::createStageBuffers(
    OpBuilder &builder, const KernelBuffers &buffers,
    ArrayRef<ArenaBlock> blocks, int64_t number) const {
  size_t first = buffers.countArguments();
  ArrayRef<MemRefType> types = ArrayRef(buffers.types).drop_front(first);
  SmallVector<ChunkRows> chunks;
  for (MemRefType type : types) {
    int64_t rows = type.getShape()[0];
    chunks.push_back({bytesOf(type) / rows, rows});
  }
  // Chunks of equal cost may have a whole block each.
  bool areAlike = !cast<CpuLaunchAttr>(buffers.shape).getCosts();
  placeChunks(blocks, number, /*fitAll=*/areAlike, chunks);
  SmallVector<Value> places;
  for (auto [value, type, rows] : llvm::zip_equal(
           ArrayRef(buffers.values).drop_front(first), types, chunks)) {
    places.push_back(ChunkBufferOp::create(builder, originOf(value), type,
                                           rows.offset, rows.rowBytesBefore));
  }
  KernelOp kernel = buffers.kernel;
  if (std::optional<SequenceRanges> ranges = SequenceRanges::readFrom(kernel)) {
    places.push_back(SequenceBufferOp::create(
        builder, kernel.getLoc(), ranges->tableType(builder.getContext())));
  }
  if (!stageStepsOf(kernel).empty()) {
    auto step = StepBufferOp::create(builder, kernel.getLoc(),
                                     stepType(builder.getContext()));
    step->setAttr(kContentsAttr,
                  builder.getDenseI64ArrayAttr({0, HOVA_LAST_STAGE, 0, 0}));
    places.push_back(step);
  }
  return places;
}

/// Tells where the rows of inputs and results are.
static void setRowTables(KernelEmitter &emitter, KernelOp kernel,
                         Block &function) {
  auto set = [&](StringRef attribute, ValueRange values) {
    auto numbers = kernel->getAttrOfType<DenseI64ArrayAttr>(attribute);
    for (size_t i = 0, e = numbers ? numbers.size() : 0; i < e; ++i) {
      if (numbers[i] >= 0) {
        emitter.setRowTable(values[i], function.getArgument(numbers[i]));
      }
    }
  };
  set(kInputRowsAttr, kernel.getBody().getArguments());
  auto yield = cast<YieldOp>(kernel.getBody().front().getTerminator());
  set(kResultRowsAttr, yield.getValues());
}

/// What has tokens in lanes has those of a tile.
static LogicalResult checkLanes(KernelOp kernel, int64_t lanes) {
  for (StageOp stage : kernel.getBody().getOps<StageOp>()) {
    for (OpResult result : stage.getResults()) {
      LayoutAttr layout = stage.getLayout(result.getResultNumber());
      if (layout.getKind() == LayoutKind::token_columns &&
          layout.getSize() != lanes) {
        return stage.emitOpError("expects ")
               << lanes << " tokens in the lanes of result "
               << result.getResultNumber() << ", got " << layout.getSize();
      }
    }
  }
  return success();
}

/// Names the arguments after the buffers.
static void nameRest(MutableArrayRef<BlockArgument> arguments, bool hasRanges,
                     bool hasSteps) {
  SmallVector<StringRef> names(hasRanges ? 1 : 0, "sequences");
  names.append(hasSteps ? 1 : 0, "step");
  names.append({"scratch", "begin", "end"});
  for (auto [argument, name] : llvm::zip_equal(arguments, names)) {
    auto text = StringAttr::get(argument.getContext(), name);
    argument.setLoc(NameLoc::get(text, argument.getLoc()));
  }
}

FailureOr<func::FuncOp>
CpuKernelCode::emitFunction(OpBuilder &builder, StringRef name,
                            const KernelBuffers &buffers) const {
  KernelOp kernel = buffers.kernel;
  CpuSchedule schedule = CpuSchedule::read(kernel);
  Location loc = kernel.getLoc();
  SmallVector<Type> types(buffers.types.begin(), buffers.types.end());
  std::optional<SequenceRanges> ranges = SequenceRanges::readFrom(kernel);
  if (ranges) {
    types.push_back(ranges->tableType(builder.getContext()));
  }
  bool hasSteps = !stageStepsOf(kernel).empty();
  if (hasSteps) {
    types.push_back(stepType(builder.getContext()));
  }
  types.push_back(
      MemRefType::get({scratchBytesOf(kernel, schedule)}, builder.getI8Type()));
  types.append(2, builder.getIndexType());
  auto function = func::FuncOp::create(builder, loc, name,
                                       builder.getFunctionType(types, {}));
  function.setPrivate();
  for (unsigned i = 0, e = types.size() - 2; i < e; ++i) {
    if (!llvm::is_contained(buffers.overwritten, i)) {
      function.setArgAttr(i, "llvm.noalias", builder.getUnitAttr());
    }
  }
  Block *entry = function.addEntryBlock();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(entry);
  auto end = func::ReturnOp::create(builder, loc);
  builder.setInsertionPoint(end);
  size_t count = buffers.values.size();
  size_t work = types.size() - 3; // number of the scratch
  // Equal kernels share the function: its buffers have the first one's names.
  nameBuffers(*entry, buffers.values);
  nameRest(entry->getArguments().drop_front(count), ranges.has_value(),
           hasSteps);
  Value scratch = entry->getArgument(work);
  CallLimits limits =
      readLimits(ImplicitLocOpBuilder(loc, builder),
                 hasSteps ? entry->getArgument(work - 1) : Value(),
                 entry->getArgument(work + 1), entry->getArgument(work + 2));
  // Values between stages are of one block of rows: all blocks use the rows of
  // the thread's first, which the caches still have.
  size_t first = buffers.countArguments();
  Value firstUnit = limits.begin;
  Value unitHeight = unitHeightOfRows(ImplicitLocOpBuilder(loc, builder),
                                      schedule, firstUnit, limits.end);
  auto emitUnits = [&](Value begin, Value end) {
    KernelEmitter emitter(builder, loc, schedule, begin, end, scratch);
    for (size_t i = 0; i < count; ++i) {
      Value buffer = entry->getArgument(i);
      if (i >= first && begin != firstUnit) {
        buffer = moveRows(builder, loc, buffer, begin, firstUnit);
      }
      emitter.setBuffer(buffers.values[i], buffer);
    }
    setRowTables(emitter, kernel, *entry);
    if (ranges) {
      emitter.setSequences(*ranges, entry->getArgument(count));
    }
    setUnitHeight(emitter, kernel, unitHeight);
    if (schedule.division == Division::sequences) {
      TokenLanesLayout layout(kernel, schedule);
      if (failed(checkLanes(kernel, layout.lanes))) {
        return LogicalResult::failure();
      }
      TokenLanes(emitter, kernel, layout).emit();
      return LogicalResult::success();
    }
    return emitBody(emitter, kernel, limits);
  };
  if (failed(forEachUnitBlock(builder, loc, schedule,
                              kernel.getUnits()->count(), firstUnit, limits.end,
                              emitUnits))) {
    return failure();
  }
  return function;
}

} // namespace hova
