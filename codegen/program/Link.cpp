//===- Link.cpp - From object code to a program ---------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/program/Link.h"

#include "codegen/program/Linker.h"
#include "codegen/program/Process.h"
#include "codegen/program/ShippedFile.h"
#include "codegen/program/WeightSection.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <memory>
#include <vector>

namespace hova {

namespace {

//===----------------------------------------------------------------------===//
// Where things are
//===----------------------------------------------------------------------===//

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

const char *const kExports[] = {"create",  "run",         "run_packed",
                                "destroy", "message",     "target",
                                "program", "abi_version", "inspection"};

/// What a library's export is called in the runtime.
std::string getRuntimeName(llvm::StringRef exported) {
  bool shared = exported == "run" || exported == "run_packed" ||
                exported == "destroy" || exported == "message" ||
                exported == "target";
  return ((shared ? "hova_" : "hova_library_") + exported).str();
}

/// Adds the arguments that depend on the kind of program.
llvm::Error addKind(std::vector<std::string> &arguments,
                    const LinkOptions &options, llvm::StringRef soname,
                    MemoryFile &exports) {
  std::string file = options.sharedLibrary ? "lib" : "exe";
  if (!options.runtime.empty()) {
    file += "-" + options.runtime;
  }
  auto runtime = findShippedFile(file + ".o");
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

/// Adds the C library. Threads, and what loads the driver of a GPU, are in
/// libraries of their own before glibc 2.34, and later ones are empty: a
/// program names them although it needs nothing of what they hold here.
llvm::Error addSystemLibraries(std::vector<std::string> &arguments,
                               const LinkOptions &options) {
  std::vector<const char *> names = {"--as-needed", "libc.so.6", "libm.so.6",
                                     "--no-as-needed", "libpthread.so.0"};
  if (!options.runtime.empty()) {
    names.push_back("libdl.so.2");
  }
  for (llvm::StringRef name : names) {
    if (name.starts_with("-")) {
      arguments.push_back(name.str());
      continue;
    }
    auto library = findSystemLibrary(name);
    if (!library) {
      return library.takeError();
    }
    arguments.push_back(*library);
  }
  return llvm::Error::success();
}

/// Links into memory.
llvm::Expected<LinkedFile> linkInMemory(llvm::ArrayRef<llvm::StringRef> objects,
                                        const LinkOptions &options,
                                        llvm::StringRef soname) {
  MemoryFile weights, exports;
  std::vector<MemoryFile> code(objects.size());
  std::vector<std::string> arguments = {"--gc-sections",
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
       weights.getPath()});
  if (llvm::Error error = addSystemLibraries(arguments, options)) {
    return error;
  }
  return runLinker(arguments);
}

/// Writes an image of the size that was announced.
llvm::Error writeWholeImage(llvm::raw_ostream &os, uint64_t imageBytes,
                            WriteFunction writeImage) {
  uint64_t begin = os.tell();
  if (llvm::Error error = writeImage(os)) {
    return error;
  }
  uint64_t written = os.tell() - begin;
  return written == imageBytes
             ? llvm::Error::success()
             : llvm::createStringError(
                   std::errc::invalid_argument,
                   "expects packed weights of %llu bytes, got %llu",
                   (unsigned long long)imageBytes, (unsigned long long)written);
}

/// Writes the linked file, then the image after it.
llvm::Error writeProgram(llvm::raw_ostream &os, LinkedFile &linked,
                         uint64_t imageBytes, WriteFunction writeImage) {
  uint64_t offset = llvm::alignTo(linked.size(), kWeightPageBytes);
  if (imageBytes != 0) {
    if (llvm::Error error = placePackedWeights(linked, offset, imageBytes)) {
      return error;
    }
  }
  os.write(linked.data(), linked.size());
  if (imageBytes == 0) {
    return llvm::Error::success();
  }
  os.write_zeros(offset - linked.size());
  return writeWholeImage(os, imageBytes, writeImage);
}

/// Writes all files of a program and gives them their names together.
llvm::Error writeFiles(LinkedFile &linked, const LinkOptions &options,
                       WriteFunction writeImage) {
  std::vector<std::unique_ptr<OutputFile>> files;
  auto add = [&](llvm::StringRef path, unsigned mode,
                 WriteFunction write) -> llvm::Error {
    auto file = OutputFile::open(path, mode);
    if (!file) {
      return file.takeError();
    }
    files.push_back(std::move(*file));
    return files.back()->write(write);
  };
  bool embeds = options.weights.empty();
  llvm::Error error =
      add(options.output, 0777, [&](llvm::raw_ostream &os) -> llvm::Error {
        return writeProgram(os, linked, embeds ? options.imageBytes : 0,
                            writeImage);
      });
  if (!error && !embeds && options.imageBytes != 0) {
    error = add(options.weights, 0666, [&](llvm::raw_ostream &os) {
      return writeWholeImage(os, options.imageBytes, writeImage);
    });
  }
  if (!error && !options.header.empty()) {
    error =
        add(options.header, 0666, [&](llvm::raw_ostream &os) -> llvm::Error {
          auto header = makeLibraryHeader(options.prefix);
          if (!header) {
            return header.takeError();
          }
          os << *header;
          return llvm::Error::success();
        });
  }
  for (const TextFile &companion : options.companions) {
    if (!error) {
      error = add(companion.path, 0666, [&](llvm::raw_ostream &os) {
        os << companion.text;
        return llvm::Error::success();
      });
    }
  }
  return error ? std::move(error) : keepTogether(files);
}

bool isIdentifier(llvm::StringRef text) {
  return !text.empty() && !llvm::isDigit(text.front()) &&
         llvm::all_of(text,
                      [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

} // namespace

llvm::Expected<std::string> makeLibraryHeader(llvm::StringRef prefix) {
  auto path = findShippedFile("hova_runtime.h");
  if (!path) {
    return path.takeError();
  }
  auto runtime =
      llvm::errorOrToExpected(llvm::MemoryBuffer::getFile(*path, true));
  if (!runtime) {
    return runtime.takeError();
  }
  // No other's: of a prefix in other letters, or the runtime's.
  std::string guard = ("HOVA_MODEL_" + prefix + "_H").str();
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
/// As hova_run, hova_run_packed, hova_destroy and hova_message.
hova_status )" +
         name + R"(_run(hova_context *context,
    const hova_tensor *inputs, const hova_tensor *outputs);
hova_status )" +
         name + R"(_run_packed(hova_context *context,
    const int32_t *lengths, int64_t items, const hova_tensor *inputs,
    const hova_tensor *outputs);
void )" + name +
         R"(_destroy(hova_context *context);
const char *)" +
         name + R"(_message(const hova_context *context);
/// As hova_target.
const char *)" +
         name +
         R"(_target(const hova_context *context);
/// HOVA_ABI_VERSION of the library.
uint32_t )" +
         name + R"(_abi_version(void);
/// As hova_inspect, for tools.
const hova_inspection *)" +
         name + R"(_inspection(void);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // )" +
         guard + "\n";
}

llvm::Expected<LinkedFile>
joinObjects(llvm::ArrayRef<llvm::StringRef> objects) {
  std::vector<MemoryFile> code(objects.size());
  std::vector<std::string> arguments = {"-r", "-o", "-"};
  if (llvm::Error error = addObjects(arguments, objects, code)) {
    return error;
  }
  return runLinker(arguments);
}

llvm::Error linkProgram(llvm::ArrayRef<llvm::StringRef> objects,
                        const LinkOptions &options, WriteFunction writeImage) {
  if (!isIdentifier(options.prefix)) {
    return llvm::createStringError(std::errc::invalid_argument,
                                   "expects a C identifier as prefix, got '%s'",
                                   options.prefix.c_str());
  }
  LinkOptions linked = options;
  if (!options.weights.empty()) {
    // The program has a place for weights that are embedded only.
    linked.imageBytes = 0;
  }
  auto file = linkInMemory(objects, linked,
                           options.soname.empty()
                               ? llvm::sys::path::filename(options.output)
                               : llvm::StringRef(options.soname));
  return file ? writeFiles(*file, options, writeImage) : file.takeError();
}

} // namespace hova
