//===- Guard.cpp - What happens when hova itself fails --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/hova/Guard.h"
#include "codegen/PassWatch.h"
#include "runtime/Process.h"
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

/// Made before anything can fail: a handler must not allocate. Never freed:
/// something may fail in the very end.
std::string &rerunText() {
  static auto *text = new std::string;
  return *text;
}
std::string &outOfMemoryText() {
  static auto *text = new std::string("hova: error: out of memory\n");
  return *text;
}
std::string &crashText() {
  static auto *text = new std::string;
  return *text;
}

/// The same for a crash in a pass: what stands before and behind its name.
std::pair<std::string, std::string> &passCrashText() {
  static auto *text = new std::pair<std::string, std::string>;
  return *text;
}

void writeText(StringRef text) {
  // Nothing is left to do where standard error cannot be written.
  [[maybe_unused]] ssize_t written = write(2, text.data(), text.size());
}

/// What LLVM does at SIGBUS.
struct sigaction &crashAction() {
  static struct sigaction action;
  return action;
}

void onCrash(void *) {
  sys::PrintStackTrace(errs());
  StringRef pass = getRunningPass();
  if (pass.empty()) {
    writeText(crashText());
  } else {
    writeText(passCrashText().first);
    writeText(pass);
    writeText(passCrashText().second);
  }
  _exit(Internal);
}

/// A mapped file was cut off, or its disk fails: not hova's mistake.
void onBusError(int number, siginfo_t *info, void *) {
  if (hova_report_lost_file("hova: error: ", info->si_addr)) {
    sys::RunInterruptHandlers();
    _exit(InputOutput);
  }
  // The same again, with LLVM's handler, which this one replaced.
  sigaction(number, &crashAction(), nullptr);
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
  hova_open_standard_files();
  std::string &rerun = rerunText();
  rerun = "the same again:";
  for (int i = 0; i < argc; ++i) {
    raw_string_ostream stream(rerun);
    stream << ' ';
    sys::printArg(stream, argv[i], /*Quote=*/false);
  }
  prepareMessages();
  sys::AddSignalHandler(onCrash, nullptr);
  // Behind the call above, which sets LLVM's.
  hova_report_size_limit();
  for (int number : {SIGHUP, SIGINT, SIGTERM, SIGPIPE}) {
    std::signal(number, onInterrupt);
  }
  struct sigaction busError = {};
  busError.sa_sigaction = onBusError;
  busError.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGBUS, &busError, &crashAction());
  install_fatal_error_handler(onFatalError);
  install_bad_alloc_error_handler(onBadAlloc);
  std::set_new_handler(onOutOfMemory);
}

int outOfMemory() {
  writeText(outOfMemoryText());
  return OutOfMemory;
}

int internalError(const std::string &message) {
  printError("internal error, please report it: " + Twine(message),
             {rerunText()});
  return Internal;
}

static std::string errorText(std::string message,
                             std::vector<std::string> notes = {}) {
  reader::Message error{reader::Severity::Error, "hova", std::move(message),
                        std::move(notes)};
  return error.str(messageFormat());
}

void prepareMessages(StringRef limit) {
  outOfMemoryText() =
      errorText("out of memory" +
                (limit.empty() ? "" : ": --max-memory is " + limit.str()));
  crashText() = errorText("internal error, please report it", {rerunText()});
  constexpr char name = '@';
  std::string inPass =
      errorText("internal error, please report it",
                {std::string("in pass '") + name +
                     "'; --dump-ir=DIR keeps what the phases before it made",
                 rerunText()});
  auto [before, behind] = StringRef(inPass).split(name);
  passCrashText() = {before.str(), behind.str()};
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

std::optional<uint64_t> memoryLimit(const Arguments &arguments) {
  return arguments.has(OPT_max_memory)
             ? parseSize(arguments.value(OPT_max_memory))
             : std::nullopt;
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
  prepareMessages(size);
  // The soft limit alone: the linker starts without it.
  rlimit limit;
  getrlimit(RLIMIT_DATA, &limit);
  limit.rlim_cur = std::min<rlim_t>(*bytes, limit.rlim_cur);
  setrlimit(RLIMIT_DATA, &limit);
}

} // namespace hova::tool
