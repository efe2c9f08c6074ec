//===- LowerLaunches.cpp - The function that every thread runs ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One parallel region for the whole program: each thread walks all launches,
// takes its chunk of each kernel's units and meets the others after it. The
// walk is the runtime's; the launches are data, so that no later pass and no
// code grows with the depth of a model. The tables by which kernels find rows
// are evaluated here and lie after the launches. Does nothing to a module that
// was not tiled.

#include "codegen/cpu/CpuFacts.h"
#include "codegen/cpu/CpuSchedule.h"
#include "codegen/cpu/HovaCpuDialect.h"
#include "codegen/cpu/Passes.h"
#include "codegen/cpu/StageSteps.h"
#include "codegen/cpu/TileOps.h"
#include "codegen/reference/ProgramTables.h"
#include "dialect/Ranges.h"
#include "dialect/program/ProgramOps.h"
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "passes/tile/ProgramAttrs.h"
#include "runtime/hova_runtime.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_LOWERLAUNCHESPASS
#include "codegen/cpu/Passes.h.inc"

/// The work of touching buffers, in floating-point operations.
static int64_t workOf(ValueRange buffers) {
  int64_t bits = 0;
  for (Value buffer : buffers) {
    auto type = cast<MemRefType>(buffer.getType());
    bits += type.getNumElements() * type.getElementTypeBitWidth();
  }
  return bits / 8 * CpuFacts::flopsPerByte;
}

/// The work of a kernel, in floating-point operations.
static int64_t workOf(LaunchOp op) {
  return op.getFlops() + workOf(op.getBuffers());
}

/// What of it a run of any size has: that of weights.
static int64_t fixedWorkOf(LaunchOp op) {
  SmallVector<Value> weights;
  for (Value buffer : op.getBuffers()) {
    if (buffer.getDefiningOp<ImageBufferOp>()) {
      weights.push_back(buffer);
    }
  }
  return workOf(ValueRange(weights));
}

namespace {
/// Builds `hova_run` and what it passes on from `main`.
class RunBuilder {
public:
  RunBuilder(ModuleOp module, func::FuncOp main, StringRef suffix,
             int64_t leastWork)
      : module(module), main(main), suffix(suffix), leastWork(leastWork),
        builder(module.getContext()), loc(main.getLoc()),
        converter(module.getContext()),
        pointer(LLVM::LLVMPointerType::get(builder.getContext())),
        i64(builder.getI64Type()) {}

  LogicalResult build() {
    builder.setInsertionPoint(main);
    FailureOr<SmallVector<int64_t>> found = evaluateTables(module, main);
    if (failed(checkShapes()) || failed(found)) {
      return failure();
    }
    tables.assign(found->begin(), found->end());
    LLVM::GlobalOp launches = buildLaunches();
    buildRun(launches, buildCall());
    return success();
  }

private:
  int64_t attribute(StringRef name) {
    return main->getAttrOfType<IntegerAttr>(name).getInt();
  }

  func::FuncOp buildFunction(StringRef name, ArrayRef<Type> arguments) {
    auto function =
        func::FuncOp::create(builder, loc, (name + suffix).str(),
                             builder.getFunctionType(arguments, {}));
    function.addEntryBlock();
    return function;
  }

  /// Another target's launches have another shape.
  LogicalResult checkShapes() {
    for (LaunchOp op : main.getOps<LaunchOp>()) {
      if (!isa<CpuLaunchAttr>(op.getShape())) {
        return op.emitOpError("expects the shape of a launch on a CPU, "
                              "'#hova_cpu.launch', got ")
               << op.getShape();
      }
    }
    return success();
  }

  //===--------------------------------------------------------------------===//
  // The launches (hova_launches)
  //===--------------------------------------------------------------------===//

  uint64_t describeBuffer(Value buffer) {
    if (auto chunk = buffer.getDefiningOp<ChunkBufferOp>()) {
      return chunk.getRowBytes() | HOVA_IN_CHUNK;
    }
    if (auto arena = buffer.getDefiningOp<ArenaBufferOp>()) {
      assert(arena.getOffset() % 64 == 0 && "low bits tell the kind");
      return arena.getOffset() | HOVA_IN_ARENA;
    }
    if (auto image = buffer.getDefiningOp<ImageBufferOp>()) {
      assert(image.getOffset() % 64 == 0 && "low bits tell the kind");
      return image.getOffset() | HOVA_IN_WEIGHTS;
    }
    if (buffer.getDefiningOp<SequenceBufferOp>()) {
      return HOVA_IN_SEQUENCES;
    }
    if (buffer.getDefiningOp<StepBufferOp>()) {
      return HOVA_OF_STEP;
    }
    if (auto table = buffer.getDefiningOp<TableBufferOp>()) {
      assert(table.getOffset() % 64 == 0 && "low bits tell the kind");
      return (tablesBegin + table.getOffset()) | HOVA_IN_TABLES;
    }
    int64_t number = cast<BlockArgument>(buffer).getArgNumber();
    int64_t inputs = attribute(kInputsAttr);
    return number < inputs
               ? number << HOVA_BUFFER_KIND_BITS | HOVA_INPUT
               : (number - inputs) << HOVA_BUFFER_KIND_BITS | HOVA_OUTPUT;
  }

  int64_t partsOfLaunch(LaunchOp op) {
    auto shape = cast<CpuLaunchAttr>(op.getShape());
    return workOf(op) >= leastWork
               ? partsOf(shape.getUnits(), shape.getGrain(), shape.getUnits())
               : 1;
  }

  /// With ranges: what makes the launch of a run out of that of the largest.
  std::array<uint64_t, 3> describeExtent(LaunchOp op) {
    auto name = op->getAttrOfType<StringAttr>(kExtentAttr);
    if (!name) {
      return {HOVA_FIXED, 0, 0};
    }
    Extent extent = extentNamed(name.getValue());
    auto shape = cast<CpuLaunchAttr>(op.getShape());
    int64_t fixed = fixedWorkOf(op);
    int64_t ofUnit =
        std::max<int64_t>((workOf(op) - fixed) / shape.getUnits(), 1);
    int64_t least =
        leastWork <= fixed ? 1 : llvm::divideCeil(leastWork - fixed, ofUnit);
    return {
        static_cast<uint64_t>(extent == Extent::items    ? HOVA_ITEMS
                              : extent == Extent::tokens ? HOVA_TOKENS
                                                         : HOVA_OTHER_TOKENS),
        static_cast<uint64_t>(shape.getGrain()), static_cast<uint64_t>(least)};
  }

  /// Bytes of scratch that the launch's kernel has an argument for.
  uint64_t scratchOf(LaunchOp op) {
    auto kernel = module.lookupSymbol<func::FuncOp>(op.getCallee());
    return cast<MemRefType>(kernel.getArgumentTypes().drop_back(2).back())
        .getNumElements();
  }

  void describeLaunch(LaunchOp op, SmallVectorImpl<uint64_t> &words) {
    auto kernel =
        kernels.try_emplace(op.getCalleeAttr().getAttr(), kernels.size());
    auto shape = cast<CpuLaunchAttr>(op.getShape());
    ArrayRef<int64_t> costs =
        shape.getCosts() ? shape.getCosts().asArrayRef() : ArrayRef<int64_t>();
    SmallVector<ChunkBufferOp> chunks;
    for (Value buffer : op.getBuffers()) {
      if (auto chunk = buffer.getDefiningOp<ChunkBufferOp>()) {
        chunks.push_back(chunk);
      }
    }
    words.append(
        {kernel.first->second, static_cast<uint64_t>(partsOfLaunch(op)),
         static_cast<uint64_t>(shape.getUnits()), op.getBuffers().size(),
         scratchOf(op),
         static_cast<uint64_t>(shape.getBlock().value_or(shape.getUnits())),
         costs.size(), chunks.size()});
    llvm::append_range(words, describeExtent(op));
    ArrayRef<int64_t> stages = shape.getStages()
                                   ? shape.getStages().asArrayRef()
                                   : ArrayRef<int64_t>();
    words.push_back(stages.size() / StageStep::kNumbers);
    for (Value buffer : op.getBuffers()) {
      words.push_back(describeBuffer(buffer));
    }
    uint64_t sum = 0;
    for (int64_t cost : costs) {
      words.push_back(sum += cost);
    }
    for (ChunkBufferOp chunk : chunks) {
      words.append({chunk.getOffset(), chunk.getRowBytesBefore()});
    }
    if (!stages.empty()) {
      describeStages(stages, partsOfLaunch(op), shape.getUnits(), words);
    }
  }

  /// The stages of a launch (`hova_stages`), and room for the steps of a run,
  /// of which the largest has one.
  void describeStages(ArrayRef<int64_t> stages, uint64_t parts, uint64_t rows,
                      SmallVectorImpl<uint64_t> &words) {
    CpuFacts facts(/*avx512=*/false, /*oneFma=*/false, /*hasUnit=*/false);
    words.append({static_cast<uint64_t>(facts.fewRows),
                  static_cast<uint64_t>(leastWork), 1});
    llvm::append_range(words, stages);
    size_t end = words.size() + stages.size() / StageStep::kNumbers *
                                    sizeof(hova_step) / sizeof(uint64_t);
    words.append({0, HOVA_LAST_STAGE, 0, rows, rows, parts});
    words.resize(end);
  }

  SmallVector<uint64_t> describeLaunches() {
    SmallVector<uint64_t> words = {0, 0};
    for (LaunchOp op : main.getOps<LaunchOp>()) {
      describeLaunch(op, words);
      ++words[0];
      words[1] = std::max<uint64_t>(words[1], op.getBuffers().size());
    }
    return words;
  }

  LLVM::GlobalOp buildLaunches() {
    // After the launches, whose number of words does not depend on it.
    uint64_t size = describeLaunches().size() * sizeof(uint64_t);
    tablesBegin = llvm::alignTo(size, 64);
    SmallVector<uint64_t> words = describeLaunches();
    if (!tables.empty()) {
      words.resize(tablesBegin / sizeof(uint64_t));
      words.append(tables);
    }
    size = words.size();
    auto data = DenseElementsAttr::get(
        RankedTensorType::get({static_cast<int64_t>(size)}, i64),
        ArrayRef<uint64_t>(words));
    // The description of the program names them too.
    return LLVM::GlobalOp::create(
        builder, loc, LLVM::LLVMArrayType::get(i64, size), /*isConstant=*/true,
        LLVM::Linkage::External, ("hova_launches" + suffix).str(), data,
        /*alignment=*/64);
  }

  //===--------------------------------------------------------------------===//
  // Kernels by number (hova_call_fn)
  //===--------------------------------------------------------------------===//

  /// A buffer of static shape at a pointer. Kernels take pointers, so the rest
  /// of the descriptor is never read.
  Value asMemRef(Value pointer, Type type) {
    auto memref = cast<MemRefType>(type);
    auto descriptor =
        MemRefDescriptor::poison(builder, loc, converter.convertType(memref));
    descriptor.setAlignedPtr(builder, loc, pointer);
    return UnrealizedConversionCastOp::create(builder, loc, type,
                                              Value(descriptor))
        .getResult(0);
  }

  Value toIndex(Value value) {
    return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                      value);
  }

  /// kernel_x(buffers[0], .., scratch, begin, end)
  void callKernel(func::FuncOp call, StringAttr name) {
    auto kernel = module.lookupSymbol<func::FuncOp>(name);
    ArrayRef<Type> types = kernel.getArgumentTypes().drop_back(3);
    SmallVector<Value> operands;
    for (auto [number, type] : llvm::enumerate(types)) {
      Value place = LLVM::GEPOp::create(
          builder, loc, pointer, pointer, call.getArgument(1),
          ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(number)});
      operands.push_back(
          asMemRef(LLVM::LoadOp::create(builder, loc, pointer, place), type));
    }
    operands.append({asMemRef(call.getArgument(2),
                              kernel.getArgumentTypes().drop_back(2).back()),
                     toIndex(call.getArgument(3)),
                     toIndex(call.getArgument(4))});
    func::CallOp::create(builder, loc, kernel, operands);
  }

  func::FuncOp buildCall() {
    func::FuncOp call =
        buildFunction("hova_call", {i64, pointer, pointer, i64, i64});
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&call.getBody().front());
    SmallVector<int64_t> numbers(llvm::make_second_range(kernels));
    auto chosen = scf::IndexSwitchOp::create(builder, loc, TypeRange(),
                                             toIndex(call.getArgument(0)),
                                             numbers, numbers.size());
    func::ReturnOp::create(builder, loc);
    for (auto [name, number] : kernels) {
      builder.setInsertionPointToStart(
          &chosen.getCaseRegions()[number].emplaceBlock());
      callKernel(call, name);
      scf::YieldOp::create(builder, loc);
    }
    builder.setInsertionPointToStart(&chosen.getDefaultRegion().emplaceBlock());
    scf::YieldOp::create(builder, loc);
    return call;
  }

  //===--------------------------------------------------------------------===//
  // The run (hova_run_fn)
  //===--------------------------------------------------------------------===//

  void buildRun(LLVM::GlobalOp launches, func::FuncOp call) {
    SmallVector<Type> types = {pointer, pointer, pointer, pointer,
                               i64,     i64,     pointer};
    func::FuncOp run = buildFunction("hova_run", types);
    types.append({pointer, pointer});
    auto runLaunches = LLVM::LLVMFuncOp::create(
        builder, loc, kRunLaunches,
        LLVM::LLVMFunctionType::get(
            LLVM::LLVMVoidType::get(builder.getContext()), types));
    builder.setInsertionPointToStart(&run.getBody().front());
    SmallVector<Value> operands(run.getArguments());
    operands.push_back(LLVM::AddressOfOp::create(builder, loc, launches));
    Value function = func::ConstantOp::create(
        builder, loc, call.getFunctionType(), call.getName());
    operands.push_back(
        UnrealizedConversionCastOp::create(builder, loc, pointer, function)
            .getResult(0));
    LLVM::CallOp::create(builder, loc, runLaunches, operands);
    func::ReturnOp::create(builder, loc);
  }

  ModuleOp module;
  func::FuncOp main;
  StringRef suffix;
  int64_t leastWork;
  OpBuilder builder;
  Location loc;
  LLVMTypeConverter converter;
  Type pointer, i64;
  SmallVector<uint64_t> tables;
  uint64_t tablesBegin = 0; ///< bytes after the start of the launches
  /// In the order of their first launches.
  llvm::MapVector<StringAttr, uint64_t> kernels;
};

struct LowerLaunchesPass final
    : impl::LowerLaunchesPassBase<LowerLaunchesPass> {
  using Base::Base;
  void runOnOperation() override {
    auto main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!main || !main->hasAttr(kArenaBytesAttr)) {
      return;
    }
    if (!main->hasAttrOfType<IntegerAttr>(kInputsAttr)) {
      main.emitError("expects '") << kInputsAttr << "', the number of inputs";
      return signalPassFailure();
    }
    if (failed(RunBuilder(getOperation(), main, suffix, leastWork).build())) {
      return signalPassFailure();
    }
    main.erase();
    for (StringRef name : {kFoldingFunction, kTableProgram}) {
      if (auto program = getOperation().lookupSymbol<func::FuncOp>(name)) {
        program.erase();
      }
    }
  }
};
} // namespace
} // namespace hova
