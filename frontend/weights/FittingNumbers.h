//===- FittingNumbers.h - What sizes a checkpoint may be of -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_WEIGHTS_FITTINGNUMBERS_H
#define HOVA_FRONTEND_WEIGHTS_FITTINGNUMBERS_H

#include "frontend/weights/TensorFile.h"
#include "frontend/weights/Weights.h"

#include <set>

namespace hova::frontend {

/// What a parameter of `program` may be by a file, some of whose tensors do not
/// fit: `extents` are theirs. These, how many of a thing the names count, and
/// sides of images and windows.
std::set<int64_t> fittingNumbers(const TensorFile &file,
                                 const std::set<int64_t> &extents,
                                 const Program &program);

/// The grids of patches that a table of positions has as many rows as, perhaps
/// with one token or two beside them.
std::set<int64_t> gridsOf(const std::set<int64_t> &extents);

} // namespace hova::frontend

#endif // HOVA_FRONTEND_WEIGHTS_FITTINGNUMBERS_H
