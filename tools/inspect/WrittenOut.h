//===- WrittenOut.h - Sites that a description spells out -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// An operator such as `feed_forward` is one site, of which reports say what
// became. The same network may be written with layers of its own, by hand or as
// a block, and then nothing in the IR says that they belong together. It is
// found by its shape:
//
//   linear -> element-wise, an activation among it -> linear
//   linear, linear of the same input -> element-wise, a product of the two
//   among
//     it -> linear

#ifndef HOVA_TOOLS_INSPECT_WRITTENOUT_H
#define HOVA_TOOLS_INSPECT_WRITTENOUT_H

#include "tools/inspect/Places.h"

namespace hova::inspect {

struct WrittenSite {
  /// Two of its parts in different kernels.
  struct Apart {
    std::string path, neighbour, why;
  };
  std::string kind; ///< "feed-forward", "gated feed-forward"
  std::string path; ///< what its layers stand below, or that of the last
  std::vector<std::string> parts;   ///< paths of its operations, in their order
  Place place;                      ///< of the last
  std::vector<std::string> kernels; ///< those that compute them
  std::vector<Apart> apart;

  bool isFused() const { return kernels.size() <= 1; }
};

/// Those of the scope's description, in their order, with what became of them
/// in `module`, after `assign`.
std::vector<WrittenSite> writtenSitesOf(mlir::ModuleOp module,
                                        const Scope &scope);

} // namespace hova::inspect

#endif // HOVA_TOOLS_INSPECT_WRITTENOUT_H
