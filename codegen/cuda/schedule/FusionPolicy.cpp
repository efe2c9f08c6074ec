//===- FusionPolicy.cpp - Which kernels pay on a GPU ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/HovaCudaDialect.h"
#include "dialect/Interfaces.h"
#include "passes/Columns.h"
#include "passes/fuse/Grouping.h"

using namespace mlir;

namespace hova {

/// Whether `value` is computed in the group, or a slice of what is.
static bool isOfGroup(const Group &kernel, Value value) {
  Operation *op = value.getDefiningOp();
  while (op && isColumnSlice(op) && !llvm::is_contained(kernel.ops, op)) {
    op = op->getOperand(0).getDefiningOp();
  }
  return op && llvm::is_contained(kernel.ops, op);
}

bool CudaFusionAttr::pays(const Group &kernel, Operation *op,
                          std::string *why) const {
  bool reads = llvm::any_of(op->getOperands(), [&](Value operand) {
    return isOfGroup(kernel, operand);
  });
  if (isa<TileOpInterface>(op) && reads) {
    return true;
  }
  if (why) {
    StringRef anchor = kernel.ops.front()->getName().getStringRef();
    *why = ("'" + op->getName().getStringRef() +
            "' is not element-wise on the tile of '" + anchor +
            "', the only one that a block of threads holds; it joins if it is")
               .str();
  }
  return false;
}

} // namespace hova
