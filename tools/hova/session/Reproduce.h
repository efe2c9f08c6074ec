//===- Reproduce.h - Bills of programs, and making one again --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every program carries a bill of what it was made from
// (codegen/program/Bill.h). `hova compile --reproduce PROGRAM` reads it, takes
// the description and the options from it, compares the hashes of what is given
// again, and at the end the program's bytes.

#ifndef HOVA_TOOLS_HOVA_SESSION_REPRODUCE_H
#define HOVA_TOOLS_HOVA_SESSION_REPRODUCE_H

#include "codegen/program/Bill.h"
#include "codegen/program/Compile.h"
#include "tools/hova/session/Session.h"
#include <pthread.h>

namespace hova::tool {

/// Hashes files on a thread of its own, while the program is compiled.
class FileHashes {
public:
  FileHashes() = default;
  ~FileHashes();
  FileHashes(const FileHashes &) = delete;
  FileHashes &operator=(const FileHashes &) = delete;

  /// `alone`: no further thread may run, and they are hashed now.
  void start(std::vector<std::string> files, bool alone);
  /// What they are; an error says which cannot be read.
  llvm::Expected<std::vector<HashedFile>> wait();

private:
  void hash();

  std::vector<std::string> paths;
  std::vector<llvm::Expected<HashedFile>> hashes;
  pthread_t thread = {};
  bool isRunning = false;
};

/// The words of a program's options that a bill may hold; see
/// Arguments::refuseRecorded.
std::string refuseBilled(llvm::StringRef word);

/// The bill of what is being compiled. `weights` are those of its files, and
/// `record` is the bill of the program that is made again, or null.
llvm::Expected<Bill> billOf(const Arguments &arguments,
                            const CompileOptions &options, llvm::StringRef kind,
                            std::vector<HashedFile> weights, const Bill *record,
                            const CompiledModule &compiled);

/// Whether what `arguments` give is what the program of `bill` was made with,
/// as far as no weights need to be read: its compiler, levels, plugins and
/// description or dump. The exit status; what is wrong has been reported.
int checkRecord(const Arguments &arguments, const Bill &bill,
                const CompileOptions &options);

/// The same of the weights.
int checkRecordedWeights(const Arguments &arguments, const Bill &bill,
                         llvm::ArrayRef<HashedFile> weights);

/// Compares what was written with the program; the exit status.
int compareWithProgram(llvm::StringRef output, llvm::StringRef program);

} // namespace hova::tool

#endif // HOVA_TOOLS_HOVA_SESSION_REPRODUCE_H
