//===- LowerLaunches.cpp - The function that every thread runs ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One parallel region for the whole program: each thread walks all launches,
// takes its share of each kernel's units and meets the others behind it. Shares
// depend on the number of threads only, never on timing. Does nothing to a
// module that was not tiled.

#include "codegen/cpu/Passes.h"
#include "dialect/ProgramOps.h"
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "passes/Schedule.h"
#include "passes/tile/ProgramAttrs.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_LOWERLAUNCHESPASS
#include "codegen/cpu/Passes.h.inc"

namespace {
/// Builds `hova_run` from `main`.
class RunBuilder {
public:
  RunBuilder(ModuleOp module, func::FuncOp main)
      : module(module), main(main), builder(module.getContext()),
        loc(main.getLoc()), converter(module.getContext()) {}

  void build(StringRef name) {
    declareBarrier();
    builder.setInsertionPoint(main);
    Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
    Type i64 = builder.getI64Type();
    run = func::FuncOp::create(
        builder, loc, name,
        builder.getFunctionType(
            {pointer, pointer, pointer, pointer, i64, i64, pointer}, {}));
    builder.setInsertionPointToStart(run.addEntryBlock());
    thread = toIndex(run.getArgument(4));
    threads = toIndex(run.getArgument(5));
    bindArguments();
    for (Operation &op : main.getBody().front().without_terminator()) {
      lower(&op);
    }
    func::ReturnOp::create(builder, loc);
  }

private:
  Value toIndex(Value value) {
    return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                      value);
  }
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }

  void declareBarrier() {
    builder.setInsertionPointToStart(module.getBody());
    Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
    Type i64 = builder.getI64Type();
    barrier = LLVM::LLVMFuncOp::create(
        builder, loc, "hova_barrier",
        LLVM::LLVMFunctionType::get(
            LLVM::LLVMVoidType::get(builder.getContext()),
            {pointer, i64, i64}));
  }

  /// Pointer `bytes` behind `base`.
  Value offset(Value base, Value bytes) {
    return LLVM::GEPOp::create(builder, loc, base.getType(),
                               builder.getI8Type(), base, bytes);
  }
  Value constant(int64_t value) {
    return LLVM::ConstantOp::create(builder, loc, builder.getI64Type(),
                                    builder.getI64IntegerAttr(value));
  }
  /// A buffer of static shape at a pointer.
  Value asMemRef(Value pointer, MemRefType type) {
    Value descriptor = MemRefDescriptor::fromStaticShape(
        builder, loc, converter, type, pointer);
    return UnrealizedConversionCastOp::create(builder, loc, type, descriptor)
        .getResult(0);
  }

  void bindArguments() {
    int64_t inputs = main->getAttrOfType<IntegerAttr>(kInputsAttr).getInt();
    Type pointer = run.getArgument(0).getType();
    for (BlockArgument argument : main.getArguments()) {
      int64_t number = argument.getArgNumber();
      Value table = run.getArgument(number < inputs ? 0 : 1);
      Value place = LLVM::GEPOp::create(
          builder, loc, pointer, pointer, table,
          constant(number < inputs ? number : number - inputs));
      Value data = LLVM::LoadOp::create(builder, loc, pointer, place);
      mapped[argument] = asMemRef(data, cast<MemRefType>(argument.getType()));
    }
    // Scratch lies behind the arena, one piece per thread.
    int64_t arena = main->getAttrOfType<IntegerAttr>(kArenaBytesAttr).getInt();
    int64_t bytes =
        main->getAttrOfType<IntegerAttr>(kScratchBytesAttr).getInt();
    Value own =
        LLVM::MulOp::create(builder, loc, run.getArgument(4), constant(bytes));
    scratch = offset(run.getArgument(2),
                     LLVM::AddOp::create(builder, loc, own, constant(arena)));
  }

  void lower(Operation *op) {
    if (auto buffer = dyn_cast<ArenaBufferOp>(op)) {
      mapped[buffer] =
          asMemRef(offset(run.getArgument(2), constant(buffer.getOffset())),
                   cast<MemRefType>(buffer.getType()));
    } else if (auto buffer = dyn_cast<ImageBufferOp>(op)) {
      mapped[buffer] =
          asMemRef(offset(run.getArgument(3), constant(buffer.getOffset())),
                   cast<MemRefType>(buffer.getType()));
    } else {
      lowerLaunch(cast<LaunchOp>(op));
    }
  }

  /// parts = min(threads, most) ; the first units % parts shares are one
  /// longer.
  void lowerLaunch(LaunchOp op) {
    int64_t units = op.getUnits();
    int64_t most = partsOf(units, op.getGrain(), kMaxParts);
    Value parts = arith::MinUIOp::create(builder, loc, threads, index(most));
    Value busy = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                       thread, parts);
    auto branch = scf::IfOp::create(builder, loc, busy, false);
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPoint(branch.thenYield());
      Value size = arith::DivUIOp::create(builder, loc, index(units), parts);
      Value longer = arith::RemUIOp::create(builder, loc, index(units), parts);
      auto before = [&](Value number) -> Value {
        return arith::AddIOp::create(
            builder, loc, arith::MulIOp::create(builder, loc, number, size),
            arith::MinUIOp::create(builder, loc, number, longer));
      };
      Value next = arith::AddIOp::create(builder, loc, thread, index(1));
      auto callee =
          module.lookupSymbol<func::FuncOp>(op.getCalleeAttr().getAttr());
      SmallVector<Value> operands;
      for (Value buffer : op.getBuffers()) {
        operands.push_back(mapped.lookup(buffer));
      }
      auto scratchType =
          cast<MemRefType>(callee.getArgumentTypes().drop_back(2).back());
      operands.append(
          {asMemRef(scratch, scratchType), before(thread), before(next)});
      func::CallOp::create(builder, loc, callee, operands);
    }
    LLVM::CallOp::create(builder, loc, barrier,
                         ValueRange{run.getArgument(6), run.getArgument(4),
                                    constant(launches++)});
  }

  ModuleOp module;
  func::FuncOp main;
  OpBuilder builder;
  Location loc;
  LLVMTypeConverter converter;
  LLVM::LLVMFuncOp barrier;
  func::FuncOp run;
  Value thread, threads, scratch;
  DenseMap<Value, Value> mapped;
  int64_t launches = 0;
};

struct LowerLaunchesPass final
    : impl::LowerLaunchesPassBase<LowerLaunchesPass> {
  using Base::Base;
  void runOnOperation() override {
    auto main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!main || !main->hasAttr(kArenaBytesAttr)) {
      return;
    }
    RunBuilder(getOperation(), main).build("hova_run" + suffix);
    main.erase();
    if (auto weights = getOperation().lookupSymbol<func::FuncOp>("weights")) {
      weights.erase();
    }
  }
};
} // namespace
} // namespace hova
