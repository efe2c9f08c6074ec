//===- HovaDialect.h - The dialect, its enums and attributes --------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_DIALECT_HOVADIALECT_H
#define HOVA_DIALECT_HOVADIALECT_H

#include "dialect/Interfaces.h"
#include "dialect/Placement.h"
#include "dialect/Similarity.h"
#include "dialect/WeightLayout.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Dialect.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialect/HovaDialect.h.inc"
#include "dialect/HovaEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialect/HovaAttrs.h.inc"

#endif // HOVA_DIALECT_HOVADIALECT_H
