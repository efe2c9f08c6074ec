//===- LineEdits.cpp - A text by what differs from another ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/LineEdits.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

namespace hova {

using Lines = llvm::SmallVector<llvm::StringRef, 0>;

/// Places of one line that are tried: a brace stands in a thousand of them.
static constexpr size_t kMostPlaces = 16;

static Lines linesOf(llvm::StringRef text) {
  Lines lines;
  text.split(lines, '\n');
  return lines;
}

/// How many lines from `i` on are those of `after` from `j` on.
static size_t runLength(const Lines &before, size_t i, const Lines &after,
                        size_t j) {
  size_t length = 0;
  while (i + length < before.size() && j + length < after.size() &&
         before[i + length] == after[j + length]) {
    ++length;
  }
  return length;
}

LineEdits editsBetween(llvm::StringRef before, llvm::StringRef after) {
  Lines from = linesOf(before), to = linesOf(after);
  llvm::StringMap<llvm::SmallVector<size_t, 2>> places;
  for (size_t i = 0; i < from.size(); ++i) {
    auto &known = places[from[i]];
    if (known.size() < kMostPlaces) {
      known.push_back(i);
    }
  }
  LineEdits edits;
  size_t next = 0; // after the last run
  for (size_t j = 0; j < to.size();) {
    // Where the last run ended, a text goes on most often.
    LineEdit best = {"", next, runLength(from, next, to, j)};
    for (size_t i : places.lookup(to[j])) {
      size_t length = runLength(from, i, to, j);
      if (length > best.count) {
        best = {"", i, length};
      }
    }
    if (best.count == 0) {
      edits.push_back({to[j++].str()});
      continue;
    }
    j += best.count;
    next = best.first + best.count;
    edits.push_back(std::move(best));
  }
  return edits;
}

size_t bytesOf(const LineEdits &edits) {
  size_t bytes = 0;
  for (const LineEdit &edit : edits) {
    bytes += edit.line.size() + 8;
  }
  return bytes;
}

llvm::json::Array toJson(const LineEdits &edits) {
  llvm::json::Array array;
  for (const LineEdit &edit : edits) {
    if (edit.count) {
      array.push_back(llvm::json::Array{static_cast<int64_t>(edit.first),
                                        static_cast<int64_t>(edit.count)});
    } else {
      array.push_back(edit.line);
    }
  }
  return array;
}

} // namespace hova
