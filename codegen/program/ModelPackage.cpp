//===- ModelPackage.cpp - How build systems find a compiled model ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/program/ModelPackage.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

namespace hova {

std::string getPackageName(llvm::StringRef library) {
  llvm::StringRef name = llvm::sys::path::stem(library);
  name.consume_front("lib");
  bool isName = !name.empty() && llvm::all_of(name, [](char c) {
    return llvm::isAlnum(c) || llvm::StringRef("_.+-").contains(c);
  });
  return isName ? name.str() : "";
}

/// Fills in the words between @ signs.
static std::string
fill(llvm::StringRef text,
     llvm::ArrayRef<std::pair<llvm::StringRef, llvm::StringRef>> words) {
  std::string result;
  while (!text.empty()) {
    auto [plain, rest] = text.split('@');
    auto [name, after] = rest.split('@');
    result += plain;
    for (const auto &word : words) {
      result += word.first == name ? word.second : "";
    }
    text = after;
  }
  return result;
}

static constexpr llvm::StringLiteral kPkgConfig =
    R"(# The compiled model @NAME@, beside this file; made by hova.
libdir=${pcfiledir}
includedir=${pcfiledir}
model=@PREFIX@
@WEIGHTS@
Name: @NAME@
Description: Compiled model @PREFIX@
Version: @VERSION@
Cflags: -I${includedir}
Libs: -L${libdir} @LINK@ -Wl,-rpath,${libdir}
)";

static constexpr llvm::StringLiteral kCMake =
    R"(# find_package(@NAME@): the compiled model @NAME@, beside this file; made by hova.
#
#   target_link_libraries(program PRIVATE @NAME@::@NAME@)
set(@NAME@_LIBRARY "${CMAKE_CURRENT_LIST_DIR}/@FILE@")
set(@NAME@_INCLUDE_DIR "${CMAKE_CURRENT_LIST_DIR}")
@WEIGHTS@foreach(file "${@NAME@_LIBRARY}" "${@NAME@_INCLUDE_DIR}/@HEADER@")
  if(NOT EXISTS "${file}")
    set(@NAME@_FOUND FALSE)
    set(@NAME@_NOT_FOUND_MESSAGE "the model's file ${file} is missing")
    return()
  endif()
endforeach()
if(NOT TARGET @NAME@::@NAME@)
  add_library(@NAME@::@NAME@ SHARED IMPORTED)
  set_target_properties(@NAME@::@NAME@ PROPERTIES IMPORTED_LOCATION "${@NAME@_LIBRARY}" IMPORTED_SONAME "@FILE@"
                        INTERFACE_INCLUDE_DIRECTORIES "${@NAME@_INCLUDE_DIR}")
endif()
)";

llvm::SmallVector<TextFile, 2> makePackageFiles(const ModelPackage &package) {
  std::string name = getPackageName(package.library);
  llvm::StringRef file = llvm::sys::path::filename(package.library);
  llvm::StringRef folder = llvm::sys::path::parent_path(package.library);
  std::string header = (llvm::sys::path::stem(file) + ".h").str();
  // The linker looks for a name without "lib" only if it is told to.
  std::string link =
      file.starts_with("lib") ? "-l" + name : ("-l:" + file).str();
  llvm::StringRef weights = llvm::sys::path::filename(package.weights);
  auto make = [&](llvm::StringRef path, llvm::StringRef text,
                  const std::string &weightLine) {
    llvm::SmallString<128> place(folder);
    llvm::sys::path::append(place, path);
    return TextFile{std::string(place),
                    fill(text, {{"NAME", name},
                                {"PREFIX", package.prefix},
                                {"VERSION", package.version},
                                {"FILE", file},
                                {"HEADER", header},
                                {"LINK", link},
                                {"WEIGHTS", weightLine}})};
  };
  bool embeds = weights.empty();
  return {make(name + ".pc", kPkgConfig,
               embeds ? "" : ("weights=${pcfiledir}/" + weights + "\n").str()),
          make(name + "Config.cmake", kCMake,
               embeds
                   ? ""
                   : ("set(" + name + "_WEIGHTS \"${CMAKE_CURRENT_LIST_DIR}/" +
                      weights + "\")\n")
                         .str())};
}

} // namespace hova
