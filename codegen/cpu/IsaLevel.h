//===- IsaLevel.h - Instruction sets that code is generated for -----------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CPU_ISALEVEL_H
#define HOVA_CODEGEN_CPU_ISALEVEL_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>

namespace hova {

/// An instruction set that code is generated for.
struct IsaLevel {
  std::string name;     ///< as given to --march, `native` named (nameOfMachine)
  std::string cpu;      ///< LLVM's name of the processor
  std::string features; ///< LLVM's feature string, "+avx2,..."; may be empty
  uint64_t requirements = 0; ///< HOVA_CPU_* bits of hova_runtime.h
  bool avx512 = false;       ///< 32 registers of 512 bits
  bool bf16 = false;         ///< products of pairs of bf16 in one instruction
  bool oneFma = false;       ///< one FMA of 512 bits a cycle, not two
  bool matrixUnit = false;   ///< AMX: products of matrices of bf16
  /// Whether multiply-adds of f32 are as fast as products of pairs of bf16, as
  /// on processors that have a matrix unit for these.
  bool slowPairs = false;
};

/// Resolves a level (`native`, `x86-64-v3`, `x86-64-v4`, `znver4`, ...).
/// Features that it has more and less may follow: `znver3:gfni:no-adx`. The
/// error names the nearest known level; levels below AVX2 with FMA are
/// rejected.
llvm::Expected<IsaLevel> resolveLevel(llvm::StringRef march);

/// The level of a machine that LLVM calls `cpu` and that has `features`, which
/// resolveLevel takes. Where the machine hides its number, as virtual ones do,
/// LLVM may call it after another: then it is the processor with the most like
/// features, and those that programs ask for and the two do not share.
std::string nameOfMachine(llvm::StringRef cpu,
                          const llvm::StringMap<bool> &features);

/// Resolves levels, comma separated, and sorts them best first: a program takes
/// the first that the machine has. An error names the level that is unknown or
/// given twice.
llvm::Expected<llvm::SmallVector<IsaLevel>>
resolveLevels(llvm::StringRef march);

/// What a program of this storage is made for. Where numbers are of bf16, a
/// level with a matrix unit brings the same level without it behind it, named
/// `LEVEL:no-amx-tile`: the operating system may refuse a process its tiles.
/// Where they are not, there is nothing to use it for, and no level asks for
/// it.
llvm::SmallVector<IsaLevel> levelsFor(llvm::SmallVector<IsaLevel> levels,
                                      bool hasBf16);

/// The names of all levels that resolveLevel takes, `native` first.
llvm::SmallVector<llvm::StringRef> getLevelNames();

} // namespace hova

#endif // HOVA_CODEGEN_CPU_ISALEVEL_H
