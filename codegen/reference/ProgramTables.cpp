//===- ProgramTables.cpp - The tables by which kernels find rows ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/reference/ProgramTables.h"
#include "codegen/reference/Evaluator.h"
#include "dialect/program/ProgramOps.h"
#include "passes/tile/ProgramAttrs.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>

using namespace mlir;

namespace hova {

/// Tables have a number for each row of a value; those of models of hundreds of
/// layers take a few megabytes.
static constexpr int64_t kMostTableBytes = int64_t(1) << 30;

static LogicalResult addTable(StoreWeightOp store, const HostTensor &value,
                              MutableArrayRef<int64_t> tables) {
  auto offset = store->getAttrOfType<IntegerAttr>(kOffsetAttr);
  Type element = getElementTypeOrSelf(store.getValue().getType());
  if (!(element.isInteger(32) || element.isInteger(64)) ||
      value.getElement() != HostTensor::Element::I64) {
    return store.emitError("expects a table of integers of 32 or 64 bits, got ")
           << element;
  }
  int64_t width = element.getIntOrFloatBitWidth() / 8;
  int64_t room = tables.size() * sizeof(int64_t);
  int64_t bytes = value.size() * width;
  if (!offset || offset.getInt() < 0 || offset.getInt() > room ||
      bytes > room - offset.getInt()) {
    return store.emitError("table '")
           << store.getName() << "' has no place in the " << room
           << " bytes of tables";
  }
  // The first bytes of an integer are its lower ones on these processors.
  char *to = reinterpret_cast<char *>(tables.data()) + offset.getInt();
  for (int64_t i = 0, e = value.size(); i < e; ++i) {
    std::memcpy(to + i * width, value.as<int64_t>() + i, width);
  }
  return success();
}

FailureOr<SmallVector<int64_t>> evaluateTables(ModuleOp code,
                                               func::FuncOp main) {
  auto bytes = main->getAttrOfType<IntegerAttr>(kTableBytesAttr);
  if (bytes && (bytes.getInt() < 0 || bytes.getInt() > kMostTableBytes)) {
    return main.emitError("expects '")
           << kTableBytesAttr << "' from 0 to " << kMostTableBytes << ", got "
           << bytes.getInt();
  }
  SmallVector<int64_t> tables(
      bytes ? llvm::divideCeil(bytes.getInt(), sizeof(int64_t)) : 0);
  auto program = code.lookupSymbol<func::FuncOp>(kTableProgram);
  if (!program) {
    return tables;
  }
  Evaluator evaluator([](WeightOp op) -> FailureOr<HostTensor> {
    return op.emitError("a table cannot depend on weight '")
           << op.getName() << "'";
  });
  LogicalResult evaluated = evaluator.foldWeights(
      program, [&](StoreWeightOp store, const HostTensor &value) {
        return addTable(store, value, tables);
      });
  return failed(evaluated) ? FailureOr<SmallVector<int64_t>>(failure())
                           : FailureOr<SmallVector<int64_t>>(std::move(tables));
}

} // namespace hova
