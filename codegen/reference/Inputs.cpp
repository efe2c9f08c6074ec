//===- Inputs.cpp - Random and edge inputs --------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/reference/Inputs.h"
#include "codegen/reference/Compare.h"
#include "dialect/evaluate/Evaluate.h"
#include "llvm/ADT/bit.h"
#include <cmath>

using namespace hova;

using Element = HostTensor::Element;

namespace {
/// Small counter-based generator (SplitMix64): the same numbers everywhere.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}

  uint64_t next() {
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// In (0, 1].
  double uniform() { return (static_cast<double>(next() >> 11) + 1) * 0x1p-53; }
  double normal() {
    return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * M_PI * uniform());
  }

private:
  uint64_t state;
};
} // namespace

/// Sets one value of every row. What two rows have in common is one product
/// then: scores are exact, equal or far apart, and no rounding decides which
/// key wins.
static void setLargeValues(HostTensor &rows, Random &random, Storage storage) {
  static const double sizes[] = {1e4, 1e9, 1e15, 1e18};
  llvm::ArrayRef<int64_t> shape = rows.getShape();
  int64_t width = shape.empty() ? 1 : shape.back();
  for (int64_t from = 0, e = rows.size(); from < e; from += width) {
    double size = storage == Storage::F16 ? 1e4 : sizes[random.next() % 4];
    int64_t column = static_cast<int64_t>(random.next() % width);
    rows.mutableAs<float>()[from + column] =
        static_cast<float>(random.next() % 2 ? size : -size);
  }
}

HostTensor hova::makeNumbers(llvm::ArrayRef<int64_t> shape, InputKind kind,
                             uint64_t seed, Storage storage) {
  Random random(seed);
  HostTensor result(Element::F32, shape);
  for (int64_t i = 0, e = result.size(); i < e; ++i) {
    double value = 0;
    if (kind == InputKind::Random) {
      value = random.normal();
    } else if (kind == InputKind::Edges) {
      // Far from 1 in both directions, zeros of both signs between them.
      static const double scales[] = {1.0, 30.0, 1e-6, 0.0, -0.0};
      value = random.normal() * scales[random.next() % 5];
    }
    result.mutableAs<float>()[i] = static_cast<float>(value);
  }
  if (kind == InputKind::Large) {
    setLargeValues(result, random, storage);
  }
  return result;
}

HostTensor hova::makeIds(llvm::ArrayRef<int64_t> shape, int64_t lower,
                         int64_t upper, InputKind kind, uint64_t seed) {
  Random random(seed);
  HostTensor result(Element::I64, shape);
  int64_t count = std::max<int64_t>(upper - lower, 1);
  int64_t width = shape.empty() ? 1 : shape.back(), padding = 0;
  for (int64_t i = 0, e = result.size(); i < e; ++i) {
    if (i % width == 0) {
      padding = static_cast<int64_t>(random.next() % (width / 2 + 1));
    }
    int64_t id = 0;
    if (kind == InputKind::Random || kind == InputKind::Large) {
      id = static_cast<int64_t>(random.next() % count);
      id = i % width >= width - padding ? 0 : id;
    } else if (kind == InputKind::Edges) {
      id = random.next() % 2 ? 0 : count - 1;
    }
    result.mutableAs<int64_t>()[i] = lower + id;
  }
  return result;
}

HostTensor hova::makeMask(llvm::ArrayRef<int64_t> shape, InputKind kind,
                          uint64_t seed) {
  Random random(seed);
  HostTensor result(Element::I1, shape);
  int64_t width = shape.empty() ? 1 : shape.back();
  // Runs of keys: all kept, kept by chance, or none.
  enum { Whole, Scattered, None } run = Whole;
  int64_t runEnd = 0;
  for (int64_t i = 0, e = result.size(); i < e; ++i) {
    if (i % width == 0 || i == runEnd) {
      static const decltype(run) runs[] = {Whole, Scattered, None, Whole,
                                           Scattered};
      run = runs[random.next() % 5];
      int64_t most = std::max<int64_t>(width / 2, 1);
      runEnd = i + 1 + static_cast<int64_t>(random.next() % most);
    }
    bool keep = run == Whole || (run == Scattered && random.next() % 4 != 0);
    // Every other row without a key, from the first on.
    keep &= kind == InputKind::Random || kind == InputKind::Large ||
            (kind == InputKind::Edges && i / width % 2);
    result.mutableAs<uint8_t>()[i] = keep;
  }
  return result;
}

HostTensor hova::moveByUnits(const HostTensor &tensor, uint64_t seed,
                             Storage storage, Moves moves) {
  if (tensor.getElement() != Element::F64 &&
      tensor.getElement() != Element::F32) {
    return tensor;
  }
  Random each(seed);
  auto noiseOf = [&](double value) {
    uint64_t bits = llvm::bit_cast<uint64_t>(std::abs(value));
    return moves == Moves::Each ? each.normal() : Random(seed ^ bits).normal();
  };
  HostTensor moved(Element::F32, tensor.getShape());
  double unit = 2 * unitRoundoff(storage);
  for (int64_t i = 0, e = moved.size(); i < e; ++i) {
    double share = std::clamp(noiseOf(tensor.at(i)), -4.0, 4.0) * unit;
    moved.mutableAs<float>()[i] =
        static_cast<float>(tensor.at(i) * (1 + share));
  }
  return moved;
}
