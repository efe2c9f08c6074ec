//===- Link.cpp - From object code to a program ---------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cpu/Link.h"

#include "codegen/cpu/WeightSection.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

#include <dlfcn.h>
#include <memory>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

namespace hova {

namespace {

/// A file without a name. The linker, a child process, opens it by number.
class MemoryFile {
public:
  MemoryFile() : descriptor(::memfd_create("hova", 0)) {}
  ~MemoryFile() {
    if (descriptor >= 0) {
      ::close(descriptor);
    }
  }
  MemoryFile(const MemoryFile &) = delete;
  MemoryFile &operator=(const MemoryFile &) = delete;

  llvm::Error write(llvm::StringRef contents) {
    llvm::raw_fd_ostream os(descriptor, /*shouldClose=*/false);
    os << contents;
    os.flush();
    std::error_code code = os.error();
    os.clear_error();
    return code ? llvm::createStringError(
                      code, "cannot keep the linker's input in memory: %s",
                      code.message().c_str())
                : llvm::Error::success();
  }

  std::string getPath() const {
    return "/proc/self/fd/" + std::to_string(descriptor);
  }

  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> read() const {
    return llvm::errorOrToExpected(llvm::MemoryBuffer::getFile(
        getPath(), /*IsText=*/false, /*RequiresNullTerminator=*/false));
  }

private:
  int descriptor;
};

//===----------------------------------------------------------------------===//
// Where things are
//===----------------------------------------------------------------------===//

/// The prelinked runtime lies in `hova/` beside the library of this function.
llvm::Expected<std::string> findRuntimeFile(llvm::StringRef name) {
  Dl_info self;
  if (!::dladdr(reinterpret_cast<const void *>(&linkProgram), &self)) {
    return llvm::createStringError(std::errc::no_such_file_or_directory,
                                   "cannot find hova's own library");
  }
  llvm::SmallString<256> path;
  if (std::error_code code = llvm::sys::fs::real_path(self.dli_fname, path)) {
    return llvm::createStringError(code, "cannot find '%s'", self.dli_fname);
  }
  llvm::sys::path::remove_filename(path);
  llvm::SmallString<256> beside = path;
  llvm::sys::path::append(beside, "hova", name);
  // A program of the build that carries this code itself lies in bin/.
  llvm::SmallString<256> sibling = llvm::sys::path::parent_path(path);
  llvm::sys::path::append(sibling, "lib", "hova", name);
  for (const auto &candidate : {beside, sibling}) {
    if (llvm::sys::fs::exists(candidate)) {
      return std::string(candidate);
    }
  }
  return llvm::createStringError(std::errc::no_such_file_or_directory,
                                 "hova is not installed completely: '%s' is "
                                 "missing",
                                 beside.c_str());
}

llvm::Expected<std::string> findLinker() {
  if (llvm::sys::fs::can_execute(HOVA_LLD_PATH)) {
    return std::string(HOVA_LLD_PATH);
  }
  for (const char *name : {"ld.lld-22", "ld.lld"}) {
    if (auto found = llvm::sys::findProgramByName(name)) {
      return *found;
    }
  }
  return llvm::createStringError(
      std::errc::no_such_file_or_directory,
      "hova needs the linker ld.lld of LLVM 22: install the package lld-22");
}

/// The system's C library itself, so that no development package is needed.
llvm::Expected<std::string> findSystemLibrary(llvm::StringRef name) {
  for (const char *directory :
       {"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64",
        "/usr/lib64", "/usr/lib", "/lib"}) {
    llvm::SmallString<128> path(directory);
    llvm::sys::path::append(path, name);
    if (llvm::sys::fs::exists(path)) {
      return std::string(path);
    }
  }
  return llvm::createStringError(std::errc::no_such_file_or_directory,
                                 "cannot find the system's %s",
                                 name.str().c_str());
}

//===----------------------------------------------------------------------===//
// Linking
//===----------------------------------------------------------------------===//

const char *const kExports[] = {"create",  "run",     "destroy",
                                "message", "program", "abi_version"};

/// What a library's export is called in the runtime.
std::string getRuntimeName(llvm::StringRef exported) {
  bool shared =
      exported == "run" || exported == "destroy" || exported == "message";
  return ((shared ? "hova_" : "hova_library_") + exported).str();
}

/// While it lives, new processes begin without the limit that hova keeps to
/// (`--max-memory`): the linker needs some 20 MiB whatever the model, since it
/// does not see weights, and could only fail with less, in words of its own.
class UnlimitedChildren {
public:
  UnlimitedChildren() {
    ::getrlimit(RLIMIT_DATA, &own);
    rlimit raised = own;
    raised.rlim_cur = raised.rlim_max;
    ::setrlimit(RLIMIT_DATA, &raised);
  }
  ~UnlimitedChildren() { ::setrlimit(RLIMIT_DATA, &own); }
  UnlimitedChildren(const UnlimitedChildren &) = delete;
  UnlimitedChildren &operator=(const UnlimitedChildren &) = delete;

private:
  rlimit own = {};
};

/// Runs the linker; what it says is the error.
llvm::Error runLinker(llvm::ArrayRef<std::string> arguments,
                      const MemoryFile &result) {
  MemoryFile messages;
  std::string in = "/dev/null", out = result.getPath(),
              err = messages.getPath();
  llvm::SmallVector<llvm::StringRef> words(arguments.begin(), arguments.end());
  // No variable of the environment may add anything to the result.
  llvm::SmallVector<llvm::StringRef> environment = {"LC_ALL=C"};
  std::string failure;
  auto run = [&] {
    UnlimitedChildren unlimited;
    return llvm::sys::ExecuteAndWait(
        arguments.front(), words, environment,
        {llvm::StringRef(in), llvm::StringRef(out), llvm::StringRef(err)},
        /*SecondsToWait=*/0, /*MemoryLimit=*/0, &failure);
  };
  int status = run();
  if (status == 0) {
    return llvm::Error::success();
  }
  if (auto text = messages.read()) {
    failure += (*text)->getBuffer();
  } else {
    llvm::consumeError(text.takeError());
  }
  return llvm::createStringError(
      std::errc::invalid_argument, "the linker %s failed: %s",
      arguments.front().c_str(), llvm::StringRef(failure).trim().str().c_str());
}

/// Adds the arguments that depend on the kind of program.
llvm::Error addKind(std::vector<std::string> &arguments,
                    const LinkOptions &options, llvm::StringRef soname,
                    MemoryFile &exports) {
  auto runtime = findRuntimeFile(options.sharedLibrary ? "lib.o" : "exe.o");
  if (!runtime) {
    return runtime.takeError();
  }
  if (!options.sharedLibrary) {
    arguments.insert(
        arguments.end(),
        {"-pie", "--dynamic-linker", "/lib64/ld-linux-x86-64.so.2", *runtime});
    return llvm::Error::success();
  }
  std::string script = "{ global:";
  arguments.insert(arguments.end(), {"-shared", "-soname", soname.str()});
  for (llvm::StringRef name : kExports) {
    std::string symbol = options.prefix + "_" + name.str();
    arguments.push_back("--defsym=" + symbol + "=" + getRuntimeName(name));
    script += " " + symbol + ";";
  }
  arguments.push_back("--version-script=" + exports.getPath());
  arguments.push_back(*runtime);
  return exports.write(script + " local: *; };\n");
}

/// Adds each object as an argument, kept in the file of its place.
llvm::Error addObjects(std::vector<std::string> &arguments,
                       llvm::ArrayRef<llvm::StringRef> objects,
                       llvm::MutableArrayRef<MemoryFile> files) {
  for (auto [object, file] : llvm::zip_equal(objects, files)) {
    if (llvm::Error error = file.write(object)) {
      return error;
    }
    arguments.push_back(file.getPath());
  }
  return llvm::Error::success();
}

/// Links into memory.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
linkInMemory(llvm::ArrayRef<llvm::StringRef> objects,
             const LinkOptions &options, llvm::StringRef soname) {
  auto linker = findLinker();
  if (!linker) {
    return linker.takeError();
  }
  MemoryFile weights, exports, result;
  std::vector<MemoryFile> code(objects.size());
  std::vector<std::string> arguments = {*linker,
                                        "--gc-sections",
                                        "-z",
                                        "relro",
                                        "-z",
                                        "now",
                                        "-z",
                                        "defs",
                                        "--hash-style",
                                        "gnu",
                                        "--eh-frame-hdr",
                                        "--color-diagnostics=never",
                                        "-o",
                                        "-"};
  if (llvm::Error error = addKind(arguments, options, soname, exports)) {
    return error;
  }
  if (llvm::Error error = addObjects(arguments, objects, code)) {
    return error;
  }
  if (llvm::Error error = weights.write(makeWeightObject(options.imageBytes))) {
    return error;
  }
  arguments.insert(
      arguments.end(),
      {"--defsym=hova_linked_program=hova_program_" + options.prefix,
       weights.getPath(), "--as-needed"});
  for (const char *name : {"libc.so.6", "libm.so.6"}) {
    auto library = findSystemLibrary(name);
    if (!library) {
      return library.takeError();
    }
    arguments.push_back(*library);
  }
  if (llvm::Error error = runLinker(arguments, result)) {
    return error;
  }
  return result.read();
}

/// Writes the linked file, then the image behind it.
llvm::Error writeProgram(llvm::raw_ostream &os, llvm::StringRef linked,
                         uint64_t imageBytes, WriteFunction writeImage) {
  uint64_t offset = llvm::alignTo(linked.size(), kWeightPageBytes);
  std::vector<char> file(linked.begin(), linked.end());
  if (imageBytes == 0) {
    os.write(file.data(), file.size());
    return llvm::Error::success();
  }
  if (llvm::Error error = placeWeightImage(file, offset, imageBytes)) {
    return error;
  }
  os.write(file.data(), file.size());
  os.write_zeros(offset - file.size());
  if (llvm::Error error = writeImage(os)) {
    return error;
  }
  if (os.tell() != offset + imageBytes) {
    return llvm::createStringError(std::errc::invalid_argument,
                                   "expects a weight image of %llu bytes, got "
                                   "%llu",
                                   (unsigned long long)imageBytes,
                                   (unsigned long long)(os.tell() - offset));
  }
  return llvm::Error::success();
}

bool isIdentifier(llvm::StringRef text) {
  return !text.empty() && !llvm::isDigit(text.front()) &&
         llvm::all_of(text,
                      [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

} // namespace

llvm::Expected<std::string> makeLibraryHeader(llvm::StringRef prefix) {
  auto path = findRuntimeFile("hova_runtime.h");
  if (!path) {
    return path.takeError();
  }
  auto runtime =
      llvm::errorOrToExpected(llvm::MemoryBuffer::getFile(*path, true));
  if (!runtime) {
    return runtime.takeError();
  }
  std::string guard = prefix.upper() + "_H";
  std::string name = prefix.str();
  return "// Generated by hova: the interface of the compiled model '" + name +
         "'.\n#ifndef " + guard + "\n#define " + guard + "\n\n" +
         (*runtime)->getBuffer().str() + R"(
#ifdef __cplusplus
extern "C" {
#endif

/// Inputs, outputs and sizes of the model.
const hova_program *)" +
         name + R"(_program(void);
/// As hova_create, for this program; without `weights` and `image` the image
/// embedded in the library, or the file beside it named as the library and
/// ".weights".
hova_status )" +
         name + R"(_create(const hova_options *options,
    hova_context **context);
/// As hova_run, hova_destroy and hova_message.
hova_status )" +
         name + R"(_run(hova_context *context,
    const hova_tensor *inputs, const hova_tensor *outputs);
void )" + name +
         R"(_destroy(hova_context *context);
const char *)" +
         name + R"(_message(const hova_context *context);
/// HOVA_ABI_VERSION of the library.
uint32_t )" +
         name + R"(_abi_version(void);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // )" +
         guard + "\n";
}

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
joinObjects(llvm::ArrayRef<llvm::StringRef> objects) {
  auto linker = findLinker();
  if (!linker) {
    return linker.takeError();
  }
  MemoryFile result;
  std::vector<MemoryFile> code(objects.size());
  std::vector<std::string> arguments = {*linker, "-r", "-o", "-"};
  if (llvm::Error error = addObjects(arguments, objects, code)) {
    return error;
  }
  if (llvm::Error error = runLinker(arguments, result)) {
    return error;
  }
  return result.read();
}

llvm::Error linkProgram(llvm::ArrayRef<llvm::StringRef> objects,
                        const LinkOptions &options, WriteFunction writeImage) {
  if (!isIdentifier(options.prefix)) {
    return llvm::createStringError(std::errc::invalid_argument,
                                   "expects a C identifier as prefix, got '%s'",
                                   options.prefix.c_str());
  }
  llvm::StringRef stem = options.output;
  stem.consume_back(".so");
  std::string path =
      options.sharedLibrary ? (stem + ".so").str() : options.output;
  auto linked = linkInMemory(objects, options, llvm::sys::path::filename(path));
  if (!linked) {
    return linked.takeError();
  }
  auto writeFile = [&] {
    return writeFileWhole(path, 0777, [&](llvm::raw_ostream &os) {
      return writeProgram(os, (*linked)->getBuffer(), options.imageBytes,
                          writeImage);
    });
  };
  if (!options.sharedLibrary) {
    return writeFile();
  }
  auto header = makeLibraryHeader(options.prefix);
  if (!header) {
    return header.takeError();
  }
  // The header gets its name only when the library has its own.
  return writeFileWhole((stem + ".h").str(), 0666, [&](llvm::raw_ostream &os) {
    os << *header;
    os.flush();
    return writeFile();
  });
}

} // namespace hova
