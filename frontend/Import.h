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

/// What a builder of an operator got wrong, which no description can.
struct BuilderMistake {
  /// Whether the description or a plugin is to blame, and not hova.
  bool isRejected = false;
  /// For whoever wrote the description: its place, and the path of the layer.
  reader::Message message;
};

/// A program as IR.
struct ImportedProgram {
  /// Attribute `hova.model`: the name. One function `main`: arguments and
  /// results carry `hova.name`, integer arguments with bounds `hova.range`
  /// (`array<i64: low, high>`, low <= x < high). Operations that must fuse
  /// carry `hova.require = "fused"`, those that are a site together
  /// `hova.site`. Every operation has a NameLoc with its dotted path over the
  /// line and column of its layer. Null if there is a mistake.
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// The first mistake.
  std::optional<BuilderMistake> mistake;
  /// The operation of each entry of Program::operations.
  std::vector<mlir::Operation *> operations;
};

/// Spells `program` in the hova dialect, which `context` must have loaded, and
/// in those of plugins, which are loaded here. The description has been
/// checked; what the builders of its operators made of it is checked here: that
/// every operation is one, has the operands and attributes that its importer
/// asks for and no others, and is valid.
ImportedProgram importProgram(const Program &program,
                              mlir::MLIRContext &context);

} // namespace hova::frontend

#endif // HOVA_FRONTEND_IMPORT_H
