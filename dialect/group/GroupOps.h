//===- GroupOps.h - Tiles that a group of threads holds -------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_DIALECT_GROUP_GROUPOPS_H
#define HOVA_DIALECT_GROUP_GROUPOPS_H

#include "dialect/HovaDialect.h"
#include "mlir/IR/BuiltinTypeInterfaces.h"

#define GET_TYPEDEF_CLASSES
#include "dialect/group/GroupTypes.h.inc"

#define GET_OP_CLASSES
#include "dialect/group/GroupOps.h.inc"

#endif // HOVA_DIALECT_GROUP_GROUPOPS_H
