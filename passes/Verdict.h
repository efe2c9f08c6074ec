//===- Verdict.h - What became of a site, and why -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every entry of the fusion catalogue leaves what it decided on the operation
// that it was about, as attributes that survive dumps; reports are printed from
// them.
//
// - `hova.verdict` on the last operation of every site, a dictionary: `fused`
//   (bool), `kernels` (the names of those that it stands in), `columns` (the
//   paths of the linears that are columns of its product), `writers` (where it
//   needs no kernel: those that write what it is made of), `joined` (the paths
//   of neighbours in its kernels), `apart` (a dictionary for each neighbour in
//   another kernel: its `path`, and `why`) and `why` (what stays in the kernel,
//   or the first of the reasons why the site is not fused). Lists without
//   elements are left out.
// - `hova.rewrites` on any operation, a dictionary from the argument of a pass
//   to what that pass decided: `fired` (bool), `why` (what it did and what that
//   saves, or the first precondition that failed and its values) and, if it did
//   not fire, `fires_if` (what would make it).
// - `hova.missed_fusions` on an operation of a kernel, until the verdicts are
//   written: from the number of an operand, which another kernel makes, to why
//   the operation does not stand in that kernel.
// - `hova.score_tiles` on an attention, once a target has chosen tiles: their
//   `size`, and how many are `skipped`, `mixed` and `whole`.
//
// A verdict of a site is written once, when all kernels are formed. One of a
// rewrite is written by its pass, on the operation that stands for the site
// from then on.

#ifndef HOVA_PASSES_VERDICT_H
#define HOVA_PASSES_VERDICT_H

#include "dialect/Site.h"
#include "dialect/score/VisitedKeys.h"
#include "mlir/IR/PatternMatch.h"

namespace hova {

inline constexpr llvm::StringLiteral kVerdictAttr = "hova.verdict";
inline constexpr llvm::StringLiteral kRewritesAttr = "hova.rewrites";
inline constexpr llvm::StringLiteral kMissedFusionsAttr = "hova.missed_fusions";
inline constexpr llvm::StringLiteral kScoreTilesAttr = "hova.score_tiles";

/// Whether an attribute is what was said about an operation (its site, demands
/// and verdicts), which changes no code.
bool isRemark(llvm::StringRef attribute);

/// What became of a site.
struct SiteVerdict {
  struct Neighbour {
    std::string path, why;
  };
  bool fused = true;
  llvm::SmallVector<std::string> kernels, columns, joined;
  /// Where it has no kernel of its own: those that write what it is made of.
  llvm::SmallVector<std::string> writers;
  llvm::SmallVector<Neighbour> apart;
  std::string why;
};

/// Writes the verdict of a site on its last operation.
void writeVerdict(mlir::Operation *last, const SiteVerdict &verdict);

/// The verdict on `op`; nothing where it has none, or what it has is none.
std::optional<SiteVerdict> siteVerdictOf(mlir::Operation *op);

/// Writes what loops do with the tiles of an attention's scores.
void writeScoreTiles(mlir::Operation *op, const ScoreTileCounts &counts);

/// The same of `op`; nothing where nobody has written it, or not all of it.
std::optional<ScoreTileCounts> scoreTilesOf(mlir::Operation *op);

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
