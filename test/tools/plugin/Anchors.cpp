//===- Anchors.cpp - A policy of one anchor a kernel ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What a GPU would say of joins: its threads hold one tile, so a kernel is one
// anchor with what is element-wise on its result.

#include "dialect/Interfaces.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "passes/fuse/Grouping.h"
#include "llvm/ADT/TypeSwitch.h"

#include "AnchorsDialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "AnchorsAttrs.h.inc"

using namespace mlir;

#include "AnchorsDialect.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "AnchorsAttrs.cpp.inc"

void anchors::AnchorsDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "AnchorsAttrs.cpp.inc"
      >();
}

bool anchors::FusionAttr::pays(const hova::Group &kernel, Operation *op,
                               std::string *why) const {
  bool readsKernel = llvm::any_of(op->getOperands(), [&](Value operand) {
    return llvm::is_contained(kernel.ops, operand.getDefiningOp());
  });
  if (isa<hova::TileOpInterface>(op) && readsKernel) {
    return true;
  }
  if (why) {
    *why = ("'" + op->getName().getStringRef() +
            "' is no epilogue of the kernel's anchor; it joins if it is "
            "element-wise on its result")
               .str();
  }
  return false;
}

/// Halves, whatever the operation; a unit remains whole.
std::optional<hova::ReductionSplit>
anchors::FusionAttr::chooseSplit(hova::SplitReductionOpInterface op,
                                 const hova::Reduction &reduction,
                                 std::string *why) const {
  if (why) {
    *why = "this policy halves";
  }
  return hova::ReductionSplit{reduction.fitLength((reduction.terms + 1) / 2)};
}

extern "C" LLVM_ATTRIBUTE_WEAK DialectPluginLibraryInfo
mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "anchors", LLVM_VERSION_STRING,
          [](DialectRegistry *registry) {
            registry->insert<anchors::AnchorsDialect>();
          }};
}
