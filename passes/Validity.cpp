//===- Validity.cpp - Operations with other types -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/Validity.h"
#include "mlir/IR/Block.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/Threading.h"

using namespace mlir;

namespace hova {

bool isValidWith(Operation *op, TypeRange operands, TypeRange results) {
  assert(operands.size() == op->getNumOperands() &&
         results.size() == op->getNumResults() && "expects a type for each");
  // A copy outside of the program, whose operands are arguments of no block
  // that runs.
  Block outside;
  Operation *copy = op->clone();
  for (auto [index, type] : llvm::enumerate(operands)) {
    copy->setOperand(index, outside.addArgument(type, op->getLoc()));
  }
  for (auto [result, type] : llvm::zip(copy->getResults(), results)) {
    result.setType(type);
  }
  // Other threads run passes of their own, whose messages are not ours.
  uint64_t thread = llvm::get_threadid();
  ScopedDiagnosticHandler silence(op->getContext(), [&](Diagnostic &) {
    return success(llvm::get_threadid() == thread);
  });
  bool isValid = succeeded(copy->getName().verifyInvariants(copy));
  copy->destroy();
  return isValid;
}

} // namespace hova
