//===- Crash.h - The report of a crash ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_TOOLS_HOVA_GUARD_CRASH_H
#define HOVA_TOOLS_HOVA_GUARD_CRASH_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace hova::tool {

/// What a crash leaves behind, for its message.
struct CrashFacts {
  llvm::StringRef pass; ///< the pass that ran on the thread; empty: none
  std::string program;  ///< the file with the program before it; empty: none
};

/// How the process ends after a crash.
struct CrashReport {
  /// The last words, made when the crash has happened. May crash itself.
  std::string (*message)(const CrashFacts &facts);
  /// The last words where these cannot be made: made before, never changed in a
  /// handler.
  const std::string &(*plainMessage)();
  int (*status)();
  /// Ends the process where memory ran out and nothing else is wrong.
  void (*outOfMemory)();
};

/// From here on a crash removes unfinished files, shows the stack, keeps the
/// program before the pass and ends with `report`. Where several threads crash
/// together, it is the first one's; where a part of it crashes or never ends,
/// the next one follows.
void reportCrashes(const CrashReport &report);

/// Reports a crash that another handler has recognised.
[[noreturn]] void reportCrash();

/// Whether a crash is being reported, in which memory may run out for no reason
/// of the user's.
bool isCrashing();

/// Gives this thread a stack for its handlers, so that it may report that its
/// own has no room left. The main thread has one already.
void prepareThread();

} // namespace hova::tool

#endif // HOVA_TOOLS_HOVA_GUARD_CRASH_H
