//===- LowerToThreads.cpp - What all generations of a GPU share -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "ThreadEmitter.h"
#include "mlir/AsmParser/AsmParser.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tile {

constexpr int64_t kLanes = 32;

ThreadEmitter::ThreadEmitter(func::FuncOp from)
    : from(from), b(from.getLoc(), from.getContext()) {}

Type ThreadEmitter::type(StringRef text) {
  return parseType(text, b.getContext());
}
Value ThreadEmitter::index(int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}
Value ThreadEmitter::i32(int64_t value) {
  return arith::ConstantIntOp::create(b, value, 32);
}
Value ThreadEmitter::constant(double value) {
  return arith::ConstantOp::create(b, b.getF32FloatAttr(value));
}
Value ThreadEmitter::add(Value x, Value y) {
  return b.createOrFold<arith::AddIOp>(x, y);
}
Value ThreadEmitter::mul(Value x, int64_t y) {
  return b.createOrFold<arith::MulIOp>(x, index(y));
}
Value ThreadEmitter::div(Value x, int64_t y) {
  return b.createOrFold<arith::DivUIOp>(x, index(y));
}
Value ThreadEmitter::rem(Value x, int64_t y) {
  return b.createOrFold<arith::RemUIOp>(x, index(y));
}
Value ThreadEmitter::exclusiveOr(Value x, Value y) {
  return b.createOrFold<arith::XOrIOp>(x, y);
}
Value ThreadEmitter::below(Value x, int64_t extent) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, x, index(extent));
}
Value ThreadEmitter::select(Value condition, Value x, Value y) {
  return arith::SelectOp::create(b, condition, x, y);
}
Value ThreadEmitter::toI32(Value index) {
  return arith::IndexCastOp::create(b, b.getI32Type(), index);
}

Value ThreadEmitter::groupAddress(Value byte) {
  return LLVM::GEPOp::create(b, type("!llvm.ptr<3>"), b.getI8Type(),
                             groupMemory, ArrayRef<LLVM::GEPArg>{toI32(byte)});
}

Value ThreadEmitter::address(Value matrix, Value row, Value column) {
  auto shaped = cast<MemRefType>(matrix.getType());
  Value element = add(mul(row, boxColumns(shaped)), column);
  return LLVM::GEPOp::create(b, type("!llvm.ptr<1>"), shaped.getElementType(),
                             at(matrix),
                             ArrayRef<LLVM::GEPArg>{toI32(element)});
}

Value ThreadEmitter::slotByte(const Slots &slots, Value slot, Value row,
                              Value chunk) {
  Value start = add(mul(slot, slots.bytes), index(slots.offset));
  Value swizzled = exclusiveOr(chunk, rem(row, 8));
  return add(add(start, mul(row, 128)), mul(swizzled, 16));
}

Value ThreadEmitter::pack(Value low, Value high) {
  auto pair = VectorType::get({2}, low.getType());
  return LLVM::BitcastOp::create(
      b, b.getI32Type(),
      vector::FromElementsOp::create(b, pair, ValueRange{low, high}));
}

ThreadEmitter::Values ThreadEmitter::leftOperand(Value tile, int64_t a,
                                                 int64_t k) {
  Fragment own = fragment(cast<TileType>(tile.getType()));
  const Values &elements = parts[tile];
  auto pair = [&](int64_t row, int64_t column) {
    int64_t first = row * own.columns.size() + column;
    return pack(elements[first], elements[first + 1]);
  };
  return {pair(2 * a, 4 * k), pair(2 * a + 1, 4 * k), pair(2 * a, 4 * k + 2),
          pair(2 * a + 1, 4 * k + 2)};
}

Fragment ThreadEmitter::fragment(TileType type) {
  Fragment own{index(0), index(0), {0}, {0}};
  bool product = type.getAlong() == Along::product;
  if (type.rows() > 1) {
    int64_t part = type.rows() / type.getRowMembers();
    own.row = mul(div(member, type.getColumnMembers()), part);
    own.rows.clear();
    for (int64_t r = 0; r < part; r += product ? 8 : 1) {
      own.rows.push_back(r);
    }
    if (product) {
      own.row = add(own.row, div(lane, 4));
    }
  }
  if (type.columns() > 1) {
    int64_t part = type.columns() / type.getColumnMembers();
    own.run = product ? 2 : 4;
    own.column = add(mul(rem(member, type.getColumnMembers()), part),
                     mul(product ? rem(lane, 4) : lane, own.run));
    own.columns.clear();
    for (int64_t c = 0; c < part; c += product ? 8 : kLanes * own.run) {
      for (int64_t e = 0; e < own.run; ++e) {
        own.columns.push_back(c + e);
      }
    }
  }
  return own;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// Sizes, from the types alone.
void ThreadEmitter::declare() {
  from.walk([&](Operation *op) {
    for (Value result : op->getResults()) {
      if (auto tile = dyn_cast<TileType>(result.getType())) {
        threads = kLanes * tile.getRowMembers() * tile.getColumnMembers();
      }
    }
  });
  from.walk([&](AllocOp op) {
    auto shape = op.getType().getShape();
    int64_t bytes = shape[1] * 128;
    slotsOf[op.getSlots()] = {0, bytes, shape[1], barriers};
    barriers += shape[0];
  });
  int64_t offset = llvm::alignTo(8 * barriers, 1024);
  from.walk([&](AllocOp op) {
    Slots &slots = slotsOf[op.getSlots()];
    slots.offset = offset;
    offset += slots.bytes * op.getType().getShape()[0];
  });
  groupBytes = barriers ? offset : 0;
}

/// More than 48 KB of group memory is given at launch, so it has no size here.
void ThreadEmitter::allocate() {
  std::string name = (from.getName() + "_memory").str();
  auto bytes = LLVM::LLVMArrayType::get(b.getI8Type(), 0);
  LLVM::GlobalOp::create(b, bytes, /*isConstant=*/false,
                         LLVM::Linkage::External, name, Attribute(),
                         /*alignment=*/1024, /*addrSpace=*/3);
}

LogicalResult ThreadEmitter::emit() {
  declare();
  b.setInsertionPoint(from);
  allocate();
  SmallVector<Type> inputs;
  for (Type input : from.getArgumentTypes()) {
    if (isa<MemRefType>(input)) {
      inputs.push_back(type("!llvm.ptr<1>"));
    }
  }
  size_t matrices = inputs.size();
  addArguments(inputs);
  to = LLVM::LLVMFuncOp::create(
      b, from.getName(),
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()),
                                  inputs));
  to->setAttr("nvvm.kernel", b.getUnitAttr());
  to->setAttr("nvvm.reqntid", b.getDenseI32ArrayAttr({int32_t(threads)}));
  to->setAttr("tile.group_bytes", b.getI64IntegerAttr(groupBytes));
  Block *entry = to.addEntryBlock(b);
  b.setInsertionPointToStart(entry);
  map.map(from.getArguments().take_front(matrices), entry->getArguments());
  auto special = [&](Value value) -> Value {
    return arith::IndexCastOp::create(b, b.getIndexType(), value);
  };
  Type word = b.getI32Type();
  thread = special(NVVM::ThreadIdXOp::create(b, word));
  lane = rem(thread, kLanes);
  member = div(thread, kLanes);
  map.map(from.getArgument(matrices),
          special(NVVM::BlockIdXOp::create(b, word)));
  map.map(from.getArgument(matrices + 1),
          special(NVVM::BlockIdYOp::create(b, word)));
  groupMemory = LLVM::AddressOfOp::create(b, type("!llvm.ptr<3>"),
                                          (from.getName() + "_memory").str());
  begin();
  if (failed(emitOps(from.getBody().front()))) {
    return failure();
  }
  LLVM::ReturnOp::create(b, ValueRange());
  from.erase();
  return success();
}

LogicalResult ThreadEmitter::emitOps(Block &block) {
  for (Operation &op : block.without_terminator()) {
    b.setLoc(op.getLoc());
    LogicalResult done =
        TypeSwitch<Operation *, LogicalResult>(&op)
            .Case<AllocOp>([](AllocOp) { return success(); })
            .Case<CopyOp>([&](CopyOp copyOp) {
              parts[copyOp.getToken()] = copy(copyOp);
              return success();
            })
            .Case<WaitOp>([&](WaitOp waitOp) { return wait(waitOp); })
            .Case<ProductOp>([&](ProductOp own) { return product(own); })
            .Case<LoadOp, StoreOp, ReduceOp, MapOp, scf::ForOp>(
                [&](auto own) { return emitOp(own); })
            .Default([&](Operation *other) {
              b.clone(*other, map);
              return success();
            });
    if (failed(done)) {
      return failure();
    }
  }
  return success();
}

SmallVector<Type> ThreadEmitter::partTypes(Type old) {
  if (isa<TokenType>(old)) {
    return tokenTypes();
  }
  if (auto tile = dyn_cast<TileType>(old)) {
    return SmallVector<Type>(fragment(tile).size(), tile.getElementType());
  }
  return {old};
}

LogicalResult ThreadEmitter::emitOp(scf::ForOp op) {
  Values inits;
  for (Value init : op.getInitArgs()) {
    llvm::append_range(inits, partsOf(init));
  }
  auto loop =
      scf::ForOp::create(b, at(op.getLowerBound()), at(op.getUpperBound()),
                         at(op.getStep()), inits);
  map.map(op.getInductionVar(), loop.getInductionVar());
  auto give = [&](ValueRange olds, ValueRange news) {
    for (Value old : olds) {
      size_t count = partTypes(old.getType()).size();
      parts[old] = Values(news.take_front(count));
      news = news.drop_front(count);
    }
  };
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    give(op.getRegionIterArgs(), loop.getRegionIterArgs());
    if (failed(enterLoop(op)) || failed(emitOps(*op.getBody()))) {
      return failure();
    }
    Values yielded;
    for (Value value : op.getYieldedValues()) {
      llvm::append_range(yielded, partsOf(value));
    }
    if (!yielded.empty()) {
      scf::YieldOp::create(b, yielded);
    }
  }
  give(op.getResults(), loop.getResults());
  return leaveLoop(op);
}

//===----------------------------------------------------------------------===//
// Memory and elements
//===----------------------------------------------------------------------===//

/// Whether (row, column) lies inside matrix; null if all tiles do (C1 of load).
Value ThreadEmitter::insideOf(Value matrix, TileType tile, Value row,
                              Value column) {
  int64_t rows = boxRows(matrix.getType());
  int64_t columns = boxColumns(matrix.getType());
  Value inside;
  if (rows % tile.rows()) {
    inside = below(row, rows);
  }
  if (columns % tile.columns()) {
    Value other = below(column, columns);
    inside = inside ? arith::AndIOp::create(b, inside, other) : other;
  }
  return inside;
}

LogicalResult ThreadEmitter::emitOp(LoadOp op) {
  TileType tile = op.getType();
  Fragment own = fragment(tile);
  auto run = VectorType::get({own.run}, tile.getElementType());
  Value row = add(at(op.getRow()), own.row);
  Value column = add(at(op.getColumn()), own.column);
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(run));
  Values &elements = partsOf(op.getTile());
  for (int64_t r : own.rows) {
    for (size_t c = 0; c < own.columns.size(); c += own.run) {
      Value i = add(row, index(r)), j = add(column, index(own.columns[c]));
      Value inside = insideOf(op.getSource(), tile, i, j);
      Value address = this->address(op.getSource(), i, j);
      if (inside) {
        address = select(inside, address, at(op.getSource()));
      }
      Value loaded = LLVM::LoadOp::create(b, run, address);
      if (inside) {
        loaded = select(inside, loaded, zero);
      }
      for (int64_t e = 0; e < own.run; ++e) {
        elements.push_back(vector::ExtractOp::create(b, loaded, e));
      }
    }
  }
  return success();
}

LogicalResult ThreadEmitter::emitOp(StoreOp op) {
  TileType tile = op.getTile().getType();
  Fragment own = fragment(tile);
  auto run = VectorType::get({own.run}, tile.getElementType());
  Value row = add(at(op.getRow()), own.row);
  Value column = add(at(op.getColumn()), own.column);
  ArrayRef<Value> elements = partsOf(op.getTile());
  for (int64_t r : own.rows) {
    Value i = add(row, index(r));
    OpBuilder::InsertionGuard guard(b);
    if (Value inside = insideOf(op.getTarget(), tile, i, column)) {
      auto choice = scf::IfOp::create(b, inside);
      b.setInsertionPointToStart(choice.thenBlock());
    }
    for (size_t c = 0; c < own.columns.size(); c += own.run) {
      Value whole =
          vector::FromElementsOp::create(b, run, elements.take_front(own.run));
      elements = elements.drop_front(own.run);
      LLVM::StoreOp::create(
          b, whole,
          address(op.getTarget(), i, add(column, index(own.columns[c]))));
    }
  }
  return success();
}

Value ThreadEmitter::shuffle(Value x, int64_t distance) {
  return NVVM::ShflOp::create(b, b.getF32Type(), i32(-1), x, i32(distance),
                              i32(31), NVVM::ShflKind::bfly, UnitAttr());
}

LogicalResult ThreadEmitter::emitOp(ReduceOp op) {
  TileType tile = op.getTile().getType();
  if (tile.getColumnMembers() > 1) {
    return op.emitOpError("over columns of several members is not lowered");
  }
  Fragment own = fragment(tile);
  auto combine = [&](Value x, Value y) -> Value {
    if (op.getCombine() == Combine::add) {
      return arith::AddFOp::create(b, x, y);
    }
    return arith::MaxNumFOp::create(
        b, x, y, arith::FastMathFlags::nnan | arith::FastMathFlags::nsz);
  };
  ArrayRef<Value> elements = partsOf(op.getTile());
  Values sums;
  for (size_t r = 0; r < own.rows.size(); ++r) {
    Values round(elements.slice(r * own.columns.size(), own.columns.size()));
    for (; round.size() > 1; round.resize((round.size() + 1) / 2)) {
      for (size_t i = 0; i < round.size() / 2; ++i) {
        round[i] = combine(round[i], round[round.size() - 1 - i]);
      }
    }
    int64_t lanes = tile.getAlong() == Along::product ? 4 : kLanes;
    for (int64_t distance = lanes / 2; distance; distance /= 2) {
      round[0] = combine(round[0], shuffle(round[0], distance));
    }
    sums.push_back(round[0]);
  }
  partsOf(op.getResult()) = sums;
  return success();
}

LogicalResult ThreadEmitter::emitOp(MapOp op) {
  Fragment own = fragment(op.getType());
  Block &body = op.getBody().front();
  Values results;
  for (size_t r = 0; r < own.rows.size(); ++r) {
    for (size_t c = 0; c < own.columns.size(); ++c) {
      for (auto [operand, argument] :
           llvm::zip(op.getOperands(), body.getArguments())) {
        auto tile = cast<TileType>(operand.getType());
        size_t width = tile.columns() == 1 ? 1 : own.columns.size();
        map.map(argument, partsOf(operand)[(tile.rows() == 1 ? 0 : r) * width +
                                           (tile.columns() == 1 ? 0 : c)]);
      }
      map.map(body.getArgument(body.getNumArguments() - 2),
              add(own.row, index(own.rows[r])));
      map.map(body.getArgument(body.getNumArguments() - 1),
              add(own.column, index(own.columns[c])));
      for (Operation &inner : body.without_terminator()) {
        map.map(inner.getResult(0), emitScalar(inner));
      }
      results.push_back(
          map.lookupOrDefault(body.getTerminator()->getOperand(0)));
    }
  }
  partsOf(op.getResult()) = results;
  return success();
}

Value ThreadEmitter::intrinsic(StringRef name, Value x) {
  return LLVM::CallIntrinsicOp::create(b, x.getType(), b.getStringAttr(name),
                                       ValueRange{x})
      .getResult(0);
}

/// Functions that the hardware approximates; all others as they are.
Value ThreadEmitter::emitScalar(Operation &op) {
  auto operand = [&] { return map.lookupOrDefault(op.getOperand(0)); };
  return TypeSwitch<Operation *, Value>(&op)
      .Case<math::Exp2Op>([&](Operation *) {
        return intrinsic("llvm.nvvm.ex2.approx.ftz.f32", operand());
      })
      .Case<math::RsqrtOp>([&](Operation *) {
        return intrinsic("llvm.nvvm.rsqrt.approx.ftz.f", operand());
      })
      .Case<math::ErfOp>([&](Operation *) { return erf(operand()); })
      .Default(
          [&](Operation *other) { return b.clone(*other, map)->getResult(0); });
}

/// Abramowitz and Stegun 7.1.26, absolute error 1.5e-7:
/// 1 - t p(t) exp(-x^2), t = 1 / (1 + 0.3275911 |x|), with the sign of x.
Value ThreadEmitter::erf(Value x) {
  auto fma = [&](Value p, Value q, double r) -> Value {
    return math::FmaOp::create(b, p, q, constant(r));
  };
  auto times = [&](Value p, Value q) -> Value {
    return arith::MulFOp::create(b, p, q);
  };
  Value size = math::AbsFOp::create(b, x);
  Value t = intrinsic("llvm.nvvm.rcp.approx.ftz.f",
                      fma(size, constant(0.3275911), 1));
  Value p = constant(1.061405429);
  for (double c : {-1.453152027, 1.421413741, -0.284496736, 0.254829592}) {
    p = fma(p, t, c);
  }
  Value power = intrinsic("llvm.nvvm.ex2.approx.ftz.f32",
                          times(times(x, x), constant(-1.4426950408889634)));
  Value rest = times(times(p, t), power);
  return math::CopySignOp::create(
      b, arith::SubFOp::create(b, constant(1), rest), x);
}

namespace {
struct LowerToThreadsPass
    : PassWrapper<LowerToThreadsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerToThreadsPass)
  LowerToThreadsPass() = default;
  LowerToThreadsPass(const LowerToThreadsPass &other) : PassWrapper(other) {}
  StringRef getArgument() const override { return "lower-tiles-to-threads"; }
  StringRef getDescription() const override { return "Tiles to registers"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<LLVM::LLVMDialect, NVVM::NVVMDialect, scf::SCFDialect,
                    vector::VectorDialect, math::MathDialect>();
  }
  void runOnOperation() override {
    getOperation()->setAttr(
        "llvm.target_triple",
        StringAttr::get(&getContext(), "nvptx64-nvidia-cuda"));
    for (auto function :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      auto emitter = chip == "sm_90a" ? makeSm90Emitter(function)
                                      : makeSm80Emitter(function);
      if (failed(emitter->emit())) {
        return signalPassFailure();
      }
    }
  }
  Option<std::string> chip{*this, "chip", llvm::cl::init("sm_80")};
};
} // namespace

std::unique_ptr<Pass> createLowerToThreadsPass() {
  return std::make_unique<LowerToThreadsPass>();
}

} // namespace tile
