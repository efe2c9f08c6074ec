//===- ModelPackage.h - How build systems find a compiled model -----------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_PROGRAM_MODELPACKAGE_H
#define HOVA_CODEGEN_PROGRAM_MODELPACKAGE_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace hova {

/// A text that is written with a program, whole or not at all.
struct TextFile {
  std::string path;
  std::string text;
};

/// What the package of a model is made of.
struct ModelPackage {
  std::string library; ///< the file, "build/libdigits.so"
  std::string weights; ///< the image beside it; empty: embedded
  std::string prefix;  ///< of the functions in the header
  std::string version; ///< of hova, as "0.1.0"
};

/// The name by which a library is found: of "build/libdigits.so" and of
/// "digits.so", "digits". Empty where it is none for pkg-config and CMake,
/// which take letters, digits and any of "_.+-".
std::string getPackageName(llvm::StringRef library);

/// The files of pkg-config and of CMake's find_package, NAME.pc and
/// NAMEConfig.cmake. They lie beside the library and its header, and name both
/// from where they are: the folder may move.
llvm::SmallVector<TextFile, 2> makePackageFiles(const ModelPackage &package);

} // namespace hova

#endif // HOVA_CODEGEN_PROGRAM_MODELPACKAGE_H
