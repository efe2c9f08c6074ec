//===- Extensions.h - Passes at extension points --------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_TARGETS_EXTENSIONS_H
#define HOVA_CODEGEN_TARGETS_EXTENSIONS_H

#include "passes/ExtensionPoints.h"
#include "passes/PhaseBuilder.h"
#include "llvm/Support/Error.h"
#include <vector>

namespace hova {

/// The points of every phase, and of every pass in it for one of these targets.
std::vector<std::string>
getExtensionPoints(llvm::ArrayRef<std::string> targets);

/// The extension with its passes as a pipeline on a module: `my-pass`, a pass
/// on functions, becomes `func.func(my-pass)`. The error says what is wrong
/// with the passes; the point is the caller's to check.
llvm::Expected<Extension> nestPasses(const Extension &extension);

/// What plugins have registered and the selection leaves in, nested. An error
/// names a point that there is not, or what is wrong with passes.
llvm::Expected<std::vector<Extension>>
nestRegisteredExtensions(const PassSelection &selection);

/// Adds the passes of extensions that were nested at their points.
ExtendPipeline extendBy(std::vector<Extension> extensions);

} // namespace hova

#endif // HOVA_CODEGEN_TARGETS_EXTENSIONS_H
