//===- RangeMistakes.cpp - What cannot be for a range of sizes ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/ranges/RangeMistakes.h"
#include "dialect/Interfaces.h"
#include "dialect/Shapes.h"
#include "dialect/attention/AttentionOps.h"
#include "dialect/columns/ColumnOps.h"
#include "dialect/dense/DenseOps.h"
#include "dialect/linear_attention/LinearAttentionOps.h"
#include "dialect/program/ProgramOps.h"
#include "dialect/score/ScoreForm.h"
#include "dialect/score/ScoreOps.h"
#include "dialect/score/VisitedKeys.h"
#include "dialect/token/TokenOps.h"

using namespace mlir;

namespace hova {

/// Whether a value is of the inputs, or computed beside what is: a kernel has
/// the rows of a run, of all that it computes. `seen` has what is known not to
/// depend on them, or is being asked for.
static bool dependsOnInputs(Value value, DenseSet<Value> &seen) {
  if (!seen.insert(value).second) {
    return false;
  }
  auto depends = [&](Value other) { return dependsOnInputs(other, seen); };
  Operation *definition = value.getDefiningOp();
  auto around =
      definition ? definition->getParentOfType<KernelOp>() : KernelOp();
  if (around) {
    return llvm::any_of(around.getInputs(), depends);
  }
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *parent = argument.getOwner()->getParentOp();
    auto kernel = dyn_cast<KernelOp>(parent);
    return kernel ? depends(kernel.getInputs()[argument.getArgNumber()])
                  : isa<FunctionOpInterface>(parent);
  }
  return llvm::any_of(definition->getOperands(), depends);
}

/// Which tokens the rows of a value are, by those of what it is computed from:
/// shapes do not tell. `fixed` where none are. `known` has what was found.
static Extent tokensBehind(Value value, const SequenceRanges &ranges,
                           DenseMap<Value, Extent> &known) {
  auto found = known.find(value);
  if (found != known.end()) {
    return found->second;
  }
  auto behind = [&](Value other) {
    return ranges.mayBe(other.getType(), Extent::tokens)
               ? tokensBehind(other, ranges, known)
               : Extent::fixed;
  };
  Extent extent = Extent::fixed;
  auto argument = dyn_cast<BlockArgument>(value);
  Operation *owner =
      argument ? argument.getOwner()->getParentOp() : value.getDefiningOp();
  if (auto kernel = dyn_cast<KernelOp>(owner)) {
    extent = behind(
        argument ? kernel.getInputs()[argument.getArgNumber()]
                 : kernel.getComputed(cast<OpResult>(value).getResultNumber()));
  } else if (auto stage = dyn_cast<StageOp>(owner)) {
    extent = behind(stage.getComputed(cast<OpResult>(value).getResultNumber()));
  } else if (argument) {
    auto main = dyn_cast<FunctionOpInterface>(owner);
    extent = main ? ranges.extentOfArgument(main, argument.getArgNumber())
                  : Extent::fixed;
  } else if (auto attention = dyn_cast<AttentionOp>(owner)) {
    extent = behind(attention.getQuery());
  } else {
    for (Value operand : owner->getOperands()) {
      extent = extent == Extent::fixed ? behind(operand) : extent;
    }
  }
  known[value] = extent;
  return extent;
}

Extent extentOf(Value value) {
  Operation *op = value.getParentBlock()->getParentOp();
  std::optional<SequenceRanges> ranges = SequenceRanges::readFrom(op);
  Extent extent = ranges ? ranges->extentOf(value.getType()) : Extent::fixed;
  if (areTokens(extent) && ranges->areAlike()) {
    DenseMap<Value, Extent> known;
    return tokensBehind(value, *ranges, known);
  }
  DenseSet<Value> seen;
  return extent != Extent::fixed && dependsOnInputs(value, seen)
             ? extent
             : Extent::fixed;
}

/// What is computed under this name: inside of a kernel or a stage, or in front
/// of the kernel that reads it.
static Value computedAs(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  Operation *owner =
      argument ? argument.getOwner()->getParentOp() : value.getDefiningOp();
  if (auto kernel = dyn_cast<KernelOp>(owner)) {
    return argument
               ? kernel.getInputs()[argument.getArgNumber()]
               : kernel.getComputed(cast<OpResult>(value).getResultNumber());
  }
  auto stage = dyn_cast<StageOp>(owner);
  return stage ? stage.getComputed(cast<OpResult>(value).getResultNumber())
               : Value();
}

Value keysOfSums(Value sums) {
  while (Value computed = computedAs(sums)) {
    sums = computed;
  }
  Operation *op = sums.getDefiningOp();
  if (auto merge = dyn_cast_or_null<MergeSummariesOp>(op)) {
    return keysOfSums(merge.getSummary());
  }
  auto summary = dyn_cast_or_null<KeySummaryOp>(op);
  return summary ? summary.getKey() : Value();
}

bool isPacked(Value value) {
  Operation *op = value.getParentBlock()->getParentOp();
  return SequenceRanges::ofTokens(op) &&
         cast<ShapedType>(value.getType()).getRank() == 2 &&
         areTokens(extentOf(value));
}

namespace {
/// Walks a program in order and knows the extent of what inputs decide.
class RangeChecker {
public:
  RangeChecker(FunctionOpInterface main, const SequenceRanges &ranges)
      : main(main), ranges(ranges) {}

  std::optional<RangeMistake> findMistake();

private:
  std::string check(Operation *op);
  std::string checkAttention(AttentionOp op);
  std::string checkCaptured(AttentionOp op, unsigned index);
  std::string checkSlots(AttentionOp op);
  bool readsItem(AttentionOp op, OpOperand &number) const;
  std::string checkLinearAttention(LinearAttentionOp op);
  std::string checkPool(PoolOp op);
  std::string checkLayers(Operation *op, int64_t layers);
  std::string checkRows(Operation *op);
  std::string checkTokens(Operation *op);
  std::string checkResult(Value result, Extent tokens = Extent::tokens);
  Extent extentIn(Value value) const { return extents.lookup(value); }

  FunctionOpInterface main;
  const SequenceRanges ranges;
  DenseMap<Value, Extent> extents;
};
} // namespace

/// Rows of a result are items, or the tokens that `tokens` says, which what it
/// is computed from has.
std::string RangeChecker::checkResult(Value result, Extent tokens) {
  Extent extent = ranges.mayBe(result.getType(), tokens)
                      ? tokens
                      : ranges.extentOf(result.getType());
  extents[result] = extent;
  if (areTokens(extent) && extent != tokens) {
    return "its result has other tokens than it reads";
  }
  return extent == Extent::fixed
             ? "its result is neither [items, tokens, columns] nor "
               "[items, columns]"
             : "";
}

/// What a score reads of an input is of the item's own tokens.
std::string RangeChecker::checkCaptured(AttentionOp op, unsigned index) {
  Value captured = op.getCaptured()[index];
  Extent extent = extentIn(captured);
  if (extent == Extent::fixed) {
    return "";
  }
  ScoreRegion region = op.scoreRegion();
  BlockArgument table = region.getCaptured()[index];
  bool isMask = areTokens(extent) && shapeOf(captured).size() == 2;
  for (Operation *user : table.getUsers()) {
    Value item = cast<ElementOp>(user).getIndices().front();
    Value token = cast<ElementOp>(user).getIndices().back();
    bool isOfItem =
        (token == region.getKey() && extent == extentIn(op.getKey())) ||
        (token == region.getQuery() && extent == extentIn(op.getQuery()));
    if (!isMask || item != region.getBatch() || !isOfItem) {
      return "a score reads an input at another place than that of its item's "
             "query or key";
    }
  }
  return "";
}

/// Whether a use of an item's number is to read an input at its item.
bool RangeChecker::readsItem(AttentionOp op, OpOperand &number) const {
  auto read = dyn_cast<ElementOp>(number.getOwner());
  if (!read || read.getIndices().front() != number.get()) {
    return false;
  }
  auto tables = op.scoreRegion().getCaptured();
  return llvm::any_of(
      llvm::zip_equal(tables, op.getCaptured()), [&](auto pair) {
        auto [table, captured] = pair;
        return table == read.getTable() && extentIn(captured) != Extent::fixed;
      });
}

/// Slots come after the keys of an item, and which number they have as keys
/// means nothing.
std::string RangeChecker::checkSlots(AttentionOp op) {
  if (!op.getMemoryKey()) {
    return "";
  }
  if (extentIn(op.getMemoryKey()) != Extent::fixed ||
      extentIn(op.getMemoryValue()) != Extent::fixed) {
    return "the slots of its memory are computed from inputs";
  }
  ScoreRegion region = op.scoreRegion();
  ScoreForm form(region);
  ArrayRef<int64_t> queries = shapeOf(op.getQuery());
  int64_t keys = shapeOf(op.getKey())[1];
  ScoreExtents extents{queries[0], int64_t(op.getHeads()), queries[1], keys,
                       keys + op.getSlots()};
  bool isOfKey = form.sourcesOf(region.getYield().getScore()) & ScoreForm::key;
  return isOfKey || !keepsSlots(form, extents)
             ? "its score is about the number of a key, and the slots of its "
               "memory have none"
             : "";
}

std::string RangeChecker::checkAttention(AttentionOp op) {
  Extent queries = extentIn(op.getQuery()), keys = extentIn(op.getKey());
  if (!areTokens(queries) || !areTokens(keys)) {
    return "its queries, or its keys, are no tokens of a range";
  }
  if (extentIn(op.getValue()) != keys) {
    return "keys and values are not of one range of tokens";
  }
  if (op.getBlock()) {
    return "its blocks of keys depend on the number of tokens";
  }
  if (std::string why = checkSlots(op); !why.empty()) {
    return why;
  }
  if (op.getScores()) {
    return "its scores are read by others, and their shape depends on the "
           "number of tokens";
  }
  for (OpOperand &use : op.scoreRegion().getBatch().getUses()) {
    if (!readsItem(op, use)) {
      return "its score depends on the number of an item, which differs from "
             "run to run";
    }
  }
  for (unsigned index = 0, e = op.getCaptured().size(); index < e; ++index) {
    std::string why = checkCaptured(op, index);
    if (!why.empty()) {
      return why;
    }
  }
  return checkResult(op.getResult(), queries);
}

/// Sums over keys are over the item's own.
std::string RangeChecker::checkLinearAttention(LinearAttentionOp op) {
  Extent queries = extentIn(op.getQuery()), keys = extentIn(op.getKey());
  if (!areTokens(queries) || !areTokens(keys)) {
    return "its queries, or its keys, are no tokens of a range";
  }
  if (extentIn(op.getValue()) != keys ||
      (op.getKeyValid() && extentIn(op.getKeyValid()) != keys)) {
    return "keys, values and their mask are not of one range of tokens";
  }
  if (op.getCausal() && queries != keys) {
    return "it is causal, and its queries are not of the range of its keys";
  }
  if (op.getFeatures() && extentIn(op.getFeatures()) != Extent::fixed) {
    return "its features are of items";
  }
  return checkResult(op.getResult(), queries);
}

std::string RangeChecker::checkPool(PoolOp op) {
  Extent tokens = extentIn(op.getX());
  if (!areTokens(tokens) || (op.getBy() && extentIn(op.getBy()) != tokens)) {
    return "it does not pool tokens of a range";
  }
  return checkResult(op.getResult(), tokens);
}

/// From a row of each token in several layers to all of them, or back.
std::string RangeChecker::checkLayers(Operation *op, int64_t layers) {
  if (layers > 1 && ranges.layers != layers) {
    return "it has " + std::to_string(layers) + " rows for each token, and " +
           (ranges.layers
                ? "others have " + std::to_string(ranges.layers)
                : std::string("items have tokens of two ranges already"));
  }
  Extent one = Extent::tokens;
  Extent all = layers > 1 ? Extent::otherTokens : one;
  bool joins = isa<IndexSortOp>(op);
  for (Value operand : op->getOperands()) {
    if (extentIn(operand) != (joins ? one : all)) {
      return "its states are not all of tokens of a range";
    }
  }
  return checkResult(op->getResult(0), joins ? all : one);
}

/// Operations on rows: an item's are those of nobody else, wherever they are.
std::string RangeChecker::checkRows(Operation *op) {
  auto structured = dyn_cast<StructuredOpInterface>(op);
  IterationSpace space;
  if (structured) {
    space = structured.getIterationSpace();
  }
  if (!structured || !space.ignoresPosition || !space.dividesRows()) {
    return "it reads other rows than it computes, or counts them";
  }
  // Of the rows that are tokens of one range it makes such rows.
  Extent tokens = Extent::tokens;
  for (Value operand : op->getOperands()) {
    tokens = areTokens(extentIn(operand)) ? extentIn(operand) : tokens;
  }
  std::string why = checkResult(op->getResult(0), tokens);
  if (!why.empty() || op->getNumResults() != 1) {
    return why.empty() ? "it has several results" : why;
  }
  Extent extent = extentIn(op->getResult(0));
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned index = operand.getOperandNumber();
    Extent read = extentIn(operand.get());
    AffineMap map = space.operands[index];
    if (read != Extent::fixed &&
        (read != extent || !space.readsSameRow(index))) {
      return "it reads other rows than it computes";
    }
    // Positions of tokens repeat for every item.
    bool isTable = read == Extent::fixed && map;
    if (isTable && ranges.items != 1 &&
        map.isFunctionOfDim(space.units.front())) {
      return "it reads a table that has a row for each item";
    }
    if (isTable && areTokens(extent) &&
        map.isFunctionOfDim(space.units.back()) && !isa<TileOpInterface>(op)) {
      return "it reads a table that has a row for each token";
    }
  }
  return "";
}

/// What is computed of each token of [items, tokens]: its row of a table, or
/// whether it counts, and where; or itself, turned by the tables' row for its
/// place.
std::string RangeChecker::checkTokens(Operation *op) {
  Extent tokens = extentIn(op->getOperand(0));
  if (!areTokens(tokens) ||
      llvm::any_of(llvm::drop_begin(op->getOperands()), [&](Value other) {
        return extentIn(other) != Extent::fixed;
      })) {
    return "it reads no tokens of a range";
  }
  auto mask = dyn_cast<PaddingMaskOp>(op);
  return mask && mask.getClassToken()
             ? "its result has a class token in front of those of the range"
             : checkResult(op->getResult(0), tokens);
}

std::string RangeChecker::check(Operation *op) {
  if (isa<EmbeddingOp, PaddingMaskOp, PositionIdsOp, MaskFactorsOp, RotaryOp>(
          op)) {
    return checkTokens(op);
  }
  if (auto attention = dyn_cast<AttentionOp>(op)) {
    return checkAttention(attention);
  }
  if (auto linear = dyn_cast<LinearAttentionOp>(op)) {
    return checkLinearAttention(linear);
  }
  if (auto pool = dyn_cast<PoolOp>(op)) {
    return checkPool(pool);
  }
  if (auto sort = dyn_cast<IndexSortOp>(op)) {
    return checkLayers(op, sort.getStates().size());
  }
  if (auto pool = dyn_cast<LayerPoolOp>(op)) {
    return checkLayers(op, pool.getLayers());
  }
  return checkRows(op);
}

std::optional<RangeMistake> RangeChecker::findMistake() {
  for (BlockArgument argument : main.getArguments()) {
    extents[argument] = ranges.extentOfArgument(main, argument.getArgNumber());
  }
  for (Operation &op : main.getFunctionBody().front().without_terminator()) {
    bool isComputed = llvm::any_of(op.getOperands(), [&](Value operand) {
      return extentIn(operand) != Extent::fixed;
    });
    std::string why = isComputed ? check(&op) : "";
    if (!why.empty()) {
      return RangeMistake{&op, why};
    }
  }
  return std::nullopt;
}

void addRowsOfLayers(FunctionOpInterface main, SequenceRanges &ranges) {
  if (!ranges.haveTokens() || ranges.haveOtherTokens()) {
    return;
  }
  for (auto sort : main.getFunctionBody().front().getOps<IndexSortOp>()) {
    int64_t layers = sort.getStates().size();
    if (layers > 1 &&
        ranges.mayBe(sort.getStates()[0].getType(), Extent::tokens)) {
      return ranges.setLayers(layers);
    }
  }
}

/// Rows of a run have numbers of 32 bits. The operation is the first that has
/// too many.
static std::optional<RangeMistake>
findTooManyRows(FunctionOpInterface main, const SequenceRanges &ranges) {
  constexpr int64_t limit = std::numeric_limits<int32_t>::max();
  int64_t others =
      ranges.haveOtherTokens() ? ranges.countRows(Extent::otherTokens) : 0;
  bool areOfLayers = ranges.layers > 0 && ranges.countRows() <= limit;
  int64_t most = areOfLayers ? others : std::max(ranges.countRows(), others);
  if (most <= limit) {
    return std::nullopt;
  }
  for (Operation &op : main.getFunctionBody().front().without_terminator()) {
    auto sort = dyn_cast<IndexSortOp>(op);
    bool hasThem =
        areOfLayers
            ? sort && int64_t(sort.getStates().size()) == ranges.layers
            : llvm::any_of(op.getOperands(), llvm::IsaPred<BlockArgument>);
    if (hasThem) {
      return RangeMistake{
          &op, "its largest sizes have " + std::to_string(most) +
                   " rows, and a run has at most " + std::to_string(limit)};
    }
  }
  return std::nullopt;
}

std::optional<RangeMistake> findRangeMistake(FunctionOpInterface main) {
  SequenceRanges ranges = *SequenceRanges::readFrom(main);
  if (auto tooMany = findTooManyRows(main, ranges)) {
    return tooMany;
  }
  return ranges.haveTokens() ? RangeChecker(main, ranges).findMistake()
                             : findItemMistake(main, ranges);
}

} // namespace hova
