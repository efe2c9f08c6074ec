//===- Suggest.h - The word that was probably meant -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_READER_SUGGEST_H
#define HOVA_FRONTEND_READER_SUGGEST_H

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hova::reader {

/// The fewest insertions, deletions, replacements and swaps of neighbours that
/// turn `a` into `b`, or `limit + 1` if more than `limit`.
size_t editDistance(std::string_view a, std::string_view b, size_t limit);

/// With more words than this to choose from nobody has written the file by
/// hand, and nothing is suggested.
constexpr size_t mostCandidates = 1000;

/// The nearest candidate, if it is near enough to be a slip of the keyboard: a
/// third of the word at most, and nothing for words of one letter. Case and the
/// difference of `-` and `_` cost nothing.
std::optional<std::string> suggest(std::string_view word,
                                   const std::vector<std::string> &candidates);

} // namespace hova::reader

#endif // HOVA_FRONTEND_READER_SUGGEST_H
