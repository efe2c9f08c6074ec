//===- FunctionText.h - One function as text ------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_FUNCTIONTEXT_H
#define HOVA_CODEGEN_FUNCTIONTEXT_H

#include "mlir/IR/Operation.h"
#include <string>

namespace hova {

/// Prints `function`, values named by the paths of their locations as in a dump
/// (ModuleText.h). Each line ends with the path that it belongs to, and nothing
/// else of its location: `... loc("encoder.0.attn")`. So a line stays what it
/// is when locations elsewhere change. Nothing reads this back.
std::string printFunction(mlir::Operation *function);

} // namespace hova

#endif // HOVA_CODEGEN_FUNCTIONTEXT_H
