//===- Initialize.cpp - Weights from a seed -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Element i of a weight is a hash of (seed, name, i). Bell-shaped values are
// the sum of four uniform ones: integer arithmetic gives the same bits
// everywhere, which the logarithm of a mathematical library does not promise.
//
//===----------------------------------------------------------------------===//

#include "frontend/weights/Weights.h"

#include "dialect/token/TokenOps.h"
#include "frontend/weights/BlockTables.h"
#include "llvm/Support/xxhash.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace hova::frontend {

namespace {

/// The finaliser of the splitmix64 generator (Steele et al., Fast Splittable
/// Pseudorandom Number Generators, 2014).
uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

class Generator {
public:
  Generator(llvm::StringRef name, uint64_t seed)
      : key(mix(llvm::xxh3_64bits(name) ^ mix(seed + 0x9E3779B97F4A7C15u))) {}

  /// Within [-1, 1).
  double uniform(uint64_t index) const {
    return static_cast<double>(static_cast<int64_t>(word(index))) * 0x1p-63;
  }

  /// Mean 0, deviation 1, at most 3.5.
  double normal(uint64_t index) const {
    uint64_t bits = word(index);
    int64_t sum = 0;
    for (int part = 0; part < 4; ++part) {
      sum += static_cast<int64_t>((bits >> (16 * part)) & 0xFFFF);
    }
    // Each summand has mean 65535/2 and variance (2^32 - 1)/12.
    return static_cast<double>(sum - 131070) / 37837.2;
  }

  /// 64 random bits.
  uint64_t word(uint64_t index) const {
    return mix(key + index * 0x9E3779B97F4A7C15u);
  }

private:
  uint64_t key;
};

double glorotBound(const Shape &shape) {
  double in = static_cast<double>(shape.size() < 2 ? shape.back()
                                                   : shape[shape.size() - 2]);
  double out = static_cast<double>(shape.back());
  return std::sqrt(6.0 / (in + out));
}

double draw(const Generator &generator, uint64_t index,
            const Initializer &initializer, double bound) {
  switch (initializer.kind) {
  case Initializer::Kind::Glorot:
    return bound * generator.uniform(index);
  case Initializer::Kind::Normal:
    return initializer.value * generator.normal(index);
  case Initializer::Kind::Uniform:
    return initializer.value * generator.uniform(index);
  case Initializer::Kind::Constant:
    return initializer.value;
  case Initializer::Kind::Gain:
    return 1 + 0.1 * generator.normal(index);
  case Initializer::Kind::Bias:
    return 0.1 * generator.normal(index);
  case Initializer::Kind::Orthogonal:
  case Initializer::Kind::Sinusoid:
  case Initializer::Kind::Blocks:
    break; // not element by element
  }
  return 0;
}

/// Rows of a matrix of orthogonal directions, `width` at a time: the rows of
/// Q^T where QR is a Gaussian matrix and the diagonal of R is positive, found
/// column by column. Lengths are those of the rows of further Gaussian numbers,
/// or `length`.
void drawOrthogonal(const Generator &generator, const Shape &shape,
                    double length, float *out) {
  const uint64_t rows = static_cast<uint64_t>(shape[0]);
  const uint64_t width = static_cast<uint64_t>(shape[1]);
  auto norm = [&](const double *row) {
    double sum = 0;
    for (uint64_t k = 0; k < width; ++k) {
      sum += row[k] * row[k];
    }
    return std::sqrt(sum);
  };
  std::vector<double> block(width * width), gaussian(width);
  for (uint64_t r = 0; r < rows; ++r) {
    double *row = block.data() + r % width * width;
    for (uint64_t k = 0; k < width; ++k) {
      row[k] = generator.normal(r * width + k);
      gaussian[k] = generator.normal((rows + r) * width + k);
    }
    // Twice: what rounding leaves of the earlier directions is gone then.
    for (uint64_t turn = 0; turn < 2 * (r % width); ++turn) {
      const double *before = block.data() + turn % (r % width) * width;
      double part = 0;
      for (uint64_t k = 0; k < width; ++k) {
        part += before[k] * row[k];
      }
      for (uint64_t k = 0; k < width; ++k) {
        row[k] -= part * before[k];
      }
    }
    double rowNorm = norm(row);
    double wanted = length > 0 ? length : norm(gaussian.data());
    for (uint64_t k = 0; k < width; ++k) {
      // A row of zeros, which may be drawn, has no direction.
      row[k] = rowNorm > 0 ? row[k] / rowNorm : double(k == r % width);
      out[r * width + k] = static_cast<float>(wanted * row[k]);
    }
  }
}

/// Row i is position i, from the first that the initialiser names on; those
/// before are 0. Angles are f64.
void fillPositions(const Shape &shape, const Initializer &initializer,
                   float *out) {
  int64_t width = shape[1], first = static_cast<int64_t>(initializer.value);
  for (int64_t i = 0; i < shape[0] * width; ++i) {
    int64_t row = i / width, column = i % width;
    double turns =
        -2.0 * static_cast<double>(column / 2) / static_cast<double>(width);
    double angle = static_cast<double>(row) * std::pow(initializer.base, turns);
    double value = column % 2 == 0 ? std::sin(angle) : std::cos(angle);
    out[i] = row < first ? 0 : static_cast<float>(value);
  }
}

/// How far `vary` moves the elements of a weight; 0: they differ as it is.
double variationOf(const Initializer &initializer) {
  using Kind = Initializer::Kind;
  bool isSpread =
      initializer.kind == Kind::Normal || initializer.kind == Kind::Uniform;
  bool isConstant = initializer.kind == Kind::Constant ||
                    (isSpread && initializer.value == 0);
  if (isConstant) {
    // The factors of cosine attention: some beyond the largest allowed.
    return std::max(0.25, std::abs(initializer.value) / 2);
  }
  return initializer.kind == Kind::Sinusoid ? 0.1 : 0;
}

/// Makes numbers random that the initialiser has made alike.
void vary(const Initializer &initializer, const Generator &generator,
          HostTensor &tensor) {
  constexpr double largest = std::numeric_limits<float>::max();
  double variation = variationOf(initializer);
  float *out = tensor.mutableAs<float>();
  for (int64_t i = 0, n = variation > 0 ? tensor.size() : 0; i < n; ++i) {
    double moved =
        out[i] + variation * generator.normal(static_cast<uint64_t>(i));
    out[i] = static_cast<float>(std::clamp(moved, -largest, largest));
  }
}

/// Draws a table of blocks with empty entries. Where blocks may repeat, with
/// repetitions and blocks that are seen anyway.
void drawVariedBlocks(const BlockTable &table, const Shape &shape,
                      const Generator &generator, HostTensor &tensor) {
  float *out = tensor.mutableAs<float>();
  auto word = [&](uint64_t i) { return generator.word(i); };
  drawBlocks(table, shape, word, out);
  uint64_t choices = static_cast<uint64_t>(table.blocks) + 1;
  for (int64_t i = 0, n = tensor.size(); i < n; ++i) {
    // Other words than those that draw blocks.
    uint64_t random = generator.word(static_cast<uint64_t>(n + i));
    if (table.allowsRepeats) {
      out[i] = static_cast<float>(random % choices) - 1;
    } else if (random % 4 == 0) {
      out[i] = -1;
    }
  }
}

class DrawnWeights final : public WeightSource {
public:
  DrawnWeights(const Program &program, uint64_t seed, Drawing drawing)
      : program(program), seed(seed), drawing(drawing) {}

  llvm::Expected<HostTensor> load(llvm::StringRef name) override {
    const ProgramWeight *weight =
        program.findWeight({name.data(), name.size()});
    if (!weight) {
      return llvm::createStringError("the model has no weight \"" + name +
                                     "\"");
    }
    const Shape &shape =
        program.values[static_cast<size_t>(weight->value)].type.shape;
    HostTensor tensor(HostTensor::Element::F32, shape);
    if (drawing == Drawing::Initialised) {
      fill(*weight, shape, tensor);
      return tensor;
    }
    Generator variation((name + "/varied").str(), seed);
    if (weight->blockTable) {
      drawVariedBlocks(*weight->blockTable, shape, variation, tensor);
      return tensor;
    }
    fill(*weight, shape, tensor);
    vary(weight->initializer, variation, tensor);
    return tensor;
  }

private:
  /// As the initialiser says.
  void fill(const ProgramWeight &weight, const Shape &shape,
            HostTensor &tensor) const {
    Generator generator(weight.name, seed);
    double bound = glorotBound(shape);
    float *out = tensor.mutableAs<float>();
    if (weight.initializer.kind == Initializer::Kind::Orthogonal) {
      drawOrthogonal(generator, shape, weight.initializer.value, out);
      return;
    }
    if (weight.initializer.kind == Initializer::Kind::Sinusoid) {
      fillPositions(shape, weight.initializer, out);
      return;
    }
    if (weight.initializer.kind == Initializer::Kind::Blocks) {
      drawBlocks(
          *weight.blockTable, shape,
          [&](uint64_t i) { return generator.word(i); }, out);
      return;
    }
    for (int64_t i = 0, n = tensor.size(); i < n; ++i) {
      out[i] = static_cast<float>(
          draw(generator, static_cast<uint64_t>(i), weight.initializer, bound));
    }
  }

  const Program &program;
  const uint64_t seed;
  const Drawing drawing;
};

} // namespace

std::unique_ptr<WeightSource> drawWeights(const Program &program, uint64_t seed,
                                          Drawing drawing) {
  return std::make_unique<DrawnWeights>(program, seed, drawing);
}

std::string elementIndex(llvm::ArrayRef<int64_t> shape, int64_t element) {
  std::string index;
  for (size_t axis = shape.size(); axis-- > 0; element /= shape[axis]) {
    index = std::to_string(element % shape[axis]) +
            (index.empty() ? "" : ", ") + index;
  }
  return "[" + index + "]";
}

llvm::Error checkValues(const ProgramWeight &weight, const HostTensor &tensor) {
  const float *values = tensor.as<float>();
  for (int64_t i = 0, n = tensor.size(); i < n; ++i) {
    if (std::isfinite(values[i])) {
      continue;
    }
    return llvm::createStringError(
        "weight \"" + weight.name + "\" has the value " +
        (std::isnan(values[i]) ? "NaN" : "infinity") + " at " +
        elementIndex(tensor.getShape(), i));
  }
  return weight.blockTable
             ? checkBlocks(*weight.blockTable, weight.name, tensor)
             : llvm::Error::success();
}

} // namespace hova::frontend
