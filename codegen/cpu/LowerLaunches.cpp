//===- LowerLaunches.cpp - The function that every thread runs ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One parallel region for the whole program: each thread walks all launches,
// takes its share of each kernel's units and meets the others behind it.
// Between two kernels of a single part nobody meets: the first thread has both.
// Shares depend on the number of threads only, never on timing. Does nothing to
// a module that was not tiled.

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

/// What a byte of a kernel's buffers counts, in floating-point operations.
constexpr int64_t kFlopsPerByte = 4;

/// The work of a kernel, in floating-point operations.
static int64_t workOf(LaunchOp op) {
  int64_t bits = 0;
  for (Value buffer : op.getBuffers()) {
    auto type = cast<MemRefType>(buffer.getType());
    bits += type.getNumElements() * type.getElementTypeBitWidth();
  }
  return op.getFlops() + bits / 8 * kFlopsPerByte;
}

namespace {
/// What one thread does of a kernel's units: [begin, end) if it is busy.
struct Share {
  Value busy, begin, end;
};

/// Where a buffer lies.
struct Place {
  Value base;
  uint64_t offset = 0; ///< in bytes
};

/// Builds `hova_run` from `main`. Its length is that of the program, so what
/// launches have in common is computed once, and buffers are mere addresses.
class RunBuilder {
public:
  RunBuilder(ModuleOp module, func::FuncOp main, int64_t leastWork)
      : module(module), main(main), leastWork(leastWork),
        builder(module.getContext()), loc(main.getLoc()),
        converter(module.getContext()) {}

  void build(StringRef name) {
    Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
    Type i64 = builder.getI64Type();
    builder.setInsertionPointToStart(module.getBody());
    barrier = declare(kBarrier, {pointer, i64, i64});
    endKernel = declare(kEndKernel, {pointer, i64});
    builder.setInsertionPoint(main);
    run = func::FuncOp::create(
        builder, loc, name,
        builder.getFunctionType(
            {pointer, pointer, pointer, pointer, i64, i64, pointer}, {}));
    builder.setInsertionPointToStart(run.addEntryBlock());
    thread = toIndex(run.getArgument(4));
    threads = toIndex(run.getArgument(5));
    bindArguments();
    for (LaunchOp op : main.getOps<LaunchOp>()) {
      auto [share, first] = shares.try_emplace(shareKey(op));
      if (first) {
        share->second = computeShare(shareKey(op));
      }
    }
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

  /// A function of the runtime.
  LLVM::LLVMFuncOp declare(StringRef name, ArrayRef<Type> arguments) {
    auto nothing = LLVM::LLVMVoidType::get(builder.getContext());
    return LLVM::LLVMFuncOp::create(
        builder, loc, name, LLVM::LLVMFunctionType::get(nothing, arguments));
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
  /// A buffer of static shape at a pointer. Kernels take pointers, so the rest
  /// of the descriptor is never read.
  Value asMemRef(Value pointer, MemRefType type) {
    auto descriptor =
        MemRefDescriptor::poison(builder, loc, converter.convertType(type));
    descriptor.setAlignedPtr(builder, loc, pointer);
    return UnrealizedConversionCastOp::create(builder, loc, type,
                                              Value(descriptor))
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
      places[argument] = {data, 0};
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
      places[buffer] = {run.getArgument(2), buffer.getOffset()};
    } else if (auto buffer = dyn_cast<ImageBufferOp>(op)) {
      places[buffer] = {run.getArgument(3), buffer.getOffset()};
    } else {
      lowerLaunch(cast<LaunchOp>(op));
    }
  }

  /// Made where it is used: registers are for what many launches use.
  Value materialize(Value buffer) {
    Place place = places.lookup(buffer);
    Value address = place.offset == 0
                        ? place.base
                        : offset(place.base, constant(place.offset));
    return asMemRef(address, cast<MemRefType>(buffer.getType()));
  }

  using ShareKey = std::pair<int64_t, int64_t>;
  /// Units, and parts at most.
  ShareKey shareKey(LaunchOp op) {
    bool divides = workOf(op) >= leastWork;
    return {op.getUnits(),
            divides ? partsOf(op.getUnits(), op.getGrain(), kMaxParts) : 1};
  }

  /// parts = min(threads, most) ; the first units % parts shares are one
  /// longer.
  Share computeShare(ShareKey key) {
    auto [units, most] = key;
    Value parts = arith::MinUIOp::create(builder, loc, threads, index(most));
    Value size = arith::DivUIOp::create(builder, loc, index(units), parts);
    Value longer = arith::RemUIOp::create(builder, loc, index(units), parts);
    auto before = [&](Value number) -> Value {
      return arith::AddIOp::create(
          builder, loc, arith::MulIOp::create(builder, loc, number, size),
          arith::MinUIOp::create(builder, loc, number, longer));
    };
    Value next = arith::AddIOp::create(builder, loc, thread, index(1));
    return {arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                  thread, parts),
            before(thread), before(next)};
  }

  void callKernel(LaunchOp op, const Share &share) {
    auto callee =
        module.lookupSymbol<func::FuncOp>(op.getCalleeAttr().getAttr());
    SmallVector<Value> operands;
    for (Value buffer : op.getBuffers()) {
      operands.push_back(materialize(buffer));
    }
    auto scratchType =
        cast<MemRefType>(callee.getArgumentTypes().drop_back(2).back());
    operands.append({asMemRef(scratch, scratchType), share.begin, share.end});
    func::CallOp::create(builder, loc, callee, operands);
  }

  /// Whether this launch and the next are the first thread's alone.
  bool isFollowedAlone(LaunchOp op) {
    LaunchOp next;
    for (Operation *at = op->getNextNode(); at && !next;
         at = at->getNextNode()) {
      next = dyn_cast<LaunchOp>(at);
    }
    return next && shareKey(op).second == 1 && shareKey(next).second == 1;
  }

  void lowerLaunch(LaunchOp op) {
    const Share &share = shares.find(shareKey(op))->second;
    auto branch = scf::IfOp::create(builder, loc, share.busy, false);
    Value team = run.getArgument(6);
    int64_t number = launches++;
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPoint(branch.thenYield());
      callKernel(op, share);
      if (isFollowedAlone(op)) {
        LLVM::CallOp::create(builder, loc, endKernel,
                             ValueRange{team, constant(number)});
        return;
      }
    }
    LLVM::CallOp::create(
        builder, loc, barrier,
        ValueRange{team, run.getArgument(4), constant(number)});
  }

  ModuleOp module;
  func::FuncOp main;
  int64_t leastWork;
  OpBuilder builder;
  Location loc;
  LLVMTypeConverter converter;
  LLVM::LLVMFuncOp barrier, endKernel;
  func::FuncOp run;
  Value thread, threads, scratch;
  DenseMap<Value, Place> places;
  DenseMap<ShareKey, Share> shares;
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
    RunBuilder(getOperation(), main, leastWork).build("hova_run" + suffix);
    main.erase();
    if (auto weights = getOperation().lookupSymbol<func::FuncOp>("weights")) {
      weights.erase();
    }
  }
};
} // namespace
} // namespace hova
