//===- Score.cpp - Meaning of the region of an attention's scores ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/evaluate/Score.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/ErrorHandling.h"
#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir;

namespace hova {

/// Whether a unit in the last place of an operand decides what the result is.
static bool jumps(Operation &op) {
  return isa<math::FloorOp, math::CeilOp, arith::CmpFOp>(op);
}

template <typename T>
ScoreRow<T>::ScoreRow(ScoreRegion region, ArrayRef<const HostTensor *> captured,
                      ArrayRef<int64_t> keys)
    : region(region), yield(region.getYield()), captured(captured),
      keys(static_cast<int64_t>(keys.size())) {
  // Made once: a list that is there keeps its place while others are filled.
  auto make = [&](Value value) {
    if (isa<FloatType>(value.getType())) {
      numbers[value].resize(keys.size());
    } else {
      integers[value].resize(keys.size());
    }
  };
  for (Value index :
       region.getBlock().getArguments().take_front(ScoreRegion::kIndices)) {
    make(index);
  }
  for (Operation &op : region.getBlock()) {
    llvm::for_each(op.getResults(), make);
  }
  llvm::copy(keys, integers[region.getKey()].begin());
  if constexpr (std::is_same_v<T, double>) {
    if (llvm::any_of(region.getBlock(), jumps)) {
      single = std::make_unique<ScoreRow<float>>(region, captured, keys);
    }
  }
  runWhatKeysDecide();
}

template <typename T> void ScoreRow<T>::runWhatKeysDecide() {
  llvm::DenseSet<Value> known{region.getKey()};
  for (Value table :
       region.getBlock().getArguments().drop_front(ScoreRegion::kIndices)) {
    known.insert(table);
  }
  for (Operation &op : region.getBlock().without_terminator()) {
    if (llvm::all_of(op.getOperands(),
                     [&](Value value) { return known.contains(value); })) {
      runOperation(&op);
      known.insert(op.result_begin(), op.result_end());
    } else {
      ofQuery.push_back(&op);
    }
  }
}

template <typename T>
void ScoreRow<T>::run(int64_t batch, int64_t head, int64_t query,
                      const T *raw) {
  std::copy_n(raw, keys, numbers[region.getRaw()].begin());
  auto fill = [&](Value index, int64_t value) {
    std::vector<int64_t> &all = integers[index];
    std::fill(all.begin(), all.end(), value);
  };
  fill(region.getBatch(), batch);
  fill(region.getHead(), head);
  fill(region.getQuery(), query);
  if (single) {
    std::vector<float> narrow(raw, raw + keys);
    single->run(batch, head, query, narrow.data());
  }
  for (Operation *op : ofQuery) {
    runOperation(op);
  }
}

template <typename T> void ScoreRow<T>::takeFromSingle(Operation &op) {
  Value result = op.getResult(0);
  if (isa<FloatType>(result.getType())) {
    llvm::copy(single->numbers[result], numbers[result].begin());
  } else {
    integers[result] = single->integers[result];
  }
}

template <typename T> void ScoreRow<T>::runOperation(Operation *op) {
  if (single && jumps(*op)) {
    takeFromSingle(*op);
  } else if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    runConstant(op, constant.getValue());
  } else if (auto number = dyn_cast<NumberOp>(op)) {
    runConstant(op, number.getValueAttr());
  } else if (auto element = dyn_cast<ElementOp>(op)) {
    readElements(element);
  } else if (isa<arith::SelectOp>(op)) {
    select(op);
  } else if (!runNumbers(op) && !runIntegers(op)) {
    llvm_unreachable("the verifier admits nothing else");
  }
}

template <typename T>
void ScoreRow<T>::runConstant(Operation *op, Attribute value) {
  if (auto number = dyn_cast<FloatAttr>(value)) {
    std::vector<T> &all = numbers[op->getResult(0)];
    std::fill(all.begin(), all.end(),
              static_cast<T>(number.getValue().convertToDouble()));
    return;
  }
  std::vector<int64_t> &all = integers[op->getResult(0)];
  auto integer = cast<IntegerAttr>(value);
  bool isBoolean = integer.getType().isInteger(1);
  std::fill(all.begin(), all.end(),
            isBoolean ? integer.getValue().getBoolValue()
                      : integer.getValue().getSExtValue());
}

template <typename T>
template <typename Number>
void ScoreRow<T>::readElementsOf(ElementOp op, ArrayRef<int64_t> shape,
                                 const Number *table) {
  std::optional<ArrayRef<int64_t>> range = op.getRange();
  bool isNumber = isa<FloatType>(op.getType());
  T *toNumbers = isNumber ? numbers[op].data() : nullptr;
  int64_t *toIntegers = isNumber ? nullptr : integers[op].data();
  SmallVector<const int64_t *> indices;
  for (Value index : op.getIndices()) {
    indices.push_back(integers[index].data());
  }
  for (int64_t j = 0; j < keys; ++j) {
    int64_t place = 0;
    bool isInside = true;
    for (auto [size, index] : llvm::zip_equal(shape, indices)) {
      isInside &= index[j] >= 0 && index[j] < size;
      place = place * size + index[j];
    }
    auto value = isInside ? static_cast<double>(table[place]) : 0;
    if (isNumber) {
      toNumbers[j] = static_cast<T>(value);
      continue;
    }
    auto whole = static_cast<int64_t>(value);
    if (range) {
      whole = std::min(std::max(whole, (*range)[0]), (*range)[1] - 1);
    }
    toIntegers[j] = whole;
  }
}

template <typename T> void ScoreRow<T>::readElements(ElementOp op) {
  auto argument = cast<BlockArgument>(op.getTable());
  const HostTensor &table =
      *captured[argument.getArgNumber() - ScoreRegion::kIndices];
  switch (table.getElement()) {
  case HostTensor::Element::F64:
    return readElementsOf(op, table.getShape(), table.as<double>());
  case HostTensor::Element::F32:
    return readElementsOf(op, table.getShape(), table.as<float>());
  case HostTensor::Element::I64:
    return readElementsOf(op, table.getShape(), table.as<int64_t>());
  case HostTensor::Element::I1:
    return readElementsOf(op, table.getShape(), table.as<uint8_t>());
  }
  llvm_unreachable("unknown element type");
}

template <typename T> void ScoreRow<T>::select(Operation *op) {
  const std::vector<int64_t> &condition = integers[op->getOperand(0)];
  auto pick = [&](auto &lists) {
    auto &first = lists[op->getOperand(1)], &second = lists[op->getOperand(2)];
    auto &result = lists[op->getResult(0)];
    for (int64_t j = 0; j < keys; ++j) {
      result[j] = condition[j] ? first[j] : second[j];
    }
  };
  if (isa<FloatType>(op->getResult(0).getType())) {
    pick(numbers);
  } else {
    pick(integers);
  }
}

template <typename T>
template <typename Function>
void ScoreRow<T>::mapNumbers(Operation *op, Function function) {
  const std::vector<T> *operands[3] = {};
  for (unsigned i = 0; i < 3; ++i) {
    operands[i] =
        &numbers[op->getOperand(std::min(i, op->getNumOperands() - 1))];
  }
  std::vector<T> &result = numbers[op->getResult(0)];
  for (int64_t j = 0; j < keys; ++j) {
    result[j] =
        function((*operands[0])[j], (*operands[1])[j], (*operands[2])[j]);
  }
}

template <typename T>
template <typename Function>
void ScoreRow<T>::mapIntegers(Operation *op, Function function) {
  const std::vector<int64_t> &a = integers[op->getOperand(0)];
  const std::vector<int64_t> &b =
      integers[op->getOperand(op->getNumOperands() - 1)];
  std::vector<int64_t> &result = integers[op->getResult(0)];
  for (int64_t j = 0; j < keys; ++j) {
    result[j] = function(a[j], b[j]);
  }
}

/// NaN where one of them is.
template <typename T> static T extreme(T a, T b, bool isMost) {
  if (std::isnan(a) || std::isnan(b)) {
    return std::numeric_limits<T>::quiet_NaN();
  }
  if (a == b) { // zeros have a sign
    return std::signbit(a) == isMost ? b : a;
  }
  return (a < b) == isMost ? b : a;
}

template <typename T>
static bool holds(arith::CmpFPredicate predicate, T a, T b) {
  using P = arith::CmpFPredicate;
  bool isOrdered = !std::isnan(a) && !std::isnan(b);
  switch (predicate) {
  case P::AlwaysFalse:
    return false;
  case P::OEQ:
    return a == b;
  case P::OGT:
    return a > b;
  case P::OGE:
    return a >= b;
  case P::OLT:
    return a < b;
  case P::OLE:
    return a <= b;
  case P::ONE:
    return isOrdered && a != b;
  case P::ORD:
    return isOrdered;
  case P::UEQ:
    return !isOrdered || a == b;
  case P::UGT:
    return !(a <= b);
  case P::UGE:
    return !(a < b);
  case P::ULT:
    return !(a >= b);
  case P::ULE:
    return !(a > b);
  case P::UNE:
    return a != b;
  case P::UNO:
    return !isOrdered;
  case P::AlwaysTrue:
    return true;
  }
  llvm_unreachable("no such comparison");
}

static bool holds(arith::CmpIPredicate predicate, int64_t a, int64_t b) {
  using P = arith::CmpIPredicate;
  auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  switch (predicate) {
  case P::eq:
    return a == b;
  case P::ne:
    return a != b;
  case P::slt:
    return a < b;
  case P::sle:
    return a <= b;
  case P::sgt:
    return a > b;
  case P::sge:
    return a >= b;
  case P::ult:
    return ua < ub;
  case P::ule:
    return ua <= ub;
  case P::ugt:
    return ua > ub;
  case P::uge:
    return ua >= ub;
  }
  llvm_unreachable("no such comparison");
}

template <typename T> bool ScoreRow<T>::runNumbers(Operation *op) {
  auto map = [&](auto function) { mapNumbers(op, function); };
  return llvm::TypeSwitch<Operation *, bool>(op)
      .template Case<arith::AddFOp>(
          [&](auto) { return map([](T a, T b, T) { return a + b; }), true; })
      .template Case<arith::SubFOp>(
          [&](auto) { return map([](T a, T b, T) { return a - b; }), true; })
      .template Case<arith::MulFOp>(
          [&](auto) { return map([](T a, T b, T) { return a * b; }), true; })
      .template Case<arith::DivFOp>(
          [&](auto) { return map([](T a, T b, T) { return a / b; }), true; })
      .template Case<arith::MaximumFOp>([&](auto) {
        return map([](T a, T b, T) { return extreme(a, b, true); }), true;
      })
      .template Case<arith::MinimumFOp>([&](auto) {
        return map([](T a, T b, T) { return extreme(a, b, false); }), true;
      })
      .template Case<arith::NegFOp>(
          [&](auto) { return map([](T a, T, T) { return -a; }), true; })
      .template Case<math::FmaOp>([&](auto) {
        return map([](T a, T b, T c) { return std::fma(a, b, c); }), true;
      })
      .template Case<math::AbsFOp>([&](auto) {
        return map([](T a, T, T) { return std::abs(a); }), true;
      })
      .template Case<math::CeilOp>([&](auto) {
        return map([](T a, T, T) { return std::ceil(a); }), true;
      })
      .template Case<math::FloorOp>([&](auto) {
        return map([](T a, T, T) { return std::floor(a); }), true;
      })
      .template Case<math::ExpOp>([&](auto) {
        return map([](T a, T, T) { return evaluateExponential(a); }), true;
      })
      .template Case<math::LogOp>([&](auto) {
        return map([](T a, T, T) { return std::log(a); }), true;
      })
      .template Case<math::Log2Op>([&](auto) {
        return map([](T a, T, T) { return std::log2(a); }), true;
      })
      .template Case<math::SqrtOp>([&](auto) {
        return map([](T a, T, T) { return std::sqrt(a); }), true;
      })
      .template Case<math::TanhOp>([&](auto) {
        return map([](T a, T, T) { return std::tanh(a); }), true;
      })
      .Default([](Operation *) { return false; });
}

static int64_t floorDivide(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

template <typename T> bool ScoreRow<T>::runIntegers(Operation *op) {
  if (auto compare = dyn_cast<arith::CmpFOp>(op)) {
    const std::vector<T> &a = numbers[compare.getLhs()];
    const std::vector<T> &b = numbers[compare.getRhs()];
    std::vector<int64_t> &result = integers[op->getResult(0)];
    for (int64_t j = 0; j < keys; ++j) {
      result[j] = holds(compare.getPredicate(), a[j], b[j]);
    }
    return true;
  }
  if (isa<arith::SIToFPOp>(op)) {
    const std::vector<int64_t> &from = integers[op->getOperand(0)];
    std::vector<T> &result = numbers[op->getResult(0)];
    for (int64_t j = 0; j < keys; ++j) {
      result[j] = static_cast<T>(from[j]);
    }
    return true;
  }
  auto map = [&](auto function) { mapIntegers(op, function); };
  using I = int64_t;
  return llvm::TypeSwitch<Operation *, bool>(op)
      .template Case<arith::CmpIOp>([&](arith::CmpIOp compare) {
        arith::CmpIPredicate predicate = compare.getPredicate();
        return map([=](I a, I b) { return I(holds(predicate, a, b)); }), true;
      })
      .template Case<arith::AddIOp>(
          [&](auto) { return map([](I a, I b) { return a + b; }), true; })
      .template Case<arith::SubIOp>(
          [&](auto) { return map([](I a, I b) { return a - b; }), true; })
      .template Case<arith::MulIOp>(
          [&](auto) { return map([](I a, I b) { return a * b; }), true; })
      .template Case<arith::FloorDivSIOp>(
          [&](auto) { return map(floorDivide), true; })
      .template Case<arith::RemSIOp>(
          [&](auto) { return map([](I a, I b) { return a % b; }), true; })
      .template Case<arith::MaxSIOp>([&](auto) {
        return map([](I a, I b) { return std::max(a, b); }), true;
      })
      .template Case<arith::MinSIOp>([&](auto) {
        return map([](I a, I b) { return std::min(a, b); }), true;
      })
      .template Case<arith::AndIOp>(
          [&](auto) { return map([](I a, I b) { return a & b; }), true; })
      .template Case<arith::OrIOp>(
          [&](auto) { return map([](I a, I b) { return a | b; }), true; })
      .template Case<arith::XOrIOp>(
          [&](auto) { return map([](I a, I b) { return a ^ b; }), true; })
      .template Case<arith::IndexCastOp>(
          [&](auto) { return map([](I a, I) { return a; }), true; })
      .Default([](Operation *) { return false; });
}

template <typename T> std::vector<bool> HeadScores<T>::findKept(int64_t query) {
  constexpr T none = -std::numeric_limits<T>::infinity();
  const std::vector<T> &scores = ofRaw.scores();
  const std::vector<int64_t> &isKept = ofRaw.kept();
  std::vector<bool> kept(zeros.size());
  const std::vector<T> *scoresOfZero = nullptr;
  for (size_t j = 0; j < kept.size(); ++j) {
    kept[j] = isKept[j] != 0;
    if (!kept[j] || scores[j] != none) {
      continue;
    }
    // Is it the region that masks, as a bias of -inf does, or was the raw score
    // -inf?
    if (!scoresOfZero) {
      ofZero.run(batch, head, query, zeros.data());
      scoresOfZero = &ofZero.scores();
    }
    kept[j] = (*scoresOfZero)[j] != none;
  }
  return kept;
}

template class ScoreRow<float>;
template class ScoreRow<double>;
template class HeadScores<float>;
template class HeadScores<double>;

} // namespace hova
