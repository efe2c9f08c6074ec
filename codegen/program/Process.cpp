//===- Process.cpp - Programs that hova runs ------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/program/Process.h"

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
#include <vector>

namespace hova {

static std::error_code lastError() {
  return std::error_code(errno, std::generic_category());
}

//===----------------------------------------------------------------------===//
// Memory files
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
  return failure ? llvm::createStringError(failure,
                                           "cannot keep a file in memory: %s",
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
// Processes
//===----------------------------------------------------------------------===//

namespace {

/// While it lives, new processes begin without the limit that hova keeps to
/// (`--max-memory`): what they need does not grow with the weights, which they
/// never see (the linker some 20 MiB, ptxas 70), and with less they could only
/// fail, in words of their own.
class UnlimitedChildren {
public:
  UnlimitedChildren() {
    ::getrlimit(RLIMIT_DATA, &before);
    rlimit raised = before;
    raised.rlim_cur = raised.rlim_max;
    ::setrlimit(RLIMIT_DATA, &raised);
  }
  ~UnlimitedChildren() { ::setrlimit(RLIMIT_DATA, &before); }
  UnlimitedChildren(const UnlimitedChildren &) = delete;
  UnlimitedChildren &operator=(const UnlimitedChildren &) = delete;

private:
  rlimit before = {};
};

} // namespace

std::error_code startProcess(llvm::ArrayRef<std::string> words, int output,
                             int error, pid_t &process) {
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

std::string waitForProcess(pid_t process) {
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

llvm::Expected<ProgramRun> runProgram(llvm::ArrayRef<std::string> words) {
  MemoryFile said;
  if (llvm::Error error = said.write("")) {
    return error;
  }
  pid_t process = 0;
  if (std::error_code code = startProcess(words, said.getDescriptor(),
                                          said.getDescriptor(), process)) {
    return llvm::createStringError(code, "it cannot be run: " + code.message());
  }
  ProgramRun run;
  run.failure = waitForProcess(process);
  run.text = said.read();
  return run;
}

} // namespace hova
