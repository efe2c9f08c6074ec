//===- ModuleText.h - A module as text, and what it was made from ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// A dump of a phase is a program in the middle of its compilation, and can be
// compiled from there. Its weights have names in it, but no values; how a
// checkpoint's tensors become weights, and what the program is compared with,
// the description says. So every text ends with the description and with the
// options that the program was made with, as resources that tools such as
// hova-opt carry along:
//
//   {-#
//     external_resources: {
//       hova: {
//         arguments: "--set=batch=400\0A--march=native",
//         description: "{\0A  \"hova\": 1, ...",
//         file: "digits.json",
//         ...

#ifndef HOVA_CODEGEN_MODULETEXT_H
#define HOVA_CODEGEN_MODULETEXT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace hova {

/// What a module was made from; of no interest to any pass.
struct ModuleOrigin {
  /// The text of the description, and the name of its file without folders.
  std::string description;
  std::string file;
  /// Options of `hova compile` that decide what the program is.
  std::vector<std::string> arguments;
  /// The name of the file that the weights came from, without folders; empty:
  /// none.
  std::string weights;
  /// The checkpoint source whose names that file had, and whose parameters the
  /// program has; empty: none.
  std::string checkpoint;
  /// The ISA level that the phases from `assign` on are for.
  std::string level;
};

/// Prints `module`, values named by the paths of their locations, and after it
/// its origin, unless that has no description.
void printModule(mlir::ModuleOp module, const ModuleOrigin &origin,
                 llvm::raw_ostream &os);

struct ReadModule {
  /// Null if the text is not valid, which has been reported to the context.
  mlir::OwningOpRef<mlir::ModuleOp> module;
  ModuleOrigin origin;
};

/// Why an option must not stand among the arguments of a module; empty: it may.
using RefuseArgument = llvm::function_ref<std::string(llvm::StringRef)>;

/// Reads what printModule has printed. Whoever wrote the file may have changed
/// it, so every argument in it is first shown to `refuse`, whose reason becomes
/// an error at the place of the arguments. The error says why the file cannot
/// be read.
llvm::Expected<ReadModule> readModule(llvm::StringRef path,
                                      mlir::MLIRContext &context,
                                      RefuseArgument refuse);

} // namespace hova

#endif // HOVA_CODEGEN_MODULETEXT_H
