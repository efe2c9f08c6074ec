//===- FittingHeads.h - What heads divide the widths of a model -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_WEIGHTS_FITTINGHEADS_H
#define HOVA_FRONTEND_WEIGHTS_FITTINGHEADS_H

#include "frontend/weights/Weights.h"

#include <set>

namespace hova::frontend {

/// The parameters that attentions count their heads by, also where a block
/// hands them on as an argument.
std::set<std::string> headParameters(const ModelSpec &spec);

/// What heads divide in a program.
std::set<int64_t> widthsOfHeads(const Program &program);

} // namespace hova::frontend

#endif // HOVA_FRONTEND_WEIGHTS_FITTINGHEADS_H
