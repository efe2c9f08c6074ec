//===- Link.h - From object code to a program -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Links generated objects with the prelinked runtime into an executable or
// a shared library, and puts the packed weights into it.
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
// The linker's input lives in memory files and its output comes through a pipe,
// so no name is ever created but those of the outputs, which appear together.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_CODEGEN_PROGRAM_LINK_H
#define HOVA_CODEGEN_PROGRAM_LINK_H

#include "codegen/OutputFile.h"
#include "codegen/program/Linker.h"
#include "codegen/program/ModelPackage.h"

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <string>

namespace hova {

struct LinkOptions {
  std::string output;
  /// The C header of a library; empty: none.
  std::string header;
  /// Further texts to write with it.
  llvm::ArrayRef<TextFile> companions;
  /// The file of the packed weights; empty: they are embedded in the output.
  std::string weights;
  /// An object defines `hova_program_<prefix>`; a library exports
  /// `<prefix>_create` and so on. A C identifier.
  std::string prefix;
  bool sharedLibrary = false;
  /// What a library calls itself; empty: as the file `output`.
  std::string soname;
  /// The runtime that the program is linked with: empty for a CPU, "cuda" for a
  /// GPU, "cuda-emulated" for a GPU that the processor emulates, "cpu-cuda" for
  /// a GPU or, where there is none, a CPU.
  std::string runtime;
  /// Bytes of the image, header included; 0: none.
  uint64_t imageBytes = 0;
};

/// Links `objects`, whose order the program's code keeps, and writes all files
/// of `options` or none. `writeImage` is called once if `imageBytes` is not 0
/// and must write exactly that many bytes (see writePackedWeights). Equal input
/// gives equal files.
///
/// Errors carry the system's code for input and output, and that of runLinker
/// where the objects do not link, which is never the user's fault.
llvm::Error linkProgram(llvm::ArrayRef<llvm::StringRef> objects,
                        const LinkOptions &options, WriteFunction writeImage);

/// One object of several.
llvm::Expected<LinkedFile> joinObjects(llvm::ArrayRef<llvm::StringRef> objects);

/// The C header of a library: the runtime's interface and the exports of
/// `prefix`.
llvm::Expected<std::string> makeLibraryHeader(llvm::StringRef prefix);

} // namespace hova

#endif // HOVA_CODEGEN_PROGRAM_LINK_H
