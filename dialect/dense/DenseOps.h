//===- DenseOps.h - Linear layers, norms, element-wise operations
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_DIALECT_DENSE_DENSEOPS_H
#define HOVA_DIALECT_DENSE_DENSEOPS_H

#include "dialect/HovaDialect.h"

#define GET_OP_CLASSES
#include "dialect/dense/DenseOps.h.inc"

#endif // HOVA_DIALECT_DENSE_DENSEOPS_H
