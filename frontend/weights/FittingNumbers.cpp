//===- FittingNumbers.cpp - What sizes a checkpoint may be of -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/weights/FittingNumbers.h"

#include "frontend/weights/FittingParameters.h"

#include <charconv>
#include <cmath>

namespace hova::frontend {

namespace {

/// How many of a thing the names of a file count: 12 for `layer.0.a` up to
/// `layer.11.b`.
void addCounts(const TensorFile &file, std::set<int64_t> &numbers) {
  std::map<std::string_view, int64_t> counts;
  for (const auto &entry : file.entries()) {
    std::string_view name = entry.first;
    for (size_t at = 0; at < name.size();) {
      size_t end = std::min(name.find('.', at), name.size());
      int64_t index = 0;
      auto [rest, error] =
          std::from_chars(name.data() + at, name.data() + end, index);
      if (error == std::errc() && rest == name.data() + end && index >= 0 &&
          index < INT32_MAX) {
        int64_t &count = counts[name.substr(0, at)];
        count = std::max(count, index + 1);
      }
      at = end + 1;
    }
  }
  for (const auto &entry : counts) {
    numbers.insert(entry.second);
  }
}

/// The root of a square that is a side, or 0.
int64_t sideOf(int64_t square) {
  int64_t root =
      square < 4 ? 0 : std::llround(std::sqrt(static_cast<double>(square)));
  return root <= INT32_MAX / 64 && root * root == square ? root : 0;
}

/// Sides of images, of grids of patches and of windows, whose table of the
/// differences has (2 s - 1)^2 rows.
void addSides(const std::set<int64_t> &extents, const Program &program,
              std::set<int64_t> &numbers) {
  std::set<int64_t> sides = gridsOf(extents);
  std::set<int64_t> images;
  for (const auto &[name, value] : program.parameters) {
    if (value.is(Scalar::Kind::Integer) && value.integer > 1 &&
        value.integer <= FittingLimits::patch) {
      for (int64_t grid : sides) {
        images.insert(grid * value.integer);
      }
    }
  }
  for (int64_t extent : extents) {
    if (int64_t root = sideOf(extent); root % 2) {
      sides.insert((root + 1) / 2);
    }
  }
  sides.insert(images.begin(), images.end());
  for (int64_t side : sides) {
    if (numbers.size() < FittingLimits::numbers + FittingLimits::derived) {
      numbers.insert(side);
    }
  }
}

} // namespace

std::set<int64_t> gridsOf(const std::set<int64_t> &extents) {
  std::set<int64_t> grids;
  for (int64_t extent : extents) {
    for (int64_t beside : {0, 1, 2}) {
      int64_t root = sideOf(extent - beside);
      if (root && grids.size() < FittingLimits::derived) {
        grids.insert(root);
      }
    }
  }
  return grids;
}

std::set<int64_t> fittingNumbers(const TensorFile &file,
                                 const std::set<int64_t> &extents,
                                 const Program &program) {
  std::set<int64_t> numbers = {0};
  addCounts(file, numbers);
  numbers.insert(extents.begin(), extents.end());
  while (numbers.size() > FittingLimits::numbers) {
    numbers.erase(std::prev(numbers.end()));
  }
  addSides(extents, program, numbers);
  return numbers;
}

} // namespace hova::frontend
