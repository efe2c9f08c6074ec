//===- Linker.cpp - The process that links --------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/program/Linker.h"

#include "codegen/program/WeightSection.h"

#include "llvm/Support/Errno.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace hova {

static std::error_code lastError() {
  return std::error_code(errno, std::generic_category());
}

//===----------------------------------------------------------------------===//
// Input
//===----------------------------------------------------------------------===//

MemoryFile::MemoryFile() : descriptor(::memfd_create("hova", 0)) {
  if (descriptor < 0) {
    failure = lastError();
  }
}

MemoryFile::~MemoryFile() {
  if (descriptor >= 0) {
    ::close(descriptor);
  }
}

llvm::Error MemoryFile::write(llvm::StringRef contents) {
  if (!failure) {
    llvm::raw_fd_ostream os(descriptor, /*shouldClose=*/false);
    os << contents;
    os.flush();
    failure = os.error();
    os.clear_error();
  }
  return failure ? llvm::createStringError(
                       failure, "cannot keep the linker's input in memory: %s",
                       failure.message().c_str())
                 : llvm::Error::success();
}

std::string MemoryFile::read() const {
  auto text = llvm::MemoryBuffer::getFile(getPath());
  return text ? (*text)->getBuffer().str() : std::string();
}

std::string MemoryFile::getPath() const {
  return "/proc/self/fd/" + std::to_string(descriptor);
}

//===----------------------------------------------------------------------===//
// The process
//===----------------------------------------------------------------------===//

namespace {

/// While it lives, new processes begin without the limit that hova keeps to
/// (`--max-memory`): the linker needs some 20 MiB whatever the model, since it
/// does not see weights, and could only fail with less, in words of its own.
class UnlimitedChildren {
public:
  UnlimitedChildren() {
    ::getrlimit(RLIMIT_DATA, &own);
    rlimit raised = own;
    raised.rlim_cur = raised.rlim_max;
    ::setrlimit(RLIMIT_DATA, &raised);
  }
  ~UnlimitedChildren() { ::setrlimit(RLIMIT_DATA, &own); }
  UnlimitedChildren(const UnlimitedChildren &) = delete;
  UnlimitedChildren &operator=(const UnlimitedChildren &) = delete;

private:
  rlimit own = {};
};

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

/// Starts a program with this standard output and error.
std::error_code start(llvm::ArrayRef<std::string> words, int output, int error,
                      pid_t &process) {
  UnlimitedChildren unlimited;
  std::vector<char *> arguments;
  for (const std::string &word : words) {
    arguments.push_back(const_cast<char *>(word.c_str()));
  }
  arguments.push_back(nullptr);
  // No variable of the environment may add anything to the result.
  char locale[] = "LC_ALL=C";
  char *environment[] = {locale, nullptr};
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY,
                                   0);
  posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, error, STDERR_FILENO);
  int failure = ::posix_spawn(&process, arguments[0], &files, nullptr,
                              arguments.data(), environment);
  posix_spawn_file_actions_destroy(&files);
  return std::error_code(failure, std::generic_category());
}

/// How a process ended; empty: well.
std::string waitFor(pid_t process) {
  int status = 0;
  if (llvm::sys::RetryAfterSignal(-1, ::waitpid, process, &status, 0) < 0) {
    return "it cannot be waited for: " + lastError().message();
  }
  if (WIFSIGNALED(status)) {
    return std::string("it was ended by a signal: ") +
           strsignal(WTERMSIG(status));
  }
  return WEXITSTATUS(status) == 0
             ? ""
             : "exit status " + std::to_string(WEXITSTATUS(status));
}

} // namespace

llvm::Expected<LinkedFile> runLinker(llvm::ArrayRef<std::string> arguments) {
  std::vector<std::string> words = {HOVA_LLD_PATH};
  words.insert(words.end(), arguments.begin(), arguments.end());
  MemoryFile messages;
  if (llvm::Error error = messages.write("")) {
    return error;
  }
  Pipe pipe;
  pid_t process = 0;
  std::error_code code = pipe.open();
  if (!code) {
    code = start(words, pipe.getInput(), messages.getDescriptor(), process);
  }
  if (code) {
    // Of what PATH holds nobody knows the version, so there is no other.
    return llvm::createStringError(code, "cannot run the linker %s: %s%s",
                                   HOVA_LLD_PATH, code.message().c_str(),
                                   code == std::errc::no_such_file_or_directory
                                       ? "; install the package lld-22"
                                       : "");
  }
  pipe.closeInput();
  LinkedFile result;
  code = pipe.readAll(result);
  // If that has failed, the linker must not wait for a reader.
  pipe.closeOutput();
  std::string failure = waitFor(process);
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
      HOVA_LLD_PATH,
      llvm::StringRef(failure + "\n" + messages.read()).trim().str().c_str());
}

} // namespace hova
