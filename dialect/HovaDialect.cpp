//===- HovaDialect.cpp - Registration of operations and attributes --------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/HovaDialect.h"
#include "dialect/AttentionOps.h"
#include "dialect/DenseOps.h"
#include "dialect/ProgramOps.h"
#include "dialect/TileOps.h"
#include "dialect/TokenOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "dialect/HovaDialect.cpp.inc"
#include "dialect/HovaEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialect/HovaAttrs.cpp.inc"

void hova::HovaDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialect/HovaAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/AttentionOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/DenseOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/ProgramOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/TileOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/TokenOps.cpp.inc"
      >();
}
