//===- Verdict.h - Why an attention site was fused or not -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A verdict is the attribute `hova.verdict` on the site's operation, a
// dictionary: `fused` (bool), `kernel` (path of the kernel it landed in), `why`
// (what makes it pay, or the first precondition that failed and what would make
// it hold). Written once, by a walk over the sites; remarks and reports are
// printed from it.

#ifndef HOVA_PASSES_FUSE_VERDICT_H
#define HOVA_PASSES_FUSE_VERDICT_H

#include "dialect/AttentionOps.h"

namespace hova {

inline constexpr llvm::StringLiteral kVerdictAttr = "hova.verdict";
inline constexpr llvm::StringLiteral kRequireAttr = "hova.require";

/// Writes the verdict of an attention site that stands in kernel `kernel`, or
/// in none (empty).
void writeVerdict(AttentionOp site, llvm::StringRef kernel);

} // namespace hova

#endif // HOVA_PASSES_FUSE_VERDICT_H
