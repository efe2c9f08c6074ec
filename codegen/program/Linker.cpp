//===- Linker.cpp - The process that links --------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/program/Linker.h"

#include "codegen/program/Process.h"
#include "codegen/program/ShippedFile.h"
#include "codegen/program/WeightSection.h"

#include "llvm/Support/Errno.h"

#include <fcntl.h>
#include <unistd.h>

namespace hova {

static std::error_code lastError() {
  return std::error_code(errno, std::generic_category());
}

namespace {

class Pipe {
public:
  ~Pipe() {
    closeEnd(0);
    closeEnd(1);
  }
  std::error_code open() {
    return ::pipe2(ends, O_CLOEXEC) == 0 ? std::error_code() : lastError();
  }
  int getInput() const { return ends[1]; }
  void closeInput() { closeEnd(1); }
  void closeOutput() { closeEnd(0); }

  std::error_code readAll(LinkedFile &result) const {
    std::vector<char> chunk(1 << 16);
    for (;;) {
      ssize_t size = llvm::sys::RetryAfterSignal(-1, ::read, ends[0],
                                                 chunk.data(), chunk.size());
      if (size <= 0) {
        return size < 0 ? lastError() : std::error_code();
      }
      result.insert(result.end(), chunk.data(), chunk.data() + size);
    }
  }

private:
  void closeEnd(int end) {
    if (ends[end] >= 0) {
      ::close(ends[end]);
      ends[end] = -1;
    }
  }

  int ends[2] = {-1, -1};
};

} // namespace

/// One that came with hova, else the one of the system that hova was built
/// with.
static std::string findLinker() {
  auto linker = findShippedFile("ld.lld");
  if (linker) {
    return *linker;
  }
  llvm::consumeError(linker.takeError());
  return HOVA_LLD_PATH;
}

llvm::Expected<LinkedFile> runLinker(llvm::ArrayRef<std::string> arguments) {
  const std::string linker = findLinker();
  std::vector<std::string> words = {linker};
  words.insert(words.end(), arguments.begin(), arguments.end());
  MemoryFile messages;
  if (llvm::Error error = messages.write("")) {
    return error;
  }
  Pipe pipe;
  pid_t process = 0;
  std::error_code code = pipe.open();
  if (!code) {
    code =
        startProcess(words, pipe.getInput(), messages.getDescriptor(), process);
  }
  if (code) {
    // Of what PATH holds nobody knows the version, so there is no other.
    return llvm::createStringError(code, "cannot run the linker %s: %s%s",
                                   linker.c_str(), code.message().c_str(),
                                   code == std::errc::no_such_file_or_directory
                                       ? "; install the package lld-22"
                                       : "");
  }
  pipe.closeInput();
  LinkedFile result;
  code = pipe.readAll(result);
  // If that has failed, the linker must not wait for a reader.
  pipe.closeOutput();
  std::string failure = waitForProcess(process);
  if (code) {
    return llvm::createStringError(code, "cannot read from the linker: %s",
                                   code.message().c_str());
  }
  if (failure.empty() && !isWholeElf(result)) {
    failure = "it left no program";
  }
  if (failure.empty()) {
    return result;
  }
  return llvm::createStringError(
      std::errc::executable_format_error, "the linker %s failed: %s",
      linker.c_str(),
      llvm::StringRef(failure + "\n" + messages.read()).trim().str().c_str());
}

} // namespace hova
