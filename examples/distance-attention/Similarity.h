//===- Similarity.h - A dialect of two similarities -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef DISTATTN_SIMILARITY_H
#define DISTATTN_SIMILARITY_H

#include "dialect/HovaDialect.h"

#include "distattnDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "distattnAttrs.h.inc"

#endif // DISTATTN_SIMILARITY_H
