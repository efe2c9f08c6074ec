//===- OptionalPasses.h - Passes that a program is right without ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// The entries of the fusion catalogue can be switched off one by one, to
// measure what each is worth and to bisect. Those that reassociate are off
// under `--strict`: they change which numbers are rounded, within the numeric
// policy.

#ifndef HOVA_PASSES_OPTIONALPASSES_H
#define HOVA_PASSES_OPTIONALPASSES_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace hova {

struct OptionalPass {
  llvm::StringRef name; ///< its argument: `hova-propagate-demanded-rows`
  bool reassociates;
};

/// hova's in the order in which they run, then those of plugins that were
/// registered so (ExtensionPoints.h).
llvm::SmallVector<OptionalPass> getOptionalPasses();

/// Which of the optional passes a compilation runs; by default all.
struct PassSelection {
  /// Sums are those of the description: no pass that reassociates.
  bool strict = false;
  /// Names of optional passes.
  llvm::SmallVector<std::string> without;

  bool runs(llvm::StringRef name) const;
};

/// The selection without the passes in `names`, comma separated. The error of
/// an unknown name lists those that can be left out.
llvm::Expected<PassSelection> makePassSelection(bool strict,
                                                llvm::StringRef names);

} // namespace hova

#endif // HOVA_PASSES_OPTIONALPASSES_H
