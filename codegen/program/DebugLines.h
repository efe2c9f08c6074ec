//===- DebugLines.h - Lines of a text for generated code --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A profiler or a debugger shows the line of source text that an instruction
// comes from. What a person wants to read beside the instructions of a kernel
// is the stage, the path and the place in the description, none of which is a
// line of any file. So there is a text that has a line for each:
//
//   kernel_early_attn_query at level znver4
//     stage 0: tokens (digits.json:28:14)
//     stage 1: early.0.norm1 (digits.json:15:18)
//
// and the line table of the program points into it.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_CODEGEN_PROGRAM_DEBUGLINES_H
#define HOVA_CODEGEN_PROGRAM_DEBUGLINES_H

#include "mlir/IR/BuiltinOps.h"

namespace hova {

class DebugLines {
public:
  /// The text is to be written to `path`.
  explicit DebugLines(llvm::StringRef path);

  /// Adds the lines of all functions of a module after phase `target`, and
  /// makes them the locations of its operations. The functions get the debug
  /// information that LLVM makes a line table of.
  llvm::LogicalResult add(mlir::ModuleOp lowered, llvm::StringRef level);

  llvm::StringRef getText() const { return text; }

private:
  unsigned newLine(const llvm::Twine &line);

  std::string path; ///< absolute, so that tools find it from anywhere
  std::string text;
  unsigned lines = 0;
};

} // namespace hova

#endif // HOVA_CODEGEN_PROGRAM_DEBUGLINES_H
