//===- ArithSteps.cpp - Element by element --------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/reference/interpret/Frame.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <cmath>
#include <cstring>

using namespace mlir;

namespace hova {

//===----------------------------------------------------------------------===//
// Shapes of steps
//===----------------------------------------------------------------------===//

template <double (*Function)(double)>
static LogicalResult runUnary(Frame &frame, const Step &step) {
  const std::vector<Lane> &x = frame.in(step, 0);
  std::vector<Lane> &y = frame.out(step);
  for (size_t i = 0; i < y.size(); ++i) {
    y[i].number = roundTo(step.to, Function(x[i].number));
  }
  return success();
}

template <double (*Function)(double, double)>
static LogicalResult runBinary(Frame &frame, const Step &step) {
  const std::vector<Lane> &a = frame.in(step, 0), &b = frame.in(step, 1);
  std::vector<Lane> &y = frame.out(step);
  for (size_t i = 0; i < y.size(); ++i) {
    y[i].number = roundTo(step.to, Function(a[i].number, b[i].number));
  }
  return success();
}

/// Operands come with the sign of their highest bit.
template <int64_t (*Function)(int64_t, int64_t)>
static LogicalResult runSigned(Frame &frame, const Step &step) {
  const std::vector<Lane> &a = frame.in(step, 0), &b = frame.in(step, 1);
  std::vector<Lane> &y = frame.out(step);
  for (size_t i = 0; i < y.size(); ++i) {
    y[i].integer = wrapTo(step.to, Function(a[i].integer, b[i].integer));
  }
  return success();
}

static uint64_t asUnsigned(Kind kind, int64_t value) {
  int64_t bits = kind == Kind::I1 ? 1 : 8 * bytesOf(kind);
  return bits == 64 ? value : value & ((uint64_t(1) << bits) - 1);
}

template <uint64_t (*Function)(uint64_t, uint64_t)>
static LogicalResult runUnsigned(Frame &frame, const Step &step) {
  const std::vector<Lane> &a = frame.in(step, 0), &b = frame.in(step, 1);
  std::vector<Lane> &y = frame.out(step);
  for (size_t i = 0; i < y.size(); ++i) {
    y[i].integer = wrapTo(step.to, Function(asUnsigned(step.to, a[i].integer),
                                            asUnsigned(step.to, b[i].integer)));
  }
  return success();
}

/// Division by zero is undefined, and an error here.
static LogicalResult checkDivisors(Frame &frame, const Step &step) {
  for (Lane lane : frame.in(step, 1)) {
    if (lane.integer == 0) {
      return step.op->emitError("divides by zero");
    }
  }
  return success();
}

template <uint64_t (*Function)(uint64_t, uint64_t)>
static LogicalResult runDivision(Frame &frame, const Step &step) {
  return failed(checkDivisors(frame, step))
             ? failure()
             : runUnsigned<Function>(frame, step);
}

template <int64_t (*Function)(int64_t, int64_t)>
static LogicalResult runSignedDivision(Frame &frame, const Step &step) {
  return failed(checkDivisors(frame, step)) ? failure()
                                            : runSigned<Function>(frame, step);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

static double add(double a, double b) { return a + b; }
static double subtract(double a, double b) { return a - b; }
static double multiply(double a, double b) { return a * b; }
static double divide(double a, double b) { return a / b; }
static double negate(double x) { return -x; }
static double same(double x) { return x; }
static double absolute(double x) { return std::fabs(x); }
static double squareRoot(double x) { return std::sqrt(x); }
static double exponential(double x) { return std::exp(x); }
static double hyperbolicTangent(double x) { return std::tanh(x); }
static double logarithm(double x) { return std::log(x); }
static double logarithmToTwo(double x) { return std::log2(x); }
static double roundDown(double x) { return std::floor(x); }
static double roundUp(double x) { return std::ceil(x); }
static double withSignOf(double a, double b) { return std::copysign(a, b); }
/// The other operand where one is NaN.
static double maximumNumber(double a, double b) { return std::fmax(a, b); }
static double minimumNumber(double a, double b) { return std::fmin(a, b); }
/// NaN where one operand is.
static double maximum(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? a + b : std::fmax(a, b);
}
static double minimum(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? a + b : std::fmin(a, b);
}

static int64_t addIntegers(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) +
                              static_cast<uint64_t>(b));
}
static int64_t subtractIntegers(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) -
                              static_cast<uint64_t>(b));
}
static int64_t multiplyIntegers(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) *
                              static_cast<uint64_t>(b));
}
static int64_t andBits(int64_t a, int64_t b) { return a & b; }
static int64_t orBits(int64_t a, int64_t b) { return a | b; }
static int64_t exclusiveOr(int64_t a, int64_t b) { return a ^ b; }
static int64_t smaller(int64_t a, int64_t b) { return std::min(a, b); }
static int64_t larger(int64_t a, int64_t b) { return std::max(a, b); }
/// Shifts by the width or more are undefined; programs have none.
static int64_t shiftLeft(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) << (b & 63));
}
static int64_t shiftRight(int64_t a, int64_t b) { return a >> (b & 63); }
static uint64_t shiftRightUnsigned(uint64_t a, uint64_t b) {
  return a >> (b & 63);
}
static uint64_t quotient(uint64_t a, uint64_t b) { return a / b; }
static uint64_t remainder(uint64_t a, uint64_t b) { return a % b; }
/// With the sign of a. By -1 there is none, whatever a.
static int64_t signedRemainder(int64_t a, int64_t b) {
  return b == -1 ? 0 : a % b;
}
static uint64_t smallerUnsigned(uint64_t a, uint64_t b) {
  return std::min(a, b);
}
static uint64_t largerUnsigned(uint64_t a, uint64_t b) {
  return std::max(a, b);
}

/// One rounding: the product of two f32 is exact in a double, and the sum is
/// rounded to a double first, which moves it from a tie one time in 2^29.
static LogicalResult runFma(Frame &frame, const Step &step) {
  const std::vector<Lane> &a = frame.in(step, 0);
  const std::vector<Lane> &b = frame.in(step, 1);
  const std::vector<Lane> &c = frame.in(step, 2);
  std::vector<Lane> &y = frame.out(step);
  Kind kind = step.to;
  for (size_t i = 0, e = y.size(); i < e; ++i) {
    y[i].number = roundTo(kind, a[i].number * b[i].number + c[i].number);
  }
  return success();
}

static bool holds(arith::CmpFPredicate predicate, double a, double b) {
  using P = arith::CmpFPredicate;
  bool unordered = std::isnan(a) || std::isnan(b);
  switch (predicate) {
  case P::AlwaysFalse:
    return false;
  case P::OEQ:
    return !unordered && a == b;
  case P::OGT:
    return a > b;
  case P::OGE:
    return a >= b;
  case P::OLT:
    return a < b;
  case P::OLE:
    return a <= b;
  case P::ONE:
    return !unordered && a != b;
  case P::ORD:
    return !unordered;
  case P::UEQ:
    return unordered || a == b;
  case P::UGT:
    return unordered || a > b;
  case P::UGE:
    return unordered || a >= b;
  case P::ULT:
    return unordered || a < b;
  case P::ULE:
    return unordered || a <= b;
  case P::UNE:
    return unordered || a != b;
  case P::UNO:
    return unordered;
  case P::AlwaysTrue:
    return true;
  }
  llvm_unreachable("unknown comparison");
}

static LogicalResult runCompareFloats(Frame &frame, const Step &step) {
  auto predicate = cast<arith::CmpFOp>(step.op).getPredicate();
  const std::vector<Lane> &a = frame.in(step, 0), &b = frame.in(step, 1);
  std::vector<Lane> &y = frame.out(step);
  for (size_t i = 0; i < y.size(); ++i) {
    y[i].integer = holds(predicate, a[i].number, b[i].number);
  }
  return success();
}

static LogicalResult runCompareIntegers(Frame &frame, const Step &step) {
  auto predicate = cast<arith::CmpIOp>(step.op).getPredicate();
  const std::vector<Lane> &a = frame.in(step, 0), &b = frame.in(step, 1);
  unsigned bits = step.from == Kind::I1 ? 1 : 8 * bytesOf(step.from);
  std::vector<Lane> &y = frame.out(step);
  for (size_t i = 0; i < y.size(); ++i) {
    y[i].integer = arith::applyCmpPredicate(
        predicate, APInt(bits, asUnsigned(step.from, a[i].integer)),
        APInt(bits, asUnsigned(step.from, b[i].integer)));
  }
  return success();
}

/// The condition is one for all lanes or one for each.
static LogicalResult runSelect(Frame &frame, const Step &step) {
  const std::vector<Lane> &condition = frame.in(step, 0);
  const std::vector<Lane> &a = frame.in(step, 1), &b = frame.in(step, 2);
  if (isa<MemRefType>(step.op->getResult(0).getType())) {
    frame.copy(step.operands[condition.front().integer ? 1 : 2],
               step.results.front());
    return success();
  }
  std::vector<Lane> &y = frame.out(step);
  for (size_t i = 0; i < y.size(); ++i) {
    y[i] = condition[condition.size() == 1 ? 0 : i].integer ? a[i] : b[i];
  }
  return success();
}

static LogicalResult runZeroExtension(Frame &frame, const Step &step) {
  const std::vector<Lane> &x = frame.in(step, 0);
  std::vector<Lane> &y = frame.out(step);
  for (size_t i = 0; i < y.size(); ++i) {
    y[i].integer = asUnsigned(step.from, x[i].integer);
  }
  return success();
}

/// A boolean is 0 or 1 here, and -1 where its highest bit is a sign.
static LogicalResult runSignExtension(Frame &frame, const Step &step) {
  const std::vector<Lane> &x = frame.in(step, 0);
  std::vector<Lane> &y = frame.out(step);
  for (size_t i = 0; i < y.size(); ++i) {
    int64_t value = x[i].integer;
    y[i].integer = wrapTo(step.to, step.from == Kind::I1 ? -value : value);
  }
  return success();
}

static LogicalResult runIntegerToFloat(Frame &frame, const Step &step) {
  const std::vector<Lane> &x = frame.in(step, 0);
  std::vector<Lane> &y = frame.out(step);
  for (size_t i = 0; i < y.size(); ++i) {
    y[i].number = roundTo(step.to, static_cast<double>(x[i].integer));
  }
  return success();
}

/// Beyond the range the result is undefined; here it is 0.
static LogicalResult runFloatToInteger(Frame &frame, const Step &step) {
  const std::vector<Lane> &x = frame.in(step, 0);
  std::vector<Lane> &y = frame.out(step);
  for (size_t i = 0; i < y.size(); ++i) {
    bool fits = std::fabs(x[i].number) < 9.2e18;
    y[i].integer =
        fits ? wrapTo(step.to, static_cast<int64_t>(x[i].number)) : 0;
  }
  return success();
}

/// The same bytes as elements of another type, more or fewer.
static LogicalResult runBitcast(Frame &frame, const Step &step) {
  const std::vector<Lane> &x = frame.in(step, 0);
  std::vector<Lane> &y = frame.out(step);
  int64_t from = bytesOf(step.from), to = bytesOf(step.to);
  std::vector<uint8_t> bytes(x.size() * from);
  for (size_t i = 0; i < x.size(); ++i) {
    writeElement(step.from, x[i], bytes.data() + i * from);
  }
  for (size_t i = 0; i < y.size(); ++i) {
    y[i] = readElement(step.to, bytes.data() + i * to);
  }
  return success();
}

static LogicalResult runConstant(Frame &frame, const Step &step) {
  Attribute value = cast<arith::ConstantOp>(step.op).getValue();
  std::vector<Lane> &y = frame.out(step);
  auto numberOf = [](const APFloat &number) {
    return number.convertToDouble();
  };
  auto integerOf = [&](const APInt &integer) {
    return step.to == Kind::I1 ? int64_t(integer.getZExtValue())
                               : integer.getSExtValue();
  };
  if (auto number = dyn_cast<FloatAttr>(value)) {
    y.front().number = numberOf(number.getValue());
  } else if (auto integer = dyn_cast<IntegerAttr>(value)) {
    y.front().integer = integerOf(integer.getValue());
  } else if (auto elements = dyn_cast<DenseElementsAttr>(value)) {
    size_t i = 0;
    if (isFloat(step.to)) {
      for (const APFloat &number : elements.getValues<APFloat>()) {
        y[i++].number = numberOf(number);
      }
    } else {
      for (const APInt &integer : elements.getValues<APInt>()) {
        y[i++].integer = integerOf(integer);
      }
    }
  } else {
    return step.op->emitError("a constant of this kind cannot be interpreted");
  }
  return success();
}

static LogicalResult runCopy(Frame &frame, const Step &step) {
  frame.copy(step.operands.front(), step.results.front());
  return success();
}

void addArithSteps(StepTable &table) {
  table["arith.addf"] = runBinary<add>;
  table["arith.subf"] = runBinary<subtract>;
  table["arith.mulf"] = runBinary<multiply>;
  table["arith.divf"] = runBinary<divide>;
  table["arith.negf"] = runUnary<negate>;
  table["arith.maxnumf"] = runBinary<maximumNumber>;
  table["arith.minnumf"] = runBinary<minimumNumber>;
  table["arith.maximumf"] = runBinary<maximum>;
  table["arith.minimumf"] = runBinary<minimum>;
  table["arith.extf"] = runUnary<same>;
  table["arith.truncf"] = runUnary<same>;
  table["math.absf"] = runUnary<absolute>;
  table["math.sqrt"] = runUnary<squareRoot>;
  table["math.exp"] = runUnary<exponential>;
  table["math.tanh"] = runUnary<hyperbolicTangent>;
  table["math.log"] = runUnary<logarithm>;
  table["math.log2"] = runUnary<logarithmToTwo>;
  table["math.floor"] = runUnary<roundDown>;
  table["math.ceil"] = runUnary<roundUp>;
  table["math.copysign"] = runBinary<withSignOf>;
  table["math.fma"] = table["vector.fma"] = runFma;

  table["arith.addi"] = runSigned<addIntegers>;
  table["arith.subi"] = runSigned<subtractIntegers>;
  table["arith.muli"] = runSigned<multiplyIntegers>;
  table["arith.divui"] = runDivision<quotient>;
  table["arith.remui"] = runDivision<remainder>;
  table["arith.remsi"] = runSignedDivision<signedRemainder>;
  table["arith.minsi"] = runSigned<smaller>;
  table["arith.maxsi"] = runSigned<larger>;
  table["arith.minui"] = runUnsigned<smallerUnsigned>;
  table["arith.maxui"] = runUnsigned<largerUnsigned>;
  table["arith.andi"] = runSigned<andBits>;
  table["arith.ori"] = runSigned<orBits>;
  table["arith.xori"] = runSigned<exclusiveOr>;
  table["arith.shli"] = runSigned<shiftLeft>;
  table["arith.shrsi"] = runSigned<shiftRight>;
  table["arith.shrui"] = runUnsigned<shiftRightUnsigned>;

  table["arith.cmpf"] = runCompareFloats;
  table["arith.cmpi"] = runCompareIntegers;
  table["arith.select"] = runSelect;
  table["arith.extui"] = runZeroExtension;
  table["arith.index_castui"] = runZeroExtension;
  table["arith.extsi"] = runSignExtension;
  table["arith.index_cast"] = runSignExtension;
  table["arith.trunci"] = runSignExtension;
  table["arith.sitofp"] = runIntegerToFloat;
  table["arith.fptosi"] = runFloatToInteger;
  table["arith.bitcast"] = table["vector.bitcast"] = runBitcast;
  table["arith.constant"] = runConstant;
  table["llvm.freeze"] = runCopy;
}

} // namespace hova
