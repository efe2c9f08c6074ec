//===- DenseModule.h - The linear layers behind a pooling -----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_FOLDER_DENSEMODULE_H
#define HOVA_FRONTEND_FOLDER_DENSEMODULE_H

#include "frontend/folder/Config.h"

namespace hova::frontend {

/// A linear layer and a function of its elements, which sentence-transformers
/// saves as a module: `y = f(x W^T + b)`, from `inputs` to `outputs` features.
struct DenseModule {
  int64_t inputs = 0, outputs = 0;
  bool hasBias = true;
  /// A kind of `activation`, or "identity".
  std::string activation = "tanh";
};

/// What the `config.json` of such a module says; mistakes are in its
/// diagnostics.
std::optional<DenseModule> readDenseModule(Config &config);

} // namespace hova::frontend

#endif // HOVA_FRONTEND_FOLDER_DENSEMODULE_H
