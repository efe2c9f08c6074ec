//===- TokenOps.h - From ids and images to tokens
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_DIALECT_TOKEN_TOKENOPS_H
#define HOVA_DIALECT_TOKEN_TOKENOPS_H

#include "dialect/HovaDialect.h"

#define GET_OP_CLASSES
#include "dialect/token/TokenOps.h.inc"

namespace hova {

/// Element (position, column) of a table of sine and cosine positions, in f32
/// whatever the run: it is a constant of the model, as weights are.
float sinusoidAt(SinusoidLayout layout, int64_t position, int64_t column,
                 int64_t width);

} // namespace hova

#endif // HOVA_DIALECT_TOKEN_TOKENOPS_H
