//===- Progress.cpp - What hova does while it takes its time --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/hova/output/Progress.h"
#include "codegen/Pipeline.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Process.h"
#include <chrono>

using namespace llvm;

namespace hova::tool {

ProgressFormat readProgressFormat(const Arguments &arguments) {
  StringRef given = arguments.word(OPT_progress);
  if (given == "json") {
    return ProgressFormat::Json;
  }
  bool hasLine = given == "auto" && sys::Process::StandardErrIsDisplayed() &&
                 !arguments.has(OPT_max_memory) && !arguments.has(OPT_quiet);
  return hasLine ? ProgressFormat::Line : ProgressFormat::None;
}

/// The number of a phase among all of them, from 1.
static size_t numberOf(StringRef name) {
  const Phase *phase = findPhase(name);
  return phase ? phase - getPhases().begin() + 1 : 1;
}

/// One write, which no message of another thread comes into.
static void printEvent(StringRef phase) {
  std::string text;
  raw_string_ostream os(text);
  json::OStream writer(os);
  writer.object([&] {
    writer.attribute("event", "phase");
    writer.attribute("k", numberOf(phase));
    writer.attribute("n", getPhases().size());
    writer.attribute("name", phase);
  });
  errs() << text + "\n";
}

Progress::Progress(ProgressFormat format) : format(format) {
  if (format == ProgressFormat::Json) {
    printEvent(phase);
  } else if (format == ProgressFormat::Line) {
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
  if (format == ProgressFormat::Json) {
    printEvent(name);
  }
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
    // The cursor stays at the start, so that a message replaces the line.
    terminal << "\r\033[K[" << numberOf(phase) << "/" << getPhases().size()
             << "] " << phase << llvm::format("  %.1f s\r", passed.count());
    terminal.flush();
  } while (!changed.wait_for(lock, interval, isDone));
  terminal << "\r\033[K";
}

} // namespace hova::tool
