//===- KeyErrors.h - Mistakes of a description, told at its keys ----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A description whose parameters a configuration decides may be wrong for its
// values alone: no heads, a factor that is missing and divides. Whoever has the
// configuration has not written the description, so such a mistake is told at
// the key that the parameter is made of:
//
//   config.json:7:20: error: key "vocab_size" is 0, which decides parameter
//   "vocab": "vocab" must be at least 1, got 0
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_FOLDER_KEYERRORS_H
#define HOVA_FRONTEND_FOLDER_KEYERRORS_H

#include "frontend/elaborate/Program.h"
#include "frontend/folder/KeyReader.h"

namespace hova::frontend {

struct KeyErrors {
  /// The mistakes that a key makes, each key once, in the configuration.
  reader::Diagnostics atKeys;
  /// The others, where they were.
  reader::Diagnostics others;
};

/// Divides the errors of `spec`, whose parameters `keys` have decided but for
/// those of `overrides`.
KeyErrors tellAtKeys(const reader::Diagnostics &errors, const ModelSpec &spec,
                     const DecidingKeys &keys,
                     const std::vector<ParameterOverride> &overrides);

} // namespace hova::frontend

#endif // HOVA_FRONTEND_FOLDER_KEYERRORS_H
