//===- Files.cpp - What a command line reads and writes -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/hova/output/Files.h"
#include "runtime/FileUses.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace hova::tool {

std::vector<NamedFile> inputFiles(const Arguments &arguments) {
  std::vector<NamedFile> inputs;
  for (StringRef text : arguments.values(OPT_input)) {
    auto [name, file] = text.split('=');
    inputs.push_back(file.empty() ? NamedFile{"", name.str()}
                                  : NamedFile{name.str(), file.str()});
  }
  return inputs;
}

FileUses::FileUses(const Arguments &arguments,
                   const frontend::ModelOptions &options) {
  StringRef weights = arguments.value(OPT_weights);
  reads(arguments.model(), "the description");
  reads(weights, "--weights");
  for (const std::string &file :
       options.folder ? options.folder->files : std::vector<std::string>()) {
    reads(file, "of the model's folder");
  }
  if (!weights.empty()) {
    SmallString<256> beside(sys::path::parent_path(weights));
    sys::path::append(beside, "config.json");
    // There need not be one.
    reads(sys::fs::is_regular_file(beside) ? beside.str() : "",
          "the configuration beside --weights");
    for (const std::string &file : options.modules->files()) {
      reads(file, "of the modules beside --weights");
    }
    for (const auto &module : options.modules->tensors()) {
      reads(module.path, "of the modules beside --weights");
    }
  }
  if (llvm::StringRef ptxas = arguments.value(OPT_ptxas); ptxas != "none") {
    reads(ptxas, "--ptxas");
  }
  for (const std::string &plugin : arguments.values(OPT_pass_plugin)) {
    reads(plugin, "--pass-plugin");
  }
}

void FileUses::reads(StringRef path, StringRef what) {
  if (!path.empty()) {
    uses.push_back({path.str(), what.str(), /*written=*/false});
  }
}

void FileUses::writes(StringRef path, StringRef what) {
  if (!path.empty()) {
    uses.push_back({path.str(), what.str(), /*written=*/true});
  }
}

void FileUses::writesReports(const Arguments &arguments,
                             const CompileOptions &options) {
  writes(arguments.value(OPT_explain_file), "--explain");
  writes(arguments.value(OPT_time_trace), "--time-trace");
  writes(arguments.value(OPT_debug_lines), "--debug-lines");
  if (!options.dumpDirectory.empty()) {
    writesInto(options.dumpDirectory, dumpNames(), "--dump-ir");
  }
}

void FileUses::writesInto(StringRef folder, ArrayRef<std::string> names,
                          StringRef what) {
  SmallString<256> path(folder);
  if (sys::fs::is_directory(path)) {
    for (const std::string &name : names) {
      writes((path + "/" + name).str(), what);
    }
    return;
  }
  // Nothing is in a folder that is yet to be made. What matters is whether it
  // can be: whether a file could be written where it will lie.
  while (!sys::path::parent_path(path).empty() &&
         !sys::fs::is_directory(sys::path::parent_path(path))) {
    sys::path::remove_filename(path);
  }
  if (sys::fs::exists(path)) {
    // A file, in which none can lie: the check says so.
    path += "/" + names.front();
  }
  writes(path, what);
}

int FileUses::check() const {
  std::vector<hova_file_use> all;
  for (const Use &use : uses) {
    all.push_back({use.path.c_str(), use.what.c_str(), use.written, {}});
  }
  hova_error error = {};
  hova_status status = hova_check_files(all.data(), all.size(), &error);
  if (status == HOVA_OK) {
    return Ok;
  }
  printError(error.text);
  return status == HOVA_REJECTED ? Usage : InputOutput;
}

} // namespace hova::tool
