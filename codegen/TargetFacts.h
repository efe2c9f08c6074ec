//===- TargetFacts.h - What others than its own code say of a target ------===//
// SPDX-License-Identifier: Apache-2.0
//
// The words of a target's row in the table of targets (targets/Targets.cpp).
// Command lines and reports take them from there and name no target.

#ifndef HOVA_CODEGEN_TARGETFACTS_H
#define HOVA_CODEGEN_TARGETFACTS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace hova {

struct TargetFacts {
  /// After `--target=`.
  llvm::StringLiteral name;
  /// What runs the kernels, such as "a CPU".
  llvm::StringLiteral machine;
  /// What `--emit=asm` writes.
  llvm::StringLiteral code;
  /// Options that say something of programs for this target and not of those
  /// for every one, without their dashes.
  llvm::ArrayRef<llvm::StringLiteral> options;
  /// Kinds after `--emit=` that only some targets have.
  llvm::ArrayRef<llvm::StringLiteral> products;
  /// Whether kernels are divided among threads of the process, which reports
  /// count.
  bool hasThreads = false;
  /// Whether kernels run on another machine than they are for, so that their
  /// times say nothing.
  bool isEmulated = false;
  /// The target that emulates this one where its machine is missing; empty:
  /// none does.
  llvm::StringLiteral emulation = "";
  /// The pass that refuses what there is no code for yet; empty: there is code
  /// for all.
  llvm::StringLiteral refusingPass = "";
};

} // namespace hova

#endif // HOVA_CODEGEN_TARGETFACTS_H
