//===- Suggest.cpp - The word that was probably meant ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/reader/Suggest.h"

#include <algorithm>

namespace hova::reader {

size_t editDistance(std::string_view a, std::string_view b, size_t limit) {
  size_t longer = std::max(a.size(), b.size());
  size_t shorter = std::min(a.size(), b.size());
  if (longer - shorter > limit) {
    return limit + 1;
  }
  // Three rows: a swap looks two rows back.
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1),
      row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) {
    last[j] = j;
  }
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t replace = last[j - 1] + (a[i - 1] != b[j - 1]);
      row[j] = std::min({replace, last[j] + 1, row[j - 1] + 1});
      bool swapped =
          i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return std::min(last[b.size()], limit + 1);
}

/// Lower case, with one spelling of the separator.
static std::string folded(std::string_view word) {
  std::string out;
  for (char c : word) {
    bool upper = c >= 'A' && c <= 'Z';
    out += c == '-' ? '_' : upper ? static_cast<char>(c + 32) : c;
  }
  return out;
}

std::optional<std::string> suggest(std::string_view word,
                                   const std::vector<std::string> &candidates) {
  constexpr size_t longestWord = 64;
  if (word.size() < 2 || word.size() > longestWord ||
      candidates.size() > mostCandidates) {
    return std::nullopt;
  }
  std::string wanted = folded(word);
  size_t limit = std::max<size_t>(1, word.size() / 3);
  std::optional<std::string> best;
  size_t bestDistance = limit + 1;
  for (const std::string &candidate : candidates) {
    size_t distance = editDistance(wanted, folded(candidate), limit);
    if (distance < bestDistance) {
      bestDistance = distance;
      best = candidate;
    }
  }
  return best;
}

} // namespace hova::reader
