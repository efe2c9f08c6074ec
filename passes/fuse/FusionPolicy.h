//===- FusionPolicy.h - Which joins pay on a target -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_PASSES_FUSE_FUSIONPOLICY_H
#define HOVA_PASSES_FUSE_FUSIONPOLICY_H

#include "mlir/IR/Attributes.h"
#include "mlir/IR/Operation.h"
#include <string>

namespace hova {
struct Group;
} // namespace hova

#include "passes/fuse/FusionPolicy.h.inc"

#endif // HOVA_PASSES_FUSE_FUSIONPOLICY_H
