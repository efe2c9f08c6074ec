//===- NormalizeStorage.cpp - Inputs of products in the storage type ------===//
// SPDX-License-Identifier: Apache-2.0
//
// With storage of 16 bits a product reads half the bytes and, where the machine
// has an instruction for it, does twice the work per cycle. What a product
// reads is rounded once, after the operation that makes it; sums, norms,
// softmax and the residual stream stay f32. Where a value is read both ways,
// both are kept. Without `hova.storage` on the module nothing changes.

#include "dialect/Shapes.h"
#include "dialect/Site.h"
#include "dialect/Storage.h"
#include "dialect/dense/DenseOps.h"
#include "dialect/program/ProgramOps.h"
#include "dialect/token/TokenOps.h"
#include "passes/normalize/Passes.h"
#include "passes/normalize/WeightValues.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "hova-normalize-storage"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_NORMALIZESTORAGEPASS
#include "passes/normalize/Passes.h.inc"

static bool isStoredOperand(OpOperand &operand) {
  auto op = dyn_cast<StorageOpInterface>(operand.getOwner());
  return op && op.isStored(operand.getOperandNumber());
}

/// The results of `op` that may be of the storage type in this way.
static SmallVector<OpResult> resultsStored(Operation *op, ResultStorage way) {
  SmallVector<OpResult> results;
  if (auto stored = dyn_cast<StorageOpInterface>(op)) {
    llvm::copy_if(
        op->getResults(), std::back_inserter(results), [&](OpResult result) {
          return stored.getResultStorage(result.getResultNumber()) == way;
        });
  }
  return results;
}

/// Whether results of an operation have the type of its operands, as scaled
/// heads have.
static bool keepsTypes(Operation *op) {
  return !resultsStored(op, ResultStorage::ofOperands).empty();
}

/// Operations that only move what they read, all of it or columns that others
/// read as well: it may be rounded before as well.
static bool movesColumns(Operation *op) {
  auto slice = dyn_cast_or_null<SliceOp>(op);
  auto pool = dyn_cast_or_null<PoolOp>(op);
  return (slice && slice.takesColumns()) ||
         (pool && pool.getKind() == PoolKind::first &&
          shapeOf(pool.getX())[1] == 1) ||
         isa_and_nonnull<BlockDiagonalOp>(op);
}

namespace {
/// Rewrites one function.
class StorageNormalizer {
public:
  StorageNormalizer(func::FuncOp function, FloatType storage)
      : function(function), storage(storage),
        weights(function.getBody().front()) {}

  void run() {
    function.walk([&](ConvertOp op) {
      if (narrows(op) && !movesColumns(op.getX().getDefiningOp()) &&
          converted.try_emplace(op.getX(), op.getResult()).second) {
        moveToOperand(op);
      }
    });
    // Readers first: what keeps types suits only if those do.
    SmallVector<Operation *> all = allOperations();
    for (Operation *op : llvm::reverse(all)) {
      if (keepsTypes(op)) {
        convertWithResults(op);
      }
    }
    for (Operation *op : allOperations()) {
      if (auto conversion = dyn_cast<ConvertOp>(op)) {
        moveBeforeColumns(conversion);
      } else if (!keepsTypes(op)) {
        convertOperands(op);
      }
    }
    function.walk([&](Operation *op) {
      for (Value result : resultsStored(op, ResultStorage::rounded)) {
        storeResult(result);
      }
    });
    SmallVector<Operation *> ops = allOperations();
    for (Operation *op : llvm::reverse(ops)) {
      if (isOpTriviallyDead(op)) {
        op->erase();
      }
    }
  }

private:
  SmallVector<Operation *> allOperations() {
    SmallVector<Operation *> ops;
    function.walk([&](Operation *op) { ops.push_back(op); });
    return ops;
  }
  RankedTensorType narrow(Value value) {
    return cast<RankedTensorType>(value.getType()).clone(storage);
  }
  bool narrows(ConvertOp op) {
    return op.getResult().getType() == narrow(op.getX());
  }

  /// An output that is narrow beside the program is converted at its end: what
  /// reads the same stands before.
  static void moveToOperand(ConvertOp op) {
    bool isOutput = llvm::any_of(op->getUsers(), [](Operation *user) {
      return user->hasTrait<OpTrait::IsTerminator>();
    });
    if (!isOutput) {
      return;
    }
    if (Operation *made = op.getX().getDefiningOp()) {
      op->moveAfter(made);
    } else {
      op->moveBefore(op->getBlock(), op->getBlock()->begin());
    }
  }

  /// Not of products that are folded, which compute once and exactly.
  void convertOperands(Operation *op) {
    if (weights.contains(op)) {
      return;
    }
    for (OpOperand &operand : op->getOpOperands()) {
      if (isStoredOperand(operand) &&
          getElementTypeOrSelf(operand.get()).isF32()) {
        operand.set(convert(operand.get()));
      }
    }
  }

  /// Whether a reader takes the storage type. One that keeps types reads a
  /// conversion by now, if it does.
  bool suits(OpOperand &use) {
    auto conversion = dyn_cast<ConvertOp>(use.getOwner());
    return conversion ? narrows(conversion)
                      : isStoredOperand(use) && !keepsTypes(use.getOwner());
  }

  /// Results have the type of operands, which must suit all readers.
  void convertWithResults(Operation *op) {
    SmallVector<OpResult> results =
        resultsStored(op, ResultStorage::ofOperands);
    if (llvm::all_of(results, [&](Value result) {
          return llvm::all_of(result.getUses(),
                              [&](OpOperand &use) { return suits(use); });
        })) {
      convertOperands(op);
      llvm::for_each(results, [&](Value result) { setResultType(result); });
    }
  }

  /// convert (attention ..) -> attention .., the only reader being the
  /// conversion.
  void storeResult(Value result) {
    auto conversion = result.hasOneUse()
                          ? dyn_cast<ConvertOp>(*result.user_begin())
                          : ConvertOp();
    if (conversion && narrows(conversion)) {
      setResultType(result);
    }
  }

  /// Makes `result` of the storage type; its conversions fall away.
  void setResultType(Value result) {
    LDBG() << "the result at " << result.getLoc() << " is stored as "
           << storage;
    for (Operation *user : SmallVector<Operation *>(result.getUsers())) {
      if (auto conversion = dyn_cast<ConvertOp>(user)) {
        conversion.getResult().replaceAllUsesWith(result);
      }
    }
    result.setType(narrow(result));
    converted.erase(result);
  }

  /// convert (slice %x) -> slice (convert %x), for a slice that was made after
  /// the conversion.
  void moveBeforeColumns(ConvertOp op) {
    if (narrows(op) && movesColumns(op.getX().getDefiningOp())) {
      op.getResult().replaceAllUsesWith(convert(op.getX()));
    }
  }

  Value convert(Value value) {
    if (Value known = converted.lookup(value)) {
      return known;
    }
    OpBuilder builder(value.getContext());
    builder.setInsertionPointAfterValue(value);
    Operation *op = value.getDefiningOp();
    Value result;
    if (movesColumns(op)) {
      Operation *moved = builder.clone(*op);
      moved->setOperand(0, convert(op->getOperand(0)));
      result = moved->getResult(0);
      result.setType(narrow(value));
    } else {
      result = ConvertOp::create(builder, value.getLoc(), narrow(value), value);
      if (op) {
        inheritSite(result.getDefiningOp(), op);
      }
    }
    return converted[value] = result;
  }

  func::FuncOp function;
  FloatType storage;
  const WeightValues weights;
  DenseMap<Value, Value> converted;
};

struct NormalizeStoragePass final
    : impl::NormalizeStoragePassBase<NormalizeStoragePass> {
  using Base::Base;
  void runOnOperation() override {
    if (getOperation().isExternal()) {
      return;
    }
    auto module = getOperation()->getParentOfType<ModuleOp>();
    auto attribute =
        module ? module->getAttrOfType<TypeAttr>(kStorageAttr) : TypeAttr();
    if (!attribute) {
      return;
    }
    StorageNormalizer(getOperation(), cast<FloatType>(attribute.getValue()))
        .run();
  }
};
} // namespace
} // namespace hova
