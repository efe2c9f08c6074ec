//===- Files.h - What a command line reads and writes -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Checked before any work is done (runtime/FileUses.h): an output is no input
// and no other output, and can be written.

#ifndef HOVA_TOOLS_HOVA_OUTPUT_FILES_H
#define HOVA_TOOLS_HOVA_OUTPUT_FILES_H

#include "codegen/program/Compile.h"
#include "codegen/reference/EvaluateFiles.h"
#include "frontend/Model.h"
#include "tools/hova/options/Arguments.h"

namespace hova::tool {

/// What --input says.
std::vector<NamedFile> inputFiles(const Arguments &arguments);

class FileUses {
public:
  /// With what every verb reads: the description or the files of a model's
  /// folder, weights and plugins.
  FileUses(const Arguments &arguments, const frontend::ModelOptions &options);

  /// `what` is for messages: an option, or "the description". An empty path is
  /// none.
  void reads(llvm::StringRef path, llvm::StringRef what);
  void writes(llvm::StringRef path, llvm::StringRef what);
  /// All that a compilation writes but what `-o` names.
  void writesReports(const Arguments &arguments, const CompileOptions &options);
  /// The files below a folder that is made if it is missing.
  void writesInto(llvm::StringRef folder, llvm::ArrayRef<std::string> names,
                  llvm::StringRef what);

  /// Ok, or Usage or InputOutput after a message.
  int check() const;

private:
  struct Use {
    std::string path, what;
    bool written;
  };
  std::vector<Use> uses;
};

} // namespace hova::tool

#endif // HOVA_TOOLS_HOVA_OUTPUT_FILES_H
