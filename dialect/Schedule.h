//===- Schedule.h - What a target decides about a kernel ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A kernel and its launch carry what is theirs on every target: operations,
// units, buffers, a name and a number of operations. Everything else about them
// is an attribute of the target's own dialect, after one of two interfaces.

#ifndef HOVA_DIALECT_SCHEDULE_H
#define HOVA_DIALECT_SCHEDULE_H

#include "mlir/IR/Attributes.h"
#include "mlir/IR/Operation.h"
#include <optional>

namespace hova {

/// Ranges of units that a kernel function can be called for.
struct UnitRanges {
  int64_t units = 0; ///< of all calls together
  int64_t least = 1; ///< that pay in one call
};

class LaunchShapeAttrInterface;

} // namespace hova

#include "dialect/ScheduleInterfaces.h.inc"

#endif // HOVA_DIALECT_SCHEDULE_H
