//===- ThreadEmitter.cpp - Kernels, loops and fragments of threads --------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/lower/ThreadEmitter.h"
#include "codegen/cuda/DeviceProgram.h"
#include "codegen/cuda/LaunchOps.h"
#include "codegen/cuda/WgmmaFacts.h"
#include "codegen/cuda/facts/Occupancy.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace hova {

ThreadEmitter::ThreadEmitter(func::FuncOp from)
    : from(from), b(from.getLoc(), from.getContext()) {}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

Value ThreadEmitter::i32(int64_t value) {
  return arith::ConstantIntOp::create(b, value, 32);
}
Value ThreadEmitter::f32(double value) {
  return arith::ConstantOp::create(b, b.getF32FloatAttr(value));
}
Value ThreadEmitter::add(Value x, Value y) {
  return b.createOrFold<arith::AddIOp>(x, y);
}
Value ThreadEmitter::mul(Value x, int64_t y) {
  return b.createOrFold<arith::MulIOp>(x, i32(y));
}
Value ThreadEmitter::div(Value x, int64_t y) {
  return b.createOrFold<arith::DivUIOp>(x, i32(y));
}
Value ThreadEmitter::rem(Value x, int64_t y) {
  return b.createOrFold<arith::RemUIOp>(x, i32(y));
}
Value ThreadEmitter::below(Value x, int64_t extent) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, x, i32(extent));
}
Value ThreadEmitter::isRowOf(const Matrix &matrix, Value row) {
  return matrix.rowCount ? arith::CmpIOp::create(b, arith::CmpIPredicate::ult,
                                                 row, matrix.rowCount)
                         : below(row, matrix.rows);
}
Value ThreadEmitter::select(Value condition, Value x, Value y) {
  return arith::SelectOp::create(b, condition, x, y);
}
Value ThreadEmitter::word(Value index) {
  Value number = map.lookupOrDefault(index);
  auto cast = number.getDefiningOp<arith::IndexCastOp>();
  return cast && cast.getIn().getType().isInteger(32)
             ? cast.getIn()
             : b.createOrFold<arith::IndexCastOp>(b.getI32Type(), number);
}
Type ThreadEmitter::pointer(unsigned space) {
  return LLVM::LLVMPointerType::get(b.getContext(), space);
}
Value ThreadEmitter::offset(Value base, Value bytes) {
  return LLVM::GEPOp::create(b, base.getType(), b.getI8Type(), base,
                             ArrayRef<LLVM::GEPArg>{bytes});
}
Value ThreadEmitter::offset(Value base, int64_t bytes) {
  if (bytes == 0) {
    return base;
  }
  return LLVM::GEPOp::create(b, base.getType(), b.getI8Type(), base,
                             ArrayRef<LLVM::GEPArg>{int32_t(bytes)});
}

void ThreadEmitter::syncWarp() { NVVM::SyncWarpOp::create(b, i32(-1)); }

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

bool ThreadEmitter::isPaired(TileType type) const {
  return type.getElementTypeBitWidth() == 16 && type.columns() > 1 &&
         (type.getDistribution() != TileDistribution::row ||
          runOfRow(type.columns() / type.getColumnMembers()) > 1);
}

Fragment ThreadEmitter::fragment(TileType type) {
  Fragment held{i32(0), i32(0), {0}, {0}, 1};
  bool row = type.getDistribution() == TileDistribution::row;
  if (type.rows() > 1) {
    int64_t part = type.rows() / type.getRowMembers();
    held.row = mul(div(member, type.getColumnMembers()), part);
    held.rows.clear();
    for (int64_t r = 0; r < part; r += row ? 1 : kBlockRows) {
      held.rows.push_back(r);
    }
    if (!row) {
      held.row = add(held.row, div(lane, kLanesOfRow));
    }
  }
  if (type.columns() > 1) {
    int64_t part = type.columns() / type.getColumnMembers();
    int64_t lanes = row ? kLanes : kLanesOfRow;
    held.run = row ? runOfRow(part) : 2;
    held.column = add(mul(rem(member, type.getColumnMembers()), part),
                      mul(row ? lane : rem(lane, kLanesOfRow), held.run));
    held.columns.clear();
    for (int64_t c = 0; c < part; c += lanes * held.run) {
      for (int64_t e = 0; e < held.run; ++e) {
        held.columns.push_back(c + e);
      }
    }
  }
  return held;
}

SmallVector<Type> ThreadEmitter::partTypes(Type old) {
  if (isa<CopyTokenType>(old)) {
    return {};
  }
  auto tile = dyn_cast<TileType>(old);
  if (!tile) {
    return {old};
  }
  Fragment held = fragment(tile);
  size_t count = held.rows.size() * held.columns.size();
  if (isPaired(tile)) {
    return SmallVector<Type>(count / 2, b.getI32Type());
  }
  return SmallVector<Type>(count, tile.getElementType());
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// Whether a thread's part of a tile is whole blocks or runs.
static LogicalResult verifyTile(Operation *op, TileType tile) {
  int64_t rows = tile.rows() == 1 ? 1 : tile.rows() / tile.getRowMembers();
  int64_t columns =
      tile.columns() == 1 ? 1 : tile.columns() / tile.getColumnMembers();
  if (tile.getDistribution() == TileDistribution::row) {
    if (columns != 1 && !runOfRow(columns)) {
      return op->emitOpError("expects the columns of a member of ")
             << tile << " to be a multiple of " << kLanes;
    }
    return success();
  }
  if ((rows != 1 && rows % (2 * kBlockRows)) ||
      (columns != 1 && columns % (2 * kBlockRows))) {
    return op->emitOpError("expects a member to have multiples of ")
           << 2 * kBlockRows << " rows and columns of " << tile;
  }
  return success();
}

static int64_t elementsOfLane(TileType tile) {
  return tile.rows() * tile.columns() / (kLanes * tile.members());
}

/// Threads and the places of group memory, from the types alone.
LogicalResult ThreadEmitter::declare() {
  int64_t columnRows = 0;
  WalkResult walk = from.walk([&](Operation *op) -> WalkResult {
    for (Value result : op->getResults()) {
      auto tile = dyn_cast<TileType>(result.getType());
      if (!tile) {
        continue;
      }
      int64_t count = kLanes * tile.members();
      if (threads && threads != count) {
        return op->emitOpError("expects tiles of one group, of ")
               << threads / kLanes << " members, got " << tile;
      }
      threads = count;
      if (failed(verifyTile(op, tile))) {
        return failure();
      }
    }
    if (auto product = dyn_cast<GroupProductOp>(op)) {
      bool isF32 = product.getRhs().getType().getElementType().isF32();
      multipliesF32 |= isF32;
      // A left operand of f32 goes through registers a few elements at once.
      auto left = dyn_cast<TileType>(product.getLhs().getType());
      productElements = std::max(
          productElements, elementsOfLane(product.getSum().getType()) +
                               (left && !isF32 ? elementsOfLane(left) : 0));
    }
    if (auto product = dyn_cast<BeginProductOp>(op)) {
      multipliesUnderWay = true;
      auto left = dyn_cast<TileType>(product.getLhs().getType());
      productElements =
          std::max(productElements, elementsOfLane(product.getSum().getType()) +
                                        (left ? elementsOfLane(left) : 0));
    }
    if (auto store = dyn_cast<GroupStoreOp>(op); store && isStaged(store)) {
      TileType tile = store.getTile().getType();
      int64_t part = tile.columns() / tile.getColumnMembers();
      stageBytes = std::max(stageBytes, 16 * 2 * std::min(part, kSegment));
    }
    if (auto transpose = dyn_cast<GroupTransposeOp>(op)) {
      columnRows = std::max(columnRows, transpose.getTile().getType().rows());
    }
    if (auto alloc = dyn_cast<GroupAllocOp>(op)) {
      SlotsType type = alloc.getSlots().getType();
      int64_t columns = type.columns();
      int64_t bits = type.getElementTypeBitWidth();
      if ((bits != 16 && bits != 32) ||
          (columns % kSegment && columns != kSegment / 2) || type.rows() % 16) {
        return op->emitOpError("expects boxes of 16 or 32 bits an element, of "
                               "a multiple of 16 rows and of 32 or a multiple "
                               "of 64 columns, got ")
               << type;
      }
      int64_t width = std::min(columns, kSegment);
      Slots slots{groupBytes, type.rows(), bits / 8 * width, columns / width};
      slotsOf[alloc.getSlots()] = slots;
      groupBytes += slots.bytes() * type.count();
    }
    return WalkResult::advance();
  });
  if (walk.wasInterrupted()) {
    return failure();
  }
  if (!threads || threads > kMostThreads) {
    return from.emitOpError("expects tiles of 1 to ")
           << kMostThreads / kLanes << " members";
  }
  stageOffset = groupBytes;
  groupBytes += stageBytes * (threads / kLanes);
  columnOffset = groupBytes;
  groupBytes += llvm::alignTo(columnRows * 4, kChunkBytes);
  if (int64_t most = gpuOf(from).groupBytes; groupBytes > most) {
    return from.emitOpError("needs ")
           << groupBytes << " bytes of group memory, of which there are "
           << most;
  }
  return success();
}

/// The blocks that registers must leave room for; 0: the assembler decides. For
/// more it spills.
int64_t ThreadEmitter::leastBlocks() {
  const GpuFacts &gpu = gpuOf(from);
  int64_t blocks = blocksByGroupMemory(gpu, groupBytes);
  int64_t withAllRegisters =
      blocksByRegisters(gpu, kMostRegisters, threads / kLanes);
  if (withAllRegisters >= kUsualBlocks) {
    return 0;
  }
  if (blocks < kUsualBlocks) {
    return std::max<int64_t>(1, std::min(blocks, withAllRegisters));
  }
  if (productElements > kFewElements) {
    return withAllRegisters;
  }
  // Multiply-adds hold both operands beside the sums.
  return multipliesF32 ? kUsualBlocks : 0;
}

void ThreadEmitter::createKernel() {
  b.setInsertionPoint(from);
  // Its size is given at launch: beyond 48 KiB there is no other way.
  std::string name = (from.getName() + "_memory").str();
  LLVM::GlobalOp::create(b, LLVM::LLVMArrayType::get(b.getI8Type(), 0),
                         /*isConstant=*/false, LLVM::Linkage::External, name,
                         Attribute(), /*alignment=*/1024, /*addrSpace=*/3);
  size_t matrices = llvm::count_if(
      from.getArgumentTypes(), [](Type type) { return isa<MemRefType>(type); });
  SmallVector<Type> parameters(matrices, pointer(1));
  // What a run has is said by numbers that all blocks get.
  int64_t coordinates = from.getNumArguments() - matrices;
  if (coordinates > kGridAxes) {
    parameters.append(coordinates - kGridAxes, b.getI32Type());
  }
  to = LLVM::LLVMFuncOp::create(
      b, from.getName(),
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()),
                                  parameters));
  to->setAttr("nvvm.kernel", b.getUnitAttr());
  to->setAttr("nvvm.reqntid", b.getDenseI32ArrayAttr({int32_t(threads)}));
  setCluster();
  if (int64_t least = leastBlocks()) {
    to->setAttr("nvvm.minctasm", b.getI32IntegerAttr(least));
  }
  to->setAttr(kGroupBytesAttr, b.getI64IntegerAttr(groupBytes));
  Block *entry = to.addEntryBlock(b);
  b.setInsertionPointToStart(entry);
  Type word = b.getI32Type();
  thread = NVVM::ThreadIdXOp::create(b, word);
  lane = rem(thread, kLanes);
  member = div(thread, kLanes);
  memory = LLVM::AddressOfOp::create(b, pointer(3), name);
  if (multipliesUnderWay) {
    // Lanes of a warp have the same: ptxas knows it of what one gives to all.
    warpGroup =
        NVVM::ShflOp::create(b, word, i32(-1), div(member, kWgmmaWarps), i32(0),
                             i32(kLanes - 1), NVVM::ShflKind::idx, UnitAttr());
  }
  map.map(from.getArguments().take_front(matrices), entry->getArguments());
  for (auto [axis, argument] :
       llvm::enumerate(from.getArguments().drop_front(matrices))) {
    Value id = axis == 0   ? NVVM::BlockIdXOp::create(b, word).getResult()
               : axis == 1 ? NVVM::BlockIdYOp::create(b, word).getResult()
               : axis == 2
                   ? NVVM::BlockIdZOp::create(b, word).getResult()
                   : Value(entry->getArgument(matrices + axis - kGridAxes));
    map.map(argument, arith::IndexCastOp::create(b, b.getIndexType(), id));
  }
  if (Attribute cycles = from->getAttr(kBlockCyclesAttr)) {
    to->setAttr(kBlockCyclesAttr, cycles);
  }
  if (Attribute settled = from->getAttr(kSettledAttr)) {
    to->setAttr(kSettledAttr, settled);
    // Not before the wait: launches further on would begin to wait as well, and
    // take the room of what works.
    AwaitLaunchesOp::create(b);
    AllowLaunchesOp::create(b);
  }
}

/// Matrices first, then three coordinates at most and, after three, what a run
/// has of two or three kinds of units; no result.
static LogicalResult verifySignature(func::FuncOp function) {
  bool coordinates = false;
  int64_t count = 0;
  for (Type type : function.getArgumentTypes()) {
    coordinates |= type.isIndex();
    count += type.isIndex();
    if (coordinates ? !type.isIndex() : !isa<MemRefType>(type)) {
      return function.emitOpError("expects matrices and then coordinates of "
                                  "type index, got an argument ")
             << type;
    }
    SmallVector<int64_t> strides;
    int64_t start = 0;
    if (auto matrix = dyn_cast<MemRefType>(type);
        matrix &&
        (failed(matrix.getStridesAndOffset(strides, start)) || start != 0)) {
      return function.emitOpError("expects arguments that begin at their "
                                  "address, without an offset, got ")
             << type;
    }
  }
  bool takesSizes = count == kGridAxes + 2 || count == kGridAxes + 3;
  if ((count > kGridAxes && !takesSizes) || function.getNumResults() != 0 ||
      !llvm::hasSingleElement(function.getBody())) {
    return function.emitOpError(
        "expects at most three coordinates, or two or three numbers after "
        "them, one block and no result");
  }
  return success();
}

LogicalResult ThreadEmitter::emit() {
  if (failed(verifySignature(from)) || failed(declare())) {
    return failure();
  }
  createKernel();
  if (failed(emitOps(from.getBody().front()))) {
    return failure();
  }
  if (!pending.empty()) {
    return pending.front().getDefiningOp()->emitOpError(
        "is never waited for at the end of the function");
  }
  b.setLoc(from.getLoc());
  LLVM::ReturnOp::create(b, ValueRange());
  from.erase();
  return success();
}

LogicalResult ThreadEmitter::emitOps(Block &block) {
  for (Operation &op : block.without_terminator()) {
    b.setLoc(op.getLoc());
    if (failed(emitOp(op))) {
      return failure();
    }
  }
  return success();
}

LogicalResult ThreadEmitter::emitOp(Operation &op) {
  return TypeSwitch<Operation *, LogicalResult>(&op)
      .Case<GroupAllocOp>([](GroupAllocOp) { return success(); })
      .Case<GroupLoadOp>([&](GroupLoadOp load) { return emitLoad(load); })
      .Case<GroupGatherOp>(
          [&](GroupGatherOp gather) { return emitGather(gather); })
      .Case<GroupStoreOp>([&](GroupStoreOp store) { return emitStore(store); })
      .Case<GroupShareOp>([&](GroupShareOp share) { return emitShare(share); })
      .Case<GroupCopyOp>([&](GroupCopyOp copy) { return emitCopy(copy); })
      .Case<GroupWaitOp>([&](GroupWaitOp wait) { return emitWait(wait); })
      .Case<GroupProductOp>(
          [&](GroupProductOp product) { return emitProduct(product); })
      .Case<BeginProductOp>(
          [&](BeginProductOp product) { return emitBeginProduct(product); })
      .Case<EndProductsOp>(
          [&](EndProductsOp end) { return emitEndProducts(end); })
      .Case<GroupReduceOp>(
          [&](GroupReduceOp reduce) { return emitReduce(reduce); })
      .Case<StoreSumsOp>(
          [&](StoreSumsOp store) { return emitStoreSums(store); })
      .Case<LoadSumsOp>([&](LoadSumsOp load) { return emitLoadSums(load); })
      .Case<AddPartsOp>([&](AddPartsOp sum) { return emitAddParts(sum); })
      .Case<GroupTransposeOp>(
          [&](GroupTransposeOp transpose) { return emitTranspose(transpose); })
      .Case<GroupExchangeOp>(
          [&](GroupExchangeOp op) { return emitExchange(op); })
      .Case<GroupHalfOp>([&](GroupHalfOp op) { return emitHalf(op); })
      .Case<GroupMapOp>([&](GroupMapOp op) { return emitMap(op); })
      .Case<GroupWhereOp>([&](GroupWhereOp op) { return emitWhere(op); })
      .Case<scf::ForOp>([&](scf::ForOp loop) { return emitLoop(loop); })
      .Case<memref::SubViewOp>(
          [&](memref::SubViewOp view) { return emitSubview(view); })
      .Case<memref::LoadOp>(
          [&](memref::LoadOp load) { return emitElementLoad(load); })
      .Case<memref::CastOp, memref::ReinterpretCastOp>([&](auto cast) {
        // What a view of all of a matrix folds to, or the same elements in
        // other rows: the same address.
        map.map(cast.getResult(), map.lookupOrDefault(cast.getSource()));
        return success();
      })
      .Default([&](Operation *other) -> LogicalResult {
        auto isMatrix = [](Type type) { return isa<BaseMemRefType>(type); };
        if (other->getNumRegions() || !isMemoryEffectFree(other) ||
            llvm::any_of(other->getOperandTypes(), isMatrix) ||
            llvm::any_of(other->getResultTypes(), isMatrix)) {
          return other->emitOpError("has no lowering to threads");
        }
        b.clone(*other, map);
        return success();
      });
}

scf::ForOp ThreadEmitter::createLoop(Value from, Value to, Value step,
                                     ValueRange inits) {
  auto loop = scf::ForOp::create(b, from, to, step, inits);
  // ptxas unrolls a loop of constant length whole.
  auto never = LLVM::LoopUnrollAttr::get(b.getContext(), b.getBoolAttr(true),
                                         {}, {}, {}, {}, {}, {});
  auto annotation =
      LLVM::LoopAnnotationAttr::get(b.getContext(), {}, {}, {}, never, {}, {},
                                    {}, {}, {}, {}, {}, {}, {}, {}, {});
  loop->setDiscardableAttr("llvm.loop_annotation", annotation);
  return loop;
}

LogicalResult ThreadEmitter::emitLoop(scf::ForOp op) {
  auto append = [&](Values &all, Value old) {
    if (isa<TileType>(old.getType())) {
      llvm::append_range(all, parts[old]);
    } else if (!isa<CopyTokenType>(old.getType())) {
      all.push_back(map.lookupOrDefault(old));
    }
  };
  auto give = [&](ValueRange olds, ValueRange news) {
    for (Value old : olds) {
      size_t count = partTypes(old.getType()).size();
      if (isa<TileType>(old.getType())) {
        parts[old] = Values(news.take_front(count));
      } else if (count) {
        map.map(old, news.front());
      }
      news = news.drop_front(count);
    }
  };
  Values inits;
  for (Value init : op.getInitArgs()) {
    append(inits, init);
  }
  scf::ForOp loop = createLoop(map.lookupOrDefault(op.getLowerBound()),
                               map.lookupOrDefault(op.getUpperBound()),
                               map.lookupOrDefault(op.getStep()), inits);
  map.map(op.getInductionVar(), loop.getInductionVar());
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    give(op.getRegionIterArgs(), loop.getRegionIterArgs());
    if (failed(enterLoop(op)) || failed(emitOps(*op.getBody()))) {
      return failure();
    }
    Values yielded;
    for (Value value : op.getYieldedValues()) {
      append(yielded, value);
    }
    // A loop without carried values has its terminator already.
    if (!yielded.empty()) {
      scf::YieldOp::create(b, yielded);
    }
  }
  b.setLoc(op.getLoc());
  give(op.getResults(), loop.getResults());
  return leaveLoop(op);
}

LogicalResult ThreadEmitter::emitWhere(GroupWhereOp op) {
  Type element = op.getResult().getType().getElementType();
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(element));
  Values asked;
  Value any;
  for (Value condition : parts[op.getCondition()]) {
    asked.push_back(
        arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, condition, zero));
    any = any ? b.createOrFold<arith::OrIOp>(any, asked.back()) : asked.back();
  }
  auto branch = scf::IfOp::create(b, SmallVector<Type>(asked.size(), element),
                                  any, /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    Block &body = op.getBody().front();
    if (failed(emitOps(body))) {
      return failure();
    }
    scf::YieldOp::create(b, parts[body.getTerminator()->getOperand(0)]);
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, Values(asked.size(), zero));
  }
  b.setLoc(op.getLoc());
  Values results;
  for (auto [isAsked, result] : llvm::zip(asked, branch.getResults())) {
    results.push_back(select(isAsked, result, zero));
  }
  parts[op.getResult()] = results;
  return success();
}

/// A part of an argument with more dimensions, say one image of a batch.
LogicalResult ThreadEmitter::emitSubview(memref::SubViewOp op) {
  SmallVector<int64_t> strides;
  int64_t start;
  MemRefType source = op.getSourceType();
  if (failed(source.getStridesAndOffset(strides, start)) ||
      llvm::any_of(strides, ShapedType::isDynamic)) {
    return op.emitOpError("expects a source with static strides, got ")
           << source;
  }
  int64_t bytes = source.getElementTypeBitWidth() / 8;
  Value base = map.lookupOrDefault(op.getSource());
  for (auto [index, stride] : llvm::zip(op.getMixedOffsets(), strides)) {
    if (auto constant = getConstantIntValue(index)) {
      base = offset(base, *constant * stride * bytes);
    } else {
      base = offset(base, mul(word(cast<Value>(index)), stride * bytes));
    }
  }
  map.map(op.getResult(), base);
  return success();
}

/// The rows that a matrix may have, and what says how many it has; null where
/// the type does.
static std::pair<int64_t, Value> rowsOf(Value matrix) {
  int64_t rows = cast<MemRefType>(matrix.getType()).getDimSize(0);
  if (!ShapedType::isDynamic(rows)) {
    return {rows, Value()};
  }
  auto view = matrix.getDefiningOp<memref::SubViewOp>();
  if (!view || view.getSizes().size() != 1) {
    return {ShapedType::kDynamic, Value()};
  }
  return {rowsOf(view.getSource()).first, view.getDynamicSize(0)};
}

FailureOr<ThreadEmitter::Matrix> ThreadEmitter::matrix(Operation *op,
                                                       Value source) {
  auto type = cast<MemRefType>(source.getType());
  SmallVector<int64_t> strides;
  int64_t start;
  LogicalResult strided = type.getStridesAndOffset(strides, start);
  assert(succeeded(strided) && "the verifier has seen the strides");
  (void)strided;
  int64_t bytes = type.getElementTypeBitWidth() / 8;
  auto [rows, rowCount] = rowsOf(source);
  if (ShapedType::isDynamic(rows)) {
    return op->emitOpError("expects rows of which there are not always as many "
                           "to be the first ones of a matrix, got ")
           << type;
  }
  Matrix matrix{map.lookupOrDefault(source),
                rows,
                type.getDimSize(1),
                strides[0] * bytes,
                bytes,
                type.getElementType(),
                rowCount ? word(rowCount) : Value()};
  if (matrix.rows * matrix.rowBytes > kMostMatrixBytes) {
    return op->emitOpError("expects matrices of at most 2 GiB, since offsets "
                           "have 32 bits, got ")
           << type;
  }
  return matrix;
}

} // namespace hova
