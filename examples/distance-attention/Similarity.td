//===- Similarity.td - A dialect of one similarity ------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef DISTATTN_SIMILARITY
#define DISTATTN_SIMILARITY

include "dialect/Similarity.td"

def DistAttn_Dialect : Dialect {
  let name = "distattn";
  let cppNamespace = "::distattn";
  let summary = "attention to keys that are near";
  let useDefaultAttributePrinterParser = 1;
}

def DistAttn_LaplaceAttr : AttrDef<DistAttn_Dialect, "Laplace",
    [DeclareAttrInterfaceMethods<Hova_SimilarityAttrInterface>]> {
  let mnemonic = "laplace";
  let summary = "minus the distance of query and key";
  let description = [{
    `R_ij = -sum_c |q_ic - k_jc|`, whose softmax over keys is the weights of
    Laplace attention (Kim et al., Attentive Neural Processes, appendix A).
  }];
}

#endif // DISTATTN_SIMILARITY
