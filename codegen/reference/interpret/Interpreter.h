//===- Interpreter.h - Runs kernel functions without their code -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Interprets functions over buffers, as phases `tile` and `vectorize` leave
// them, operation by operation in the types that they name. No code is
// generated, so what a kernel computes can be told apart from what a processor
// makes of it, and every access is checked against its buffer.

#ifndef HOVA_CODEGEN_REFERENCE_INTERPRET_INTERPRETER_H
#define HOVA_CODEGEN_REFERENCE_INTERPRET_INTERPRETER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <memory>
#include <vector>

namespace hova {

/// The memory that a buffer argument of a function begins at.
using Memory = std::vector<uint8_t>;

class Frame;

/// One function, ready to be called many times.
class Interpreter {
public:
  explicit Interpreter(mlir::func::FuncOp function);
  ~Interpreter();

  /// Whether every operation can be run; says what cannot on the operation.
  llvm::LogicalResult prepare();

  /// Calls the function: arguments of buffer types are the first bytes of
  /// `buffers`, in their order, and all others are `integers`. What is outside
  /// of a buffer is an error on the operation that accesses it.
  llvm::LogicalResult run(llvm::ArrayRef<Memory *> buffers,
                          llvm::ArrayRef<int64_t> integers);

private:
  mlir::func::FuncOp function;
  std::unique_ptr<Frame> frame;
};

} // namespace hova

#endif // HOVA_CODEGEN_REFERENCE_INTERPRET_INTERPRETER_H
