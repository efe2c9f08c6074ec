//===- Crash.cpp - The report of a crash ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// LLVM's handler makes way for the default action at once. Passes on functions
// run beside each other, and what crashes in one crashes in all: the second
// signal ended the process before the first one's message was out.

#include "tools/hova/guard/Crash.h"
#include "codegen/PassWatch.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

using namespace llvm;

namespace hova::tool {

namespace {

/// The program is printed on it.
constexpr size_t kStackBytes = 1 << 19;
/// What a step of the report may take: a lock that the crashed thread held is
/// never given back. Large programs are written in less.
constexpr unsigned kSecondsOfStep = 60;

CrashReport &currentReport() {
  static CrashReport report;
  return report;
}

std::atomic<pid_t> reporter{0};
std::atomic<int> nextStep{0};
/// Of the thread that crashed first; a literal or a name that lives on.
StringRef crashedPass;

std::string &keptProgram() {
  static auto *path = new std::string;
  return *path;
}

void writeText(StringRef text) {
  // Nothing is left to do where standard error cannot be written.
  [[maybe_unused]] ssize_t written = write(2, text.data(), text.size());
}

/// The steps that are left. Each is begun once: a crash in one of them, and the
/// alarm, come here again and go on with the next.
[[noreturn]] void continueReport() {
  for (;;) {
    alarm(kSecondsOfStep);
    switch (nextStep.fetch_add(1)) {
    case 0:
      sys::RunInterruptHandlers();
      break;
    case 1:
      sys::PrintStackTrace(errs());
      break;
    case 2:
      keptProgram() = keepCrashedProgram(crashedPass);
      break;
    case 3:
      // Where the step before was cut off, its file is unfinished.
      sys::RunInterruptHandlers();
      writeText(currentReport().message({crashedPass, keptProgram()}));
      _exit(currentReport().status());
    case 4:
      writeText(currentReport().plainMessage());
      break;
    default:
      _exit(currentReport().status());
    }
  }
}

void onAlarm(int) { continueReport(); }

/// Upstream makes operations by malloc and does not ask what it returned: a
/// null pointer is followed although nothing is wrong but the memory.
bool ranOutOfMemory(int number, const siginfo_t &info) {
  constexpr uintptr_t kFirstPage = 4096;
  constexpr size_t kChunk = 1 << 20; // what malloc asks the system for
  if (number != SIGSEGV ||
      reinterpret_cast<uintptr_t>(info.si_addr) >= kFirstPage) {
    return false;
  }
  void *memory = mmap(nullptr, kChunk, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED) {
    munmap(memory, kChunk);
  }
  return memory == MAP_FAILED;
}

void onCrash(int number, siginfo_t *info, void *) {
  if (!isCrashing() && ranOutOfMemory(number, *info)) {
    currentReport().outOfMemory();
  }
  reportCrash();
}

/// Memory that a thread's handlers run on.
class HandlerStack {
public:
  HandlerStack() {
    memory = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
      return; // then a thread without room on its own ends without a report
    }
    stack_t stack = {};
    stack.ss_sp = memory;
    stack.ss_size = kStackBytes;
    sigaltstack(&stack, nullptr);
  }
  ~HandlerStack() {
    if (memory == MAP_FAILED) {
      return;
    }
    stack_t none = {};
    none.ss_flags = SS_DISABLE;
    sigaltstack(&none, nullptr);
    munmap(memory, kStackBytes);
  }
  HandlerStack(const HandlerStack &) = delete;
  HandlerStack &operator=(const HandlerStack &) = delete;

private:
  void *memory;
};

} // namespace

bool isCrashing() { return reporter != 0; }

void reportCrash() {
  pid_t first = 0;
  if (reporter.compare_exchange_strong(first, gettid())) {
    crashedPass = getRunningPass();
    std::signal(SIGALRM, onAlarm);
    continueReport();
  }
  if (first == gettid()) {
    continueReport();
  }
  for (;;) {
    pause(); // the process ends when the first one has spoken
  }
}

void prepareThread() {
  stack_t handlerStack;
  sigaltstack(nullptr, &handlerStack);
  if (handlerStack.ss_flags & SS_DISABLE) {
    static thread_local HandlerStack stack;
  }
}

void reportCrashes(const CrashReport &report) {
  currentReport() = report;
  keptProgram();
  // The main thread needs its stack until the very end, and never gives it
  // back.
  new HandlerStack;
  struct sigaction action = {};
  action.sa_sigaction = onCrash;
  // A crash in a handler comes at once, too.
  action.sa_flags = SA_ONSTACK | SA_NODEFER | SA_SIGINFO;
  for (int number :
       {SIGILL, SIGTRAP, SIGABRT, SIGFPE, SIGSEGV, SIGSYS, SIGBUS}) {
    sigaction(number, &action, nullptr);
  }
}

} // namespace hova::tool
