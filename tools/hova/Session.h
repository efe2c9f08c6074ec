//===- Session.h - A description on its way through hova ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What the verbs share: reading the description and its weights as the command
// line says, importing, reporting messages about the IR at their places in the
// description, and turning what went wrong into an exit status.

#ifndef HOVA_TOOLS_HOVA_SESSION_H
#define HOVA_TOOLS_HOVA_SESSION_H

#include "codegen/reference/Evaluator.h"
#include "dialect/Storage.h"
#include "frontend/Model.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "tools/hova/Arguments.h"

namespace hova::tool {

/// The options about the description and its weights. Mistakes are in
/// `arguments`.
frontend::ModelOptions readModelOptions(const Arguments &arguments);

/// Prints `error`; Rejected for invalid input, InputOutput for the rest.
int reportError(llvm::Error error);

class Session {
public:
  explicit Session(const Arguments &arguments);

  enum class Weights { Closed, IfGiven, Opened };

  /// Reads the description, opens the weights and imports, with storage of 16
  /// bits already explicit. The exit status of what failed, or Ok.
  int load(const frontend::ModelOptions &options, Weights weights,
           Storage storage = Storage::F32);

  mlir::MLIRContext &context() { return mlirContext; }
  const frontend::Program &program() const { return *model.program; }
  mlir::ModuleOp module() { return *imported; }

  /// The files that the weights are in; those of an index are its shards.
  std::vector<std::string> weightFiles() const;

  /// Loads weights by name; must not outlive the session.
  WeightLookup weights();

  /// Whether a weight could not be loaded, which has been reported.
  bool failedOnWeights() const { return weightsRejected; }

  /// The status of a compilation that failed with messages about the IR.
  int failureStatus();

private:
  mlir::LogicalResult setStorage(Storage storage);
  mlir::LogicalResult report(mlir::Diagnostic &diagnostic);
  bool missesRequirement();

  mlir::MLIRContext mlirContext;
  frontend::Model model;
  mlir::OwningOpRef<mlir::ModuleOp> imported;
  std::string path;
  std::optional<uint64_t> memory;
  bool weightsRejected = false;
};

} // namespace hova::tool

#endif // HOVA_TOOLS_HOVA_SESSION_H
