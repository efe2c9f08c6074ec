//===- Process.h - Programs that hova runs ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The linker, and ptxas for a GPU. They read memory files, and write into these
// or into a pipe. No file is made for them, so none is left behind, whatever
// ends hova, and neither a full disk nor a limit of file sizes reaches them.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_CODEGEN_PROGRAM_PROCESS_H
#define HOVA_CODEGEN_PROGRAM_PROCESS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <sys/types.h>

namespace hova {

/// A file without a name. This process and its children open it by its path.
class MemoryFile {
public:
  MemoryFile();
  ~MemoryFile();
  MemoryFile(const MemoryFile &) = delete;
  MemoryFile &operator=(const MemoryFile &) = delete;

  llvm::Error write(llvm::StringRef contents);
  std::string read() const;
  std::string getPath() const;
  int getDescriptor() const { return descriptor; }

private:
  int descriptor;
  std::error_code failure;
};

/// Starts a program, the path `words[0]`, with this standard output and error,
/// nothing to read, and none of hova's environment.
std::error_code startProcess(llvm::ArrayRef<std::string> words, int output,
                             int error, pid_t &process);

/// How a process ended; empty: with exit status 0.
std::string waitForProcess(pid_t process);

/// The end of a program, and what it wrote to its output and as errors.
struct ProgramRun {
  std::string failure; ///< how it ended; empty: with exit status 0
  std::string text;
};

/// Runs a program to its end. An error where it cannot begin.
llvm::Expected<ProgramRun> runProgram(llvm::ArrayRef<std::string> words);

} // namespace hova

#endif // HOVA_CODEGEN_PROGRAM_PROCESS_H
