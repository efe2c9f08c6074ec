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

  /// The root mean square is that of the elements which are `averaged`.
  void add(int64_t index, double got, double want, double bound,
           bool averaged = true) {
    double error = 0;
    if (!agreeOnSpecials(got, want)) {
      error = std::numeric_limits<double>::infinity();
      ++specials;
    } else if (std::isfinite(want)) {
      error = std::abs(got - want);
      squares += averaged ? error * error : 0;
      summands += averaged;
      ++into.compared;
    }
    over += error > bound;
    into.maxError = std::max(into.maxError, error);
    keepWorst({index, got, want, error, bound});
  }

  void finish(int64_t elements) {
    into.elements = elements;
    into.rmsError =
        summands ? std::sqrt(squares / static_cast<double>(summands)) : 0;
  }

  int64_t specials = 0;
  int64_t over = 0;
  int64_t summands = 0; ///< of the mean

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

PlainError hova::measurePlain(const HostTensor &plain, const HostTensor &want) {
  PlainError error;
  double squares = 0;
  int64_t finite = 0;
  for (int64_t i = 0, e = want.size(); i < e; ++i) {
    if (std::isfinite(want.at(i)) && std::isfinite(plain.at(i))) {
      double own = std::abs(plain.at(i) - want.at(i));
      error.max = std::max(error.max, own);
      squares += own * own;
      ++finite;
    }
  }
  error.rms = finite ? std::sqrt(squares / static_cast<double>(finite)) : 0;
  return error;
}

PlainError hova::measureSpread(const HostTensor &neighbour,
                               const HostTensor &want) {
  PlainError error;
  for (int64_t i = 0, e = want.size(); i < e; ++i) {
    if (std::isfinite(want.at(i)) && std::isfinite(neighbour.at(i))) {
      error.spread =
          std::max(error.spread, std::abs(neighbour.at(i) - want.at(i)));
    }
  }
  return error;
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
  // The plain run's own error is the yardstick; where it overflows it has none.
  double largest = 0, largestAlone = 0;
  for (int64_t i = 0, e = want.size(); i < e; ++i) {
    if (std::isfinite(want.at(i))) {
      double &own = std::isfinite(plain.at(i)) ? largest : largestAlone;
      own = std::max(own, std::abs(want.at(i)));
    }
  }
  const NumericPolicy &policy = numericPolicy(storage);
  double margin = policy.magnitudeUlps * ulpOf(largest, storage);
  PlainError yardstick = measurePlain(plain, want).worse(others);
  result.maxBound = policy.plainFactor * yardstick.max + margin;
  result.rmsBound = policy.plainFactor * yardstick.rms + margin;
  double boundAlone =
      policy.plainFactor * std::max(yardstick.max, yardstick.spread) +
      policy.magnitudeUlps * ulpOf(std::max(largest, largestAlone), storage);
  Errors errors(result);
  for (int64_t i = 0, e = want.size(); i < e; ++i) {
    bool isAlone = !std::isfinite(plain.at(i));
    bool mayOverflow = isAlone || (anyOrder && !std::isfinite(anyOrder->at(i)));
    if (mayOverflow && !std::isfinite(got.at(i)) && std::isfinite(want.at(i))) {
      ++result.overflowed;
    } else {
      errors.add(i, got.at(i), want.at(i),
                 isAlone ? boundAlone : result.maxBound, !isAlone);
    }
  }
  if (result.compared > errors.summands) {
    result.maxBound = std::max(result.maxBound, boundAlone);
  }
  errors.finish(want.size());
  decide(result, errors, " elements differ more than rounding explains");
  if (result.within && result.rmsError > result.rmsBound) {
    result.within = false;
    result.reason = "the root mean square error is more than rounding explains";
  }
  return result;
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
