//===- FusionPolicy.td - Which joins pay on a target ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_PASSES_FUSE_FUSIONPOLICY
#define HOVA_PASSES_FUSE_FUSIONPOLICY

include "mlir/IR/OpBase.td"

def Hova_FusionPolicyAttrInterface : AttrInterface<"FusionPolicyAttrInterface"> {
  let cppNamespace = "::hova";
  let description = [{
    What pays where operations are grouped into kernels. `fuse` knows which of
    them may share a kernel, and a target which should, by
    an attribute of its own. Every question is about operations that may; without a
    policy every legal join pays.
  }];
  let methods = [
    InterfaceMethod<[{
      Whether `op` pays in `kernel`, which it may join as it is so far. If not,
      `why`, which may be null, is told the reason and what would change it, as
      a verdict says them: the operation is declined.
    }], "bool", "pays",
      (ins "const ::hova::Group &":$kernel, "::mlir::Operation *":$op,
           "std::string *":$why), "", "return true;">,
    InterfaceMethod<[{
      Whether a kernel that begins with `product` divides its columns, not its
      rows. If so, `why`, which may be null, is told the reason.
    }], "bool", "dividesColumns",
      (ins "::mlir::Operation *":$product, "std::string *":$why), "",
      "return false;">,
    InterfaceMethod<[{
      How `reduction`, which is what `op` says of it, is divided so that no part
      of the machine is idle; nothing if `op` stays whole, or, where it is always
      divided, if one part will do. If it is divided where it need not be,
      `why`, which may be null, is told the reason. A policy knows what the operation says, its shapes and
      its readers, so that it need not know the operation.
    }], "std::optional<::hova::ReductionSplit>", "chooseSplit",
      (ins "::hova::SplitReductionOpInterface":$op,
           "const ::hova::Reduction &":$reduction, "std::string *":$why), "",
      "return std::nullopt;">,
    InterfaceMethod<[{
      Whether the norm of rows pays behind the products that read it, where
      `product`, to whose result others are added, makes these rows: how many
      columns beside each other a sum of squares has then. 0: the norm stays. It
      is asked before weights are folded, so that it may not depend on the level
      of a machine: one image of weights is for all.
    }], "int64_t", "chooseSquareColumns",
      (ins "::mlir::Operation *":$product), "", "return 0;">,
    InterfaceMethod<[{
      Whether rows of another kernel's value, at even distances, are an address
      for the kernels that read them. If not, one of these copies them.
    }], "bool", "addressesRows", (ins), "", "return false;">,
    InterfaceMethod<[{
      In how many blocks, at least one, a kernel of `units` units divides a dim
      of `size` elements besides, such as the queries of an attention.
    }], "int64_t", "chooseBlocks", (ins "int64_t":$units, "int64_t":$size), "",
      "return 1;">,
  ];
}

#endif // HOVA_PASSES_FUSE_FUSIONPOLICY
