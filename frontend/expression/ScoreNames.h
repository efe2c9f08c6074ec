//===- ScoreNames.h - What only scores have names for -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In what an attention says of its scores these words hide parameters and
// arguments of the same name.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_EXPRESSION_SCORENAMES_H
#define HOVA_FRONTEND_EXPRESSION_SCORENAMES_H

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hova::frontend {

enum class ScoreName {
  Score, ///< of a query and a key, scaled
  // Indices.
  Batch,
  Head,
  Query,
  Key,
  // Sizes.
  Heads,
  Queries,
  Keys
};

/// What `name` means in scores; nothing if it is a name as elsewhere.
std::optional<ScoreName> findScoreName(std::string_view name);

/// All of them.
const std::vector<std::string> &scoreNames();

} // namespace hova::frontend

#endif // HOVA_FRONTEND_EXPRESSION_SCORENAMES_H
