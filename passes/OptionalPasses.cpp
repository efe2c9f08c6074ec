//===- OptionalPasses.cpp - Passes that a program is right without --------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/OptionalPasses.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace hova {

static constexpr OptionalPass optionalPasses[] = {
    {"hova-normalize-linear-chains", /*reassociates=*/true},
    {"hova-normalize-token-projections", /*reassociates=*/true},
    {"hova-propagate-demanded-rows", /*reassociates=*/false},
    {"hova-normalize-projections", /*reassociates=*/false},
    {"hova-normalize-tied-tables", /*reassociates=*/false},
    {"hova-form-sequence-kernels", /*reassociates=*/false},
    // Without it linear attention alone is divided.
    {"hova-split-reductions", /*reassociates=*/true},
    // Without it every operation is a kernel of its own.
    {"hova-fuse-kernels", /*reassociates=*/false},
};

ArrayRef<OptionalPass> getOptionalPasses() { return optionalPasses; }

static const OptionalPass *findPass(StringRef name) {
  const OptionalPass *found = find_if(
      optionalPasses, [&](const OptionalPass &p) { return p.name == name; });
  return found == std::end(optionalPasses) ? nullptr : found;
}

bool PassSelection::runs(StringRef name) const {
  const OptionalPass *pass = findPass(name);
  assert(pass && "the table names every pass that can be left out");
  return !(strict && pass->reassociates) && !is_contained(without, name);
}

Expected<PassSelection> makePassSelection(bool strict, StringRef names) {
  PassSelection selection;
  selection.strict = strict;
  SmallVector<StringRef> parts;
  names.split(parts, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef name : parts) {
    if (!findPass(name)) {
      std::string known =
          join(map_range(optionalPasses,
                         [](const OptionalPass &p) { return p.name.str(); }),
               ", ");
      return createStringError(std::errc::invalid_argument,
                               "no pass '%s' can be left out; those that can "
                               "are %s",
                               name.str().c_str(), known.c_str());
    }
    selection.without.push_back(name.str());
  }
  return selection;
}

} // namespace hova
