//===- Profile.cpp - hova profile -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Runs a compiled program with --benchmark-out and prints what it measured: the
// time of every place of the description, of every kernel and of its stages.

#include "codegen/JsonText.h"
#include "codegen/ShellWord.h"
#include "codegen/targets/Targets.h"
#include "frontend/reader/Text.h"
#include "tools/hova/verbs/Benchmark.h"
#include "tools/hova/verbs/Verbs.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include <csignal>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;

extern char **environ;

namespace hova::tool {

namespace {

/// Kernels of a smaller part of the time are counted, not listed.
constexpr double kLeastPercent = 1;

/// What a program has written to standard output, and how it ended.
struct Outcome {
  std::string text;
  int status = Ok;
};

/// At most a benchmark and one byte, by which more is recognised.
std::string readOutput(int descriptor) {
  std::string text;
  char buffer[1 << 14];
  while (text.size() <= kMostBenchmarkBytes) {
    ssize_t count = ::read(descriptor, buffer, sizeof buffer);
    if (count > 0) {
      text.append(buffer, static_cast<size_t>(count));
    } else if (count == 0 || errno != EINTR) {
      break;
    }
  }
  return text;
}

int waitFor(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

/// "SIGSEGV (Segmentation fault)"
std::string nameOfSignal(int signal) {
  const char *name = ::sigabbrev_np(signal);
  return (name ? "SIG" + Twine(name) : "signal " + Twine(signal)).str() + " (" +
         ::strsignal(signal) + ")";
}

/// Says why a program that a signal has ended has said nothing.
void tellSignal(int signal, ArrayRef<std::string> command) {
  std::string words;
  for (const std::string &word : command) {
    words += (words.empty() ? "" : " ") + shellWord(word);
  }
  printError("'" + reader::escaped(command.front()) + "' was ended by " +
                 nameOfSignal(signal),
             {"it ran as: " + reader::escaped(words)});
}

/// What a program writes until it ends. The status is the one that a shell
/// would have.
Outcome outcomeOf(pid_t child, int output, ArrayRef<std::string> command) {
  Outcome outcome;
  outcome.text = readOutput(output);
  if (outcome.text.size() > kMostBenchmarkBytes) {
    ::kill(child, SIGKILL);
    waitFor(child);
    printError("'" + reader::escaped(command.front()) +
               "' has written more than the " + Twine(kMostBenchmarkBytes) +
               " bytes that a benchmark has at most");
    outcome.status = Rejected;
    return outcome;
  }
  int status = waitFor(child);
  if (WIFSIGNALED(status)) {
    tellSignal(WTERMSIG(status), command);
    outcome.status = 128 + WTERMSIG(status);
  } else {
    outcome.status = WEXITSTATUS(status);
  }
  return outcome;
}

/// Runs `path`; a status of Rejected where it cannot be started.
Outcome execute(const std::string &path, std::vector<std::string> words) {
  words.insert(words.begin(), path);
  std::vector<char *> pointers;
  for (std::string &word : words) {
    pointers.push_back(word.data());
  }
  pointers.push_back(nullptr);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    printError("cannot make a pipe: " + StringRef(::strerror(errno)));
    return {{}, Internal};
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  pid_t child = 0;
  // Where the signal is ignored, a child leaves no status.
  std::signal(SIGCHLD, SIG_DFL);
  int error = posix_spawn(&child, path.c_str(), &actions, nullptr,
                          pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  Outcome outcome;
  if (error) {
    printError("cannot run '" + reader::escaped(path) +
                   "': " + StringRef(::strerror(error)),
               {"'hova compile MODEL.json -o PROGRAM' makes a program"});
    outcome.status = error == ENOENT ? InputOutput : Rejected;
  } else {
    outcome = outcomeOf(child, ends[0], words);
  }
  ::close(ends[0]);
  return outcome;
}

/// What the program is to be run with.
std::vector<std::string> wordsFor(const Arguments &arguments) {
  std::vector<std::string> words = arguments.values(OPT_INPUT);
  words.erase(words.begin()); // the program
  auto isGiven = [&](StringRef option) {
    return any_of(words, [&](StringRef word) {
      return word == option || word.starts_with((option + "=").str());
    });
  };
  if (!isGiven("--random-inputs")) {
    words.push_back("--random-inputs=0");
  }
  if (!isGiven("--benchmark")) {
    words.push_back("--benchmark");
  }
  words.push_back("--benchmark-out=-");
  return words;
}

//===----------------------------------------------------------------------===//
// The report
//===----------------------------------------------------------------------===//

double numberOf(const json::Object &entry, StringRef key) {
  return entry.getNumber(key).value_or(0);
}

std::string textOf(const json::Object &entry, StringRef key) {
  std::optional<StringRef> text = entry.getString(key);
  return text ? reader::escaped(text->str()) : std::string();
}

SmallVector<const json::Object *> entriesOf(const json::Object &profile,
                                            StringRef key) {
  SmallVector<const json::Object *> entries;
  static const json::Array none;
  const json::Array *array = profile.getArray(key);
  for (const json::Value &entry : array ? *array : none) {
    if (const json::Object *object = entry.getAsObject()) {
      entries.push_back(object);
    }
  }
  return entries;
}

class Report {
public:
  Report(const json::Object &measured, const json::Object &profile)
      : measured(measured), profile(profile), whole(numberOf(profile, "ms")) {}

  void print(int64_t depth) {
    outs() << textOf(measured, "model") << " at level "
           << textOf(measured, "level") << ", ";
    std::string name = textOf(measured, "target");
    const TargetFacts *target = findTarget(name);
    if (!target || !target->hasThreads) {
      outs() << name;
    } else {
      outs() << int64_t(numberOf(measured, "threads")) << " threads";
    }
    outs() << ": " << format("%.4f", whole) << " ms in kernels, the mean of "
           << int64_t(numberOf(profile, "runs")) << " runs\n";
    printPlaces(depth);
    printKernels();
    if (target && target->isEmulated) {
      outs()
          << "\nThese are times of the emulation, which say nothing of those "
             "on a GPU.\n";
    }
    if (isDivided) {
      outs() << "\n* a part of kernels that compute other parts too: a "
                "kernel's time is measured, and\n  divided by the work that "
                "was counted for each of its parts\n";
    }
  }

private:
  double percentOf(const json::Object &entry) const {
    return whole > 0 ? 100 * numberOf(entry, "ms") / whole : 0;
  }

  void printLine(const json::Object &entry, const Twine &name) {
    double ms = numberOf(entry, "ms");
    bool divided = entry.getBoolean("divided").value_or(false);
    isDivided |= divided;
    outs() << format("%10.4f %6.1f %9.1f  ", ms, percentOf(entry),
                     ms > 0 ? numberOf(entry, "flops") * 1e-6 / ms : 0.0)
           << name << (divided ? " *" : "") << "\n";
  }

  void printPlaces(int64_t depth) {
    outs() << "\n        ms      %   GFLOP/s  place\n";
    for (const json::Object *place : entriesOf(profile, "layers")) {
      std::string path = textOf(*place, "path");
      if (StringRef(path).count('.') < static_cast<size_t>(depth)) {
        printLine(*place, path);
      }
    }
  }

  void printKernels() {
    outs() << "\n        ms      %   GFLOP/s  kernel, stage\n";
    SmallVector<const json::Object *> stages = entriesOf(profile, "stages");
    int64_t others = 0;
    for (const json::Object *kernel : entriesOf(profile, "kernels")) {
      if (percentOf(*kernel) < kLeastPercent) {
        ++others;
        continue;
      }
      printLine(*kernel, textOf(*kernel, "path"));
      for (const json::Object *stage : stages) {
        if (numberOf(*stage, "kernel") == numberOf(*kernel, "kernel") &&
            stage->getBoolean("divided").value_or(false)) {
          printLine(*stage, "  stage " +
                                Twine(int64_t(numberOf(*stage, "stage"))) +
                                ": " + pathsOf(*stage));
        }
      }
    }
    if (others) {
      outs() << "and " << others << " kernels of less than "
             << int64_t(kLeastPercent) << " % each\n";
    }
  }

  static std::string pathsOf(const json::Object &stage) {
    static const json::Array none;
    std::string text;
    const json::Array *paths = stage.getArray("paths");
    for (const json::Value &path : paths ? *paths : none) {
      text += (text.empty() ? "" : ", ") +
              reader::escaped(path.getAsString().value_or("").str());
    }
    return text;
  }

  const json::Object &measured, &profile;
  double whole;
  bool isDivided = false;
};

} // namespace

int runProfile(Arguments &arguments) {
  bool json = arguments.word(OPT_format) == "json";
  int64_t depth = static_cast<int64_t>(arguments.number(OPT_depth, 2, 1, 1000));
  if (arguments.failed()) {
    return *arguments.failed();
  }
  std::string program = arguments.values(OPT_INPUT).front();
  SmallString<128> path(program);
  sys::fs::make_absolute(path);
  Outcome outcome = execute(path.str().str(), wordsFor(arguments));
  if (outcome.status != Ok) {
    return outcome.status; // The program has said why.
  }
  Expected<json::Value> parsed = parseJsonText(outcome.text);
  const json::Object *measured = parsed ? parsed->getAsObject() : nullptr;
  const json::Object *profile =
      measured ? measured->getObject("profile") : nullptr;
  if (!parsed) {
    consumeError(parsed.takeError());
  }
  if (!profile) {
    printError("'" + program +
                   "' has measured no profile: it is no program of this "
                   "version of hova, or was given options that prevent it",
               {"'hova compile MODEL.json -o PROGRAM' makes a program"});
    return Rejected;
  }
  if (json) {
    outs() << formatv("{0:2}\n", *parsed);
  } else {
    Report(*measured, *profile).print(depth);
  }
  return Ok;
}

} // namespace hova::tool
