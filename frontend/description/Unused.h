//===- Unused.h - What a description has and nothing needs ----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_DESCRIPTION_UNUSED_H
#define HOVA_FRONTEND_DESCRIPTION_UNUSED_H

#include "frontend/description/ModelSpec.h"

namespace hova::frontend {

/// Warns of every parameter, input, block, argument and layer that nothing
/// names. Conditions count as if both sides were taken, so that a switch of a
/// description does not change its warnings. Weights that no output depends on
/// are an error, which the program finds.
void warnOfUnused(const ModelSpec &spec, reader::Diagnostics &diagnostics);

} // namespace hova::frontend

#endif // HOVA_FRONTEND_DESCRIPTION_UNUSED_H
