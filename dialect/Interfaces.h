//===- Interfaces.h - What passes may ask of an operation -----------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_DIALECT_INTERFACES_H
#define HOVA_DIALECT_INTERFACES_H

#include "dialect/HostTensor.h"
#include "dialect/IterationSpace.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/PatternMatch.h"

#include "dialect/Interfaces.h.inc"

#endif // HOVA_DIALECT_INTERFACES_H
