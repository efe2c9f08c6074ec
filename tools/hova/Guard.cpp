//===- Guard.cpp - What happens when hova itself fails --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/hova/Guard.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Signals.h"
#include <atomic>
#include <csignal>
#include <cstring>
#include <new>
#include <sys/resource.h>
#include <unistd.h>

using namespace llvm;

namespace hova::tool {

namespace {

/// Made before anything can fail: a handler must not allocate.
std::string &rerunText() {
  static std::string text;
  return text;
}
std::string &outOfMemoryText() {
  static std::string text = "hova: error: out of memory\n";
  return text;
}

void writeText(const std::string &text) {
  // Nothing is left to do where standard error cannot be written.
  [[maybe_unused]] ssize_t written = write(2, text.data(), text.size());
}

void onCrash(void *) {
  sys::PrintStackTrace(errs());
  writeText("hova: error: internal error, please report it\n");
  writeText(rerunText());
  _exit(Internal);
}

/// Removes unfinished files and ends by the signal. LLVM's own handler makes
/// way for the default at once: a second signal, such as `timeout` and an
/// impatient user send, would end the process before the files are gone.
void onInterrupt(int number) {
  static std::atomic_flag entered = ATOMIC_FLAG_INIT;
  if (entered.test_and_set()) {
    return;
  }
  sys::RunInterruptHandlers();
  std::signal(number, SIG_DFL);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, number);
  pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
  std::raise(number);
}

void onFatalError(void *, const char *reason, bool) {
  sys::RunInterruptHandlers();
  _exit(internalError(reason));
}

[[noreturn]] void onOutOfMemory() {
  sys::RunInterruptHandlers();
  _exit(outOfMemory());
}

void onBadAlloc(void *, const char *, bool) { onOutOfMemory(); }

} // namespace

void installGuard(int argc, char **argv) {
  std::string &rerun = rerunText();
  rerun = "  the same again:";
  for (int i = 0; i < argc; ++i) {
    raw_string_ostream stream(rerun);
    stream << ' ';
    sys::printArg(stream, argv[i], /*Quote=*/false);
  }
  rerun += '\n';
  sys::AddSignalHandler(onCrash, nullptr);
  // Behind the call above, which sets LLVM's.
  for (int number : {SIGHUP, SIGINT, SIGTERM}) {
    std::signal(number, onInterrupt);
  }
  sys::SetOneShotPipeSignalFunction(sys::DefaultOneShotPipeSignalHandler);
  install_fatal_error_handler(onFatalError);
  install_bad_alloc_error_handler(onBadAlloc);
  std::set_new_handler(onOutOfMemory);
}

int outOfMemory() {
  writeText(outOfMemoryText());
  return OutOfMemory;
}

int internalError(const std::string &message) {
  printError("internal error, please report it: " + Twine(message));
  errs() << rerunText();
  return Internal;
}

/// `4GiB` in bytes.
static std::optional<uint64_t> parseSize(StringRef text) {
  unsigned shift = text.consume_back("KiB")   ? 10
                   : text.consume_back("MiB") ? 20
                   : text.consume_back("GiB") ? 30
                                              : 0;
  uint64_t number = 0;
  if (shift == 0 || text.getAsInteger(10, number) || number == 0 ||
      number > (UINT64_MAX >> shift)) {
    return std::nullopt;
  }
  return number << shift;
}

void applyMemoryLimit(const Arguments &arguments) {
  if (!arguments.has(OPT_max_memory)) {
    return;
  }
  StringRef size = arguments.value(OPT_max_memory);
  std::optional<uint64_t> bytes = parseSize(size);
  if (!bytes) {
    arguments.usageError("option '--max-memory' expects a size such as 800MiB "
                         "or 4GiB, got '" +
                         size + "'");
    return;
  }
  outOfMemoryText() =
      "hova: error: out of memory: --max-memory is " + size.str() + "\n";
  // The soft limit alone: the linker starts without it.
  rlimit limit;
  getrlimit(RLIMIT_DATA, &limit);
  limit.rlim_cur = std::min<rlim_t>(*bytes, limit.rlim_cur);
  setrlimit(RLIMIT_DATA, &limit);
}

} // namespace hova::tool
