//===- NameScores.h - What values of a score region are called --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Locations name values in dumps, and all of a layer have the layer's path: a
// region of twenty scalars would be %attn_0 to %attn_19. So each has a name of
// its own over that path, `"slope"("decoder.0.attn"("lm.json":31:40))`: what it
// reads, or what it is of its operands. pathOf (dialect/Site.h) finds the layer
// all the same.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_NAMESCORES_H
#define HOVA_FRONTEND_NAMESCORES_H

#include "dialect/score/ScoreRegion.h"

namespace hova::frontend {

/// Names the arguments and results of `region`, which captures `captured`.
void nameScores(ScoreRegion region, mlir::ValueRange captured);

} // namespace hova::frontend

#endif // HOVA_FRONTEND_NAMESCORES_H
