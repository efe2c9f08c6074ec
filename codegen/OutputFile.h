//===- OutputFile.h - Files that appear whole or not at all -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// LLVM's default stream truncates the final name before it writes: a full disk
// or a killed process loses the old file and leaves a torn one. Where an output
// goes, and how it gets its name, is said in runtime/Place.h.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_CODEGEN_OUTPUTFILE_H
#define HOVA_CODEGEN_OUTPUTFILE_H

#include "runtime/Place.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"
#include <memory>

namespace hova {

/// Writes to a stream; an error cancels the output.
using WriteFunction = llvm::function_ref<llvm::Error(llvm::raw_ostream &)>;

/// A file that is being written. Unless it is kept, nothing of it stays, even
/// if a signal ends the process.
class OutputFile {
public:
  /// `mode` is that of a new file, reduced by the umask.
  static llvm::Expected<std::unique_ptr<OutputFile>> open(llvm::StringRef path,
                                                          unsigned mode);
  ~OutputFile();
  OutputFile(const OutputFile &) = delete;
  OutputFile &operator=(const OutputFile &) = delete;

  llvm::Error write(WriteFunction write);

private:
  explicit OutputFile(llvm::StringRef path) : path(path.str()) {}
  friend llvm::Error
  keepTogether(llvm::ArrayRef<std::unique_ptr<OutputFile>> files);

  std::string path;
  hova_place place = {};
};

/// Gives all files their names, or none.
llvm::Error keepTogether(llvm::ArrayRef<std::unique_ptr<OutputFile>> files);

/// Opens, writes and keeps one file.
llvm::Error writeFileWhole(llvm::StringRef path, unsigned mode,
                           WriteFunction write);

/// The same for a text that is there.
llvm::Error writeTextWhole(llvm::StringRef path, llvm::StringRef text);

} // namespace hova

#endif // HOVA_CODEGEN_OUTPUTFILE_H
