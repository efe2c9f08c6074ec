//===- TemporaryProgram.cpp - A program for this process alone ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/hova/session/TemporaryProgram.h"
#include "tools/hova/guard/Guard.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace hova::tool {

namespace {

/// A file for a library that has no name, so that nothing of it stays, however
/// this process ends.
class UnnamedFile {
public:
  static llvm::Expected<UnnamedFile> create() {
    llvm::SmallString<128> folder;
    llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, folder);
    int descriptor = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC,
                            S_IRUSR | S_IWUSR);
    std::error_code code(errno, std::generic_category());
    llvm::SmallString<128> path;
    // Not every file system has files without a name from the start.
    if (descriptor < 0 && code == std::errc::not_supported) {
      code = llvm::sys::fs::createTemporaryFile("hova-verify", "so", descriptor,
                                                path);
      ::unlink(path.c_str());
    }
    if (descriptor < 0) {
      return llvm::createStringError(code,
                                     "cannot make a temporary file in '%s': %s",
                                     folder.c_str(), code.message().c_str());
    }
    return UnnamedFile(descriptor);
  }
  UnnamedFile(UnnamedFile &&other)
      : descriptor(std::exchange(other.descriptor, -1)) {}
  ~UnnamedFile() { ::close(descriptor); }

  std::string path() const {
    return "/proc/self/fd/" + std::to_string(descriptor);
  }

private:
  explicit UnnamedFile(int descriptor) : descriptor(descriptor) {}

  int descriptor;
};

} // namespace

TemporaryProgram compileForUse(Session &session, CompileOptions options,
                               CompiledModule *keep) {
  TemporaryProgram result;
  auto library = UnnamedFile::create();
  if (!library) {
    result.status = reportError(library.takeError());
    return result;
  }
  auto file = std::make_shared<UnnamedFile>(std::move(*library));
  result.file = file;
  options.emit = EmitKind::Library;
  options.output = file->path();
  result.status = compileStatus(
      compileModule(session.imported(), options, session.weights(), keep),
      session);
  if (result.status != Ok) {
    return result;
  }
  auto program = CompiledProgram::load(file->path(), options.prefix);
  if (session.dump()) {
    blameDump(session.dumpPath(), !session.isAfter("tile"));
  }
  if (program) {
    result.program.emplace(std::move(*program));
  } else {
    result.status = reportError(program.takeError());
  }
  return result;
}

} // namespace hova::tool
