//===- NormOps.h - Norms that are applied behind products -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_DIALECT_DENSE_NORMOPS_H
#define HOVA_DIALECT_DENSE_NORMOPS_H

#include "dialect/HovaDialect.h"

#define GET_OP_CLASSES
#include "dialect/dense/NormOps.h.inc"

#endif // HOVA_DIALECT_DENSE_NORMOPS_H
