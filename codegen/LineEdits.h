//===- LineEdits.h - A text by what differs from another ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A pass changes a few lines of many. So the text after it is a list of lines
// that are new and of runs of lines of the text before:
//
//   [0, 12], "%gated = hova.channel_gate %x ...", [15, 40]
//
// is lines 0 to 11 of that, a new one, and lines 15 to 54. Runs may stand in
// any order, and a line may be used twice.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_CODEGEN_LINEEDITS_H
#define HOVA_CODEGEN_LINEEDITS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"
#include <string>
#include <vector>

namespace hova {

struct LineEdit {
  std::string line; ///< where `count` is 0
  size_t first = 0, count = 0;
};

using LineEdits = std::vector<LineEdit>;

/// What makes `after` of `before`; a run is as long as it can be.
LineEdits editsBetween(llvm::StringRef before, llvm::StringRef after);

/// About how much text they take.
size_t bytesOf(const LineEdits &edits);

/// As above: a string is a new line, a pair of numbers a run.
llvm::json::Array toJson(const LineEdits &edits);

} // namespace hova

#endif // HOVA_CODEGEN_LINEEDITS_H
