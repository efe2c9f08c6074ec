//===- Progress.h - What hova does while it takes its time ----------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_TOOLS_HOVA_OUTPUT_PROGRESS_H
#define HOVA_TOOLS_HOVA_OUTPUT_PROGRESS_H

#include "tools/hova/options/Arguments.h"
#include <condition_variable>
#include <mutex>
#include <thread>

namespace hova::tool {

enum class ProgressFormat { Line, Json, None };

/// What `--progress` asks for. A mistake is in `arguments`.
///
/// A line is for a terminal, and there is none with `-q`, nor with
/// `--max-memory`, which counts the stack of its thread.
ProgressFormat readProgressFormat(const Arguments &arguments);

/// As a line, `[3/8] fuse  4.2 s`, of work that takes more than a second; it is
/// gone when the work is done. As JSON, an object on a line of standard error
/// for each phase that begins: {"event":"phase","k":3,"n":8,"name":"fuse"}.
class Progress {
public:
  explicit Progress(ProgressFormat format);
  ~Progress() { end(); }

  /// The phase that begins.
  void enter(llvm::StringRef phase);
  /// Takes the line away; what is printed next has it for itself.
  void end();

private:
  void run();

  ProgressFormat format;
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  std::string phase = "import";
  std::thread thread;
};

} // namespace hova::tool

#endif // HOVA_TOOLS_HOVA_OUTPUT_PROGRESS_H
