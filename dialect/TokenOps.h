//===- TokenOps.h - From ids and images to tokens
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_DIALECT_TOKENOPS_H
#define HOVA_DIALECT_TOKENOPS_H

#include "dialect/HovaDialect.h"

#define GET_OP_CLASSES
#include "dialect/TokenOps.h.inc"

#endif // HOVA_DIALECT_TOKENOPS_H
