//===- ProgramOps.cpp - Weights, kernels and launches ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/ProgramOps.h"
#include "dialect/Shapes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace hova;

LogicalResult WeightOp::verify() {
  if (getName().empty()) { // C1
    return emitOpError("expects a name");
  }
  return success();
}

LogicalResult ImageWeightOp::verify() {
  if (getPanel() &&
      (*getPanel() <= 0 || shapeOf(getResult()).size() != 2)) { // C1
    return emitOpError("expects panels of a matrix, got panel = ")
           << *getPanel() << " for " << shapeText(shapeOf(getResult()));
  }
  return success();
}

LogicalResult TransposeOp::verify() {
  ArrayRef<int64_t> x = shapeOf(getX());
  if (x.size() != 2 || !agree(shapeOf(getResult()), {x[1], x[0]})) { // C1
    return emitOpError("expects a matrix and its transpose, got ")
           << shapeText(x) << " and " << shapeText(shapeOf(getResult()));
  }
  return success();
}

LogicalResult BlockDiagonalOp::verify() {
  ArrayRef<int64_t> blocks = shapeOf(getBlocks());
  auto times = [](int64_t a, int64_t b) { return a * b; };
  if (blocks.size() != 3 ||
      !agree(shapeOf(getResult()),
             {combine(blocks[0], blocks[1], times),
              combine(blocks[0], blocks[2], times)})) { // C1
    return emitOpError("expects [heads*in, heads*out] for [heads, in, out] = ")
           << shapeText(blocks) << ", got " << shapeText(shapeOf(getResult()));
  }
  return success();
}

LogicalResult PackOp::verify() {
  ArrayRef<int64_t> x = shapeOf(getX()), result = shapeOf(getResult());
  auto parts = [](int64_t size, int64_t part) {
    return combine(size, part, [](int64_t size, int64_t part) {
      return (size + part - 1) / std::max<int64_t>(part, 1);
    });
  };
  bool pairs = result.size() == 4 && agree(result[3], 2);
  if (x.size() != 2 || (result.size() != 3 && !pairs) ||
      !agree(result[1], pairs ? parts(x[0], 2) : x[0]) ||
      !agree(result[0], parts(x[1], result[2]))) { // C1
    return emitOpError("expects [ceil(out/panel), in, panel], or pairs of in, "
                       "for [in, out] = ")
           << shapeText(x) << ", got " << shapeText(result);
  }
  return success();
}

LogicalResult KernelOp::verify() {
  if (!llvm::equal(getInputs().getTypes(),
                   getBody().front().getArgumentTypes())) { // C1
    return emitOpError("expects region arguments of the inputs' types");
  }
  auto yield = cast<YieldOp>(getBody().front().getTerminator());
  if (!llvm::equal(getResultTypes(), yield.getValues().getTypes())) { // C2
    return emitOpError("expects the yielded types to be the results'");
  }
  return success();
}

template <typename BufferOp> static LogicalResult verifyBuffer(BufferOp op) {
  if (op.getOffset() % 64 != 0) { // C1
    return op.emitOpError("expects an offset that is a multiple of 64, got ")
           << op.getOffset();
  }
  return success();
}

LogicalResult ArenaBufferOp::verify() { return verifyBuffer(*this); }
LogicalResult ImageBufferOp::verify() { return verifyBuffer(*this); }

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &tables) {
  auto callee = tables.lookupNearestSymbolFrom<FunctionOpInterface>(
      *this, getCalleeAttr());
  if (!callee) { // C1
    return emitOpError("expects a function named ") << getCallee();
  }
  ArrayRef<Type> arguments = callee.getArgumentTypes();
  if (arguments.size() != getBuffers().size() + 3 ||
      !llvm::equal(getBuffers().getTypes(), arguments.drop_back(3))) { // C1
    return emitOpError("expects the buffers to fit the arguments of ")
           << getCallee();
  }
  return success();
}

#define GET_OP_CLASSES
#include "dialect/ProgramOps.cpp.inc"
