//===- Guard.cpp - What happens when hova itself fails --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/hova/guard/Guard.h"
#include "codegen/ShellWord.h"
#include "runtime/Process.h"
#include "tools/hova/guard/Crash.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/ErrorHandling.h"
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

/// The dump whose program has run in this process, and whether `--guard` can
/// look at it; empty: none.
std::pair<std::string, bool> &blamedDump() {
  static auto *dump = new std::pair<std::string, bool>;
  return *dump;
}

void writeText(StringRef text) {
  // Nothing is left to do where standard error cannot be written.
  [[maybe_unused]] ssize_t written = write(2, text.data(), text.size());
}

/// A mapped file was cut off, or its disk fails: not hova's mistake.
void onBusError(int, siginfo_t *info, void *) {
  if (hova_report_lost_file("hova: error: ", info->si_addr)) {
    sys::RunInterruptHandlers();
    _exit(InputOutput);
  }
  reportCrash();
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

/// Those of the signals that whoever started this process wants ignored:
/// `nohup` does, and a shell for what it runs in the background.
SmallVector<int> findIgnored(ArrayRef<int> signals) {
  SmallVector<int> ignored;
  for (int number : signals) {
    struct sigaction action;
    if (sigaction(number, nullptr, &action) == 0 &&
        action.sa_handler == SIG_IGN) {
      ignored.push_back(number);
    }
  }
  return ignored;
}

/// LLVM starts threads, and where the system gives none ends the process.
void onFatalError(void *, const char *reason, bool) {
  sys::RunInterruptHandlers();
  StringRef why = reason;
  if (why.consume_front("pthread_create failed: ")) {
    printError("cannot start a thread: " + why);
    _exit(OutOfMemory);
  }
  _exit(internalError(reason));
}

[[noreturn]] void onOutOfMemory() {
  if (isCrashing()) {
    reportCrash();
  }
  sys::RunInterruptHandlers();
  _exit(outOfMemory());
}

void onBadAlloc(void *, const char *, bool) { onOutOfMemory(); }

const std::string &plainCrashMessage() { return crashText(); }

int crashStatus() { return blamedDump().first.empty() ? Internal : Rejected; }

} // namespace

static std::string errorText(std::string message,
                             std::vector<std::string> notes = {}) {
  reader::Message error{reader::Severity::Error, "hova", std::move(message),
                        std::move(notes)};
  return error.str(messageFormat());
}

/// The program of a dump runs as it is, so its mistakes may be its editor's.
static std::string dumpCrashMessage() {
  const auto &[path, canGuard] = blamedDump();
  std::vector<std::string> notes = {
      "a dump runs as it is: what is edited in it may leave its buffers",
      "if nothing was edited, it is an internal error: please report it",
      rerunText()};
  if (canGuard) {
    notes[0] += "; 'hova verify --guard' says which kernel does";
  }
  return errorText("the program in " + path + " crashed", std::move(notes));
}

/// The last words of a process that crashed.
static std::string crashMessage(const CrashFacts &facts) {
  if (facts.pass.empty()) {
    return plainCrashMessage();
  }
  std::string what = "in pass '" + facts.pass.str() + "'";
  what += facts.program.empty()
              ? "; --dump-ir=DIR keeps the program before it"
              : "; the program before it is in '" + facts.program + "'";
  return errorText("internal error, please report it", {what, rerunText()});
}

void installGuard(int argc, char **argv) {
  hova_open_standard_files();
  std::string &rerun = rerunText();
  rerun = "the same again:";
  for (int i = 0; i < argc; ++i) {
    rerun += " " + shellWord(argv[i]);
  }
  prepareMessages();
  SmallVector<int> ignored = findIgnored({SIGHUP, SIGINT, SIGQUIT, SIGTERM});
  // LLVM sets handlers of its own when it is first told of a file to remove, if
  // it has none; these replace them.
  sys::AddSignalHandler([](void *) {}, nullptr);
  reportCrashes({crashMessage, plainCrashMessage, crashStatus, onOutOfMemory});
  hova_report_size_limit();
  for (int number : {SIGHUP, SIGINT, SIGTERM, SIGPIPE}) {
    std::signal(number, onInterrupt);
  }
  for (int number : ignored) {
    std::signal(number, SIG_IGN);
  }
  struct sigaction busError = {};
  busError.sa_sigaction = onBusError;
  busError.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGBUS, &busError, nullptr);
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

int pluginError(const std::string &message) {
  printError(message, {rerunText()});
  return Rejected;
}

void prepareMessages(StringRef limit) {
  outOfMemoryText() =
      errorText("out of memory" +
                (limit.empty() ? "" : ": --max-memory is " + limit.str()));
  crashText() =
      blamedDump().first.empty()
          ? errorText("internal error, please report it", {rerunText()})
          : dumpCrashMessage();
}

void blameDump(const std::string &path, bool canGuard) {
  blamedDump() = {path, canGuard};
  crashText() = dumpCrashMessage();
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
