//===- ElementNames.h - The indices of a constant's elements ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In the expression of a constant these words hide parameters and arguments of
// the same name.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_EXPRESSION_ELEMENTNAMES_H
#define HOVA_FRONTEND_EXPRESSION_ELEMENTNAMES_H

#include <cstddef>
#include <optional>
#include <string_view>

namespace hova::frontend {

/// The axis whose index `name` is in a constant of `rank` axes: `index0`,
/// `index1`, .., and of two axes `row` and `column`. Nothing if it is a name as
/// elsewhere.
inline std::optional<size_t> findElementIndex(std::string_view name,
                                              size_t rank) {
  if (rank == 2 && (name == "row" || name == "column")) {
    return name == "row" ? 0 : 1;
  }
  constexpr std::string_view prefix = "index";
  bool isNumbered = name.size() == prefix.size() + 1 &&
                    name.substr(0, prefix.size()) == prefix &&
                    name.back() >= '0' && name.back() <= '9';
  auto axis = isNumbered ? static_cast<size_t>(name.back() - '0') : rank;
  return axis < rank ? std::optional<size_t>(axis) : std::nullopt;
}

} // namespace hova::frontend

#endif // HOVA_FRONTEND_EXPRESSION_ELEMENTNAMES_H
