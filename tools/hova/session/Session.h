//===- Session.h - A description on its way through hova ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What the verbs share: reading the description and its weights as the command
// line says, importing, reporting messages about the IR at their places in the
// description, and turning what went wrong into an exit status.
//
// The description may be a dump of a phase (codegen/ModuleText.h). Then the
// imported program is that of the description after the dump, the options that
// the dump was made with are the defaults of the command line, and compilation
// starts from the dump.

#ifndef HOVA_TOOLS_HOVA_SESSION_SESSION_H
#define HOVA_TOOLS_HOVA_SESSION_SESSION_H

#include "codegen/Pipeline.h"
#include "codegen/program/Bill.h"
#include "codegen/reference/Evaluator.h"
#include "dialect/Storage.h"
#include "frontend/Model.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "tools/hova/options/Arguments.h"

namespace hova::tool {

/// The options about the description and its weights. Mistakes are in
/// `arguments`.
frontend::ModelOptions readModelOptions(const Arguments &arguments);

/// Prints `error`; Rejected for invalid input, InputOutput for the rest.
int reportError(llvm::Error error);

class Session {
public:
  /// Opens a dump or the program to reproduce, and lets `arguments` inherit
  /// from it; what goes wrong is the status of `load`.
  explicit Session(Arguments &arguments);

  enum class Weights { Closed, IfGiven, Opened };

  /// Reads the description, opens the weights and imports, with storage of 16
  /// bits already explicit. The exit status of what failed, or Ok.
  int load(const frontend::ModelOptions &options, Weights weights,
           Storage storage = Storage::F32);

  /// The exit status of opening a dump or a program to reproduce.
  int openStatus() const { return dumpStatus; }

  mlir::MLIRContext &context() { return mlirContext; }
  const frontend::Program &program() const { return *model.program; }
  mlir::ModuleOp imported() { return *importedModule; }
  /// The dump; null where there is none.
  mlir::ModuleOp dump() { return dumped.module ? *dumped.module : nullptr; }
  /// The file that the dump is in.
  const std::string &dumpPath() const { return path; }
  /// What compilation starts from.
  mlir::ModuleOp module() { return dump() ? dump() : imported(); }
  /// Whether `module` is after this phase.
  bool isAfter(llvm::StringRef phase);
  /// What a dump is to remember of where it comes from. `level` is the first of
  /// the program's.
  ModuleOrigin origin(llvm::StringRef level) const;
  /// The level that a dump is for, empty if it is for any.
  llvm::StringRef dumpedLevel();

  /// The files that the weights are in; those of an index are its shards.
  std::vector<std::string> weightFiles() const;

  /// The bill of the program that `--reproduce` names, whose options
  /// `arguments` have inherited; null: there is none.
  const Bill *record() const { return recorded ? &*recorded : nullptr; }

  /// Where the weights come from, for people.
  const std::string &note() const { return model.note; }
  /// Loads weights by name; must not outlive the session.
  WeightLookup weights();

  /// Whether a weight could not be loaded, which has been reported.
  bool failedOnWeights() const { return weightsRejected; }

  /// The status of a compilation that failed with messages about the IR.
  int failureStatus();

private:
  void openDump();
  void openRecord();
  std::string folderName() const;
  int readModel(frontend::ModelOptions options, Weights weights);
  mlir::LogicalResult setStorage(Storage storage);
  mlir::LogicalResult report(mlir::Diagnostic &diagnostic);
  /// The operation of a plugin whose path this is, in words; else empty.
  std::string foreignOperationAt(llvm::StringRef path) const;

  Arguments &arguments;
  mlir::MLIRContext mlirContext;
  frontend::Model model;
  mlir::OwningOpRef<mlir::ModuleOp> importedModule;
  std::string path;
  std::shared_ptr<const frontend::ImportedFolder> imports;
  /// The file of the weights; empty: they are drawn.
  std::string weightsPath;
  std::optional<uint64_t> memory;
  ReadModule dumped;
  std::optional<Bill> recorded;
  int dumpStatus = 0;
  bool weightsRejected = false;
  /// The operation of a plugin that the first error is about, in words.
  std::string blamed;
};

} // namespace hova::tool

#endif // HOVA_TOOLS_HOVA_SESSION_SESSION_H
