//===- LowerToLoops.cpp - Tiles as buffers and loops ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The plainest lowering for a processor: every tile is a buffer, every
// operation a loop nest over it, every copy done at once. Distributions and
// tokens mean nothing here. It exists to run the functions and to show that the
// operations ask for no GPU; a fast lowering keeps tiles in vectors.

#include "Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tile {
namespace {

class LoopEmitter {
public:
  LoopEmitter(func::FuncOp from)
      : from(from), b(from.getLoc(), from.getContext()) {}

  void emit() {
    b.setInsertionPoint(from);
    auto to = func::FuncOp::create(b, from.getName(), from.getFunctionType());
    entry = to.addEntryBlock();
    b.setInsertionPointToStart(entry);
    map.map(from.getArguments(), to.getArguments());
    emitOps(from.getBody().front());
    func::ReturnOp::create(b);
    from.erase();
  }

private:
  /// A buffer of the frame, outside of all loops.
  Value buffer(Type shaped) {
    auto type = cast<ShapedType>(shaped);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(entry);
    return memref::AllocaOp::create(
        b, MemRefType::get(type.getShape(), type.getElementType()));
  }

  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }
  Value add(Value x, Value y) { return arith::AddIOp::create(b, x, y); }

  void loop(int64_t extent, llvm::function_ref<void(Value)> body) {
    auto loop = scf::ForOp::create(b, index(0), index(extent), index(1));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    body(loop.getInductionVar());
  }

  void forEach(int64_t rows, int64_t columns,
               llvm::function_ref<void(Value, Value)> body) {
    loop(rows, [&](Value i) { loop(columns, [&](Value j) { body(i, j); }); });
  }

  /// Whether (row, column) lies inside matrix.
  Value inside(Value matrix, Value row, Value column) {
    auto below = [&](Value position, int64_t extent) -> Value {
      return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, position,
                                   index(extent));
    };
    return arith::AndIOp::create(b, below(row, boxRows(matrix.getType())),
                                 below(column, boxColumns(matrix.getType())));
  }

  /// target[place] = matrix[row, column], 0 outside.
  void copyElement(Value matrix, Value row, Value column, Value target,
                   ValueRange place) {
    Type element = cast<ShapedType>(matrix.getType()).getElementType();
    auto choice = scf::IfOp::create(b, inside(matrix, row, column),
                                    /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(choice.thenBlock());
    memref::StoreOp::create(
        b, memref::LoadOp::create(b, matrix, ValueRange{row, column}), target,
        place);
    b.setInsertionPointToStart(choice.elseBlock());
    memref::StoreOp::create(
        b, arith::ConstantOp::create(b, b.getFloatAttr(element, 0)), target,
        place);
  }

  void emitOps(Block &block) {
    for (Operation &op : block.without_terminator()) {
      b.setLoc(op.getLoc());
      TypeSwitch<Operation *>(&op)
          .Case<AllocOp, LoadOp, StoreOp, CopyOp, WaitOp, ProductOp, ReduceOp,
                MapOp, scf::ForOp>([&](auto own) { emitOp(own); })
          .Default([&](Operation *other) { b.clone(*other, map); });
    }
  }

  Value at(Value v) { return map.lookup(v); }

  void emitOp(AllocOp op) { map.map(op.getSlots(), buffer(op.getType())); }
  void emitOp(WaitOp) {}

  void emitOp(LoadOp op) {
    Value source = at(op.getSource()), tile = buffer(op.getType());
    forEach(boxRows(op.getType()), boxColumns(op.getType()),
            [&](Value i, Value j) {
              copyElement(source, add(at(op.getRow()), i),
                          add(at(op.getColumn()), j), tile, {i, j});
            });
    map.map(op.getTile(), tile);
  }

  void emitOp(StoreOp op) {
    Value target = at(op.getTarget()), tile = at(op.getTile());
    forEach(boxRows(tile.getType()), boxColumns(tile.getType()),
            [&](Value i, Value j) {
              Value row = add(at(op.getRow()), i);
              Value column = add(at(op.getColumn()), j);
              auto guard = scf::IfOp::create(b, inside(target, row, column));
              OpBuilder::InsertionGuard restore(b);
              b.setInsertionPointToStart(guard.thenBlock());
              Value element = memref::LoadOp::create(b, tile, ValueRange{i, j});
              memref::StoreOp::create(b, element, target,
                                      ValueRange{row, column});
            });
  }

  void emitOp(CopyOp op) {
    Value source = at(op.getSource()), slots = at(op.getSlots());
    forEach(boxRows(slots.getType()), boxColumns(slots.getType()),
            [&](Value i, Value j) {
              copyElement(source, add(at(op.getRow()), i),
                          add(at(op.getColumn()), j), slots,
                          {at(op.getSlot()), i, j});
            });
  }

  void emitOp(ProductOp op) {
    TileType type = op.getType();
    Value lhs = at(op.getLhs()), rhs = at(op.getRhs());
    Value sum = at(op.getSum()), result = buffer(type);
    auto widened = [&](Value matrix, Value slot, Value i, Value j) -> Value {
      SmallVector<Value> place{i, j};
      if (slot) {
        place.insert(place.begin(), at(slot));
      }
      Value element = memref::LoadOp::create(b, matrix, place);
      return arith::ExtFOp::create(b, type.getElementType(), element);
    };
    forEach(type.rows(), type.columns(), [&](Value i, Value j) {
      Value start = memref::LoadOp::create(b, sum, ValueRange{i, j});
      memref::StoreOp::create(b, start, result, ValueRange{i, j});
      loop(boxColumns(lhs.getType()), [&](Value k) {
        Value x = widened(lhs, op.getLhsSlot(), i, k);
        Value y = op.getTransposed() ? widened(rhs, op.getRhsSlot(), j, k)
                                     : widened(rhs, op.getRhsSlot(), k, j);
        Value old = memref::LoadOp::create(b, result, ValueRange{i, j});
        memref::StoreOp::create(b, math::FmaOp::create(b, x, y, old), result,
                                ValueRange{i, j});
      });
    });
    map.map(op.getResult(), result);
  }

  void emitOp(ReduceOp op) {
    TileType type = op.getTile().getType();
    Value tile = at(op.getTile()), result = buffer(op.getType());
    bool adds = op.getCombine() == Combine::add;
    loop(type.rows(), [&](Value i) {
      Value first = memref::LoadOp::create(b, tile, ValueRange{i, index(0)});
      memref::StoreOp::create(b, first, result, ValueRange{i, index(0)});
      auto rest =
          scf::ForOp::create(b, index(1), index(type.columns()), index(1));
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(rest.getBody());
      Value x = memref::LoadOp::create(b, result, ValueRange{i, index(0)});
      Value y = memref::LoadOp::create(b, tile,
                                       ValueRange{i, rest.getInductionVar()});
      Value both = adds ? Value(arith::AddFOp::create(b, x, y))
                        : Value(arith::MaxNumFOp::create(b, x, y));
      memref::StoreOp::create(b, both, result, ValueRange{i, index(0)});
    });
    map.map(op.getResult(), result);
  }

  void emitOp(MapOp op) {
    Value result = buffer(op.getType());
    Block &body = op.getBody().front();
    forEach(
        boxRows(op.getType()), boxColumns(op.getType()), [&](Value i, Value j) {
          for (auto [operand, argument] :
               llvm::zip(op.getOperands(), body.getArguments())) {
            Value row = boxRows(operand.getType()) == 1 ? index(0) : i;
            Value column = boxColumns(operand.getType()) == 1 ? index(0) : j;
            map.map(argument, memref::LoadOp::create(b, at(operand),
                                                     ValueRange{row, column})
                                  .getResult());
          }
          map.map(body.getArguments().take_back(2), ValueRange{i, j});
          for (Operation &inner : body.without_terminator()) {
            b.clone(inner, map);
          }
          memref::StoreOp::create(
              b, map.lookupOrDefault(body.getTerminator()->getOperand(0)),
              result, ValueRange{i, j});
        });
    map.map(op.getResult(), result);
  }

  void copyTile(Value source, Value target) {
    memref::CopyOp::create(b, source, target);
  }

  /// Carried tiles live in buffers that the yield writes. The functions never
  /// permute what they carry, so that it may do so one by one.
  void emitOp(scf::ForOp op) {
    SmallVector<std::pair<Value, Value>> carried;
    for (auto [init, argument, result, yielded] :
         llvm::zip(op.getInitArgs(), op.getRegionIterArgs(), op.getResults(),
                   op.getYieldedValues())) {
      if (isa<TileType>(init.getType())) {
        Value own = buffer(init.getType());
        copyTile(at(init), own);
        map.map(argument, own);
        map.map(result, own);
        carried.emplace_back(yielded, own);
      }
    }
    auto loop = scf::ForOp::create(b, at(op.getLowerBound()),
                                   at(op.getUpperBound()), at(op.getStep()));
    map.map(op.getInductionVar(), loop.getInductionVar());
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    emitOps(*op.getBody());
    for (auto [yielded, own] : carried) {
      copyTile(at(yielded), own);
    }
  }

  func::FuncOp from;
  ImplicitLocOpBuilder b;
  Block *entry = nullptr;
  IRMapping map;
};

struct LowerToLoopsPass
    : PassWrapper<LowerToLoopsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerToLoopsPass)
  StringRef getArgument() const override { return "lower-tiles-to-loops"; }
  StringRef getDescription() const override { return "Tiles to buffers"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<memref::MemRefDialect, scf::SCFDialect, arith::ArithDialect,
                    math::MathDialect>();
  }
  void runOnOperation() override {
    for (auto function :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      LoopEmitter(function).emit();
    }
  }
};
} // namespace

std::unique_ptr<Pass> createLowerToLoopsPass() {
  return std::make_unique<LowerToLoopsPass>();
}

} // namespace tile
