//===- Placement.h - Where the rows of a rearranged tensor come from ------===//
// SPDX-License-Identifier: Apache-2.0
//
// The idea of Swin's shifted windows, of patch merging and of the like is a
// rule from rows to rows: it moves data and computes nothing. Such a rule is an
// attribute, a *placement*. `hova.rearrange` applies it; `fuse` makes of it the
// place where a kernel reads its operands and writes its results, so that no
// rearranged copy exists. Null stands for the identity.

#ifndef HOVA_DIALECT_PLACEMENT_H
#define HOVA_DIALECT_PLACEMENT_H

#include "dialect/HostTensor.h"
#include "mlir/IR/Attributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include "dialect/PlacementInterface.h.inc"

namespace hova {

/// First `first`, then `second`; a placement that is followed by its inverse
/// vanishes. Null where nothing is left.
PlacementAttrInterface composePlacements(PlacementAttrInterface first,
                                         PlacementAttrInterface second);

/// What undoes `placement`, a permutation or null.
PlacementAttrInterface inverseOf(PlacementAttrInterface placement);

/// The type of what the placement makes of a tensor of type `source`, for which
/// it fits; `source` itself for null.
mlir::RankedTensorType placedType(PlacementAttrInterface placement,
                                  mlir::RankedTensorType source);

} // namespace hova

#endif // HOVA_DIALECT_PLACEMENT_H
