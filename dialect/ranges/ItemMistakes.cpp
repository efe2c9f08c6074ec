//===- ItemMistakes.cpp - What cannot be for a range of items -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Where items alone are a range, a run with fewer has the first ones of all
// that the largest has: of each value so many rows, windows or images for each,
// one after the other. So operations may do what they like inside of an item,
// as long as what they make of it begins with the item's axis and reads nothing
// of another.
//
//===----------------------------------------------------------------------===//

#include "dialect/Interfaces.h"
#include "dialect/Shapes.h"
#include "dialect/attention/AttentionOps.h"
#include "dialect/columns/ColumnOps.h"
#include "dialect/placement/PlacementOps.h"
#include "dialect/ranges/RangeMistakes.h"
#include "dialect/score/ScoreOps.h"
#include "dialect/token/TokenOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace hova {

namespace {
/// Walks a program in order and knows what is made of items.
class ItemChecker {
public:
  ItemChecker(FunctionOpInterface main, const SequenceRanges &ranges)
      : main(main), ranges(ranges) {}

  std::optional<RangeMistake> findMistake();

private:
  std::string check(Operation *op) const;
  std::string checkOperand(OpOperand &operand) const;
  std::string checkScores(AttentionOp op) const;
  bool isKnownNumber(AttentionOp op, OpOperand &use) const;
  bool readsItem(AttentionOp op, OpOperand &index, int64_t entries) const;
  /// Entries of the first axis for each item; 0 where it has other ones, or is
  /// the only one: a row of columns is one of all.
  int64_t entriesOf(Value value) const {
    ArrayRef<int64_t> shape = shapeOf(value);
    bool areOfItems = shape.size() > 1 && shape[0] % ranges.items == 0;
    return areOfItems ? shape[0] / ranges.items : 0;
  }

  FunctionOpInterface main;
  const SequenceRanges ranges;
  DenseSet<Value> ofItems;
};
} // namespace

/// Whether what the operation reads of an operand without a map is of the
/// item that it computes.
static bool gathersInsideOfItem(Operation *op) {
  return TypeSwitch<Operation *, bool>(op)
      .Case<ClassTokenOp, IndexSortOp, PatchEmbeddingOp, UnfoldOp, ReshapeOp,
            RearrangeOp>([](auto) { return true; })
      .Case<ConcatOp, PadOp, SliceOp>(
          [](auto moving) { return moving.getAxis() != 0; })
      .Default([](Operation *) { return false; });
}

/// Windows, patches and other parts of an item are entries of their own.
static bool regroups(Operation *op) {
  return isa<ReshapeOp, RearrangeOp, UnfoldOp>(op);
}

/// Whether an operand is one that scores read.
static bool isCaptured(OpOperand &operand) {
  auto attention = dyn_cast<AttentionOp>(operand.getOwner());
  return attention &&
         operand.getOperandNumber() >=
             attention->getNumOperands() - attention.getCaptured().size();
}

std::string ItemChecker::checkOperand(OpOperand &operand) const {
  Operation *op = operand.getOwner();
  unsigned index = operand.getOperandNumber();
  Value read = operand.get();
  bool isOfItems = ofItems.contains(read);
  if (isOfItems && regroups(op)) {
    return "";
  }
  if (isCaptured(operand)) {
    return ""; // checkScores
  }
  if (isOfItems && entriesOf(read) != entriesOf(op->getResult(0))) {
    return "it reads other items than it computes";
  }
  if (isa<RotaryOp>(op)) {
    return isOfItems == (index == 0) ? "" : "its tables are of items";
  }
  auto structured = dyn_cast<StructuredOpInterface>(op);
  if (!structured) {
    return "it does not say which items it reads";
  }
  IterationSpace space = structured.getIterationSpace();
  AffineMap map = space.operands[index];
  AffineExpr item = space.results.front().getResult(0);
  if (!map && isa<ConcatOp, IndexSortOp, RearrangeOp>(op) && !isOfItems) {
    return "it joins items with what is none";
  }
  if (!map) {
    return !isOfItems || gathersInsideOfItem(op)
               ? ""
               : "it does not say which items it reads";
  }
  if (isOfItems) {
    return map.getNumResults() > 0 && map.getResult(0) == item
               ? ""
               : "it reads other items than it computes";
  }
  auto dim = dyn_cast<AffineDimExpr>(item);
  return dim && map.isFunctionOfDim(dim.getPosition())
             ? "it reads a table that has a row for each item"
             : "";
}

/// Whether `index` is the first of those with which a table is read that has
/// `entries` for each item.
bool ItemChecker::readsItem(AttentionOp op, OpOperand &index,
                            int64_t entries) const {
  auto read = dyn_cast<ElementOp>(index.getOwner());
  if (!read || &read.getIndicesMutable()[0] != &index) {
    return false;
  }
  auto tables = op.scoreRegion().getCaptured();
  return llvm::any_of(
      llvm::zip_equal(tables, op.getCaptured()), [&](auto pair) {
        auto [table, captured] = pair;
        return table == read.getTable() && ofItems.contains(captured) &&
               entriesOf(captured) == entries;
      });
}

static bool isDivision(Operation *op) {
  return isa<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp>(op);
}

/// Whether a use of the number of an entry does not depend on where its item
/// is: it reads what the item has, or is the number of a window in its image.
bool ItemChecker::isKnownNumber(AttentionOp op, OpOperand &use) const {
  int64_t entries = entriesOf(op.getQuery());
  Operation *user = use.getOwner();
  APInt by;
  bool isByConstant = user->getNumOperands() == 2 &&
                      use.getOperandNumber() == 0 &&
                      matchPattern(user->getOperand(1), m_ConstantInt(&by)) &&
                      by.getSExtValue() > 0;
  if (isByConstant && isa<arith::RemSIOp, arith::RemUIOp>(user)) {
    return entries % by.getSExtValue() == 0;
  }
  if (isByConstant && isDivision(user)) {
    return entries % by.getSExtValue() == 0 &&
           llvm::all_of(user->getResult(0).getUses(), [&](OpOperand &index) {
             return readsItem(op, index, entries / by.getSExtValue());
           });
  }
  return readsItem(op, use, entries);
}

std::string ItemChecker::checkScores(AttentionOp op) const {
  for (OpOperand &use : op.scoreRegion().getBatch().getUses()) {
    if (!isKnownNumber(op, use)) {
      return "its score depends on the number of an item, which differs from "
             "run to run";
    }
  }
  for (auto [table, captured] :
       llvm::zip_equal(op.scoreRegion().getCaptured(), op.getCaptured())) {
    if (!ofItems.contains(captured)) {
      continue;
    }
    for (Operation *user : table.getUsers()) {
      // Uses of the number, and of what it is divided by, are known ones.
      Value first = cast<ElementOp>(user).getIndices().front();
      Operation *division = first.getDefiningOp();
      bool isDivided = division && isDivision(division) &&
                       division->getOperand(0) == op.scoreRegion().getBatch();
      if (first != op.scoreRegion().getBatch() && !isDivided) {
        return "a score reads an input at another place than that of its item";
      }
    }
  }
  return "";
}

std::string ItemChecker::check(Operation *op) const {
  for (Value result : op->getResults()) {
    if (entriesOf(result) == 0) {
      return "its result does not begin with an axis of items, and another "
             "one behind it";
    }
  }
  for (OpOperand &operand : op->getOpOperands()) {
    std::string why = checkOperand(operand);
    if (!why.empty()) {
      return why;
    }
  }
  auto attention = dyn_cast<AttentionOp>(op);
  return attention ? checkScores(attention) : "";
}

std::optional<RangeMistake> ItemChecker::findMistake() {
  ofItems.insert(main.getArguments().begin(), main.getArguments().end());
  for (Operation &op : main.getFunctionBody().front().without_terminator()) {
    if (llvm::none_of(op.getOperands(),
                      [&](Value read) { return ofItems.contains(read); })) {
      // What is the same for all items is each one's.
      if (isa<RepeatOp>(op) && entriesOf(op.getResult(0)) == 1) {
        ofItems.insert(op.getResult(0));
      }
      continue;
    }
    std::string why = check(&op);
    if (!why.empty()) {
      return RangeMistake{&op, why};
    }
    ofItems.insert(op.result_begin(), op.result_end());
  }
  for (Value result :
       main.getFunctionBody().front().getTerminator()->getOperands()) {
    Operation *op = result.getDefiningOp();
    if (op && ofItems.contains(result) && entriesOf(result) != 1) {
      return RangeMistake{op, "it is an output, and begins with an axis of "
                              "other things than items"};
    }
  }
  return std::nullopt;
}

std::optional<RangeMistake> findItemMistake(FunctionOpInterface main,
                                            const SequenceRanges &ranges) {
  return ItemChecker(main, ranges).findMistake();
}

} // namespace hova
