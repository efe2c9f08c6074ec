//===- Progress.cpp - What hova does while it takes its time --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/hova/Progress.h"
#include "codegen/Pipeline.h"
#include "llvm/Support/Process.h"
#include <chrono>

using namespace llvm;

namespace hova::tool {

Progress::Progress(const Arguments &arguments) {
  if (sys::Process::StandardErrIsDisplayed() &&
      !arguments.has(OPT_max_memory) && !arguments.has(OPT_quiet)) {
    thread = std::thread([this] { run(); });
  }
}

void Progress::end() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    done = true;
  }
  changed.notify_all();
  if (thread.joinable()) {
    thread.join();
  }
}

void Progress::enter(StringRef name) {
  std::lock_guard<std::mutex> lock(mutex);
  phase = name.str();
}

void Progress::run() {
  constexpr std::chrono::milliseconds silence(1000), interval(100);
  auto begin = std::chrono::steady_clock::now();
  std::unique_lock<std::mutex> lock(mutex);
  auto isDone = [this] { return done; };
  if (changed.wait_for(lock, silence, isDone)) {
    return;
  }
  // Not errs(), which another thread may be writing to.
  raw_fd_ostream terminal(2, /*shouldClose=*/false);
  do {
    std::chrono::duration<double> passed =
        std::chrono::steady_clock::now() - begin;
    ArrayRef<Phase> phases = getPhases();
    const Phase *now = findPhase(phase);
    // The cursor stays at the start, so that a message replaces the line.
    terminal << "\r\033[K[" << (now ? now - phases.begin() + 1 : 1) << "/"
             << phases.size() << "] " << phase
             << format("  %.1f s\r", passed.count());
    terminal.flush();
  } while (!changed.wait_for(lock, interval, isDone));
  terminal << "\r\033[K";
}

} // namespace hova::tool
