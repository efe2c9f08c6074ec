//===- ScoreOps.h - What the region of an attention's scores holds --------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_DIALECT_SCORE_SCOREOPS_H
#define HOVA_DIALECT_SCORE_SCOREOPS_H

#include "dialect/HovaDialect.h"
#include "mlir/IR/BuiltinTypes.h"

#define GET_OP_CLASSES
#include "dialect/score/ScoreOps.h.inc"

#endif // HOVA_DIALECT_SCORE_SCOREOPS_H
