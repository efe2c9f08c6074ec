//===- Link.h - From object code to a program -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Links generated objects with the prelinked runtime into an executable or
// a shared library, and puts the weight image into it.
//
// Neither the code generator nor the linker ever sees the weights, which may
// be larger than memory. The linker is told of a section that occupies address
// space but no file (`.hova_weights`, NOBITS, marked large so that it comes
// last and gets a program header of its own). Afterwards the image is streamed
// to the end of the file, at a page boundary, and section and program header
// are changed to say that it is there. The loader maps it like any other
// segment: read-only, shared between processes, touched on demand. `strip` and
// other tools see an ordinary section.
//
// Input, linker output and temporaries live in memory files, so the only name
// that is ever created is the output, in one rename.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_CODEGEN_CPU_LINK_H
#define HOVA_CODEGEN_CPU_LINK_H

#include "codegen/cpu/OutputFile.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstdint>
#include <string>

namespace hova {

struct LinkOptions {
  /// Executable: its path. Library: OUT or OUT.so; OUT.so and OUT.h are made.
  std::string output;
  /// An object defines `hova_program_<prefix>`; a library exports
  /// `<prefix>_create` and so on. A C identifier.
  std::string prefix;
  bool sharedLibrary = false;
  /// Bytes of the image to embed, header included; 0: none.
  uint64_t imageBytes = 0;
};

/// Links `objects`, whose order the program's code keeps. `writeImage` is
/// called once if `imageBytes` is not 0 and must write exactly that many bytes
/// (see writeWeightImage). Equal input gives equal files.
///
/// Errors carry the system's code for input and output, and
/// std::errc::invalid_argument where the objects do not link.
llvm::Error linkProgram(llvm::ArrayRef<llvm::StringRef> objects,
                        const LinkOptions &options, WriteFunction writeImage);

/// One object of several.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
joinObjects(llvm::ArrayRef<llvm::StringRef> objects);

/// The C header of a library: the runtime's interface and the exports of
/// `prefix`.
llvm::Expected<std::string> makeLibraryHeader(llvm::StringRef prefix);

} // namespace hova

#endif // HOVA_CODEGEN_CPU_LINK_H
