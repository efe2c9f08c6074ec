//===- WeightPlaces.cpp - Where weights are in the image ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/tile/WeightPlaces.h"
#include "dialect/token/TokenOps.h"
#include "mlir/IR/IRMapping.h"
#include "passes/tile/KernelStructure.h"
#include "passes/tile/ProgramAttrs.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace hova {

int64_t elementBytes(MemRefType type) {
  return llvm::divideCeil(type.getElementTypeBitWidth(), 8);
}

/// What `store` is computed from, operands first.
static llvm::SetVector<Operation *> producersOf(StoreWeightOp store) {
  llvm::SetVector<Operation *> producers;
  auto visit = [&](auto &self, Operation *op) -> void {
    for (Value operand : op->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (producer && !producers.contains(producer)) {
        self(self, producer);
        producers.insert(producer);
      }
    }
  };
  visit(visit, store);
  return producers;
}

/// Whether `store` keeps integers that are the same whatever the weights are.
static bool isTable(StoreWeightOp store) {
  auto type = cast<RankedTensorType>(store.getValue().getType());
  return type.getElementType().isInteger() &&
         llvm::none_of(producersOf(store), llvm::IsaPred<WeightOp>);
}

/// store_weight "t.slice", (slice t {first rows}) -> store_weight "t", t
///
/// The first rows of a table lie where the table begins. What is stored is then
/// the same for programs that read more of it and less: a table of positions
/// for every length. Where t has other readers, it would be stored once more.
static void storeUncut(StoreWeightOp store) {
  auto slice = store.getValue().getDefiningOp<SliceOp>();
  if (!slice || slice.getAxis() != 0 || slice.getOffset() != 0 ||
      !slice->hasOneUse() || !slice.getX().hasOneUse()) {
    return;
  }
  StringRef name = store.getName();
  if (name.consume_back(slice->getName().stripDialect())) {
    name.consume_back(".");
    store.setName(name);
  }
  store.getValueMutable().assign(slice.getX());
  slice.erase();
}

/// weights: t = row_table; store_weight t -> tables: t = row_table;
/// store_weight t
void WeightPlaces::moveToTables(StoreWeightOp store) {
  auto tables = module.lookupSymbol<func::FuncOp>(kTableProgram);
  OpBuilder builder(module.getContext());
  if (!tables) {
    auto weights = store->getParentOfType<func::FuncOp>();
    builder.setInsertionPointAfter(weights);
    tables = func::FuncOp::create(builder, weights.getLoc(), kTableProgram,
                                  builder.getFunctionType({}, {}));
    tables.setPrivate();
    builder.setInsertionPointToStart(tables.addEntryBlock());
    func::ReturnOp::create(builder, weights.getLoc());
  }
  builder.setInsertionPoint(tables.getBody().front().getTerminator());
  llvm::SetVector<Operation *> producers = producersOf(store);
  IRMapping moved;
  for (Operation *producer : producers) {
    builder.clone(*producer, moved);
  }
  builder.clone(*store, moved);
  store.erase();
  for (Operation *producer : llvm::reverse(producers)) {
    if (isOpTriviallyDead(producer)) {
      producer->erase();
    }
  }
}

Value WeightPlaces::getBuffer(OpBuilder &builder, Location origin,
                              MemRefType type, int64_t offset, bool isTable) {
  Value &buffer = (isTable ? tables : image)[{offset, type, origin}];
  if (!buffer && isTable) {
    buffer = TableBufferOp::create(builder, origin, type, offset);
  } else if (!buffer) {
    buffer = ImageBufferOp::create(builder, origin, type, offset);
  }
  return buffer;
}

LogicalResult WeightPlaces::assign(Place place) {
  llvm::StringMap<SmallVector<ImageWeightOp>> references;
  for (auto op : main.getOps<ImageWeightOp>()) {
    references[op.getName()].push_back(op);
  }
  llvm::StringSet<> stored;
  if (auto weights = module.lookupSymbol<func::FuncOp>(kFoldingFunction)) {
    auto stores = llvm::to_vector(weights.getOps<StoreWeightOp>());
    for (StoreWeightOp store : stores) {
      stored.insert(store.getName());
      if (failed(assignWeight(store, references[store.getName()], place))) {
        return failure();
      }
    }
  }
  for (auto op : main.getOps<ImageWeightOp>()) {
    if (!stored.contains(op.getName())) {
      return op.emitOpError("reads what the folding function does not store");
    }
  }
  return success();
}

/// A layout that may be missing, for messages.
static std::string textOf(Attribute layout) {
  std::string text;
  llvm::raw_string_ostream os(text);
  layout ? os << layout : os << "none";
  return text;
}

LogicalResult WeightPlaces::assignWeight(StoreWeightOp store,
                                         ArrayRef<ImageWeightOp> references,
                                         Place place) {
  if (references.empty()) {
    return store.emitOpError("stores what nothing reads");
  }
  auto type = cast<RankedTensorType>(store.getValue().getType());
  auto layout = ImageWeightOp(references.front()).getLayoutAttr();
  bool goesToTables = isTable(store);
  if (!layout && !goesToTables) {
    storeUncut(store);
  }
  int64_t &end = goesToTables ? tableBytes : bytes;
  for (ImageWeightOp op : references) {
    if (op.getType() != type) {
      return op.emitOpError(
                 "expects the type that the folding function stores, ")
             << type << ", got " << op.getType();
    }
    if (op.getLayoutAttr() != layout) {
      return op.emitOpError("expects the layout of the first reference to '")
             << op.getName() << "', " << textOf(layout) << ", got "
             << textOf(op.getLayoutAttr());
    }
    MemRefType buffer =
        layout ? layout.getBufferType(type) : bufferType(type, 0);
    place(op.getResult(), buffer, end, goesToTables);
  }
  OpBuilder builder(store);
  if (layout) {
    // The references, which have the stored type, were verified.
    auto shape = layout.getPackedShape(type.getShape(), type.getElementType(),
                                       [&] { return store.emitOpError(); });
    store.getValueMutable().assign(PackOp::create(
        builder, store.getLoc(), type.clone(*shape), store.getValue(), layout));
  }
  store->setAttr(kOffsetAttr, builder.getI64IntegerAttr(end));
  auto stored = cast<RankedTensorType>(store.getValue().getType());
  int64_t width = llvm::divideCeil(stored.getElementTypeBitWidth(), 8);
  end += llvm::alignTo(stored.getNumElements() * width, 64);
  if (goesToTables) {
    moveToTables(store);
  }
  return success();
}

} // namespace hova
