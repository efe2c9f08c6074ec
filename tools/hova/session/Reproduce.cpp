//===- Reproduce.cpp - Bills of programs, and making one again ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/hova/session/Reproduce.h"

#include "codegen/targets/Targets.h"
#include "tools/inspect/Verdicts.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"

using namespace llvm;

namespace hova::tool {

//===----------------------------------------------------------------------===//
// Hashes
//===----------------------------------------------------------------------===//

void FileHashes::hash() {
  for (const std::string &path : paths) {
    hashes.push_back(hashFile(path));
  }
}

void FileHashes::start(std::vector<std::string> files, bool alone) {
  paths = std::move(files);
  auto work = [](void *self) -> void * {
    static_cast<FileHashes *>(self)->hash();
    return nullptr;
  };
  isRunning = !alone && !paths.empty() &&
              pthread_create(&thread, nullptr, work, this) == 0;
  if (!isRunning) {
    hash();
  }
}

Expected<std::vector<HashedFile>> FileHashes::wait() {
  if (isRunning) {
    pthread_join(thread, nullptr);
    isRunning = false;
  }
  std::vector<HashedFile> files;
  Error error = Error::success();
  for (Expected<HashedFile> &file : hashes) {
    if (file) {
      files.push_back(*file);
    } else {
      error = joinErrors(std::move(error), file.takeError());
    }
  }
  if (error) {
    return std::move(error);
  }
  return files;
}

FileHashes::~FileHashes() {
  if (auto files = wait(); !files) {
    consumeError(files.takeError());
  }
}

//===----------------------------------------------------------------------===//
// Bills
//===----------------------------------------------------------------------===//

/// Of the programs for all targets, in their order.
static std::vector<std::string> levelsOf(const CompileOptions &options) {
  std::vector<std::string> levels = options.target->getLevels();
  for (const auto &other : options.alternatives) {
    append_range(levels, other->getLevels());
  }
  return levels;
}

/// The options that decide the bytes of a program. Those that have no effect
/// unless they are given are left out where they are not.
static std::vector<std::string> optionsOf(const Arguments &arguments,
                                          const CompileOptions &options,
                                          StringRef kind,
                                          const CompiledModule &compiled) {
  std::vector<std::string> words = options.origin.arguments;
  erase_if(words, [](StringRef word) { return word.starts_with("--init="); });
  if (options.origin.weights.empty()) {
    words.push_back("--init=" + arguments.value(OPT_init, "0").str());
  }
  words.push_back("--emit=" + kind.str());
  words.push_back("-O" + std::to_string(options.optimization));
  if (!options.weights.empty()) {
    words.push_back("--weights-mode=file");
  }
  // Which assembler there was is a matter of the machine, so what counts is
  // whether it made anything.
  if (options.target->runsOnDevice() && compiled.report &&
      compiled.report->assembler.empty()) {
    words.push_back("--ptxas=none");
  }
  for (const std::string &passes : arguments.values(OPT_pass_pipeline)) {
    words.push_back("--pass-pipeline=" + passes);
  }
  return words;
}

std::string refuseBilled(StringRef word) {
  return word == "--ptxas=none" ? ""
                                : Arguments::refuseRecorded(
                                      word, {OPT_emit, OPT_O, OPT_weights_mode,
                                             OPT_pass_pipeline});
}

static Expected<std::vector<HashedFile>>
hashPlugins(const Arguments &arguments) {
  std::vector<HashedFile> plugins;
  for (const std::string &path : arguments.values(OPT_pass_plugin)) {
    Expected<HashedFile> plugin = hashFile(path);
    if (!plugin) {
      return plugin.takeError();
    }
    plugins.push_back(*plugin);
  }
  return plugins;
}

Expected<Bill> billOf(const Arguments &arguments, const CompileOptions &options,
                      StringRef kind, std::vector<HashedFile> weights,
                      const Bill *record, const CompiledModule &compiled) {
  const ModuleOrigin &origin = options.origin;
  Bill bill;
  bill.compiler = options.compilerVersion;
  auto digest = SHA256::hash(arrayRefFromStringRef(origin.description));
  bill.description = {origin.file, toHex(ArrayRef(digest), /*LowerCase=*/true)};
  bill.text = origin.description;
  if (options.resumed) {
    Expected<HashedFile> dump = hashFile(arguments.model());
    if (!dump) {
      return dump.takeError();
    }
    bill.dump = *dump;
  }
  if (!weights.empty()) {
    bill.weightsName = origin.weights;
    bill.checkpoint = origin.checkpoint;
  }
  bill.weights = std::move(weights);
  Expected<std::vector<HashedFile>> plugins = hashPlugins(arguments);
  if (!plugins) {
    return plugins.takeError();
  }
  bill.plugins = std::move(*plugins);
  bill.options = optionsOf(arguments, options, kind, compiled);
  bill.levels = levelsOf(options);
  bill.verdicts = inspect::briefVerdicts(*compiled.assigned);
  if (record) {
    // The same files, which may have other names now.
    bill.dump = record->dump;
    bill.weights = record->weights;
    bill.plugins = record->plugins;
  }
  return bill;
}

//===----------------------------------------------------------------------===//
// Making a program again
//===----------------------------------------------------------------------===//

static int reject(const Twine &message) {
  printError(message);
  return Rejected;
}

/// Files of hashes, for people.
static std::string describe(ArrayRef<HashedFile> files) {
  std::string text;
  for (const HashedFile &file : files) {
    text += (text.empty() ? "'" : ", '") + file.name + "' with SHA-256 " +
            file.sha256;
  }
  return text.empty() ? "none" : text;
}

/// The description or the dump, where one is given.
static int checkModel(const Arguments &arguments, const Bill &bill,
                      StringRef program) {
  const HashedFile &wanted =
      bill.dump.name.empty() ? bill.description : bill.dump;
  if (arguments.model().empty()) {
    return bill.dump.name.empty()
               ? int(Ok)
               : arguments.usageError(program + " was made from the IR dump " +
                                      describe(wanted) +
                                      ": give that as MODEL");
  }
  if (arguments.model() == kStandardInput) {
    return arguments.usageError("--reproduce reads no description from "
                                "standard input: " +
                                program + " carries its own");
  }
  Expected<HashedFile> given = hashFile(arguments.model());
  if (!given) {
    return reportError(given.takeError());
  }
  return *given == wanted
             ? int(Ok)
             : reject(program + " was made from " + describe(wanted) +
                      ", and " + arguments.model() + " has " + given->sha256);
}

int checkRecord(const Arguments &arguments, const Bill &bill,
                const CompileOptions &options) {
  StringRef program = arguments.value(OPT_reproduce);
  if (bill.compiler != options.compilerVersion) {
    return reject(program + " was made by " + bill.compiler + ", and this is " +
                  options.compilerVersion +
                  ": other versions make other programs");
  }
  if (int status = checkModel(arguments, bill, program)) {
    return status;
  }
  std::vector<std::string> levels = levelsOf(options);
  if (bill.levels != levels) {
    return reject(program + " was made for " + join(bill.levels, ", ") +
                  ", and here its options mean " + join(levels, ", "));
  }
  Expected<std::vector<HashedFile>> plugins = hashPlugins(arguments);
  if (!plugins) {
    return reportError(plugins.takeError());
  }
  return *plugins == bill.plugins
             ? int(Ok)
             : arguments.usageError(program + " was made with plugins " +
                                    describe(bill.plugins) + ", got " +
                                    describe(*plugins) +
                                    ": give them with --pass-plugin");
}

int checkRecordedWeights(const Arguments &arguments, const Bill &bill,
                         ArrayRef<HashedFile> weights) {
  if (ArrayRef(bill.weights) == weights) {
    return Ok;
  }
  return reject(arguments.value(OPT_reproduce) + " was made with the weights " +
                describe(bill.weights) + ", got " + describe(weights));
}

int compareWithProgram(StringRef output, StringRef program) {
  auto read = [](StringRef path) {
    return MemoryBuffer::getFile(path, /*IsText=*/false,
                                 /*RequiresNullTerminator=*/false);
  };
  auto made = read(output), wanted = read(program);
  if (!made || !wanted) {
    return reportError(createFileError(
        made ? program : output, made ? wanted.getError() : made.getError()));
  }
  StringRef left = (*made)->getBuffer(), right = (*wanted)->getBuffer();
  if (left == right) {
    printNote(output + " has the same bytes as " + program);
    return Ok;
  }
  size_t common = std::min(left.size(), right.size());
  size_t at =
      std::mismatch(left.begin(), left.begin() + common, right.begin()).first -
      left.begin();
  printError(output + " differs from " + program + " from byte " + Twine(at) +
             " on, of " + Twine(left.size()) + " and " + Twine(right.size()));
  return Differs;
}

} // namespace hova::tool
