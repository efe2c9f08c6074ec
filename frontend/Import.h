//===- Import.h - From Program to IR --------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_IMPORT_H
#define HOVA_FRONTEND_IMPORT_H

#include "frontend/elaborate/Program.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <vector>

namespace hova::frontend {

/// A program as IR.
struct ImportedProgram {
  /// Attribute `hova.model`: the name. One function `main`: arguments and
  /// results carry `hova.name`, integer arguments with bounds `hova.range`
  /// (`array<i64: low, high>`, low <= x < high). Operations that must fuse
  /// carry `hova.require = "fused"`, those that are a site together
  /// `hova.site`. Every operation has a NameLoc with its dotted path over the
  /// line and column of its layer.
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// The operation of each entry of Program::operations.
  std::vector<mlir::Operation *> operations;
};

/// Spells `program` in the hova dialect, which `context` must have loaded, and
/// in those of plugins, which are loaded here. The program has been checked, so
/// this cannot fail.
ImportedProgram importProgram(const Program &program,
                              mlir::MLIRContext &context);

} // namespace hova::frontend

#endif // HOVA_FRONTEND_IMPORT_H
