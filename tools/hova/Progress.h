//===- Progress.h - What hova does while it takes its time ----------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_TOOLS_HOVA_PROGRESS_H
#define HOVA_TOOLS_HOVA_PROGRESS_H

#include "tools/hova/Arguments.h"
#include <condition_variable>
#include <mutex>
#include <thread>

namespace hova::tool {

/// One line on a terminal, `[3/8] fuse  4.2 s`, for work that takes more than a
/// second; it is gone when the work is done. Nothing where standard error is no
/// terminal, with `-q`, and with `--max-memory`, which counts the stack of its
/// thread.
class Progress {
public:
  explicit Progress(const Arguments &arguments);
  ~Progress() { end(); }

  /// The phase that begins.
  void enter(llvm::StringRef phase);
  /// Takes the line away; what is printed next has it for itself.
  void end();

private:
  void run();

  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  std::string phase = "import";
  std::thread thread;
};

} // namespace hova::tool

#endif // HOVA_TOOLS_HOVA_PROGRESS_H
