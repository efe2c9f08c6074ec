//===- OptionalPasses.cpp - Passes that a program is right without --------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/OptionalPasses.h"
#include "passes/ExtensionPoints.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace hova {

static constexpr OptionalPass builtInPasses[] = {
    {"hova-normalize-linear-chains", /*reassociates=*/true},
    {"hova-normalize-token-projections", /*reassociates=*/true},
    {"hova-propagate-demanded-rows", /*reassociates=*/false},
    {"hova-normalize-projections", /*reassociates=*/false},
    {"hova-normalize-tied-tables", /*reassociates=*/false},
    // Does what the policy of a target asks for.
    {"hova-normalize-norms", /*reassociates=*/true},
    {"hova-form-sequence-kernels", /*reassociates=*/false},
    // Without it linear attention alone is divided.
    {"hova-split-reductions", /*reassociates=*/true},
    // Without it every operation is a kernel of its own.
    {"hova-fuse-kernels", /*reassociates=*/false},
};

SmallVector<OptionalPass> getOptionalPasses() {
  SmallVector<OptionalPass> passes(std::begin(builtInPasses),
                                   std::end(builtInPasses));
  for (const Extension &extension : getRegisteredExtensions()) {
    if (StringRef name = extension.getOptionalName(); !name.empty()) {
      passes.push_back({name, extension.use == ExtensionUse::reassociating});
    }
  }
  return passes;
}

bool PassSelection::runs(StringRef name) const {
  SmallVector<OptionalPass> passes = getOptionalPasses();
  const OptionalPass *pass =
      find_if(passes, [&](const OptionalPass &p) { return p.name == name; });
  assert(pass != passes.end() &&
         "the table names every pass that can be left out");
  return !(strict && pass->reassociates) && !is_contained(without, name);
}

Expected<PassSelection> makePassSelection(bool strict, StringRef names) {
  PassSelection selection;
  selection.strict = strict;
  SmallVector<StringRef> known;
  for (const OptionalPass &pass : getOptionalPasses()) {
    known.push_back(pass.name);
  }
  SmallVector<StringRef> parts;
  names.split(parts, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef name : parts) {
    if (!is_contained(known, name)) {
      return createStringError(std::errc::invalid_argument,
                               "no pass '%s' can be left out; those that can "
                               "are %s",
                               name.str().c_str(), join(known, ", ").c_str());
    }
    selection.without.push_back(name.str());
  }
  return selection;
}

} // namespace hova
