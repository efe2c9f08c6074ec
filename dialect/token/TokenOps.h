//===- TokenOps.h - From ids and images to tokens
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_DIALECT_TOKEN_TOKENOPS_H
#define HOVA_DIALECT_TOKEN_TOKENOPS_H

#include "dialect/HovaDialect.h"

#define GET_OP_CLASSES
#include "dialect/token/TokenOps.h.inc"

namespace hova {

/// A table of sine and cosine positions.
struct Sinusoid {
  SinusoidLayout layout;
  int64_t width;
  double base;
};

/// Element (position, column) of a table, in f32 whatever the run: it is a
/// constant of the model, as weights are.
float sinusoidAt(const Sinusoid &table, int64_t position, int64_t column);

} // namespace hova

#endif // HOVA_DIALECT_TOKEN_TOKENOPS_H
