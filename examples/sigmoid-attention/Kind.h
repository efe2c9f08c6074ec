//===- Kind.h - Sigmoid attention as a kind of every attention ------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef SIGATTN_KIND_H
#define SIGATTN_KIND_H

#include "frontend/attention/AttentionKind.h"

namespace sigattn {

/// The word "sigmoid" for "kind".
hova::frontend::AttentionKind sigmoidKind();

} // namespace sigattn

#endif // SIGATTN_KIND_H
