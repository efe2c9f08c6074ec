//===- Differences.h - What two compilations decided differently -*- C++
//-*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Compares two reports (verdictsJson): of two descriptions, or of one with two
// sets of options. The one that is asked about is `here`, the other `there`.

#ifndef HOVA_TOOLS_INSPECT_DIFFERENCES_H
#define HOVA_TOOLS_INSPECT_DIFFERENCES_H

#include "llvm/Support/JSON.h"

namespace hova::inspect {

/// One JSON object: `unchanged` (the number of sites of which the same holds),
/// the arrays `sites` (those that are computed together with other things than
/// there: `path`, `kind`, `here` and `there`, each with `fused`, `kernels` and
/// `why`, and the arrays `joined` and `left` of the paths that joined its
/// kernels and left them, each with `why` where a report says it), `only_here`
/// and `only_there` (sites that the other has not), `rewrites` (`path`, `pass`,
/// `here` and `there` as reports have them, null where the pass did not look)
/// and `schedules` (`kernel`, `here`, `there`, of kernels that hold the same).
llvm::json::Object differencesJson(const llvm::json::Object &here,
                                   const llvm::json::Object &there);

/// The same for people; what is said of several paths alike is said once.
void printDifferences(const llvm::json::Object &differences,
                      llvm::raw_ostream &os);

} // namespace hova::inspect

#endif // HOVA_TOOLS_INSPECT_DIFFERENCES_H
