//===- Topics.h - hova help TOPIC -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_TOOLS_HOVA_OPTIONS_TOPICS_H
#define HOVA_TOOLS_HOVA_OPTIONS_TOPICS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace hova::tool {

/// A format of files or of texts, explained on one screen.
struct Topic {
  llvm::StringLiteral name;
  llvm::StringLiteral summary; ///< one line
  llvm::StringLiteral text;    ///< lines of at most 80 columns
};

llvm::ArrayRef<Topic> getTopics();

/// Null where there is none of this name.
const Topic *findTopic(llvm::StringRef name);

} // namespace hova::tool

#endif // HOVA_TOOLS_HOVA_OPTIONS_TOPICS_H
