//===- WeightLayout.h - How weight matrices lie in the image --------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_DIALECT_WEIGHTLAYOUT_H
#define HOVA_DIALECT_WEIGHTLAYOUT_H

#include "dialect/HostTensor.h"
#include "mlir/IR/Attributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"
#include <optional>

#include "dialect/WeightLayoutInterface.h.inc"

#endif // HOVA_DIALECT_WEIGHTLAYOUT_H
