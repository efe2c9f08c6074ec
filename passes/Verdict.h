//===- Verdict.h - What became of a site, and why -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every entry of the fusion catalogue leaves what it decided on the operation
// that it was about, as attributes that survive dumps; reports are printed from
// them.
//
// - `hova.verdict` on an attention, a dictionary: `fused` (bool), `kernel`
//   (path of the kernel it landed in), `why` (what makes it pay, or the first
//   precondition that failed and what would make it hold).
// - `hova.rewrites` on any operation, a dictionary from the argument of a pass
//   to what that pass decided: `fired` (bool), `why` (what it did and what that
//   saves, or the first precondition that failed and its values) and, if it did
//   not fire, `fires_if` (what would make it).
//
// A verdict of an attention is written once, when all kernels are formed. One
// of a rewrite is written by its pass, on the operation that stands for the
// site from then on.

#ifndef HOVA_PASSES_VERDICT_H
#define HOVA_PASSES_VERDICT_H

#include "dialect/Interfaces.h"
#include "mlir/IR/PatternMatch.h"

namespace hova {

inline constexpr llvm::StringLiteral kVerdictAttr = "hova.verdict";
inline constexpr llvm::StringLiteral kRewritesAttr = "hova.rewrites";
inline constexpr llvm::StringLiteral kRequireAttr = "hova.require";

/// Writes the verdict of an attention site that stands in kernel `kernel`, or
/// in none (empty).
void writeVerdict(SiteOpInterface site, llvm::StringRef kernel);

/// What a pass decided about a site.
struct Verdict {
  bool fired = false;
  std::string why;
  std::string firesIf; ///< empty if it fired

  static Verdict fire(const llvm::Twine &why) { return {true, why.str(), ""}; }
  static Verdict decline(const llvm::Twine &why, const llvm::Twine &firesIf) {
    return {false, why.str(), firesIf.str()};
  }
};

/// Records the verdict of the pass with this argument on `site`.
void writeVerdict(mlir::Operation *site, llvm::StringRef pass,
                  const Verdict &verdict);

/// Keeps what was decided about `from`, which `to` takes the place of: verdicts
/// of passes that `to` has none of, and its requirement. Before `from` is
/// erased.
void inheritVerdicts(mlir::Operation *to, mlir::Operation *from);

/// For patterns: tells the rewriter of a decline. Always fails.
mlir::LogicalResult notifyDecline(mlir::RewriterBase &rewriter,
                                  mlir::Operation *op, const Verdict &decline);

} // namespace hova

#endif // HOVA_PASSES_VERDICT_H
