//===- Compare.cpp - The numeric policy and its comparisons ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/reference/Compare.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

using namespace hova;

using Element = HostTensor::Element;

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

const NumericPolicy &hova::numericPolicy(Storage storage) {
  //                                 exp  unary  sum  plain  magnitude
  static const NumericPolicy f32 = {2.0, 4.0, 4.0, 2.0, 4.0};
  static const NumericPolicy bf16 = {2.0, 4.0, 4.0, 2.0, 4.0};
  static const NumericPolicy f16 = {2.0, 4.0, 4.0, 2.0, 4.0};
  switch (storage) {
  case Storage::F32:
    return f32;
  case Storage::BF16:
    return bf16;
  case Storage::F16:
    return f16;
  }
  return f32;
}

/// Bits of the significand after the point, and the smallest normal exponent.
static std::pair<int, int> format(Storage storage) {
  switch (storage) {
  case Storage::BF16:
    return {7, -126};
  case Storage::F16:
    return {10, -14};
  case Storage::F32:
    break;
  }
  return {23, -126};
}

double hova::unitRoundoff(Storage storage) {
  return std::ldexp(1.0, -format(storage).first - 1);
}

double hova::ulpOf(double value, Storage storage) {
  auto [bits, smallest] = format(storage);
  int exponent = value == 0 ? smallest : std::ilogb(value);
  return std::ldexp(1.0, std::max(exponent, smallest) - bits);
}

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

/// Whether the two agree about being finite: the same infinity, or both NaN.
static bool agreeOnSpecials(double got, double want) {
  if (std::isnan(want) || std::isnan(got)) {
    return std::isnan(want) && std::isnan(got);
  }
  return (!std::isinf(want) && !std::isinf(got)) || got == want;
}

namespace {
/// Collects errors element by element.
class Errors {
public:
  explicit Errors(Comparison &into) : into(into) {}

  void add(int64_t index, double got, double want, double bound) {
    double error = 0;
    if (!agreeOnSpecials(got, want)) {
      error = std::numeric_limits<double>::infinity();
      ++specials;
    } else if (std::isfinite(want)) {
      error = std::abs(got - want);
      squares += error * error;
      ++into.compared;
    }
    over += error > bound;
    into.maxError = std::max(into.maxError, error);
    keepWorst({index, got, want, error, bound});
  }

  void finish(int64_t elements) {
    into.elements = elements;
    into.rmsError =
        into.compared ? std::sqrt(squares / static_cast<double>(into.compared))
                      : 0;
  }

  int64_t specials = 0;
  int64_t over = 0;

private:
  void keepWorst(const ElementDifference &difference) {
    auto &worst = into.worst;
    auto place = std::find_if(worst.begin(), worst.end(), [&](auto &other) {
      return difference.error > other.error;
    });
    if (difference.error > 0 && (place != worst.end() || worst.size() < 5)) {
      worst.insert(place, difference);
      if (worst.size() > 5) {
        worst.pop_back();
      }
    }
  }

  Comparison &into;
  double squares = 0;
};
} // namespace

static bool sameShape(const HostTensor &got, const HostTensor &want,
                      Comparison &result) {
  if (got.getShape() == want.getShape()) {
    return true;
  }
  result.reason = "the shapes differ";
  return false;
}

static void decide(Comparison &result, const Errors &errors,
                   const char *complaint) {
  if (errors.specials) {
    result.reason = std::to_string(errors.specials) +
                    " elements are NaN or infinite on one side only";
  } else if (errors.over) {
    result.reason = std::to_string(errors.over) + complaint;
  }
  result.within = result.reason.empty();
}

/// Whether the elements are floating-point numbers, which rounding changes.
static bool isNumber(const HostTensor &tensor) {
  return tensor.getElement() == Element::F64 ||
         tensor.getElement() == Element::F32;
}

/// Bits of an element in the narrower of two floating-point types, or its
/// integer value.
static uint64_t bitsOf(const HostTensor &tensor, int64_t index, bool single) {
  if (tensor.getElement() == Element::I64) {
    return static_cast<uint64_t>(tensor.as<int64_t>()[index]);
  }
  double value = tensor.at(index);
  if (!single) {
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
  }
  float narrow = static_cast<float>(value);
  uint32_t bits;
  std::memcpy(&bits, &narrow, sizeof bits);
  return bits;
}

Comparison hova::compareExact(const HostTensor &got, const HostTensor &want) {
  Comparison result;
  if (!sameShape(got, want, result)) {
    return result;
  }
  bool single =
      got.getElement() == Element::F32 || want.getElement() == Element::F32;
  Errors errors(result);
  int64_t different = 0;
  for (int64_t i = 0, e = want.size(); i < e; ++i) {
    bool equal = bitsOf(got, i, single) == bitsOf(want, i, single);
    different += !equal;
    errors.add(i, got.at(i), want.at(i),
               equal ? std::numeric_limits<double>::infinity() : 0);
  }
  errors.finish(want.size());
  if (different) {
    result.reason = std::to_string(different) + " elements have other bits";
  }
  result.within = different == 0;
  return result;
}

Comparison hova::compareUnary(const HostTensor &got, const HostTensor &want,
                              double ulps, Storage storage) {
  Comparison result;
  if (!sameShape(got, want, result)) {
    return result;
  }
  Errors errors(result);
  for (int64_t i = 0, e = want.size(); i < e; ++i) {
    double bound =
        std::isfinite(want.at(i)) ? ulps * ulpOf(want.at(i), storage) : 0;
    result.maxBound = std::max(result.maxBound, bound);
    errors.add(i, got.at(i), want.at(i), bound);
  }
  errors.finish(want.size());
  decide(result, errors, " elements are too many last places off");
  return result;
}

Comparison hova::compareContraction(const HostTensor &got,
                                    const HostTensor &want,
                                    const HostTensor &magnitudes, int64_t depth,
                                    Storage storage) {
  Comparison result;
  if (!sameShape(got, want, result) || !sameShape(magnitudes, want, result)) {
    return result;
  }
  double factor = (static_cast<double>(depth) +
                   numericPolicy(storage).contractionConstant) *
                  unitRoundoff(storage);
  Errors errors(result);
  for (int64_t i = 0, e = want.size(); i < e; ++i) {
    double bound = factor * magnitudes.at(i);
    result.maxBound = std::max(result.maxBound, bound);
    errors.add(i, got.at(i), want.at(i), bound);
  }
  errors.finish(want.size());
  decide(result, errors, " elements exceed the rounding of their sums");
  return result;
}

void PlainError::addRun(const HostTensor &plain, const HostTensor &exact) {
  double squares = 0;
  int64_t finite = 0;
  for (int64_t i = 0, e = exact.size(); i < e; ++i) {
    if (std::isfinite(exact.at(i)) && std::isfinite(plain.at(i))) {
      double difference = std::abs(plain.at(i) - exact.at(i));
      max = std::max(max, difference);
      squares += difference * difference;
      ++finite;
    }
  }
  if (finite) {
    rms = std::max(rms, std::sqrt(squares / static_cast<double>(finite)));
  }
}

void PlainError::addNeighbour(const HostTensor &exact, const HostTensor &want) {
  spread.resize(want.size());
  for (int64_t i = 0, e = want.size(); i < e; ++i) {
    if (std::isfinite(want.at(i)) && std::isfinite(exact.at(i))) {
      spread[i] = std::max(spread[i], std::abs(exact.at(i) - want.at(i)));
    }
  }
}

static constexpr char kTooFar[] =
    " elements differ more than rounding explains";

namespace {
/// What the elements of a value are compared with.
struct Yardstick {
  const HostTensor &plain, &want;
  const HostTensor *anyOrder;
  const NumericPolicy &policy;
  Storage storage;
  const PlainError &others;
  double medianSpread;

  /// Some units of the largest magnitude of what `counts` is true of.
  double marginOf(llvm::function_ref<bool(int64_t)> counts) const;
  double spreadOf(int64_t element) const {
    return others.spread.empty() ? 0 : others.spread[element];
  }
  /// Whether the program and the reference have a number, and the plain run
  /// none.
  bool isAlone(double got, int64_t element) const {
    return std::isfinite(want.at(element)) && std::isfinite(got) &&
           !std::isfinite(plain.at(element));
  }
  /// Whether roundings of inputs and weights decide what an element is: it
  /// changes by more than a sum of roundings does, and than others do. Where
  /// inputs have fewer bits than what is between, all change by more. Of
  /// weights that are cut off below 0 and divided by their sum, they decide
  /// whether the only one, which is about 0, is all of the sum or nothing.
  bool isDecided(int64_t element, double bound) const {
    constexpr double most = 8;
    double usual = policy.plainFactor * medianSpread;
    return spreadOf(element) > most * std::max(bound, usual);
  }
};
} // namespace

double Yardstick::marginOf(llvm::function_ref<bool(int64_t)> counts) const {
  double largest = 0;
  for (int64_t i = 0, e = want.size(); i < e; ++i) {
    if (std::isfinite(want.at(i)) && counts(i)) {
      largest = std::max(largest, std::abs(want.at(i)));
    }
  }
  return policy.magnitudeUlps * ulpOf(largest, storage);
}

/// 0 of none.
static double medianOf(std::vector<double> numbers) {
  auto middle =
      numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  return numbers.empty() ? 0 : *middle;
}

/// All elements that the plain run speaks of. The others are left to
/// `bySpread`.
static Comparison compareToPlain(const HostTensor &got, const Yardstick &by,
                                 std::vector<int64_t> &bySpread) {
  Comparison result;
  double margin =
      by.marginOf([&](int64_t i) { return std::isfinite(by.plain.at(i)); });
  PlainError plainRun;
  plainRun.addRun(by.plain, by.want);
  double factor = by.policy.plainFactor;
  result.maxBound = factor * std::max(plainRun.max, by.others.max) + margin;
  result.rmsBound = factor * std::max(plainRun.rms, by.others.rms) + margin;
  Errors errors(result);
  for (int64_t i = 0, e = by.want.size(); i < e; ++i) {
    bool mayOverflow = !std::isfinite(by.plain.at(i)) ||
                       (by.anyOrder && !std::isfinite(by.anyOrder->at(i)));
    if (mayOverflow && !std::isfinite(got.at(i)) &&
        std::isfinite(by.want.at(i))) {
      ++result.overflowed;
    } else if (by.isAlone(got.at(i), i) || by.isDecided(i, result.maxBound)) {
      bySpread.push_back(i);
    } else {
      errors.add(i, got.at(i), by.want.at(i), result.maxBound);
    }
  }
  errors.finish(by.want.size());
  decide(result, errors, kTooFar);
  if (result.within && result.rmsError > result.rmsBound) {
    result.within = false;
    result.reason = "the root mean square error is more than rounding explains";
  }
  return result;
}

/// Elements that each have a bound of their own: what they change by from the
/// model to its neighbours. Of the one that is nearest to it, or farthest
/// beyond, the error and the bound are told.
static Comparison compareToSpread(const HostTensor &got, const Yardstick &by,
                                  llvm::ArrayRef<int64_t> elements) {
  Comparison result;
  double margin = by.marginOf([](int64_t) { return true; }), squares = 0;
  ElementDifference nearest = {0, 0, 0, 0, margin};
  Errors errors(result);
  for (int64_t i : elements) {
    double width = by.spreadOf(i);
    ElementDifference found = {i, got.at(i), by.want.at(i),
                               std::abs(got.at(i) - by.want.at(i)),
                               by.policy.plainFactor * width + margin};
    squares += width * width;
    errors.add(i, found.got, found.want, found.bound);
    if (found.error * nearest.bound > nearest.error * found.bound) {
      nearest = found;
    }
  }
  errors.finish(by.want.size());
  result.maxError = nearest.error;
  result.maxBound = nearest.bound;
  double compared = static_cast<double>(std::max<int64_t>(result.compared, 1));
  result.rmsBound =
      by.policy.plainFactor * std::sqrt(squares / compared) + margin;
  // Where no element is too far off, neither is their mean.
  decide(result, errors, kTooFar);
  return result;
}

/// What is told of both kinds of elements: of the one that is refused, or else
/// nearer to its bounds.
static Comparison join(Comparison a, Comparison b) {
  auto excess = [](const Comparison &compared) {
    return std::max(compared.maxError / compared.maxBound,
                    compared.rmsError / compared.rmsBound);
  };
  bool isNearer = b.compared > 0 &&
                  ((a.compared == 0 && a.within) || excess(b) > excess(a));
  bool second = a.within == b.within ? isNearer : a.within;
  Comparison &told = second ? b : a, &other = second ? a : b;
  told.compared += other.compared;
  told.overflowed += other.overflowed;
  return std::move(told);
}

Comparison hova::compareModel(const HostTensor &got, const HostTensor &plain,
                              const HostTensor &want, Storage storage,
                              const PlainError &others,
                              const HostTensor *anyOrder) {
  Comparison result;
  if (!sameShape(got, want, result) || !sameShape(plain, want, result) ||
      (anyOrder && !sameShape(*anyOrder, want, result))) {
    return result;
  }
  if (!isNumber(want)) {
    return compareExact(got, want);
  }
  Yardstick by{plain,
               want,
               anyOrder,
               numericPolicy(storage),
               storage,
               others,
               medianOf(others.spread)};
  std::vector<int64_t> bySpread;
  Comparison toPlain = compareToPlain(got, by, bySpread);
  return join(std::move(toPlain), compareToSpread(got, by, bySpread));
}

void hova::printWorst(const Comparison &comparison,
                      llvm::ArrayRef<int64_t> shape, llvm::raw_ostream &os) {
  os << "  element            got              want             error     "
        "  bound\n";
  for (const ElementDifference &element : comparison.worst) {
    std::string position;
    int64_t rest = element.index;
    for (int64_t axis = shape.size() - 1; axis >= 0; --axis) {
      int64_t dim = std::max<int64_t>(shape[axis], 1);
      position = std::to_string(rest % dim) +
                 (position.empty() ? "" : ", " + position);
      rest /= dim;
    }
    os << llvm::format("  %-18s %-16.9g %-16.9g %-9.2e %-9.2e\n",
                       ("[" + position + "]").c_str(), element.got,
                       element.want, element.error, element.bound);
  }
}
