//===- ScoreForm.cpp - What passes and recipes ask of a score region ------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/score/ScoreForm.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include <cmath>

using namespace mlir;

namespace hova {

std::optional<double> constantOf(Value value) {
  if (auto number = value.getDefiningOp<NumberOp>()) {
    return number.getValue().convertToDouble();
  }
  FloatAttr constant;
  if (matchPattern(value, m_Constant(&constant))) {
    return constant.getValueAsDouble();
  }
  return std::nullopt;
}

static bool isTrue(Value value) {
  IntegerAttr constant;
  return matchPattern(value, m_Constant(&constant)) &&
         constant.getValue().isAllOnes();
}

/// The conditions whose conjunction a value is.
static void addConditions(Value value, SmallVectorImpl<Value> &conditions) {
  if (auto both = value.getDefiningOp<arith::AndIOp>()) {
    addConditions(both.getLhs(), conditions);
    addConditions(both.getRhs(), conditions);
  } else if (!isTrue(value) && !llvm::is_contained(conditions, value)) {
    conditions.push_back(value);
  }
}

/// `value = factor * rest`, or nothing.
static std::optional<std::pair<Value, double>> splitFactor(Value value) {
  auto isFactor = [](std::optional<double> number) {
    return number && std::isfinite(*number) && *number != 0;
  };
  if (auto product = value.getDefiningOp<arith::MulFOp>()) {
    std::optional<double> lhs = constantOf(product.getLhs());
    std::optional<double> rhs = constantOf(product.getRhs());
    if (isFactor(rhs)) {
      return std::pair(product.getLhs(), *rhs);
    }
    if (isFactor(lhs)) {
      return std::pair(product.getRhs(), *lhs);
    }
  }
  if (auto quotient = value.getDefiningOp<arith::DivFOp>()) {
    std::optional<double> by = constantOf(quotient.getRhs());
    if (isFactor(by)) {
      return std::pair(quotient.getLhs(), 1 / *by);
    }
  }
  return std::nullopt;
}

/// `x / divisor` is `x * (1 / divisor)` to the last bit.
static bool hasExactInverse(double divisor) {
  int exponent;
  return std::abs(std::frexp(divisor, &exponent)) == 0.5 &&
         std::isnormal(static_cast<float>(divisor)) &&
         std::isnormal(static_cast<float>(1 / divisor));
}

std::pair<Value, double> ScoreForm::splitFactors(Value value) const {
  if (isExact(value)) {
    auto quotient = value.getDefiningOp<arith::DivFOp>();
    std::optional<double> by =
        quotient ? constantOf(quotient.getRhs()) : std::nullopt;
    return by && hasExactInverse(*by) ? std::pair(quotient.getLhs(), 1 / *by)
                                      : std::pair(value, 1.0);
  }
  double factor = 1;
  while (auto split = splitFactor(value)) {
    double all = factor * split->second;
    // Factors that leave f32 together stay where they are.
    if (!std::isnormal(static_cast<float>(all))) {
      break;
    }
    std::tie(value, factor) = std::pair(split->first, all);
  }
  return {value, factor};
}

ScoreForm::ScoreForm(ScoreRegion region) : region(region) {
  Block &block = region.getBlock();
  for (auto [number, argument] : llvm::enumerate(block.getArguments())) {
    sources[argument] = number < ScoreRegion::kIndices ? 1u << number : data;
  }
  for (Operation &op : block) {
    unsigned read = 0;
    for (Value operand : op.getOperands()) {
      read |= sources.lookup(operand);
    }
    for (Value result : op.getResults()) {
      sources[result] = read;
    }
  }
  ScoreYieldOp yield = region.getYield();
  addConditions(yield.getKept(), conditions);
  findExact();
  std::tie(early, factor) = splitFactors(yield.getScore());
}

/// From the last operation to the first, so that users are seen before what
/// they use.
void ScoreForm::findExact() {
  for (Operation &op : llvm::reverse(region.getBlock())) {
    bool isBehind = llvm::any_of(
        op.getResults(), [&](Value result) { return exact.contains(result); });
    if (!isBehind && !isScoreJump(&op)) {
      continue;
    }
    for (Value operand : op.getOperands()) {
      if (isa<FloatType>(operand.getType())) {
        exact.insert(operand);
      }
    }
  }
}

static ConstantIntRanges rangeOf(ScoreSpan span) {
  return ConstantIntRanges::fromSigned(APInt(64, span.first, true),
                                       APInt(64, span.last, true));
}

/// All values of the type, or those that an element is kept to.
static ConstantIntRanges rangeOfResult(Operation *op, Type type) {
  unsigned width = ConstantIntRanges::getStorageBitwidth(type);
  auto element = dyn_cast<ElementOp>(op);
  if (element && element.getRange()) {
    ArrayRef<int64_t> range = *element.getRange();
    return ConstantIntRanges::fromSigned(APInt(width, range[0], true),
                                         APInt(width, range[1] - 1, true));
  }
  return ConstantIntRanges::maxRange(width);
}

ScoreForm::Ranges ScoreForm::findRanges(const ScoreBox &box) const {
  Ranges ranges;
  auto set = [&](Value value, const ConstantIntRanges &range) {
    ranges.try_emplace(value, range);
  };
  set(region.getBatch(), rangeOf(box.batch));
  set(region.getHead(), rangeOf(box.head));
  set(region.getQuery(), rangeOf(box.query));
  set(region.getKey(), rangeOf(box.key));
  for (Operation &op : region.getBlock().without_terminator()) {
    SmallVector<ConstantIntRanges> operands;
    for (Value operand : op.getOperands()) {
      auto known = ranges.find(operand);
      if (known != ranges.end()) {
        operands.push_back(known->second);
      }
    }
    auto infer = dyn_cast<InferIntRangeInterface>(&op);
    if (infer && operands.size() == op.getNumOperands()) {
      infer.inferResultRanges(operands, set);
    }
    Value result = op.getResult(0);
    if (result.getType().isIntOrIndex()) {
      set(result, rangeOfResult(&op, result.getType()));
    }
  }
  return ranges;
}

bool ScoreForm::readsPairs() const {
  return llvm::any_of(region.getBlock().getOps<ElementOp>(), [&](ElementOp op) {
    unsigned from = sourcesOf(op);
    return (from & query) && (from & key);
  });
}

KeptKeys ScoreForm::classify(const ScoreBox &box, bool keysAreValid) const {
  if (conditions.empty()) {
    return KeptKeys::all;
  }
  Ranges ranges = findRanges(box);
  bool all = true;
  for (Value condition : conditions) {
    if (keysAreValid && isAboutKeys(condition)) {
      continue;
    }
    const ConstantIntRanges &range = ranges.find(condition)->second;
    if (range.umax().isZero()) {
      return KeptKeys::none;
    }
    all &= range.umin().isOne();
  }
  return all ? KeptKeys::all : KeptKeys::some;
}

std::optional<MultiplyAdd> ScoreForm::multiplyAddOf(Operation *op) const {
  bool isDifference = isa<arith::SubFOp>(op);
  bool isSum = isDifference || isa<arith::AddFOp>(op);
  if (!isSum || isExact(op->getResult(0))) {
    return std::nullopt;
  }
  for (unsigned i : {1, 0}) {
    auto product = op->getOperand(i).getDefiningOp<arith::MulFOp>();
    if (product && product->hasOneUse() && (!isDifference || i == 1)) {
      return MultiplyAdd{product.getLhs(), product.getRhs(),
                         op->getOperand(1 - i), isDifference};
    }
  }
  return std::nullopt;
}

Value divideDown(OpBuilder &builder, Location loc, Value a, Value divisor) {
  Type type = a.getType();
  auto constant = [&](int64_t value) -> Value {
    TypedAttr attribute =
        builder.getIntegerAttr(getElementTypeOrSelf(type), value);
    if (auto vector = dyn_cast<VectorType>(type)) {
      attribute = DenseElementsAttr::get(vector, Attribute(attribute));
    }
    return arith::ConstantOp::create(builder, loc, attribute);
  };
  Value isBelow = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                        a, constant(0));
  // -1 - a is not negative; floor(a / d) = -1 - (-1 - a) / d.
  Value mirrored = arith::SubIOp::create(builder, loc, constant(-1), a);
  Value positive = arith::SelectOp::create(builder, loc, isBelow, mirrored, a);
  Value quotient = arith::DivUIOp::create(builder, loc, positive, divisor);
  Value back = arith::SubIOp::create(builder, loc, constant(-1), quotient);
  return arith::SelectOp::create(builder, loc, isBelow, back, quotient);
}

} // namespace hova
