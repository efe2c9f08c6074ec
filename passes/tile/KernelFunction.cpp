//===- KernelFunction.cpp - The function of one kernel --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Stages in their order, each handed to the loops of its anchor.

#include "passes/tile/KernelFunction.h"
#include "dialect/AttentionOps.h"
#include "dialect/DenseOps.h"
#include "dialect/Shapes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "passes/Verdict.h"
#include "passes/tile/KernelEmitter.h"
#include <map>

using namespace mlir;

namespace hova {

int64_t stageOf(Operation *op) {
  auto stage = op->getAttrOfType<IntegerAttr>(kStageAttr);
  return stage ? stage.getInt() : -1;
}

bool crossesStages(Value value, int64_t stage) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    return isKernelView(user) ? crossesStages(user->getResult(0), stage)
                              : !isa<YieldOp>(user) && stageOf(user) != stage;
  });
}

int64_t flopsOf(KernelOp kernel) {
  int64_t macs = 0;
  kernel.walk([&](CostOpInterface op) {
    macs += op.getLinearMacs() + op.getAttentionMacs();
  });
  return 2 * macs;
}

int64_t unitsOf(KernelOp kernel) {
  for (Operation &op : kernel.getBody().front()) {
    if (auto attention = dyn_cast<AttentionOp>(op)) {
      return shapeOf(attention.getQuery())[0] * attention.getHeads();
    }
    if (stageOf(&op) >= 0) {
      return staticSize(shapeOf(op.getResult(0)).drop_back());
    }
  }
  return 1;
}

Location originOf(Value value) {
  if (auto kernel = value.getDefiningOp<KernelOp>()) {
    auto yield = cast<YieldOp>(kernel.getBody().front().getTerminator());
    unsigned number = cast<OpResult>(value).getResultNumber();
    return yield.getValues()[number].getLoc();
  }
  auto argument = dyn_cast<BlockArgument>(value);
  auto kernel = argument
                    ? dyn_cast<KernelOp>(argument.getOwner()->getParentOp())
                    : nullptr;
  return kernel ? originOf(kernel.getInputs()[argument.getArgNumber()])
                : value.getLoc();
}

void nameBuffers(Block &entry, ArrayRef<Value> values) {
  for (auto [argument, value] : llvm::zip(entry.getArguments(), values)) {
    argument.setLoc(originOf(value));
  }
}

void nameLoop(scf::ForOp loop, StringRef name) {
  auto text = StringAttr::get(loop.getContext(), name);
  loop.getInductionVar().setLoc(NameLoc::get(text, loop.getLoc()));
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// Prints what an operation is asked to do. Its name and what was said about it
/// (verdicts, demands) are left out: they change no code.
static void printAttributes(raw_ostream &os, Operation *op) {
  for (NamedAttribute attribute : op->getAttrs()) {
    StringRef name = attribute.getName();
    bool isName = isa<KernelOp>(op) && name == "name";
    if (!isName && name != kVerdictAttr && name != kRewritesAttr &&
        name != kRequireAttr) {
      os << ' ' << name << '=' << attribute.getValue();
    }
  }
}

std::string structureOf(const KernelBuffers &buffers) {
  std::string key;
  llvm::raw_string_ostream os(key);
  DenseMap<Value, int> number;
  for (auto [value, type] : llvm::zip(buffers.values, buffers.types)) {
    os << type << ';';
  }
  KernelOp kernel = buffers.kernel;
  printAttributes(os, kernel);
  for (Value argument : kernel.getBody().getArguments()) {
    int next = number.size();
    number[argument] = next;
  }
  for (Operation &op : kernel.getBody().front()) {
    os << '\n' << op.getName();
    for (Value operand : op.getOperands()) {
      os << ' ' << number[operand];
    }
    printAttributes(os, &op);
    for (Value result : op.getResults()) {
      int next = number.size();
      number[result] = next;
      os << ' ' << result.getType() << ' '
         << llvm::is_contained(buffers.values, result);
    }
  }
  return key;
}

static LogicalResult emitStage(KernelEmitter &emitter, Operation *anchor) {
  if (auto product = dyn_cast<LinearOp>(anchor)) {
    return emitProductLoops(emitter, product);
  }
  if (auto logits = dyn_cast<HeadLogitsOp>(anchor)) {
    return emitHeadLogitsLoops(emitter, logits);
  }
  if (isa<LayerNormOp, ScaleHeadsOp>(anchor)) {
    return emitNormLoops(emitter, anchor);
  }
  return emitTokenLoops(emitter, anchor);
}

int64_t scratchBytes(Operation *op, const Schedule &schedule) {
  if (isa<AttentionOp>(op)) {
    return attentionScratchBytes(op, schedule);
  }
  return isa<LinearOp>(op) ? productScratchBytes(op, schedule)
                           : tokenScratchBytes(op);
}

/// The place of a stage: its anchor's, with the number beside it for whoever
/// reads dumps and assembly.
static Location placeOf(int64_t stage, Operation *anchor) {
  MLIRContext *context = anchor->getContext();
  auto number = StringAttr::get(context, "stage " + Twine(stage));
  return FusedLoc::get(context, anchor->getLoc(), number);
}

static LogicalResult emitBody(KernelEmitter &emitter, KernelOp kernel) {
  // Stages in their order; operations of a stage in program order.
  std::map<int64_t, SmallVector<Operation *>> stages;
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    if (isa<AttentionOp>(op)) {
      emitAttentionLoops(emitter, &op);
      return success();
    }
    if (stageOf(&op) >= 0) {
      stages[stageOf(&op)].push_back(&op);
    } else if (!isKernelView(&op)) {
      return op.emitOpError("belongs to no stage: run assign first");
    }
  }
  for (auto &[number, ops] : stages) {
    emitter.loc = placeOf(number, ops.front());
    emitter.beginStage(ops);
    if (failed(emitStage(emitter, ops.front()))) {
      return failure();
    }
  }
  return success();
}

/// Even blocks of at most `schedule.block` units, all stages on each: what one
/// stage writes is in the caches when the next reads it.
static LogicalResult
forEachUnitBlock(OpBuilder &builder, Location loc, const KernelBuffers &buffers,
                 Value begin, Value end,
                 llvm::function_ref<LogicalResult(Value, Value)> body) {
  int64_t top = buffers.schedule.block;
  if (buffers.schedule.parallel != Parallel::rows || buffers.units <= top) {
    return body(begin, end);
  }
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  Value units = arith::SubIOp::create(builder, loc, end, begin);
  Value blocks = arith::DivUIOp::create(
      builder, loc, arith::AddIOp::create(builder, loc, units, index(top - 1)),
      index(top));
  auto loop = scf::ForOp::create(builder, loc, index(0), blocks, index(1));
  nameLoop(loop, "blocks");
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  // Block i: from units * i / blocks up to units * (i + 1) / blocks.
  auto bound = [&](Value number) -> Value {
    Value share = arith::DivUIOp::create(
        builder, loc, arith::MulIOp::create(builder, loc, units, number),
        blocks);
    return arith::AddIOp::create(builder, loc, begin, share);
  };
  Value number = loop.getInductionVar();
  Value next = arith::AddIOp::create(builder, loc, number, index(1));
  return body(bound(number), bound(next));
}

/// A view of a matrix whose row `from` is row `to` of it.
static Value moveRows(OpBuilder &builder, Location loc, Value matrix,
                      Value from, Value to) {
  auto type = cast<MemRefType>(matrix.getType());
  SmallVector<int64_t> strides = type.getStridesAndOffset().first;
  Value rows = arith::SubIOp::create(builder, loc, to, from);
  Value moved = arith::MulIOp::create(
      builder, loc, rows,
      arith::ConstantIndexOp::create(builder, loc, strides[0]));
  auto view = MemRefType::get(
      type.getShape(), type.getElementType(),
      StridedLayoutAttr::get(type.getContext(), ShapedType::kDynamic, strides));
  return memref::ReinterpretCastOp::create(
      builder, loc, view, matrix, OpFoldResult(moved),
      getAsIndexOpFoldResult(type.getContext(), type.getShape()),
      getAsIndexOpFoldResult(type.getContext(), strides));
}

FailureOr<func::FuncOp> emitFunction(OpBuilder &builder, StringRef name,
                                     const KernelBuffers &buffers) {
  KernelOp kernel = buffers.kernel;
  Location loc = kernel.getLoc();
  SmallVector<Type> types(buffers.types.begin(), buffers.types.end());
  types.push_back(MemRefType::get({buffers.scratchBytes}, builder.getI8Type()));
  types.append(2, builder.getIndexType());
  auto function = func::FuncOp::create(builder, loc, name,
                                       builder.getFunctionType(types, {}));
  function.setPrivate();
  for (unsigned i = 0, e = types.size() - 2; i < e; ++i) {
    function.setArgAttr(i, "llvm.noalias", builder.getUnitAttr());
  }
  Block *entry = function.addEntryBlock();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(entry);
  auto end = func::ReturnOp::create(builder, loc);
  builder.setInsertionPoint(end);
  size_t count = buffers.values.size();
  // Equal kernels share the function: its buffers have the first one's names.
  nameBuffers(*entry, buffers.values);
  StringRef rest[] = {"scratch", "begin", "end"};
  for (auto [argument, name] :
       llvm::zip(entry->getArguments().drop_front(count), rest)) {
    argument.setLoc(NameLoc::get(builder.getStringAttr(name), loc));
  }
  Value scratch = entry->getArgument(count);
  // Values between stages are of one block of rows: all blocks use the rows of
  // the thread's first, which the caches still have.
  size_t first = kernel.getInputs().size() + kernel.getNumResults();
  Value firstUnit = entry->getArgument(count + 1);
  auto emitUnits = [&](Value begin, Value end) {
    KernelEmitter emitter(builder, loc, buffers.schedule, begin, end, scratch);
    for (size_t i = 0; i < count; ++i) {
      Value buffer = entry->getArgument(i);
      if (i >= first && begin != firstUnit) {
        buffer = moveRows(builder, loc, buffer, begin, firstUnit);
      }
      emitter.setBuffer(buffers.values[i], buffer);
    }
    return emitBody(emitter, kernel);
  };
  if (failed(forEachUnitBlock(builder, loc, buffers,
                              entry->getArgument(count + 1),
                              entry->getArgument(count + 2), emitUnits))) {
    return failure();
  }
  return function;
}

} // namespace hova
