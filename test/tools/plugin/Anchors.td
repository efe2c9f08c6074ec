//===- Anchors.td - A policy of one anchor a kernel -----------------------===//
// SPDX-License-Identifier: Apache-2.0

include "mlir/IR/AttrTypeBase.td"
include "passes/fuse/FusionPolicy.td"

def Anchors_Dialect : Dialect {
  let name = "anchors";
  let cppNamespace = "::anchors";
  let useDefaultAttributePrinterParser = 1;
}

def Anchors_FusionAttr : AttrDef<Anchors_Dialect, "Fusion",
    [DeclareAttrInterfaceMethods<Hova_FusionPolicyAttrInterface, ["pays", "chooseSplit"]>]> {
  let mnemonic = "fusion";
  let summary = "a kernel is one anchor with its epilogue";
}
