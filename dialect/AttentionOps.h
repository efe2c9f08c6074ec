//===- AttentionOps.h - Attention and its reweightings
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_DIALECT_ATTENTIONOPS_H
#define HOVA_DIALECT_ATTENTIONOPS_H

#include "dialect/HovaDialect.h"
#include "dialect/ScoreRegion.h"
#include "mlir/IR/OpImplementation.h"

#define GET_OP_CLASSES
#include "dialect/AttentionOps.h.inc"

#endif // HOVA_DIALECT_ATTENTIONOPS_H
