//===- SettledText.h - A description with its parameters set --------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_FOLDER_SETTLEDTEXT_H
#define HOVA_FRONTEND_FOLDER_SETTLEDTEXT_H

#include "frontend/description/ModelSpec.h"

namespace hova::frontend {

/// The text of `spec` with these values of parameters, for a configuration of
/// `source` that has been read. What the source says of configurations and
/// sets is left out: the values are those, and may be changed by hand. All
/// other lines stay as they are, where they are.
std::string
settledText(const ModelSpec &spec, const CheckpointSpec &source,
            const std::vector<std::pair<std::string, Scalar>> &parameters);

} // namespace hova::frontend

#endif // HOVA_FRONTEND_FOLDER_SETTLEDTEXT_H
